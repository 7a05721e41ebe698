package sim

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// long says that tests which take many minutes are asked for.
func long() bool { return os.Getenv("DRIFTLOCK_LONG") == "1" }

// unfinished are the processes of a run that began and did not end, though their
// client had not crashed and did not stand still when the world stopped.
func unfinished(h *History) (names []string) {
	type process struct{ client, proc int16 }
	open := map[process]bool{}
	for _, e := range h.Events() {
		switch e.Kind {
		case Started:
			open[process{e.Client, e.Proc}] = true
		case Ended:
			delete(open, process{e.Client, e.Proc})
		}
	}
	for p := range open {
		c := &h.scenario.Clients[p.client]
		var m machine
		m.set(c.Clock, h.scenario.Faults, c.Name, nil)
		if !within(m.away, h.End()) {
			names = append(names, fmt.Sprintf("%s/%d", c.Name, p.proc))
		}
	}
	slices.Sort(names)
	return names
}

// TestSoak runs many seeds of faulty on all cores: none panics, hangs or loses a
// process, nothing breaks that no assumption explains, and memory stays what it is.
// With DRIFTLOCK_LONG=1 it runs 1,000,000 seeds, and nothing else beside it.
func TestSoak(t *testing.T) {
	first, seeds := uint64(1000), uint64(4000)
	if long() {
		first, seeds = 10_000, 1_000_000
	} else if t.Parallel(); testing.Short() || raced() {
		first, seeds = 100, 400
	}
	jobs := runtime.GOMAXPROCS(0)
	runners := make([]*Runner, jobs)
	for i := range runners {
		runners[i] = NewRunner()
		defer runners[i].Close()
	}
	var next, events, leases, broken atomic.Uint64
	until := func(last uint64) (heap uint64) {
		var running sync.WaitGroup
		for _, r := range runners {
			running.Go(func() {
				for seed := next.Add(1) - 1; seed < last && !t.Failed(); seed = next.Add(1) - 1 {
					h, err := r.Run(Generate(Faulty(), seed))
					if err != nil {
						t.Errorf("seed %d: %v", seed, err)
						return
					}
					v := r.Check()
					for _, x := range v.Bugs() {
						t.Errorf("seed %d: %v: %s", seed, x.Invariant, x.Text)
					}
					if lost := unfinished(h); len(lost) > 0 {
						t.Errorf("seed %d: at %v, when the world stopped, %v had not ended", seed, time.Duration(h.End()), lost)
					}
					events.Add(uint64(h.Len()))
					leases.Add(uint64(len(v.Leases)))
					if !v.OK() {
						broken.Add(1)
					}
				}
			})
		}
		running.Wait()
		next.Store(last)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	goroutines := runtime.NumGoroutine()
	early := until(first)
	began := time.Now()
	late := until(seeds)
	took := time.Since(began)
	t.Logf("%d seeds on %d cores, %.0f a second: %d events, %d leases, %d seeds break a promise; heap %d KiB after %d seeds, %d KiB after %d",
		seeds, jobs, float64(seeds-first)/took.Seconds(), events.Load(), leases.Load(), broken.Load(), early>>10, first, late>>10, seeds)
	if long() && late > early+early/10 {
		t.Errorf("memory grows from %d to %d bytes", early, late)
	}
	if n := runtime.NumGoroutine(); long() && n > goroutines+64*jobs {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if leases.Load() < seeds || broken.Load() < seeds/100 {
		t.Error("too little happens to tell")
	}
}
