package sim

// What code in a bubble has of its client: a clock, timers, the way to the nodes and
// to the resources.

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"
	"driftlock/sim/queue"

	"github.com/jonboulle/clockwork"
)

// bubbleClock is a client's clock for one of its processes, or for its transport.
type bubbleClock struct {
	b *bubble
	c *client
	p *Process // nil: the transport's, whose readings are no history
}

// Now reads the clock, which the history tells.
func (k bubbleClock) Now() time.Time {
	if k.p != nil {
		k.p.note(&Event{Kind: Read})
	}
	return time.Unix(0, epoch+k.b.local(k.c)).UTC()
}

func (k bubbleClock) Since(t time.Time) time.Duration { return k.Now().Sub(t) }
func (k bubbleClock) Until(t time.Time) time.Duration { return t.Sub(k.Now()) }
func (k bubbleClock) Sleep(d time.Duration)           { k.SleepContext(context.Background(), d) }

// SleepContext is clock.Sleeper's.
func (k bubbleClock) SleepContext(ctx context.Context, d time.Duration) error {
	if k.p != nil {
		k.p.note(&Event{Kind: Slept, Value: int64(d)})
	}
	if d > 0 && ctx.Err() == nil {
		t := k.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.Chan():
		case <-ctx.Done():
		case <-k.b.ended:
			return ErrEnded
		}
		k.b.turn(k.p)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Go is clock.Starter's: f begins when all that this step asks for has been asked.
func (k bubbleClock) Go(f func()) {
	k.b.mu.Lock()
	defer k.b.mu.Unlock()
	if k.b.closed {
		go f()
		return
	}
	k.b.strands = append(k.b.strands, bubbleStrand{c: k.c, p: k.p, aside: k.p != nil, f: f})
	k.b.poke()
}

func (k bubbleClock) After(d time.Duration) <-chan time.Time { return k.NewTimer(d).Chan() }

func (k bubbleClock) NewTimer(d time.Duration) clockwork.Timer {
	return k.timer(&bubbleTimer{ch: make(chan time.Time, 1)}, d)
}

func (k bubbleClock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return k.timer(&bubbleTimer{f: f}, d)
}

func (k bubbleClock) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic("sim: non-positive interval for NewTicker")
	}
	return bubbleTicker{k.timer(&bubbleTimer{ch: make(chan time.Time, 1), every: d}, d)}
}

func (k bubbleClock) timer(t *bubbleTimer, d time.Duration) *bubbleTimer {
	t.b, t.c, t.p, t.slot = k.b, k.c, k.p, -1
	t.Reset(d)
	return t
}

// bubbleTimer is a timer on a client's clock.
type bubbleTimer struct {
	b     *bubble
	c     *client
	p     *Process // whose; nil: the transport's
	f     func()   // it runs f, or sends on ch
	ch    chan time.Time
	every time.Duration // of a ticker

	// Guarded by the bubble's mu.
	due   int64 // true time; 0: it is not armed
	alarm alarm
	slot  int32 // in the bubble's timers; −1: none
	fresh bool  // the driver will look at it
}

// Chan is where the time comes.
func (t *bubbleTimer) Chan() <-chan time.Time { return t.ch }

// Stop says whether it kept the timer from firing.
func (t *bubbleTimer) Stop() bool {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	was := t.due != 0
	t.due = 0
	t.drain()
	return was
}

// drain takes away a time that nobody has received, as package time does since Go 1.23.
func (t *bubbleTimer) drain() {
	select {
	case <-t.ch:
	default:
	}
}

// Reset arms the timer anew.
func (t *bubbleTimer) Reset(d time.Duration) bool {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	was := t.due != 0
	t.drain()
	t.arm(d)
	return was
}

