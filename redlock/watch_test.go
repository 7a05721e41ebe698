package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"driftlock/redlock"
)

// A watched lock is held for as long as it is watched, by one extend every third
// of the TTL, and there is nothing to do in between.
func TestWatchRenews(t *testing.T) {
	t.Parallel()
	m := newModel(5).all(slow(10 * ms))
	l := m.lock(t)
	token := acquired(t, l, 30*time.Second)
	held, stop := redlock.Watch(bg, l, "k", token, 30*time.Second)
	m.clock.pass(time.Hour)
	if held.Err() != nil || !token.Valid() || token.Remaining() < 19*time.Second {
		t.Errorf("after an hour: %v, remaining %v", context.Cause(held), token.Remaining())
	}
	if n := m.asked(redlock.OpExtend); n < 358 || n > 360 {
		t.Errorf("%d extends in an hour", n)
	}
	stop()
	wantIs(t, context.Cause(held), context.Canceled)
	if !token.Valid() || m.asked(redlock.OpRelease) > 0 {
		t.Error("stop released the lock")
	}
	n := m.asked(redlock.OpExtend)
	m.clock.pass(time.Minute)
	if m.asked(redlock.OpExtend) > n {
		t.Error("it renews after stop")
	}
	stop() // again is harmless
	if len(m.clock.timers) > 0 {
		t.Errorf("%d timers are left", len(m.clock.timers))
	}
}

// Issue 3, acceptance 2: everything that can go wrong ends the holder's context,
// no later than the deadline on the lock's clock, with a cause that says what it
// was. Nothing brings the lock back.
func TestWatchTellsTheLoss(t *testing.T) {
	t.Parallel()
	const deadline = 29_698 * ms // of the acquire
	for _, c := range []struct {
		name string
		at   time.Duration // when it goes wrong
		do   func(m *model)
		want error
		by   time.Duration // the context has ended by then, and not long before
		text []string
	}{
		{"dead nodes", 5 * time.Second, func(m *model) { m.each(die, 0, 1, 2) }, redlock.ErrLockExpired, deadline, []string{"A: connection refused", "C: connection refused"}},
		{"hung nodes", 5 * time.Second, func(m *model) { m.each(hang, 0, 1, 2) }, redlock.ErrLockExpired, deadline, []string{"A: no answer", "C: no answer"}},
		{"answers lost", 5 * time.Second, func(m *model) { m.each(mute, 2, 3, 4) }, redlock.ErrLockExpired, deadline, []string{"C: no answer"}},
		{"flushed nodes", 5 * time.Second, func(m *model) { m.flush(0, 1, 2) }, redlock.ErrLockNotHeld, 10 * time.Second, []string{"3 have no such key"}},
		{"taken over", 5 * time.Second, func(m *model) { m.take("k", 0, 1, 2) }, redlock.ErrLockNotHeld, 10 * time.Second, []string{"3 hold another's key"}},
		{"one flushed, two dead", 5 * time.Second, func(m *model) { m.flush(0); m.each(die, 1, 2) }, redlock.ErrLockExpired, deadline, []string{"1 has no such key", "B: connection refused"}},
		{"paused past the deadline", 5 * time.Second, func(m *model) { m.clock.jump(40 * time.Second) }, redlock.ErrLockExpired, 45 * time.Second, []string{"a renewal due 35s ago did not run", "stood still"}},
		{"paused while a renewal is out", 9 * time.Second, func(m *model) {
			m.all(hang)
			m.clock.AfterFunc(1100*ms, func() { m.clock.jump(40 * time.Second) })
		}, redlock.ErrLockExpired, 50_100 * ms, []string{"a renewal begun 40.1s ago is not finished"}},
		{"closed", 5 * time.Second, nil, redlock.ErrClosed, 10 * time.Second, nil},
		{"released", 5 * time.Second, nil, redlock.ErrLockNotHeld, 10 * time.Second, []string{"the token was released"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(5)
			var lost []error
			l := m.lock(t, redlock.WithObserver(observer(func(e redlock.Event) {
				if e.Kind == redlock.Lost {
					lost = append(lost, e.Err)
				}
			})))
			token := acquired(t, l, 30*time.Second)
			held, stop := redlock.Watch(bg, l, "k", token, 30*time.Second)
			defer stop()
			m.clock.AfterFunc(c.at, func() {
				switch c.name {
				case "closed":
					l.Close()
				case "released":
					wantIs(t, l.Release(bg, "k", token), nil)
				default:
					c.do(m)
				}
			})
			m.clock.wait(time.Hour, func() bool { return held.Err() != nil })
			if ended := m.clock.Since(epoch); ended > c.by || ended < c.by-time.Second {
				t.Errorf("ended at %v, want %v", ended, c.by)
			}
			cause := context.Cause(held)
			wantIs(t, cause, c.want)
			for _, text := range c.text {
				if !strings.Contains(fmt.Sprint(cause), text) {
					t.Errorf("the cause %q does not say %q", cause, text)
				}
			}
			if c.name != "released" && (len(lost) != 1 || lost[0] != cause) {
				t.Errorf("observed %v", lost)
			}
			// The first loss is terminal.
			m.all(heal)
			m.resume()
			m.clock.pass(time.Second)
			if token.Valid() {
				t.Error("valid after the loss")
			}
			if err := l.TryExtend(bg, "k", token, time.Hour); err == nil {
				t.Error("extended after the loss")
			}
			if n := m.holders("k", token.String()); n > 0 && c.want != redlock.ErrClosed && c.name != "dead nodes" && c.name != "one flushed, two dead" {
				t.Errorf("%d nodes still hold the key", n)
			}
			sent := len(m.sent)
			m.clock.pass(time.Hour)
			if len(m.sent) > sent {
				t.Errorf("sent after the loss: %v", m.sent[sent:])
			}
		})
	}
}

