package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlock/clock"
	"driftlock/sim"
)

// Two runs of one scenario cannot differ here, so status 3 is shown with the
// runs of two scenarios.
func TestRunsThatDifferAreToldAtTheFirstStep(t *testing.T) {
	t.Parallel()
	sc, err := sim.Parse(defaultRun, catalogue()[defaultRun])
	if err != nil {
		t.Fatal(err)
	}
	one, err := (&app{err: &stream{}}).history(subject{sc: sc})
	if err != nil {
		t.Fatal(err)
	}
	sc.Network.Reply.Delay.Min = clock.Duration(1)
	two, err := (&app{err: &stream{}}).history(subject{sc: sc})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var f *failure
	if err := compare(&stream{w: &b}, one, two); !errors.As(err, &f) || f.status != statusDiffered {
		t.Errorf("two different runs: %v, want status %d", err, statusDiffered)
	}
	if text := b.String(); !strings.Contains(text, "DIFFER from step #") || !strings.Contains(text, one.Hash().String()) || !strings.Contains(text, two.Hash().String()) {
		t.Errorf("told as %q", text)
	}
	if err := compare(&stream{w: &b}, one, one); err != nil {
		t.Errorf("a run and itself: %v", err)
	}
}

func TestFilesAreNeverOverwritten(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ text, want string }{
		{"one", "x.json"}, {"one", "x.json"}, {"two", "x-2.json"}, {"three", "x-3.json"}, {"two", "x-2.json"}, {"one", "x.json"},
	} {
		got, err := keep("x", []byte(c.text))
		if err != nil || got != c.want {
			t.Errorf("%q went to %q, %v; want %q", c.text, got, err, c.want)
		}
		if text, _ := os.ReadFile(c.want); string(text) != c.text {
			t.Errorf("%s has %q", c.want, text)
		}
	}
	if err := os.Mkdir("y.json", 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := keep("y", []byte("one")); err != nil || got != "y-2.json" {
		t.Errorf("beside a folder of that name: %q, %v", got, err)
	}
	if got, err := keep(filepath.Join("nowhere", "x"), []byte("one")); err == nil {
		t.Errorf("in a folder that is not there: %q", got)
	}
	if got := fileName(`a/b\c:d e`); strings.ContainsAny(got, `/\: `) {
		t.Errorf("a name for a file: %q", got)
	}
}

func TestCommandsCanBeTyped(t *testing.T) {
	t.Parallel()
	if got, want := command([]string{"replay", "run", "it's a file.json", ""}), `replay run 'it'\''s a file.json' ''`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := command(self("/tmp/go-build123/b001/exe/replay")), "go run ./cmd/replay"; got != want {
		t.Errorf("under go run: %s, want %s", got, want)
	}
	if got, want := command(self("/usr/bin/replay")), "/usr/bin/replay"; got != want {
		t.Errorf("installed: %s, want %s", got, want)
	}
}

func TestLinesFitTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width      int
		line, want string
	}{{0, "as long as it is", "as long as it is"}, {5, "12345", "12345"}, {5, "äöüßxy", "äöüß…"}} {
		if got := (&stream{width: c.width}).fit(c.line); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.line, c.width, got, c.want)
		}
	}
}
