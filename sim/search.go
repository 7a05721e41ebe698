package sim

// A search runs the seeds of a space side by side. Each job has a Runner of its
// own and takes the seeds a handful at a time; the handfuls are put back in
// order before anything of them is told. So what a search finds hangs on its
// seeds alone, and not on how many jobs it has or which of them is faster, nor on
// how many machines it is split over: each has every nth handful.

import (
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
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

	// Guided goes on from the scenarios that came closest to a break (guided.go). A
	// seed is then the number of a run, and no scenario can be generated from it.
	Guided bool
	// Shard, from 1 to Shards, leaves the rest to others: the same search as every
	// shard of it finds the same breaks.
	Shard, Shards int
	// Flaws has the lock be the flawed one, with these faults. A break then counts
	// only if the same lock without them stands the scenario.
	Flaws []string
	// Bugs passes over breaks that an assumption explains which was not kept.
	Bugs bool
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

	close       bool // of runs that held there is a lease
	closest     time.Duration
	closestSeed uint64
}

// Closest is the smallest λ (Lease.Slack) of the runs that held, and in which seed
// it was: how close they came to a break. Without a lease ok is false.
func (p Progress) Closest() (slack time.Duration, seed uint64, ok bool) {
	return p.closest, p.closestSeed, p.close
}

// Break is a seed in which a promise broke, or that could not be run.
type Break struct {
	Seed      uint64
	Scenario  Scenario
	Hash      Hash      // of the run's history
	Violation Violation // the first that counts
	Unmet     []Unmet   // the assumptions that its scenario does not keep
	Err       error     // not nil: the run came to nothing, and this is why (ErrStuck, say)
}

// maxJobs keeps a search that is asked for a million jobs within the memory.
const maxJobs = 256

// handful is how many seeds a job takes at a time; a guided search takes an island.
const handful = 16

func (s *Search) handful() uint64 {
	if s.Guided {
		return Island
	}
	return handful
}

// Check says what is wrong with the arguments of a search.
func (s *Search) Check() error {
	if err := s.Space.Check(); err != nil {
		return err
	}
	if s.Shard < 0 || s.Shards < 0 || s.Shard > s.Shards || s.Shard == 0 && s.Shards > 0 {
		return fmt.Errorf("shard %d of %d: must be from 1 of 1 on", s.Shard, s.Shards)
	}
	for i, f := range s.Flaws {
		if !slices.Contains(flaws, f) {
			return fmt.Errorf("no flaw is called %s%s: there are %s", shown(f), didYouMean(f, flaws), strings.Join(flaws, ", "))
		}
		if slices.Contains(s.Flaws[:i], f) {
			return fmt.Errorf("the flaw %s is there twice", f)
		}
	}
	return nil
}

