package redlock

import (
	"errors"
	"fmt"
	"strings"
)

// The classes of errors, for errors.Is. An error that a lock returns has one of
// them, or is the cause of the caller's context, or both; besides that it says
// what every node answered, see NodeError.
var (
	// ErrLockAlreadyHeld: so many nodes answered, and so many of them hold
	// another's key, that somebody else has the lock or is about to. It never
	// stands for an outage: at least a quorum of nodes answered.
	ErrLockAlreadyHeld = errors.New("lock held by another")

	// ErrValidityExpired: a quorum granted, but so late that less validity was
	// left than asked for. The lock was given back.
	ErrValidityExpired = errors.New("too little validity left")

	// ErrNoQuorum: too few nodes answered to decide anything. It is an outage,
	// not a lock held by another.
	ErrNoQuorum = errors.New("quorum unreachable")

	// ErrLockExpired: the validity of the token was over before the call was.
	ErrLockExpired = errors.New("lock expired")

	// ErrLockNotHeld: too many nodes have no such key or another's, or the
	// token was released before.
	ErrLockNotHeld = errors.New("lock not held")

	// ErrReleaseUnknown: too few nodes answered a release, or it was not the
	// token's first. The lock is not held any more; keys on the nodes that did
	// not answer are deleted as soon as they answer again, or expire.
	ErrReleaseUnknown = errors.New("release not confirmed")

	// ErrMaxHold: the cause of a watched context that WithMaxHold ended.
	ErrMaxHold = errors.New("maximum hold reached")

	// ErrClosed: the lock was closed.
	ErrClosed = errors.New("lock closed")

	// ErrBadArgument: nothing was sent, because the call or the lock's own
	// set-up makes no sense. The text says what is allowed.
	ErrBadArgument = errors.New("bad argument")
)

// A NodeError is how one node failed. An error of a lock unwraps to one for
// each node that failed: errors.As finds the first, and what a node's own
// client said is found by errors.Is and errors.As too.
type NodeError struct {
	Node int    // index of the node in its lock
	Name string // its address; empty if its transport does not know
	Op   Op     // what it was asked
	Err  error
}

func (e *NodeError) Error() string { return fmt.Sprintf("%s: %v: %v", e.node(), e.Op, e.Err) }
func (e *NodeError) Unwrap() error { return e.Err }

func (e *NodeError) node() string {
	if e.Name == "" {
		return fmt.Sprintf("node %d", e.Node)
	}
	return e.Name
}

// String names the operation as error texts do.
func (o Op) String() string {
	switch o {
	case OpAcquire:
		return "acquire"
	case OpExtend:
		return "extend"
	case OpRelease:
		return "release"
	}
	return fmt.Sprintf("op %d", uint8(o))
}

// A failure is what one operation came to. Its text is put together only when
// somebody reads it: a waiter makes one each time it finds the lock held.
type failure struct {
	op    string // "acquire"
	key   string
	class error // nil: only the cause counts
	tally tally // of no lock: no node was asked
	note  string
	also  []error // causes: of a context, or the failure that led here
}

func (e *failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "redlock: %s %s", e.op, quoted(e.key))
	if e.class != nil {
		fmt.Fprintf(&b, ": %v", e.class)
	}
	if e.note != "" {
		fmt.Fprintf(&b, ": %s", e.note)
	}
	if e.tally.lock != nil {
		fmt.Fprintf(&b, ": %v", &e.tally)
	}
	for _, err := range e.also {
		fmt.Fprintf(&b, ": %s", strings.TrimPrefix(err.Error(), "redlock: "))
	}
	return b.String()
}

func (e *failure) Unwrap() []error {
	all := make([]error, 0, 8)
	if e.class != nil {
		all = append(all, e.class)
	}
	for _, n := range e.tally.failures {
		all = append(all, n)
	}
	return append(all, e.also...)
}

// badArgument says what is wrong with an argument, and what is allowed.
func badArgument(format string, args ...any) error {
	return fmt.Errorf("redlock: %w: "+format, append([]any{ErrBadArgument}, args...)...)
}

// quoted is a key as error texts show it: a long one is cut.
func quoted(key string) string {
	const most = 64
	if len(key) <= most {
		return fmt.Sprintf("%q", key)
	}
	return fmt.Sprintf("%q… (%d bytes)", key[:most], len(key))
}
