package redlock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"driftlock/clock"

	"github.com/jonboulle/clockwork"
)

// The production transport is a lane, a mutex and a worker for each node. A worker
// is a goroutine that lives while there is something to send, and for a moment more,
// so an idle lock has none, and what can be stuck at a node that hangs is one
// goroutine, whatever the number of calls.

// closePatience bounds how long Close waits for what is in flight.
const closePatience = time.Second

// NewTransport returns the production transport over at most 64 nodes. For each it
// has one worker, which sends all that waits as one batch. Waiting and timeouts are
// on c; how long a node may take for a batch is the node's own affair.
//
// Close makes later broadcasts yield ErrClosed. What is in line and in flight is
// still sent; Close waits for it a second at most and says which nodes still had not
// answered then.
func NewTransport(nodes []Node, c clockwork.Clock) Transport {
	t := &transport{clock: c, origin: c.Now(), workers: make([]worker, len(nodes))}
	_, t.driven = c.(clock.Starter)
	for i, n := range nodes {
		w := &t.workers[i]
		w.transport, w.node, w.lane.Node, w.start = t, n, i, w.work
	}
	return t
}

type transport struct {
	clock   clockwork.Clock
	origin  time.Time // of the lanes' times
	workers []worker
	driven  bool        // the clock decides what runs when, as a simulator's does
	calls   sync.Pool   // of *call
	looking atomic.Bool // look will come
}

// observed is a transport as a lock with observers has it. Several locks may share one.
type observed struct {
	*transport
	missed func(miss)
}

// Broadcast implements Transport.
func (o observed) Broadcast(ctx context.Context, req Request, timeout time.Duration) iter.Seq[Reply] {
	return o.broadcast(ctx, req, timeout, o.missed)
}

// A worker carries the batches of one lane to its node.
type worker struct {
	transport *transport
	node      Node
	start     func()  // work, as a value made once
	replies   []Reply // the running worker's
	crowded   bool    // and whether its last batch had more than one request

	mu      sync.Mutex // guards the rest; never held over node.Do
	lane    Lane
	woken   *call  // has heard enough, and is roused once mu is free
	misses  []miss // are told then, too
	running bool
	resting bool      // a goroutine waits for more to do
	rested  bool      // and did when look last came
	more    chan bool // tells it to go on, or to end; has room for one, nil until one rests
	closed  bool
	idle    chan struct{} // closed when a worker stops after Close; nil before
}

func (t *transport) Len() int { return len(t.workers) }

// NodeName is the name of node i, for texts.
func (t *transport) NodeName(i int) string { return t.workers[i].node.Name() }

// now is the time for the lanes.
func (t *transport) now() time.Duration { return t.clock.Since(t.origin) }

// Broadcast implements Transport. Replies are yielded as soon as half of the nodes have
// answered, and then one by one.
func (t *transport) Broadcast(ctx context.Context, req Request, timeout time.Duration) iter.Seq[Reply] {
	return t.broadcast(ctx, req, timeout, nil)
}

// broadcast is Broadcast, with somebody who is told of failures that the caller is not.
func (t *transport) broadcast(ctx context.Context, req Request, timeout time.Duration, missed func(miss)) iter.Seq[Reply] {
	return func(yield func(Reply) bool) {
		c := t.newCall()
		defer c.leave()
		now, req := t.now(), &req
		c.ctx, c.req, c.missed = ctx, req, missed
		for i := range t.workers {
			t.workers[i].push(now, req, timeout, c)
		}
		c.listen(ctx, timeout, yield)
	}
}

func (w *worker) push(now time.Duration, req *Request, timeout time.Duration, c *call) {
	w.mu.Lock()
	if w.closed {
		c.Receive(Reply{Node: w.lane.Node, Err: ErrClosed})
		w.unlock()
		return
	}
	w.lane.Push(now, req, timeout, c)
	if w.running || !w.lane.Ready() {
		w.unlock()
		return
	}
	rests := w.resting
	w.running, w.resting = true, false
	w.unlock()
	if rests {
		w.more <- true
	} else {
		clock.Go(w.transport.clock, w.start)
	}
}

// wake has unlock rouse c. Mu is held.
func (w *worker) wake(c *call) {
	if w.woken != nil {
		w.woken.rouse()
	}
	w.woken = c
}

// unlock frees mu, and then rouses who was woken meanwhile: a listener that ran at once
// would ask for mu again.
func (w *worker) unlock() {
	c, misses := w.woken, w.misses
	w.woken, w.misses = nil, nil
	w.mu.Unlock()
	if c != nil {
		c.rouse()
	}
	tell(misses)
}

