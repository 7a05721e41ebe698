package sim

import (
	"runtime"
	"strings"
	"testing"
)

// A run stops at its step, in the process that does it: here is the stack that a
// debugger would show.
func TestStopAt(t *testing.T) {
	sc := Generate(DriftCovered(), 1)
	plain, err := Run(sc, Do(stops))
	if err != nil {
		t.Fatal(err)
	}
	step := 0
	for i, e := range plain.Events() {
		if e.Kind == Noted {
			step = i
			break
		}
	}
	var at []int
	var stack string
	hook = func(h *History, step int, e Event) {
		at = append(at, step)
		if e.Kind != Noted || h.Text(e.Note) != "here" || h.Event(step) != e {
			t.Errorf("it stops at %+v", e)
		}
		b := make([]byte, 1<<16)
		stack = string(b[:runtime.Stack(b, false)])
	}
	defer func() { hook = nil }()
	h, err := Run(sc, Do(stops), StopAt(step))
	if err != nil || h.Hash() != plain.Hash() {
		t.Fatalf("%v, hash %v and not %v", err, h.Hash(), plain.Hash())
	}
	if len(at) != 1 || at[0] != step || !strings.Contains(stack, "sim.stops(") {
		t.Errorf("it stops at %v, and not at %d, on\n%s", at, step, stack)
	}
	at = nil
	if _, err := Run(sc, Do(stops)); err != nil || at != nil {
		t.Errorf("without StopAt it stops at %v, %v", at, err)
	}
}

func stops(p *Process) { p.Logf("here") }
