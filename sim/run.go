package sim

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/node"
)

// This file stands between the world, in which nothing but the scenario decides
// anything, and the program that runs it: it alone starts goroutines and looks
// at real time, to tell that a process blocks outside of the simulator.

// An Option changes a run, not the scenario.
type Option func(*options)

type options struct {
	every    Workload
	of       map[string]Workload
	locker   func(p *Process) redlock.Locker
	panics   func(Panic)
	store    func(node.Config) node.Store
	bubble   func(run func(wait func())) // nil: coroutines
	protocol func() Protocol             // in a bubble, of each node
	still    bool                        // in a bubble: package time stands still
	most     int                         // events; 0: maxEvents
	stop     int                         // the step at which Stopped is called; 0: at none
}

// Options are several in one.
func Options(opts ...Option) Option {
	return func(o *options) {
		for _, f := range opts {
			if f != nil {
				f(o)
			}
		}
	}
}

// Do has every client run w instead of its steps.
func Do(w Workload) Option { return func(o *options) { o.every = w } }

// DoAs has one client run w. In a scenario without that client it changes nothing: a
// space draws how many there are.
func DoAs(client string, w Workload) Option {
	return func(o *options) {
		if o.of == nil {
			o.of = make(map[string]Workload)
		}
		o.of[client] = w
	}
}

// LockedBy has Process.Lock return a lock of your own.
func LockedBy(f func(p *Process) redlock.Locker) Option {
	return func(o *options) { o.locker = f }
}

// StoredIn makes the nodes' stores, in the place of node.New: package sim/node/mini
// has one that is a real miniredis. A store that does not expire keys as its Config
// says needs a scenario that says what it does.
func StoredIn(f func(node.Config) node.Store) Option { return func(o *options) { o.store = f } }

// OnPanic has f told of the panic of a process before Run passes it on: where it
// was and how to come to it again. A search has several Runners at work, and may
// call f from any of their goroutines.
func OnPanic(f func(Panic)) Option { return func(o *options) { o.panics = f } }

// steps says that nothing but the scenario's steps is run.
func (o *options) steps() bool { return o.every == nil && o.of == nil && o.locker == nil }

// workload is what a client runs.
func (o *options) workload(c *client) Workload {
	if w := o.of[c.conf.Name]; w != nil {
		return w
	}
	if o.every != nil {
		return o.every
	}
	return steps
}

// Run runs sc to its end. The error is about the scenario, ErrStuck, ErrLeft or ErrTooLong; a broken
// promise is no error here but in the verdict. A panic of a process is passed on
// with the value it had, and so is runtime.Goexit (which t.FailNow calls); where
// the process was then, OnPanic tells. A goroutine that is locked to its thread
// (runtime.LockOSThread) cannot run coroutines, and so no scenario.
func Run(sc Scenario, opts ...Option) (*History, error) {
	r := NewRunner(opts...)
	defer r.Close()
	return r.Run(sc)
}

// Test is Run and Check.
func Test(sc Scenario, opts ...Option) (Verdict, error) {
	h, err := Run(sc, opts...)
	if err != nil {
		return Verdict{}, err
	}
	return Check(h), nil
}

// A Runner runs scenario after scenario with the same memory and coroutines. It
// is for one goroutine at a time.
type Runner struct {
	opts  options
	w     *world
	judge checker
	large bool // judge has seen a run that was larger than what is kept
	last  *History
	pulse atomic.Uint64
	turns int // runs on the caller's own goroutine
}

// NewRunner makes a Runner. Close it.
func NewRunner(opts ...Option) *Runner {
	r := &Runner{}
	for _, o := range opts {
		if o != nil {
			o(&r.opts)
		}
	}
	return r
}

// Close ends the coroutines.
func (r *Runner) Close() {
	if r.w != nil {
		r.w.close()
		r.w = nil
	}
}

// ErrStuck says that a process blocked on something that is not the simulator's.
var ErrStuck = errors.New("sim: a process blocks outside of Sleep and Broadcast")

// mayWait says what a process may block on.
const mayWait = "a process may wait with p.Sleep and clock.Sleep: no channel, mutex or real time"

// watchEvery is how often Run looks whether the world moves.
const watchEvery = time.Second

