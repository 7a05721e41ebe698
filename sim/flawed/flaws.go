// Package flawed is a quorum lock with faults to be switched on, one by one.
// Each is one that a lock in use has had, or has. With none it keeps the rules of
// docs/design.md, section 4, as package redlock does: what then breaks in a
// simulated run is what the fault breaks.
//
// It is a lock for the simulator alone: its nodes are asked what no real one is
// (see package node), and its messages may take ways that no client should use.
package flawed

import "slices"

// A Flaw is one fault, by its name in a scenario.
type Flaw string

// The faults.
const (
	// How long it trusts a lease.
	DriftAdded       Flaw = "drift-added"         // drift and buffer lengthen validity
	ConstantAdded    Flaw = "constant-added"      // the buffer lengthens it
	NoBuffer         Flaw = "no-buffer"           // only drift shortens it
	NoTruncation     Flaw = "no-truncation"       // it is counted from the TTL asked for, the keys live for whole milliseconds
	AnchorAtReply    Flaw = "anchor-at-reply"     // it is counted from when the last needed answer was read
	AnchorAtFirstTry Flaw = "anchor-at-first-try" // it is counted from the first of several tries
	NoElapsedCheck   Flaw = "no-elapsed-check"    // an attempt that took longer than the validity is a success
	WallClockLease   Flaw = "wall-clock-lease"    // the deadline is kept, and everything timed, on the wall clock

	// What it takes for a grant.
	QuorumOfReachable Flaw = "quorum-of-reachable" // more than half of those that answered are enough
	HalfQuorum        Flaw = "half-quorum"         // half of the nodes are enough
	ErrorCountsAsHeld Flaw = "error-counts-as-held"
	OwnKeyRefused     Flaw = "own-key-refused" // a library resends its SET, and finds its own key "taken"
	WaitForAll        Flaw = "wait-for-all"    // it waits for every node to answer, to the timeout
	LocalMutex        Flaw = "local-mutex"     // a mutex in the process: no node is asked

	// What it writes.
	TokenPerAcquire Flaw = "token-per-acquire" // one owner value for all tries of an acquire
	ConstantToken   Flaw = "constant-token"    // one owner value for everybody
	SetNXThenExpire Flaw = "setnx-then-expire" // two commands
	NoTTL           Flaw = "no-ttl"
	FenceInSetRound Flaw = "fence-in-set-round" // each node counts up with its SET, the highest answer counts
	FenceByClock    Flaw = "fence-by-clock"     // the fence number is a reading of the client's clock

	// How it gives back.
	ReleaseWithoutCompare  Flaw = "release-without-compare"
	ReleaseOnlyGranted     Flaw = "release-only-granted"  // a failed attempt is released where it was heard to be granted
	ReleaseOvertakesSet    Flaw = "release-overtakes-set" // each request has a connection of its own
	ReleaseAlwaysOK        Flaw = "release-always-ok"     // whatever came of it
	NoReleaseBeforeRetry   Flaw = "no-release-before-retry"
	ReleaseOnCallerContext Flaw = "release-on-caller-context" // none is sent once the caller's context has ended
	LockstepRetry          Flaw = "lockstep-retry"            // no jitter

	// How it goes on.
	ExtendRecreates     Flaw = "extend-recreates"     // a key that is gone is set again, and counts
	ExtendWithoutOwner  Flaw = "extend-without-owner" // whoever's the key is, it is extended
	ExtendShortens      Flaw = "extend-shortens"
	ExtendAfterDeadline Flaw = "extend-after-deadline"
	ExtendWithoutQuorum Flaw = "extend-without-quorum" // one node is enough
	WatchSurvivesLoss   Flaw = "watch-survives-loss"   // the holder is not told
)

var flaws = []Flaw{
	DriftAdded, ConstantAdded, NoBuffer, NoTruncation, AnchorAtReply, AnchorAtFirstTry, NoElapsedCheck, WallClockLease,
	QuorumOfReachable, HalfQuorum, ErrorCountsAsHeld, OwnKeyRefused, WaitForAll, LocalMutex,
	TokenPerAcquire, ConstantToken, SetNXThenExpire, NoTTL, FenceInSetRound, FenceByClock,
	ReleaseWithoutCompare, ReleaseOnlyGranted, ReleaseOvertakesSet, ReleaseAlwaysOK, NoReleaseBeforeRetry, ReleaseOnCallerContext, LockstepRetry,
	ExtendRecreates, ExtendWithoutOwner, ExtendShortens, ExtendAfterDeadline, ExtendWithoutQuorum, WatchSurvivesLoss,
}

// Flaws are all faults.
func Flaws() []Flaw { return slices.Clone(flaws) }
