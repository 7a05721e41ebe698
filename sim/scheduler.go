package sim

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/queue"
)

// scheduler runs processes as coroutines, one at a time. A routine parks in
// SleepContext and in Broadcast and nowhere else.
type scheduler struct {
	routines []*routine
	live     []*routine // with a job, in the order in which they began it
	idle     []*routine // without
	ready    []*routine // to be resumed in this step
	corpses  []*routine // of clients that crashed
	ended    []*routine // whose coroutine has
	cur      *routine   // the one that runs
	dirty    []*lane    // those that were pushed to in this step
	timers   []*timer   // armed, by slot
	slots    []int32    // free ones
	calls    []*call    // free ones
	mains    int        // processes that have not returned
	fates    int        // faults to come that change more than clocks
	over     bool       // the contexts have ended
	ran      bool       // somebody did, so that a context may have ended
	pauses   bool       // a client is to stand still, and will see then that one has
	derived  int        // parked routines whose context code may end: all but processes' own
	out      int        // lanes with a batch out
	failure  *Panic
	crew     crew                            // for the watchdog
	locker   func(p *Process) redlock.Locker // the user's own lock, if any
}

// routine is a coroutine that does job after job.
type routine struct {
	w      *world
	id     int32
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	job    job
	c      *client
	p      *Process // nil: a timer's
	parked bool
	listed bool // in ready
	ctx    context.Context
	call   *call
	due    int64 // true time
	rang   bool  // due has come, as an event: a reply of the same instant is heard first
	alarm  alarm
	killed bool // it may not park any more
	spins  int  // waits in a row that took no time
	refuse int
}

// A job is what a routine runs: a process, or a timer's function.
type job interface{ run() }

type function func()

func (f function) run() { f() }

// alarm is the one event that a routine or a lane keeps in the queue. It comes
// at the time it was set for, or earlier; whoever it wakes looks at the clock
// and sets it again. Most timeouts never pass, so most cost nothing.
type alarm struct{ at int64 } // 0: not set

// set lets the alarm come at a true time, unless it comes earlier anyway.
func (a *alarm) set(w *world, at int64, k kind, client, node int, who int32) {
	if a.at == 0 || a.at > at {
		a.at = at
		w.push(at, k, client, node, who, 0)
	}
}

// rings clears the alarm if it is the one that was set last and has come. An
// older, later one finds nothing set for its time.
func (a *alarm) rings(now int64) bool {
	if a.at == 0 || a.at > now {
		return false
	}
	a.at = 0
	return true
}

func (s *scheduler) reset() {
	s.ready, s.dirty, s.corpses, s.cur = s.ready[:0], s.dirty[:0], s.corpses[:0], nil
	clear(s.timers)
	s.timers, s.slots = s.timers[:0], s.slots[:0]
	s.mains, s.fates, s.out, s.over, s.failure, s.ran, s.pauses, s.derived = 0, 0, 0, false, nil, false, false, 0
}

// begin starts the main processes of a run.
func (w *world) begin(work func(*client) Workload) {
	for i := range w.sc.Clients {
		c := w.clients[i]
		w.process(c, w.sc.Clients[i].Name, work(c))
	}
}

// maxProcesses is how many processes a client may start in a run: events number
// them with 16 bits.
const maxProcesses = 1<<15 - 1

// process makes a process of a client that starts now.
func (w *world) process(c *client, name string, work Workload) {
	if len(c.procs) == maxProcesses {
		panic(fmt.Sprintf("sim: %s has started %d processes: more are not allowed", c.conf.Name, maxProcesses))
	}
	p := newProcess(c, name, work)
	if w.over {
		p.life.end()
	}
	c.procs = append(c.procs, p)
	w.mains++
	w.push(w.now, evStart, c.id, 0, int32(p.n), 0)
}

// last is the true time up to which a run may go on.
func (s *Scenario) last() int64 {
	return int64(s.Until + cmp.Or(s.Grace, clock.Duration(time.Second)))
}

// loop delivers event after event until nothing is left to do, or the time is up.
func (w *world) loop(ping func()) {
	until, last := int64(w.sc.Until), w.sc.last()
	for n := 0; w.goesOn(); n++ {
		if n&63 == 0 {
			ping()
		}
		if w.queue.Next() > until {
			if w.over {
				return
			}
			w.over = true
			w.now = max(w.now, until)
			w.endAll()
			until = last
			continue
		}
		if w.deliver() && w.busy() && !w.tied() {
			w.runReady()
		}
	}
}

