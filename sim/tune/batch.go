package tune

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"driftlock/sim"
)

// Batch is what the runs of a plan came to.
type Batch struct {
	Plan Plan  // with its defaults written out
	Runs []Run // of the seeds Plan.Seed, Plan.Seed+1, …; fewer than Plan.Runs if it was stopped
}

// handful is how many runs a job takes at a time.
const handful = 64

// Run makes the runs of a plan, side by side, and tells on now and then how many are
// done (from any goroutine, one call at a time). When ctx ends it returns what there
// is, as far as it is without a gap.
func (p Plan) Run(ctx context.Context, on func(done int)) (*Batch, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	p = p.Filled()
	b := &Batch{Plan: p, Runs: make([]Run, p.Runs)}
	done, err := p.each(ctx, "0", p.Runs, on, func() func(i int, h *sim.History, v *sim.Verdict) {
		var r reader
		return func(i int, h *sim.History, v *sim.Verdict) { b.Runs[i] = p.read(&r, h, v) }
	})
	b.Runs = b.Runs[:done]
	return b, err
}

// each runs the first n seeds with a factor; each job makes a function that is told
// of its runs. It returns how many were done without a gap.
func (p *Plan) each(ctx context.Context, factor string, n int, on func(done int), job func() func(i int, h *sim.History, v *sim.Verdict)) (int, error) {
	jobs := p.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hands := (n + handful - 1) / handful
	finished := make([]bool, hands)
	var (
		next  atomic.Int64
		mu    sync.Mutex
		total int
		wait  sync.WaitGroup
		wrong error // of a run; that ctx has ended is none, whatever its cause
	)
	work := func() {
		r := sim.NewRunner(p.options()...)
		defer r.Close()
		tell := job()
		for ctx.Err() == nil {
			hand := int(next.Add(1)) - 1
			if hand >= hands {
				return
			}
			from, to := hand*handful, min(n, (hand+1)*handful)
			for i := from; i < to; i++ {
				h, err := r.Run(p.scenario(p.Seed+uint64(i), factor))
				if err != nil {
					mu.Lock()
					if wrong == nil {
						wrong = fmt.Errorf("seed %d: %w", p.Seed+uint64(i), err)
					}
					mu.Unlock()
					cancel()
					return
				}
				tell(i, h, r.Check())
			}
			mu.Lock()
			finished[hand] = true
			if total += to - from; on != nil {
				on(total)
			}
			mu.Unlock()
		}
	}
	for range min(jobs, hands) {
		wait.Go(work)
	}
	wait.Wait()
	done := 0
	for hand := 0; hand < hands && finished[hand]; hand++ {
		done = min(n, (hand+1)*handful)
	}
	return done, wrong
}
