package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"driftlock/sim"
	"driftlock/sim/spell"
	"driftlock/sim/timeline"

	"github.com/spf13/cobra"
)

// scenariosFlags are the options of scenarios.
type scenariosFlags struct{ all, json, print bool }

func (a *app) scenariosCommand() *cobra.Command {
	var f scenariosFlags
	cmd := &cobra.Command{
		Use:   "scenarios [NAME | PREFIX]",
		Short: "The catalogue of known failures, and whether each breaks as it should",
		Long: `scenarios lists the catalogue. With a name it runs that scenario and tells what
happened and what would have helped; with the beginning of several names, or --all,
it runs those and says for each whether its verdict is the expected one.

Exit status: 0 each verdict was the expected one, also where that is a break;
1 one was not; 2 bad arguments; 4 a fault of the tool or the machine.`,
		Example: `  replay scenarios
  replay scenarios chrony-slew
  replay scenarios --all
  replay scenarios --print chrony-slew > mine.json`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return names(catalogue()), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			known := names(catalogue())
			which, err := chosen(known, args, f.all)
			if err != nil {
				return err
			}
			switch {
			case f.print:
				return a.printScenarios(which)
			case len(args) == 0 && !f.all:
				return a.listScenarios(which, f.json)
			case len(which) == 1:
				return a.oneScenario(which[0], f.json)
			}
			return a.manyScenarios(which, f.json)
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "run all of them")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object a scenario on standard output; text for people goes to standard error")
	cmd.Flags().BoolVar(&f.print, "print", false, "print the scenario files, and do not run them")
	return cmd
}

// chosen are the names that an argument stands for: one name, or all that begin
// with it.
func chosen(known, args []string, every bool) ([]string, error) {
	if len(args) == 0 {
		return known, nil
	}
	if every {
		return nil, fmt.Errorf("--all and %q: one of them, please", args[0])
	}
	if slices.Contains(known, args[0]) {
		return args, nil
	}
	var which []string
	for _, name := range known {
		if strings.HasPrefix(name, args[0]) {
			which = append(which, name)
		}
	}
	if len(which) == 0 || args[0] == "" {
		return nil, fmt.Errorf("no scenario is called %q, nor begins with that%s: \"replay scenarios\" lists them", args[0], spell.Hint(args[0], known))
	}
	return which, nil
}

func (a *app) printScenarios(which []string) error {
	for _, name := range which {
		sub, err := a.catalogued(name)
		if err != nil {
			return err
		}
		if _, err := a.out.Write(sub.sc.AppendJSON(nil)); err != nil {
			return written(err)
		}
	}
	return nil
}

// entry is the JSON of a scenario that was not run.
type entry struct {
	Scenario string      `json:"scenario"`
	About    string      `json:"about"`
	Source   string      `json:"source,omitzero"`
	Expect   *sim.Expect `json:"expect"`
	Argv     []string    `json:"argv"`
}

func (a *app) listScenarios(which []string, asJSON bool) error {
	width := 0
	for _, name := range which {
		width = max(width, utf8.RuneCountInString(name))
	}
	for _, name := range which {
		sub, err := a.catalogued(name)
		if err != nil {
			return err
		}
		if asJSON {
			if err := json.NewEncoder(a.out).Encode(entry{name, sub.sc.About, sub.sc.Source, sub.sc.Expect, sub.argv}); err != nil {
				return written(err)
			}
			continue
		}
		about, _, _ := strings.Cut(sub.sc.About, "\n")
		fmt.Fprintln(a.out, a.out.fit(fmt.Sprintf("%-*s  %-15s  %s", width, name, expectation(sub.sc.Expect), about)))
	}
	return nil
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
func (a *app) oneScenario(name string, asJSON bool) error {
	sub, err := a.catalogued(name)
	if err != nil {
		return err
	}
	h, err := a.history(sub.sc)
	if err != nil {
		return err
	}
	v := sim.Check(h)
	how := sub.sc.Expect.Mismatch(v)
	if err := a.reportExpected(asJSON, sub, v, how); err != nil {
		return err
	}
	w := a.people(asJSON)
	if err := a.screen(w, sub, h, v); err != nil {
		return written(err)
	}
	if !asJSON {
		fmt.Fprintln(w)
		if err := timeline.Write(w, h, v, timeline.Story, w.style()); err != nil {
			return written(err)
		}
	}
	fmt.Fprintln(w)
	for _, r := range sub.sc.Remedies {
		fmt.Fprintf(w, "Remedy %s: %s\n", r.Name, r.Text)
	}
	fmt.Fprintln(w, verdictLine(sub, v, how))
	return ended(statusOfExpected(how))
}

// manyScenarios runs several, a line each.
func (a *app) manyScenarios(which []string, asJSON bool) error {
	w := a.people(asJSON)
	wrong := 0
	for _, name := range which {
		sub, err := a.catalogued(name)
		if err != nil {
			return err
		}
		v, err := sim.Test(sub.sc)
		if err != nil {
			return fail(statusFault, "%s: %w", name, err)
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
	fmt.Fprintf(w, "%d scenarios, %d not as expected\n", len(which), wrong)
	if wrong > 0 {
		return ended(statusBroke)
	}
	return nil
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
		what = "broke " + v.Violations[0].Invariant.String()
	}
	margin := ""
	if m, ok := v.Margin(); ok && instant(int64(m)) != nil {
		margin = fmt.Sprintf(", margin %v", m)
	}
	return fmt.Sprintf("ok     %s: %s as expected%s", sub.name, what, margin)
}

func statusOfExpected(how []string) int {
	if len(how) > 0 {
		return statusBroke
	}
	return statusHeld
}
