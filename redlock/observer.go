package redlock

import (
	"context"
	"fmt"
	"time"
)

// An Observer is told what happens to a lock, in the goroutine in which it
// happens: it must be safe for concurrent use and must neither block nor panic.
// Of a node's failure it is told once a request: by the call that waits for the
// node, or, if that has had enough of the others' answers, by the goroutine that
// serves the node, possibly after the call has returned. (A Transport of one's own
// tells only of what is waited for.)
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// An Event is one thing that happened to a lock. Durations are on the lock's
// clock.
type Event struct {
	Kind      Kind
	Key       string
	Node      int           // index of the node; -1: the lock as a whole
	Attempt   int           // of an acquire or extend, from 1; 0: there is no such count
	Took      time.Duration // since the call, of Attempted since the attempt began
	Remaining time.Duration // validity, of Granted and Renewed
	Err       error         // nil: it went well
}

// Kind says what happened.
type Kind uint8

const (
	Attempted  Kind = iota + 1 // one attempt to acquire has ended; Err says how
	Granted                    // Acquire or TryAcquire returned a token
	Refused                    // Acquire or TryAcquire gave up; Err says why
	NodeFailed                 // a node failed or did not answer; Err is a *NodeError
	Renewed                    // a token was extended
	Lost                       // a token's validity ended other than by its release; Err says why
	Released                   // Release has returned; Err is its result
)

// String names the kind: "granted".
func (k Kind) String() string {
	switch k {
	case Attempted:
		return "attempted"
	case Granted:
		return "granted"
	case Refused:
		return "refused"
	case NodeFailed:
		return "node failed"
	case Renewed:
		return "renewed"
	case Lost:
		return "lost"
	case Released:
		return "released"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// began is now, if anybody wants to know how long something took.
func (l *core) began() time.Time {
	if len(l.observers) == 0 {
		return time.Time{}
	}
	return l.clock.Now()
}

// report tells the observers e, which began then.
func (l *core) report(ctx context.Context, began time.Time, e Event) {
	if len(l.observers) > 0 {
		e.Node, e.Took = -1, l.clock.Now().Sub(began)
		l.observe(ctx, e)
	}
}

func (l *core) observe(ctx context.Context, e Event) {
	for _, o := range l.observers {
		o.Observe(ctx, e)
	}
}
