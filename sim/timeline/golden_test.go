package timeline

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"driftlock/sim"
)

var update = flag.Bool("update", false, "write the golden texts anew")

// told is the screen and the story of a run.
func told(t *testing.T, h *sim.History, level Level, st Style) string {
	t.Helper()
	var b bytes.Buffer
	v := sim.Check(h)
	if err := Screen(&b, h, v, 0, st); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	if err := Write(&b, h, v, View{Level: level}, st); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func load(t *testing.T, file string) sim.Scenario {
	t.Helper()
	sc, err := sim.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func run(t *testing.T, sc sim.Scenario, opts ...sim.Option) *sim.History {
	t.Helper()
	h, err := sim.Run(sc, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// stories are the scenarios that have a text, each with the file that has it:
// those of testdata, beside them, and those of the catalogue that show one fault
// each.
func stories(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	own, err1 := filepath.Glob("testdata/*.json")
	faults, err2 := filepath.Glob("../../testdata/scenarios/fault-*.json")
	if err1 != nil || err2 != nil || len(own) == 0 || len(faults) < 25 {
		t.Fatalf("%d scenarios %v, %d of faults %v", len(own), err1, len(faults), err2)
	}
	for _, file := range own {
		texts[file] = strings.TrimSuffix(file, ".json") + ".txt"
	}
	for _, file := range faults {
		texts[file] = "../../testdata/stories/" + strings.TrimSuffix(filepath.Base(file), ".json") + ".txt"
	}
	return texts
}

// sameAs compares a text with the file that holds it, or writes it there.
func sameAs(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (go test ./sim/timeline -update writes it)", err)
	}
	if got != string(want) {
		t.Errorf("the text has changed; if it should, go test ./sim/timeline -update\n--- got\n%s\n--- want\n%s", got, want)
	}
}

// Each such scenario has its text, to be read like a story.
func TestStories(t *testing.T) {
	t.Parallel()
	for file, golden := range stories(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			got := told(t, run(t, load(t, file)), Story, Style{})
			sameAs(t, golden, got)
		})
	}
}

// Lines fit the page, at every level.
func TestLinesFit(t *testing.T) {
	t.Parallel()
	for file := range stories(t) {
		h := run(t, load(t, file))
		for _, level := range []Level{Story, Messages, Everything} {
			for line := range strings.Lines(told(t, h, level, Style{})) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
					t.Errorf("%s: %d columns: %q", file, n, line)
				}
			}
		}
	}
}

// Colour adds nothing but colour.
func TestColourIsNoContent(t *testing.T) {
	t.Parallel()
	h := run(t, load(t, "testdata/slewed-nodes.json"))
	coloured := told(t, h, Story, Style{Color: true})
	if !strings.Contains(coloured, "\x1b[31;1m") {
		t.Error("the break is not marked with colour")
	}
	var plain strings.Builder
	for i, part := range strings.Split(coloured, "\x1b[") {
		if i > 0 {
			_, part, _ = strings.Cut(part, "m")
		}
		plain.WriteString(part)
	}
	if want := told(t, h, Story, Style{}); plain.String() != want {
		t.Errorf("without its colours the text is\n%s\nand not\n%s", plain.String(), want)
	}
}

// What a workload logs cannot reach the terminal as anything but text.
func TestLogLinesAreShownAndHarmless(t *testing.T) {
	t.Parallel()
	h := run(t, load(t, "testdata/suspended-client.json"), sim.Do(func(p *sim.Process) {
		p.Logf("one\x1b[2J\ntwo")
	}))
	for _, level := range []Level{Story, Messages, Everything} {
		text := told(t, h, level, Style{})
		if strings.Contains(text, "\x1b") || !strings.Contains(text, "logs: one [2J two") {
			t.Errorf("the log line is told as\n%q", text)
		}
	}
}
