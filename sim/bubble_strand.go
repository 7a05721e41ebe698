package sim

// The goroutines that carry out processes, and how they end.

import (
	"runtime"
	"strings"
	"time"
)

// bubbleStrand is a process, or what clock.Go or AfterFunc has been given: by a process,
// or by a client's transport.
type bubbleStrand struct {
	c      *client
	p      *Process // nil: the transport's
	aside  bool     // beside the process
	f      func()
	number int // of those beside
}

// strand begins one. Those of a process are numbered, since they may wake at one
// instant, and what they note would come in any order.
func (b *bubble) strand(s bubbleStrand) {
	b.mu.Lock()
	b.running[s.c.id]++
	if s.aside {
		s.p.aside++
		b.begun++
		s.number = b.begun
	}
	b.woke = true
	var room chan bubbleStrand
	if k := len(b.idle); k > 0 {
		room, b.idle = b.idle[k-1], b.idle[:k-1]
	}
	b.mu.Unlock()
	if room != nil {
		room <- s
		return
	}
	go b.work(s)
}

// growStack makes a new goroutine's stack large enough at once, while there is little on
// it to copy.
//
//go:noinline
func growStack() {
	var room [5 << 10]byte
	bottom(&room)
}

//go:noinline
func bottom(room *[5 << 10]byte) { room[0] = 1 }

// work is a goroutine that carries out strand after strand: a new one would have to
// grow its stack first.
func (b *bubble) work(s bubbleStrand) {
	growStack()
	room := make(chan bubbleStrand, 1)
	for more := true; more; s, more = <-room {
		b.carryOut(s)
		b.mu.Lock()
		if b.closed {
			b.mu.Unlock()
			return
		}
		b.idle = append(b.idle, room)
		b.mu.Unlock()
	}
}

// carryOut runs a strand.
func (b *bubble) carryOut(s bubbleStrand) {
	if s.aside {
		me := goroutine()
		b.mu.Lock()
		b.known[me] = s.number
		b.mu.Unlock()
	}
	returned := false
	defer func() { b.returns(s, returned, recover()) }()
	s.f()
	returned = true
}

// returns is the end of a strand.
func (b *bubble) returns(s bubbleStrand, returned bool, panicked any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running[s.c.id]--
	switch {
	case panicked != nil && b.w.failure == nil && !b.closed:
		b.w.failure = b.w.panicked(s.c, s.p, panicked)
	case panicked == nil && !returned && !b.closed:
		b.exited = true
	}
	switch {
	case s.aside:
		s.p.aside--
		delete(b.known, goroutine())
	case s.p != nil:
		b.deaths = append(b.deaths, s.p)
	}
	b.poke()
}

// goroutine is the number of the one that calls it.
func goroutine() string {
	var buf [32]byte
	n := runtime.Stack(buf[:], false)
	number, _, _ := strings.Cut(string(buf[len("goroutine "):n]), " ")
	return number
}

// begin is Process.Go.
func (b *bubble) begin(p *Process, f Workload) {
	if !b.touch(p.c) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.births = append(b.births, birth{p, f})
	b.poke()
}

// unwinding is how much true time goroutines have to end after a run.
const unwinding = time.Minute

// close ends the run for those who are still there: every wait fails at once.
func (b *bubble) close() {
	b.w.history.close()
	b.mu.Lock()
	b.closed = true
	close(b.ended)
	for _, c := range b.w.clients[:len(b.w.sc.Clients)] {
		for i := range c.lanes {
			c.lanes[i].batch.finish()
		}
	}
	for _, t := range b.timers {
		if t != nil {
			t.let()
		}
	}
	for _, t := range b.fresh {
		t.let()
	}
	for _, c := range b.conns {
		c.poke()
	}
	strands := b.strands
	b.mu.Unlock()
	for _, f := range strands {
		b.strand(f)
	}
	for _, room := range b.idle {
		close(room)
	}
	for _, c := range b.w.clients[:len(b.w.sc.Clients)] {
		for _, p := range c.procs {
			p.life.end()
		}
	}
	b.wait()
	b.w.cleanUp()
	time.Sleep(unwinding)
	b.wait()
}