// A node error of the last renewal is there for errors.As, and an outage is not
// a second class of the cause.
func TestWatchCauseHasNodeErrors(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	held, stop := redlock.Watch(bg, l, "k", token, 10*time.Second)
	defer stop()
	m.all(die)
	m.clock.pass(10 * time.Second)
	cause := context.Cause(held)
	var node *redlock.NodeError
	if !errors.As(cause, &node) || node.Op != redlock.OpExtend || !errors.Is(cause, errRefused) || errors.Is(cause, redlock.ErrNoQuorum) {
		t.Errorf("cause %v", cause)
	}
}

// Failed renewals are tried again, whatever the policy, and a renewal that gets
// through makes all well.
func TestWatchRetries(t *testing.T) {
	t.Parallel()
	for _, p := range []redlock.RetryPolicy{redlock.NoRetry(), redlock.Backoff(10*ms, time.Second)} {
		m := newModel(5)
		l := m.lock(t, redlock.WithRetry(p))
		token := acquired(t, l, 30*time.Second)
		held, stop := redlock.Watch(bg, l, "k", token, 30*time.Second)
		m.clock.AfterFunc(9*time.Second, func() { m.all(die) })
		m.clock.AfterFunc(28*time.Second, func() { m.all(heal) })
		m.clock.pass(time.Minute)
		if held.Err() != nil || !token.Valid() {
			t.Errorf("cause %v", context.Cause(held))
		}
		stop()
	}
}

// What a node's own error wraps is no verdict on the lock: an outage is waited out.
func TestWatchTakesNodeErrorsForWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, odd := range []error{redlock.ErrBadArgument, redlock.ErrClosed, redlock.ErrLockNotHeld, redlock.ErrLockExpired} {
		m := newModel(3)
		l := m.lock(t)
		token := acquired(t, l, 30*time.Second)
		held, stop := redlock.Watch(bg, l, "k", token, 30*time.Second)
		m.each(func(n *modelNode) { n.fails = fmt.Errorf("refused: %w", odd) }, 0, 1)
		m.clock.AfterFunc(20*time.Second, func() { m.all(heal) })
		m.clock.pass(time.Minute)
		if held.Err() != nil || !token.Valid() {
			t.Errorf("%v: %v", odd, context.Cause(held))
		}
		stop()
	}
}

func TestWatchEndsWithItsParent(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	token := acquired(t, l, 30*time.Second)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(bg)
	held, stop := redlock.Watch(ctx, l, "k", token, 30*time.Second)
	m.clock.pass(time.Minute)
	cancel(why)
	wantIs(t, context.Cause(held), why)
	sent := len(m.sent)
	m.clock.pass(time.Hour)
	if len(m.sent) > sent || len(m.clock.timers) > 0 {
		t.Errorf("sent %v, %d timers", m.sent[sent:], len(m.clock.timers))
	}
	stop()
	if held, _ := redlock.Watch(ctx, l, "k", token, time.Second); held.Err() == nil {
		t.Error("a watch of an ended context")
	}
}

// What happens to the lock after the holder's context has ended is its own
// affair: the watch tells no loss, and sends nothing.
func TestWatchEndedTellsNothing(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t, redlock.WithObserver(observer(func(e redlock.Event) {
		if e.Kind == redlock.Lost {
			t.Errorf("lost: %v", e.Err)
		}
	})))
	ctx, cancel := context.WithCancel(bg)
	token := acquired(t, l, 30*time.Second)
	_, stop := redlock.Watch(ctx, l, "k", token, 30*time.Second)
	defer stop()
	cancel()
	m.clock.jump(time.Hour)
	if len(m.sent) > 1 {
		t.Errorf("sent %v", m.sent[1:])
	}
}

