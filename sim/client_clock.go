package sim

import (
	"context"
	"time"

	"driftlock/sim/queue"

	"github.com/jonboulle/clockwork"
)

// The clock of the code on a client. It parks its callers itself and starts what
// is to run later; it has nothing that a process would wait for on a channel.

// epoch is what a client's clock says when it has counted nothing: 2100-01-01,
// later than any deadline in real time, so that one of those can be told.
const epoch = 4102444800_000_000_000

// clientClock is the clock of the code on a client.
type clientClock struct{ c *client }

// Now reads the clock, which the history tells.
func (k clientClock) Now() time.Time {
	c := k.c
	proc := int16(-1)
	if c.w.cur != nil {
		proc = c.w.running("Now", c).number()
	}
	c.w.note(&Event{Kind: Read, Client: int16(c.id), Node: -1, Proc: proc})
	return time.Unix(0, epoch+c.local()).UTC()
}

// reading is the reading, in nanoseconds, that a time of a client's clock stands for.
func reading(t time.Time) int64 { return t.UnixNano() - epoch }

func (k clientClock) Since(t time.Time) time.Duration { return k.Now().Sub(t) }
func (k clientClock) Until(t time.Time) time.Duration { return t.Sub(k.Now()) }
func (k clientClock) Sleep(d time.Duration)           { k.SleepContext(context.Background(), d) }

func (clientClock) After(time.Duration) <-chan time.Time     { panic(noChannel) }
func (clientClock) NewTimer(time.Duration) clockwork.Timer   { panic(noChannel) }
func (clientClock) NewTicker(time.Duration) clockwork.Ticker { panic(noChannel) }

const noChannel = "sim: a process cannot wait on a channel; use clock.Sleep, clock.WithTimeout or AfterFunc"

// SleepContext parks the process for d on its clock, or until ctx ends.
func (k clientClock) SleepContext(ctx context.Context, d time.Duration) error {
	c := k.c
	r := c.w.running("Sleep", c)
	c.w.note(&Event{Kind: Slept, Client: int16(c.id), Node: -1, Proc: r.number(), Value: int64(d)})
	due := c.when(later(c.local(), d))
	for r.rang = d <= 0; ; r.park(ctx, due, nil) {
		switch {
		case r.refused():
			return ErrEnded
		case ctx.Err() != nil:
			r.spin()
			return context.Cause(ctx)
		case r.rang:
			r.spin()
			return nil
		}
	}
}

// Go runs f as a strand of its own, from this instant on.
func (k clientClock) Go(f func()) { k.AfterFunc(0, f) }

// timer is one AfterFunc. Its event finds it by its slot.
type timer struct {
	c     *client
	f     func()
	armed uint32 // generation; 0: not
	gen   uint32
}

// AfterFunc runs f, as a strand of its own, when d has passed on the clock.
func (k clientClock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	if k.c.w.cur != nil {
		k.c.w.running("AfterFunc", k.c)
	}
	t := &timer{c: k.c, f: f}
	t.Reset(d)
	return t
}

// Chan is nil: nobody here waits on a channel.
func (t *timer) Chan() <-chan time.Time { return nil }

// Stop says whether it kept f from running.
func (t *timer) Stop() bool {
	was := t.armed != 0
	t.armed = 0
	return was
}

// Reset arms the timer anew.
func (t *timer) Reset(d time.Duration) bool {
	was, w := t.Stop(), t.c.w
	t.gen++
	t.armed = t.gen
	slot := int32(len(w.timers))
	if k := len(w.slots); k > 0 {
		slot, w.slots = w.slots[k-1], w.slots[:k-1]
		w.timers[slot] = t
	} else {
		w.timers = append(w.timers, t)
	}
	w.push(t.c.when(later(t.c.local(), d)), evTimer, t.c.id, 0, slot, t.gen)
	return was
}

// fire is the queue.Event of an AfterFunc.
func (w *world) fire(e queue.Event) {
	if w.bubble != nil {
		w.bubble.ring(e)
		return
	}
	t := w.timers[e.A]
	w.timers[e.A] = nil
	w.slots = append(w.slots, e.A)
	if t.armed == e.B && t.armed != 0 {
		t.armed = 0
		w.spawn(t.c, nil, function(t.f))
	}
}

// later is a reading and a duration that is not negative, at most never.
func later(reading int64, d time.Duration) int64 {
	if d <= 0 {
		return reading
	}
	return min(reading, never-int64(d)) + int64(d)
}
