package main

import (
	"errors"
	"fmt"
	"slices"

	"driftlock/sim"
	"driftlock/sim/timeline"

	"github.com/spf13/cobra"
)

// diffFlags are the options of diff.
type diffFlags struct {
	edits
	json bool
}

func (a *app) diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [A [B]]",
		Short: "The first event in which two runs differ, and both sides around it",
		Long: `diff runs A and B and tells the first event that differs and what each did around
it, what their scenarios have that the other's has not, and what each came to. Where
only times differ at first it also tells where something else happens. A recorded
history (run --record) is not run but read: so two versions of the code are
compared.

A and B are each` + whatIs + `
--with, --lock and --set change B; without B that is A, changed so, or the scenario
of the history A, run by this program. Without either ` + defaultRun + ` is compared with
itself on a drift factor that covers it.

Exit status: 0 the runs are the same, whatever broke in them, 3 they differ, 2 bad
arguments or file, 4 a fault of the tool or the machine.`,
		Example: `  replay diff chrony-slew --set lock.factor=0.08
  replay diff s44-unconditional-del --with redlock
  replay diff drift-wide:24 drift-wide:25
  replay diff before.history after.history
  replay diff before.history`,
		Args:              takes(2, "two runs"),
		ValidArgsFunction: completeWhat(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !f.any() {
				f.set = []string{"lock.factor=0.08"}
			}
			one, two, err := a.pair(args, f.edits)
			if err != nil {
				return err
			}
			return a.diff(one, two, f)
		},
	}
	f.edits.flags(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on standard output; text for people goes to standard error")
	return cmd
}

// pair finds the two runs that a command line asks for.
func (a *app) pair(args []string, e edits) (one, two subject, err error) {
	if len(args) == 0 {
		args = []string{defaultRun}
	}
	if len(args) == 2 && args[0] == "-" && args[1] == "-" {
		return one, two, errors.New("- and -: standard input is one run, and not two")
	}
	if one, err = a.find(args[0]); err != nil {
		return one, two, err
	}
	two = one
	switch {
	case len(args) == 2:
		if two, err = a.find(args[1]); err != nil {
			return one, two, err
		}
	case one.recorded == nil && !e.any():
		return one, two, errors.New("one run alone, and nothing that changes it: name B too, or give --set, --with or --lock")
	default:
		two.recorded = nil
	}
	if two, err = e.change(two); err != nil {
		return one, two, err
	}
	for _, sub := range []subject{one, two} {
		if sub.recorded == nil && err == nil {
			err = sub.hasSteps()
		}
	}
	return one, two, err
}

// difference is the JSON of diff.
type difference struct {
	Same   bool    `json:"same"`
	Step   int     `json:"step,omitzero"`   // the first that differs
	Course int     `json:"course,omitzero"` // the first at which something else happens
	Fields []other `json:"fields"`          // in which the scenarios differ
	A      report  `json:"a"`
	B      report  `json:"b"`
}

// other is a field in which two scenarios differ; nil: one has no such field.
type other struct {
	Path string  `json:"path"`
	A    *string `json:"a"`
	B    *string `json:"b"`
}

// diff tells where two runs part.
func (a *app) diff(one, two subject, f diffFlags) error {
	var h [2]*sim.History
	var v [2]sim.Verdict
	for i, sub := range []subject{one, two} {
		var err error
		if h[i], err = a.history(sub); err != nil {
			return err
		}
		v[i] = sim.Check(h[i])
	}
	d := difference{Fields: others(one.sc, two.sc), A: reportOf(one.name, v[0], one.argv), B: reportOf(two.name, v[1], two.argv)}
	if d.Step, d.Same = sim.FirstDifference(h[0], h[1]); !d.Same {
		d.Course = timeline.Course(h[0], h[1])
	}
	if f.json {
		if err := writeJSON(a.out, d); err != nil {
			return written(err)
		}
	}
	return a.tellDiff(a.people(f.json), h[0], h[1], v, d)
}

// mostFields is how many fields that differ are told.
const mostFields = 20

func (a *app) tellDiff(w *stream, one, two *sim.History, v [2]sim.Verdict, d difference) error {
	for i, r := range []report{d.A, d.B} {
		fmt.Fprintf(w, "%c  %s\n   %s, %d steps, hash %s\n", 'A'+i, command(r.Argv), cameTo(v[i]), []*sim.History{one, two}[i].Len(), r.Hash)
	}
	if len(d.Fields) > 0 {
		fmt.Fprintln(w, "\nThe scenarios differ in")
	}
	for i, f := range d.Fields {
		if i == mostFields {
			fmt.Fprintf(w, "  and %d more (--json has all)\n", len(d.Fields)-i)
			break
		}
		fmt.Fprintf(w, "  %s: %s → %s\n", f.Path, orNone(f.A), orNone(f.B))
	}
	fmt.Fprintln(w)
	if d.Same {
		fmt.Fprintf(w, "The runs are the same: %d steps, one hash.\n", one.Len())
		return written(w.failed())
	}
	if err := parted(w, one, two, d.Step, d.Course); err != nil {
		return written(err)
	}
	return ended(statusDiffered)
}

// parted tells what two runs did where they part.
func parted(w *stream, one, two *sim.History, step, course int) error {
	what := "The runs DIFFER"
	if course != step {
		what = "Times, clocks or owner values DIFFER"
	}
	fmt.Fprintf(w, "%s from step #%d on:\n\n", what, step)
	if err := timeline.Around(w, one, two, step, w.style()); err != nil {
		return err
	}
	switch course {
	case step:
	case 0:
		fmt.Fprintln(w, "\nWhat happens is the same to the end.")
	default:
		fmt.Fprintf(w, "\nSomething else happens from step #%d on:\n\n", course)
		return timeline.Around(w, one, two, course, w.style())
	}
	return nil
}

// cameTo is a verdict in some words.
func cameTo(v sim.Verdict) string {
	text := "held"
	if !v.OK() {
		text = "broke " + breaks(v.Broken())
	}
	if m, ok := v.Margin(); ok && instant(int64(m)) != nil {
		text += ", margin " + timeline.Margin(m)
	}
	return text
}

func orNone(value *string) string {
	if value == nil {
		return "none"
	}
	return *value
}

// others are the fields in which two scenarios differ, in the order of the first
// and then of the second. What they are called, and what is said and expected of
// them, does not count.
func others(one, two sim.Scenario) []other {
	list := []other{}
	for _, sc := range []*sim.Scenario{&one, &two} {
		sc.Name, sc.About, sc.Source, sc.Claim, sc.Expect, sc.Remedies = "", "", "", "", nil, nil
	}
	a, b := flatten(one), flatten(two)
	valueIn := func(fields []field, path string) *string {
		if i := slices.IndexFunc(fields, func(f field) bool { return f.path == path }); i >= 0 {
			return &fields[i].value
		}
		return nil
	}
	for _, f := range a {
		if v := valueIn(b, f.path); v == nil || *v != f.value {
			list = append(list, other{f.path, &f.value, v})
		}
	}
	for _, f := range b {
		if valueIn(a, f.path) == nil {
			list = append(list, other{f.path, nil, &f.value})
		}
	}
	return list
}
