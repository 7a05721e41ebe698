package redlock_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"driftlock/redlock"
)

// eventful has of each kind of event on three nodes one at least, but for a refusal: a
// lease that is renewed and released while node 2 is down, and one that is lost.
func eventful(t *testing.T, m *model, l *redlock.DistributedLock) {
	t.Helper()
	token := acquired(t, l, time.Second)
	m.each(die, 2)
	m.each(slow(0), 2)
	l.Extend(bg, "k", token, time.Second)
	l.Release(bg, "k", token)
	m.all(heal)
	token = acquired(t, l, time.Second)
	m.flush(0, 1, 2)
	l.Extend(bg, "k", token, time.Second)
	l.Release(bg, "k", token)
}

// What observers are told, in order; both of two are told all of it.
func TestObserver(t *testing.T) {
	t.Parallel()
	m := newModel(3).all(slow(10 * ms))
	var told, other []string
	note := func(e redlock.Event) {
		s := fmt.Sprintf("%v %s node %d attempt %d took %v remaining %v", e.Kind, e.Key, e.Node, e.Attempt, e.Took, e.Remaining)
		for _, class := range []error{redlock.ErrLockAlreadyHeld, redlock.ErrNoQuorum, redlock.ErrLockNotHeld, errRefused} {
			if errors.Is(e.Err, class) {
				s += ": " + class.Error()
				break
			}
		}
		told = append(told, s)
	}
	l := m.lock(t, redlock.WithObserver(observer(note)), redlock.WithRetry(redlock.Every(30*ms).Times(2)),
		redlock.WithObserver(observer(func(e redlock.Event) { other = append(other, e.Kind.String()) })))
	m.take("k", 0, 1)
	l.Acquire(bg, "k", time.Second)
	m.flush(0, 1)
	eventful(t, m, l)
	want := []string{
		"attempted k node -1 attempt 1 took 20ms remaining 0s: lock held by another",
		"attempted k node -1 attempt 2 took 20ms remaining 0s: lock held by another",
		"refused k node -1 attempt 2 took 70ms remaining 0s: lock held by another",
		"attempted k node -1 attempt 1 took 10ms remaining 0s",
		"granted k node -1 attempt 1 took 10ms remaining 978ms",
		"node failed k node 2 attempt 0 took 0s remaining 0s: connection refused",
		"renewed k node -1 attempt 1 took 10ms remaining 978ms",
		"node failed k node 2 attempt 0 took 0s remaining 0s: connection refused",
		"released k node -1 attempt 0 took 10ms remaining 0s",
	}
	if !slices.Equal(told[:min(len(want), len(told))], want) {
		t.Errorf("told\n%q\nwant\n%q", told, want)
	}
	rest := []string{"attempted", "granted", "lost", "released"}
	if !slices.Equal(other[len(want):], rest) || len(other) != len(told) {
		t.Errorf("told %q, want %q", other[len(want):], rest)
	}
}

// An observer may itself use the lock, in the middle of a request of the lock's.
func TestObserverUsesTheLock(t *testing.T) {
	t.Parallel()
	m := newModel(3).all(slow(10 * ms))
	var l *redlock.DistributedLock
	used := false
	l = m.lock(t, redlock.WithObserver(observer(func(e redlock.Event) {
		if e.Kind == redlock.NodeFailed && !used {
			used = true
			_, err := l.TryAcquire(bg, "other", time.Second)
			wantIs(t, err, nil)
		}
	})))
	m.each(die, 2)
	m.each(slow(0), 2)
	_, err := l.TryAcquire(bg, "k", time.Second)
	wantIs(t, err, nil)
	if !used {
		t.Error("no node failed")
	}
}

func TestKindsHaveNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for k := range redlock.Released + 2 {
		if s := k.String(); s == "" || seen[s] {
			t.Errorf("kind %d is called %q", k, s)
		}
		seen[k.String()] = true
	}
}
