package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"driftlock/sim"
	"driftlock/sim/timeline"

	"github.com/spf13/cobra"
)

// defaultRun is the scenario that run shows when nothing is asked for.
const defaultRun = "chrony-slew"

// runFlags are the options of run.
type runFlags struct {
	space string
	seed  uint64
	json  bool
	twice bool
	level string
	print bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [FILE | -]",
		Short: "Run one scenario and tell what happened, step by step",
		Long: `run runs the scenario in FILE (- is standard input), or the one that a seed of a
space stands for, and tells what happened: first what broke and why, in about a
screen, then who asked whom and what each clock said. Without either it runs
` + defaultRun + ` from the catalogue.

Columns of the story: the step, true time in seconds, what the clock of that
machine says, who, and what. Instants between the steps (──) are those that no
machine notices.

` + statusHelp,
		Example: `  replay run driftlock-drift-wide-24.json
  replay run --space drift --seed 4711 --level all
  replay run --json FILE | jq .margin_ns
  replay scenarios --print chrony-slew | sed 's|13/12|101/100|' | replay run -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			level, err := timeline.ParseLevel(f.level)
			if err != nil {
				return fmt.Errorf("--level: %w", err)
			}
			if cmd.Flags().Changed("seed") && f.space == "" {
				return errors.New("--seed needs --space: a seed means something only in its space")
			}
			sub, err := a.subject(args, f)
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
	cmd.Flags().StringVar(&f.space, "space", "", "run the scenario that --seed stands for in this `space`: "+spaceNames())
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "the `number` of the scenario in --space")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on standard output; text for people goes to standard error")
	cmd.Flags().BoolVar(&f.twice, "twice", false, "run it twice and compare: status 3 and the first step that differs, if one does")
	cmd.Flags().StringVar(&f.level, "level", "story", "the `level` of detail: story, or all for every event")
	cmd.Flags().BoolVar(&f.print, "print", false, "print the scenario, with every value, and do not run it")
	return cmd
}

// subject is a scenario to run, what it is called and how to run it again.
type subject struct {
	sc   sim.Scenario
	name string
	argv []string
}

// subject finds the scenario that a command line asks for.
func (a *app) subject(args []string, f runFlags) (subject, error) {
	switch {
	case f.space != "" && len(args) > 0:
		return subject{}, errors.New("a file and --space: one of them, please")
	case f.space != "":
		return a.seeded(f.space, f.seed)
	case len(args) == 0:
		return a.catalogued(defaultRun)
	case args[0] == "-":
		sc, err := sim.ParseFrom("standard input", a.in)
		return a.named(sc, "standard input", []string{"run", "-"}), misuse(err)
	}
	file := args[0]
	sc, err := sim.Load(file)
	if errors.Is(err, os.ErrNotExist) {
		if _, known := catalogue()[file]; known {
			return subject{}, fail(statusMisuse, "%w\nIt is in the catalogue: %s", err, command(a.argv("scenarios", file)))
		}
	}
	return a.named(sc, file, []string{"run", file}), misuse(err)
}

// seeded is the scenario that a seed of a space stands for.
func (a *app) seeded(space string, seed uint64) (subject, error) {
	sp, err := sim.FindSpace(space)
	if err != nil {
		return subject{}, fail(statusMisuse, "--space: %w", err)
	}
	return a.named(sim.Generate(sp, seed), fmt.Sprintf("%s-%d", space, seed),
		[]string{"run", "--space", space, "--seed", strconv.FormatUint(seed, 10)}), nil
}

func (a *app) named(sc sim.Scenario, otherwise string, argv []string) subject {
	name := sc.Name
	if name == "" {
		name = otherwise
	}
	return subject{sc, name, a.argv(argv...)}
}

// argv is a command line of this program.
func (a *app) argv(args ...string) []string { return append(a.self[:len(a.self):len(a.self)], args...) }

// misuse makes an error about a file or a name one of status 2.
func misuse(err error) error {
	if err == nil {
		return nil
	}
	return &failure{statusMisuse, err}
}

// written makes an error of a Write one of status 4.
func written(err error) error {
	if err == nil {
		return nil
	}
	return &failure{status: statusFault} // execute tells it
}

// history runs a scenario.
func (a *app) history(sc sim.Scenario) (*sim.History, error) {
	h, err := sim.Run(sc, sim.OnPanic(a.tellPanic))
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
	_, err := fmt.Fprintf(w, "\nReplay: %s\nHash:   %s\n", command(sub.argv), v.Hash)
	return err
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
