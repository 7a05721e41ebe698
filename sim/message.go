package sim

import (
	"fmt"
	"slices"
	"strings"

	"driftlock/redlock"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// The way of a message: a batch of requests goes to its node, is carried out there
// or not, and its replies come back or do not.

// message is one batch of requests on its way to a node and back.
type message struct {
	id           int32 // in world.msgs
	nth          uint32
	gen          uint32 // of the lane when it was sent: a reply to an older one finds nobody
	client, node int
	lane         *lane
	to           *call  // who waits for the reply to a loose one; nil: its lane does
	conn         *conn  // over which it came: then there are bytes, and no requests
	parts        []part // in the order in which the node executes them
	replies      []redlock.Reply
	onePart      [1]part // most messages have one: it is at hand
	oneReply     [1]redlock.Reply
	data         []byte
	done         []Event           // what of it was asked of a lock's keys
	copies       []redlock.Request // those of a second copy
}

// part is one request of a batch. It stays as it is until a lane has told of it, and
// for ever if that was an error: whoever sent it may give up before the node has it.
type part struct {
	req        *redlock.Request
	key, owner Text
	at         int32 // its place in the batch
	op         redlock.Op
}

// errRefused is what a client hears from a connection that is not taken.
var errRefused = fmt.Errorf("%w: connection refused", redlock.ErrUnsent)

// newMessage returns a message that is free to use, to be sent by a lane's client to
// its node.
func (w *world) newMessage(l *lane) *message {
	if len(w.unused) == 0 {
		w.addMessage()
	}
	k := len(w.unused) - 1
	m := w.unused[k]
	w.unused = w.unused[:k]
	m.client, m.node, m.lane = l.c.id, l.Node, l
	return m
}

// addMessage makes one more that is free to use.
func (w *world) addMessage() {
	m := &message{id: int32(len(w.msgs))}
	m.parts, m.replies = m.onePart[:0], m.oneReply[:0]
	w.unused, w.msgs = append(w.unused, m), append(w.msgs, m)
}

// recycle lets go of a message.
func (w *world) recycle(m *message) {
	if m.to != nil || m.conn != nil {
		m.to, m.conn, m.data = nil, nil, nil
		w.out--
	}
	w.unused = append(w.unused, m)
}

// sendLoose puts one request on the wire, on a connection of its own: nothing
// keeps it in order with others. Whatever becomes of it, the run waits for it.
func (w *world) sendLoose(c *client, n int, req *redlock.Request, to *call) {
	w.out++
	l := &c.lanes[n]
	w.send(l, []*redlock.Request{req}, l.gen, to)
}

// send puts a batch on the wire.
func (w *world) send(l *lane, reqs []*redlock.Request, gen uint32, to *call) {
	m, c, n := w.newMessage(l), l.c, l.Node
	c.sent[n]++
	m.nth, m.gen, m.to = c.sent[n], gen, to
	m.fill(w, reqs)
	fate := w.net.Send(w.now, network.Message{Client: c.id, Node: n, Nth: m.nth})
	arrives := fate.At
	switch {
	case fate.Lost:
		arrives = LostOnWay
	case fate.Refused:
		arrives = RefusedByHost
	}
	local := c.local()
	for i := range m.parts {
		w.tell(Sent, m, &m.parts[i], n, 0, arrives, local)
	}
	switch {
	case fate.Lost:
		w.recycle(m)
	case fate.Refused:
		w.post(fate.At, evRefused, m)
	default:
		w.post(fate.At, evArrive, m)
		if fate.Again != 0 {
			w.double(m, fate.Again)
		}
	}
}

// double has a second copy of a message arrive. The requests are its own: the first copy
// may have long been answered by then.
func (w *world) double(m *message, at int64) {
	t := w.newMessage(m.lane)
	t.nth, t.gen, t.to = m.nth, m.gen-1, nil
	t.parts, t.copies = append(t.parts[:0], m.parts...), t.copies[:0]
	for i := range t.parts {
		t.copies = append(t.copies, *t.parts[i].req)
	}
	for i := range t.parts {
		t.parts[i].req = &t.copies[i]
	}
	w.post(at, evArrive, t)
}

// fill takes in the requests. A node executes those of one owner in their order;
// between owners there is none, so that of their values is taken: it does not hang
// on which strand asked first.
func (m *message) fill(w *world, reqs []*redlock.Request) {
	m.parts = slices.Grow(m.parts[:0], len(reqs))[:len(reqs)]
	for i, r := range reqs {
		if r != w.last {
			w.last, w.lastKey, w.lastOwner = r, w.history.text(r.Key), w.history.text(r.Owner)
		}
		x := &m.parts[i]
		x.req, x.key, x.owner, x.at, x.op = r, w.lastKey, w.lastOwner, int32(i), r.Op
	}
	if len(reqs) > 1 {
		slices.SortStableFunc(m.parts, func(a, b part) int { return strings.Compare(a.req.Owner, b.req.Owner) })
	}
}

// arrive executes a message at its node, which may be down or paused.
func (w *world) arrive(m *message) {
	at := w.nodes[m.node].serves
	n := w.nodes[at]
	if len(n.away) > 0 && w.keptOut(m, n) {
		return
	}
	if m.conn != nil {
		w.serve(m)
		return
	}
	m.replies = slices.Grow(m.replies[:0], len(m.parts))[:len(m.parts)]
	local := n.dial.at(w.now)
	for i := range m.parts {
		x := &m.parts[i]
		reply := &m.replies[x.at]
		when := n.Do(w.now, local, x.req, reply)
		if reply.Status == redlock.Ours && n.aliased && !m.copied(i) {
			reply.Status = plainly(x.req)
		}
		if !slices.Contains(w.keys, x.key) {
			w.keys = append(w.keys, x.key)
		}
		w.tell(Executed, m, x, at, reply.Status, when, local)
	}
	fate := w.reply(m)
	if fate.Lost || fate.Refused {
		fate.At = LostOnWay
	}
	w.answer(m, fate.At)
}

// copied says that a request of a message is of a second copy.
func (m *message) copied(i int) bool { return i < len(m.copies) && m.parts[i].req == &m.copies[i] }

// plainly is what an acquire is answered that finds the key to be its owner's own. Who
// asks for it a second time takes a look at it, but through an alias it is another
// node's first: SET NX refuses that as it does any other, while what tells fence
// numbers looks in any case.
func plainly(req *redlock.Request) redlock.Status {
	if req.Fence > 0 || req.Op == node.OpAcquireCount {
		return redlock.Ours
	}
	return redlock.Others
}

// keptOut says that a message finds its node down, or standing still until later.
func (w *world) keptOut(m *message, n *server) bool {
	if within(n.down, w.now) {
		w.turnAway(m, within(n.refusing, w.now))
		return true
	}
	goes := past(n.paused, w.now)
	if goes == w.now {
		return false
	}
	if goes = n.crashes(w.now, goes); goes != never {
		w.post(goes, evArrive, m)
	}
	return true
}

// turnAway is what a node that is down does with a message: nothing, or its host
// refuses it.
func (w *world) turnAway(m *message, refuse bool) {
	e := Event{Kind: Dropped, Client: int16(m.client), Node: int16(m.node), Proc: -1, Nth: m.nth}
	if refuse {
		if fate := w.reply(m); !fate.Lost {
			e.Value = fate.At
		}
	}
	w.note(&e)
	if e.Value == 0 {
		w.recycle(m)
		return
	}
	w.post(e.Value, evRefused, m)
}

// reply is the fate of what goes back.
func (w *world) reply(m *message) network.Fate {
	return w.net.Send(w.now, network.Message{Client: m.client, Node: m.node, Nth: m.nth, Reply: true})
}

// answer sends the replies of a message back. When they arrive is known, or that they
// do not.
func (w *world) answer(m *message, arrives int64) {
	w.tell(Answered, m, &all, m.node, 0, arrives, m.lane.c.local())
	if arrives < 0 {
		w.recycle(m)
		return
	}
	w.post(arrives, evReply, m)
}

// awaited says that somebody still waits for the answer to a message.
func (m *message) awaited() bool { return m.to != nil || m.lane.out && m.lane.gen == m.gen }

// hear gives the client the replies, unless it has given the message up.
func (w *world) hear(m *message) {
	if m.conn != nil {
		w.hearBytes(m, false)
	} else if m.awaited() {
		local := m.lane.c.local()
		for i := range m.parts {
			x := &m.parts[i]
			w.tell(Heard, m, x, m.node, m.replies[x.at].Status, 0, local)
		}
		w.settle(m)
	}
	w.recycle(m)
}

// refused tells the client that its message was not taken.
func (w *world) refused(m *message) {
	if m.conn != nil {
		w.hearBytes(m, true)
	} else if m.awaited() {
		m.replies = m.replies[:0]
		for i := range m.parts {
			m.replies = append(m.replies, redlock.Reply{Err: errRefused})
			w.tell(Heard, m, &m.parts[i], m.node, 0, 0, m.lane.c.local())
		}
		w.settle(m)
	}
	w.recycle(m)
}

// settle gives the replies of a message to the lane that it is of or, if it is a
// loose one, to whoever asked.
func (w *world) settle(m *message) {
	if m.to == nil {
		m.lane.settle(m.replies)
		return
	}
	for _, r := range m.replies {
		r.Node = m.node
		m.to.Receive(r)
	}
}
