// Package yours is a module of somebody who uses the simulator: a lock of their
// own, with two of the usual faults, and the tests of it (simtest/module_test.go
// builds it elsewhere and runs them).
package yours

import (
	"context"
	"errors"
	"fmt"
	"time"

	"driftlock/redlock"

	"github.com/jonboulle/clockwork"
)

// Lock is a quorum lock. It counts the time of a lease from when the answers were
// read, and takes nothing off for clocks that drift.
type Lock struct {
	Nodes   redlock.Transport
	Clock   clockwork.Clock
	Random  func() uint64
	Timeout time.Duration // for the answer of a node
}

// Held is one grant.
type Held struct {
	Key, Owner string
	Until      time.Time
}

// ErrTaken says that too few nodes granted.
var ErrTaken = errors.New("yours: taken")

// Lock tries once.
func (l *Lock) Lock(ctx context.Context, key string, ttl time.Duration) (Held, error) {
	h := Held{Key: key, Owner: fmt.Sprintf("%016x%016x", l.Random(), l.Random())}
	granted := 0
	for r := range l.Nodes.Broadcast(ctx, redlock.Request{Op: redlock.OpAcquire, Key: key, Owner: h.Owner, TTL: ttl}, l.Timeout) {
		if r.Status == redlock.Done {
			granted++
		}
	}
	h.Until = l.Clock.Now().Add(ttl)
	if granted <= l.Nodes.Len()/2 {
		l.Unlock(context.WithoutCancel(ctx), h)
		return Held{}, ErrTaken
	}
	return h, nil
}

// Unlock gives a lock back.
func (l *Lock) Unlock(ctx context.Context, h Held) {
	for range l.Nodes.Broadcast(ctx, redlock.Request{Op: redlock.OpRelease, Key: h.Key, Owner: h.Owner}, l.Timeout) {
	}
}