// arm is Reset. Mu is held.
func (t *bubbleTimer) arm(d time.Duration) {
	now := t.b.now()
	t.due = max(1, t.c.clock.reach(now, later(t.c.clock.at(now), d)))
	if t.b.closed {
		t.let()
		return
	}
	if !t.fresh {
		t.fresh = true
		t.b.asked.fresh = append(t.b.asked.fresh, t)
		t.b.poke()
	}
}

// let lets whoever waits for the timer go, at the end. Mu is held.
func (t *bubbleTimer) let() {
	if t.due != 0 && t.ch != nil {
		t.send()
	}
	t.due = 0
}

func (t *bubbleTimer) send() {
	select {
	case t.ch <- time.Unix(0, epoch+t.b.local(t.c)).UTC():
	default:
	}
}

// takeTimers sets the alarms of timers that were armed. Mu is held.
func (b *bubble) takeTimers() {
	if len(b.fresh) > 1 {
		slices.SortStableFunc(b.fresh, func(x, y *bubbleTimer) int {
			return cmp.Or(cmp.Compare(x.c.id, y.c.id), cmp.Compare(x.due, y.due), cmp.Compare(x.owner(), y.owner()))
		})
	}
	for _, t := range b.fresh {
		t.fresh = false
		if t.due != 0 {
			b.set(t)
		}
	}
	b.fresh = b.fresh[:0]
}

// owner is the number of the timer's process.
func (t *bubbleTimer) owner() int {
	if t.p == nil {
		return -1
	}
	return t.p.n
}

// set sets the alarm of a timer, which takes a slot for it.
func (b *bubble) set(t *bubbleTimer) {
	if t.slot < 0 {
		if k := len(b.slots); k > 0 {
			t.slot, b.slots = b.slots[k-1], b.slots[:k-1]
			b.timers[t.slot] = t
		} else {
			t.slot = int32(len(b.timers))
			b.timers = append(b.timers, t)
		}
	}
	k := evWake
	if t.f != nil {
		k = evTimer
	}
	t.alarm.set(b.w, t.due, k, t.c.id, 0, t.slot)
}

// ring is an alarm of a timer, which may have been stopped or set anew.
func (b *bubble) ring(e queue.Event) {
	t := b.timers[e.A]
	if t == nil || !t.alarm.rings(b.w.now) {
		return
	}
	if b.woke { // another timer of this instant: one after the other
		b.wait()
	}
	b.mu.Lock()
	due := t.due != 0 && t.due <= b.w.now
	if due {
		t.due = 0
		b.woke = true
		if t.f == nil {
			t.send()
		}
		if t.every > 0 {
			t.arm(t.every)
		}
	}
	if t.due != 0 {
		b.set(t)
	} else {
		b.timers[t.slot] = nil
		b.slots = append(b.slots, t.slot)
		t.slot = -1
	}
	b.mu.Unlock()
	if due && t.f != nil {
		b.strand(bubbleStrand{c: t.c, p: t.p, aside: t.p != nil, f: t.f})
	}
}

// bubbleTicker is a timer that goes on.
type bubbleTicker struct{ *bubbleTimer }

// Reset changes the interval.
func (t bubbleTicker) Reset(d time.Duration) {
	t.b.mu.Lock()
	t.every = d
	t.b.mu.Unlock()
	t.bubbleTimer.Reset(d)
}

// Stop is clockwork.Ticker's.
func (t bubbleTicker) Stop() { t.bubbleTimer.Stop() }

// ---- nodes

// bubbleTransport is a client's transport, for one of its processes.
type bubbleTransport struct {
	redlock.Transport
	b *bubble
	p *Process
}

// NodeName names a node in errors.
func (t bubbleTransport) NodeName(i int) string { return t.b.w.sc.Nodes[i].Name }

// Close does nothing: the client's other processes use it too.
func (t bubbleTransport) Close() error { return nil }

