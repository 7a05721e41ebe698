package redlock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"

	"driftlock/clock"
	"driftlock/redlock"
)

// A yesNode grants all at once, and extends all.
type yesNode struct {
	name string
	mu   sync.Mutex
	ops  []redlock.Op
}

func (n *yesNode) Name() string { return n.name }

func (n *yesNode) Do(reqs []*redlock.Request, replies []redlock.Reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, r := range reqs {
		n.ops = append(n.ops, r.Op)
		replies[i] = redlock.Reply{Status: redlock.Done}
	}
}

// suspendable is a boot-time clock that has gone on for as long as slept says while
// package time stood still.
func suspendable(slept *atomic.Int64) clockwork.Clock {
	began := time.Now()
	monotonic := func() time.Duration { return time.Since(began) }
	return clock.BoottimeOf(func() time.Duration { return monotonic() + time.Duration(slept.Load()) }, monotonic)
}

// A machine that was suspended has lost its lock, and its holder is told as it wakes:
// the token is invalid at the next reading, and the context ends by the next look at
// the clocks, a tenth of a second later at most, with the reason. On Go's own clock it
// would have gone on for another hour.
func TestSuspendEndsAHeldLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		nodes := []redlock.Node{&yesNode{name: "a"}, &yesNode{name: "b"}, &yesNode{name: "c"}}
		l, err := redlock.New(nodes, redlock.WithClock(suspendable(&slept)), redlock.WithRenewInterval(2*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		token, err := l.Acquire(context.Background(), "k", 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		held, stop := redlock.Watch(context.Background(), l, "k", token, 10*time.Second)
		defer stop()
		time.Sleep(time.Minute) // it is kept alive
		if held.Err() != nil || !token.Valid() {
			t.Fatalf("lost while nothing happened: %v", context.Cause(held))
		}
		time.Sleep(500 * time.Millisecond) // between two renewals
		suspended := time.Now()
		slept.Add(int64(time.Hour))
		if token.Valid() || token.Remaining() > 0 {
			t.Errorf("the token is still valid for %v", token.Remaining())
		}
		select {
		case <-held.Done():
		case <-time.After(time.Second):
			t.Fatal("a second after waking the context has not ended")
		}
		if took := time.Since(suspended); took > 100*time.Millisecond {
			t.Errorf("the context ended %v after waking, want 100ms at most", took)
		}
		if cause := context.Cause(held); !errors.Is(cause, redlock.ErrLockExpired) {
			t.Errorf("cause %v, want ErrLockExpired", cause)
		}
		if err := l.Release(context.Background(), "k", token); !errors.Is(err, redlock.ErrLockExpired) {
			t.Errorf("release: %v, want ErrLockExpired", err)
		}
	})
}

// A suspend that leaves some of the lease ends nothing.
func TestShortSuspendEndsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		l, err := redlock.New([]redlock.Node{&yesNode{name: "a"}}, redlock.WithClock(suspendable(&slept)))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		token, err := l.Acquire(context.Background(), "k", 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		held, stop := redlock.Watch(context.Background(), l, "k", token, 10*time.Second)
		defer stop()
		for range 20 {
			slept.Add(int64(3 * time.Second))
			time.Sleep(time.Second)
		}
		if held.Err() != nil || !token.Valid() {
			t.Errorf("lost by suspends of 3 s: %v", context.Cause(held))
		}
	})
}
