package redlock_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"driftlock/redlock"
)

// Issue 3, acceptance 3: each odd argument has a result that is defined, and a
// bad one is told before anything is sent.

func TestTTLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ttl  time.Duration
		opts []redlock.Option
		sent time.Duration // 0: refused
	}{
		{ttl: 0},
		{ttl: -1},
		{ttl: math.MinInt64},
		{ttl: 500 * time.Microsecond},
		{ttl: time.Millisecond}, // nothing remains after the buffer
		{ttl: 1900 * time.Microsecond},
		{ttl: 2 * ms},
		{ttl: 2 * ms, opts: []redlock.Option{redlock.WithClockDriftFactor(0)}}, // exactly nothing remains
		{ttl: 3 * ms, sent: 3 * ms},
		{ttl: 3_900 * time.Microsecond, sent: 3 * ms},
		{ttl: ms, opts: []redlock.Option{redlock.WithClockDriftBuffer(0)}, sent: ms},
		{ttl: 1900 * time.Microsecond, opts: []redlock.Option{redlock.WithClockDriftBuffer(0)}, sent: ms},
		{ttl: 500 * time.Microsecond, opts: []redlock.Option{redlock.WithClockDriftBuffer(0)}},
		{ttl: time.Second, opts: []redlock.Option{redlock.WithClockDriftFactor(math.Nextafter(1, 0))}},
		{ttl: time.Second, opts: []redlock.Option{redlock.WithClockDriftBuffer(math.MaxInt64)}},
		{ttl: time.Second, opts: []redlock.Option{redlock.WithMinValidity(989 * ms)}},
		{ttl: time.Second, opts: []redlock.Option{redlock.WithMinValidity(988 * ms)}, sent: time.Second},
		{ttl: 365 * 24 * time.Hour, sent: 365 * 24 * time.Hour},
		{ttl: 366 * 24 * time.Hour},
		{ttl: math.MaxInt64},
	} {
		m := newModel(3)
		l := m.lock(t, c.opts...)
		_, err := l.TryAcquire(bg, "k", c.ttl)
		if c.sent > 0 {
			if err != nil || m.sent[0].TTL != c.sent {
				t.Errorf("ttl %v: sent %v, error %v", c.ttl, m.sent, err)
			}
			continue
		}
		wantIs(t, err, redlock.ErrBadArgument)
		if len(m.sent) > 0 {
			t.Errorf("ttl %v: sent %v", c.ttl, m.sent)
		}
		if text := err.Error(); !strings.Contains(text, "ttl "+c.ttl.String()) {
			t.Errorf("ttl %v: the text is %q", c.ttl, text)
		}
		parsed, _ := redlock.ParseToken(strings.Repeat("0", 32))
		wantIs(t, l.Extend(bg, "k", parsed, c.ttl), redlock.ErrBadArgument)
		wantIs(t, l.TryExtend(bg, "k", parsed, c.ttl), redlock.ErrBadArgument)
		_, _, err = l.AcquireOrExtend(bg, "k", redlock.Token{}, c.ttl)
		wantIs(t, err, redlock.ErrBadArgument)
		wantIs(t, redlock.Do(bg, l, "k", c.ttl, nothing), redlock.ErrBadArgument)
		if len(m.sent) > 0 {
			t.Errorf("ttl %v: sent %v", c.ttl, m.sent)
		}
	}
}

func nothing(context.Context, redlock.Token) error { return nil }

func TestDriftFactors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f     float64
		valid time.Duration // of a ttl of 10 s, without a buffer; 0: refused
	}{
		{f: -1}, {f: 1}, {f: 2}, {f: math.NaN()}, {f: math.Inf(1)}, {f: math.Inf(-1)}, {f: -1e-300},
		{0, 10 * time.Second},
		{math.Copysign(0, -1), 10 * time.Second},
		{0.5, 5 * time.Second},
		{0.01, 9_900 * ms},
		{0.07, 9_300 * ms},
		{0.29, 7_100 * ms}, // 0.29 * 1e9 is not whole in floats
		{0.0001, 9_999 * ms},
		{1e-9, 10*time.Second - 10},
		{1.5e-9, 10*time.Second - 20}, // to parts per billion, up
		{5e-324, 10*time.Second - 10},
		{0.999_999_999, 10},
	} {
		m := newModel(1)
		l, err := redlock.Over(m, redlock.WithClock(m.clock), redlock.WithClockDriftBuffer(0), redlock.WithClockDriftFactor(c.f))
		if c.valid == 0 {
			wantIs(t, err, redlock.ErrBadArgument)
			continue
		}
		if err != nil {
			t.Errorf("f = %v: %v", c.f, err)
			continue
		}
		if got := acquired(t, l, 10*time.Second).Remaining(); got != c.valid {
			t.Errorf("f = %v: %v is valid, want %v", c.f, got, c.valid)
		}
	}
}

