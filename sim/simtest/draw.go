// Package simtest joins sim to go test, rapid and testing/synctest. Nothing else
// imports those, so that no program that uses sim grows their flags.
//
// Check is the way in: it runs code of yours in scenarios drawn at random, and
// keeps the smallest in which a promise of the lock breaks as a file to replay.
package simtest

import (
	"pgregory.net/rapid"

	"driftlock/sim"
)

// Draw draws a scenario of sp value by value, so that a failure shrinks to fewer
// machines and simpler numbers. It is for a rapid.Check of your own: to keep what fails
// as a file for replay, write its AppendJSON. If code of yours is run in it, give sp the
// TTL of that. It panics if the Check of sp fails.
func Draw(t *rapid.T, sp sim.Space) sim.Scenario { return sim.Draw(sp, drawer{t}) }

// drawer is a sim.Drawer over rapid.
type drawer struct{ t *rapid.T }

func (d drawer) Int(label string, low, high int64) int64 {
	return rapid.Int64Range(low, high).Draw(d.t, label)
}
