package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"driftlock/sim"

	"github.com/spf13/cobra"
)

// shrinkTime is how long shrinking goes on at most.
const shrinkTime = time.Minute

// shrinkFlags are the options of shrink.
type shrinkFlags struct {
	source
	json, print    bool
	keep           string
	nodes, clients int
}

func (a *app) shrinkCommand() *cobra.Command {
	var f shrinkFlags
	cmd := &cobra.Command{
		Use:   "shrink [WHAT]",
		Short: "Find the smallest scenario that still breaks the same promise",
		Long: `shrink takes away from a scenario whatever its break does not need: clients, nodes,
faults, cuts, rules and steps. Then it makes the numbers rounder. What is left it
explains as run does, and writes to a scenario file in the current folder. Nothing
that the lock's promise rests on is given up on the way: a bug stays one. Ctrl-C
ends it with the smallest so far.

WHAT is` + whatIs + `
Without it ` + defaultRun + ` is shrunk.

` + statusHelp,
		Example: `  replay shrink driftlock-drift-wide-24.json
  replay shrink --space drift-wide --seed 24 --nodes 3
  replay shrink --keep I1 FILE
  replay shrink --print FILE > small.json`,
		Args:              takes(1, "one scenario"),
		ValidArgsFunction: completeWhat(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			sub, err := a.subject(args, f.source, defaultRun)
			if err != nil {
				return err
			}
			if err := sub.hasSteps(); err != nil {
				return err
			}
			ctx, stop := untilInterrupted(cmd.Context())
			defer stop()
			return a.shrink(ctx, sub, f)
		},
	}
	f.source.flags(cmd, "shrink")
	cmd.Flags().StringVar(&f.keep, "keep", "", "the `invariant` that must go on breaking, I1 to I7; otherwise the first, or the first that is a bug")
	cmd.Flags().IntVar(&f.nodes, "nodes", 1, "leave at least so `many` nodes")
	cmd.Flags().IntVar(&f.clients, "clients", 1, "leave at least so `many` clients")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on standard output; text for people goes to standard error")
	cmd.Flags().BoolVar(&f.print, "print", false, "print the scenario that is left, and write no file")
	a.pictures.flags(cmd)
	return cmd
}

// check refuses options that mean nothing.
func (f *shrinkFlags) check(cmd *cobra.Command) error {
	if err := f.source.check(cmd); err != nil {
		return err
	}
	switch {
	case f.nodes < 1:
		return fmt.Errorf("--nodes %d: must be at least 1", f.nodes)
	case f.clients < 1:
		return fmt.Errorf("--clients %d: must be at least 1", f.clients)
	case f.print && f.json:
		return errors.New("--print and --json: one of them, please")
	}
	return nil
}

// shrink shrinks a scenario and tells what is left of it.
func (a *app) shrink(ctx context.Context, sub subject, f shrinkFlags) error {
	v, err := sim.Test(sub.sc)
	if err != nil {
		return fail(statusFault, "the simulator: %w", err)
	}
	w := a.people(f.json || f.print)
	broken, err := f.goal(sub, v)
	switch {
	case err != nil:
		return err
	case broken == 0:
		_, err := fmt.Fprintf(w, "%s holds: there is nothing to shrink.\n", sub.name)
		return written(err)
	}
	least := sim.Space{}.Nodes(f.nodes, f.nodes).Clients(f.clients, f.clients)
	bar := a.waiting("shrinking; Ctrl-C ends it with the smallest so far")
	small, how, err := a.smaller(ctx, least, sub, broken)
	bar.done()
	if err != nil {
		return err
	}
	if f.print {
		fmt.Fprintln(w, left(how, small))
		if _, err := a.out.Write(small.sc.AppendJSON(nil)); err != nil {
			return written(err)
		}
		return ended(statusBroke)
	}
	file, err := keep("driftlock-"+fileName(small.name), small.sc.AppendJSON(nil))
	if err != nil {
		return fail(statusFault, "the scenario could not be written: %w", err)
	}
	small.argv = a.argv("run", file)
	fmt.Fprintf(w, "%s\n\n", left(how, small))
	return a.runAndTell(small, runFlags{json: f.json})
}

// goal is the invariant that is to go on breaking; 0: none breaks.
func (f *shrinkFlags) goal(sub subject, v sim.Verdict) (keep sim.Invariant, err error) {
	switch bugs := v.Bugs(); {
	case v.OK():
		return 0, nil
	case f.keep != "":
		if err := keep.UnmarshalText([]byte(f.keep)); err != nil {
			return 0, fmt.Errorf("--keep: %w", err)
		}
		if !slices.Contains(v.Broken(), keep) {
			return 0, fmt.Errorf("--keep %v: %s %s", keep, sub.name, expectation(&sim.Expect{Breaks: v.Broken()}))
		}
		return keep, nil
	case len(bugs) > 0:
		return bugs[0].Invariant, nil
	}
	return v.Violations[0].Invariant, nil
}

// left says what there is left of a scenario.
func left(how string, small subject) string {
	return strings.ToUpper(how[:1]) + how[1:] + "\nto " + small.sc.Size() + "."
}

// smaller shrinks what breaks keep, and says how far it came.
func (a *app) smaller(ctx context.Context, least sim.Space, sub subject, keep sim.Invariant) (small subject, how string, err error) {
	within, cancel := context.WithTimeout(ctx, shrinkTime)
	defer cancel()
	sc, steps, err := least.Shrink(within, sub.sc, keep)
	if err != nil {
		return small, "", fail(statusFault, "shrinking %s: %w", sub.name, err)
	}
	how = fmt.Sprintf("shrunk in %d steps from %s", steps, sub.sc.Size())
	if within.Err() != nil {
		how += "; stopped before the end"
	}
	return subject{sc: sc, name: cmp.Or(sc.Name, sub.name+"-shrunk")}, how, nil
}
