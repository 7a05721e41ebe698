package driftlock_test

import (
	"context"
	"runtime"
	"testing"

	"driftlock/sim"
)

// TestTenThousandSeeds of drift: none breaks, and in at least half of the leases
// trust runs to its end, so that the drift has all the time there is.
func TestTenThousandSeeds(t *testing.T) {
	t.Parallel()
	var p sim.Progress
	for b := range (sim.Search{Space: sim.DriftCovered(), Seeds: 10_000, On: func(q sim.Progress) { p = q }}).Run(context.Background()) {
		t.Fatalf("seed %d: %+v %v\n%s", b.Seed, b.Violation, b.Err, b.Scenario.AppendJSON(nil))
	}
	ranOut := p.Probes[sim.ProbeRanOut]
	t.Logf("%d leases, %d of them trusted to their end, smallest margin %v (seed %d)", p.Leases, ranOut, p.Worst, p.Seed)
	if p.Seeds != 10_000 || p.Leases < 20_000 || 2*ranOut < p.Leases || p.Worst != 0 {
		t.Errorf("%d seeds, %d leases, %d of them trusted to their end, smallest margin %v", p.Seeds, p.Leases, ranOut, p.Worst)
	}
	for _, probe := range []sim.Probe{sim.ProbeMinimalQuorum, sim.ProbeLateGrant, sim.ProbeHeld, sim.ProbeOutage, sim.ProbeTooLate, sim.ProbeLostMessage, sim.ProbeHandover} {
		if p.Probes[probe] == 0 {
			t.Errorf("never: %v", probe)
		}
	}
}

// TestSeedsRepeat: a thousand seeds run twice give the same histories, in
// whatever order, on one processor too, and no two of them the same one. It
// sets GOMAXPROCS, so it does not run beside others.
func TestSeedsRepeat(t *testing.T) {
	const seeds = 1000
	hashes := func(first, step int) (all [seeds]sim.Hash) {
		r := sim.NewRunner()
		defer r.Close()
		for i := range seeds {
			seed := (first + i*step) % seeds
			h, err := r.Run(sim.Generate(sim.DriftWide(), uint64(seed)))
			if err != nil {
				t.Fatal(err)
			}
			all[seed] = h.Hash()
		}
		return all
	}
	want := hashes(0, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	got := hashes(500, 7)
	seen := map[sim.Hash]int{}
	for seed, h := range want {
		if got[seed] != h {
			t.Errorf("seed %d: %v, then %v", seed, h, got[seed])
		}
		if other, ok := seen[h]; ok {
			t.Errorf("seeds %d and %d have the hash %v", other, seed, h)
		}
		seen[h] = seed
	}
}