// Run searches while it is ranged over, and yields breaks in the order of their
// seeds, whatever Jobs is. It ends after the last seed, after Stop breaks, after
// a Break with Err, or when ctx ends. A panic of a workload is passed on with
// its value, and so is runtime.Goexit. Options are those of Run. It panics if
// Check fails. No goroutine is left behind.
func (s Search) Run(ctx context.Context, opts ...Option) iter.Seq[Break] {
	if err := s.Check(); err != nil {
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
	next atomic.Uint64 // handful that is taken next, of those of its shard
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

// handfuls is how many there are for this shard.
func (h *hunt) handfuls() uint64 {
	seeds := h.Seeds - 1
	if most := math.MaxUint64 - h.First; h.Seeds == 0 || seeds > most {
		seeds = most
	}
	last, skip := seeds/h.handful(), uint64(max(h.Shard, 1)-1)
	if last < skip {
		return 0
	}
	return (last-skip)/uint64(max(h.Shards, 1)) + 1
}

// begins is the seed, counted from First, at which a handful of this shard begins.
func (h *hunt) begins(number uint64) uint64 {
	return (number*uint64(max(h.Shards, 1)) + uint64(max(h.Shard, 1)-1)) * h.handful()
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
		if number >= h.handfuls() {
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
	begin := h.begins(b.number)
	left := uint64(math.MaxUint64) - h.First - begin
	if h.Seeds > 0 {
		left = min(left, h.Seeds-1-begin)
	}
	next := h.sampler(h.First + begin)
	for i := range min(left, h.handful()-1) + 1 {
		if ctx.Err() != nil {
			return false
		}
		seed := h.First + begin + i
		sc, learn := next(i)
		if len(h.Flaws) > 0 {
			sc.Lock.Kind, sc.Lock.Flaws = kindFlawed, h.Flaws
			sc.Name += "-" + strings.Join(h.Flaws, "-")
		}
		history, err := r.Run(sc)
		if err != nil {
			b.breaks = append(b.breaks, Break{Seed: seed, Scenario: sc, Err: err})
			return false
		}
		v := r.Check()
		learn(&sc, v)
		ran := ranOf(seed, v)
		found := Break{Seed: seed, Scenario: sc, Hash: history.Hash(), Unmet: slices.Clone(v.Unmet)}
		broke := h.judge(r, &found, v)
		if broke {
			ran.Breaks, ran.close = 1, false
			b.breaks = append(b.breaks, found)
		}
		b.progress.add(&ran)
		if broke && h.Guided {
			break // what would come of it breaks alike
		}
	}
	return true
}

// sampler draws the scenarios of a handful, one after the other; what each came to
// goes to learn.
func (h *hunt) sampler(first uint64) (next func(i uint64) (sc Scenario, learn func(*Scenario, *Verdict))) {
	if !h.Guided {
		return func(i uint64) (Scenario, func(*Scenario, *Verdict)) {
			return Generate(h.Space, first+i), func(*Scenario, *Verdict) {}
		}
	}
	e := newEvolution(h.Space, first)
	return func(i uint64) (Scenario, func(*Scenario, *Verdict)) {
		g := e.next(i)
		sc := g.scenario(h.Space, first+i)
		return sc, func(sc *Scenario, v *Verdict) { e.learn(g, sc, v) }
	}
}

// judge says whether a run broke what the search is for, and which violation that
// is. Afterwards v is gone.
func (h *hunt) judge(r *Runner, b *Break, v *Verdict) bool {
	if v.OK() {
		return false
	}
	violations := slices.Clone(v.Violations)
	sc := b.Scenario
	sc.Lock.Flaws = nil
	if h.Bugs {
		unmet := Assumptions(&sc) // what a fault assumes beyond that is its own
		violations = slices.DeleteFunc(violations, func(x Violation) bool { return Explained(x.Invariant, unmet) })
	}
	if len(h.Flaws) > 0 && len(violations) > 0 {
		// Of a fault's doing is what does not break without it.
		if _, err := r.Run(sc); err != nil {
			return false
		}
		broken := r.Check().Broken()
		violations = slices.DeleteFunc(violations, func(x Violation) bool { return slices.Contains(broken, x.Invariant) })
	}
	if len(violations) == 0 {
		return false
	}
	b.Violation = violations[0]
	return true
}

// ranOf counts one run, as one that held.
func ranOf(seed uint64, v *Verdict) Progress {
	p := Progress{Seeds: 1, Leases: len(v.Leases), Probes: v.Probes, close: len(v.Leases) > 0, closestSeed: seed, Seed: seed}
	p.Worst, _ = v.Margin()
	p.closest, _ = v.Slack()
	return p
}

// add counts the runs of q too. Of seeds that came equally close the first is named.
func (p *Progress) add(q *Progress) {
	if q.Leases > 0 && (p.Leases == 0 || q.Worst < p.Worst || q.Worst == p.Worst && q.Seed < p.Seed) {
		p.Worst, p.Seed = q.Worst, q.Seed
	}
	if q.close && (!p.close || q.closest < p.closest || q.closest == p.closest && q.closestSeed < p.closestSeed) {
		p.close, p.closest, p.closestSeed = true, q.closest, q.closestSeed
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
	for turn := uint64(0); turn < h.handfuls(); turn++ {
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
