package clock

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
)

// machine is a machine that can be put to sleep: in a bubble, where the readings
// of a real one would tell nothing.
type machine struct {
	began time.Time
	slept atomic.Int64
}

func newMachine() *machine { return &machine{began: time.Now()} }

func (m *machine) monotonic() time.Duration { return time.Since(m.began) }
func (m *machine) boot() time.Duration      { return m.monotonic() + time.Duration(m.slept.Load()) }

func (m *machine) suspend(d time.Duration) { m.slept.Add(int64(d)) }

func TestBoottimeCountsSuspends(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, _ clockwork.Clock) {
		m := newMachine()
		m.suspend(time.Hour) // before: of no account
		c := BoottimeOf(m.boot, m.monotonic)
		began := time.Now()
		if got := c.Since(began); got != 0 {
			t.Errorf("begins %v off", got)
		}
		time.Sleep(time.Second)
		m.suspend(time.Minute)
		if got := c.Since(began); got != 61*time.Second {
			t.Errorf("has counted %v, want 1m1s", got)
		}
		if got := c.Until(began); got != -61*time.Second {
			t.Errorf("Until is %v, want -1m1s", got)
		}
	})
}

func TestBoottimeTimersNoticeSuspends(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(c clockwork.Clock){
		"Sleep":  func(c clockwork.Clock) { c.Sleep(10 * time.Second) },
		"After":  func(c clockwork.Clock) { <-c.After(10 * time.Second) },
		"Ticker": func(c clockwork.Clock) { <-c.NewTicker(10 * time.Second).Chan() },
		"Timer":  func(c clockwork.Clock) { <-c.NewTimer(10 * time.Second).Chan() },
		"Reset": func(c clockwork.Clock) {
			timer := c.NewTimer(time.Second)
			timer.Stop()
			timer.Reset(10 * time.Second)
			<-timer.Chan()
		},
		"WithTimeout": func(c clockwork.Clock) {
			ctx, cancel := WithTimeout(context.Background(), c, 10*time.Second)
			defer cancel()
			<-ctx.Done()
		},
	} {
		for slept, want := range map[time.Duration]time.Duration{ // what it takes on Go's clock
			0:               10 * time.Second,
			time.Second:     9 * time.Second,
			6 * time.Second: 4 * time.Second,
			time.Hour:       3100 * time.Millisecond, // due in its sleep: noticed at the next look
		} {
			t.Run(name+" "+slept.String(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, _ clockwork.Clock) {
					m := newMachine()
					c := BoottimeOf(m.boot, m.monotonic)
					began := time.Now()
					time.AfterFunc(3050*time.Millisecond, func() { m.suspend(slept) })
					wait(c)
					if got := time.Since(began); got != want {
						t.Errorf("took %v, want %v", got, want)
					}
				})
			})
		}
	}
}

// A short timer is Go's alone; reset to a long time it notices suspends too.
func TestBoottimeShortTimers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, _ clockwork.Clock) {
		m := newMachine()
		c := BoottimeOf(m.boot, m.monotonic)
		began := time.Now()
		rang := make(chan time.Duration, 10)
		timer := c.AfterFunc(lookAgain, func() { rang <- time.Since(began) })
		if n := len(c.(*bootClock).timers.timers); n != 0 {
			t.Errorf("a short timer is among the %d that look out for suspends", n)
		}
		time.Sleep(time.Second)
		if timer.Stop() || timer.Reset(50*time.Millisecond) || !timer.Reset(60*time.Millisecond) || !timer.Reset(10*time.Second) {
			t.Error("Stop and Reset must say whether the timer was set")
		}
		m.suspend(4 * time.Second)
		time.Sleep(time.Minute)
		timer.Reset(time.Second)
		if !timer.Reset(lookAgain) || !timer.Stop() || timer.Stop() {
			t.Error("Stop and Reset of what was long must say whether it was set")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if first, second := <-rang, <-rang; first != lookAgain || second != 7*time.Second || len(rang) > 0 {
			t.Errorf("rang at %v and %v, and %d times more, want %v and 7s", first, second, len(rang), lookAgain)
		}
		if timer.Chan() != nil {
			t.Error("a function's timer has a channel")
		}
	})
}