// work sends batch after batch until there has been none for a moment. Whoever a reply
// wakes comes in line after what already waited.
func (w *worker) work() {
	if !w.transport.driven { // there the goroutine has been one before
		growStack()
	}
	for goOn := true; goOn; {
		w.yield()
		w.mu.Lock()
		for w.lane.Ready() {
			reqs := w.lane.Take(w.transport.now())
			if reqs == nil { // all of it came too late
				continue
			}
			w.unlock()
			w.crowded = len(reqs) > 1
			w.send(reqs)
			w.yield()
			w.mu.Lock()
			w.lane.Settle(w.replies)
			if w.crowded && !w.transport.driven { // there what goes out next must not hang on who is fast
				w.unlock()
				w.yield()
				w.mu.Lock()
			}
		}
		goOn = w.rest()
	}
}

// rest waits a moment for more to do, and says whether there is; if not, the goroutine
// is to end. Mu is held, and is free when it returns.
func (w *worker) rest() bool {
	w.running = false
	if w.idle != nil {
		close(w.idle)
	}
	w.resting = !w.closed && w.transport.linger()
	if !w.resting {
		w.unlock()
		return false
	}
	w.rested = false
	if w.more == nil {
		w.more = make(chan bool, 1)
	}
	w.unlock()
	return <-w.more
}

// dismiss ends the goroutine that rests, and already did when look last came; or now, if
// that is to be. It says whether one still rests. Mu is held.
func (w *worker) dismiss(now bool) (rests bool) {
	if w.resting && (w.rested || now) {
		w.resting = false
		w.more <- false
	}
	w.rested = true
	return w.resting
}

// yield lets those push who are about to: what they have goes out with the next batch
// instead of the one after it. On two cores and 64 callers that makes batches of 31
// requests instead of 25, and with a second time for those whom a reply woke, 8 callers
// do 20 to 50 % more. One caller alone would only wait for it, and a clock that decides
// what runs when must find the same each time.
func (w *worker) yield() {
	if w.crowded && !w.transport.driven {
		runtime.Gosched()
	}
}

// growStack makes the stack of a new goroutine large enough for a client library at
// once. Grown step by step from deep within it, it would be copied with all that is
// on it: that took 14 % of the processor time of a cycle.
//
//go:noinline
func growStack() {
	var room [5 << 10]byte
	touch(&room)
}

//go:noinline
func touch(room *[5 << 10]byte) { room[0] = 1 }

// send has the node execute a batch and leaves the answers in w.replies. A node that
// panics, or ends the goroutine, gave none.
func (w *worker) send(reqs []*Request) {
	w.replies = w.replies[:0]
	for range reqs {
		w.replies = append(w.replies, Reply{Err: ErrNoAnswer})
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		err := fmt.Errorf("%w: the node ended its goroutine", ErrNoAnswer)
		if p != nil {
			err = fmt.Errorf("%w: panic: %v", ErrNoAnswer, p)
		}
		for i := range w.replies {
			w.replies[i] = Reply{Err: err}
		}
		if p == nil {
			w.succeed()
		}
	}()
	w.node.Do(reqs, w.replies)
	returned = true
}

// succeed has another goroutine go on where the node has ended this one: a test that
// fails in a node of its own does.
func (w *worker) succeed() {
	w.mu.Lock()
	w.lane.Settle(w.replies)
	w.unlock()
	clock.Go(w.transport.clock, w.start)
}

// Close implements Transport.
func (t *transport) Close() error {
	var waits []*worker
	for i := range t.workers {
		if w := &t.workers[i]; w.close() {
			waits = append(waits, w)
		}
	}
	if len(waits) == 0 {
		return nil
	}
	timer := t.clock.NewTimer(closePatience)
	defer timer.Stop()
	over := false
	var errs []error
	for _, w := range waits {
		if !over {
			select {
			case <-w.idle:
			case <-timer.Chan():
				over = true
			}
		}
		select {
		case <-w.idle:
		default:
			errs = append(errs, fmt.Errorf("%s: %w, still waiting", w.node.Name(), ErrNoAnswer))
		}
	}
	return errors.Join(errs...)
}

// close refuses further requests and says whether the worker still has some to send.
func (w *worker) close() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.dismiss(true)
	if w.running && w.idle == nil {
		w.idle = make(chan struct{})
	}
	return w.running
}
