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

// Rule 7: what a release comes to, by what five nodes answer: deleted, gone,
// another's, failed.
func TestReleaseTellsTheTruth(t *testing.T) {
	t.Parallel()
	replies := [4]redlock.Reply{{Status: redlock.Done}, {Status: redlock.Gone}, {Status: redlock.Others}, {Err: errRefused}}
	for combo := range 1024 {
		var n [4]int
		var answers [5]redlock.Reply
		for i, c := 0, combo; i < 5; i, c = i+1, c/4 {
			answers[i] = replies[c%4]
			n[c%4]++
		}
		deleted, lost := n[0], n[1]+n[2]
		for _, when := range []string{"in time", "after the deadline", "again", "during a second one"} {
			m := newModel(5)
			l := m.lock(t)
			token := acquired(t, l, 10*time.Second)
			var want error
			switch {
			case when == "after the deadline":
				want = redlock.ErrLockExpired
			case deleted >= 3:
			case lost > 2 && when == "in time":
				want = redlock.ErrLockNotHeld
			default:
				want = redlock.ErrReleaseUnknown
			}
			switch when {
			case "after the deadline":
				m.clock.pass(9_898 * ms)
			case "again":
				l.Release(bg, "k", token)
			case "during a second one":
				for i := range m.nodes {
					m.nodes[i].delay = ms
				}
				m.clock.AfterFunc(0, func() { l.Release(bg, "k", token) })
			}
			for i, node := range m.nodes {
				node.says = &answers[i]
			}
			err := l.Release(bg, "k", token)
			wantIs(t, err, want)
			for _, other := range []error{redlock.ErrLockExpired, redlock.ErrLockNotHeld, redlock.ErrReleaseUnknown} {
				if other != want && errors.Is(err, other) {
					t.Errorf("%s, %v: %v is also %v", when, n, err, other)
				}
			}
			if t.Failed() {
				t.Fatalf("%s: %d deleted, %d gone, %d another's, %d failed", when, n[0], n[1], n[2], n[3])
			}
			if token.Valid() {
				t.Fatal("valid after a release")
			}
		}
	}
}

// A release that was called in time, and comes to the nodes when the keys have
// expired, is expired and not lost to somebody.
func TestReleaseSlowerThanTheDeadline(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	token := acquired(t, l, 1000*ms)
	m.clock.pass(980 * ms) // the deadline is at 988
	m.all(slow(48 * ms))   // they act at 1004
	wantIs(t, l.Release(bg, "k", token), redlock.ErrLockExpired)
}

// It is bounded by the node timeout on the lock's clock, goes on when the
// context has ended, and what hangs is told when it answers again.
func TestReleaseIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hung []int
		want error
		took time.Duration
	}{
		{nil, nil, 0},
		{[]int{3, 4}, nil, 0},
		{[]int{2, 3, 4}, redlock.ErrReleaseUnknown, 500 * ms},
		{[]int{0, 1, 2, 3, 4}, redlock.ErrReleaseUnknown, 500 * ms},
	} {
		m := newModel(5)
		l := m.lock(t)
		token := acquired(t, l, 30*time.Second)
		m.each(hang, c.hung...)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		err := l.Release(ctx, "k", token)
		wantIs(t, err, c.want)
		if took := m.clock.Since(epoch); took != c.took {
			t.Errorf("%v hang: took %v", c.hung, took)
		}
		if got := m.holders("k", token.String()); got != len(c.hung) {
			t.Errorf("%v hang: %d nodes hold the key", c.hung, got)
		}
		m.resume()
		if got := m.holders("k", token.String()); got != 0 {
			t.Errorf("%v hung: %d nodes hold the key", c.hung, got)
		}
	}
}

// It returns as soon as it can be neither confirmed nor lost any more.
func TestReleaseDoesNotWaitForNothing(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	m.each(die, 0, 1, 2)
	m.each(hang, 3, 4)
	wantIs(t, l.TryExtend(bg, "k", token, 10*time.Second), redlock.ErrNoQuorum)
	wantIs(t, l.Release(bg, "k", token), redlock.ErrReleaseUnknown)
	if took := m.clock.Since(epoch); took != 0 {
		t.Errorf("took %v", took)
	}
}

// An unknown release says which nodes, and what becomes of their keys.
func TestUnknownReleaseNamesNodes(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	m.each(die, 0)
	m.each(hang, 2)
	err := l.Release(bg, "k", token)
	wantIs(t, err, redlock.ErrReleaseUnknown)
	const want = `redlock: release "k": release not confirmed: keys on nodes that did not answer are deleted when they answer again, ` +
		`or expire within 10s: 1 of 3 nodes released, 2 failed; needed 2 (A: connection refused; C: no answer)`
	if got := fmt.Sprint(err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A release ends the validity before its first send, and an extend that is in
// flight does not bring it back.
func TestReleaseWinsOverExtendInFlight(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	m.all(slow(100 * ms))
	m.clock.AfterFunc(60*ms, func() { // the nodes have extended; their answers are under way
		m.all(slow(200 * ms))
		m.clock.AfterFunc(0, func() {
			if token.Valid() || token.Remaining() > 0 {
				t.Error("valid while its release is under way")
			}
		})
		wantIs(t, l.Release(bg, "k", token), nil)
	})
	err := l.Extend(bg, "k", token, time.Minute)
	wantIs(t, err, redlock.ErrLockNotHeld)
	if token.Valid() {
		t.Error("an extend brought a released token back")
	}
	if !strings.Contains(fmt.Sprint(err), "released") {
		t.Error(err)
	}
	wantIs(t, l.TryExtend(bg, "k", token, time.Minute), redlock.ErrLockNotHeld)
}

// The nodes are told how long a key that is to be freed can live: as long as the
// longest extend said, whether it succeeded or not.
func TestReleaseKnowsTheLongestTTL(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	token := acquired(t, l, time.Second)
	m.each(hang, 0, 1, 2)
	wantIs(t, l.TryExtend(bg, "k", token, time.Minute), redlock.ErrNoQuorum)
	l.Release(bg, "k", token)
	if got := m.sent[len(m.sent)-1].TTL; got != time.Minute {
		t.Errorf("a release with a ttl of %v", got)
	}
}
