package simtest

import (
	"testing"
	"testing/synctest"

	"driftlock/sim"
	"driftlock/sim/simredis"
)

// InBubble has runs happen on goroutines in bubbles of package testing/synctest: see
// sim.InBubble for what code may do there. It is for Replay, Report and a sim.Runner
// of a test's own; Bubble has it already.
func InBubble(t *testing.T) sim.Option {
	bubble := sim.InBubble(func(run func(wait func())) {
		synctest.Test(t, func(*testing.T) { run(synctest.Wait) })
	})
	speaks := sim.Speaks(simredis.New)
	return sim.Options(bubble, speaks)
}
