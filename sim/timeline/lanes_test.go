package timeline

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"driftlock/sim"
)

// timelineOf is the picture of a run with what its verdict says.
func timelineOf(t *testing.T, h *sim.History, view View, st Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := view.Check(h); err != nil {
		t.Fatal(err)
	}
	if err := Timeline(&b, h, sim.Check(h), 0, view, st); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Where nobody wants a lock there is no key to name.
func TestTimelineWithoutAKey(t *testing.T) {
	t.Parallel()
	sc := load(t, "../../testdata/scenarios/d1-validity.json")
	for i := range sc.Clients {
		sc.Clients[i].Steps = []sim.Step{{Do: "sleep", For: 1e9}}
	}
	if got := timelineOf(t, run(t, sc), View{}, Style{}); strings.Contains(got, "Key") || !strings.Contains(got, "Time is not to scale.") {
		t.Errorf("a legend of a key that there is not:\n%s", got)
	}
}

// Eight failures of the catalogue, each with its cause to be seen on one screen of
// 40 lines: a wall clock that jumps, one that is slewed, a client that sleeps, a
// pause between check and act, a node that forgets, a late SET, a release that
// deletes another's key, and drift that is added instead of taken off.
func TestTimelines(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"s01-forward-step-on-quorum-node", "s04-chrony-slew", "s05-client-suspend", "s10-drift-sign-error",
		"s13-pause-after-check", "s20-amnesia-restart", "s32-late-set-after-failure", "s44-unconditional-del",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := run(t, load(t, "../../testdata/scenarios/"+name+".json"))
			got := timelineOf(t, h, View{}, Style{})
			sameAs(t, filepath.Join("testdata", "timelines", name+".txt"), got)
			if n := strings.Count(got, "\n"); n > 40 {
				t.Errorf("%d lines: more than a screen", n)
			}
		})
	}
}

// Every timeline of the catalogue, and of drawn runs with up to seven nodes, fits
// the page, as a whole and from any step to any other.
func TestTimelinesFit(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/scenarios/*.json")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	var runs []sim.Scenario
	for _, file := range files {
		runs = append(runs, load(t, file))
	}
	for seed := range uint64(60) {
		runs = append(runs, sim.Generate(sim.Faulty(), seed), sim.Generate(sim.DriftWide(), seed))
	}
	for _, sc := range runs {
		h := run(t, sc)
		views := []View{{}, {Only: []string{sc.Nodes[0].Name}}, {Only: []string{sc.Clients[0].Name}}}
		if n := h.Len(); n > 0 {
			views = append(views, View{From: 1, Until: 1}, View{From: n}, View{From: n/2 + 1, Until: min(n, n/2+20)}, View{Until: n/3 + 1})
		}
		for _, view := range views {
			text := timelineOf(t, h, view, Style{})
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
					t.Errorf("%s: %d columns: %q", sc.Name, n, line)
				}
			}
			if n := strings.Count(text, "\n"); len(sc.Nodes)+len(sc.Clients) <= 7 && n > 60 {
				t.Errorf("%s: %d lines", sc.Name, n)
			}
		}
	}
}

// A view shows its machines, its steps and nothing else.
func TestTimelineOfAView(t *testing.T) {
	t.Parallel()
	h := run(t, load(t, "../../testdata/scenarios/s04-chrony-slew.json"))
	for _, c := range []struct {
		view          View
		there, absent []string
	}{
		{View{Only: []string{"c1"}}, []string{"\nc1 "}, []string{"\nc2 "}},
		{View{Only: []string{"C"}}, []string{"\nC "}, []string{"\nA, B", "\nc1 ", "\nD, E"}},
		{View{From: 1, Until: 20}, []string{"#1"}, []string{"▲"}},
	} {
		text := timelineOf(t, h, c.view, Style{})
		_, text, _ = strings.Cut(text, "\n\n")
		for _, s := range c.there {
			if !strings.Contains(text, s) {
				t.Errorf("%+v: %q is missing in\n%s", c.view, s, text)
			}
		}
		for _, s := range c.absent {
			if strings.Contains(text, s) {
				t.Errorf("%+v: %q is in\n%s", c.view, s, text)
			}
		}
	}
	for _, view := range []View{{Only: []string{"c9"}}, {From: -1}, {From: h.Len() + 1}, {Until: h.Len() + 1}, {From: 5, Until: 4}, {Only: []string{"key:A"}}} {
		if view.Check(h) == nil {
			t.Errorf("%+v is taken", view)
		}
	}
}

// On a scale moments are in order, each with two columns at least, and the first
// and the last instant are at its ends.
func TestScale(t *testing.T) {
	t.Parallel()
	for _, at := range [][]int64{{0, 1}, {0, 1e9, 1e9 + 1e6, 10e9}, {5, 5, 7}, {0, never / 2, never}} {
		var list []moment
		for _, x := range at {
			list = append(list, moment{at: x, weight: ruling})
		}
		s := scaleOf(list)
		for i := range s.moments {
			if s.pos(s.moments[i].at) != s.column[i] {
				t.Errorf("%v: instant %d is at %d, not %d", at, s.moments[i].at, s.pos(s.moments[i].at), s.column[i])
			}
			if i > 0 && s.column[i] < s.column[i-1]+2 {
				t.Errorf("%v: columns %v", at, s.column)
			}
		}
		if last := s.column[len(s.column)-1]; last != laneWidth-1 && len(s.column) > 1 {
			t.Errorf("%v: it ends at column %d", at, last)
		}
	}
	var many []moment
	for i := range int64(10_000) {
		many = append(many, moment{at: i * 1e6, weight: int(i) % 2})
	}
	if s := scaleOf(append(many, moment{at: 5e9, weight: ruling})); len(s.moments) > laneWidth/3 || s.pos(5e9) == s.pos(4.9e9) {
		t.Errorf("%d moments", len(s.moments))
	}
}
