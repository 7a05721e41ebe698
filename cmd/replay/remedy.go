package main

import (
	"driftlock/sim"
	"driftlock/sim/timeline"
)

// remedyTries is how many drift factors are tried on one break.
const remedyTries = 12

// remedy finds a drift factor with which a scenario that broke holds, by running
// it: what the margins of one run say is needed may not be enough for the other
// course that the run then takes. 0: none was found, or the break has nothing to
// do with margins.
func remedy(sc sim.Scenario, v sim.Verdict) sim.Factor {
	r := sim.NewRunner()
	defer r.Close()
	factor := sim.Factor(0)
	for range remedyTries {
		next := timeline.Needed(v)
		if next <= factor || next >= 1e9 {
			return 0
		}
		factor = next
		sc.Lock.Factor = factor.String()
		h, err := r.Run(sc)
		if err != nil { // no TTL is left with it
			return 0
		}
		if v = sim.Check(h); v.OK() {
			return factor
		}
	}
	return 0
}
