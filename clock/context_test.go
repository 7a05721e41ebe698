package clock

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
)

func TestWithTimeoutEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, real clockwork.Clock) {
		c := Drifting(real, half)
		ctx, cancel := WithTimeout(context.Background(), c, time.Second)
		defer cancel()
		child, cancelChild := context.WithCancel(ctx)
		defer cancelChild()
		ours, cancelOurs := WithTimeout(child, c, time.Hour)
		defer cancelOurs()

		time.Sleep(2*time.Second - 1)
		synctest.Wait()
		if ctx.Err() != nil || child.Err() != nil || ours.Err() != nil {
			t.Fatalf("ended 1 ns early: %v, %v, %v", ctx.Err(), child.Err(), ours.Err())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		for name, x := range map[string]struct {
			ctx context.Context
			err error
		}{
			"itself":           {ctx, context.DeadlineExceeded},
			"a standard child": {child, context.Canceled},
			"a child of ours":  {ours, context.DeadlineExceeded},
		} {
			if x.ctx.Err() != x.err || context.Cause(x.ctx) != context.DeadlineExceeded {
				t.Errorf("%s: %v, cause %v, want %v, cause %v", name, x.ctx.Err(), context.Cause(x.ctx), x.err, context.DeadlineExceeded)
			}
		}
	})
}

func TestWithTimeoutCancelled(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	for name, c := range map[string]struct {
		end        func(parent context.CancelCauseFunc, cancel context.CancelFunc)
		err, cause error
	}{
		"by cancel":         {func(_ context.CancelCauseFunc, cancel context.CancelFunc) { cancel(); cancel() }, context.Canceled, context.Canceled},
		"by the parent":     {func(parent context.CancelCauseFunc, _ context.CancelFunc) { parent(why) }, context.Canceled, why},
		"parent wins first": {func(parent context.CancelCauseFunc, cancel context.CancelFunc) { parent(why); cancel() }, context.Canceled, why},
	} {
		fake := clockwork.NewFakeClock()
		parent, endParent := context.WithCancelCause(context.Background())
		ctx, cancel := WithTimeout(parent, fake, time.Second)
		c.end(endParent, cancel)
		<-ctx.Done()
		if ctx.Err() != c.err || context.Cause(ctx) != c.cause {
			t.Errorf("%s: %v, cause %v, want %v, cause %v", name, ctx.Err(), context.Cause(ctx), c.err, c.cause)
		}
		cancel()
		if n := waiters(fake); n != 0 {
			t.Errorf("%s: %d timers are left", name, n)
		}
		endParent(nil)
	}
}

// waiters is how many timers a fake clock has.
func waiters(c *clockwork.FakeClock) int {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	n := 0
	for c.BlockUntilContext(ended, n+1) == nil {
		n++
	}
	return n
}

