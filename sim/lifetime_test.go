package sim

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"testing"
)

// TestLifetime: a process's context is as good as a standard one, whenever one asks it.
func TestLifetime(t *testing.T) {
	type key struct{}
	ended := func(name string, ctx context.Context, cause error) {
		t.Helper()
		select {
		case <-ctx.Done():
		default:
			t.Errorf("%s: not done", name)
		}
		if ctx.Err() != context.Canceled || context.Cause(ctx) != cause {
			t.Errorf("%s: %v, because of %v; want %v", name, ctx.Err(), context.Cause(ctx), cause)
		}
	}
	l := new(lifetime)
	if _, ok := l.Deadline(); ok || l.Err() != nil || context.Cause(l) != nil || l.Value(key{}) != nil {
		t.Errorf("%v: a deadline %v, %v, because of %v", l, ok, l.Err(), context.Cause(l))
	}
	with := context.WithValue(l, key{}, 1)
	child, cancel := context.WithCancel(with)
	defer cancel()
	done := l.Done()
	called := make(chan struct{})
	context.AfterFunc(child, func() { close(called) })
	stop := context.AfterFunc(l, func() { t.Error("called though it was stopped") })
	if !stop() {
		t.Error("AfterFunc: cannot be stopped")
	}
	if bytes.Contains(allStacks(), []byte("created by context.(*cancelCtx).propagateCancel")) {
		t.Error("a goroutine for a context made from it")
	}
	select {
	case <-done:
		t.Error("done before its end")
	default:
	}
	early, cancelEarly := context.WithCancelCause(l)
	cancelEarly(ErrStuck)
	l.end()
	<-called
	ended("it", l, ErrEnded)
	ended("one with a value", with, ErrEnded)
	ended("its child", child, ErrEnded)
	ended("one that ended before", early, ErrStuck)
	late, cancel := context.WithCancel(l)
	defer cancel()
	ended("one made after its end", late, ErrEnded)
	l.end()
	ended("it, twice", l, ErrEnded)

	first := new(lifetime)
	first.end()
	ended("one that is asked only after its end", first, ErrEnded)
	if context.WithoutCancel(first).Err() != nil {
		t.Error("WithoutCancel: ended")
	}
}

// TestLifetimeOfMany: goroutines of a bubble may ask it while it ends.
func TestLifetimeOfMany(t *testing.T) {
	for range 5000 {
		l := new(lifetime)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(l)
				defer cancel()
				<-ctx.Done()
				<-l.Done()
				if l.Err() == nil || context.Cause(ctx) != ErrEnded {
					t.Errorf("%v, because of %v", l.Err(), context.Cause(ctx))
				}
			})
			all.Go(func() {
				for l.Err() == nil {
					runtime.Gosched()
				}
				select {
				case <-l.Done():
				default:
					t.Error("an error, and not done")
				}
			})
		}
		l.end()
		all.Wait()
	}
}
