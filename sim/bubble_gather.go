package sim

// What the code of a bubble asked for in a step, and the order in which the driver takes
// it.

import (
	"cmp"
	"iter"
	"slices"
)

// fresher says whether there is something to gather.
func (a *asked) fresher() bool {
	return len(a.notes)+len(a.strands)+len(a.fresh)+len(a.batches)+len(a.writes)+len(a.sends)+len(a.births)+len(a.deaths)+len(a.waiters)+len(a.turns) > 0
}

// poke wakes the driver if it lets time pass. Mu is held.
func (b *bubble) poke() {
	if b.asleep {
		select {
		case b.kick <- struct{}{}:
		default:
		}
	}
}

// gather waits until all are parked, and takes what they asked for in an order that
// does not hang on who came first.
func (b *bubble) gather() {
	b.woke = false
	b.wait()
	for b.goOn() {
		b.wait()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeNotes()
	for _, p := range b.deaths {
		p.leave()
	}
	b.takeBirths()
	b.takeTimers()
	b.takeBatches()
	b.takeWrites()
	b.takeSends()
	for i := range b.waiters {
		if x := &b.waiters[i]; !x.set && x.at != never && !x.c.dead {
			x.set = true
			b.w.push(x.at, evPoll, x.c.id, 0, 0, 0)
		}
	}
	b.deaths = b.deaths[:0]
}

// goOn lets the next one go on of those beside a process, and if there is none, has
// begin what clock.Go was given: workers find all that a step asks for in their lines.
func (b *bubble) goOn() bool {
	b.mu.Lock()
	if len(b.turns) > 0 {
		next := 0
		for i, x := range b.turns {
			if y := b.turns[next]; cmp.Or(first(x.p, y.p), cmp.Compare(x.strand, y.strand)) < 0 {
				next = i
			}
		}
		close(b.turns[next].goes)
		b.turns = slices.Delete(b.turns, next, next+1)
		b.mu.Unlock()
		return true
	}
	strands := b.strands
	b.strands, b.begins = b.begins[:0], strands
	b.mu.Unlock()
	for _, f := range strands {
		b.strand(f)
	}
	return len(strands) > 0
}

// first orders what processes asked for in one step.
func first(a, b *Process) int {
	return cmp.Or(cmp.Compare(a.c.id, b.c.id), cmp.Compare(a.n, b.n))
}

// takeNotes adds what processes have noted to the history. All readings that a process
// makes in one step are the same, and goroutines of it may race for them: they are one,
// and come first.
func (b *bubble) takeNotes() {
	if len(b.notes) > 1 {
		slices.SortStableFunc(b.notes, func(x, y bubbleNote) int {
			return cmp.Or(first(x.p, y.p), -cmp.Compare(reads(x), reads(y)), cmp.Compare(x.strand, y.strand))
		})
	}
	for i := range b.notes {
		e := &b.notes[i].Event
		if i > 0 && e.Kind == Read && b.notes[i-1].Kind == Read && b.notes[i-1].p == b.notes[i].p {
			continue
		}
		e.Key, e.Owner, e.Note = b.realText(e.Key), b.realText(e.Owner), b.realText(e.Note)
		b.w.note(e)
	}
	b.notes = b.notes[:0]
}

func reads(x bubbleNote) int {
	if x.Kind == Read {
		return 1
	}
	return 0
}

// takeBirths starts processes.
func (b *bubble) takeBirths() {
	slices.SortStableFunc(b.births, func(x, y birth) int { return first(x.by, y.by) })
	for _, x := range b.births {
		if !x.by.c.dead {
			b.w.process(x.by.c, x.by.c.nextName(), x.work)
		}
	}
	b.births = b.births[:0]
}

// note is Process.note. Its client may be paused: then it waits here.
func (b *bubble) note(p *Process, e *Event) {
	if !b.touch(p.c) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e.Kind {
	case Asked, Granted, Releasing, Lost:
		p.mine = append(p.mine, *e)
	}
	strand := 0
	if p.aside > 0 {
		strand = b.known[goroutine()]
	}
	switch {
	case strand != 0 && e.Kind != Read: // somebody may read a clock with a mutex held
		b.await(p, strand)
	case e.Kind == Asked && len(p.c.procs) > 1: // one answer may have woken two, who share a line
		b.await(p, 0)
	}
	b.notes = append(b.notes, bubbleNote{p, strand, *e})
	b.poke()
}

// turn is for strands beside a process, when they have waited for something.
func (b *bubble) turn(p *Process) {
	if p == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.aside > 0 {
		if strand := b.known[goroutine()]; strand != 0 {
			b.await(p, strand)
		}
	}
}

// await waits until it is the strand's turn. Mu is held.
func (b *bubble) await(p *Process, strand int) {
	if b.closed {
		return
	}
	x := strandTurn{p, strand, make(chan struct{})}
	b.turns = append(b.turns, x)
	b.poke()
	b.mu.Unlock()
	select {
	case <-x.goes:
	case <-b.ended:
	}
	b.mu.Lock()
}

// backward is Process.backward.
func (b *bubble) backward(p *Process) iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		b.mu.Lock()
		mine := p.mine // which only grows
		b.mu.Unlock()
		for i := len(mine) - 1; i >= 0; i-- {
			if !yield(&mine[i]) {
				return
			}
		}
	}
}

// text numbers a string for processes. Which number it gets hangs on who was first,
// so it is not the history's.
func (b *bubble) text(s string) Text {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.number(s)
}

// number is text. Mu is held.
func (b *bubble) number(s string) Text {
	t, ok := b.texts[s]
	if !ok {
		b.words = append(b.words, s)
		t = Text(-len(b.words))
		b.texts[s] = t
	}
	return t
}

// realText is the history's number of a text.
func (b *bubble) realText(t Text) Text {
	if t >= 0 {
		return t
	}
	i := int(-t) - 1
	for len(b.real) <= i {
		b.real = append(b.real, 0)
	}
	if b.real[i] == 0 {
		b.real[i] = b.w.history.text(b.words[i])
	}
	return b.real[i]
}

// touch waits while the client does not run, and says whether it may touch the world
// at all: at the end nobody may.
func (b *bubble) touch(c *client) bool {
	if len(c.paused) > 0 || c.dead {
		for {
			b.mu.Lock()
			at, now := past(c.paused, b.now()), b.now()
			if b.closed || at <= now && !c.dead {
				b.mu.Unlock()
				break
			}
			x := waiter{c: c, at: at, goes: make(chan struct{})}
			b.waiters = append(b.waiters, x)
			b.poke()
			b.mu.Unlock()
			select {
			case <-x.goes:
			case <-b.ended:
			}
		}
	}
	select {
	case <-b.ended:
		return false
	default:
		return true
	}
}

// poll is the end of a client's pause, or of the run while it was paused.
func (w *world) poll(c *client) {
	b := w.bubble
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiters = slices.DeleteFunc(b.waiters, func(x waiter) bool {
		if x.c != c || x.at > w.now {
			return false
		}
		close(x.goes)
		b.woke = true
		return true
	})
}
