package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"driftlock/sim"
	"driftlock/sim/timeline"

	"github.com/spf13/cobra"
)

// defaultRun is the scenario that run shows when nothing is asked for.
const defaultRun = "chrony-slew"

// runFlags are the options of run.
type runFlags struct {
	source
	json  bool
	twice bool
	level string
	print bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [WHAT]",
		Short: "Run one scenario and tell what happened, step by step",
		Long: `run runs a scenario and tells what happened: first what broke and why, in about a
screen, then who asked whom and what each clock said ("replay help story").

` + whatIs + `
Without it ` + defaultRun + ` is run. It can be changed on the way: --with, --lock, --set.

` + statusHelp,
		Example: `  replay run driftlock-drift-wide-24.json
  replay run --space drift --seed 4711 --level all
  replay run --json FILE | jq .margin_ns
  replay run FILE --html run.html
  replay run chrony-slew --set faults[0].rate=+1/100`,
		Args:              takes(1, "one scenario"),
		ValidArgsFunction: completeWhat(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			level, err := timeline.ParseLevel(f.level)
			if err != nil {
				return fmt.Errorf("--level: %w", err)
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			sub, err := a.subject(args, f.source, defaultRun)
			if err != nil {
				return err
			}
			if f.print {
				_, err := a.out.Write(sub.sc.AppendJSON(nil))
				return written(err)
			}
			return a.runAndTell(sub, f, level)
		},
	}
	f.source.flags(cmd, "run")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on standard output; text for people goes to standard error")
	cmd.Flags().BoolVar(&f.twice, "twice", false, "run it twice and compare: status 3 and the first step that differs, if one does")
	cmd.Flags().StringVar(&f.level, "level", "story", "the `level` of detail: story, or all for every event")
	cmd.Flags().BoolVar(&f.print, "print", false, "print the scenario, with every value, and do not run it")
	a.pictures.flags(cmd)
	return cmd
}

// written makes an error of a Write one of status 4.
func written(err error) error {
	var f *failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	return &failure{status: statusFault} // execute tells it
}

// history runs a scenario.
func (a *app) history(sc sim.Scenario) (*sim.History, error) {
	bar := a.waiting("running " + sc.Size())
	h, err := sim.Run(sc, sim.OnPanic(a.tellPanic))
	bar.done()
	if err != nil {
		return nil, fail(statusFault, "the simulator: %w", err)
	}
	return h, nil
}

// tellPanic tells where a process was when it panicked, and how to come to it
// again. The panic itself ends the command: see execute.
func (a *app) tellPanic(p sim.Panic) { fmt.Fprintf(a.err, "replay: %v", p) }

// runAndTell runs a scenario, and tells what happened.
func (a *app) runAndTell(sub subject, f runFlags, level timeline.Level) error {
	h, err := a.history(sub.sc)
	if err != nil {
		return err
	}
	v := sim.Check(h)
	if f.json {
		if err := reportOf(sub.name, v, sub.argv).write(a.out); err != nil {
			return written(err)
		}
	}
	w := a.people(f.json)
	if err := a.screen(w, sub, h, v); err != nil {
		return written(err)
	}
	if !f.json {
		fmt.Fprintln(w)
		if err := timeline.Write(w, h, v, level, w.style()); err != nil {
			return written(err)
		}
	}
	if f.twice {
		again, err := a.history(sub.sc)
		if err != nil {
			return err
		}
		if err := compare(w, h, again); err != nil {
			return err
		}
	}
	if !v.OK() {
		return ended(statusBroke)
	}
	return nil
}

// screen tells what a run came to, with its hash and how to run it again.
func (a *app) screen(w *stream, sub subject, h *sim.History, v sim.Verdict) error {
	tried := sim.Factor(0)
	if !v.OK() {
		tried = remedy(sub.sc, v)
	}
	if err := timeline.Screen(w, h, v, tried, w.style()); err != nil {
		return err
	}
	if !slices.ContainsFunc(sub.sc.Clients, func(c sim.Client) bool { return len(c.Steps) > 0 }) {
		fmt.Fprintln(w, "Note: no client has steps. What a test of code has kept is run by that test, with\n      the command that it printed.")
	}
	if _, err := fmt.Fprintf(w, "\nReplay: %s\nHash:   %s\n", command(sub.argv), v.Hash); err != nil {
		return err
	}
	return a.draw(w, sub, h, v, tried)
}

// compare tells whether two runs of one scenario were the same.
func compare(w io.Writer, one, two *sim.History) error {
	step, same := sim.FirstDifference(one, two)
	if same {
		fmt.Fprintf(w, "\nTwice:  the same %d steps, the same hash.\n", one.Len())
		return nil
	}
	fmt.Fprintf(w, "\nTwice:  the runs DIFFER from step %d on: hashes %s and %s.\n", step, one.Hash(), two.Hash())
	for i, h := range []*sim.History{one, two} {
		if step <= h.Len() {
			fmt.Fprintf(w, "        run %d: %+v\n", i+1, h.Event(step))
		} else {
			fmt.Fprintf(w, "        run %d: had ended\n", i+1)
		}
	}
	fmt.Fprintln(w, "        A workload that looks at anything but its process (real time, a map's order,\n        a global random source) does this; a built-in one never should.")
	return ended(statusDiffered)
}
