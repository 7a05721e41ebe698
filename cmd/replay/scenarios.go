package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"driftlock/sim"
	"driftlock/sim/spell"
	"driftlock/sim/timeline"

	"github.com/spf13/cobra"
)

// scenariosFlags are the options of scenarios.
type scenariosFlags struct {
	all, json, print, compare bool
	with                      string
}

func (a *app) scenariosCommand() *cobra.Command {
	var f scenariosFlags
	cmd := &cobra.Command{
		Use:   "scenarios [NAME | NUMBER | PREFIX]",
		Short: "The catalogue of known failures, and whether each breaks as it should",
		Long: `scenarios lists the catalogue: what breaks in each scenario, what breaks if the lock
in it is Redlock as it was written, what still does if grants carry fence numbers
that the resource compares, and where the story is from.

With a name, or the number of a scenario whose name begins with s and that (44 is
s44-…), it runs that one and tells what happened and what would have helped. With
the beginning of several names, or --all, it runs those and says for each whether
its verdict is the expected one. --with runs it as its remedy of that name would
have it, and --compare beside every remedy that it has.

Exit status: 0 each verdict was the expected one, also where that is a break;
1 one was not; 2 bad arguments; 4 a fault of the tool or the machine.`,
		Example: `  replay scenarios
  replay scenarios chrony-slew
  replay scenarios 44 --compare
  replay scenarios chrony-slew --with slack
  replay scenarios --all
  replay scenarios --print chrony-slew > mine.json`,
		Args:              takes(1, "one name"),
		ValidArgsFunction: completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			which, err := a.chosen(args, f)
			if err != nil {
				return err
			}
			runs := len(which)
			if f.compare || len(args) == 0 {
				runs = 0
			}
			if err := a.pictures.one(runs); err != nil {
				return err
			}
			switch {
			case f.print:
				return a.printScenarios(which)
			case len(args) == 0 && !f.all:
				return a.listScenarios(which, f.json)
			case f.compare:
				return a.compareScenarios(cmd.Context(), which, f.json)
			case len(which) == 1:
				return a.oneScenario(which[0], f.json)
			}
			return a.manyScenarios(cmd.Context(), which, f.json)
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "run all of them")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object a scenario on standard output; text for people goes to standard error")
	cmd.Flags().BoolVar(&f.print, "print", false, "print the scenario files, and do not run them")
	cmd.Flags().StringVar(&f.with, "with", "", "run it as its `remedy` of that name would have it")
	cmd.Flags().BoolVar(&f.compare, "compare", false, "run it beside each of its remedies")
	cmd.RegisterFlagCompletionFunc("with", completeRemedies)
	a.pictures.flags(cmd)
	return cmd
}

// check refuses options that mean nothing.
func (f *scenariosFlags) check(args []string) error {
	switch {
	case f.all && len(args) > 0:
		return fmt.Errorf("--all and %q: one of them, please", args[0])
	case len(args) == 0 && f.with != "":
		return errors.New("--with needs the NAME of the scenario that has the remedy")
	case len(args) == 0 && f.compare && !f.all:
		return errors.New("--compare needs a NAME, or --all")
	case f.compare && f.with != "", f.compare && f.print:
		return errors.New("--compare goes with neither --with nor --print")
	case f.print && f.json:
		return errors.New("--print and --json: one of them, please")
	}
	return nil
}

// chosen are the scenarios that the command line stands for, changed as it says.
func (a *app) chosen(args []string, f scenariosFlags) (which []subject, err error) {
	known := names(catalogue())
	if len(args) > 0 {
		if known, err = matching(known, args[0]); err != nil {
			return nil, err
		}
	}
	for _, name := range known {
		sub, err := a.catalogued(name)
		if err != nil {
			return nil, err
		}
		sub.argv = a.argv("scenarios", name)
		if f.with != "" {
			if sub.sc, err = sub.sc.WithRemedy(f.with); err != nil {
				return nil, fmt.Errorf("--with: %w", err)
			}
			sub.name, sub.argv = sub.sc.Name, append(sub.argv, "--with", f.with)
		}
		which = append(which, sub)
	}
	return which, nil
}

// matching are the names that an argument stands for: one name, that with the
// number, or all that begin with it.
func matching(known []string, arg string) (which []string, err error) {
	if slices.Contains(known, arg) {
		return []string{arg}, nil
	}
	prefix := arg
	if n, err := strconv.ParseUint(strings.TrimLeft(arg, "sS"), 10, 16); err == nil {
		prefix = fmt.Sprintf("s%02d-", n)
	}
	for _, name := range known {
		if strings.HasPrefix(name, prefix) {
			which = append(which, name)
		}
	}
	if len(which) == 0 || arg == "" {
		return nil, fmt.Errorf("no scenario is called %q, nor begins with that, nor has that number%s: \"replay scenarios\" lists them", arg, spell.Hint(arg, known))
	}
	return which, nil
}

