package simtest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"driftlock/sim"
)

// TestFilesAndCommands: what a test is called decides where its scenario is kept,
// and the command that runs it again.
func TestFilesAndCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ test, file, command string }{
		{"TestX", "testdata/driftlock/TestX.json", `DRIFTLOCK_SCENARIO=testdata/driftlock/TestX.json go test -run '^TestX$' .`},
		{"TestX/case_1", "testdata/driftlock/TestX/case_1.json", `DRIFTLOCK_SCENARIO=testdata/driftlock/TestX/case_1.json go test -run '^TestX$/^case_1$' .`},
		{"TestX/a.b#01", "testdata/driftlock/TestX/a.b%2301.json", `DRIFTLOCK_SCENARIO=testdata/driftlock/TestX/a.b%2301.json go test -run '^TestX$/^a\.b#01$' .`},
		{"TestX/..", "testdata/driftlock/TestX/%2E..json", `DRIFTLOCK_SCENARIO=testdata/driftlock/TestX/%2E..json go test -run '^TestX$/^\.\.$' .`},
		{`TestX/it's_(a)|b`, "testdata/driftlock/TestX/it%27s_%28a%29%7Cb.json", `DRIFTLOCK_SCENARIO=testdata/driftlock/TestX/it%27s_%28a%29%7Cb.json go test -run '^TestX$/^it'\''s_\(a\)\|b$' .`},
		{"TestÜ", "testdata/driftlock/TestÜ.json", `DRIFTLOCK_SCENARIO='testdata/driftlock/TestÜ.json' go test -run '^TestÜ$' .`},
	} {
		if got := fileOf(c.test); got != c.file {
			t.Errorf("%s is kept in %s, want %s", c.test, got, c.file)
		}
		if got := rerun(c.test, fileOf(c.test)); got != c.command {
			t.Errorf("%s is run by\n%s, want\n%s", c.test, got, c.command)
		}
	}
}

// TestFilesStayInTheirFolder: no name leads out of it, and no two to one file.
func TestFilesStayInTheirFolder(t *testing.T) {
	t.Parallel()
	names := rapid.StringOfN(rapid.SampledFrom([]rune("aB./\\%:*_ \x00é'")), 1, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		for _, name := range []string{a, b} {
			file := fileOf(name)
			if !filepath.IsLocal(file) || !strings.HasPrefix(filepath.ToSlash(filepath.Clean(file)), "testdata/driftlock/") || strings.ContainsAny(file, "\\:* \x00'") {
				t.Fatalf("%q is kept in %q", name, file)
			}
		}
		if a != b && fileOf(a) == fileOf(b) {
			t.Fatalf("%q and %q are kept in one file, %s", a, b, fileOf(a))
		}
	})
}

// TestQuoted: a shell reads the command as it was meant.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"^TestX$", "it's", `a\b`, "$HOME `ls` \"x\"", ""} {
		out, err := exec.Command("sh", "-c", "printf %s "+quoted(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q is read as %q, %v", word, out, err)
		}
	}
}

// TestOwn: of a stack there is left what is the workload's, from where it panicked.
func TestOwn(t *testing.T) {
	t.Parallel()
	var told sim.Panic
	r := sim.NewRunner(sim.Do(func(p *sim.Process) { index(nil) }), sim.OnPanic(func(p sim.Panic) { told = p }))
	defer r.Close()
	aside(func() { r.Run(sim.Generate(sim.Drift(0), 1)) })
	lines := own(told.Stack)
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "driftlock/sim/simtest.index(") || !strings.HasPrefix(lines[2], "driftlock/sim/simtest.TestOwn.func1(") {
		t.Errorf("%q of\n%s", lines, told.Stack)
	}
	if from := origin(&told); !strings.Contains(from, "runtime.boundsError") || !strings.Contains(from, "file_test.go") {
		t.Error(from)
	}
}

//go:noinline
func index(list []int) int { return list[len(list)] }