// Every bad option is told, all at once.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	bad := map[string]redlock.Option{
		"drift factor":     redlock.WithClockDriftFactor(math.NaN()),
		"drift buffer":     redlock.WithClockDriftBuffer(-1),
		"node timeout":     redlock.WithNodeTimeout(0),
		"minimum validity": redlock.WithMinValidity(-1),
		"retry policy":     redlock.WithRetry(nil),
		"outage budget":    redlock.WithOutageBudget(-1),
		"renew interval":   redlock.WithRenewInterval(0),
		"maximum hold":     redlock.WithMaxHold(-time.Second),
		"observer":         redlock.WithObserver(nil),
		"clock":            redlock.WithClock(nil),
		"random source":    redlock.WithRand(nil),
	}
	var all []redlock.Option
	for name, o := range bad {
		_, err := redlock.Over(newModel(1), nil, o)
		wantIs(t, err, redlock.ErrBadArgument)
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		all = append(all, o)
	}
	_, err := redlock.Over(nil, all...)
	for name := range bad {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is missing in %v", name, err)
		}
	}
	if !strings.Contains(err.Error(), "transport nil") {
		t.Error(err)
	}
}

func TestNodeCounts(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{0: false, 1: true, 2: true, 4: true, 64: true, 65: false} {
		_, err := redlock.Over(newModel(n))
		if ok != (err == nil) || !ok && !errors.Is(err, redlock.ErrBadArgument) {
			t.Errorf("%d nodes: %v", n, err)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	for _, key := range []string{" ", "a b", "a\nb", "a\x00b", "\x00", "ключ", "\xff\xfe", strings.Repeat("k", 1<<20)} {
		token, err := l.TryAcquire(bg, key, time.Second)
		if err != nil {
			t.Errorf("key %.20q: %v", key, err)
			continue
		}
		if m.sent[len(m.sent)-1].Key != key {
			t.Errorf("key %.20q was changed", key)
		}
		wantIs(t, l.TryExtend(bg, key, token, time.Second), nil)
		wantIs(t, l.Release(bg, key, token), nil)
	}
}

// What makes no sense is told by every method, and nothing is sent.
func TestBadCalls(t *testing.T) {
	t.Parallel()
	var none context.Context
	m, other := newModel(3), newModel(3)
	l := m.lock(t)
	held := acquired(t, l, 10*time.Second)
	sent := len(m.sent)
	for _, c := range []struct {
		name  string
		l     *redlock.DistributedLock
		ctx   context.Context
		key   string
		token redlock.Token
		want  error
	}{
		{"nil context", l, none, "k", held, redlock.ErrBadArgument},
		{"empty key", l, bg, "", held, redlock.ErrBadArgument},
		{"zero lock", new(redlock.DistributedLock), bg, "k", held, redlock.ErrBadArgument},
		{"zero token", l, bg, "k", redlock.Token{}, redlock.ErrBadArgument},
		{"another key", l, bg, "other", held, redlock.ErrBadArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantIs(t, c.l.Extend(c.ctx, c.key, c.token, time.Second), c.want)
			wantIs(t, c.l.TryExtend(c.ctx, c.key, c.token, time.Second), c.want)
			wantIs(t, c.l.Release(c.ctx, c.key, c.token), c.want)
			if c.name == "zero token" || c.name == "another key" {
				return
			}
			_, err := c.l.Acquire(c.ctx, c.key, time.Second)
			wantIs(t, err, c.want)
			_, err = c.l.TryAcquire(c.ctx, c.key, time.Second)
			wantIs(t, err, c.want)
			_, _, err = c.l.AcquireOrExtend(c.ctx, c.key, c.token, time.Second)
			wantIs(t, err, c.want)
			wantIs(t, redlock.Do(c.ctx, c.l, c.key, time.Second, nothing), c.want)
		})
	}
	if len(m.sent) > sent || len(other.sent) > 0 || !held.Valid() {
		t.Errorf("sent %v, valid %v", m.sent[sent:], held.Valid())
	}
	wantIs(t, redlock.Do(bg, nil, "k", time.Second, nothing), redlock.ErrBadArgument)
	wantIs(t, redlock.Do(bg, l, "k", time.Second, nil), redlock.ErrBadArgument)
	if err := new(redlock.DistributedLock).Close(); err != nil {
		t.Error(err)
	}
	wantIs(t, new(redlock.Lock).Err(), redlock.ErrBadArgument)
}

// A foreign token: of another lock. Its nodes know nothing of it, so it is not
// held there; through another lock over the same nodes it works.
func TestForeignToken(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	token := acquired(t, m.lock(t), 10*time.Second)
	same := m.lock(t)
	wantIs(t, same.TryExtend(bg, "k", token, 20*time.Second), nil)
	if got := token.Remaining(); got != 19_798*ms {
		t.Errorf("remaining %v", got)
	}
	wantIs(t, same.Release(bg, "k", token), nil)

	token = acquired(t, m.lock(t), 10*time.Second)
	other := newModel(3)
	wantIs(t, other.lock(t).Release(bg, "k", token), redlock.ErrLockNotHeld)
	if token.Valid() {
		t.Error("valid after a release")
	}
}

func TestParseToken(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "0", strings.Repeat("0", 31), strings.Repeat("0", 33), strings.Repeat("A", 32),
		strings.Repeat("g", 32), strings.Repeat("\x00", 32), strings.Repeat("x", 1<<20)} {
		token, err := redlock.ParseToken(s)
		wantIs(t, err, redlock.ErrBadArgument)
		if token != (redlock.Token{}) {
			t.Errorf("%.20q gave a token", s)
		}
	}
	m := newModel(5)
	l := m.lock(t)
	here := acquired(t, l, 10*time.Second)
	there, err := redlock.ParseToken(here.String())
	if err != nil {
		t.Fatal(err)
	}
	if there.String() != here.String() || there.Valid() || there.Remaining() != 0 || !there.ValidUntil().IsZero() {
		t.Errorf("a parsed token: %v, valid %v, remaining %v, until %v", there, there.Valid(), there.Remaining(), there.ValidUntil())
	}
	if _, ok := there.Fence(); ok {
		t.Error("a parsed token has a fence")
	}
	held, _ := redlock.Watch(bg, l, "k", there, time.Second)
	wantIs(t, context.Cause(held), redlock.ErrBadArgument)
	m.clock.pass(time.Second)
	wantIs(t, l.TryExtend(bg, "k", there, 20*time.Second), nil)
	if got := there.Remaining(); got != 19_798*ms {
		t.Errorf("after its first extend: remaining %v", got)
	}
	wantIs(t, l.TryExtend(bg, "other", there, time.Second), redlock.ErrBadArgument) // it has a key now
	wantIs(t, l.Release(bg, "k", there), nil)

	// Never extended, it can be released; of nothing it is not held.
	here = acquired(t, l, 10*time.Second)
	there, _ = redlock.ParseToken(here.String())
	wantIs(t, l.Release(bg, "k", there), nil)
	there, _ = redlock.ParseToken(here.String())
	wantIs(t, l.Release(bg, "k", there), redlock.ErrLockNotHeld)
	there, _ = redlock.ParseToken(here.String())
	wantIs(t, l.Extend(bg, "k", there, time.Second), redlock.ErrLockNotHeld)

	// It has no deadline to bound its retries: the outage budget does.
	there, _ = redlock.ParseToken(here.String())
	m.each(die, 0, 1, 2)
	before := m.clock.Now()
	wantIs(t, l.Extend(bg, "k", there, 10*time.Second), redlock.ErrNoQuorum)
	if took := m.clock.Since(before); took > time.Second {
		t.Errorf("gave up after %v", took)
	}
}