func (a *app) printScenarios(which []subject) error {
	for _, sub := range which {
		if _, err := a.out.Write(sub.sc.AppendJSON(nil)); err != nil {
			return written(err)
		}
	}
	return nil
}

// entry is the JSON of a scenario of the list.
type entry struct {
	Scenario string          `json:"scenario"`
	About    string          `json:"about"`
	Source   string          `json:"source,omitzero"`
	Expect   *sim.Expect     `json:"expect"`
	Redlock  []sim.Invariant `json:"redlock_breaks"` // with Redlock as it was written; null: it cannot be run so
	Fenced   []sim.Invariant `json:"fenced_breaks"`  // with fence numbers as well, which resources compare
	Remedies []string        `json:"remedies"`
	Argv     []string        `json:"argv"`
}

// listScenarios lists some of the catalogue. What breaks with other locks it finds
// by running them.
func (a *app) listScenarios(which []subject, asJSON bool) error {
	width := 0
	for _, sub := range which {
		width = max(width, utf8.RuneCountInString(sub.name))
	}
	row := func(name, breaks, redlock, fenced, source string) error {
		_, err := fmt.Fprintln(a.out, a.out.fit(fmt.Sprintf("%-*s  %-11s  %-11s  %-8s  %s", width, name, breaks, redlock, fenced, source)))
		return written(err)
	}
	if !asJSON {
		if err := row("scenario", "breaks", "as Redlock", "fenced", "source"); err != nil {
			return err
		}
	}
	r := sim.NewRunner(sim.OnPanic(a.tellPanic))
	defer r.Close()
	for _, sub := range which {
		e := entry{Scenario: sub.name, About: sub.sc.About, Source: sub.sc.Source, Expect: sub.sc.Expect, Remedies: []string{}, Argv: sub.argv}
		e.Redlock = broken(r, asRedlock(sub.sc, false))
		e.Fenced = broken(r, asRedlock(sub.sc, true))
		for _, remedy := range sub.sc.Remedies {
			e.Remedies = append(e.Remedies, remedy.Name)
		}
		if asJSON {
			if err := writeJSON(a.out, e); err != nil {
				return err
			}
			continue
		}
		if err := row(sub.name, breaks(sub.sc.Expect.Breaks), breaks(e.Redlock), breaks(e.Fenced), sub.sc.Source); err != nil {
			return err
		}
	}
	return nil
}

// asRedlock puts Redlock as it was written in a scenario, or with fence numbers
// which all resources compare.
func asRedlock(sc sim.Scenario, fenced bool) sim.Scenario {
	sc.Lock.Kind, sc.Lock.Flaws, sc.Lock.Fencing = "", nil, fenced
	sc.Resources = slices.Clone(sc.Resources)
	for i := range sc.Resources {
		sc.Resources[i].Fenced = fenced
	}
	return sc
}

// broken is what breaks in a scenario, empty for nothing; nil if it cannot be run.
func broken(r *sim.Runner, sc sim.Scenario) []sim.Invariant {
	if _, err := r.Run(sc); err != nil {
		return nil
	}
	return append([]sim.Invariant{}, r.Check().Broken()...)
}

// breaks is the invariants that broke, in a word or two.
func breaks(broken []sim.Invariant) string {
	if len(broken) == 0 {
		return "–"
	}
	var words []string
	for _, i := range broken {
		words = append(words, i.String())
	}
	return strings.Join(words, " ")
}

// expectation is what a scenario should come to, in a word or two.
func expectation(e *sim.Expect) string {
	if e == nil || e.OK {
		return "holds"
	}
	var broken []string
	for _, i := range e.Breaks {
		broken = append(broken, i.String())
	}
	return strings.TrimSpace("breaks " + strings.Join(broken, " "))
}

// oneScenario runs one and tells what happened.
func (a *app) oneScenario(sub subject, asJSON bool) error {
	h, err := a.history(sub)
	if err != nil {
		return err
	}
	v := sim.Check(h)
	how := sub.sc.Expect.Mismatch(v)
	if err := a.reportExpected(asJSON, sub, v, how); err != nil {
		return err
	}
	w := a.people(asJSON)
	if err := a.show(w, sub, h, v, &timeline.View{}); err != nil {
		return written(err)
	}
	if !asJSON {
		fmt.Fprintln(w)
		if err := timeline.Write(w, h, v, timeline.View{}, w.style()); err != nil {
			return written(err)
		}
	}
	fmt.Fprintln(w)
	for _, r := range sub.sc.Remedies {
		tellRemedy(w, sub, r)
	}
	fmt.Fprintln(w, verdictLine(sub, v, how))
	return ended(statusOfExpected(how))
}

func tellRemedy(w *stream, sub subject, r sim.Remedy) {
	timeline.Para(w, "Remedy "+r.Name+": ", r.Text)
	fmt.Fprintf(w, "  Try: %s\n", command(append(sub.argv[:len(sub.argv):len(sub.argv)], "--with", r.Name)))
}