// goesOn says whether anything is left to do.
func (w *world) goesOn() bool {
	return (w.mains > 0 || len(w.live) > 0 || w.out > 0 || w.fates > 0) && w.failure == nil && !w.history.full
}

// react has those run whom the last event woke, until all are parked again.
func (w *world) react() {
	if w.bubble != nil {
		w.bubble.gather()
		return
	}
	w.runReady()
}

// endAll ends the processes' contexts, one by one.
func (w *world) endAll() {
	w.note(&Event{Kind: Over, Client: -1, Node: -1, Proc: -1})
	for i := range w.sc.Clients {
		c := w.clients[i]
		if at := past(c.paused, w.now); at > w.now && at != never {
			w.push(at, evPoll, i, 0, 0, 0)
		}
		for _, p := range c.procs {
			p.life.end()
			w.ran = true
			w.react()
		}
	}
}

// spawn runs job as a routine on c, now.
func (w *world) spawn(c *client, p *Process, job job) {
	var r *routine
	if k := len(w.idle); k > 0 {
		r, w.idle = w.idle[k-1], w.idle[:k-1]
	} else {
		r = w.routine()
		r.next, r.stop = iter.Pull(r.loop)
	}
	r.c, r.p, r.job = c, p, job
	w.live = append(w.live, r)
	w.resume(r)
}

// routine gives room for one: that of one whose coroutine has ended, if there is
// any, so that a Runner does not grow with every process that did not return.
func (w *world) routine() *routine {
	if k := len(w.ended); k > 0 {
		r := w.ended[k-1]
		w.ended = w.ended[:k-1]
		*r = routine{w: w, id: r.id}
		return r
	}
	r := &routine{w: w, id: int32(len(w.routines))}
	w.routines = append(w.routines, r)
	w.crew.join(r)
	return r
}

// loop is the coroutine.
func (r *routine) loop(yield func(struct{}) bool) {
	r.yield = yield
	for {
		r.run()
		if !yield(struct{}{}) {
			return
		}
	}
}

// run does the job. What a process panics with is kept, with its stack, and
// passed on by Run; a process that calls runtime.Goexit (t.FailNow does) ends
// the coroutine, and whoever resumed it.
func (r *routine) run() {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			if r.w.failure == nil {
				r.w.failure = r.w.panicked(r.c, r.p, v)
			}
		} else if !returned {
			r.w.drop(r)
			r.w.ended = append(r.w.ended, r)
		}
		r.job = nil
	}()
	r.job.run()
	returned = true
}

// drop takes a routine out of those that live.
func (w *world) drop(r *routine) {
	if i := slices.Index(w.live, r); i >= 0 {
		w.live = slices.Delete(w.live, i, i+1)
	}
}

// resume lets a routine run until it parks or its job is done.
func (w *world) resume(r *routine) {
	r.parked, r.listed, w.ran = false, false, true
	was := w.cur
	w.cur = r
	r.next()
	w.cur = was
	if r.job == nil {
		w.drop(r)
		r.killed, r.refuse, r.spins, r.alarm.at, r.p, r.ctx = false, 0, 0, 0, nil, nil
		w.idle = append(w.idle, r)
	}
}

// list marks a parked routine for being resumed in this step.
func (w *world) list(r *routine) {
	if r.parked && !r.listed {
		r.listed = true
		w.ready = append(w.ready, r)
	}
}

// busy says whether runReady could find anything to do. (Who has asked for something has
// run.)
func (w *world) busy() bool { return len(w.ready) > 0 || w.ran || w.pauses }

// runReady resumes whom the last event woke, and whom those woke by ending a
// context. Then what they asked for goes out: a batch holds all of one step.
func (w *world) runReady() {
	for {
		for i := 0; i < len(w.ready); i++ {
			w.resume(w.ready[i])
		}
		w.ready = w.ready[:0]
		w.listEnded()
		if len(w.ready) == 0 {
			break
		}
	}
	for i := 0; i < len(w.dirty); i++ {
		l := w.dirty[i]
		l.dirty = false
		if !l.c.dead {
			l.pump()
		}
	}
	w.dirty = w.dirty[:0]
}