func TestMaxHold(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t, redlock.WithMaxHold(time.Minute))
	token := acquired(t, l, 30*time.Second)
	m.clock.pass(10 * time.Second)
	held, stop := redlock.Watch(bg, l, "k", token, 30*time.Second) // counted from the acquire
	defer stop()
	m.clock.wait(time.Hour, func() bool { return held.Err() != nil })
	if now := m.clock.Since(epoch); now != time.Minute {
		t.Errorf("ended at %v", now)
	}
	wantIs(t, context.Cause(held), redlock.ErrMaxHold)
	if !token.Valid() {
		t.Error("it is still held, for its holder to release")
	}
	wantIs(t, l.Release(bg, "k", token), nil)
	m.clock.pass(time.Hour)

	// A loss before that is told as one.
	token = acquired(t, l, 30*time.Second)
	held, stop = redlock.Watch(bg, l, "k", token, 30*time.Second)
	defer stop()
	m.clock.pass(50 * time.Second)
	m.flush(0, 1, 2)
	m.clock.pass(time.Minute)
	wantIs(t, context.Cause(held), redlock.ErrMaxHold) // 60 s came before the renewal at 60 s
	m.clock.pass(time.Minute)
	token = acquired(t, l, 30*time.Second)
	held, stop = redlock.Watch(bg, l, "k", token, 30*time.Second)
	defer stop()
	m.flush(0, 1, 2)
	m.clock.pass(time.Minute)
	wantIs(t, context.Cause(held), redlock.ErrLockNotHeld)
	// It may be shorter than the time to the first renewal.
	short := m.lock(t, redlock.WithMaxHold(100*ms))
	token = acquired(t, short, 30*time.Second)
	held, stop = redlock.Watch(bg, short, "k", token, 30*time.Second)
	defer stop()
	began := m.clock.Now()
	m.clock.wait(time.Hour, func() bool { return held.Err() != nil })
	if took := m.clock.Since(began); took != 100*ms {
		t.Errorf("held for %v", took)
	}
	wantIs(t, short.Release(bg, "k", token), nil)
	// Held for too long already.
	token = acquired(t, l, 10*time.Minute)
	m.clock.pass(2 * time.Minute)
	held, _ = redlock.Watch(bg, l, "k", token, time.Minute)
	wantIs(t, context.Cause(held), redlock.ErrMaxHold)
}

func TestRenewInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		every time.Duration // 0: not set
		ttl   time.Duration // of the acquire
		want  []time.Duration
	}{
		{"a third", 0, 30 * time.Second, []time.Duration{10 * time.Second, 20 * time.Second}},
		{"as set", 5 * time.Second, 30 * time.Second, []time.Duration{5 * time.Second, 10 * time.Second}},
		{"half of what is left at the latest", time.Minute, 30 * time.Second, []time.Duration{14_849 * ms, 29_698 * ms}},
		{"half of what was acquired", 0, 10 * time.Second, []time.Duration{4_949 * ms, 14_949 * ms}},
	} {
		m := newModel(3)
		var opts []redlock.Option
		if c.every > 0 {
			opts = append(opts, redlock.WithRenewInterval(c.every))
		}
		l := m.lock(t, opts...)
		token := acquired(t, l, c.ttl)
		_, stop := redlock.Watch(bg, l, "k", token, 30*time.Second)
		m.clock.pass(time.Minute)
		stop()
		for i, want := range c.want {
			if got := m.sent[1+i].at; got != want {
				t.Errorf("%s: renewal %d at %v, want %v", c.name, i+1, got, want)
			}
		}
	}
}

// A watch of what is not held has ended when it begins, and says why.
func TestWatchOfNothing(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	released, expired, held := acquired(t, l, time.Second), redlock.Token{}, redlock.Token{}
	l.Release(bg, "k", released)
	expired = acquired(t, l, time.Second)
	m.clock.pass(2 * time.Second)
	held = acquired(t, l, time.Hour)
	var none context.Context
	for _, c := range []struct {
		name  string
		ctx   context.Context
		l     redlock.Locker
		key   string
		token redlock.Token
		ttl   time.Duration
		want  error
	}{
		{"nil context", none, l, "k", held, time.Second, redlock.ErrBadArgument},
		{"nil locker", bg, nil, "k", held, time.Second, redlock.ErrBadArgument},
		{"another key", bg, l, "other", held, time.Second, redlock.ErrBadArgument},
		{"no ttl", bg, l, "k", held, 0, redlock.ErrBadArgument},
		{"zero token", bg, l, "k", redlock.Token{}, time.Second, redlock.ErrBadArgument},
		{"released", bg, l, "k", released, time.Second, redlock.ErrLockNotHeld},
		{"expired", bg, l, "k", expired, time.Second, redlock.ErrLockExpired},
	} {
		ctx, stop := redlock.Watch(c.ctx, c.l, c.key, c.token, c.ttl)
		if ctx.Err() == nil {
			t.Errorf("%s: the context has not ended", c.name)
		}
		wantIs(t, context.Cause(ctx), c.want)
		stop()
	}
	if len(m.clock.timers) > 0 {
		t.Errorf("%d timers", len(m.clock.timers))
	}
}

