package sim

import (
	"context"
	"errors"
	"fmt"

	"driftlock/redlock"
	"driftlock/sim/network"
)

// A Resource is what the lock protects, as a process sees it: something beyond
// the network that takes writes. What it makes of their fence numbers its
// scenario says.
type Resource struct {
	p *Process
	n int // among the scenario's resources
}

// Resource returns a resource of the scenario, by its name.
func (p *Process) Resource(name string) *Resource {
	for i := range p.c.w.sc.Resources {
		if p.c.w.sc.Resources[i].Name == name {
			return &Resource{p, i}
		}
	}
	panic(fmt.Sprintf("sim: the scenario has no resource %q", name))
}

// ErrStale says that a resource refused a write: its fence number is lower than
// one that the resource has seen, or it has none.
var ErrStale = errors.New("sim: the resource refused a stale write")

// Write writes without a fence number. It returns when the resource has
// answered, nil or ErrStale; ErrNoAnswer of package redlock when the client's
// connection gave up; or the cause of ctx. A write under way stays so.
func (r *Resource) Write(ctx context.Context) error { return r.WriteFenced(ctx, 0) }

// WriteFenced is Write with the fence number of a token; 0 is none.
func (r *Resource) WriteFenced(ctx context.Context, fence uint64) error {
	c, w := r.p.c, r.p.c.w
	if w.bubble != nil {
		return w.bubble.write(ctx, r, fence)
	}
	rt := w.running("Write", c)
	if rt.refused() {
		return ErrEnded
	}
	x := w.newCall()
	x.begin(rt, 1)
	defer x.leave()
	due := c.when(later(c.local(), w.giveUp()))
	w.write(c, r.n, fence, rt.number(), x)
	for rt.rang = false; len(x.got) == 0; rt.park(ctx, due, x) {
		switch {
		case ctx.Err() != nil:
			rt.spin()
			return context.Cause(ctx)
		case rt.rang:
			return redlock.ErrNoAnswer
		case rt.refused():
			return ErrEnded
		}
	}
	if x.got[0].Status != redlock.Done {
		return ErrStale
	}
	return nil
}

// write is one write on its way.
type write struct {
	client, resource int
	nth              uint32
	fence            uint64
	reply            redlock.Reply
	call             redlock.Receiver
}

// A resource's number on the network comes after the nodes'.
func (w *world) onNetwork(resource int) int { return len(w.sc.Nodes) + resource }

// write puts a write on the wire.
func (w *world) write(c *client, resource int, fence uint64, proc int16, x redlock.Receiver) {
	at := w.onNetwork(resource)
	for len(c.sent) <= at {
		c.sent = append(c.sent, 0)
	}
	c.sent[at]++
	id := int32(len(w.writes))
	w.writes = append(w.writes, write{client: c.id, resource: resource, nth: c.sent[at], fence: fence, call: x})
	fate := w.net.Send(w.now, network.Message{Client: c.id, Node: at, Nth: c.sent[at]})
	e := Event{Kind: Wrote, Client: int16(c.id), Node: int16(at), Proc: proc, Nth: c.sent[at], Value: fate.At}
	switch {
	case fate.Lost:
		e.Value = LostOnWay
	case fate.Refused:
		e.Value = RefusedByHost
	}
	w.note(&e)
	if e.Value >= 0 {
		w.out++ // the run waits for it, though its writer may have left
		w.push(fate.At, evWrite, c.id, at, id, 0)
	}
}

// store carries a write out, at the resource.
func (w *world) store(id int32) {
	w.out--
	x := &w.writes[id]
	at := w.onNetwork(x.resource)
	x.reply = redlock.Reply{Status: redlock.Done}
	if w.sc.Resources[x.resource].Fenced {
		if x.fence < max(1, w.fences[x.resource]) {
			x.reply.Status = redlock.Others
		} else {
			w.fences[x.resource] = x.fence
		}
	}
	w.note(&Event{Kind: Stored, Status: x.reply.Status, Client: int16(x.client), Node: int16(at), Proc: -1, Nth: x.nth, Value: int64(x.fence)})
	fate := w.net.Send(w.now, network.Message{Client: x.client, Node: at, Nth: x.nth, Reply: true})
	if !fate.Lost && !fate.Refused {
		w.push(fate.At, evWritten, x.client, at, id, 0)
	}
}

// written tells the process.
func (w *world) written(id int32) {
	x := &w.writes[id]
	w.note(&Event{Kind: Heard, Status: x.reply.Status, Client: int16(x.client), Node: int16(w.onNetwork(x.resource)), Proc: -1, Nth: x.nth})
	x.call.Receive(x.reply)
}

// Place names what an event's Node stands for: a node or, after the nodes, a
// resource.
func (s *Scenario) Place(node int) string {
	if node < len(s.Nodes) {
		return s.Nodes[node].Name
	}
	return s.Resources[node-len(s.Nodes)].Name
}
