package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"driftlock/redlock"
)

// Rule 8: what an extend comes to, by what five nodes answer: extended, gone,
// another's, failed. On failure the old deadline stands, or the lock is lost.
func TestExtendTellsTheTruth(t *testing.T) {
	t.Parallel()
	replies := [4]redlock.Reply{{Status: redlock.Done}, {Status: redlock.Gone}, {Status: redlock.Others}, {Err: errRefused}}
	for combo := range 1024 {
		var n [4]int
		var answers [5]redlock.Reply
		for i, c := 0, combo; i < 5; i, c = i+1, c/4 {
			answers[i] = replies[c%4]
			n[c%4]++
		}
		var want error
		remaining := 19_798 * ms
		switch {
		case n[0] >= 3:
		case n[1]+n[2] > 2:
			want, remaining = redlock.ErrLockNotHeld, 0
		default:
			want, remaining = redlock.ErrNoQuorum, 8_898*ms
		}
		m := newModel(5)
		l := m.lock(t)
		token := acquired(t, l, 10*time.Second)
		m.clock.pass(time.Second)
		for i, node := range m.nodes {
			node.says = &answers[i]
		}
		err := l.TryExtend(bg, "k", token, 20*time.Second)
		wantIs(t, err, want)
		if got := token.Remaining(); got != remaining {
			t.Errorf("remaining %v, want %v", got, remaining)
		}
		if gave := m.asked(redlock.OpRelease); (gave == 1) != (want == redlock.ErrLockNotHeld) {
			t.Errorf("%d releases", gave)
		}
		if t.Failed() {
			t.Fatalf("%d extended, %d gone, %d another's, %d failed", n[0], n[1], n[2], n[3])
		}
	}
}

// It never shortens: neither the deadline nor a key.
func TestExtendNeverShortens(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	token := acquired(t, l, time.Minute)
	until := token.ValidUntil()
	wantIs(t, l.Extend(bg, "k", token, time.Second), nil)
	if got := token.ValidUntil(); !got.Equal(until) {
		t.Errorf("valid until %v, was %v", got, until)
	}
	m.clock.pass(50 * time.Second)
	if got := m.holders("k", token.String()); got != 5 {
		t.Errorf("%d nodes hold the key", got)
	}
}

// After the deadline an extend is refused, whatever the nodes still hold; and
// one whose last needed answer comes at the deadline is too late.
func TestExtendAroundTheDeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		start  time.Duration // when it is called; the deadline is at 9,898 ms
		took   time.Duration
		ttl    time.Duration
		want   error
		extend int // requests sent
	}{
		{"well before", time.Second, 100 * ms, time.Minute, nil, 1},
		{"its answers a nanosecond before", 9_798 * ms, 100*ms - 1, time.Minute, nil, 1},
		{"its answers at the deadline", 9_798 * ms, 100 * ms, time.Minute, redlock.ErrLockExpired, 1},
		{"called at the deadline", 9_898 * ms, 0, time.Minute, redlock.ErrLockExpired, 0},
		{"called when the keys are gone", 11 * time.Second, 0, time.Minute, redlock.ErrLockExpired, 0},
		{"its answers after the new deadline", time.Second, 100 * ms, 100 * ms, redlock.ErrValidityExpired, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(5)
			l := m.lock(t, redlock.WithNodeTimeout(time.Second))
			token := acquired(t, l, 10*time.Second)
			m.clock.pass(c.start)
			m.all(slow(c.took))
			err := l.TryExtend(bg, "k", token, c.ttl)
			wantIs(t, err, c.want)
			if got := m.asked(redlock.OpExtend); got != c.extend {
				t.Errorf("%d extends were sent", got)
			}
			switch c.want {
			case redlock.ErrLockExpired: // for good, and nothing it may have prolonged stays
				m.all(slow(0))
				wantIs(t, l.TryExtend(bg, "k", token, time.Minute), redlock.ErrLockExpired)
				if m.clock.pass(time.Second); m.ours() > 0 || token.Valid() {
					t.Errorf("%d keys were left, valid %v", m.ours(), token.Valid())
				}
			case redlock.ErrValidityExpired: // the old deadline stands
				if got := token.Remaining(); got != 8_798*ms {
					t.Errorf("remaining %v", got)
				}
			}
		})
	}
}

