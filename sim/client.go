package sim

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"time"

	"driftlock/redlock"

	"github.com/jonboulle/clockwork"
)

// epoch is what a client's clock says when it has counted nothing: 2100-01-01,
// later than any deadline in real time, so that one of those can be told.
const epoch = 4102444800_000_000_000

// errRefused is what a client hears from a connection that is not taken.
var errRefused = fmt.Errorf("%w: connection refused", redlock.ErrUnsent)

// client is one client machine: its clock, and its connections to the nodes.
// It is the clock and the transport of the code that runs on it.
type client struct {
	machine
	w              *world
	id             int
	conf           *Client
	clock          *line // that its code reads
	readAt, readAs int64 // the last reading
	lanes          []lane
	sent           []uint32 // messages to each node so far
	procs          []*Process
	dead           bool
}

// lane is the client's one connection to a node.
type lane struct {
	redlock.Lane
	c     *client
	gen   uint32 // of the batch that is out
	due   int64  // true time at which the connection gives it up; 0: none is out
	alarm alarm
	dirty bool
}

func (c *client) reset(conf *Client) {
	c.conf, c.dead, c.procs, c.readAt = conf, false, c.procs[:0], -1
	c.set(conf.Clock, c.w.sc.Faults, conf.Name, nil)
	c.clock = c.lives(c.w.sc.lives(c.id))
	n := len(c.w.sc.Nodes)
	if cap(c.lanes) < n {
		c.lanes, c.sent = make([]lane, n), make([]uint32, n)
	}
	c.lanes, c.sent = c.lanes[:n], c.sent[:n]
	for i := range c.lanes {
		l := &c.lanes[i]
		l.Reset()
		l.Node, l.c, l.due, l.dirty, l.alarm.at = i, c, 0, false, 0
		l.gen++
		c.sent[i] = 0
	}
}

// local is what the client's clock says now. Much happens at one instant, so the
// last reading is kept.
func (c *client) local() int64 {
	if c.readAt != c.w.now {
		c.readAt, c.readAs = c.w.now, c.clock.at(c.w.now)
	}
	return c.readAs
}

// when is the first true instant from now on at which its clock has reached a reading.
func (c *client) when(reading int64) int64 { return c.clock.reach(c.w.now, reading) }

// ---- connections

func (l *lane) settle(replies []redlock.Reply) {
	l.due = 0
	l.gen += 2 // odd differences are twins that nobody listens to
	l.c.w.out--
	l.Settle(replies)
	l.pump()
}

// pump sends all that waits as one batch.
func (l *lane) pump() {
	c := l.c
	reqs := l.Take(time.Duration(c.local()))
	if reqs == nil {
		return
	}
	c.w.out++
	c.w.send(c, l.Node, reqs, l.gen, nil)
	l.due = max(1, c.when(later(c.local(), c.w.giveUp())))
	l.alarm.set(c.w, l.due, evGiveUp, c.id, l.Node, int32(l.Node))
}

// giveUp is how long a connection waits for an answer, on its client's clock.
func (w *world) giveUp() time.Duration { return time.Duration(w.sc.Lock.GiveUp) }

func (c *client) giveUp(n int) {
	l := &c.lanes[n]
	switch {
	case !l.alarm.rings(c.w.now) || l.due == 0:
	case l.due <= c.w.now:
		c.w.note(Event{Kind: GaveUp, Client: int16(c.id), Node: int16(n), Proc: -1, Nth: c.sent[n]})
		l.settle(l.Unanswered())
	default:
		l.alarm.set(c.w, l.due, evGiveUp, c.id, n, int32(n))
	}
}

// ---- the transport

// call gathers the replies to one broadcast. It is used again once every lane
// has told it, though the caller may have left long before.
type call struct {
	w    *world
	r    *routine
	got  []redlock.Reply
	want int
	left bool // the caller has
}

// Receive is called by a lane.
func (x *call) Receive(r redlock.Reply) {
	x.want--
	if x.left {
		x.free()
		return
	}
	x.got = append(x.got, r)
	if x.r.call == x {
		x.w.list(x.r)
	}
}

func (x *call) free() {
	if x.want == 0 {
		x.got, x.r = x.got[:0], nil
		x.w.calls = append(x.w.calls, x)
	}
}

func (w *world) newCall(r *routine, want int) (x *call) {
	if n := len(w.calls); n > 0 {
		x, w.calls = w.calls[n-1], w.calls[:n-1]
	} else {
		x = &call{w: w}
	}
	x.r, x.want, x.left = r, want, false
	return x
}

// Len is the number of nodes.
func (c *client) Len() int { return len(c.lanes) }

// NodeName names a node in errors.
func (c *client) NodeName(i int) string { return c.w.sc.Nodes[i].Name }

// Close does nothing: connections end with the run.
func (c *client) Close() error { return nil }