// manyScenarios runs several, a line each, until it is interrupted.
func (a *app) manyScenarios(ctx context.Context, which []subject, asJSON bool) error {
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	w := a.people(asJSON)
	bar := a.newProgress(uint64(len(which)), "scenarios")
	defer bar.done()
	wrong := 0
	for i, sub := range which {
		if ctx.Err() != nil {
			bar.done()
			fmt.Fprintf(w, "%d of %d scenarios, %d not as expected; stopped before the end\n", i, len(which), wrong)
			return ended(min(wrong, statusBroke))
		}
		bar.at(uint64(i), sub.name)
		v, err := sim.Test(sub.sc)
		if err != nil {
			return fail(statusFault, "%s: %w", sub.name, err)
		}
		how := sub.sc.Expect.Mismatch(v)
		if len(how) > 0 {
			wrong++
		}
		if err := a.reportExpected(asJSON, sub, v, how); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w, verdictLine(sub, v, how)); err != nil {
			return written(err)
		}
	}
	fmt.Fprintf(w, "%s, %d not as expected\n", counted(len(which), "scenario", "scenarios"), wrong)
	return ended(min(wrong, statusBroke))
}

// compareScenarios runs each scenario and then each of its remedies, until it is
// interrupted.
func (a *app) compareScenarios(ctx context.Context, which []subject, asJSON bool) error {
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	w := a.people(asJSON)
	compared, wrong, remedies := 0, 0, 0
	for i, sub := range which {
		if ctx.Err() != nil {
			fmt.Fprintf(w, "%d of %d scenarios, %s, %d not as expected; stopped before the end\n", i, len(which), counted(remedies, "remedy", "remedies"), wrong)
			return ended(min(wrong, statusBroke))
		}
		if len(sub.sc.Remedies) == 0 && len(which) > 1 {
			continue
		}
		var in *timeline.Window // the same for all that is compared
		if len(which) == 1 && !asJSON {
			in = new(timeline.Window)
		}
		how, err := a.oneOfSeveral(w, sub, "", asJSON, in)
		if err != nil {
			return err
		}
		compared++
		wrong += min(len(how), 1)
		for _, r := range sub.sc.Remedies {
			with := subject{name: sub.name, argv: append(sub.argv[:len(sub.argv):len(sub.argv)], "--with", r.Name)}
			if with.sc, err = sub.sc.WithRemedy(r.Name); err != nil {
				return fail(statusFault, "the catalogue: %w", err)
			}
			if how, err = a.oneOfSeveral(w, with, r.Name, asJSON, in); err != nil {
				return err
			}
			timeline.Para(w, "       ", r.Text)
			wrong += min(len(how), 1)
			remedies++
		}
		if len(sub.sc.Remedies) == 0 {
			fmt.Fprintln(w, "       It has no remedy to compare with.")
		}
	}
	fmt.Fprintf(w, "%s, %s, %d not as expected\n", counted(compared, "scenario", "scenarios"), counted(remedies, "remedy", "remedies"), wrong)
	return ended(min(wrong, statusBroke))
}

// oneOfSeveral runs a scenario, as it is or with a remedy, and tells of it in a
// line. In draws the lanes of that stretch of true time below it, nil does not.
func (a *app) oneOfSeveral(w *stream, sub subject, remedy string, asJSON bool, in *timeline.Window) (how []string, err error) {
	h, err := a.history(sub)
	if err != nil {
		return nil, err
	}
	v := sim.Check(h)
	how = sub.sc.Expect.Mismatch(v)
	if err := a.reportExpected(asJSON, sub, v, how); err != nil {
		return nil, err
	}
	if remedy != "" {
		sub.name = "  with " + remedy
	}
	if _, err := fmt.Fprintln(w, verdictLine(sub, v, how)); err != nil {
		return nil, written(err)
	}
	if in != nil {
		fmt.Fprintln(w)
		*in, err = timeline.Draw(w, h, v, *in, w.style())
		fmt.Fprintln(w)
	}
	return how, written(err)
}

func (a *app) reportExpected(asJSON bool, sub subject, v sim.Verdict, how []string) error {
	if !asJSON {
		return nil
	}
	r := reportOf(sub.name, v, sub.argv)
	expected := len(how) == 0
	r.Expected, r.Unexpected = &expected, how
	return written(r.write(a.out))
}

// verdictLine says in a line what a scenario came to.
func verdictLine(sub subject, v sim.Verdict, how []string) string {
	if len(how) > 0 {
		return fmt.Sprintf("WRONG  %s: %s", sub.name, strings.Join(how, "; "))
	}
	what := "held"
	if !v.OK() {
		what = "broke " + breaks(v.Broken())
	}
	margin := ""
	if m, ok := v.Margin(); ok && instant(int64(m)) != nil {
		margin = ", margin " + timeline.Margin(m)
	}
	return fmt.Sprintf("ok     %s: %s as expected%s", sub.name, what, margin)
}

func statusOfExpected(how []string) int {
	if len(how) > 0 {
		return statusBroke
	}
	return statusHeld
}
