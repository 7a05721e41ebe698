package mini

import (
	"testing"

	"driftlock/redlock"
	"driftlock/sim"
)

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
			case a.Kind == sim.Executed && a.Status == redlock.Ours && b.Status == redlock.Others:
				explained++
			default:
				t.Errorf("%s %d: from step %d on they differ: the fast node %+v, miniredis %+v", sp.Name(), seed, step, a, b)
			}
		}
	}
	t.Logf("%d runs, %d of them with an acquire that came twice", runs, explained)
}
