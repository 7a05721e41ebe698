package sim

import (
	"context"
	"slices"

	"driftlock/redlock"
	"driftlock/sim/network"
	"driftlock/sim/node"
	"driftlock/sim/queue"
)

// kind is what an event is about. Of what happens at one instant, the lower
// kind comes first: a reply that arrives when its caller's patience ends is
// still heard.
type kind = uint8

const (
	evFault   kind = iota // a fault begins (b = 0) or ends (b = 1); a: its index
	evArrive              // a message reaches its node; a: the message
	evWrite               // a write reaches its resource; a: the write
	evReply               // its reply reaches the client; a: the message
	evWritten             // its answer reaches the client; a: the write
	evRefused             // the client hears that its message was refused; a: the message
	evGiveUp              // a connection gives up; a: the node
	evStart               // a process begins; a: its number
	evTimer               // an AfterFunc is due; a: its slot, b: its generation
	evWake                // a parked routine is due; a: the routine
	evPoll                // a client that slept through the end of the run looks at its contexts
)

// server is one node of a scenario: a machine with a store.
type server struct {
	serves  int  // the number of the node that requests to this one reach: its own, unless it is an alias
	aliased bool // another node is an alias of it
	node.Store
	dial dial // its wall clock
	machine

	// Of keys that are reached over connections: whether a lock's, and who has set them.
	locks map[string]bool
	setBy map[string]int
}

// world is one run: machines, messages under way and the queue of what is to
// come. It is used again from run to run, with all its memory.
type world struct {
	sc      Scenario
	now     int64
	still   int    // steps since it moved
	took    uint64 // of the event that was delivered last: its kind and client
	seq     uint64
	queue   queue.Queue
	effort  Effort
	clients []*client
	nodes   []*server
	net     network.Network
	msgs    []*message
	unused  []*message // free to use
	writes  []write
	fences  []uint64 // the highest number that a resource has seen
	keys    []Text   // asked for in this run

	newStore func(node.Config) node.Store

	factor, retry redlock.Option // of the scenario's lock
	names         []string       // nodes, resources, clients
	history       History

	underWay           bool             // a batch is given up: what its lane tells of may yet be executed
	last               *redlock.Request // the one that was sent last: it goes to several nodes
	lastKey, lastOwner Text             // its texts

	scheduler
	shared map[string]any
	bubble *bubble // it drives the run, in the place of the scheduler; nil: the scheduler does
	spent  *bubble // that of the last run: its memory is used again
}

// reset makes the world ready for a run of its scenario.
func (w *world) reset() {
	sc := &w.sc
	w.now, w.still, w.seq, w.bubble = 0, 0, 0, nil
	w.shared = nil
	w.queue.Reset()
	w.keys, w.effort = w.keys[:0], Effort{}
	w.history.reset(sc)
	w.unused = append(w.unused[:0], w.msgs...)
	for _, m := range w.msgs { // some were still under way when the last run ended
		m.to, m.conn, m.data = nil, nil, nil
	}
	for len(w.nodes) < len(sc.Nodes) {
		w.nodes = append(w.nodes, &server{Store: w.newStore(node.Config{})})
	}
	for len(w.clients) < len(sc.Clients) {
		w.clients = append(w.clients, &client{w: w, id: len(w.clients)})
	}
	w.names = w.names[:0]
	for i := range sc.Nodes {
		n, c := w.nodes[i], &sc.Nodes[i]
		n.set(c.Clock, sc.Faults, c.Name, &c.Config)
		keeps := c.Config
		keeps.Horizon = rolledBack(sc.Faults, c)
		n.Store.Reset(keeps)
		n.dial = n.wall.dial()
		n.serves = sc.server(i)
		n.aliased = slices.ContainsFunc(sc.Nodes, func(o Node) bool { return o.Alias == c.Name })
		clear(n.locks)
		clear(n.setBy)
		w.names = append(w.names, c.Name)
	}
	for i := range sc.Resources {
		w.names = append(w.names, sc.Resources[i].Name)
	}
	places := len(w.names)
	for i := range sc.Clients {
		w.clients[i].reset(&sc.Clients[i])
		w.names = append(w.names, sc.Clients[i].Name)
	}
	w.writes, w.fences = w.writes[:0], append(w.fences[:0], make([]uint64, len(sc.Resources))...)
	w.net.Reset(sc.Network, sc.Seed, w.names[places:], w.names[:places])
	w.last, w.factor, w.retry = nil, sc.Lock.factor(), redlock.WithRetry(sc.Lock.Retry.policy())
	w.scheduler.reset()
	for i, f := range sc.Faults {
		w.pauses = w.pauses || f.Kind == "pause" || f.Kind == "suspend"
		w.plan(i, &f)
	}
}

// server is the number of the node that requests to a node reach: its own, or
// another's of which it is an alias.
func (s *Scenario) server(i int) int {
	if alias := s.Nodes[i].Alias; alias != "" {
		for j := range s.Nodes {
			if s.Nodes[j].Name == alias {
				return j
			}
		}
	}
	return i
}

