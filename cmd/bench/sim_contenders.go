package main

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/draw"
	"driftlock/sim/queue"
	"driftlock/sim/simtest"
)

// ---- driftlock

type simulator struct{ *sim.Runner }

func openSimulator(*testing.T) (simRunner, error) { return simulator{sim.NewRunner()}, nil }

// openDriven is the same on the engine for goroutines, over the production transport.
func openDriven(t *testing.T) (simRunner, error) {
	return simulator{sim.NewRunner(simtest.InBubble(t))}, nil
}

func (s simulator) close() { s.Close() }

func (s simulator) seed(n uint64) (int, error) {
	if _, err := s.Run(sim.Reference(n)); err != nil {
		return 0, err
	}
	if v := s.Check(); len(v.Leases) == 0 {
		return 0, fmt.Errorf("seed %d: no lease", n)
	}
	return s.Effort().Events, nil
}

// ---- a bare loop: what the queue and a draw cost

type bareLoop struct {
	queue  queue.Queue
	seq    uint64
	events int // of a seed
}

func openBareLoop(*testing.T) (simRunner, error) {
	r := sim.NewRunner()
	defer r.Close()
	const seeds = 100
	events, depth := 0, 0
	for n := range uint64(seeds) {
		if _, err := r.Run(sim.Reference(n)); err != nil {
			return nil, err
		}
		events += r.Effort().Events
		depth += r.Effort().Depth()
	}
	b := &bareLoop{events: events / seeds}
	for range max(1, (depth+seeds/2)/seeds) {
		b.push(0)
	}
	return b, nil
}

func (b *bareLoop) close() {}

// push queues an event after a delay that is drawn as those of the workload's network
// are.
func (b *bareLoop) push(now int64) {
	b.seq++
	u := draw.Key(1, draw.RequestDelay, 1, 1, b.seq)
	b.queue.Push(queue.Event{At: now + 200_000 + draw.Exponential(u, 300_000), Rank: queue.Rank(1, 1, 1, b.seq)})
}

func (b *bareLoop) seed(uint64) (int, error) {
	for range b.events {
		b.push(b.queue.Pop().At)
	}
	return b.events, nil
}

// ---- what event loop, network and nodes allocate

// steadyAllocs is how many allocations an event of a run causes that goes on for
// longer, without a lock: three clients ask five nodes again and again.
func steadyAllocs() (float64, error) {
	const rounds = 12 // a run that is too long keeps no memory
	owners := make([]string, 6*rounds)
	for i := range owners {
		owners[i] = fmt.Sprintf("%032x", i)
	}
	repeat := 0
	r := sim.NewRunner(sim.Do(func(p *sim.Process) { ask(p, owners, repeat) }))
	defer r.Close()
	sc := sim.Reference(1)
	run := func(n int) (events int, mallocs uint64, err error) {
		repeat = n
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = r.Run(sc)
		runtime.ReadMemStats(&after)
		return r.Effort().Events, after.Mallocs - before.Mallocs, err
	}
	for range 3 { // memory grows
		if _, _, err := run(2 * rounds); err != nil {
			return 0, err
		}
	}
	var found []float64
	for range 5 {
		events, mallocs, err := run(rounds)
		if err != nil {
			return 0, err
		}
		more, moreMallocs, err := run(2 * rounds)
		if err != nil {
			return 0, err
		}
		found = append(found, max(0, float64(moreMallocs)-float64(mallocs))/float64(more-events))
	}
	return median(found), nil
}

// ask sends acquires and their releases to all nodes.
func ask(p *sim.Process, owners []string, repeat int) {
	client, transport := int(p.Client()[0]-'x'), p.Transport()
	for i := range repeat {
		for _, op := range []redlock.Op{redlock.OpAcquire, redlock.OpRelease} {
			req := redlock.Request{Op: op, Key: "k", Owner: owners[3*i+client], TTL: time.Second}
			transport.Broadcast(p.Context(), req, 50*time.Millisecond)(all) // a range would allocate its body
		}
		p.Sleep(time.Millisecond)
	}
}

// all hears all replies.
func all(redlock.Reply) bool { return true }
