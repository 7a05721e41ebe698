package sim

import (
	"fmt"
	"time"

	"driftlock/redlock"
	"driftlock/sim/queue"
)

// client is one client machine: its clock, and its connections to the nodes.
// It is the clock and the transport of the code that runs on it.
type client struct {
	w      *world
	id     int
	conf   *Client
	dial   dial  // reads its clock for the world
	clock  *line // the one that its code lives on
	lanes  []lane
	sent   []uint32 // messages to each node so far
	setups []uint32 // of connections: those that set one up
	procs  []*Process
	dead   bool
	machine
}

// lane is the client's one connection to a node.
type lane struct {
	redlock.Lane
	c     *client
	rank  uint64 // in the queue, of its client and node
	gen   uint32 // of the batch that is out
	out   bool   // there is one:
	sent  int64  // true time at which it was sent
	read  int64  // what the client's clock said then
	alarm alarm
	armed int64 // read of the batch for which the alarm was set
	dirty bool
	batch *batch // in a bubble
}

func (c *client) reset(conf *Client) {
	c.conf, c.dead, c.procs, c.setups = conf, false, c.procs[:0], c.setups[:0]
	c.set(conf.Clock, c.w.sc.Faults, conf.Name, nil)
	c.clock = c.lives(c.w.sc.lives(c.id))
	c.dial = c.clock.dial()
	n := len(c.w.sc.Nodes)
	if cap(c.lanes) < n {
		c.lanes, c.sent = make([]lane, n), make([]uint32, n)
	}
	c.lanes, c.sent = c.lanes[:n], c.sent[:n]
	for i := range c.lanes {
		l := &c.lanes[i]
		l.Reset()
		l.Node, l.c, l.out, l.dirty, l.alarm.at = i, c, false, false, 0
		l.rank = queue.Rank(0, c.id, i, 0)
		l.gen++
		c.sent[i] = 0
	}
}

// nextName names the next process that the client starts.
func (c *client) nextName() string { return fmt.Sprintf("%s/%d", c.conf.Name, len(c.procs)+1) }

// local is what the client's clock says now.
func (c *client) local() int64 { return c.dial.at(c.w.now) }

// when is the first true instant from now on at which its clock has reached a reading.
func (c *client) when(reading int64) int64 { return c.clock.reach(c.w.now, reading) }

// settle takes the answers to the batch that is out, and sends what waits.
func (l *lane) settle(replies []redlock.Reply) {
	l.out = false
	l.gen += 2 // odd differences are twins that nobody listens to
	l.c.w.out--
	if b := l.c.w.bubble; b != nil {
		b.settle(l, replies)
		return
	}
	l.Settle(replies)
	if l.Ready() {
		l.pump()
	}
}

// pump sends all that waits as one batch.
func (l *lane) pump() {
	now := l.c.local()
	if reqs := l.Take(time.Duration(now)); reqs != nil {
		l.carry(now, reqs)
	}
}

// carry sends a batch, now on the client's clock.
func (l *lane) carry(now int64, reqs []*redlock.Request) {
	w := l.c.w
	w.out++
	w.send(l, reqs, l.gen, nil)
	l.out, l.sent, l.read = true, w.now, now
	if l.alarm.at == 0 || l.read < l.armed { // else it comes early enough
		l.setAlarm()
	}
}

// due is the true time at which the connection gives up the batch that is out. It is
// worked out only when the alarm needs it.
func (l *lane) due() int64 {
	return max(1, l.c.clock.reach(l.sent, later(l.read, l.c.w.giveUp())))
}

func (l *lane) setAlarm() {
	l.armed = l.read
	l.alarm.set(l.c.w, l.due(), evGiveUp, l.c.id, l.Node, int32(l.Node))
}

// giveUp is how long a connection waits for an answer, on its client's clock.
func (w *world) giveUp() time.Duration { return time.Duration(w.sc.Lock.GiveUp) }

// giveUp is the alarm of a connection: a batch that has been out for too long is
// given up.
func (c *client) giveUp(n int) {
	l := &c.lanes[n]
	switch {
	case !l.alarm.rings(c.w.now) || !l.out:
	case l.due() <= c.w.now:
		c.w.note(&Event{Kind: GaveUp, Client: int16(c.id), Node: int16(n), Proc: -1, Nth: c.sent[n]})
		c.w.underWay = true
		l.settle(l.Unanswered())
		c.w.underWay = false
	default:
		l.setAlarm()
	}
}