func TestWithDeadlineThatHasPassed(t *testing.T) {
	t.Parallel()
	fake := clockwork.NewFakeClock()
	ctx, cancel := WithDeadline(context.Background(), fake, fake.Now())
	defer cancel()
	if ctx.Err() != context.DeadlineExceeded || context.Cause(ctx) != context.DeadlineExceeded {
		t.Errorf("%v, cause %v", ctx.Err(), context.Cause(ctx))
	}
	why := errors.New("enough")
	parent, end := context.WithCancelCause(context.Background())
	end(why)
	late, cancelLate := WithTimeout(parent, fake, time.Second)
	defer cancelLate()
	if late.Err() != context.Canceled || context.Cause(late) != why || waiters(fake) != 0 {
		t.Errorf("under an ended parent: %v, cause %v, %d timers", late.Err(), context.Cause(late), waiters(fake))
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	a, b := clockwork.NewFakeClock(), clockwork.NewFakeClock()
	now, later := a.Now().Add(time.Second), a.Now().Add(time.Minute)
	background := context.Background()
	within := func(ctx context.Context, c clockwork.Clock, at time.Time) context.Context {
		ctx, cancel := WithDeadline(ctx, c, at)
		t.Cleanup(cancel)
		return ctx
	}
	standard, cancel := context.WithDeadline(background, time.Now().Add(time.Hour))
	t.Cleanup(cancel)
	type key struct{}
	none := time.Time{}
	for name, c := range map[string]struct {
		ctx     context.Context
		a, b    time.Time
		foreign bool
	}{
		"none":                         {background, none, none, false},
		"one":                          {within(background, a, now), now, none, false},
		"an earlier parent wins":       {within(within(background, a, now), a, later), now, none, false},
		"an earlier child wins":        {within(within(background, a, later), a, now), now, none, false},
		"two clocks":                   {within(within(background, a, now), b, later), now, later, false},
		"clock, other, clock":          {within(within(within(background, a, now), b, now), a, later), now, now, false},
		"through a standard child":     {context.WithValue(within(background, a, now), key{}, 1), now, none, false},
		"real time":                    {standard, none, none, true},
		"under real time":              {within(standard, a, now), now, none, true},
		"real time shut in by ours":    {within(within(standard, a, now), b, now), now, now, true},
		"a clock beyond comparison":    {within(within(background, a, now), odd{Clock: a}, later), now, none, false},
		"WithoutCancel sheds no value": {context.WithoutCancel(within(background, a, now)), now, none, false},
	} {
		for clock, want := range map[*clockwork.FakeClock]time.Time{a: c.a, b: c.b} {
			got, ok := DeadlineOn(c.ctx, clock)
			if ok != !want.IsZero() || !got.Equal(want) {
				t.Errorf("%s: deadline %v, %v, want %v", name, got, ok, want)
			}
		}
		if Foreign(c.ctx) != c.foreign {
			t.Errorf("%s: foreign is %v", name, !c.foreign)
		}
		if at, ok := c.ctx.Deadline(); ok != c.foreign {
			t.Errorf("%s: Deadline tells %v, %v", name, at, ok)
		}
	}
	if _, ok := DeadlineOn(within(background, odd{Clock: a}, now), odd{Clock: a}); ok {
		t.Error("a clock beyond comparison was found")
	}
}

// odd is a clock that cannot be compared.
type odd struct {
	clockwork.Clock
	_ []int
}

func TestSleep(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	inBubble(t, func(t *testing.T, real clockwork.Clock) {
		for _, c := range []struct {
			name       string
			end, sleep time.Duration // end 0: never
			err        error
			took       time.Duration
		}{
			{"to its end", 0, time.Second, nil, time.Second},
			{"cut short", time.Second, time.Minute, why, time.Second},
			{"not at all", 0, 0, nil, 0},
			{"less than that", 0, -time.Second, nil, 0},
		} {
			ctx, cancel := context.WithCancelCause(context.Background())
			if c.end > 0 {
				time.AfterFunc(c.end, func() { cancel(why) })
			}
			began := time.Now()
			if err := Sleep(ctx, real, c.sleep); err != c.err || time.Since(began) != c.took {
				t.Errorf("%s: %v after %v, want %v after %v", c.name, err, time.Since(began), c.err, c.took)
			}
			cancel(why)
			if err := Sleep(ctx, real, c.sleep); err != why {
				t.Errorf("%s: %v under an ended context", c.name, err)
			}
		}
	})
}

// A select between two ready cases is random; Sleep is not.
func TestSleepWhenBothAreThere(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	for range 100 {
		ctx, cancel := context.WithCancelCause(context.Background())
		c := rings{clockwork.NewFakeClock(), func() { cancel(why) }}
		if err := Sleep(ctx, c, time.Second); err != why {
			t.Fatalf("%v, want %v", err, why)
		}
	}
}

// rings is a clock whose timers have fired already.
type rings struct {
	clockwork.Clock
	before func()
}

func (r rings) NewTimer(time.Duration) clockwork.Timer {
	r.before()
	return r.Clock.NewTimer(0)
}

func TestGo(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	Go(clockwork.NewRealClock(), func() { close(done) })
	<-done
}

// A thousand contexts and what hangs on them start no goroutine.
func TestDeadlinesCostNoGoroutine(t *testing.T) {
	inBubble(t, func(t *testing.T, real clockwork.Clock) {
		before := runtime.NumGoroutine()
		for range 1000 {
			ctx, cancel := WithTimeout(context.Background(), real, time.Hour)
			defer cancel()
			child, cancelChild := context.WithCancel(ctx)
			defer cancelChild()
			_, cancelGrandchild := WithTimeout(child, real, time.Minute)
			defer cancelGrandchild()
		}
		if n := runtime.NumGoroutine() - before; n > 100 { // other tests run beside this one
			t.Errorf("%d goroutines were started", n)
		}
	})
}

func BenchmarkWithTimeout(b *testing.B) {
	b.ReportAllocs()
	c := clockwork.NewRealClock()
	for b.Loop() {
		_, cancel := WithTimeout(context.Background(), c, time.Hour)
		cancel()
	}
}
