package sim

// Connections: bytes over the simulated network, for clients of a store that speak
// its protocol themselves. What is written at once is one message. It arrives in the
// order of its connection; what is lost leaves a connection over which nothing comes
// any more, as with a link that is cut. Who waits finds that out by its own timeout.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"driftlock/redlock"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// A Protocol is what one node speaks over connections (Process.Dial). Package
// sim/simredis has that of Redis. All it is told comes from one goroutine.
type Protocol interface {
	// Split says how many bytes at the head of b are whole requests, whether these do
	// no more than set a connection up, and what they are, for the history. Setting up
	// counts not among a client's messages to a node: a rule about the 3rd is about
	// the 3rd that asks for something.
	Split(b []byte) (n int, setup bool, text string)

	// Serve carries out whole requests at the node and returns the answers.
	Serve(k *Keys, b []byte) []byte

	// Restart loses what a crash loses beside the keys.
	Restart()
}

// Speaks gives each node a protocol, new for each run. It is for runs in a bubble.
func Speaks(protocol func() Protocol) Option { return func(o *options) { o.protocol = protocol } }

// Keys are a node's keys, while it carries out what one message asks for.
type Keys struct {
	w  *world
	m  *message
	at int // the node
}

// Wall is what the node's wall clock says, in nanoseconds.
func (k *Keys) Wall() int64 { return k.w.nodes[k.at].wall.at(k.w.now) }

// Get is a key's value and its expiry reading in whole milliseconds: node.Forever
// and above for none.
func (k *Keys) Get(key string) (value string, when int64, ok bool) {
	return k.w.nodes[k.at].Holder(k.Wall(), key)
}

// Do carries a request out. What sets a key that is to be free, for a time, is taken for
// a lock's: from then on the run's verdict follows that key.
func (k *Keys) Do(req *redlock.Request) (reply redlock.Reply) {
	w, n := k.w, k.w.nodes[k.at]
	when := n.Do(w.now, k.Wall(), req, &reply)
	if req.Op == redlock.OpAcquire && !n.locks[req.Key] {
		if n.locks == nil {
			n.locks = make(map[string]bool)
		}
		n.locks[req.Key] = true
	}
	if n.locks[req.Key] {
		key, owner := w.history.text(req.Key), w.history.text(req.Owner)
		if !slices.Contains(w.keys, key) {
			w.keys = append(w.keys, key)
		}
		if req.Op == redlock.OpAcquire {
			k.asked(req)
		}
		e := Event{Kind: Executed, Op: req.Op, Status: reply.Status, Client: int16(k.m.client), Node: int16(k.at), Proc: -1, Nth: k.m.nth, Key: key, Owner: owner, Value: when}
		w.note(&e)
		k.m.done = append(k.m.done, e)
	}
	if reply.Status == redlock.Done && node.Acquires(req.Op) {
		if n.setBy == nil {
			n.setBy = make(map[string]int)
		}
		n.setBy[req.Key] = k.m.client
	}
	return reply
}

// Mine says whether the client that asks has set the key.
func (k *Keys) Mine(key string) bool {
	by, ok := k.w.nodes[k.at].setBy[key]
	return ok && by == k.m.client
}

// asked notes that a process has begun to ask for a key with this value. Of code that
// does so by itself nobody knows when it is done with an attempt that failed: that is for
// a Witness to tell.
func (k *Keys) asked(req *redlock.Request) {
	b, p := k.w.bubble, k.m.conn.p
	b.mu.Lock()
	defer b.mu.Unlock()
	e := Event{Kind: Asked, Op: req.Op, Key: b.number(req.Key), Owner: b.number(req.Owner), Value: int64(k.w.giveUp()), Client: int16(p.c.id), Node: -1, Proc: int16(p.n)}
	if slices.ContainsFunc(p.mine, func(o Event) bool { return o.Kind == Asked && o.Owner == e.Owner && o.Key == e.Key }) {
		return
	}
	p.mine = append(p.mine, e)
	p.ttl.Store(int64(req.TTL))
	if p.wants {
		e.Key, e.Owner = b.realText(e.Key), b.realText(e.Owner)
		k.w.note(&e)
	}
}

// Addr is the address of a node for Process.Dial: a numeric one, so that nobody looks
// it up.
func (p *Process) Addr(name string) string {
	for i := range p.c.w.sc.Nodes {
		if p.c.w.sc.Nodes[i].Name == name {
			return address(i)
		}
	}
	panic(fmt.Sprintf("sim: the scenario has no node %q", name))
}

