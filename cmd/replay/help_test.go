package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every command explains itself in the same way: what it does in a line and at
// length, how it is called, with examples that name it, and flags that fit a
// terminal; every topic is more than a line.
func TestHelpIsOfOneStyle(t *testing.T) {
	t.Parallel()
	a := &app{out: &stream{w: io.Discard}, err: &stream{w: io.Discard}, self: []string{"replay"}}
	root := a.root()
	root.InitDefaultHelpFlag()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra's own
			continue
		}
		if s := cmd.Short; s == "" || strings.HasSuffix(s, ".") || s[0] < 'A' || s[0] > 'Z' {
			t.Errorf("%s: the short text is %q", cmd.Name(), s)
		}
		if !strings.Contains(cmd.Long, "\n") && cmd.Name() != "help" {
			t.Errorf("%s: the long text is %q", cmd.Name(), cmd.Long)
		}
		if cmd.Runnable() {
			if !strings.Contains(cmd.Example, "  replay "+cmd.Name()) {
				t.Errorf("%s: the examples are %q", cmd.Name(), cmd.Example)
			}
			if cmd.Args == nil {
				t.Errorf("%s takes any argument, and says nothing", cmd.Name())
			}
			if cmd.Name() != "help" && !strings.Contains(cmd.Long, "Exit status:") {
				t.Errorf("%s does not say what its exit statuses mean", cmd.Name())
			}
		}
		var b bytes.Buffer
		a := &app{out: &stream{w: &b}, err: &stream{w: io.Discard}, self: []string{"replay"}}
		if status := a.execute(context.Background(), []string{"help", cmd.Name()}); status != statusHeld {
			t.Errorf("help %s: status %d", cmd.Name(), status)
		}
		if !cmd.Runnable() { // its tables are as wide as they are in docs
			continue
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 90 {
				t.Errorf("help %s: %d columns: %s", cmd.Name(), n, line)
			}
		}
	}
	if _, _, err := root.Find([]string{"nosuch"}); err != nil {
		t.Errorf("an unknown command is cobra's error, not ours: %v", err)
	}
}

// A file that cannot be written to its end, or whose writing is interrupted, is not
// there, and nothing else either.
func TestNothingHalfWrittenIsLeft(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	for name, fill := range map[string]func(io.Writer) error{
		"full": func(w io.Writer) error {
			if _, err := w.Write([]byte("half")); err != nil {
				return err
			}
			return errors.New("no space left on device")
		},
		"interrupted": func(w io.Writer) error {
			_, err := (&interruptible{w, ctx}).Write([]byte("half"))
			return err
		},
	} {
		if file, err := keepAs(name, ".json", fill); err == nil {
			t.Errorf("%s: written to %s", name, file)
		}
	}
	left, err := os.ReadDir(".")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Colour is for people who want it.
func TestColourIsAsked(t *testing.T) {
	for _, c := range []struct {
		terminal      bool
		noColor, term string
		want          bool
	}{{true, "", "xterm", true}, {true, "1", "xterm", false}, {true, "", "dumb", false}, {false, "", "xterm", false}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if got := (&stream{terminal: c.terminal}).style().Color; got != c.want {
			t.Errorf("%+v: colour is %v", c, got)
		}
	}
}

// Numbers may be written as people say them.
func TestCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"0": 0, "500": 500, "10k": 10_000, "2M": 2_000_000, "3G": 3_000_000_000, "1_000": 1000} {
		var c count
		if err := c.Set(text); err != nil || uint64(c) != want {
			t.Errorf("%s is %d, %v; want %d", text, c, err, want)
		}
	}
	for _, text := range []string{"", "k", "-1", "1.5k", "99999999999999G", "10kk", "1e6"} {
		var c count
		if err := c.Set(text); err == nil {
			t.Errorf("%s is %d", text, c)
		}
	}
}
