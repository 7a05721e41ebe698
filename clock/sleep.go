package clock

import (
	"context"
	"time"

	"github.com/jonboulle/clockwork"
)

// A Sleeper is a clock that parks its caller itself; Sleep uses it if c has it.
type Sleeper interface {
	// SleepContext waits d, or until ctx ends, whose cause it then returns.
	SleepContext(ctx context.Context, d time.Duration) error
}

// Sleep waits d on c, or until ctx ends, whose cause it then returns. If both
// have come by the time it wakes, the context wins. It does not wait if d is not
// above 0.
func Sleep(ctx context.Context, c clockwork.Clock, d time.Duration) error {
	if s, ok := c.(Sleeper); ok {
		return s.SleepContext(ctx, d)
	}
	return sleep(ctx, c, d)
}

// sleep is Sleep by a timer of c.
func sleep(ctx context.Context, c clockwork.Clock, d time.Duration) error {
	if d > 0 && ctx.Err() == nil {
		t := c.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.Chan():
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// A Starter is a clock that decides when work begun at an instant runs.
type Starter interface{ Go(f func()) }

// Go runs f in the background: by c's own Go if it has one, else in a goroutine.
func Go(c clockwork.Clock, f func()) {
	if s, ok := c.(Starter); ok {
		s.Go(f)
		return
	}
	go f()
}
