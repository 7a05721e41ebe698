package mini

import (
	"testing"

	"driftlock/redlock"
	"driftlock/sim"
)

// cameTwice says that nodes carried out more acquires of an attempt than were sent to
// the one that executed e, by whatever name: a message was doubled.
func cameTwice(h *sim.History, e sim.Event) bool {
	nodes := h.Scenario().Nodes
	sent, executed := 0, 0
	for _, o := range h.Events() {
		switch at := o.Node; {
		case o.Op != redlock.OpAcquire || o.Owner != e.Owner || at < 0:
		case o.Kind == sim.Executed && at == e.Node:
			executed++
		case o.Kind == sim.Sent && (at == e.Node || nodes[at].Alias == nodes[e.Node].Name):
			sent++
		}
	}
	return executed > sent
}

// TestRuns: whole runs, with their faults, have the same history on miniredis as on
// the fast node, but that an acquire which came twice is refused (see
// conformance_test.go).
func TestRuns(t *testing.T) {
	t.Parallel()
	fast, real := sim.NewRunner(), sim.NewRunner(sim.StoredIn(New))
	defer fast.Close()
	defer real.Close()
	seeds := uint64(sequences(5_000) / 100)
	runs, explained := 0, 0
	for _, sp := range sim.Spaces() {
		for seed := uint64(1); seed <= seeds; seed++ {
			sc := sim.Generate(sp, seed)
			if sc.Lock.Kind == "flawed" {
				continue
			}
			x, err := fast.Run(sc)
			if err != nil {
				t.Fatal(err)
			}
			y, err := real.Run(sc)
			if err != nil {
				t.Fatal(err)
			}
			runs++
			step, same := sim.FirstDifference(x, y)
			if same {
				continue
			}
			a, b := x.Event(step), y.Event(step)
			switch {
			case a.Kind == sim.Executed && a.Status == redlock.Ours && b.Status == redlock.Others && cameTwice(x, a):
				explained++
			default:
				t.Errorf("%s %d: from step %d on they differ: the fast node %+v, miniredis %+v", sp.Name(), seed, step, a, b)
			}
		}
	}
	t.Logf("%d runs, %d of them with an acquire that came twice", runs, explained)
}