// Broadcast is redlock.Transport's. It parks the process that runs.
func (c *client) Broadcast(ctx context.Context, req redlock.Request, timeout time.Duration) iter.Seq[redlock.Reply] {
	return c.broadcast(ctx, &req, timeout, 1<<len(c.lanes)-1, false)
}

// broadcast asks the nodes whose bit is set, in their lanes or loose.
func (c *client) broadcast(ctx context.Context, req *redlock.Request, timeout time.Duration, which uint64, loose bool) iter.Seq[redlock.Reply] {
	return func(yield func(redlock.Reply) bool) {
		w := c.w
		r := w.running("Broadcast", c)
		asked, heard := bits.OnesCount64(which), ^which
		if r.refused() {
			redlock.Silence(len(c.lanes), heard, ErrEnded, yield)
			return
		}
		x := w.newCall(r, asked)
		defer func() { x.left, r.call = true, nil; x.free() }()
		now := c.local()
		w.note(Event{Kind: Asked, Op: req.Op, Client: int16(c.id), Node: -1, Proc: r.number(), Key: w.history.text(req.Key), Owner: w.history.text(req.Owner), Value: int64(timeout)})
		due := c.when(later(now, timeout))
		for i := range c.lanes {
			switch l := &c.lanes[i]; {
			case which>>i&1 == 0:
			case loose:
				w.sendLoose(c, i, req, x)
			default:
				l.Push(time.Duration(now), req, timeout, x)
				if !l.dirty {
					l.dirty = true
					w.dirty = append(w.dirty, l)
				}
			}
		}
		r.rang = false
		for i := range asked {
			for i >= len(x.got) {
				var why error
				switch {
				case ctx.Err() != nil:
					r.spin()
					why = context.Cause(ctx)
				case r.rang:
					why = redlock.ErrNoAnswer
				case r.refused():
					why = ErrEnded
				}
				if why != nil {
					redlock.Silence(len(c.lanes), heard, why, yield)
					return
				}
				r.park(ctx, due, x)
			}
			reply := x.got[i]
			heard |= 1 << reply.Node
			if !yield(reply) {
				return
			}
		}
	}
}

// To is a way to the nodes whose bit is set. Loose, each request has a connection
// of its own, as with a client library that keeps a pool of them: one request may
// overtake another, and each is answered or lost by itself.
func (c *client) To(which uint64, loose bool) redlock.Transport { return way{c, which, loose} }

// way is some of the client's ways to its nodes.
type way struct {
	*client
	which uint64
	loose bool
}

// Broadcast is redlock.Transport's, to some of the nodes.
func (y way) Broadcast(ctx context.Context, req redlock.Request, timeout time.Duration) iter.Seq[redlock.Reply] {
	return y.broadcast(ctx, &req, timeout, y.which, y.loose)
}

// ---- the clock

// clientClock is the clock of the code on a client.
type clientClock struct{ c *client }

// Now reads the clock, which the history tells.
func (k clientClock) Now() time.Time {
	c := k.c
	proc := int16(-1)
	if c.w.cur != nil {
		proc = c.w.cur.number()
	}
	c.w.note(Event{Kind: Read, Client: int16(c.id), Node: -1, Proc: proc})
	return time.Unix(0, epoch+c.local()).UTC()
}

// reading is the reading, in nanoseconds, that a time of a client's clock stands for.
func reading(t time.Time) int64 { return t.UnixNano() - epoch }

func (k clientClock) Since(t time.Time) time.Duration { return k.Now().Sub(t) }
func (k clientClock) Until(t time.Time) time.Duration { return t.Sub(k.Now()) }
func (k clientClock) Sleep(d time.Duration)           { k.SleepContext(context.Background(), d) }

func (clientClock) After(time.Duration) <-chan time.Time     { panic(noChannel) }
func (clientClock) NewTimer(time.Duration) clockwork.Timer   { panic(noChannel) }
func (clientClock) NewTicker(time.Duration) clockwork.Ticker { panic(noChannel) }

const noChannel = "sim: a process cannot wait on a channel; use clock.Sleep, clock.WithTimeout or AfterFunc"

// SleepContext parks the process for d on its clock, or until ctx ends.
func (k clientClock) SleepContext(ctx context.Context, d time.Duration) error {
	c := k.c
	r := c.w.running("Sleep", c)
	c.w.note(Event{Kind: Slept, Client: int16(c.id), Node: -1, Proc: r.number(), Value: int64(d)})
	due := c.when(later(c.local(), d))
	for r.rang = d <= 0; ; r.park(ctx, due, nil) {
		switch {
		case ctx.Err() != nil:
			r.spin()
			return context.Cause(ctx)
		case r.refused():
			return ErrEnded
		case r.rang:
			r.spin()
			return nil
		}
	}
}

// Go runs f as a strand of its own, from this instant on.
func (k clientClock) Go(f func()) { k.AfterFunc(0, f) }

// ErrEnded is the cause with which every process's context ends at the end of
// the run.
var ErrEnded = errors.New("sim: the run has ended")
