package sim

// The second engine: processes are goroutines, over the production transport, in a
// bubble of package testing/synctest. The world is the same, and so is what it
// decides. What is different is who runs: code in a bubble may use goroutines,
// channels, select, contexts and package time as it likes.
//
// Nothing of a run may hang on which goroutine was first. So the driver delivers one
// event, waits until all goroutines of the bubble are parked again, and only then
// takes what they asked for meanwhile, in an order that is its own: by client,
// process and node. Nothing random is decided before.
//
// Two clocks. Package time tells true time in a bubble: the driver lets it pass up to
// each event. Process.Clock is the client's own, which drifts, steps and is suspended
// as the scenario says.

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"driftlock/redlock"
)

// InBubble has a Runner drive its runs in bubbles: test calls run in a new one, and
// wait waits until all other goroutines of that bubble are durably blocked. Package
// simtest has it ready for use: simtest.InBubble.
//
//	func(run func(wait func())) { synctest.Test(t, func(*testing.T) { run(synctest.Wait) }) }
//
// In a bubble a process may use goroutines, channels, select, package time and
// contexts with deadlines, and must end what it started when its context ends. The
// methods of a Process are still for one strand of code: what runs beside it and
// uses them is another process (Process.Go).
//
//   - Package time tells true time, from midnight 2000-01-01 UTC on. Process.Clock
//     tells what the client's clock says.
//   - A client that pauses or is suspended hears nothing meanwhile, and its timers of
//     Process.Clock wait. Code that package time wakes runs on until it next touches
//     the world (a clock, a lock, a connection, a resource), and waits there.
//   - A client that has crashed never touches the world again. What it shares with
//     others in memory is not taken from it.
//   - A panic in a goroutine that the code started by itself ends the program.
//   - A scenario with a flawed lock is refused: it is for coroutines.
func InBubble(test func(run func(wait func()))) Option {
	return func(o *options) { o.bubble = test }
}

// TimeStandsStill says that the code of a run in a bubble waits on Process.Clock alone:
// package time then stands still, and a run takes about half as long. Code that waits
// for package time all the same does so until the run is over.
func TimeStandsStill() Option { return func(o *options) { o.still = true } }

// ErrLeft says that goroutines were left at the end of a run in a bubble.
var ErrLeft = errors.New("sim: the run has ended, and goroutines of it have not")

// bubbleFits refuses what cannot run in a bubble.
func bubbleFits(sc *Scenario) error {
	if sc.Lock.Kind == kindFlawed {
		return fmt.Errorf("sim: scenario %q: lock.kind: %q runs on coroutines only; in a bubble it may be \"redlock\"", sc.Name, kindFlawed)
	}
	return nil
}

// bubble is one run of the world on goroutines.
type bubble struct {
	w          *world
	wait       func()     // until all others are parked
	still      bool       // package time stands still
	protocols  []Protocol // of the nodes; none: nobody dials
	at         int64      // then: true time
	start      time.Time  // of package time
	transports []redlock.Transport
	alarm      *time.Timer   // the driver's
	kick       chan struct{} // ends its sleep; room for one
	ended      chan struct{} // closed when nobody can touch the world any more
	woke       bool          // the last event woke somebody
	timers     []*bubbleTimer
	slots      []int32 // free ones
	real       []Text  // of each text: its number in the history, if it has one
	begins     []bubbleStrand
	left       error // what was left at the end

	mu     sync.Mutex // guards the rest: what goroutines leave for the driver
	closed bool
	asleep bool
	asked
	running []int           // by client: strands that have not returned
	texts   map[string]Text // those of processes count from −1 down
	words   []string        // each of them
	known   map[string]int  // strands by the number of their goroutine
	begun   int             // strands so far
	conns   []*conn
	idle    []chan bubbleStrand // goroutines without one
}

// asked is what goroutines have left for the driver in one step.
type asked struct {
	notes   []bubbleNote
	strands []bubbleStrand // begun by clock.Go
	fresh   []*bubbleTimer
	batches []*batch
	writes  []*bubbleWrite
	sends   []send
	births  []birth
	deaths  []*Process
	waiters []waiter
	turns   []strandTurn
	exited  bool
}

// bubbleNote is an event whose texts are numbered by the bubble.
type bubbleNote struct {
	p      *Process
	strand int // of that process: 0 is its own
	Event
}

// birth is a process that another has started.
type birth struct {
	by   *Process
	work Workload
}

// waiter is a goroutine that would touch the world while its client is paused.
type waiter struct {
	c    *client
	at   int64
	goes chan struct{}
	set  bool // an event will come
}

