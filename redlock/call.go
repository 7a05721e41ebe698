package redlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// How an answer comes from the worker of a node to whoever asked, and what becomes of
// one that nobody waits for any more.

// A call collects the replies to one broadcast. No lock can decide anything before
// half of its nodes have answered, so nobody is woken before that: it saves a busy
// process most of the wake-ups. Calls are used again, once all nodes have answered.
type call struct {
	transport *transport
	wake      chan struct{}   // has room for one
	timer     clockwork.Timer // of expire; the listener's, nil until it first has to wait
	timed     bool            // and whether it is set

	ctx    context.Context // of the broadcast
	req    *Request
	missed func(miss) // is told of failures that the listener is not; nil: nobody is
	heard  uint64     // the nodes whose answer or silence the listener knows: one bit a node

	mu      sync.Mutex // guards the rest; and what is above once nobody listens
	replies []Reply    // in order of arrival
	want    int        // wake when there are so many
	over    bool       // the time to wait has passed
	left    bool       // nobody listens any more
	kept    bool       // not to be used again: its timer may yet call expire
}

// newCall returns a call that nobody has answered yet.
func (t *transport) newCall() *call {
	c, ok := t.calls.Get().(*call)
	if !ok {
		c = &call{transport: t, wake: make(chan struct{}, 1), replies: make([]Reply, 0, len(t.workers))}
	}
	c.want = (len(t.workers) + 1) / 2
	return c
}

// Receive implements Receiver. The worker's mu is held.
func (c *call) Receive(r Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replies = append(c.replies, r)
	w := &c.transport.workers[r.Node]
	if len(c.replies) == c.want {
		w.wake(c)
	}
	if c.left {
		w.misses = c.miss(w.misses, &r)
	}
	c.recycle()
}

// miss appends r if it is a failure that is to be told though nobody listens. A request
// that its own caller took out of the line has not failed. Mu is held.
func (c *call) miss(misses []miss, r *Reply) []miss {
	if r.Status != Failed || c.missed == nil || c.heard&(1<<r.Node) != 0 || r.Err == errRecalled || errors.Is(r.Err, ErrClosed) {
		return misses
	}
	return append(misses, miss{c.ctx, c.req.Op, c.req.Key, *r, c.missed})
}

// expire says that the time to wait has passed.
func (c *call) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.rouse()
}

// rouse wakes the listener.
func (c *call) rouse() {
	select {
	case c.wake <- struct{}{}:
	default: // it was woken by something else meanwhile
	}
}

// next returns the replies from the seen-th on, and asks to be woken by the one after.
// It says, too, whether the time to wait has passed.
func (c *call) next(seen int) (replies []Reply, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want = max(c.want, len(c.replies)+1)
	return c.replies[seen:len(c.replies):len(c.replies)], c.over
}

// wait returns when there is something new, after timeout at the latest, or when ctx
// has ended, whose cause it then returns. A timer is set only if there is something to
// wait for.
func (c *call) wait(ctx context.Context, timeout time.Duration) (why error) {
	select {
	case <-c.wake:
		return nil
	default:
	}
	switch {
	case c.timed:
	case c.timer == nil:
		c.timer = c.transport.clock.AfterFunc(timeout, c.expire)
	default: // costs much less than to make one
		c.timer.Reset(timeout)
	}
	c.timed = true
	if ctx.Done() == nil { // a plain receive costs less than a choice
		<-c.wake
		return nil
	}
	select {
	case <-c.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave says that nobody listens any more.
func (c *call) leave() {
	late := c.timed && !c.timer.Stop()
	var misses []miss // there already, after what was enough
	c.mu.Lock()
	for i := range c.replies {
		misses = c.miss(misses, &c.replies[i])
	}
	c.left, c.kept, c.timed = true, late, false
	c.recycle()
	c.mu.Unlock()
	tell(misses)
}

// tell tells of misses. No mutex is held.
func tell(misses []miss) {
	for _, m := range misses {
		m.to(m)
	}
}

// recycle gives the call back for another use, if it has no more. Mu is held.
func (c *call) recycle() {
	if !c.left || c.kept || len(c.replies) < cap(c.replies) {
		return
	}
	select { // a wake that nobody waited for
	case <-c.wake:
	default:
	}
	clear(c.replies)
	c.replies, c.left = c.replies[:0], false
	c.ctx, c.req, c.missed, c.heard = nil, nil, nil, 0
	c.transport.calls.Put(c)
}

// listen yields the replies until all are there, timeout has passed or ctx has ended.
// Replies that are there win over the end.
func (c *call) listen(ctx context.Context, timeout time.Duration, yield func(Reply) bool) {
	n := len(c.transport.workers)
	for seen := 0; seen < n; {
		why := c.wait(ctx, timeout)
		replies, over := c.next(seen)
		for _, r := range replies {
			seen++
			c.heard |= 1 << r.Node
			if !yield(r) {
				return
			}
		}
		switch {
		case why != nil: // of the context; that the nodes are silent is yet to be seen
			Silence(n, c.heard, why, yield)
			return
		case over:
			Silence(n, c.heard, ErrNoAnswer, func(r Reply) bool {
				c.heard |= 1 << r.Node
				return yield(r)
			})
			return
		}
	}
}

// A miss is the failure of a node that the caller did not hear of: it had enough of
// the others' answers, or its context had ended.
type miss struct {
	ctx   context.Context // the caller's
	op    Op
	key   string
	reply Reply
	to    func(miss) // is told
}
