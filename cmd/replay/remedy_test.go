package main

import (
	"testing"

	"driftlock/sim"
)

// The drift factor that is recommended for a break has been tried: the scenario
// holds with it. Drift alone can always be cured so.
func TestRemedyHolds(t *testing.T) {
	t.Parallel()
	sp, err := sim.FindSpace(defaultSpace)
	if err != nil {
		t.Fatal(err)
	}
	broke := 0
	for seed := range uint64(100) {
		sc := sim.Generate(sp, seed)
		v, err := sim.Test(sc)
		if err != nil {
			t.Fatal(err)
		}
		if v.OK() {
			continue
		}
		broke++
		sc.Lock.Factor = remedy(sc, v).String()
		if v, err := sim.Test(sc); err != nil || !v.OK() {
			t.Errorf("seed %d: with a factor of %s: %v, %v", seed, sc.Lock.Factor, err, v.Err())
		}
	}
	if broke < 10 {
		t.Errorf("only %d of 100 seeds broke", broke)
	}
	sc, err := sim.Parse("amnesia", catalogue()["g8-amnesia"])
	if err != nil {
		t.Fatal(err)
	}
	v, err := sim.Test(sc)
	if err != nil || v.OK() {
		t.Fatal(err, v.OK())
	}
	if f := remedy(sc, v); f != 0 && f < 500_000_000 {
		t.Errorf("a factor of %v against a node that forgets", f)
	}
}
