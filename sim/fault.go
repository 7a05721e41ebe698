package sim

import (
	"driftlock/clock"
	"driftlock/sim/node"
	"driftlock/sim/queue"
)

// What a fault does to a store or a process. What it does to clocks, and when a
// machine stands still or is down, is known before the run: see machine.go.

// end is the true time at which a fault is over; never, if it is for good or only
// of a moment.
func (f *Fault) end() int64 {
	if f.For == 0 {
		return never
	}
	return int64(f.At) + int64(f.For)
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
	w.fates += f.fates()
	end := f.end()
	if f.Kind == "crash" && n >= 0 {
		end = m.serves(int64(f.At))
	}
	if end != never {
		w.push(end, evFault, c, n, int32(i), 1)
		w.fates += f.fates()
	}
}

// fates is 1 for a fault that changes more than clocks, or when a machine runs:
// trust in a lease may outlive its process, so the run goes on to such a fault.
func (f *Fault) fates() int {
	switch f.Kind {
	case "crash", "evict", "flush", "failover":
		return 1
	}
	return 0
}

// fault begins or ends one. The clocks know of it already, and who pauses or is
// down is known too; what is left is what it does to a store or a process.
func (w *world) fault(e queue.Event) {
	f := &w.sc.Faults[e.A]
	w.fates -= f.fates()
	_, c, n := w.machineOf(f.On)
	k := Faulted
	if e.B == 1 {
		k = Healed
	}
	if k == Healed && n >= 0 && f.Kind == "crash" {
		w.nodes[n].restart(w.now, w.sc.Nodes[n].Persistence, f)
		if b := w.bubble; b != nil && b.protocols != nil {
			b.protocols[n].Restart()
		}
		if within(w.nodes[n].down, w.now) { // it has crashed again, in its quarantine
			return
		}
	}
	w.note(&Event{Kind: k, Client: int16(c), Node: int16(n), Proc: -1, Value: int64(e.A)})
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
		w.note(&Event{Kind: Holds, Client: -1, Node: int16(n), Proc: -1, Key: k, Owner: w.history.text(owner), Value: when})
	}
}
