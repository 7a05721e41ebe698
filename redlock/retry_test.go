package redlock_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
)

func TestPolicies(t *testing.T) {
	t.Parallel()
	type turn struct {
		least, most time.Duration
		again       bool
	}
	for _, c := range []struct {
		name string
		p    redlock.RetryPolicy
		want []turn
	}{
		{"none", redlock.NoRetry(), []turn{{}}},
		{"every", redlock.Every(ms), []turn{{ms, ms, true}, {ms, ms, true}}},
		{"between", redlock.Between(ms, 5*ms), []turn{{ms, 5 * ms, true}, {ms, 5 * ms, true}}},
		{"backoff", redlock.Backoff(10*ms, 100*ms), []turn{{0, 10 * ms, true}, {0, 20 * ms, true}, {0, 40 * ms, true}, {0, 80 * ms, true}, {0, 100 * ms, true}, {0, 100 * ms, true}}},
		{"backoff to the end of time", redlock.Backoff(math.MaxInt64/2, math.MaxInt64), []turn{{0, math.MaxInt64 / 2, true}, {0, math.MaxInt64 - 1, true}, {0, math.MaxInt64, true}}},
		{"backoff from nothing", redlock.Backoff(0, ms), []turn{{0, 0, true}, {0, ms, true}}},
		{"times", redlock.Every(ms).Times(3), []turn{{ms, ms, true}, {ms, ms, true}, {}, {}}},
		{"no times", redlock.Every(ms).Times(0), []turn{{}}},
	} {
		for i, want := range c.want {
			var got turn
			if got.least, got.most, got.again = c.p(i+1, nil); got != want {
				t.Errorf("%s, after attempt %d: %v, want %v", c.name, i+1, got, want)
			}
		}
	}
	if least, most, _ := redlock.Backoff(ms, time.Second)(math.MaxInt, nil); least != 0 || most != time.Second {
		t.Errorf("after very many: %v to %v", least, most)
	}
}

// The pause is drawn from the interval by the lock's own random source, its ends
// included.
func TestPausesAreDrawn(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]int{}
	m := newModel(1)
	m.take("k", 0)
	l := m.lock(t, redlock.WithRetry(redlock.Between(3, 5).Times(200)))
	_, err := l.Acquire(bg, "k", time.Second)
	wantIs(t, err, redlock.ErrLockAlreadyHeld)
	var last time.Duration
	for _, r := range m.sent {
		if r.Op == redlock.OpAcquire {
			seen[r.at-last]++
			last = r.at
		}
	}
	delete(seen, 0) // the first
	if len(seen) != 3 || seen[3] < 40 || seen[4] < 40 || seen[5] < 40 {
		t.Errorf("pauses and how often: %v", seen)
	}
}

// A negative pause is none, and an interval the wrong way round its least.
func TestOddPauses(t *testing.T) {
	t.Parallel()
	m := newModel(1)
	m.take("k", 0)
	for _, p := range []redlock.RetryPolicy{redlock.Every(-time.Hour), redlock.Between(-time.Hour, -time.Minute), redlock.Between(0, -1)} {
		before := m.clock.Now()
		_, err := m.lock(t, redlock.WithRetry(p.Times(3))).Acquire(bg, "k", time.Second)
		wantIs(t, err, redlock.ErrLockAlreadyHeld)
		if took := m.clock.Since(before); took != 0 {
			t.Errorf("took %v", took)
		}
	}
}

// By default Acquire waits for as long as another holds the lock.
func TestAcquireWaits(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	first := acquired(t, l, time.Hour)
	m.clock.AfterFunc(50*time.Minute, func() { l.Release(bg, "k", first) })
	token, err := l.Acquire(bg, "k", time.Second)
	if err != nil || !token.Valid() {
		t.Fatal(err)
	}
	if now := m.clock.Since(epoch); now < 50*time.Minute || now > 50*time.Minute+time.Second {
		t.Errorf("acquired at %v", now)
	}
	// The first attempt is not paused for, and pauses grow to a second at most.
	n := m.asked(redlock.OpAcquire)
	if n < 3000 || n > 20_000 { // 50 minutes by half a second each
		t.Errorf("%d attempts", n)
	}
}

// Who waits with a deadline on the lock's clock is told both: that it is over,
// and that another had the lock.
func TestAcquireUntilTimeout(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	m.take("k", 0, 1, 2)
	ctx, cancel := clock.WithTimeout(bg, m.clock, 10*time.Second)
	defer cancel()
	_, err := m.lock(t).Acquire(ctx, "k", time.Second)
	wantIs(t, err, context.DeadlineExceeded)
	wantIs(t, err, redlock.ErrLockAlreadyHeld)
	if took := m.clock.Since(epoch); took != 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// An outage is tried again for its own budget only, counted since it began.
func TestOutageBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		set      func(*modelNode)
		opts     []redlock.Option
		from, to time.Duration
		attempts int // at least
	}{
		{"dead nodes", die, nil, 500 * ms, time.Second, 4},
		{"nodes that hang", hang, nil, time.Second, 2100 * ms, 2},
		{"no budget", die, []redlock.Option{redlock.WithOutageBudget(0)}, 0, 0, 1},
		{"a minute", die, []redlock.Option{redlock.WithOutageBudget(time.Minute)}, 58 * time.Second, time.Minute, 60},
		{"no retry at all", die, []redlock.Option{redlock.WithRetry(redlock.NoRetry())}, 0, 0, 1},
		{"a policy that stops earlier", die, []redlock.Option{redlock.WithRetry(redlock.Every(ms).Times(3))}, 2 * ms, 2 * ms, 3},
	} {
		m := newModel(5).all(c.set)
		_, err := m.lock(t, c.opts...).Acquire(bg, "k", 10*time.Second)
		wantIs(t, err, redlock.ErrNoQuorum)
		if errors.Is(err, redlock.ErrLockAlreadyHeld) {
			t.Errorf("%s: an outage looks like a lock that is held: %v", c.name, err)
		}
		took := m.clock.Since(epoch)
		if n := m.asked(redlock.OpAcquire); took < c.from || took > c.to || n < c.attempts {
			t.Errorf("%s: took %v, %d attempts", c.name, took, n)
		}
	}
}

// The budget is of one outage: another's lock in between begins a new one.
func TestOutageBudgetStartsAnew(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	m.take("k", 0, 1, 2)
	for i := range 20 {
		m.clock.AfterFunc(time.Duration(10*i+5)*time.Second, func() { m.all(die) })
		m.clock.AfterFunc(time.Duration(10*i+7)*time.Second, func() { m.all(heal) })
	}
	m.clock.AfterFunc(208*time.Second, func() { m.flush(0, 1, 2) })
	l := m.lock(t, redlock.WithOutageBudget(5*time.Second))
	if _, err := l.Acquire(bg, "k", time.Second); err != nil {
		t.Error(err)
	}
	if now := m.clock.Since(epoch); now < 208*time.Second {
		t.Errorf("acquired at %v", now)
	}
}

// A process that stood still during its attempt tries at least once more: the
// time that it lost says nothing of the nodes.
func TestPauseIsNoOutage(t *testing.T) {
	t.Parallel()
	m := newModel(5).all(slow(10 * ms))
	m.clock.AfterFunc(5*ms, func() {
		m.clock.jump(time.Minute)
	})
	token, err := m.lock(t).Acquire(bg, "k", 10*time.Second)
	if err != nil || token.Remaining() < 9*time.Second {
		t.Errorf("remaining %v, %v", token.Remaining(), err)
	}
}
