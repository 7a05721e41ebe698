package simtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlock/clock"
	"driftlock/sim"
)

// The flag names a file, or a folder in which each test has one; two tests never draw
// in the same.
func TestPictureFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct{ asked, test, want string }{
		{"a.html", "TestOne", "a.html"},
		{"a.html", "TestOne", "a.html"},
		{"a.html", "TestTwo/sub $", "a-TestTwo-sub_%24.html"},
		{"new/", "TestOne", "new/TestOne.html"},
		{dir, "TestOne/x", filepath.ToSlash(dir) + "/TestOne-x.html"},
	} {
		if got := pictureOf(c.asked, strings.ReplaceAll(c.test, " ", "_")); got != c.want {
			t.Errorf("%s of %s is drawn in %s, and not %s", c.asked, c.test, got, c.want)
		}
	}
}

// What fails is drawn: a broken promise, and a panic, which the page says first.
func TestFailuresAreDrawn(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]sim.Workload{
		"I2 (sound): c1 believed": func(p *sim.Process) {
			if token, err := p.Lock().Acquire(p.Context(), "k", 10e9); err == nil {
				p.Holds("k", p.Clock().Now().Add(20e9))
				p.Sleep(2 * token.Remaining())
			}
		},
		"c1 panicked in this run, at step": func(p *sim.Process) { panic("oh") },
	} {
		x := newTrials(t, w, nil)
		defer x.close()
		sc := sim.Generate(sim.Drift(0*clock.PPM).Nodes(3, 3).Clients(1, 1), 1)
		f := x.try(sc)
		if f == nil {
			t.Fatalf("%s does not fail", name)
		}
		file := filepath.Join(t.TempDir(), "new", "a.html")
		if err := drawFile(file, f.history, f.told(), f.options("TestX", "file.json")); err != nil {
			t.Fatal(err)
		}
		mine := filepath.Join(t.TempDir(), "README.md")
		if err := os.WriteFile(mine, []byte("# Mine\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			file string
			over bool
		}{{file, true}, {mine, false}} {
			if err := drawFile(c.file, f.history, f.told(), f.options("TestX", "file.json")); (err == nil) != c.over {
				t.Errorf("%s is written over or not: %v", c.file, err)
			}
		}
		if text, err := os.ReadFile(mine); string(text) != "# Mine\n" {
			t.Errorf("somebody's file is %q now (%v)", text, err)
		}
		page, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(page), name) || !strings.Contains(string(page), "<title>TestX") || !strings.Contains(string(page), "DRIFTLOCK_SCENARIO=file.json go test") {
			t.Errorf("the page does not say %q (%v)", name, err)
		}
	}
}
