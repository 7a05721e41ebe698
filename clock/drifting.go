package clock

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// A DriftingClock is a clockwork.Clock that runs fast or slow over another one
// and can be stepped. Everything about it stretches: readings, timers, tickers,
// sleeps.
//
// Its timers measure durations, as those of package time do: they fire when the
// clock has counted so much. A change of rate moves those that are pending, a
// step of the reading does not. Channels of timers and tickers have the
// semantics of Go 1.23: after Stop or Reset no old value is received.
//
// Safe for concurrent use if the clock under it is. Make one with Drifting.
type DriftingClock struct {
	base clockwork.Clock

	mu      sync.Mutex
	rate    Rate
	start   time.Time        // what it read at first
	step    int64            // by how much the reading has been stepped
	anchor  time.Time        // base's reading when rate began
	counted int64            // what had been counted then
	timers  []*driftingTimer // those that are set
	naps    []*nap           // sleeps in base

	*suspends // only of a boot-time clock
}

// Drifting returns a clock over base that counts at rate from now on. At first
// it reads what base reads.
func Drifting(base clockwork.Clock, rate Rate) *DriftingClock {
	now := base.Now()
	return &DriftingClock{base: base, rate: rate, anchor: now, start: now.Round(0)}
}

// Rate returns the rate at which the clock runs now.
func (c *DriftingClock) Rate() Rate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rate
}

// SetRate lets the clock run at rate from now on. What it has counted so far
// stays, cut to the nanosecond, and pending timers move.
func (c *DriftingClock) SetRate(rate Rate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.base.Now()
	c.counted = c.at(now)
	c.anchor, c.rate = now, rate
	c.rearm()
}

// rearm moves what is pending. Mu is held.
func (c *DriftingClock) rearm() {
	for _, t := range c.timers {
		t.arm()
	}
	for _, n := range c.naps {
		n.cancel(errRateChanged)
	}
}

// Step moves the reading by d. Pending timers stay where they are.
func (c *DriftingClock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step = sum(c.step, int64(d))
}

// at is what the clock has counted when base reads now. Mu is held.
func (c *DriftingClock) at(now time.Time) int64 {
	return sum(c.counted+c.asleep(now), c.rate.Elapsed(int64(now.Sub(c.anchor))))
}

// until is how long base takes from now until the clock has counted due: 0 or
// less if it has. Mu is held.
func (c *DriftingClock) until(due int64) time.Duration {
	now := c.base.Now()
	if c.at(now) >= due {
		return 0
	}
	left := sum(due, -c.counted-c.asleep(now))
	return time.Duration(sum(c.rate.Reached(left), -int64(now.Sub(c.anchor))))
}

// due is what the clock will have counted after d more. Mu is held.
func (c *DriftingClock) due(d time.Duration) int64 {
	return sum(c.at(c.base.Now()), max(0, int64(d)))
}

// sum is a+b, kept within int64.
func sum(a, b int64) int64 {
	s := a + b
	if (s > a) != (b > 0) && b != 0 {
		if b > 0 {
			return math.MaxInt64
		}
		return math.MinInt64
	}
	return s
}

// Now is the clock's reading. It has no monotonic part: it means nothing to
// code that compares it with time.Now.
func (c *DriftingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reading(c.base.Now())
}

func (c *DriftingClock) reading(now time.Time) time.Time {
	if c.suspends != nil { // a boot-time clock: its readings keep their monotonic part
		return now.Add(time.Duration(c.asleep(now)))
	}
	return c.start.Add(time.Duration(sum(c.at(now), c.step)))
}

// Since is Now().Sub(t).
func (c *DriftingClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until is t.Sub(Now()).
func (c *DriftingClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Sleep waits until the clock has counted d.
func (c *DriftingClock) Sleep(d time.Duration) { _ = c.SleepContext(context.Background(), d) }

// After is NewTimer(d).Chan().
func (c *DriftingClock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).Chan() }

// NewTimer returns a timer that sends the clock's reading when it has counted d.
func (c *DriftingClock) NewTimer(d time.Duration) clockwork.Timer {
	return c.newTimer(d, 0, nil)
}

// AfterFunc calls f when the clock has counted d, in the way base calls it: in a
// goroutine of its own.
func (c *DriftingClock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return c.newTimer(d, 0, f)
}

// NewTicker returns a ticker that sends the clock's reading each time it has
// counted d. Ticks that nobody takes are dropped. It panics unless d is above 0.
func (c *DriftingClock) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic(errors.New("non-positive interval for NewTicker"))
	}
	return ticker{c.newTimer(d, d, nil)}
}

// SleepContext waits until the clock has counted d, or until ctx ends, whose
// cause it then returns. If base parks its callers itself, it does so here too.
func (c *DriftingClock) SleepContext(ctx context.Context, d time.Duration) error {
	base, ok := c.base.(Sleeper)
	if !ok {
		return sleep(ctx, c, d)
	}
	c.mu.Lock()
	due := c.due(d)
	c.mu.Unlock()
	for {
		again, err := c.nap(ctx, base, due)
		if !again {
			return err
		}
	}
}

// errRateChanged ends a nap that is to be begun anew.
var errRateChanged = errors.New("the clock's rate has changed")

// nap is one sleep in base. A change of rate ends it.
type nap struct{ cancel context.CancelCauseFunc }

// nap sleeps in base until the clock should have counted due, and says whether
// it still has to.
func (c *DriftingClock) nap(ctx context.Context, base Sleeper, due int64) (again bool, err error) {
	napping, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := &nap{cancel}
	c.mu.Lock()
	left := c.until(due)
	c.naps = append(c.naps, n)
	c.mu.Unlock()

	err = base.SleepContext(napping, left)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.naps = slices.DeleteFunc(c.naps, func(m *nap) bool { return m == n })
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil && context.Cause(napping) != errRateChanged:
		return false, err // base's own
	}
	return c.until(due) > 0, nil
}

// Go runs f in the background, in base's way.
func (c *DriftingClock) Go(f func()) { Go(c.base, f) }