// Addrs are the addresses of all nodes.
func (p *Process) Addrs() []string {
	var list []string
	for i := range p.c.w.sc.Nodes {
		list = append(list, address(i))
	}
	return list
}

// Nodes are the names of all nodes.
func (p *Process) Nodes() []string {
	var list []string
	for i := range p.c.w.sc.Nodes {
		list = append(list, p.c.w.sc.Nodes[i].Name)
	}
	return list
}

// address is in a net that is kept free for documentation.
func address(node int) string { return fmt.Sprintf("192.0.2.%d:6379", node+1) }

// Dial connects the process's client to a node over the simulated network. It is for
// runs in a bubble, and has the form of net.Dialer.DialContext. Deadlines of the
// connection pass on the client's clock.
func (p *Process) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	b := p.c.w.bubble
	if b == nil || b.protocols == nil {
		return nil, errors.New("sim: Dial is for runs in a bubble (simtest.Bubble, simtest.InBubble)")
	}
	for i := range p.c.w.sc.Nodes {
		if addr != address(i) {
			continue
		}
		if !b.touch(p.c) {
			return nil, &net.OpError{Op: "dial", Net: network, Addr: simAddr(addr), Err: ErrEnded}
		}
		c := &conn{b: b, p: p, node: i, ready: make(chan struct{}, 1), born: b.now()}
		c.patience = bubbleClock{b, p.c, nil}.timer(&bubbleTimer{ch: make(chan time.Time, 1)}, time.Hour)
		c.patience.Stop()
		b.mu.Lock()
		b.conns = append(b.conns, c)
		b.sends = append(b.sends, send{conn: c, setup: true, text: "connect"})
		b.poke()
		b.mu.Unlock()
		if err := c.await(ctx, func() bool { return c.up }); err != nil {
			c.Close()
			return nil, &net.OpError{Op: "dial", Net: network, Addr: simAddr(addr), Err: err}
		}
		return c, nil
	}
	return nil, &net.OpError{Op: "dial", Net: network, Addr: simAddr(addr), Err: fmt.Errorf("no node has that address: there are %s", strings.Join(p.Addrs(), ", "))}
}

// simAddr is an address of the simulated network.
type simAddr string

func (a simAddr) Network() string { return "tcp" }
func (a simAddr) String() string  { return string(a) }

// conn is a process's connection to a node.
type conn struct {
	b        *bubble
	p        *Process
	node     int
	born     int64         // true time
	ready    chan struct{} // something has changed; room for one
	patience *bubbleTimer  // the read deadline

	// Guarded by the bubble's mu.
	up     bool // the node has taken the connection
	closed bool
	err    error // why it ended
	in     bytes.Buffer
	out    []byte // the head of a request

	// The driver's.
	sent, heard int64 // true times at which the last message each way arrives
	cut         bool  // something was lost: nothing after it arrives
}

// send is what a process has written at once.
type send struct {
	conn  *conn
	data  []byte
	setup bool
	text  string
}

// await waits until something is so, and says what ended the wait instead.
func (c *conn) await(ctx context.Context, so func() bool) error {
	for {
		c.b.mu.Lock()
		done, closed, err := so(), c.closed, c.err
		c.b.mu.Unlock()
		switch {
		case done:
			return nil
		case closed:
			return net.ErrClosed
		case err != nil:
			return err
		}
		select {
		case <-c.ready:
		case <-c.patience.ch:
			c.patience.ch <- time.Time{} // it has passed for the next Read too
			return os.ErrDeadlineExceeded
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.b.ended:
			return net.ErrClosed
		}
	}
}

// Read is net.Conn's.
func (c *conn) Read(buf []byte) (int, error) {
	if !c.b.touch(c.p.c) {
		return 0, net.ErrClosed
	}
	if err := c.await(context.Background(), func() bool { return c.in.Len() > 0 }); err != nil {
		return 0, c.failed("read", err)
	}
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	return c.in.Read(buf)
}

// Write is net.Conn's. It does not wait.
func (c *conn) Write(buf []byte) (int, error) {
	if !c.b.touch(c.p.c) {
		return 0, net.ErrClosed
	}
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	switch {
	case c.closed:
		return 0, c.failed("write", net.ErrClosed)
	case c.err != nil:
		return 0, c.failed("write", c.err)
	}
	c.out = append(c.out, buf...)
	if n, setup, text := c.b.protocols[c.node].Split(c.out); n > 0 {
		c.b.sends = append(c.b.sends, send{c, slices.Clone(c.out[:n]), setup, text})
		c.out = append(c.out[:0], c.out[n:]...)
		c.b.poke()
	}
	return len(buf), nil
}