// Broadcast is redlock.Transport's.
func (t bubbleTransport) Broadcast(ctx context.Context, req redlock.Request, timeout time.Duration) iter.Seq[redlock.Reply] {
	return func(yield func(redlock.Reply) bool) {
		t.p.note(&Event{Kind: Asked, Op: req.Op, Key: t.p.text(req.Key), Owner: t.p.text(req.Owner), Value: int64(timeout)})
		if node.Acquires(req.Op) {
			t.p.asks(req.TTL)
		}
		for r := range t.Transport.Broadcast(ctx, req, timeout) {
			if t.b.turn(t.p); !yield(r) {
				return
			}
		}
	}
}

// batch is a node as a client's transport sees it, and the one batch to it that may be
// out.
type batch struct {
	b    *bubble
	c    *client
	node int
	done chan struct{} // room for one

	// From Do to the driver and back. Guarded by the bubble's mu.
	reqs    []*redlock.Request
	replies []redlock.Reply
}

// Name is the node's.
func (x *batch) Name() string { return x.b.w.sc.Nodes[x.node].Name }

// Do is redlock.Node's.
func (x *batch) Do(reqs []*redlock.Request, replies []redlock.Reply) {
	if !x.b.touch(x.c) {
		return
	}
	x.b.mu.Lock()
	if x.b.closed {
		x.b.mu.Unlock()
		return
	}
	x.reqs, x.replies = reqs, replies
	x.b.batches = append(x.b.batches, x)
	x.b.poke()
	x.b.mu.Unlock()
	<-x.done
}

// finish lets the worker go on. Mu is held.
func (x *batch) finish() {
	if x.reqs != nil {
		x.reqs, x.replies = nil, nil
		x.done <- struct{}{}
	}
}

// takeBatches sends. Mu is held.
func (b *bubble) takeBatches() {
	if len(b.batches) > 1 {
		slices.SortFunc(b.batches, func(x, y *batch) int {
			return cmp.Or(cmp.Compare(x.c.id, y.c.id), cmp.Compare(x.node, y.node))
		})
	}
	for _, x := range b.batches {
		if !x.c.dead {
			x.c.lanes[x.node].carry(x.c.local(), x.reqs)
		}
	}
	b.batches = b.batches[:0]
}

// settle gives the worker of a lane its replies; none are there if its connection has
// given up.
func (b *bubble) settle(l *lane, replies []redlock.Reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	copy(l.batch.replies, replies)
	l.batch.finish()
	b.woke = true
}

// ---- resources

// bubbleWrite is a write that a process waits for.
type bubbleWrite struct {
	b     *bubble
	p     *Process
	n     int
	fence uint64
	reply chan redlock.Reply // room for one
}

// Receive is called by the driver.
func (x *bubbleWrite) Receive(r redlock.Reply) {
	x.reply <- r
	x.b.woke = true
}

// write is Resource.WriteFenced.
func (b *bubble) write(ctx context.Context, r *Resource, fence uint64) error {
	if !b.touch(r.p.c) {
		return ErrEnded
	}
	x := &bubbleWrite{b: b, p: r.p, n: r.n, fence: fence, reply: make(chan redlock.Reply, 1)}
	b.mu.Lock()
	b.writes = append(b.writes, x)
	b.poke()
	b.mu.Unlock()
	patience := bubbleClock{b, r.p.c, nil}.NewTimer(b.w.giveUp())
	defer patience.Stop()
	select {
	case reply := <-x.reply:
		if reply.Status != redlock.Done {
			return ErrStale
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-b.ended:
		return ErrEnded
	case <-patience.Chan():
		return redlock.ErrNoAnswer
	}
}

// takeWrites sends writes. Mu is held.
func (b *bubble) takeWrites() {
	slices.SortStableFunc(b.writes, func(x, y *bubbleWrite) int { return cmp.Or(first(x.p, y.p), cmp.Compare(x.n, y.n)) })
	for _, x := range b.writes {
		if !x.p.c.dead {
			b.w.write(x.p.c, x.n, x.fence, int16(x.p.n), x)
		}
	}
	b.writes = b.writes[:0]
}