// machineOf finds a machine by its name: a client's or a node's number, or -1.
func (w *world) machineOf(name string) (m *machine, client, node int) {
	for i := range w.sc.Nodes {
		if w.sc.Nodes[i].Name == name {
			return &w.nodes[i].machine, -1, i
		}
	}
	for i := range w.sc.Clients {
		if w.sc.Clients[i].Name == name {
			return &w.clients[i].machine, i, -1
		}
	}
	panic("sim: a fault on no machine: " + name) // Check has refused it
}

// push queues an event; client and node are -1 for none.
func (w *world) push(at int64, k kind, client, node int, a int32, b uint32) {
	w.seq++
	w.queue.Push(queue.Event{At: max(at, w.now), Rank: queue.Rank(k, client, node, w.seq), A: a, B: b})
}

// post queues what happens to a message next.
func (w *world) post(at int64, k kind, m *message) {
	w.seq++
	w.queue.Push(queue.Event{At: max(at, w.now), Rank: m.lane.rank | queue.Rank(k, 0, 0, w.seq), A: m.id})
}

// note adds to the history an event of a client (or -1) and a node (or -1).
func (w *world) note(e *Event) {
	switch {
	case e.Kind == Stored: // a resource has no clock
	case e.Kind == Executed, e.Kind == Dropped, e.Kind == Holds, e.Client < 0 && e.Node >= 0:
		e.Local = w.nodes[e.Node].dial.at(w.now)
	case e.Client >= 0:
		e.Local = w.clients[e.Client].local()
	}
	w.add(e)
}

// add adds an event that has its reading. The process that goes on though the history
// is full is put aside: it may never wait again.
func (w *world) add(e *Event) {
	e.At = w.now
	h := &w.history
	h.add(e)
	if r := w.cur; h.full && r != nil && !r.killed {
		r.park(context.Background(), never, nil)
	}
}

// tell adds to the history what happened to a message, or to a part of it. There are
// many of these: it is add, done by hand.
func (w *world) tell(k EventKind, m *message, x *part, node int, status redlock.Status, value, local int64) {
	h, now, client, at := &w.history, w.now, int16(m.client), int16(node)
	n := len(h.events)
	if n >= h.room {
		w.add(&Event{Local: local, Value: value, Kind: k, Op: x.op, Status: status, Client: client, Node: at, Proc: -1, Nth: m.nth, Key: x.key, Owner: x.owner})
		return
	}
	h.events = h.events[:n+1]
	e := &h.events[n]
	e.At, e.Local, e.Value = now, local, value
	e.Kind, e.Op, e.Status = k, x.op, status
	e.Client, e.Node, e.Proc, e.Nth = client, at, -1, m.nth
	e.Key, e.Owner, e.Note = x.key, x.owner, 0
	sum := fold(h.hash.sum, uint64(now))
	sum = fold(sum, uint64(local))
	sum = fold(sum, uint64(value))
	sum = fold(sum, what(k, x.op, status, client, at, -1))
	sum = fold(sum, pair(int32(m.nth), x.key))
	h.hash.sum = fold(sum, pair(int32(x.owner), 0))
}

// all is what tell is told of a message as a whole.
var all part

// deliver takes one event from the queue, and says whether that could have woken
// anybody.
func (w *world) deliver() (wakes bool) {
	w.effort.Events++
	w.effort.depths += w.queue.Len()
	e := w.queue.Pop()
	if w.still++; e.At > w.now {
		w.still = 0
	} else if w.still > w.history.most { // timers that set each other are no events of the history
		w.history.fill()
	}
	w.now, w.took = e.At, e.Rank>>48
	switch e.Kind() {
	case evArrive:
		w.arrive(w.msgs[e.A])
		return false
	case evFault:
		w.fault(e)
		return false
	case evWrite:
		w.store(e.A)
		return false
	}
	c := w.clients[e.Client()]
	if (c.dead || len(c.paused) > 0) && w.passes(c, e) {
		return false
	}
	switch e.Kind() {
	case evReply:
		w.hear(w.msgs[e.A])
	case evWritten:
		w.written(e.A)
	case evRefused:
		w.refused(w.msgs[e.A])
	case evGiveUp:
		c.giveUp(int(e.A))
	case evStart:
		w.start(c.procs[e.A])
	case evTimer:
		w.fire(e)
	case evWake:
		w.wake(e)
	case evPoll:
		w.poll(c)
	}
	return true
}

// tied says that a timer has been delivered and the next is one of the same client, at
// the same instant. They come together: that one was set first is no order, when two
// strands of code raced to set them.
func (w *world) tied() bool {
	k := kind(w.took >> 8)
	return (k == evTimer || k == evWake) && w.queue.Next() == w.now && w.queue.First().Rank>>48 == w.took
}

// passes says that an event passes its client by, which is dead or stands still. In
// the second case it comes again: whatever it is, the client sees it when it runs.
func (w *world) passes(c *client, e queue.Event) bool {
	switch at := past(c.paused, w.now); {
	case c.dead:
		if k := e.Kind(); (k == evReply || k == evRefused) && w.msgs[e.A].conn != nil {
			w.recycle(w.msgs[e.A])
		}
		return true
	case at == never:
		return true
	case at > w.now:
		w.push(at, e.Kind(), e.Client(), e.Node(), e.A, e.B)
		return true
	}
	return false
}
