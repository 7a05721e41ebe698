package timeline

import (
	"fmt"
	"time"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
)

// belief is what a holder had heard of its lease, and what it said of it itself.
type belief struct {
	set      int64 // true time at which the request began that set the keys last: that of the grant, or of an extension
	extended bool  // it was an extension

	lock    int64         // reading of the holder's clock at which trust ends by what the lock said
	ttl     time.Duration // for which it had set the keys then
	heard   bool          // lock and ttl mean something
	spoke   bool          // what the process said with Holds came after that
	unable  int64         // true time at which it was told that it could not extend the lock
	refused bool          // unable means something: no extension has come about since
}

// believed follows the lease of an inquiry from its first request on.
func (q *inquiry) believed() belief {
	b := belief{set: q.asked}
	if q.client < 0 {
		return b
	}
	_, of := broadcasts(q.h)
	var asked *broadcast // to extend
	wanted := false
	sent := int64(-1) // true time at which the first message went out that may extend it, since the holder heard or spoke
	for step := 1; step <= q.h.Len(); step++ {
		e := q.h.Event(step)
		if e.At >= q.lease.TrustEnds {
			break
		}
		if int(e.Client) != q.client || AtNode(e.Kind) {
			continue
		}
		if e.Kind == sim.Sent && sent < 0 && (e.Op == node.OpCommand || node.Usual(e.Op) == redlock.OpExtend && q.h.Text(e.Owner) == q.lease.Owner) {
			sent = e.At
		}
		if q.h.Text(e.Key) != q.lease.Key {
			continue
		}
		wanted = wanted || e.Kind == sim.Wanted
		if q.h.Text(e.Owner) != q.lease.Owner {
			continue
		}
		switch e.Kind {
		case sim.Asked:
			if node.Usual(e.Op) == redlock.OpExtend {
				asked = of[step]
			}
		case sim.Granted, sim.Extended:
			said := e.Kind == sim.Granted && wanted || e.Kind == sim.Extended && (lockSaid(of[step], e) || sent >= 0)
			if e.Kind == sim.Extended && said && asked == nil { // over a connection
				b.set, b.extended, b.refused = sent, true, false
			}
			b.spoke, sent = !said, -1
			if said {
				b.lock, b.ttl, b.heard = e.Value, time.Duration(e.Nth)*time.Millisecond, true
			}
		case sim.Unextended:
			b.unable, b.refused, sent = e.At, true, -1
		}
		if asked != nil && len(asked.granted()) >= q.cast.quorum && asked.ends <= step {
			b.set, b.extended, b.refused = q.h.Event(asked.step).At, true, false
			b.heard = b.heard && e.Kind == sim.Extended // else nobody said until when
			asked = nil
		}
	}
	return b
}

// lockSaid says that an extension is what a lock said that had asked nodes to extend,
// and not what the process said with Holds.
func lockSaid(b *broadcast, e sim.Event) bool {
	return b != nil && node.Usual(b.op) == redlock.OpExtend && b.owner == e.Owner
}

// wentBeyond says that the code went on when by its lock it was over; "" if it did not.
func (q *inquiry) wentBeyond() string {
	b := q.belief
	if !b.spoke || !b.heard || q.lease.TrustEnds == never || q.h.ClientReading(q.client, q.lease.TrustEnds) <= b.lock {
		return ""
	}
	did := "set the key for"
	if b.extended {
		did = "last extended the key for"
	}
	text := fmt.Sprintf("%s %s %s, which made a lock for %s, and went on for %s by its own clock, as it said with Holds.", clean(q.lease.Client), did,
		length(b.ttl), length(time.Duration(b.lock-q.h.ClientReading(q.client, b.set))), length(q.relied()))
	if b.refused {
		text += fmt.Sprintf(" At %s it was told that it could not extend the lock.", shortest(b.unable))
	}
	return text
}

// ranOutAway says of nodes on which a key ran out while they were down or stood still
// that they kept others out for longer than the key; "" if that is not so.
func (q *inquiry) ranOutAway(g blocker) string {
	b := g.blocks[len(g.blocks)-1]
	set, ttl := q.lastSet(g.nodes[0], b)
	counted := q.h.NodeReading(g.nodes[0], b.To) - q.h.NodeReading(g.nodes[0], set)
	if time.Duration(counted) <= ttl+2*time.Millisecond {
		return ""
	}
	away := q.on(g.nodes[0], span{set, b.To}, "crash", "pause")
	if len(away) == 0 {
		return ""
	}
	what := "was down"
	switch {
	case away[0].Kind == "pause":
		what = "stood still"
	case len(g.nodes) > 1:
		what = "were down"
	}
	return fmt.Sprintf("%s had the key for %s, as asked, and %s from %s on: that kept others out until %s.",
		q.cast.nodes(g.nodes), length(ttl), what, shortest(away[0].from), shortest(b.To))
}
