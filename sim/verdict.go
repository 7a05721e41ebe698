package sim

import (
	"fmt"
	"slices"
	"time"

	"driftlock/clock"
)

// A Verdict is what Check found in a history.
type Verdict struct {
	Hash       Hash
	Leases     []Lease         // in the order in which they were granted
	Violations []Violation     // in the order in which they happened
	Blocks     []Block         // which node blocked for whom, and when
	Probes     Probes          // how often the run reached its dangerous states
	TTLs       []time.Duration // for which keys were set and leases granted, each once, as they came; in whole milliseconds
	Unmet      []Unmet         // the assumptions that the scenario does not keep with its TTLs and these, if something broke
	Warnings   []string        // "one client: exclusion was never at stake"
}

// Lease is one grant as the world saw it. Instants are true time in
// nanoseconds; each end is the first nanosecond that is outside.
type Lease struct {
	Client, Key, Owner string
	Granted            int64 // Acquire returned
	TrustEnds          int64 // the holder no longer believes: first of deadline, release called, loss told, crash
	Deadline           int64 // the holder's clock reaches the lease's deadline
	ExclusionEnds      int64 // fewer than N−q+1 nodes block for it; TrustEnds, if its lock asks no node
	Lapse              int64 // ExclusionEnds, its own release ignored
	Nodes              int   // that held its key when it was granted
	Proc               int
	Required           Factor // the drift factor with which its own deadline would have come in time
	Late               bool   // granted again after trust had ended: an extension that came too late
}

// Margin is by how much exclusion outlived trust. Negative breaks I2.
func (l Lease) Margin() time.Duration { return time.Duration(l.ExclusionEnds - l.TrustEnds) }

// Slack is Margin as it would have been without a release: what searches steer by.
func (l Lease) Slack() time.Duration { return time.Duration(l.Lapse - l.Deadline) }

// RanOut says that trust ended at the deadline, and not before.
func (l Lease) RanOut() bool { return l.TrustEnds == l.Deadline }

// Block is a stretch of true time during which one node blocked for one
// acquisition: it could not have granted the key to a rival, since it held the
// key unexpired on its own clock, or did not serve and held it when it stopped.
type Block struct {
	Node       int
	Key, Owner string
	From, To   int64
	Lapse      int64 // To, had the owner not released
	When       int64 // the key's last expiry reading, in ms of the node's wall clock
	Ends       BlockEnd
}

// BlockEnd is why a node stopped to block.
type BlockEnd uint8

const (
	Expired   BlockEnd = iota // its wall clock passed the key's expiry
	Freed                     // the owner released
	Forgotten                 // a fault lost the key
	Deleted                   // somebody else released or replaced it
)

var endWords = [...]string{"expired", "freed", "forgotten", "deleted"}

// String is a word such as "expired".
func (e BlockEnd) String() string { return endWords[e] }

// Factor is a drift factor in parts per billion.
type Factor int64

// String is a decimal, "0.0767230770".
func (f Factor) String() string { return fmt.Sprintf("%d.%09d", f/1e9, f%1e9) }

// Violation is one broken promise.
type Violation struct {
	Invariant   Invariant
	At          int64 // true time in nanoseconds
	Client, Key string
	Lease       int           // index in Verdict.Leases; -1: none
	Other       int           // I1: the other lease; -1: none
	Margin      time.Duration // of what was broken, negative
	HasMargin   bool
	Text        string // one line: who believed what, on which clock, and what was so
}

// OK says that nothing broke.
func (v Verdict) OK() bool { return len(v.Violations) == 0 }

// Bugs are the violations that no unmet assumption explains: the lock's fault, or
// the simulator's.
func (v Verdict) Bugs() (bugs []Violation) {
	for _, x := range v.Violations {
		if !Explained(x.Invariant, v.Unmet) {
			bugs = append(bugs, x)
		}
	}
	return bugs
}

// Margin is the smallest of the leases; ok is false if there was none.
func (v Verdict) Margin() (m time.Duration, ok bool) {
	for i, l := range v.Leases {
		if i == 0 || l.Margin() < m {
			m = l.Margin()
		}
	}
	return m, len(v.Leases) > 0
}

// Slack is the smallest of the leases (Lease.Slack); ok is false if there was none.
func (v Verdict) Slack() (s time.Duration, ok bool) {
	for i, l := range v.Leases {
		if i == 0 || l.Slack() < s {
			s = l.Slack()
		}
	}
	return s, len(v.Leases) > 0
}

// Gap is the smallest gap between two trusts that overlap, below 0; ok is false if
// none do: I1 held.
func (v Verdict) Gap() (gap time.Duration, ok bool) {
	for _, x := range v.Violations {
		if x.Invariant == I1 {
			gap, ok = min(gap, x.Margin), true
		}
	}
	return gap, ok
}

// Broken are the invariants that broke, in their order.
func (v Verdict) Broken() (broken []Invariant) {
	for i := I1; i <= I7; i++ {
		if slices.ContainsFunc(v.Violations, func(x Violation) bool { return x.Invariant == i }) {
			broken = append(broken, i)
		}
	}
	return broken
}

// Err is nil if nothing broke; else it names the first broken invariant and by
// how much.
func (v Verdict) Err() error {
	if v.OK() {
		return nil
	}
	first := v.Violations[0]
	return fmt.Errorf("%v (%s) broken at %v: %s", first.Invariant, first.Invariant.Word(), clock.Duration(first.At), first.Text)
}