func (c *conn) failed(op string, err error) error {
	if err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// Close is net.Conn's.
func (c *conn) Close() error {
	c.b.mu.Lock()
	c.closed = true
	c.poke()
	c.b.mu.Unlock()
	c.patience.Stop()
	return nil
}

// poke tells a Read that something has changed. Mu is held.
func (c *conn) poke() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// LocalAddr is net.Conn's.
func (c *conn) LocalAddr() net.Addr { return simAddr(fmt.Sprintf("198.51.100.%d:1", c.p.c.id+1)) }

// RemoteAddr is net.Conn's.
func (c *conn) RemoteAddr() net.Addr { return simAddr(address(c.node)) }

// SetDeadline is net.Conn's. A Write never waits.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline is net.Conn's.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline is net.Conn's. T is of package time; what is left until then passes
// on the client's clock.
func (c *conn) SetReadDeadline(t time.Time) error {
	if c.patience.Stop(); !t.IsZero() {
		c.patience.Reset(time.Until(t))
	}
	return nil
}

// ---- the driver's side

// takeSends puts on the wire what was written. Mu is held.
func (b *bubble) takeSends() {
	if len(b.sends) > 1 {
		slices.SortStableFunc(b.sends, func(x, y send) int {
			return cmp.Or(first(x.conn.p, y.conn.p), cmp.Compare(x.conn.node, y.conn.node), bytes.Compare(x.data, y.data))
		})
	}
	for _, s := range b.sends {
		if !s.conn.p.c.dead {
			b.w.sendBytes(s)
		}
	}
	b.sends = b.sends[:0]
}

// setups is where the numbers of messages begin that set a connection up.
const setups = 1 << 31

// sendBytes is send for a connection. A message of its has no twin: the network may
// carry a packet twice, but a connection drops the second.
func (w *world) sendBytes(s send) {
	c, n := s.conn.p.c, s.conn.node
	m := w.newMessage(&c.lanes[n])
	m.gen, m.to, m.conn, m.data, m.done = 0, nil, s.conn, s.data, m.done[:0]
	m.fill(w, nil)
	if s.setup {
		for len(c.setups) <= n {
			c.setups = append(c.setups, 0)
		}
		c.setups[n]++
		m.nth = setups + c.setups[n]
	} else {
		c.sent[n]++
		m.nth = c.sent[n]
	}
	w.out++
	fate := w.net.Send(w.now, network.Message{Client: c.id, Node: n, Nth: m.nth})
	arrives := max(fate.At, s.conn.sent)
	switch {
	case fate.Lost, s.conn.cut:
		s.conn.cut = true
		arrives = LostOnWay
	case fate.Refused:
		arrives = RefusedByHost
	default:
		s.conn.sent = arrives
	}
	w.note(&Event{Kind: Sent, Op: node.OpCommand, Client: int16(c.id), Node: int16(n), Proc: -1, Nth: m.nth, Note: w.history.text(s.text), Value: arrives})
	switch arrives {
	case LostOnWay:
		w.recycle(m)
	case RefusedByHost:
		w.post(fate.At, evRefused, m)
	default:
		w.post(arrives, evArrive, m)
	}
}

// serve carries out at its node what came over a connection. One that is older than a
// crash of the node is reset. The answers to one come in their order, and none after
// one that is lost.
func (w *world) serve(m *message) {
	c, at := m.conn, w.nodes[m.node].serves
	if w.nodes[at].crashes(c.born, w.now) < w.now {
		w.turnAway(m, true)
		return
	}
	if m.data != nil {
		m.data = w.bubble.protocols[at].Serve(&Keys{w, m, at}, m.data)
	}
	fate := w.reply(m)
	if fate.Lost || fate.Refused {
		c.cut = true
	}
	if c.cut {
		w.answer(m, LostOnWay)
		return
	}
	c.heard = max(c.heard, fate.At)
	w.answer(m, c.heard)
}

// hearBytes gives a process what came back, or the end of its connection.
func (w *world) hearBytes(m *message, refused bool) {
	b, c := w.bubble, m.conn
	e := Event{Kind: Heard, Op: node.OpCommand, Client: int16(m.client), Node: int16(m.node), Proc: -1, Nth: m.nth}
	if w.note(&e); !refused {
		for _, x := range m.done {
			e.Op, e.Status, e.Key, e.Owner = x.Op, x.Status, x.Key, x.Owner
			w.note(&e)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case refused && c.up:
		c.err = syscall.ECONNRESET
	case refused:
		c.err = syscall.ECONNREFUSED
	default:
		c.up = true
		c.in.Write(m.data)
	}
	c.poke()
	b.woke = true
}
