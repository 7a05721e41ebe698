package simtest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
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
