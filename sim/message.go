package sim

import (
	"fmt"
	"slices"
	"strings"

	"driftlock/redlock"
	"driftlock/sim/network"
)

// The way of a message: a batch of requests goes to its node, is carried out there
// or not, and its replies come back or do not.

// message is one batch of requests on its way to a node and back.
type message struct {
	client, node int
	nth          uint32
	gen          uint32 // of the lane when it was sent: a reply to an older one finds nobody
	conn         *conn  // over which it came: then there are bytes, and no requests
	data         []byte
	done         []Event // what of it was asked of a lock's keys
	to           *call   // who waits for the reply to a loose one; nil: its lane does
	parts        []part  // in the order in which the node executes them
	replies      []redlock.Reply
	copies       []redlock.Request // those of a second copy
}

// part is one request of a batch. It stays as it is until a lane has told of it, and
// for ever if that was an error: whoever sent it may give up before the node has it.
type part struct {
	req        *redlock.Request
	key, owner Text
	at         int32 // its place in the batch
}

// errRefused is what a client hears from a connection that is not taken.
var errRefused = fmt.Errorf("%w: connection refused", redlock.ErrUnsent)

// newMessage returns the number of a message that is free to use. It may move
// w.msgs.
func (w *world) newMessage() int32 {
	if k := len(w.unused); k > 0 {
		id := w.unused[k-1]
		w.unused = w.unused[:k-1]
		return id
	}
	w.msgs = append(w.msgs, message{})
	return int32(len(w.msgs) - 1)
}

// recycle lets go of a message.
func (w *world) recycle(id int32) {
	if m := &w.msgs[id]; m.to != nil || m.conn != nil {
		m.to, m.conn, m.data = nil, nil, nil
		w.out--
	}
	w.unused = append(w.unused, id)
}

// sendLoose puts one request on the wire, on a connection of its own: nothing
// keeps it in order with others. Whatever becomes of it, the run waits for it.
func (w *world) sendLoose(c *client, n int, req *redlock.Request, to *call) {
	w.out++
	w.send(c, n, []*redlock.Request{req}, c.lanes[n].gen, to)
}

// send puts a batch on the wire.
func (w *world) send(c *client, n int, reqs []*redlock.Request, gen uint32, to *call) {
	id := w.newMessage()
	m := &w.msgs[id]
	c.sent[n]++
	m.client, m.node, m.nth, m.gen, m.to = c.id, n, c.sent[n], gen, to
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
		w.recycle(id)
	case fate.Refused:
		w.push(fate.At, evRefused, c.id, n, id, 0)
	default:
		w.push(fate.At, evArrive, c.id, n, id, 0)
	}
	if fate.Again != 0 && !fate.Lost && !fate.Refused {
		w.double(id, fate.Again)
	}
}

// double has a second copy of a message arrive. The requests are its own: the first copy
// may have long been answered by then.
func (w *world) double(id int32, at int64) {
	twin := w.newMessage()
	m, t := &w.msgs[id], &w.msgs[twin]
	t.client, t.node, t.nth, t.gen, t.to = m.client, m.node, m.nth, m.gen-1, nil
	t.parts, t.copies = append(t.parts[:0], m.parts...), t.copies[:0]
	for i := range t.parts {
		t.copies = append(t.copies, *t.parts[i].req)
	}
	for i := range t.parts {
		t.parts[i].req = &t.copies[i]
	}
	w.push(at, evArrive, t.client, t.node, twin, 0)
}

// fill takes in the requests. A node executes those of one owner in their order;
// between owners there is none, so that of their values is taken: it does not hang
// on which strand asked first.
func (m *message) fill(w *world, reqs []*redlock.Request) {
	m.parts = m.parts[:0]
	for i, r := range reqs {
		if r != w.last {
			w.last, w.lastKey, w.lastOwner = r, w.history.text(r.Key), w.history.text(r.Owner)
		}
		m.parts = append(m.parts, part{r, w.lastKey, w.lastOwner, int32(i)})
	}
	if len(reqs) > 1 {
		slices.SortStableFunc(m.parts, func(a, b part) int { return strings.Compare(a.req.Owner, b.req.Owner) })
	}
}

