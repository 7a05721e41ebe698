package clock

// Deadlines on an injected clock. A context made here is a standard
// cancel-cause context in a wrapper, and one timer of the clock that cancels it:
// no goroutine, and contexts made from it hook on to it directly.

import (
	"context"
	"reflect"
	"time"

	"github.com/jonboulle/clockwork"
)

// WithTimeout is WithDeadline at d from now on c.
func WithTimeout(parent context.Context, c clockwork.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	return WithDeadline(parent, c, c.Now().Add(d))
}

// WithDeadline returns a context that ends when c reads at, or with parent, or
// when cancel is called, whichever is first. Call cancel as soon as the work is
// done: it stops the timer. An earlier deadline of parent on the same clock wins.
// How long that is from now is measured once, so a later step of c's reading
// does not move the end.
//
// When the deadline has passed, Err and context.Cause of the context are
// context.DeadlineExceeded. Contexts that the standard library makes from it
// carry that cause too, but their Err says Canceled: compare context.Cause.
//
// Its Deadline method does not tell at: a reading of c means nothing to code
// that compares it with time.Now, net and go-redis among it. It tells parent's
// (see Foreign). DeadlineOn tells at.
func WithDeadline(parent context.Context, c clockwork.Clock, at time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	d := &deadline{Context: ctx, clock: c, at: at}
	over := func() { cancel(context.DeadlineExceeded) }
	if outer, ok := DeadlineOn(parent, c); ok && !at.Before(outer) {
		d.at = outer // parent ends in time
	} else if left := c.Until(at); left <= 0 {
		over()
	} else if ctx.Err() == nil {
		timer := c.AfterFunc(left, over)
		return d, func() { timer.Stop(); cancel(context.Canceled) }
	}
	return d, func() { cancel(context.Canceled) }
}

// deadline is a cancel-cause context that ends when clock reads at. Its Deadline
// is that of the context it was made from.
type deadline struct {
	context.Context
	clock clockwork.Clock
	at    time.Time
}

// deadlineKey is what a deadline answers to Value with itself.
type deadlineKey struct{}

func (d *deadline) Value(key any) any {
	if _, ok := key.(deadlineKey); ok {
		return d
	}
	return d.Context.Value(key)
}

func (d *deadline) Err() error {
	err := d.Context.Err()
	if err != nil && context.Cause(d.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

// DeadlineOn returns the deadline on c that WithDeadline or WithTimeout set for
// ctx. Deadlines on other clocks do not count.
func DeadlineOn(ctx context.Context, c clockwork.Clock) (at time.Time, ok bool) {
	for {
		d, ok := ctx.Value(deadlineKey{}).(*deadline)
		if !ok {
			return time.Time{}, false
		}
		if same(d.clock, c) {
			return d.at, true
		}
		ctx = d.Context
	}
}

// same says whether a and b are one clock. A clock of a type that cannot be
// compared is never the same.
func same(a, b clockwork.Clock) bool {
	return reflect.ValueOf(a).Comparable() && a == b
}

// Foreign says whether ctx, or a context it was made from, has a deadline that
// was not set here: one of real time, of which an injected clock knows nothing.
func Foreign(ctx context.Context) bool {
	_, ok := ctx.Deadline()
	return ok
}
