package sim

import (
	"context"
	"iter"
	"math/bits"
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"
)

// A client as the transport of the locks that run on it.

// call is one broadcast: what is asked, and the replies so far. It is used again
// once every lane has told it, though the caller may have left long before.
type call struct {
	w     *world
	c     *client
	r     *routine
	ctx   context.Context
	req   redlock.Request // lanes keep a pointer to it
	owed  bool            // not used again: a lane or the network may still have req
	wait  time.Duration
	which uint64
	loose bool
	seq   iter.Seq[redlock.Reply] // its method replies

	got   []redlock.Reply
	want  int
	wakes int  // so many replies wake the caller: nothing can be decided with fewer
	left  bool // the caller has
}

// Receive is called by a lane.
func (x *call) Receive(r redlock.Reply) {
	x.want--
	x.owed = x.owed || r.Err != nil || x.w.underWay
	if x.left {
		x.free()
		return
	}
	x.got = append(x.got, r)
	if x.r.call == x && len(x.got) >= x.wakes {
		x.w.list(x.r)
	}
}

func (x *call) free() {
	if x.want == 0 {
		x.got, x.r, x.ctx = x.got[:0], nil, nil
		if !x.owed {
			x.w.calls = append(x.w.calls, x)
		}
	}
}

func (w *world) newCall() (x *call) {
	if n := len(w.calls); n > 0 {
		x, w.calls = w.calls[n-1], w.calls[:n-1]
	} else {
		x = &call{w: w}
		x.seq = x.replies
	}
	return x
}

// begin makes the call one of a routine, which waits for so many replies. Half of them
// wake it first, as with redlock's own transport.
func (x *call) begin(r *routine, want int) {
	x.r, x.want, x.wakes, x.left, x.owed = r, want, (want+1)/2, false, false
}

// Len is the number of nodes.
func (c *client) Len() int { return len(c.lanes) }

// NodeName names a node in errors.
func (c *client) NodeName(i int) string { return c.w.sc.Nodes[i].Name }

// Close does nothing: connections end with the run.
func (c *client) Close() error { return nil }

// Broadcast is redlock.Transport's. It parks the process that runs.
func (c *client) Broadcast(ctx context.Context, req redlock.Request, timeout time.Duration) iter.Seq[redlock.Reply] {
	return c.broadcast(ctx, req, timeout, c.all(), false)
}

// all has the bit of each node.
func (c *client) all() uint64 { return 1<<len(c.lanes) - 1 }

// broadcast asks the nodes whose bit is set, in their lanes or loose.
func (c *client) broadcast(ctx context.Context, req redlock.Request, timeout time.Duration, which uint64, loose bool) iter.Seq[redlock.Reply] {
	x := c.w.newCall()
	x.c, x.ctx, x.req, x.wait, x.which, x.loose = c, ctx, req, timeout, which, loose
	return x.seq
}

// replies sends, waits and yields: it is the iterator of a broadcast, which is
// ranged over once.
func (x *call) replies(yield func(redlock.Reply) bool) {
	r := x.w.running("Broadcast", x.c)
	asked, heard := bits.OnesCount64(x.which), ^x.which
	x.begin(r, asked)
	if r.refused() {
		x.want = 0
		x.free()
		redlock.Silence(len(x.c.lanes), heard, ErrEnded, yield)
		return
	}
	defer x.leave()
	due := x.send()
	over := false // the timeout has passed; a Sleep in the loop's body has its own
	for i := 0; ; {
		for ; i < len(x.got); i++ {
			reply := x.got[i]
			heard |= 1 << reply.Node
			if !yield(reply) {
				return
			}
		}
		if i == asked {
			return
		}
		if why := x.ended(over); why != nil {
			redlock.Silence(len(x.c.lanes), heard, why, yield)
			return
		}
		r.park(x.ctx, due, x)
		over = r.rang
	}
}

// leave says that the caller has left.
func (x *call) leave() {
	x.left, x.r.call = true, nil
	x.free()
}

// send asks the nodes, and returns the true time at which the caller stops waiting.
func (x *call) send() (due int64) {
	c, w, req := x.c, x.w, &x.req
	now := c.local()
	w.last, w.lastKey, w.lastOwner = req, w.history.text(req.Key), w.history.text(req.Owner)
	w.note(&Event{Kind: Asked, Op: req.Op, Client: int16(c.id), Node: -1, Proc: x.r.number(), Key: w.lastKey, Owner: w.lastOwner, Value: int64(x.wait)})
	if p := x.r.p; p != nil && req.TTL > 0 && node.Usual(req.Op) != redlock.OpRelease {
		p.asks(req.TTL)
	}
	due = c.when(later(now, x.wait))
	for left := x.which; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		if x.loose {
			w.sendLoose(c, i, req, x)
			continue
		}
		l := &c.lanes[i]
		l.Push(time.Duration(now), req, x.wait, x)
		if !l.dirty {
			l.dirty = true
			w.dirty = append(w.dirty, l)
		}
	}
	return due
}

// ended is why the caller stops waiting; nil if it goes on.
func (x *call) ended(over bool) error {
	switch {
	case x.ctx.Err() != nil:
		x.r.spin()
		return context.Cause(x.ctx)
	case over:
		return redlock.ErrNoAnswer
	case x.r.refused():
		return ErrEnded
	}
	return nil
}

// To is a way to the nodes whose bit is set. Loose, each request has a connection
// of its own, as with a client library that keeps a pool of them: one request may
// overtake another, and each is answered or lost by itself.
func (c *client) To(which uint64, loose bool) redlock.Transport {
	return way{c, which & c.all(), loose}
}

// way is some of the client's ways to its nodes.
type way struct {
	*client
	which uint64
	loose bool
}

// Broadcast is redlock.Transport's, to some of the nodes.
func (y way) Broadcast(ctx context.Context, req redlock.Request, timeout time.Duration) iter.Seq[redlock.Reply] {
	return y.broadcast(ctx, req, timeout, y.which, y.loose)
}
