package main

import (
	"errors"
	"fmt"

	"driftlock/sim"
	"driftlock/sim/timeline"

	"github.com/spf13/cobra"
)

// defaultRun is the scenario that run shows when nothing is asked for.
const defaultRun = "chrony-slew"

// runFlags are the options of run.
type runFlags struct {
	source
	json   bool
	twice  bool
	print  bool
	record bool
	stopAt int
	level  string
	nodes  string
	view   timeline.View
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [WHAT]",
		Short: "Run one scenario and tell what happened, step by step",
		Long: `run runs a scenario and tells what happened: first what broke, with a picture in
which each machine has a lane, and why; then who asked whom, and what each clock
said ("replay help story").

WHAT is` + whatIs + `
Without it ` + defaultRun + ` is run. A scenario can be changed on the way: --with, --lock,
--set. A history is not run but told.

` + statusHelp,
		Example: `  replay run driftlock-drift-wide-24.json
  replay run --space drift --seed 4711 --level all
  replay run --json FILE | jq .margin_ns
  replay run FILE --html run.html
  replay run chrony-slew --set faults[0].rate=+1/100`,
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
			if err := sub.runOn(f.nodes); err != nil {
				return err
			}
			if f.print {
				_, err := a.out.Write(sub.sc.AppendJSON(nil))
				return written(err)
			}
			if err := sub.hasSteps(); err != nil {
				return err
			}
			return a.runAndTell(sub, f)
		},
	}
	f.source.flags(cmd, "run")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on standard output; text for people goes to standard error")
	cmd.Flags().BoolVar(&f.twice, "twice", false, "run it twice and compare: status 3 and the first step that differs, if one does")
	cmd.Flags().BoolVar(&f.record, "record", false, "write the history, with every event, to a file in the current folder, which run and diff read")
	cmd.Flags().IntVar(&f.stopAt, "stop-at", 0, "call sim.Stopped at this `STEP`, for a breakpoint (docs/debugging.md)")
	f.viewFlags(cmd)
	cmd.Flags().StringVar(&f.nodes, "nodes", nodesFast, "what the nodes are: fast, or miniredis for a real miniredis each, with the very\ncommands and scripts that Redis is sent")
	cmd.RegisterFlagCompletionFunc("nodes", cobra.FixedCompletions(nodeStores, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&f.print, "print", false, "print the scenario, with every value, and do not run it")
	a.pictures.flags(cmd)
	return cmd
}

// viewFlags are those that say which part of a run is told.
func (f *runFlags) viewFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.level, "level", "story", "the `level` of detail: lanes for the picture alone, story, messages, or all for every event")
	cmd.Flags().StringSliceVar(&f.view.Only, "only", nil, "tell only of these clients, nodes or keys: `NAMES`, such as c1,A; key:A is a key")
	cmd.Flags().IntVar(&f.view.From, "from", 0, "begin at this `STEP`")
	cmd.Flags().IntVar(&f.view.Until, "until", 0, "end at this `STEP`")
	cmd.RegisterFlagCompletionFunc("level", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return timeline.Levels(), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.RegisterFlagCompletionFunc("only", completeMachines)
}

// check refuses options that mean nothing.
func (f *runFlags) check(cmd *cobra.Command) (err error) {
	if f.view.Level, err = timeline.ParseLevel(f.level); err != nil {
		return fmt.Errorf("--level: %w", err)
	}
	if f.stopAt < 0 {
		return fmt.Errorf("--stop-at %d: a step is expected, from 1 on", f.stopAt)
	}
	if f.print && (f.json || f.record || f.twice) {
		return errors.New("--print does not run it: it goes with none of --json, --record and --twice")
	}
	return f.source.check(cmd)
}

// written makes an error of a Write one of status 4.
func written(err error) error {
	var f *failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	return &failure{status: statusFault} // execute tells it
}

// history runs a scenario, unless what happened is known.
func (a *app) history(sub subject, more ...sim.Option) (*sim.History, error) {
	if sub.recorded != nil {
		return sub.recorded, nil
	}
	if sub.stores != nil {
		more = append(more, sim.StoredIn(sub.stores))
	}
	bar := a.waiting("running " + sub.sc.Size())
	h, err := sim.Run(sub.sc, append(more, sim.OnPanic(a.tellPanic))...)
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
func (a *app) runAndTell(sub subject, f runFlags) error {
	if f.twice && sub.recorded != nil {
		return fmt.Errorf("--twice runs a scenario, and %s is a history: \"replay diff\" compares it with a run of now", sub.name)
	}
	var more []sim.Option
	if f.stopAt > 0 {
		more = append(more, sim.StopAt(f.stopAt))
	}
	h, err := a.history(sub, more...)
	if err != nil {
		return err
	}
	if f.stopAt > h.Len() {
		return fmt.Errorf("--stop-at %d: the run has %d steps", f.stopAt, h.Len())
	}
	if err := f.view.Check(h); err != nil {
		return fmt.Errorf("--only, --from and --until: %w", err)
	}
	v := sim.Check(h)
	r := reportOf(sub.name, v, sub.argv)
	if f.record {
		if r.Record, err = keepAs("driftlock-"+fileName(sub.name), ".history", h.Record); err != nil {
			return fail(statusFault, "the history could not be written: %w", err)
		}
	}
	if f.json {
		if err := r.write(a.out); err != nil {
			return written(err)
		}
	}
	w := a.people(f.json)
	if err := a.show(w, sub, h, v, &f.view); err != nil {
		return written(err)
	}
	if f.record {
		fmt.Fprintf(w, "Record: %s\n", command(a.argv("run", r.Record)))
	}
	if !f.json && f.view.Level > timeline.Lanes {
		fmt.Fprintln(w)
		if err := timeline.Write(w, h, v, f.view, w.style()); err != nil {
			return written(err)
		}
	}
	if f.twice {
		again, err := a.history(sub)
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

// screen tells in short what a run came to, with its hash and how to run it again.
func (a *app) screen(w *stream, sub subject, h *sim.History, v sim.Verdict) error {
	return a.show(w, sub, h, v, nil)
}

// show is screen, with the lanes of a view if there is one.
func (a *app) show(w *stream, sub subject, h *sim.History, v sim.Verdict, view *timeline.View) error {
	tried := sim.Factor(0)
	if !v.OK() && sub.recorded == nil { // of a history nobody knows what ran
		tried = remedy(sub.sc, v)
	}
	if view == nil {
		if err := timeline.Screen(w, h, v, tried, w.style()); err != nil {
			return err
		}
	} else if err := timeline.Timeline(w, h, v, tried, *view, w.style()); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "\nReplay: %s\nHash:   %s\n", command(sub.argv), v.Hash); err != nil {
		return err
	}
	return a.draw(w, sub, h, v, tried)
}

// compare tells whether two runs of one scenario were the same.
func compare(w *stream, one, two *sim.History) error {
	step, same := sim.FirstDifference(one, two)
	if same {
		_, err := fmt.Fprintf(w, "\nTwice:  the same %d steps, the same hash.\n", one.Len())
		return written(err)
	}
	fmt.Fprintf(w, "\nTwice:  the runs have the hashes %s and %s.\n", one.Hash(), two.Hash())
	if err := parted(w, one, two, step, timeline.Course(one, two)); err != nil {
		return written(err)
	}
	timeline.Para(w, "", "A workload that looks at anything but its process (real time, a map's order, a global random source) does this; a built-in one never should.")
	return ended(statusDiffered)
}
