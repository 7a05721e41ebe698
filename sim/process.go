package sim

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/draw"

	"github.com/jonboulle/clockwork"
)

// A Workload is ordinary blocking code of one process. It may sleep, lock, read
// its clock and start other processes through p, and must block on nothing else,
// unless the run is in a bubble (InBubble).
type Workload func(p *Process)

// A Process is one strand of a client's code. Its methods are for that strand.
type Process struct {
	c        *client
	n        int // of its client, from 0
	name     string
	work     Workload
	life     lifetime
	stream   draw.Stream
	drawn    map[string]uint64
	beliefs  []belief
	held     int          // how often it has said that it holds a lock
	ttl      atomic.Int64 // ns, of the acquire or extend under way, or the last
	counted  bool         // among those that have not returned
	inOwn    bool         // the lock of LockedBy is being made
	cleanups []func()
	wants    bool    // it has had a Witness: its attempts to acquire are judged
	aside    int     // in a bubble: strands beside it, begun by its clock
	mine     []Event // in a bubble: its requests and beliefs, for lastSet and granted
}

func newProcess(c *client, name string, work Workload) *Process {
	p := &Process{c: c, n: len(c.procs), name: name, work: work, counted: true}
	p.stream = draw.NewStream(draw.Key(c.w.sc.Seed, draw.ProcessRand, uint64(c.id), uint64(p.n), 0))
	return p
}

func (p *Process) run() {
	if p.c.w.bubble == nil { // where several may end at once, and its driver sees to that
		defer p.leave()
	}
	p.note(&Event{Kind: Started})
	p.work(p)
	p.note(&Event{Kind: Ended})
}

// leave takes the process out of the count of those that have not returned.
func (p *Process) leave() {
	if p.counted {
		p.counted = false
		p.c.w.mains--
	}
}

func (p *Process) note(e *Event) {
	e.Client, e.Node, e.Proc = int16(p.c.id), -1, int16(p.n)
	if b := p.c.w.bubble; b != nil {
		b.note(p, e)
		return
	}
	p.c.w.note(e)
}

func (p *Process) text(s string) Text {
	if b := p.c.w.bubble; b != nil {
		return b.text(s)
	}
	return p.c.w.history.text(s)
}

// local is what the client's clock says now.
func (p *Process) local() int64 {
	if b := p.c.w.bubble; b != nil {
		return b.local(p.c)
	}
	return p.c.local()
}

// Context ends, with ErrEnded as its cause, when the run does.
func (p *Process) Context() context.Context { return &p.life }

// Name is the client's, and a number for the processes it started with Go.
func (p *Process) Name() string { return p.name }

// Client is the name of the machine it runs on.
func (p *Process) Client() string { return p.c.conf.Name }

// Clock is the one that the client lives on. Unless the run is in a bubble, its
// After, NewTimer and NewTicker panic: a process cannot wait on a channel then.
func (p *Process) Clock() clockwork.Clock {
	if b := p.c.w.bubble; b != nil {
		return bubbleClock{b, p.c, p}
	}
	return clientClock{p.c}
}

// Transport reaches the nodes over the client's connections.
func (p *Process) Transport() redlock.Transport {
	if b := p.c.w.bubble; b != nil {
		return bubbleTransport{b.transports[p.c.id], b, p}
	}
	return p.c
}

// Sleep waits for d on the client's clock. It ends early, with the cause, when
// the run does.
func (p *Process) Sleep(d time.Duration) error { return clock.Sleep(&p.life, p.Clock(), d) }

// Go starts another process on the same client.
func (p *Process) Go(f Workload) {
	if b := p.c.w.bubble; b != nil {
		b.begin(p, f)
		return
	}
	p.c.w.process(p.c, p.c.nextName(), f)
}

// Fatalf ends the run: the code has found that something is wrong. It is reported, and
// shrunk, as a panic is. In a bubble any goroutine may call it, and goes on; otherwise
// it is a panic.
func (p *Process) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	b := p.c.w.bubble
	if b == nil {
		panic(text)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.w.failure == nil && !b.closed {
		b.w.failure = b.w.panicked(p.c, p, text)
	}
	b.poke()
}

// Shared is one value for all processes of a run, by name. Make makes it for the first
// that asks; in the next run there is another. In a bubble goroutines may race for what
// it points to, which then needs its own mutex.
func (p *Process) Shared(name string, make func() any) any {
	w := p.c.w
	if w.bubble != nil {
		w.bubble.mu.Lock()
		defer w.bubble.mu.Unlock()
	}
	x, ok := w.shared[name]
	if !ok {
		x = make()
		if w.shared == nil {
			w.shared = map[string]any{}
		}
		w.shared[name] = x
	}
	return x
}

// Cleanup has f called at the very end of the run, when nothing reaches the world any
// more: to close what has goroutines of its own. The last f is called first.
func (p *Process) Cleanup(f func()) {
	if b := p.c.w.bubble; b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
	}
	p.cleanups = append(p.cleanups, f)
}

// cleanUp calls what Cleanup was given.
func (w *world) cleanUp() {
	for _, c := range w.clients[:len(w.sc.Clients)] {
		for _, p := range c.procs {
			for _, f := range slices.Backward(p.cleanups) {
				f()
			}
		}
	}
}

// Rand is a draw from [0, below) of the process's own: the nth draw with one
// label hangs on nothing but the scenario's seed, the process, the label and n.
func (p *Process) Rand(label string, below int64) int64 {
	if p.drawn == nil {
		p.drawn = make(map[string]uint64)
	}
	p.drawn[label]++
	return draw.Below(draw.Key(p.c.w.sc.Seed, draw.ProcessRand, uint64(p.c.id)<<16|uint64(p.n), textKey(label), p.drawn[label]), below)
}

// Logf writes a line into the history.
func (p *Process) Logf(format string, args ...any) {
	p.note(&Event{Kind: Noted, Note: p.text(fmt.Sprintf(format, args...))})
}

// textKey folds a string for a keyed draw.
func textKey(s string) uint64 {
	var h hasher
	h.text(s)
	return h.sum
}
