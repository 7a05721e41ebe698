package clock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
)

var twice, half = Ratio(2, 1), Ratio(1, 2)

// inBubble runs f where the real clock is a fake one that jumps to the next timer.
func inBubble(t *testing.T, f func(t *testing.T, real clockwork.Clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, clockwork.NewRealClock()) })
}

func TestDriftingReads(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	base := clockwork.NewFakeClockAt(start)
	c := Drifting(base, Ratio(200, 199))
	read := func(want time.Duration) {
		t.Helper()
		if got := c.Now().Sub(start); got != want {
			t.Errorf("reads %v after the start, want %v", got, want)
		}
	}
	read(0)
	base.Advance(9950 * time.Millisecond)
	read(10 * time.Second)
	c.SetRate(half)
	read(10 * time.Second)
	base.Advance(time.Second)
	read(10500 * time.Millisecond)
	c.Step(-time.Minute)
	read(10500*time.Millisecond - time.Minute)
	c.Step(time.Minute)
	base.Advance(3)
	read(10500*time.Millisecond + 1)
	if got := c.Since(start); got != 10500*time.Millisecond+1 {
		t.Errorf("Since: %v", got)
	}
	if got := c.Until(start.Add(11 * time.Second)); got != 500*time.Millisecond-1 {
		t.Errorf("Until: %v", got)
	}
	if got := c.Rate(); got != half {
		t.Errorf("Rate: %v", got)
	}
}

func TestDriftingTimersStretch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate Rate
		d    time.Duration
		want time.Duration // on the base
	}{
		{Rate{}, time.Second, time.Second},
		{twice, time.Second, time.Second / 2},
		{half, time.Second, 2 * time.Second},
		{Ratio(198, 199), 9900 * time.Millisecond, 9950 * time.Millisecond},
		{(-200 * PPM).Rate(), 29698 * time.Millisecond, 29_703_940_789},
		{Ratio(13, 12), 10 * time.Second, 9_230_769_231},
		{twice, 0, 0},
		{twice, -time.Second, 0},
	} {
		waits := map[string]func(d *DriftingClock){
			"Sleep":        func(d *DriftingClock) { d.Sleep(c.d) },
			"SleepContext": func(d *DriftingClock) { _ = Sleep(context.Background(), d, c.d) },
			"After":        func(d *DriftingClock) { <-d.After(c.d) },
			"NewTimer":     func(d *DriftingClock) { <-d.NewTimer(c.d).Chan() },
			"Reset": func(d *DriftingClock) {
				timer := d.NewTimer(time.Hour)
				timer.Reset(c.d)
				<-timer.Chan()
			},
			"AfterFunc": func(d *DriftingClock) {
				done := make(chan struct{})
				d.AfterFunc(c.d, func() { close(done) })
				<-done
			},
		}
		if c.d > 0 {
			waits["NewTicker"] = func(d *DriftingClock) {
				k := d.NewTicker(c.d)
				defer k.Stop()
				<-k.Chan()
			}
			waits["WithTimeout"] = func(d *DriftingClock) {
				ctx, cancel := WithTimeout(context.Background(), d, c.d)
				defer cancel()
				<-ctx.Done()
			}
		}
		for name, wait := range waits {
			t.Run(fmt.Sprintf("%s of %v at %v", name, c.d, c.rate.Cmp(Rate{})), func(t *testing.T) {
				inBubble(t, func(t *testing.T, real clockwork.Clock) {
					d := Drifting(real, c.rate)
					began, read := time.Now(), d.Now()
					wait(d)
					if got := time.Since(began); got != c.want {
						t.Errorf("took %v, want %v", got, c.want)
					}
					if got := d.Now().Sub(read); got < c.d {
						t.Errorf("has counted %v, less than %v", got, c.d)
					}
				})
			})
		}
	}
}