// strandTurn is a strand beside its process that would touch the world. What woke it may
// have woken others too (the end of a context, say), and they would race: it goes on
// when all of them are parked.
type strandTurn struct {
	p      *Process
	strand int
	goes   chan struct{}
}

// newBubble returns a bubble for a run of w. It takes over the memory of that of the run
// before, if there was one: nobody has that any more.
func newBubble(w *world, still bool) *bubble {
	b := &bubble{w: w, still: still}
	o := w.spent
	if w.spent = b; o == nil {
		b.texts, b.known = map[string]Text{}, map[string]int{}
		return b
	}
	clear(o.texts)
	clear(o.known)
	b.texts, b.known, b.words, b.real = o.texts, o.known, o.words[:0], o.real[:0]
	b.notes, b.strands, b.begins = o.notes[:0], o.strands[:0], o.begins[:0]
	b.batches, b.asked.fresh = o.batches[:0], o.asked.fresh[:0]
	b.timers, b.slots, b.idle = o.timers[:0], o.slots[:0], o.idle[:0]
	return b
}

// run runs the world in a bubble that test makes. It says whether a process ended
// with runtime.Goexit.
func (b *bubble) run(test func(func(wait func())), work func(*client) Workload, ping func()) (exited bool) {
	defer func() {
		if v := recover(); v != nil {
			b.left = fmt.Errorf("%w (they must end when their process's context does): %v\n%s", ErrLeft, v, b.remains())
		}
	}()
	test(func(wait func()) {
		b.wait, b.start = wait, time.Now()
		b.kick, b.ended = make(chan struct{}, 1), make(chan struct{})
		b.alarm = time.NewTimer(time.Hour)
		defer b.alarm.Stop()
		b.texts[""], b.running = 0, make([]int, len(b.w.sc.Clients))
		for _, c := range b.w.clients[:len(b.w.sc.Clients)] {
			var nodes []redlock.Node
			for i := range c.lanes {
				x := &batch{b: b, c: c, node: i, done: make(chan struct{}, 1)}
				c.lanes[i].batch = x
				nodes = append(nodes, x)
			}
			b.transports = append(b.transports, redlock.NewTransport(nodes, bubbleClock{b, c, nil}))
		}
		b.w.begin(work)
		b.loop(ping)
		b.close()
	})
	return b.exited
}

// now is true time, for goroutines.
func (b *bubble) now() int64 {
	if b.still {
		return b.at
	}
	return int64(time.Since(b.start))
}

// local is what a client's clock says, for goroutines.
func (b *bubble) local(c *client) int64 { return c.clock.at(b.now()) }

// loop delivers event after event until nothing is left to do, or the time is up.
func (b *bubble) loop(ping func()) {
	w := b.w
	limit, last := int64(w.sc.Until), w.sc.last()
	for n := 0; w.failure == nil && !w.history.full && !b.exited && (w.mains > 0 || b.busy() || w.out > 0 || w.fates > 0); n++ {
		if n&63 == 0 {
			ping()
		}
		switch next := w.queue.Next(); {
		case !w.over && next > limit:
			if b.pass(limit) {
				w.over = true
				w.now = max(w.now, limit)
				w.endAll()
			}
		case next > last:
			if b.pass(last) {
				return
			}
		case b.pass(next):
			for w.deliver(); w.tied() && !w.history.full; {
				w.deliver() // whom the first woke runs already: no time passes in between
			}
			if b.woke {
				b.gather()
			}
		}
	}
}

// busy says whether a strand of a client that lives has not returned.
func (b *bubble) busy() bool {
	for i, n := range b.running {
		if n > 0 && !b.w.clients[i].dead {
			return true
		}
	}
	return false
}

// pass lets true time pass up to an instant. It says false if somebody has asked for
// something before, or then: that comes first.
func (b *bubble) pass(to int64) bool {
	d := time.Duration(to) - time.Since(b.start)
	if d <= 0 || b.still {
		b.at = max(b.at, to)
		return true
	}
	select {
	case <-b.kick:
	default:
	}
	b.mu.Lock()
	b.asleep = true
	b.mu.Unlock()
	b.alarm.Reset(d)
	select {
	case <-b.alarm.C:
	case <-b.kick:
	}
	b.wait()
	b.mu.Lock()
	b.asleep = false
	fresh := b.fresher() || b.w.failure != nil
	b.mu.Unlock()
	if fresh {
		b.w.now, b.w.still = b.now(), 0
		b.gather()
	}
	return !fresh
}
