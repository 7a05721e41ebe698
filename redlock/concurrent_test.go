package redlock_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"driftlock/redlock"
)

// Issue 3, acceptance 3: a hundred goroutines on one token. Each call has one of
// its documented results, one release is the first, and afterwards nothing
// brings the token back.
func TestManyGoroutinesOnOneToken(t *testing.T) {
	t.Parallel()
	for round := range 20 {
		m := newModel(5)
		l := m.lock(t)
		token := acquired(t, l, 10*time.Second)
		var mu sync.Mutex
		results := map[string]int{}
		note := func(op string, err error, allowed ...error) {
			mu.Lock()
			defer mu.Unlock()
			for _, a := range allowed {
				if err == nil && a == nil || a != nil && errors.Is(err, a) {
					class := "nil"
					if a != nil {
						class = a.Error()
					}
					results[op+": "+class]++
					return
				}
			}
			t.Errorf("%s: %v", op, err)
		}
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				for range 10 {
					switch {
					case i%10 == 0 && round%2 == 0, i == 0:
						note("release", l.Release(bg, "k", token), nil, redlock.ErrReleaseUnknown)
					case i%3 == 0:
						note("try extend", l.TryExtend(bg, "k", token, time.Duration(i)*time.Second), nil, redlock.ErrLockNotHeld)
					case i%3 == 1:
						note("extend", l.Extend(bg, "k", token, time.Duration(i)*time.Second), nil, redlock.ErrLockNotHeld)
					default:
						if token.Valid() != (token.Remaining() > 0) && !token.ValidUntil().IsZero() {
							t.Error("valid and remaining differ while nothing ended it")
						}
					}
				}
			})
		}
		all.Wait()
		if results["release: nil"] > 5 {
			t.Errorf("results %v", results)
		}
		if token.Valid() || m.holders("k", token.String()) > 0 {
			t.Errorf("valid %v, %d nodes hold the key", token.Valid(), m.holders("k", token.String()))
		}
		wantIs(t, l.TryExtend(bg, "k", token, time.Hour), redlock.ErrLockNotHeld)
	}
}

// Never two holders at once, whatever the goroutines: the lock over healthy
// nodes is a mutex.
func TestExclusion(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	var inside sync.Mutex
	grants := 0
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 200 {
				token, err := l.TryAcquire(bg, "k", time.Minute)
				if err != nil {
					wantIs(t, err, redlock.ErrLockAlreadyHeld)
					continue
				}
				if !inside.TryLock() {
					t.Error("two holders")
					return
				}
				grants++
				runtime.Gosched()
				inside.Unlock()
				if err := l.Release(bg, "k", token); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if grants == 0 {
		t.Error("nobody got the lock")
	}
}

// One random source that is not safe for concurrent use serves all goroutines.
func TestRandIsNotCalledTwiceAtOnce(t *testing.T) {
	t.Parallel()
	calls := 0 // the race detector sees an overlap
	l, err := redlock.Over(newModel(1), redlock.WithRand(func() uint64 { calls++; return uint64(calls) }))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				l.TryAcquire(bg, "k", time.Second)
			}
		})
	}
	all.Wait()
	if calls < 1600 {
		t.Errorf("%d calls", calls)
	}
}
