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
	"cmp"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"runtime"
	"slices"
	"strings"
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
		next := int64(never)
		if w.queue.Len() > 0 {
			next = w.queue.First().At
		}
		switch {
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
			if w.step(); b.woke {
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

// ---- processes

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

// ---- the end

// unwinding is how much true time goroutines have to end after a run.
const unwinding = time.Minute

// close ends the run for those who are still there: every wait fails at once.
func (b *bubble) close() {
	b.w.history.closed = true
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
			p.end(ErrEnded)
		}
	}
	b.wait()
	b.w.cleanUp()
	time.Sleep(unwinding)
	b.wait()
}

// ---- who blocks

var bubbleFrame = regexp.MustCompile(`sim\.\(\*bubble\)\.loop\((0x[0-9a-f]+)`)
var bubbleHead = regexp.MustCompile(`^goroutine (\d+) \[([^\]]*), (synctest bubble \d+)[,\]]`)

// mayBlock says what code in a bubble may block on.
const mayBlock = "code in a bubble may wait for channels made in it, package time and the simulator: no real connection, file or process, and no mutex that is held by who waits"

// stacks are those of the bubble's goroutines that are not parked, by goroutine.
func (b *bubble) stacks() map[string]astray {
	found := map[string]astray{}
	all := strings.Split(string(allStacks()), "\n\n")
	mine := ""
	for _, g := range all {
		head := bubbleHead.FindStringSubmatch(g)
		if frame := bubbleFrame.FindStringSubmatch(g); head != nil && frame != nil && frame[1] == fmt.Sprintf("%p", b) {
			mine = head[3]
		}
	}
	for _, g := range all {
		head := bubbleHead.FindStringSubmatch(g)
		if head == nil || head[3] != mine || strings.Contains(head[2], "durable") || bubbleFrame.MatchString(g) {
			continue
		}
		running := strings.HasPrefix(head[2], "run") || strings.HasPrefix(head[2], "GC") || head[2] == "copystack" || head[2] == "preempted"
		found[head[1]] = astray{g, !running}
	}
	return found
}

// remains are the stacks of goroutines in bubbles, of which this one's are some.
func (b *bubble) remains() string {
	var list []string
	for _, g := range strings.Split(string(allStacks()), "\n\n") {
		if bubbleHead.MatchString(g) && !bubbleFrame.MatchString(g) && len(list) < 5 {
			list = append(list, g)
		}
	}
	return strings.Join(list, "\n\n")
}
