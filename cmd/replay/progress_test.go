package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressIsForTerminalsAndForWhatTakesLong(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	a := &app{err: &stream{w: &b}}
	p := a.newProgress(100, "seeds")
	p.at(50, "worst margin 1ms")
	p.done()
	if b.Len() > 0 {
		t.Errorf("without a terminal it draws %q", b.String())
	}

	a.err.terminal = true
	p = a.newProgress(100, "seeds")
	p.at(40, "worst margin 1ms")
	if b.Len() > 0 {
		t.Errorf("before its time it draws %q", b.String())
	}
	p = a.newProgress(100, "seeds")
	p.gate.from = time.Time{} // its time has come
	p.at(40, "worst margin 1ms")
	p.done()
	for _, want := range []string{"worst margin 1ms", "40/100", "seeds/", "40%"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in %q", want, b.String())
		}
	}
	if !strings.HasSuffix(b.String(), "\r\x1b[K") {
		t.Errorf("the bar is left behind: %q", b.String())
	}
}

// What takes long without anybody knowing how long says that it goes on, and takes
// that away again.
func TestWaitingIsTold(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	a := &app{err: &stream{w: &b, terminal: true, width: 40}}
	p := a.waiting("shrinking")
	p.done()
	if b.Len() > 0 {
		t.Errorf("before its time it says %q", b.String())
	}
	p = a.waiting("shrinking")
	time.Sleep(patience + 5*refresh)
	p.done()
	if text := b.String(); !strings.Contains(text, "shrinking, 2 s") || !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("it says %q", text)
	}
	a.err.terminal = false
	a.waiting("shrinking").done()
}
