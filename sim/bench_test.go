package sim

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
)

// BenchmarkReference is one seed of the reference workload, checks and hash on.
func BenchmarkReference(b *testing.B) {
	r := NewRunner()
	defer r.Close()
	events, grants := 0, 0
	b.ReportAllocs()
	start := time.Now()
	for seed := uint64(1); b.Loop(); seed++ {
		h, err := r.Run(Reference(seed))
		if err != nil {
			b.Fatal(err)
		}
		v := r.Check()
		events += h.Len()
		grants += len(v.Leases)
	}
	took := time.Since(start)
	b.ReportMetric(float64(b.N)/took.Seconds(), "seeds/s")
	b.ReportMetric(float64(events)/float64(b.N), "events/seed")
	b.ReportMetric(float64(grants)/float64(b.N), "grants/seed")
}

// oneClient is one client with the nodes of the reference workload.
func oneClient() Scenario {
	sc := Reference(1)
	sc.Clients, sc.Until = sc.Clients[:1], clock.Duration(time.Minute)
	return sc
}

// perTime runs a workload that does something again and again, and divides by how
// often it did. Runs are short enough for their memory to be used again.
func perTime(b *testing.B, times int, work func(p *Process)) {
	r := NewRunner(Do(func(p *Process) {
		for range times {
			work(p)
		}
	}))
	defer r.Close()
	sc := oneClient()
	b.ReportAllocs()
	runs := 0
	for b.Loop() {
		if _, err := r.Run(sc); err != nil {
			b.Fatal(err)
		}
		runs++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(runs*times), "ns/each")
}

// BenchmarkSwitch is one sleep of a process: two switches of coroutines, an event of
// the queue and one of the history.
func BenchmarkSwitch(b *testing.B) {
	perTime(b, 1000, func(p *Process) { p.Sleep(time.Millisecond) })
}

// BenchmarkLockCycle is one acquire and release on five nodes, nobody else.
func BenchmarkLockCycle(b *testing.B) {
	perTime(b, 50, func(p *Process) {
		l := p.Lock()
		token, err := l.Acquire(p.Context(), "k", time.Second)
		if err == nil {
			err = l.Release(p.Context(), "k", token)
		}
		if err != nil {
			b.Error(err)
		}
	})
}

// BenchmarkClock is one reading of a clock, and one instant at which it reaches one.
func BenchmarkClock(b *testing.B) {
	l := line{spans: []span{newSpan(0, 0, clock.Ratio(200, 199), false)}}
	for _, c := range []struct {
		name string
		f    func(t int64) int64
	}{
		{"reads", l.at},
		{"reaches", func(t int64) int64 { return l.reach(0, t) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			sum := int64(0)
			for t := int64(0); b.Loop(); t += 1_000_003 {
				sum += c.f(t & (1<<40 - 1))
			}
			runtime.KeepAlive(sum)
		})
	}
}

// TestSteadyStateAllocatesNothing: event loop, network and nodes allocate nothing for
// what a run goes on to do, once their memory has grown. (The lock's own is not in it.)
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if raced() {
		t.Skip("the race detector allocates")
	}
	const few, many = 4, 16
	repeat := 0
	owners := make([]string, 3*many)
	for i := range owners {
		owners[i] = fmt.Sprintf("%032x", i)
	}
	hears := func(redlock.Reply) bool { return true }
	r := NewRunner(Do(func(p *Process) {
		for i := range repeat {
			for _, op := range []redlock.Op{redlock.OpAcquire, redlock.OpExtend, redlock.OpRelease} {
				req := redlock.Request{Op: op, Key: "k", Owner: owners[i*3+p.c.id], TTL: time.Second}
				p.Transport().Broadcast(p.Context(), req, 50*time.Millisecond)(hears)
			}
			p.Sleep(time.Millisecond)
		}
	}))
	defer r.Close()
	allocs := func(n int) float64 {
		repeat = n
		return testing.AllocsPerRun(20, func() {
			if _, err := r.Run(Reference(1)); err != nil {
				t.Fatal(err)
			}
		})
	}
	allocs(many)
	if a, b := allocs(few), allocs(many); b-a >= 1 {
		t.Errorf("%v allocations in a run of %d rounds, %v in one of %d", a, few, b, many)
	}
}
