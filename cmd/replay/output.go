package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"driftlock/sim/timeline"

	"golang.org/x/term"
)

// stream is standard output or standard error: it remembers the first error,
// and whether a person looks at it.
type stream struct {
	mu       sync.Mutex
	w        io.Writer
	err      error
	optional bool   // an error changes nothing
	unread   func() // called when nobody reads it any more; nil: that is an error as any other
	closed   bool   // nobody reads it any more
	terminal bool
	width    int // of the terminal; 0: none, or nobody knows
}

func newStream(f *os.File) *stream {
	s := &stream{w: f, terminal: term.IsTerminal(int(f.Fd())), optional: f == os.Stderr}
	if s.terminal {
		s.width, _, _ = term.GetSize(int(f.Fd()))
	}
	return s
}

// fit cuts a line to the terminal's width.
func (s *stream) fit(line string) string {
	if r := []rune(line); s.width > 0 && len(r) > s.width {
		return string(r[:s.width-1]) + "…"
	}
	return line
}

// Write is io.Writer's. After an error nothing more is written. That nobody reads what
// it is piped into ("| head") is no error: nothing more is written either.
func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return len(b), nil
	}
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
	if s.unread != nil && errors.Is(s.err, syscall.EPIPE) {
		s.err, s.closed = nil, true
		s.unread()
		return len(b), nil
	}
	if s.err != nil && !s.optional {
		return 0, s.err
	}
	return len(b), nil
}

// failed is the first error of a Write.
func (s *stream) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// style is how text for people is written to the stream. NO_COLOR is
// https://no-color.org.
func (s *stream) style() timeline.Style {
	return timeline.Style{Color: s.terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// people is where text for people goes: standard output, unless that is for
// programs.
func (a *app) people(json bool) *stream {
	if json {
		return a.err
	}
	return a.out
}

// fileName makes a name for a file of any text.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) || r < ' ' {
			return '-'
		}
		return r
	}, filepath.Base(s))
}

// command is a command line that can be typed.
func command(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&;|<>()*?[]#~`!") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// mayReplace refuses a file of --out with a text of another kind than read reads.
func mayReplace[T any](out string, read func(file string) (T, error)) error {
	if was, err := os.Stat(out); err != nil || !was.Mode().IsRegular() || was.Size() == 0 {
		return nil
	}
	if _, err := read(out); err != nil {
		return fmt.Errorf("--out: %w; it would be written over: name another file", err)
	}
	return nil
}