// Extend tries again until the deadline, and then the lock is lost; the error
// says what kept it.
func TestExtendRetries(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	m.each(die, 0, 1, 2)
	m.clock.AfterFunc(3*time.Second, func() { m.all(heal) })
	wantIs(t, l.Extend(bg, "k", token, 10*time.Second), nil)
	if now := m.clock.Since(epoch); now < 3*time.Second || now > 4*time.Second {
		t.Errorf("extended at %v", now)
	}

	m.each(die, 2, 3, 4)
	deadline := token.ValidUntil()
	err := l.Extend(bg, "k", token, 10*time.Second)
	wantIs(t, err, redlock.ErrLockExpired)
	wantIs(t, err, errRefused)
	if errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("two classes: %v", err)
	}
	if now := m.clock.Now(); !now.Equal(deadline) {
		t.Errorf("gave up at %v, the deadline was at %v", now, deadline)
	}
	if got := m.holders("k", token.String()); got != 3 { // two were told, three are dead
		t.Errorf("%d nodes hold the key", got)
	}
}

// The policy bounds the attempts; then the lock is still held.
func TestExtendGivesUpByPolicy(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t, redlock.WithRetry(redlock.Every(ms).Times(4)))
	token := acquired(t, l, 10*time.Second)
	m.each(die, 0, 1, 2)
	wantIs(t, l.Extend(bg, "k", token, time.Minute), redlock.ErrNoQuorum)
	if got := m.asked(redlock.OpExtend); got != 4 || !token.Valid() {
		t.Errorf("%d extends, valid %v", got, token.Valid())
	}
	// What was extended in part goes with the release.
	m.all(heal)
	wantIs(t, l.Release(bg, "k", token), nil)
	if m.ours() > 0 {
		t.Error("keys were left")
	}
}

func TestExtendCancelled(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	m.all(hang)
	ctx, cancel := context.WithCancel(bg)
	m.clock.AfterFunc(20*ms, cancel)
	err := l.Extend(ctx, "k", token, 10*time.Second)
	wantIs(t, err, context.Canceled)
	if took := m.clock.Since(epoch); took != 20*ms || errors.Is(err, redlock.ErrNoQuorum) || !token.Valid() {
		t.Errorf("took %v, %v, valid %v", took, err, token.Valid())
	}
	wantIs(t, l.TryExtend(ctx, "k", token, 10*time.Second), context.Canceled)
}

// Of two extends that overlap the later deadline stands, whichever is answered
// first; and one that ends after the first deadline counts if the other has
// moved it in time.
func TestExtendsOverlap(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	m.clock.pass(9_800 * ms)
	m.all(slow(200 * ms))             // answered at 10,000, after the old deadline
	m.clock.AfterFunc(10*ms, func() { // at 9,810
		m.all(slow(20 * ms)) // answered at 9,830
		wantIs(t, l.TryExtend(bg, "k", token, 20*time.Second), nil)
	})
	wantIs(t, l.TryExtend(bg, "k", token, time.Minute), nil)
	if got, want := token.ValidUntil(), epoch.Add(9_800*ms+59_398*ms); !got.Equal(want) {
		t.Errorf("valid until %v, want %v", got, want)
	}
}

func TestAcquireOrExtend(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	token, again, err := l.AcquireOrExtend(bg, "k", redlock.Token{}, 10*time.Second)
	if err != nil || !again || !token.Valid() {
		t.Fatalf("of nothing: %v, again %v, %v", token, again, err)
	}
	m.clock.pass(5 * time.Second)
	same, again, err := l.AcquireOrExtend(bg, "k", token, 10*time.Second)
	if err != nil || again || same != token || token.Remaining() != 9_898*ms {
		t.Errorf("held: %v, again %v, remaining %v, %v", same, again, token.Remaining(), err)
	}
	for name, lose := range map[string]func(){
		"expired, its keys still there": func() { m.clock.pass(9_898 * ms) },
		"expired":                       func() { m.clock.pass(11 * time.Second) },
		"flushed":                       func() { m.flush(0, 1, 2) },
		"released":                      func() { l.Release(bg, "k", token) },
	} {
		before := token
		lose()
		token, again, err = l.AcquireOrExtend(bg, "k", before, 10*time.Second)
		if err != nil || !again || token == before || before.Valid() || !token.Valid() {
			t.Fatalf("%s: %v after %v, again %v, %v", name, token, before, again, err)
		}
		if got := m.holders("k", before.String()); got != 0 {
			t.Errorf("%s: %d nodes hold the old key", name, got)
		}
	}
	// An outage: the token is still the caller's.
	m.all(die)
	ctx, cancel := context.WithCancel(bg)
	m.clock.AfterFunc(time.Second, cancel)
	same, again, err = l.AcquireOrExtend(ctx, "k", token, 10*time.Second)
	wantIs(t, err, context.Canceled)
	if same != token || again || !token.Valid() {
		t.Errorf("in an outage: %v, again %v, valid %v", same, again, token.Valid())
	}
}