// busyLooks is after how many looks in a row at a world that stands still a
// process that computes is taken for one that never ends. A machine under load
// may well starve it for some seconds.
const busyLooks = 60

// ErrTooLong says that a run would fill the memory, or never end: its code reads
// the clock in a loop without a wait, say.
var ErrTooLong = errors.New("sim: the run is too long")

// maxEvents is how many events a run may have: about 600 MB of them.
const maxEvents = 10_000_000

// keepEvents is how many events a run may have for its memory to be used again. A
// longer one is rare, and what it needed would be kept for all that are shorter: over
// a million seeds the memory of a search would grow with the longest so far.
const keepEvents = 4096

// Run is the function Run. The history is good until the next call.
func (r *Runner) Run(sc Scenario) (*History, error) {
	w := r.w
	r.w, r.last = nil, nil // a run that ends badly leaves nothing to use again
	if w != nil && len(w.history.events) > keepEvents {
		w.close()
		w = nil
	}
	if w == nil {
		w = &world{newStore: node.New}
		if f := r.opts.store; f != nil {
			w.newStore = f
		}
	}
	w.sc = sc
	if err := w.sc.Check(); err != nil {
		r.w = w
		return nil, err
	}
	w.locker, w.history.most, w.history.stop = r.opts.locker, cmp.Or(r.opts.most, maxEvents), r.opts.stop
	w.reset()
	if r.opts.bubble != nil {
		if err := bubbleFits(&w.sc); err != nil {
			return nil, err
		}
		w.bubble = newBubble(w, r.opts.still || r.opts.steps())
		for range w.sc.Nodes {
			if r.opts.protocol != nil {
				w.bubble.protocols = append(w.bubble.protocols, r.opts.protocol())
			}
		}
	}
	exited, err := r.drive(w)
	if err != nil {
		return nil, err
	}
	if b := w.bubble; b != nil && b.left != nil && w.failure == nil {
		return nil, b.left
	}
	w.history.end = w.now
	r.last = &w.history
	switch {
	case w.failure != nil:
		w.close()
		if f := r.opts.panics; f != nil {
			p := *w.failure
			p.Scenario, p.steps = sc, r.opts.steps()
			f(p)
		}
		panic(w.failure.Value)
	case w.history.full:
		w.close()
		return nil, fmt.Errorf("%w: at true time %v it has more than %d events, or true time stands still", ErrTooLong, clock.Duration(w.now), w.history.most)
	case exited:
		w.close()
		runtime.Goexit()
	}
	r.w = w
	return &w.history, nil
}

// drive lets the world run to its end; exited says that a process ended its goroutine.
// Code that is not the simulator's or the lock's may block, so it runs on a goroutine of
// its own, which is watched. What cannot block does not: to start a goroutine and to
// wait for it would wake another processor for every run.
func (r *Runner) drive(w *world) (exited bool, err error) {
	if w.bubble == nil && r.opts.steps() && r.opts.store == nil {
		if r.turns++; r.turns%8 == 0 {
			runtime.Gosched() // a collector that waits makes every write dearer meanwhile
		}
		return r.turn(w), nil
	}
	exited = true
	done := make(chan struct{})
	go func() {
		defer close(done)
		growStack()
		if w.bubble != nil {
			exited = w.bubble.run(r.opts.bubble, r.opts.workload, r.ping)
			return
		}
		exited = r.turn(w)
	}()
	err = r.watch(w, done)
	return exited, err
}

// turn has coroutines run the world to its end.
func (r *Runner) turn(w *world) (exited bool) {
	defer w.unwind() // also when a process called Goexit, which has ended this goroutine too
	w.begin(r.opts.workload)
	w.loop(r.ping)
	return false
}

// ping tells the watch that the world moves.
func (r *Runner) ping() { r.pulse.Add(1) }

// History is that of the last run: also of one that ended in a panic or in
// runtime.Goexit, up to there. It is nil after an error.
func (r *Runner) History() *History { return r.last }

// Effort is how much a run had to do.
type Effort struct {
	Events int // that the queue delivered
	depths int
}

// Depth is how many events were queued when one was taken, in the mean, rounded to the
// nearest number.
func (e Effort) Depth() int { return (e.depths + e.Events/2) / max(1, e.Events) }