var errWork = errors.New("the work failed")

func TestDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		fn   func(m *model, held context.Context) error
		want []error // none: nil
		not  error
	}{
		{"all well", func(*model, context.Context) error { return nil }, nil, nil},
		{"the work fails", func(*model, context.Context) error { return errWork }, []error{errWork}, redlock.ErrLockNotHeld},
		{"long work", func(m *model, _ context.Context) error { m.clock.pass(time.Hour); return nil }, nil, nil},
		{"a loss that the work does not notice", func(m *model, _ context.Context) error {
			m.flush(0, 1, 2)
			m.clock.pass(time.Minute)
			return nil
		}, []error{redlock.ErrLockNotHeld}, redlock.ErrReleaseUnknown},
		{"a loss, and the work fails", func(m *model, held context.Context) error {
			m.flush(0, 1, 2)
			m.clock.pass(time.Minute)
			return errors.Join(errWork, held.Err())
		}, []error{redlock.ErrLockNotHeld, errWork, context.Canceled}, nil},
		{"a loss that nobody saw before the release", func(m *model, _ context.Context) error {
			m.flush(0, 1, 2)
			return errWork
		}, []error{redlock.ErrLockNotHeld, errWork}, nil},
		{"a release that is not confirmed", func(m *model, _ context.Context) error { m.all(die); return nil }, []error{redlock.ErrReleaseUnknown}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(3)
			var held context.Context
			var token redlock.Token
			err := redlock.Do(bg, m.lock(t), "k", 10*time.Second, func(ctx context.Context, tok redlock.Token) error {
				if held, token = ctx, tok; !tok.Valid() || ctx.Err() != nil {
					t.Error("not held")
				}
				return c.fn(m, ctx)
			})
			if len(c.want) == 0 {
				wantIs(t, err, nil)
			}
			for _, want := range c.want {
				wantIs(t, err, want)
			}
			if c.not != nil && errors.Is(err, c.not) {
				t.Errorf("error %v", err)
			}
			if token.Valid() || held.Err() == nil || m.asked(redlock.OpRelease) == 0 || len(m.clock.timers) > 0 {
				t.Errorf("afterwards: valid %v, %v, %d releases, %d timers", token.Valid(), held.Err(), m.asked(redlock.OpRelease), len(m.clock.timers))
			}
		})
	}
}

// What the work itself tells of the loss is not told twice.
func TestDoTellsALossOnce(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	err := redlock.Do(bg, m.lock(t), "k", 10*time.Second, func(ctx context.Context, _ redlock.Token) error {
		m.flush(0, 1)
		m.clock.pass(time.Minute)
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	})
	if text := fmt.Sprint(err); strings.Count(text, "have no such key") != 1 {
		t.Errorf("told twice: %s", text)
	}
}

func TestDoAcquires(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	m.take("k", 0, 1)
	err := redlock.Do(bg, m.lock(t, redlock.WithRetry(redlock.NoRetry())), "k", time.Second, func(context.Context, redlock.Token) error {
		t.Error("ran without the lock")
		return nil
	})
	wantIs(t, err, redlock.ErrLockAlreadyHeld)
}

// The caller's context ends the work, and the lock is released all the same. Its
// end is no loss.
func TestDoCancelled(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	ctx, cancel := context.WithCancelCause(bg)
	err := redlock.Do(ctx, m.lock(t), "k", time.Second, func(held context.Context, token redlock.Token) error {
		cancel(badCause{"not", "comparable"})
		if held.Err() == nil {
			t.Error("the work's context goes on")
		}
		return nil
	})
	wantIs(t, err, nil)
	if m.ours() > 0 {
		t.Error("keys were left")
	}
}

type badCause []string

func (badCause) Error() string { return "enough" }

func TestDoReleasesOnPanic(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v", p)
			}
		}()
		redlock.Do(bg, m.lock(t), "k", time.Second, func(context.Context, redlock.Token) error { panic("boom") })
	}()
	if m.ours() > 0 || len(m.clock.timers) > 0 {
		t.Errorf("%d keys and %d timers were left", m.ours(), len(m.clock.timers))
	}
}
