package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// What happened with code that a scenario cannot hold is told of its history.
func TestHistoryOfCodeIsTold(t *testing.T) {
	t.Parallel()
	sc := sim.Reference(1)
	for i := range sc.Clients {
		sc.Clients[i].Steps, sc.Clients[i].Repeat = nil, 0
	}
	h, err := sim.Run(sc, sim.Do(func(p *sim.Process) {
		if token, err := p.Lock().Acquire(p.Context(), "k", time.Second); err == nil {
			p.Lock().Release(p.Context(), "k", token)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "code.history")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Record(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	var out, complaint strings.Builder
	a := &app{out: &stream{w: &out}, err: &stream{w: &complaint}, self: []string{"replay"}}
	if status := a.execute(t.Context(), []string{"run", file}); status != statusHeld || !strings.HasPrefix(out.String(), "HELD  ") {
		t.Errorf("status %d: %s%s", status, out.String(), complaint.String())
	}
	if status := a.execute(t.Context(), []string{"diff", file}); status != statusMisuse {
		t.Errorf("a run without the code is compared: status %d", status)
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
