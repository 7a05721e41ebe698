package redlock_test

import (
	"context"
	"iter"
	"runtime"
	"testing"
	"time"

	"driftlock/redlock"
)

// A parrot is a transport that always gives the same answers, at no cost.
type parrot struct {
	n   int
	say []redlock.Reply
}

func (p *parrot) Len() int     { return p.n }
func (p *parrot) Close() error { return nil }

func (p *parrot) Broadcast(context.Context, redlock.Request, time.Duration) iter.Seq[redlock.Reply] {
	return p.yield
}

func (p *parrot) yield(yield func(redlock.Reply) bool) {
	for _, r := range p.say {
		if !yield(r) {
			return
		}
	}
}

// yes is a lock over five nodes that do at once what they are asked.
func yes(t testing.TB, opts ...redlock.Option) *redlock.DistributedLock {
	p := &parrot{n: 5}
	for i := range p.n {
		p.say = append(p.say, redlock.Reply{Node: i, Status: redlock.Done})
	}
	l, err := redlock.Over(p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func cycle(t testing.TB, l redlock.Locker) {
	token, err := l.TryAcquire(bg, "k", 10*time.Second)
	if err == nil {
		err = l.Release(bg, "k", token)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkLogic is what the lock's own logic adds to an acquire and a release.
func BenchmarkLogic(b *testing.B) {
	l := yes(b)
	b.ReportAllocs()
	for b.Loop() {
		cycle(b, l)
	}
}

// Design, section 10: at most 105 allocations a cycle over five real nodes. The
// logic has its part of it, the lease and its owner value; the parrot makes an iterator
// for each of the two requests. The race detector adds two.
func TestLogicAllocatesLittle(t *testing.T) {
	l := yes(t)
	if n := testing.AllocsPerRun(1000, func() { cycle(t, l) }); n > 6 {
		t.Errorf("%v allocations a cycle", n)
	}
}

// watched is how many bytes and goroutines n locks cost that are held and
// watched, together with what the clock and the contexts need for it.
func watched(t testing.TB, n int) (bytes, goroutines float64) {
	ctx, cancel := context.WithCancel(bg) // a parent that keeps a list of its children
	defer cancel()
	l := yes(t)
	stops := make([]context.CancelFunc, n)
	var before, after runtime.MemStats
	warm, _ := l.TryAcquire(bg, "k", time.Hour) // what the clock makes once
	_, stop := redlock.Watch(ctx, l, "k", warm, time.Hour)
	defer stop()
	routines := runtime.NumGoroutine()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range stops {
		token, err := l.TryAcquire(bg, "k", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		_, stops[i] = redlock.Watch(ctx, l, "k", token, time.Hour)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	goroutines = float64(runtime.NumGoroutine()-routines) / float64(n)
	for _, stop := range stops {
		stop()
	}
	used := after.HeapAlloc + after.StackInuse - before.HeapAlloc - before.StackInuse
	return float64(used) / float64(n), goroutines
}

// BenchmarkWatched reports what a held, watched lock costs.
func BenchmarkWatched(b *testing.B) {
	bytes, goroutines := watched(b, 20_000)
	for b.Loop() {
	}
	b.ReportMetric(bytes, "B/lock")
	b.ReportMetric(goroutines, "goroutines/lock")
}

// Design, section 10: a held, watched lock costs no goroutine and at most 1 KiB.
func TestWatchedIsSmall(t *testing.T) {
	// The process may begin a few goroutines of its own meanwhile.
	if bytes, goroutines := watched(t, 20_000); bytes > 1024 || goroutines > 0.001 {
		t.Errorf("%.0f bytes and %g goroutines a lock", bytes, goroutines)
	}
}
