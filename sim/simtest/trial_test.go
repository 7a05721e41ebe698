package simtest

import (
	"strings"
	"testing"
	"time"

	"driftlock/sim"
)

// TestOwn: of a stack there is left what is the workload's, from where it panicked.
func TestOwn(t *testing.T) {
	t.Parallel()
	x := newTrials(t, func(p *sim.Process) { index(nil) }, nil)
	defer x.close()
	f := x.try(sim.Generate(sim.Drift(0), 1))
	lines := own(f.panicked.Stack)
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "driftlock/sim/simtest.index(") || !strings.HasPrefix(lines[2], "driftlock/sim/simtest.TestOwn.func1(") {
		t.Errorf("%q of\n%s", lines, f.panicked.Stack)
	}
	if from := origin(f.panicked); !strings.Contains(from, "runtime.boundsError") || !strings.Contains(from, "trial_test.go") {
		t.Error(from)
	}
}

//go:noinline
func index(list []int) int { return list[len(list)] }

// TestPanicsAreNotMixedUp: a panic is shrunk to one that comes from the same line.
func TestPanicsAreNotMixedUp(t *testing.T) {
	t.Parallel()
	x := newTrials(t, func(p *sim.Process) {
		switch p.Sleep(time.Second); p.Transport().Len() {
		case 6:
			panic("six")
		case 3:
			panic("three")
		}
	}, nil)
	defer x.close()
	sc := sim.Generate(sim.Drift(0).Nodes(6, 6).Clients(3, 3), 1)
	small, steps, err := x.smaller(t.Context(), sim.Space{}, sc, x.try(sc))
	if err != nil || len(small.Nodes) != 6 || len(small.Clients) != 1 {
		t.Errorf("%s left after %d steps, %v", small.Size(), steps, err)
	}
	if f := x.try(small); f == nil || f.panicked == nil || f.panicked.Value != "six" {
		t.Errorf("it fails otherwise: %+v", f)
	}
}
