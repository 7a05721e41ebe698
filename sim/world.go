package sim

import (
	"slices"
	"strings"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// kind is what an event is about. Of what happens at one instant, the lower
// kind comes first: a reply that arrives when its caller's patience ends is
// still heard.
type kind uint8

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
	machine
	node.Store
}

// message is one batch of requests on its way to a node and back.
type message struct {
	client, node int
	nth          uint32
	gen          uint32 // of the lane when it was sent: a reply to an older one finds nobody
	to           *call  // who waits for the reply to a loose one; nil: its lane does
	reqs         []*redlock.Request
	order        []int // in which the node executes them
	keys, owners []Text
	replies      []redlock.Reply
}

// world is one run: machines, messages under way and the queue of what is to
// come. It is used again from run to run, with all its memory.
type world struct {
	sc      Scenario
	now     int64
	seq     uint64
	queue   queue
	clients []*client
	nodes   []*server
	net     network.Network
	msgs    []message
	unused  []int32 // messages free to use
	writes  []write
	fences  []uint64 // the highest number that a resource has seen
	keys    []Text   // asked for in this run
	names   []string // nodes, resources, clients
	history History

	scheduler
}

// reset makes the world ready for a run of sc.
func (w *world) reset(sc Scenario) {
	w.sc, w.now, w.seq = sc, 0, 0
	w.queue.heap, w.keys = w.queue.heap[:0], w.keys[:0]
	w.history.reset(sc)
	w.unused = w.unused[:0]
	for i := len(w.msgs) - 1; i >= 0; i-- {
		w.unused = append(w.unused, int32(i))
	}
	for len(w.nodes) < len(sc.Nodes) {
		w.nodes = append(w.nodes, &server{Store: node.New(node.Config{})})
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
	w.scheduler.reset()
	for i, f := range sc.Faults {
		w.plan(i, &f)
	}
}

// rolledBack is how far back a fault of the node may take its writes: what its
// store must remember of them. Below 0: none does.
func rolledBack(faults []Fault, n *Node) clock.Duration {
	most := clock.Duration(-1)
	for i := range faults {
		if f := &faults[i]; f.On == n.Name && (f.Kind == "failover" || f.Kind == "crash") {
			most = max(most, f.By+1) // a node that is down writes nothing
		}
	}
	return most
}

// plan queues the begin and the end of a fault.
func (w *world) plan(i int, f *Fault) {
	m, c, n := w.machineOf(f.On)
	begin := int64(f.At)
	if f.Kind == "evict" || f.Kind == "flush" { // somebody has to do it
		if begin = past(m.paused, begin); begin == never || within(m.down, begin) {
			return
		}
	}
	w.push(begin, evFault, c, n, int32(i), 0)
	end := f.end()
	if f.Kind == "crash" && n >= 0 {
		end = m.serves(int64(f.At))
	}
	if end != never {
		w.push(end, evFault, c, n, int32(i), 1)
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
	w.queue.push(event{at: max(at, w.now), rank: rank(k, client&255, node&255, w.seq), a: a, b: b})
}

// note adds to the history an event of a client (or -1) and a node (or -1).
func (w *world) note(e Event) {
	e.At = w.now
	switch {
	case e.Kind == Stored: // a resource has no clock
	case e.Kind == Executed, e.Kind == Dropped, e.Kind == Holds, e.Client < 0 && e.Node >= 0:
		e.Local = w.nodes[e.Node].wall.at(w.now)
	case e.Client >= 0:
		e.Local = w.clients[e.Client].local()
	}
	w.history.add(e)
}

// step delivers what comes next and says whether that could have woken anybody.
// Timers of one client that tie come together: that one was set first is no
// order, when two strands of code raced to set them.
func (w *world) step() bool {
	tie := w.queue.heap[0].rank >> 48
	wakes := w.deliver()
	if k := kind(tie >> 8); k == evTimer || k == evWake {
		for len(w.queue.heap) > 0 && w.queue.heap[0].at == w.now && w.queue.heap[0].rank>>48 == tie {
			wakes = w.deliver() || wakes
		}
	}
	return wakes
}

// deliver takes one event from the queue.
func (w *world) deliver() (wakes bool) {
	e := w.queue.pop()
	w.now = e.at
	switch e.kind() {
	case evFault:
		w.fault(e)
		return false
	case evArrive:
		w.arrive(e.a)
		return false
	case evWrite:
		w.store(e.a)
		return false
	}
	c := w.clients[e.client()]
	switch at := past(c.paused, w.now); {
	case c.dead:
		return false
	case at == never:
		return false
	case at > w.now: // whatever it is, the client will see it when it runs again
		w.push(at, e.kind(), e.client(), e.node(), e.a, e.b)
		return false
	}
	switch e.kind() {
	case evReply:
		w.hear(e.a)
	case evWritten:
		w.written(e.a)
	case evRefused:
		w.refused(e.a)
	case evGiveUp:
		c.giveUp(int(e.a))
	case evStart:
		w.start(c.procs[e.a])
	case evTimer:
		w.fire(e)
	case evWake:
		w.wake(e)
	case evPoll:
	}
	return true
}

// ---- messages

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
	if m := &w.msgs[id]; m.to != nil {
		m.to = nil
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
		arrives = -1
	case fate.Refused:
		arrives = -2
	}
	for _, i := range m.order {
		w.note(Event{Kind: Sent, Op: reqs[i].Op, Client: int16(c.id), Node: int16(n), Proc: -1, Nth: m.nth, Key: m.keys[i], Owner: m.owners[i], Value: arrives})
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
		twin := w.newMessage()
		t := &w.msgs[twin]
		t.client, t.node, t.nth, t.gen, t.to = c.id, n, c.sent[n], gen-1, nil
		t.fill(w, reqs)
		w.push(fate.Again, evArrive, c.id, n, twin, 0)
	}
}

// fill copies the requests, since whoever sent them may give up first. A node
// executes those of one owner in their order; between owners there is none, so
// that of their values is taken: it does not hang on which strand asked first.
func (m *message) fill(w *world, reqs []*redlock.Request) {
	m.reqs = append(m.reqs[:0], reqs...)
	m.order, m.keys, m.owners = m.order[:0], m.keys[:0], m.owners[:0]
	for i, r := range reqs {
		m.order = append(m.order, i)
		m.keys = append(m.keys, w.history.text(r.Key))
		m.owners = append(m.owners, w.history.text(r.Owner))
	}
	if len(reqs) > 1 {
		slices.SortStableFunc(m.order, func(i, j int) int { return strings.Compare(reqs[i].Owner, reqs[j].Owner) })
	}
}

// arrive executes a message at its node, which may be down or paused.
func (w *world) arrive(id int32) {
	m := &w.msgs[id]
	at := w.sc.server(m.node)
	n := w.nodes[at]
	if within(n.down, w.now) {
		w.turnAway(id, within(n.refusing, w.now))
		return
	}
	if goes := past(n.paused, w.now); goes > w.now {
		if goes = n.crashes(w.now, goes); goes != never {
			w.push(goes, evArrive, m.client, m.node, id, 0)
		}
		return
	}
	m.replies = m.replies[:0]
	for range m.reqs {
		m.replies = append(m.replies, redlock.Reply{})
	}
	for _, i := range m.order {
		r := m.reqs[i]
		reply, when := n.Do(w.now, n.wall.at(w.now), r)
		m.replies[i] = reply
		if !slices.Contains(w.keys, m.keys[i]) {
			w.keys = append(w.keys, m.keys[i])
		}
		w.note(Event{Kind: Executed, Op: r.Op, Status: reply.Status, Client: int16(m.client), Node: int16(at), Proc: -1, Nth: m.nth, Key: m.keys[i], Owner: m.owners[i], Value: when})
	}
	w.answer(id)
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
	w.note(e)
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
	if fate.Lost || fate.Refused {
		arrives = -1
	}
	w.note(Event{Kind: Answered, Client: int16(m.client), Node: int16(m.node), Proc: -1, Nth: m.nth, Value: arrives})
	if arrives < 0 {
		w.recycle(id)
		return
	}
	w.push(fate.At, evReply, m.client, m.node, id, 0)
}

// hear gives the client the replies, unless it has given the message up.
func (w *world) hear(id int32) {
	m := &w.msgs[id]
	l := &w.clients[m.client].lanes[m.node]
	if m.to != nil || l.due != 0 && l.gen == m.gen {
		for _, i := range m.order {
			w.note(Event{Kind: Heard, Op: m.reqs[i].Op, Status: m.replies[i].Status, Client: int16(m.client), Node: int16(m.node), Proc: -1, Nth: m.nth, Key: m.keys[i], Owner: m.owners[i]})
		}
		w.settle(l, m)
	}
	w.recycle(id)
}

// refused tells the client that its message was not taken.
func (w *world) refused(id int32) {
	m := &w.msgs[id]
	if l := &w.clients[m.client].lanes[m.node]; m.to != nil || l.due != 0 && l.gen == m.gen {
		m.replies = m.replies[:0]
		for i, r := range m.reqs {
			m.replies = append(m.replies, redlock.Reply{Err: errRefused})
			w.note(Event{Kind: Heard, Op: r.Op, Client: int16(m.client), Node: int16(m.node), Proc: -1, Nth: m.nth, Key: m.keys[i], Owner: m.owners[i]})
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

// ---- faults

// fault begins or ends one. The clocks know of it already, and who pauses or is
// down is known too; what is left is what it does to a store or a process.
func (w *world) fault(e event) {
	f := &w.sc.Faults[e.a]
	_, c, n := w.machineOf(f.On)
	k := Faulted
	if e.b == 1 {
		k = Healed
	}
	if k == Healed && n >= 0 && f.Kind == "crash" {
		w.nodes[n].restart(w.now, w.sc.Nodes[n].Persistence, f)
		if within(w.nodes[n].down, w.now) { // it has crashed again, in its quarantine
			return
		}
	}
	w.note(Event{Kind: k, Client: int16(c), Node: int16(n), Proc: -1, Value: int64(e.a)})
	switch {
	case c >= 0:
		if f.Kind == "crash" {
			w.bury(w.clients[c])
		}
	case f.Kind == "crash":
		if k == Healed {
			w.tellHolders(n)
		}
	case f.Kind == "evict":
		w.nodes[n].Evict(w.now, f.Key)
		w.tellHolders(n)
	case f.Kind == "flush":
		w.nodes[n].Flush(w.now)
		w.tellHolders(n)
	case f.Kind == "failover":
		w.nodes[n].Rollback(int64(f.At - f.By))
		w.tellHolders(n)
	}
}

// restart loses what the node's persistence does not keep.
func (n *server) restart(now int64, p node.Persistence, f *Fault) {
	switch p {
	case node.EverySecond, node.Snapshot:
		n.Rollback(int64(f.At - f.By))
	case node.Always:
	default:
		n.Flush(now)
	}
}

// tellHolders notes whose every key is on a node after a fault.
func (w *world) tellHolders(n int) {
	s := w.nodes[n]
	for _, k := range w.keys {
		owner, when, ok := s.Holder(s.wall.at(w.now), w.history.Text(k))
		if !ok {
			owner, when = "", 0
		}
		w.note(Event{Kind: Holds, Client: -1, Node: int16(n), Proc: -1, Key: k, Owner: w.history.text(owner), Value: when})
	}
}
