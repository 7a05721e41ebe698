package clock

import (
	"errors"
	"time"

	"github.com/jonboulle/clockwork"
)

// driftingTimer is a timer, or with a period a ticker, over AfterFunc of base.
type driftingTimer struct {
	c      *DriftingClock
	ch     chan time.Time // nil: f is called
	f      func()
	base   clockwork.Timer
	place  int // in c.timers; −1: not set
	due    int64
	period int64 // 0: once
}

func (c *DriftingClock) newTimer(d, period time.Duration, f func()) *driftingTimer {
	t := &driftingTimer{c: c, f: f, period: int64(period), place: -1}
	if f == nil {
		t.ch = make(chan time.Time, 1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.set(d)
	t.base = c.base.AfterFunc(c.until(t.due), t.ring)
	return t
}

// set makes the timer due when the clock has counted d from now. Mu is held, as
// it is below.
func (t *driftingTimer) set(d time.Duration) {
	c := t.c
	t.due = c.due(d)
	if t.place < 0 {
		t.place = len(c.timers)
		c.timers = append(c.timers, t)
		c.watch()
	}
}

// unset says whether the timer was set.
func (t *driftingTimer) unset() bool {
	if t.place < 0 {
		return false
	}
	c := t.c
	last := len(c.timers) - 1
	c.timers[t.place] = c.timers[last]
	c.timers[t.place].place = t.place
	c.timers[last] = nil
	c.timers = c.timers[:last]
	t.place = -1
	return true
}

// arm lets base ring when the timer is due.
func (t *driftingTimer) arm() { t.base.Reset(t.c.until(t.due)) }

// ring is called when base's timer fires. It may come late, from before a Stop,
// a Reset or a change of rate: what counts is whether the time has come.
func (t *driftingTimer) ring() {
	if t.fire() && t.f != nil {
		t.f()
	}
}

func (t *driftingTimer) fire() bool {
	c := t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.place < 0 {
		return false
	}
	now := c.base.Now()
	counted := c.at(now)
	if counted < t.due {
		t.arm()
		return false
	}
	if t.ch != nil {
		select {
		case t.ch <- c.reading(now):
		default:
		}
	}
	if t.period == 0 {
		t.unset()
		return true
	}
	missed := (counted - t.due) / t.period
	t.due = sum(t.due+missed*t.period, t.period)
	t.arm()
	return true
}

// drop takes an old value out of the channel.
func (t *driftingTimer) drop() (dropped bool) {
	select {
	case <-t.ch: // never, if it is nil
		return true
	default:
		return false
	}
}

func (t *driftingTimer) Chan() <-chan time.Time { return t.ch }

// Stop ends the timer. It says whether that kept it from firing or its value
// from being received.
func (t *driftingTimer) Stop() bool {
	c := t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	t.base.Stop()
	was := t.unset()
	return t.drop() || was
}

// Reset sets the timer to fire when the clock has counted d from now. It says
// what Stop would have.
func (t *driftingTimer) Reset(d time.Duration) bool {
	c := t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	was := t.place >= 0
	t.set(d)
	t.arm()
	return t.drop() || was
}

type ticker struct{ t *driftingTimer }

func (k ticker) Chan() <-chan time.Time { return k.t.ch }
func (k ticker) Stop()                  { k.t.Stop() }

func (k ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic(errors.New("non-positive interval for Ticker.Reset"))
	}
	k.t.c.mu.Lock()
	k.t.period = int64(d)
	k.t.c.mu.Unlock()
	k.t.Reset(d)
}