// arrive executes a message at its node, which may be down or paused.
func (w *world) arrive(id int32) {
	m := &w.msgs[id]
	at := w.nodes[m.node].serves
	n := w.nodes[at]
	if len(n.away) > 0 && w.keptOut(id, n) {
		return
	}
	if m.conn != nil {
		w.serve(id)
		return
	}
	m.replies = m.replies[:0]
	for range m.parts {
		m.replies = append(m.replies, redlock.Reply{})
	}
	local := n.dial.at(w.now)
	for i := range m.parts {
		x := &m.parts[i]
		reply, when := n.Do(w.now, local, x.req)
		m.replies[x.at] = reply
		if !slices.Contains(w.keys, x.key) {
			w.keys = append(w.keys, x.key)
		}
		w.tell(Executed, m, x, at, reply.Status, when, local)
	}
	w.answer(id)
}

// keptOut says that a message finds its node down, or standing still until later.
func (w *world) keptOut(id int32, n *server) bool {
	if within(n.down, w.now) {
		w.turnAway(id, within(n.refusing, w.now))
		return true
	}
	goes := past(n.paused, w.now)
	if goes == w.now {
		return false
	}
	if goes = n.crashes(w.now, goes); goes != never {
		m := &w.msgs[id]
		w.push(goes, evArrive, m.client, m.node, id, 0)
	}
	return true
}

// turnAway is what a node that is down does with a message: nothing, or its host
// refuses it.
func (w *world) turnAway(id int32, refuse bool) {
	m := &w.msgs[id]
	e := Event{Kind: Dropped, Client: int16(m.client), Node: int16(m.node), Proc: -1, Nth: m.nth}
	if refuse {
		if fate := w.net.Send(w.now, network.Message{Client: m.client, Node: m.node, Nth: m.nth, Reply: true}); !fate.Lost {
			e.Value = fate.At
		}
	}
	w.note(&e)
	if e.Value == 0 {
		w.recycle(id)
		return
	}
	w.push(e.Value, evRefused, m.client, m.node, id, 0)
}

// answer sends the replies of a message back.
func (w *world) answer(id int32) {
	m := &w.msgs[id]
	fate := w.net.Send(w.now, network.Message{Client: m.client, Node: m.node, Nth: m.nth, Reply: true})
	arrives := fate.At
	if c := m.conn; c != nil {
		if arrives = max(arrives, c.heard); fate.Lost || fate.Refused || c.cut {
			c.cut = true
		} else {
			c.heard = arrives
		}
	}
	if fate.Lost || fate.Refused || m.conn != nil && m.conn.cut {
		arrives = LostOnWay
	}
	w.tell(Answered, m, &all, m.node, 0, arrives, w.clients[m.client].local())
	if arrives < 0 {
		w.recycle(id)
		return
	}
	w.push(arrives, evReply, m.client, m.node, id, 0)
}

// hear gives the client the replies, unless it has given the message up.
func (w *world) hear(id int32) {
	m := &w.msgs[id]
	l := &w.clients[m.client].lanes[m.node]
	if m.conn != nil {
		w.hearBytes(m, false)
	} else if m.to != nil || l.out && l.gen == m.gen {
		local := w.clients[m.client].local()
		for i := range m.parts {
			x := &m.parts[i]
			w.tell(Heard, m, x, m.node, m.replies[x.at].Status, 0, local)
		}
		w.settle(l, m)
	}
	w.recycle(id)
}

// refused tells the client that its message was not taken.
func (w *world) refused(id int32) {
	m := &w.msgs[id]
	if m.conn != nil {
		w.hearBytes(m, true)
	} else if l := &w.clients[m.client].lanes[m.node]; m.to != nil || l.out && l.gen == m.gen {
		m.replies = m.replies[:0]
		for i := range m.parts {
			m.replies = append(m.replies, redlock.Reply{Err: errRefused})
			w.tell(Heard, m, &m.parts[i], m.node, 0, 0, l.c.local())
		}
		w.settle(l, m)
	}
	w.recycle(id)
}

// settle gives the replies of a message to the lane that it is of or, if it is a
// loose one, to whoever asked.
func (w *world) settle(l *lane, m *message) {
	if m.to == nil {
		l.settle(m.replies)
		return
	}
	for _, r := range m.replies {
		r.Node = m.node
		m.to.Receive(r)
	}
}
