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

// Config is the part of a scenario's node that its store needs.
type Config struct {
	Expiry      Expiry         `json:"expiry,omitzero"`
	Persistence Persistence    `json:"persistence,omitzero"`
	Quarantine  clock.Duration `json:"quarantine,omitzero"` // a restarted node serves only so long after the crash
}

// A Store is a node's keys. Wall is the node's wall clock in nanoseconds, read
// once at the start of a command. At is true time in nanoseconds; it never goes
// back. Not safe for concurrent use.
type Store interface {
	// Do executes one request. When is the key's expiry reading in whole
	// milliseconds afterwards; it means something only if reply.Status is Done
	// (of an acquire or extend), Ours or Others.
	Do(at, wall int64, req *redlock.Request) (reply redlock.Reply, when int64)

	// Holder says whose key is, and until which reading in whole milliseconds.
	Holder(wall int64, key string) (owner string, when int64, ok bool)

	// Rollback forgets every write (sets, extensions and deletions alike) made
	// after the true time to. It is how a crash, a stale snapshot and a failover
	// to a lagging replica lose data.
	Rollback(to int64)

	Evict(key string)
	Flush()

	// Reset empties the store for another run.
	Reset(c Config)
}
