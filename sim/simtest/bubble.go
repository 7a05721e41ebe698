package simtest

import (
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"driftlock/sim"
	"driftlock/sim/simredis"
)

// Bubble is Check for code that uses goroutines, channels, select, package time and
// go-redis as it likes: each scenario runs in a testing/synctest bubble, over the
// production transport. What code may do there, and what becomes of the clocks, says
// sim.InBubble. Nodes speak Redis (package sim/simredis), so that w can run a service
// which knows nothing of the simulator.
//
// What a lock does not tell, w may find: it calls p.Fatalf. What the processes of a run
// have in common is p.Shared.
//
// A panic in a goroutine that w's code starts by itself ends the program, as always.
func Bubble(t *testing.T, sp sim.Space, w sim.Workload, opts ...sim.Option) {
	t.Helper()
	Check(t, sp, w, sim.Options(opts...), InBubble(t))
}

// InBubble has runs happen in bubbles: it is an option for Replay, Report, sim.Run and a
// sim.Runner. Unless t runs in parallel with others, crypto/rand gives the same numbers
// in each run. The global source of math/rand does not: code that draws from it cannot
// be repeated.
func InBubble(t *testing.T) sim.Option {
	return sim.Options(sim.Speaks(simredis.New), sim.InBubble(func(run func(wait func())) {
		synctest.Test(t, func(t *testing.T) {
			seed(t)
			run(synctest.Wait)
		})
	}))
}

// seed makes crypto/rand repeatable for the time of a bubble.
func seed(t *testing.T) {
	defer func() { _ = recover() }() // the test is a parallel one: its source of chance is everybody's
	cryptotest.SetGlobalRandom(t, 1)
}
