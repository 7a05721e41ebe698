package simtest

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/testdata/scenarios"
)

// A Row is what a lock came to in the catalogue of known failures.
type Row struct {
	Lock  string
	Cells []Cell // a scenario each, in the order of their names
}

// A Cell is what a lock came to in one scenario, beside what the lock of package
// redlock comes to in the same.
type Cell struct {
	Scenario string
	Claim    string          // what it puts to the test: "clocks", "pauses", …
	Broken   []sim.Invariant // in the order of their numbers
	Redlock  []sim.Invariant
	Text     string // the first broken promise, in a line
	Err      error  // not nil: the lock panicked, or ended its test
}

// Worse says that the lock came to no end, or broke a promise that redlock kept.
func (c Cell) Worse() bool {
	return c.Err != nil || slices.ContainsFunc(c.Broken, func(i sim.Invariant) bool { return !slices.Contains(c.Redlock, i) })
}

// Report runs the catalogue of known failures with a lock of your own, which every
// process gets from lock, and logs its row: in how many scenarios its promises held,
// beside redlock, and what broke. It fails t only if the lock cannot be run: because
// it blocks outside of the simulator, or grants nothing to anybody.
func Report(t testing.TB, name string, lock func(p *sim.Process) redlock.Locker) Row {
	t.Helper()
	mine, theirs := newTrials(t, nil, []sim.Option{sim.LockedBy(lock)}), newTrials(t, nil, nil)
	defer mine.close()
	defer theirs.close()
	row, granted := Row{Lock: name}, false
	for _, sc := range catalogue(t) {
		sc.Lock.Kind, sc.Lock.Flaws = "", nil // a flawed lock's place is taken
		c := Cell{Scenario: sc.Name, Claim: sc.Claim}
		f := mine.try(sc)
		switch {
		case f == nil:
		case errors.Is(f.err, sim.ErrStuck):
			t.Fatal(f.tell("in " + sc.Name))
		case f.broken != nil:
			c.Broken, c.Text = f.verdict.Broken(), f.broken.Text
		default:
			c.Err = errors.New(strings.TrimSpace(f.tell("in " + sc.Name)))
		}
		if h := mine.runner.History(); h != nil {
			granted = granted || len(mine.runner.Check().Leases) > 0
		}
		if f := theirs.try(sc); f != nil {
			c.Redlock = f.verdict.Broken()
		}
		row.Cells = append(row.Cells, c)
	}
	if !granted {
		t.Fatalf("%s granted nothing to anybody in %d scenarios", name, len(row.Cells))
	}
	t.Logf("\n%s", row)
	return row
}

// catalogue is the scenarios that this module carries.
func catalogue(t testing.TB) (all []sim.Scenario) {
	t.Helper()
	files, err := fs.Glob(scenarios.Files, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := scenarios.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sc, err := sim.Parse(file, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sc)
	}
	return all
}

// String is the row as a table in Markdown, and what broke below it.
func (r Row) String() string {
	var claims []string
	for _, c := range r.Cells {
		if !slices.Contains(claims, c.Claim) {
			claims = append(claims, c.Claim)
		}
	}
	slices.Sort(claims)
	table := [][]string{{"held in"}, {r.Lock}, {"redlock"}}
	for _, claim := range append(claims, "all") {
		of, mine, theirs := 0, 0, 0
		for _, c := range r.Cells {
			if claim != "all" && claim != c.Claim {
				continue
			}
			of++
			if len(c.Broken) == 0 && c.Err == nil {
				mine++
			}
			if len(c.Redlock) == 0 {
				theirs++
			}
		}
		table[0] = append(table[0], claim)
		table[1] = append(table[1], fmt.Sprintf("%d of %d", mine, of))
		table[2] = append(table[2], fmt.Sprintf("%d of %d", theirs, of))
	}
	return markdown(table) + r.breaks()
}

// markdown is a table with a head.
func markdown(rows [][]string) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, row := range rows {
		for i, cell := range row {
			b.WriteString("| " + cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+1))
		}
		b.WriteString("|\n")
		if n == 0 {
			for i := range row {
				b.WriteString("|" + strings.Repeat("-", width[i]+2))
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// breaks lists the scenarios in which something broke, those first in which redlock
// does better.
func (r Row) breaks() string {
	var worse, same strings.Builder
	for _, c := range r.Cells {
		switch {
		case c.Err != nil:
			fmt.Fprintf(&worse, "  %s: %s\n", c.Scenario, strings.ReplaceAll(c.Err.Error(), "\n", "\n    "))
		case c.Worse():
			fmt.Fprintf(&worse, "  %s: %s: %s\n", c.Scenario, list(c.Broken), c.Text)
		case len(c.Broken) > 0:
			fmt.Fprintf(&same, "  %s: %s\n", c.Scenario, list(c.Broken))
		}
	}
	text := ""
	if worse.Len() > 0 {
		text += "\nBroken where redlock is not:\n" + worse.String()
	}
	if same.Len() > 0 {
		text += "\nBroken as redlock is:\n" + same.String()
	}
	return text
}

func list(broken []sim.Invariant) string {
	words := make([]string, len(broken))
	for i, inv := range broken {
		words[i] = fmt.Sprintf("%v (%s)", inv, inv.Word())
	}
	return strings.Join(words, ", ")
}