// listEnded lists the parked routines whose context has ended.
// (context.AfterFunc would tell, but on a goroutine.) Only code ends a context, so
// that there is nothing to see unless some ran, and, until the run ends, nothing if all
// wait on processes' own.
func (w *world) listEnded() {
	look := (w.ran || w.pauses) && (w.derived > 0 || w.over)
	w.ran = false
	if !look {
		return
	}
	for _, r := range w.live {
		if r.parked && !r.listed && r.ctx != nil && r.ctx.Err() != nil && !within(r.c.paused, w.now) {
			w.list(r)
		}
	}
}

// running is the routine that calls op, which must be one of this client's.
func (w *world) running(op string, c *client) *routine {
	switch {
	case w.cur == nil:
		panic("sim: " + op + " outside of a process; did one start a goroutine?")
	case w.cur.c != c:
		panic("sim: " + op + " on the clock or transport of another client: " + c.conf.Name + "'s, by a process of " + w.cur.c.conf.Name)
	}
	return w.cur
}

// number is the process's, for the history; -1 is a timer.
func (r *routine) number() int16 {
	if r.p == nil {
		return -1
	}
	return int16(r.p.n)
}

// park gives way until the routine's alarm, call or context may have something
// for it.
func (r *routine) park(ctx context.Context, due int64, x *call) {
	if r.w.cur != r {
		panic("sim: Sleep or Broadcast outside of the process that runs; did it start a goroutine?")
	}
	r.ctx, r.due, r.call, r.rang = nil, due, x, false
	derived := 0
	if _, own := ctx.(*lifetime); own {
		r.ctx = ctx
	} else if ctx.Done() != nil {
		if clock.Foreign(ctx) {
			panic("sim: a context with a deadline in real time; use clock.WithTimeout(p.Context(), p.Clock(), …)")
		}
		r.ctx, derived = ctx, 1
	}
	if due > r.w.now {
		r.spins = 0
	}
	r.alarm.set(r.w, max(1, due), evWake, r.c.id, 0, r.id)
	r.parked = true
	r.w.derived += derived
	r.yield(struct{}{})
	r.w.derived -= derived
	if r.killed && !panicking() {
		runtime.Goexit() // in a panic it would make that undone: the wait fails instead
	}
}

// refused says whether a dying routine may not wait any more. One that goes on
// trying is ended again.
func (r *routine) refused() bool {
	if r.killed {
		if r.refuse++; r.refuse > 1000 {
			runtime.Goexit()
		}
	}
	return r.killed
}

// spinsMax is how many waits in a row may take no time.
const spinsMax = 10_000

// spin counts a wait that takes no time. Code that waits again and again on a
// context that has ended, or for no time, would keep true time from passing for
// ever: it is put aside, until the run is over.
func (r *routine) spin() {
	if r.spins++; r.spins > spinsMax && !r.killed {
		r.w.note(&Event{Kind: Noted, Client: int16(r.c.id), Node: -1, Proc: r.number(), Note: r.w.history.text(spinning)})
		r.park(context.Background(), never, nil)
	}
}

const spinning = "put aside: waits again and again, on a context that has ended or for no time, while true time stands still"

// wake is a routine's alarm.
func (w *world) wake(e queue.Event) {
	if w.bubble != nil {
		w.bubble.ring(e)
		return
	}
	r := w.routines[e.A]
	switch {
	case !r.alarm.rings(w.now) || !r.parked:
	case r.due <= w.now:
		r.rang = true
		w.list(r)
	default:
		r.alarm.set(w, r.due, evWake, r.c.id, 0, r.id)
	}
}

// start begins a process.
func (w *world) start(p *Process) {
	if w.bubble != nil {
		w.bubble.strand(bubbleStrand{c: p.c, p: p, f: p.run})
		return
	}
	w.spawn(p.c, p, p)
}

// bury ends a client that has crashed: nothing of it ever runs again, and what
// it has in flight nobody hears.
func (w *world) bury(c *client) {
	c.dead = true
	for i := range c.lanes {
		if c.lanes[i].out {
			w.out--
		}
	}
	for _, p := range c.procs {
		p.leave()
	}
	w.live = slices.DeleteFunc(w.live, func(r *routine) bool {
		if r.c != c {
			return false
		}
		r.parked = false
		w.corpses = append(w.corpses, r)
		return true
	})
}