// A change of rate moves what is pending; a step of the reading does not.
func TestDriftingRateMovesTimers(t *testing.T) {
	t.Parallel()
	// 4 s on the clock: 1 s of it at rate 1, the rest at the new rate.
	for _, c := range []struct {
		rate Rate
		want time.Duration
	}{{twice, 2500 * time.Millisecond}, {half, 7 * time.Second}, {Rate{}, 4 * time.Second}} {
		for name, wait := range map[string]func(base clockwork.Clock, d *DriftingClock){
			"timer":   func(_ clockwork.Clock, d *DriftingClock) { <-d.After(4 * time.Second) },
			"sleep":   func(_ clockwork.Clock, d *DriftingClock) { d.Sleep(4 * time.Second) },
			"ticker":  func(_ clockwork.Clock, d *DriftingClock) { <-d.NewTicker(4 * time.Second).Chan() },
			"sleeper": func(base clockwork.Clock, d *DriftingClock) { d.base = parks{base}; d.Sleep(4 * time.Second) },
		} {
			t.Run(fmt.Sprint(name, c.rate), func(t *testing.T) {
				inBubble(t, func(t *testing.T, real clockwork.Clock) {
					d := Drifting(real, Rate{})
					began := time.Now()
					time.AfterFunc(time.Second, func() {
						d.Step(time.Hour)
						d.SetRate(c.rate)
						d.Step(-2 * time.Hour)
					})
					wait(real, d)
					if got := time.Since(began); got != c.want {
						t.Errorf("took %v, want %v", got, c.want)
					}
				})
			})
		}
	}
}

// parks is a clock that parks its callers itself, and starts what is to run.
type parks struct{ clockwork.Clock }

func (p parks) SleepContext(ctx context.Context, d time.Duration) error {
	return sleep(ctx, p.Clock, d)
}
func (parks) Go(f func()) { f() }

func TestDriftingPassesSleepAndGoOn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, real clockwork.Clock) {
		d := Drifting(parks{real}, half)
		ran := false
		Go(d, func() { ran = true })
		if !ran {
			t.Error("Go did not go through the base's Go")
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(why) })
		began := time.Now()
		if err := Sleep(ctx, d, time.Second); err != why || time.Since(began) != time.Second {
			t.Errorf("got %v after %v, want %v after 1s", err, time.Since(began), why)
		}
		if err := Sleep(ctx, d, 0); err != why {
			t.Errorf("got %v under an ended context", err)
		}
		if n := len(d.timers) + len(d.naps); n != 0 {
			t.Errorf("%d are still pending", n)
		}
	})
}

func TestDriftingTimerStopAndReset(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, real clockwork.Clock) {
		d := Drifting(real, twice)
		timer := d.NewTimer(2 * time.Second)
		if !timer.Stop() || timer.Stop() {
			t.Error("Stop must say true once")
		}
		if timer.Reset(2 * time.Second) {
			t.Error("Reset of a stopped timer said true")
		}
		time.Sleep(3 * time.Second) // fired, and the value lies in the channel
		synctest.Wait()
		if !timer.Reset(2 * time.Second) {
			t.Error("Reset said false though nobody had the value")
		}
		began := time.Now()
		read := <-timer.Chan()
		if got := time.Since(began); got != time.Second {
			t.Errorf("an old value was received after %v", got)
		}
		if read != d.Now() {
			t.Errorf("the value is %v, and the clock reads %v", read, d.Now())
		}
		if timer.Stop() {
			t.Error("Stop of a timer that fired said true")
		}
		timer.Reset(time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		if !timer.Stop() {
			t.Error("Stop said false though nobody had the value")
		}
		select {
		case <-timer.Chan():
			t.Error("a value was received after Stop")
		default:
		}
		if n := len(d.timers) + len(d.naps); n != 0 {
			t.Errorf("%d timers are still pending", n)
		}
	})
}

func TestDriftingTicker(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, real clockwork.Clock) {
		d := Drifting(real, twice)
		began := time.Now()
		k := d.NewTicker(time.Second)
		at := func(want time.Duration) {
			t.Helper()
			<-k.Chan()
			if got := time.Since(began); got != want {
				t.Errorf("ticked at %v, want %v", got, want)
			}
		}
		at(500 * time.Millisecond)
		at(1000 * time.Millisecond)
		time.Sleep(1700 * time.Millisecond) // 3 ticks pass; one is kept
		at(2700 * time.Millisecond)
		at(3000 * time.Millisecond)
		k.Reset(4 * time.Second)
		at(5000 * time.Millisecond)
		k.Stop()
		select {
		case <-k.Chan():
			t.Error("ticked after Stop")
		case <-time.After(time.Minute):
		}
	})
	for name, f := range map[string]func(){
		"NewTicker": func() { Drifting(clockwork.NewFakeClock(), twice).NewTicker(0) },
		"Reset":     func() { Drifting(clockwork.NewFakeClock(), twice).NewTicker(1).Reset(-1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a period of 0 or less must panic, as package time's does", name)
				}
			}()
			f()
		}()
	}
}