// No timer, no look: the bubble would never end otherwise.
func TestBoottimeRests(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, _ clockwork.Clock) {
		m := newMachine()
		c := BoottimeOf(m.boot, m.monotonic).(*bootClock)
		timer := c.NewTimer(time.Hour)
		timer.Stop()
		time.Sleep(2 * lookAgain)
		synctest.Wait()
		c.timers.mu.Lock()
		defer c.timers.mu.Unlock()
		if c.timers.watching {
			t.Error("still looks, with no timer pending")
		}
	})
}

// In a bubble the process's clock is the bubble's, and no timer of it is touched
// from outside, which would be fatal.
func TestBoottimeInBubble(t *testing.T) {
	t.Parallel()
	outside := Boottime().AfterFunc(time.Hour, func() {})
	defer outside.Stop()
	inBubble(t, func(t *testing.T, real clockwork.Clock) {
		c := Boottime()
		if got := c.Now(); !got.Equal(time.Now()) {
			t.Errorf("reads %v, and the bubble %v", got, time.Now())
		}
		began := time.Now()
		c.Sleep(time.Minute)
		timer := c.NewTimer(time.Hour)
		if _, shared := timer.(*driftingTimer); shared {
			t.Error("the bubble's timer is among those that are watched from outside")
		}
		timer.Reset(time.Minute)
		<-timer.Chan()
		if got := time.Since(began); got != 2*time.Minute {
			t.Errorf("took %v, want 2m", got)
		}
	})
}

func TestBoottimeAgreesWithTheRealClock(t *testing.T) {
	t.Parallel()
	c := Boottime()
	last := c.Now()
	for range 10_000 {
		before := time.Now()
		now := c.Now()
		after := time.Now()
		if now.Before(last) {
			t.Fatalf("went back by %v", last.Sub(now))
		}
		if early, late := before.Sub(now), now.Sub(after); early > 0 || late > 0 && late < time.Millisecond {
			t.Fatalf("off by %v, %v", early, late) // a suspend in this test may be late by more
		}
		last = now
	}
	done := make(chan struct{})
	c.AfterFunc(time.Millisecond, func() { close(done) })
	<-done
}

func TestSamplerKeepsItsHead(t *testing.T) {
	t.Parallel()
	var boot, monotonic, reads int64
	held := int64(0) // how long the process is held up between the two readings
	s := newSampler(func() (int64, int64) {
		reads++
		b := boot
		boot, monotonic = boot+held, monotonic+held
		return b, monotonic
	})
	at := func(mono, shift time.Duration) time.Duration { return s.at(int64(mono), int64(shift)) }
	reads = 0
	for i := range 100 {
		if got := at(time.Millisecond+time.Duration(i), 0); got != 0 {
			t.Fatalf("slept %v, at rest", got)
		}
	}
	if reads != 1 {
		t.Errorf("%d samples within 1 ms, want 1", reads)
	}
	held = int64(time.Second)
	if got := at(3*time.Millisecond, 0); got != 0 {
		t.Errorf("slept %v, only held up", got)
	}
	held = 0
	boot += int64(time.Hour)
	if got := at(3500*time.Microsecond, 0); got != 0 {
		t.Errorf("slept %v, before the next sample", got)
	}
	if got := at(3500*time.Microsecond, time.Hour); got != time.Hour {
		t.Errorf("slept %v, want 1h: the wall clock has jumped", got)
	}
	boot += int64(time.Hour)
	if got := at(5*time.Millisecond, time.Hour); got != 2*time.Hour {
		t.Errorf("slept %v, want 2h: a millisecond has passed", got)
	}
}

func BenchmarkNow(b *testing.B) {
	boot := Boottime()
	b.Run("time", func(b *testing.B) {
		for b.Loop() {
			_ = time.Now()
		}
	})
	b.Run("boottime", func(b *testing.B) {
		for b.Loop() {
			_ = boot.Now()
		}
	})
}

func BenchmarkTimer(b *testing.B) {
	for name, c := range map[string]clockwork.Clock{"real": clockwork.NewRealClock(), "boottime": Boottime()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.AfterFunc(time.Hour, func() {}).Stop()
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c.AfterFunc(time.Hour, func() {}).Stop()
				}
			})
		})
	}
}