// Effort is that of the last run.
func (r *Runner) Effort() Effort {
	if r.w == nil {
		return Effort{}
	}
	return r.w.effort
}

// Check is the function Check for the history of the last run. The verdict is
// good until the next call.
func (r *Runner) Check() *Verdict {
	if r.large {
		r.judge = checker{}
	}
	r.large = len(r.last.events) > keepEvents
	return r.judge.check(r.last)
}

// watch waits for the end of a run, or until a process is found blocked twice in
// a row while the world stood still.
func (r *Runner) watch(w *world, done chan struct{}) error {
	if r.opts.stop > 0 { // whoever looks at it has time
		<-done
		return nil
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var last map[string]string
	beat, still := r.pulse.Load(), 0
	for {
		select {
		case <-done:
			return nil
		case <-tick.C:
		}
		if now := r.pulse.Load(); now != beat {
			beat, still, last = now, 0, nil
			continue
		}
		still++
		found, may := w.crew.stacks(), mayWait
		if w.bubble != nil {
			found, may = w.bubble.stacks(), mayBlock
		}
		for id, p := range found {
			if p.blocked && last[id] == p.stack || still > busyLooks {
				return fmt.Errorf("%w (%s):\n%s", ErrStuck, may, p.stack)
			}
		}
		last = make(map[string]string)
		for id, p := range found {
			last[id] = p.stack
		}
	}
}

var (
	goroutineHead = regexp.MustCompile(`^goroutine (\d+) \[([^],]+)`)
	routineFrame  = regexp.MustCompile(`sim\.\(\*routine\)\.loop\((0x[0-9a-f]+)`)
)

// crew knows a world's routines by their addresses, by which stacks name them:
// many worlds may run at once.
type crew struct {
	mu      sync.Mutex
	address map[string]bool
}

// join is told of a new routine.
func (c *crew) join(r *routine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.address == nil {
		c.address = make(map[string]bool)
	}
	c.address[fmt.Sprintf("%p", r)] = true
}

func (c *crew) has(stack []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := routineFrame.FindSubmatch(stack)
	return m != nil && c.address[string(m[1])]
}

// astray is a process that is not parked in the world.
type astray struct {
	stack   string
	blocked bool // by something else; or it computes
}

// stacks finds them, by goroutine.
func (c *crew) stacks() map[string]astray {
	found := map[string]astray{}
	for _, g := range bytes.Split(allStacks(), []byte("\n\n")) {
		m := goroutineHead.FindSubmatch(g)
		if m == nil || !c.has(g) {
			continue
		}
		if state := string(m[2]); state != "coroutine" {
			found[string(m[1])] = astray{string(g), blocks(state, g)}
		}
	}
	return found
}

// blocks says whether a goroutine in a state waits for something other than the
// processor and the garbage collector. That one too has semaphores, at which an
// allocation may wait: what asks for one otherwise is a package that the stack names.
func blocks(state string, stack []byte) bool {
	switch state {
	case "running", "runnable", "GC assist wait", "GC assist marking", "copystack", "preempted":
		return false
	case "semacquire":
		return bytes.Contains(stack, []byte("\nsync.")) || bytes.Contains(stack, []byte("\ninternal/"))
	}
	return true
}

// allStacks are those of all goroutines, however many there are: the one that
// blocks may be the last.
func allStacks() []byte {
	for size := 1 << 20; ; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 1<<30 {
			return buf[:n]
		}
	}
}

// unwind ends what is still parked at the end of a run: park calls Goexit,
// deferred calls run, and every Sleep and Broadcast that they make fails at
// once. Goexit ends whoever resumed the routine as well, so each gets a
// goroutine for that. Nothing of it is history.
func (w *world) unwind() {
	w.history.close()
	for _, c := range w.clients[:len(w.sc.Clients)] {
		for _, p := range c.procs {
			p.life.end()
		}
	}
	w.live = append(w.live, w.corpses...)
	for len(w.live) > 0 {
		r := w.live[len(w.live)-1]
		r.killed = true
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.resume(r)
		}()
		<-done
		w.cur = nil
	}
	w.cleanUp()
}

// close ends the coroutines that are idle.
func (w *world) close() {
	for _, r := range w.idle {
		r.stop()
	}
	w.idle = nil
}