// A ring of the base that was on its way as the rate changed does not count.
func TestDriftingTimerIsNeverEarly(t *testing.T) {
	t.Parallel()
	base := &late{Clock: clockwork.NewFakeClock()}
	d := Drifting(base, twice)
	rang := 0
	timer := d.AfterFunc(2*time.Second, func() { rang++ })
	base.Clock.(*clockwork.FakeClock).Advance(time.Second - 1)
	d.SetRate(half)
	base.ring()
	if rang != 0 {
		t.Error("rang early")
	}
	timer.Stop()
	base.Clock.(*clockwork.FakeClock).Advance(time.Hour)
	base.ring()
	if rang != 0 {
		t.Error("rang after Stop")
	}
	timer.Reset(0)
	base.ring()
	base.ring()
	if rang != 1 {
		t.Errorf("rang %d times, want once", rang)
	}
}

// Ticks that were missed come as one, and the next when it is due.
func TestDriftingTickerCatchesUp(t *testing.T) {
	t.Parallel()
	fake := clockwork.NewFakeClock()
	base := &late{Clock: fake}
	k := Drifting(base, half).NewTicker(time.Second)
	for i, c := range []struct {
		pass  time.Duration
		ticks int
	}{{9 * time.Second, 1}, {0, 0}, {time.Second - 1, 0}, {time.Nanosecond, 1}, {2*time.Second - 1, 0}, {time.Nanosecond, 1}} {
		fake.Advance(c.pass)
		base.ring()
		if n := len(k.Chan()); n != c.ticks {
			t.Errorf("step %d: ticked %d times, want %d", i, n, c.ticks)
		}
		select {
		case <-k.Chan():
		default:
		}
	}
}

// late is a clock whose functions are called when the test calls ring.
type late struct {
	clockwork.Clock
	ring func()
}

func (l *late) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	l.ring = f
	return l.Clock.AfterFunc(d, func() {})
}

func TestDriftingOverFakeClock(t *testing.T) {
	t.Parallel()
	base := clockwork.NewFakeClockAt(time.Unix(0, 0))
	d := Drifting(base, half)
	rang := make(chan time.Time, 1)
	d.AfterFunc(time.Second, func() { rang <- d.Now() })
	base.Advance(2*time.Second - 1)
	select {
	case <-rang:
		t.Error("rang 1 ns too early")
	default:
	}
	base.Advance(1)
	if got := <-rang; !got.Equal(time.Unix(1, 0)) {
		t.Errorf("rang at the reading %v", got)
	}
}

func TestDriftingOverRealClock(t *testing.T) {
	t.Parallel()
	d := Drifting(clockwork.NewRealClock(), Ratio(100, 1))
	began, read := time.Now(), d.Now()
	d.Sleep(500 * time.Millisecond)
	if took := time.Since(began); took < 5*time.Millisecond {
		t.Errorf("slept %v, less than 5ms", took)
	}
	if got := d.Since(read); got < 500*time.Millisecond {
		t.Errorf("counted %v, less than 500ms", got)
	}
}

func TestDriftingEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, real clockwork.Clock) {
		for _, r := range []Rate{{}, Ratio(1, math.MaxInt64), half} {
			d := Drifting(real, r)
			d.Step(math.MaxInt64)
			d.Step(math.MaxInt64)
			d.Step(math.MinInt64)
			timer := d.NewTimer(math.MaxInt64)
			time.Sleep(time.Hour)
			select {
			case <-timer.Chan():
				t.Errorf("at rate %v: a timer of 292 years fired", r)
			default:
			}
			timer.Stop()
		}
	})
}

// All at once: it is the race detector that judges.
func TestDriftingConcurrently(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, real clockwork.Clock) {
		d := Drifting(real, Rate{})
		k := d.NewTicker(3 * time.Millisecond)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				timer := d.NewTimer(time.Hour)
				for j := range 200 {
					timer.Reset(time.Duration(i+j) * time.Millisecond)
					d.SetRate(Ratio(int64(1+i), int64(1+j%5)))
					d.Step(time.Duration(j - 100))
					_ = d.Now()
					d.Sleep(time.Duration(j%7) * time.Millisecond)
					ctx, cancel := WithTimeout(t.Context(), d, time.Millisecond)
					_ = Sleep(ctx, d, time.Duration(j%3)*time.Millisecond)
					cancel()
					timer.Stop()
				}
			})
		}
		all.Wait()
		k.Stop()
		if n := len(d.timers) + len(d.naps); n != 0 {
			t.Errorf("%d timers are still pending", n)
		}
	})
}
