package fence_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"driftlock/redlock/fence"
)

// Lower is refused, the same and higher are not, and none is none.
func TestRule(t *testing.T) {
	t.Parallel()
	var g fence.Guard
	for i, s := range []struct {
		key   string
		fence uint64
		want  error
	}{
		{"k", 0, fence.ErrMissing},
		{"k", 41, nil},
		{"k", 41, nil}, // the holder's next write
		{"k", 42, nil},
		{"k", 41, fence.ErrStale},
		{"k", 42, nil},
		{"k", 1<<64 - 1, nil},
		{"k", 1<<63 - 1, fence.ErrStale},
		{"other", 1, nil},
		{"", 1, nil},
		{"k", 0, fence.ErrMissing},
	} {
		ran := false
		err := g.Do(context.Background(), s.key, s.fence, func() error { ran = true; return nil })
		if !errors.Is(err, s.want) || ran != (s.want == nil) || s.want == nil && err != nil {
			t.Errorf("step %d, %q with %d: %v, written %v; want %v", i, s.key, s.fence, err, ran, s.want)
		}
		if err := g.Admit(s.key, s.fence); !errors.Is(err, s.want) {
			t.Errorf("step %d: Admit says %v", i, err)
		}
	}
	if n := g.Highest("k"); n != 1<<64-1 || g.Highest("unknown") != 0 {
		t.Errorf("highest %d", n)
	}
}

func TestStaleSaysWhy(t *testing.T) {
	t.Parallel()
	var g fence.Guard
	key := strings.Repeat("k", 10<<10)
	g.Admit(key, 42)
	err := g.Admit(key, 41)
	var stale *fence.Stale
	if !errors.As(err, &stale) || stale.Fence != 41 || stale.Highest != 42 || len(err.Error()) > 200 {
		t.Errorf("%v", err)
	}
}

// A write that was let through and then stands still is over before a higher number
// writes: otherwise it would land after it. One with the same number need not wait, a
// lower one is refused at once, and who waits may give up.
func TestOlderWriteEndsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g fence.Guard
		var log []string
		var mu sync.Mutex
		begin := time.Now()
		write := func(ctx context.Context, n uint64, d time.Duration) error {
			return g.Do(ctx, "k", n, func() error {
				time.Sleep(d)
				mu.Lock()
				defer mu.Unlock()
				log = append(log, fmt.Sprint(n, " at ", time.Since(begin)))
				return nil
			})
		}
		bg := context.Background()
		go write(bg, 41, 30*time.Second)
		go write(bg, 41, 5*time.Second)
		time.Sleep(time.Second)
		go write(bg, 42, time.Second)
		time.Sleep(time.Second)
		if err := write(bg, 41, 0); !errors.Is(err, fence.ErrStale) {
			t.Errorf("a stale write while one of its number is under way: %v", err)
		}
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if err := write(ctx, 42, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait that ended: %v", err)
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if want := "[41 at 5s 41 at 30s 42 at 31s]"; fmt.Sprint(log) != want {
			t.Errorf("%v, want %v", log, want)
		}
	})
}

// Who waits for its turn becomes stale if a higher number comes.
func TestWaiterBecomesStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g fence.Guard
		sleep := func(n uint64) error {
			return g.Do(context.Background(), "k", n, func() error { time.Sleep(time.Second); return nil })
		}
		second := make(chan error, 1)
		go sleep(1)
		synctest.Wait()
		go func() { second <- sleep(2) }()
		synctest.Wait()
		third := make(chan error, 1)
		go func() { third <- sleep(3) }()
		if err := <-second; !errors.Is(err, fence.ErrStale) {
			t.Error(err)
		}
		if err := <-third; err != nil {
			t.Error(err)
		}
	})
}

// A write that fails or panics lets the next one in.
func TestWriteThatFails(t *testing.T) {
	t.Parallel()
	var g fence.Guard
	boom := errors.New("boom")
	if err := g.Do(context.Background(), "k", 1, func() error { return boom }); err != boom {
		t.Error(err)
	}
	func() {
		defer func() { recover() }()
		g.Do(context.Background(), "k", 1, func() error { panic(boom) })
	}()
	if err := g.Do(context.Background(), "k", 2, func() error { return nil }); err != nil {
		t.Error(err)
	}
}

// Many writers at once: the numbers of what was written never fall, and no two
// different numbers write at the same time.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	var g fence.Guard
	var wg sync.WaitGroup
	var mu sync.Mutex
	inside, last, written := map[uint64]int{}, uint64(0), 0
	for w := range 16 {
		wg.Go(func() {
			for i := range 200 {
				n := uint64(i + w/4 + 1)
				err := g.Do(context.Background(), "k", n, func() error {
					mu.Lock()
					inside[n]++
					if len(inside) != 1 || n < last {
						t.Errorf("%d writes after %d, inside are %v", n, last, inside)
					}
					last = n
					written++
					mu.Unlock()
					runtime.Gosched()
					mu.Lock()
					defer mu.Unlock()
					if inside[n]--; inside[n] == 0 {
						delete(inside, n)
					}
					return nil
				})
				if err != nil && !errors.Is(err, fence.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if written < 10 {
		t.Errorf("%d writes", written)
	}
}