func TestZeroToken(t *testing.T) {
	t.Parallel()
	var z redlock.Token
	if _, ok := z.Fence(); z.String() != "" || z.Valid() || z.Remaining() != 0 || !z.ValidUntil().IsZero() || ok {
		t.Errorf("%q %v %v %v %v", z.String(), z.Valid(), z.Remaining(), z.ValidUntil(), ok)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	sent := len(m.sent)
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if m.closed != 1 {
		t.Errorf("the transport was closed %d times", m.closed)
	}
	_, err := l.Acquire(bg, "other", time.Second)
	wantIs(t, err, redlock.ErrClosed)
	_, err = l.TryAcquire(bg, "other", time.Second)
	wantIs(t, err, redlock.ErrClosed)
	wantIs(t, l.Extend(bg, "k", token, time.Second), redlock.ErrClosed)
	if !token.Valid() {
		t.Error("its keys live on, so it is held until its deadline")
	}
	wantIs(t, l.Release(bg, "k", token), redlock.ErrClosed)
	if token.Valid() {
		t.Error("valid after Release was called")
	}
	if len(m.sent) > sent {
		t.Errorf("sent %v", m.sent[sent:])
	}
}

// Close while Acquire waits for the lock ends the wait.
func TestCloseWhileWaiting(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	m.take("k", 0, 1)
	l := m.lock(t)
	m.clock.AfterFunc(10*time.Second, func() { l.Close() })
	_, err := l.Acquire(bg, "k", time.Second)
	wantIs(t, err, redlock.ErrClosed)
}
