// Package node is one simulated lock node: keys with TTLs on the node's own
// wall clock, and what it loses when it crashes.
package node

import (
	"driftlock/clock"
	"driftlock/redlock"
)

// Expiry is when a key with expiry reading w (whole milliseconds) is gone.
type Expiry string

const (
	Strict    Expiry = "strict"     // at the first reading in ms > w: what reads of every version do; the default
	NonStrict Expiry = "non-strict" // at the first reading in ms >= w: the active cycle of newer Redis
)

// Persistence is what a crash leaves.
type Persistence string

const (
	Forgets     Persistence = "none"     // nothing; the default
	EverySecond Persistence = "everysec" // an AOF, synced every second: up to 2 s of writes are lost
	Always      Persistence = "always"   // an AOF, synced at every write: all
	Snapshot    Persistence = "snapshot" // a stale RDB file
)

// QuarantineOn is the clock that counts a quarantine.
type QuarantineOn string

const (
	OnBoot QuarantineOn = "boot" // it never steps, and goes on while the node is down; the default
	OnWall QuarantineOn = "wall" // a step of it makes the quarantine shorter or longer
)

// Config is the part of a scenario's node that its store needs.
type Config struct {
	Expiry       Expiry         `json:"expiry,omitzero"`
	Persistence  Persistence    `json:"persistence,omitzero"`
	Quarantine   clock.Duration `json:"quarantine,omitzero"`    // a restarted node serves only so long after the crash
	QuarantineOn QuarantineOn   `json:"quarantine_on,omitzero"` // the clock of the node that counts it

	// Horizon is how far back from the last command a Rollback can reach, in true
	// time: 0 to the beginning, below 0 not at all (Rollback then does nothing).
	// The world sets it from the run's faults: what lies beyond is not kept.
	Horizon clock.Duration `json:"-"`
}

// A Store is a node's keys. Wall is the node's wall clock in nanoseconds, read
// once at the start of a command. At is true time in nanoseconds; it never goes
// back. Not safe for concurrent use.
type Store interface {
	// Do executes one request and fills in reply, all but its Node. When is the
	// key's expiry reading in whole milliseconds afterwards; it means something
	// only if reply.Status is Done (of an acquire or extend), Ours or Others. An
	// acquire with a fence number is answered with the node's own number; if the
	// key is free and only the number too low, Gone.
	Do(at, wall int64, req *redlock.Request, reply *redlock.Reply) (when int64)

	// Holder says whose key is, and until which reading in whole milliseconds.
	Holder(wall int64, key string) (owner string, when int64, ok bool)

	// Rollback forgets every write (sets, extensions and deletions alike) made
	// after the true time to, as far back as Config.Horizon. It is how a crash, a
	// stale snapshot and a failover to a lagging replica lose data.
	Rollback(to int64)

	// Evict drops a key, and Flush drops all, with the fence numbers. To a later
	// Rollback they are writes.
	Evict(at int64, key string)
	Flush(at int64)

	// Reset empties the store for another run.
	Reset(c Config)
}
