package sim

// A search runs the seeds of a space side by side. Each job has a Runner of its
// own and takes the seeds a handful at a time; the handfuls are put back in
// order before anything of them is told. So what a search finds hangs on its
// seeds alone, and not on how many jobs it has or which of them is faster.

import (
	"context"
	"iter"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Search looks for broken promises in a space. The zero value of each field is
// a default, but for Space, which must be set.
type Search struct {
	Space Space
	First uint64         // the first seed
	Seeds uint64         // how many; 0: until the context ends, or enough breaks are found
	Jobs  int            // how many run side by side, at most 256; 0: one a core
	Stop  int            // how many breaks are enough; 0: one; below 0: all
	On    func(Progress) // told now and then, by the goroutine that ranges over Run
}

// Progress is how far a search is. It counts seeds in their order: those before
// the first that is still running.
type Progress struct {
	Seeds  uint64        // run so far
	Of     uint64        // to run in all; 0: no end is set
	Breaks int           // seeds in which a promise broke
	Leases int           // granted
	Probes Probes        // dangerous states reached
	Worst  time.Duration // the smallest margin of a lease; means something if Leases > 0
	Seed   uint64        // in which that was
}

// Break is a seed in which a promise broke, or that could not be run.
type Break struct {
	Seed      uint64
	Scenario  Scenario
	Hash      Hash      // of the run's history
	Violation Violation // the first
	Err       error     // not nil: the run came to nothing, and this is why (ErrStuck, say)
}

// maxJobs keeps a search that is asked for a million jobs within the memory.
const maxJobs = 256

// handful is how many seeds a job takes at a time.
const handful = 16

// Run searches while it is ranged over, and yields breaks in the order of their
// seeds, whatever Jobs is. It ends after the last seed, after Stop breaks, after
// a Break with Err, or when ctx ends. A panic of a workload is passed on with
// its value, and so is runtime.Goexit. Options are those of Run. It panics if
// the Check of the space fails. No goroutine is left behind.
func (s Search) Run(ctx context.Context, opts ...Option) iter.Seq[Break] {
	if err := s.Space.Check(); err != nil {
		panic("sim: " + err.Error())
	}
	return func(yield func(Break) bool) {
		ctx, cancel := context.WithCancel(ctx)
		jobs := s.Jobs
		if jobs <= 0 {
			jobs = runtime.GOMAXPROCS(0)
		}
		jobs = min(jobs, maxJobs)
		h := &hunt{Search: s, opts: opts, room: make(chan struct{}, 4*jobs), done: make(chan *haul, 4*jobs)}
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		for range jobs {
			running.Go(func() { h.work(ctx) })
		}
		h.gather(ctx, yield)
	}
}

// hunt is a search under way.
type hunt struct {
	Search
	opts []Option
	next atomic.Uint64 // handful that is taken next
	room chan struct{} // a place for each handful that is taken but not yet told of
	done chan *haul    // has as much room, so that no job ever waits to tell
}

// haul is what a handful of seeds came to.
type haul struct {
	number   uint64
	progress Progress
	breaks   []Break
	panicked any  // the value of a workload's panic
	exited   bool // a workload called runtime.Goexit
}

// last is the number of the last handful.
func (h *hunt) last() uint64 {
	seeds := h.Seeds - 1
	if most := math.MaxUint64 - h.First; h.Seeds == 0 || seeds > most {
		seeds = most
	}
	return seeds / handful
}

// work runs one handful after the other.
func (h *hunt) work(ctx context.Context) {
	r := NewRunner(h.opts...)
	defer r.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case h.room <- struct{}{}:
		}
		number := h.next.Add(1) - 1
		if number > h.last() {
			return
		}
		if !h.try(ctx, r, &haul{number: number}) {
			return
		}
	}
}

// try runs a handful and tells of it, also if a workload panics or ends its
// goroutine, which is this one. It says whether the job can go on.
func (h *hunt) try(ctx context.Context, r *Runner, b *haul) (fine bool) {
	returned := false
	defer func() {
		if !returned {
			b.panicked = recover()
			b.exited = b.panicked == nil
		}
		h.done <- b
	}()
	fine = h.run(ctx, r, b)
	returned = true
	return fine
}

func (h *hunt) run(ctx context.Context, r *Runner, b *haul) bool {
	first := h.First + b.number*handful
	left := uint64(math.MaxUint64) - first
	if h.Seeds > 0 {
		left = min(left, h.Seeds-1-b.number*handful)
	}
	for i := range min(left, handful-1) + 1 {
		if ctx.Err() != nil {
			return false
		}
		sc := Generate(h.Space, first+i)
		history, err := r.Run(sc)
		if err != nil {
			b.breaks = append(b.breaks, Break{Seed: sc.Seed, Scenario: sc, Err: err})
			return false
		}
		b.count(&sc, history.Hash(), r.Check())
	}
	return true
}

// count adds a run that came to its end.
func (b *haul) count(sc *Scenario, hash Hash, v *Verdict) {
	p := &b.progress
	if margin, ok := v.Margin(); ok && (p.Leases == 0 || margin < p.Worst) {
		p.Worst, p.Seed = margin, sc.Seed
	}
	p.Seeds++
	p.Leases += len(v.Leases)
	for i, n := range v.Probes {
		p.Probes[i] += n
	}
	if !v.OK() {
		p.Breaks++
		b.breaks = append(b.breaks, Break{Seed: sc.Seed, Scenario: *sc, Hash: hash, Violation: v.Violations[0]})
	}
}

// add counts the seeds of q after those of p.
func (p *Progress) add(q *Progress) {
	if q.Leases > 0 && (p.Leases == 0 || q.Worst < p.Worst) {
		p.Worst, p.Seed = q.Worst, q.Seed
	}
	p.Seeds += q.Seeds
	p.Breaks += q.Breaks
	p.Leases += q.Leases
	for i, n := range q.Probes {
		p.Probes[i] += n
	}
}

// gather puts what the jobs tell in the order of the seeds, and yields.
func (h *hunt) gather(ctx context.Context, yield func(Break) bool) {
	early := make(map[uint64]*haul) // told before their turn
	sum := Progress{Of: h.Seeds}
	enough := h.Stop
	if enough == 0 {
		enough = 1
	}
	for turn := uint64(0); turn <= h.last(); turn++ {
		for early[turn] == nil {
			select {
			case <-ctx.Done():
				return
			case b := <-h.done:
				early[b.number] = b
			}
		}
		b := early[turn]
		delete(early, turn)
		<-h.room
		sum.add(&b.progress)
		for _, found := range b.breaks {
			if !yield(found) || found.Err != nil {
				return
			}
			if enough--; enough == 0 {
				h.tell(sum)
				return
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case b.exited:
			runtime.Goexit()
		case b.panicked != nil:
			panic(b.panicked)
		}
		h.tell(sum)
	}
}

func (h *hunt) tell(p Progress) {
	if h.On != nil {
		h.On(p)
	}
}
