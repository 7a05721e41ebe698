package sim

import (
	"slices"
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"
)

// Blocks, as the checks see them: which node has whose key, from when to when.

// keeper is a node, as one that keeps keys.
type keeper struct {
	machine
	open   int32 // the newest of its blocks that go on, from 1; 0: there is none
	beyond int64 // ns for which a key is there beyond its expiry reading
}

// block is a Block in the making.
type block struct {
	Block
	key, owner Text
	next       int32  // the next of its owner; 0: this is the last
	under      int32  // the next of its node that goes on; 0: this is the last
	client     int16  // that set the key
	nth        uint32 // by which of its messages; 0: it is there since a fault
	restored   bool   // a fault brought it back
}

// block is a block by its number from 1; nil for 0.
func (c *checker) block(n int32) *block {
	if n == 0 {
		return nil
	}
	return &c.blocks[n-1]
}

// opened is the block of a node and key that goes on, nil if there is none, and where
// its number is.
func (c *checker) opened(node int16, key Text) (b *block, at *int32) {
	for at = &c.nodes[node].open; *at != 0; at = &b.under {
		if b = &c.blocks[*at-1]; b.key == key {
			return b, at
		}
	}
	return nil, at
}

// begin begins the block of a node that has set a key, for the owner that e names.
func (c *checker) begin(e *Event, of *owner) *block {
	c.blocks = append(c.blocks, block{})
	n, m := int32(len(c.blocks)), &c.nodes[e.Node]
	b := &c.blocks[n-1]
	b.Node, b.From = int(e.Node), e.At
	b.Key, b.Owner = c.h.Text(e.Key), c.h.Text(e.Owner)
	b.key, b.owner, b.under = e.Key, e.Owner, m.open
	m.open = n
	if of.last == 0 {
		of.first = n
	} else {
		c.blocks[of.last-1].next = n
	}
	of.last = n
	m.lasts(b, e.At, e.Value)
	return b
}

// lasts says, from the true time at on, until which reading a block's key lives. It is
// gone by itself on the node's wall clock, and not while the node does not serve.
func (m *keeper) lasts(b *block, at, when int64) {
	b.When, b.Lapse = when, past(m.away, m.wall.reach(at, when*1e6+m.beyond))
}

// close ends a block at the true time at, or when it lapsed before. Its number is out
// of the list of those that go on then.
func (c *checker) close(place *int32, at int64, why BlockEnd) {
	b := &c.blocks[*place-1]
	b.To, b.Ends = at, why
	if b.Lapse <= at {
		b.To, b.Ends = b.Lapse, Expired
	} else if why != Freed {
		b.Lapse = at
	}
	*place = b.under
}

// execute notes what a node did for a request, and to its key.
func (c *checker) execute(e *Event) {
	if c.queues {
		c.probeQueued(e)
	}
	of := &c.owners[e.Owner]
	if e.Status != redlock.Done {
		if node.Acquires(e.Op) {
			c.denied(e, of)
		}
		return
	}
	b, place := c.opened(e.Node, e.Key)
	there := b != nil && e.At < b.Lapse
	effect := node.EffectOf(e.Op, there)
	switch effect {
	case node.Sets:
		if b != nil {
			c.close(place, e.At, Deleted)
		}
		c.setFor(e)
		made := c.begin(e, of)
		made.client, made.nth = e.Client, e.Nth
		if node.Acquires(e.Op) {
			c.voted(of)
		}
	case node.Deletes:
		c.freed(of)
		switch {
		case b != nil && b.owner == e.Owner:
			c.close(place, e.At, Freed)
		case b != nil:
			c.close(place, e.At, Deleted)
		}
	case node.Prolongs:
		if b != nil {
			if e.Value != b.When { // else it was set for longer before
				c.setFor(e)
			}
			c.nodes[e.Node].lasts(b, e.At, e.Value)
		}
	}
	if there && effect != node.Sets {
		c.owned(e, b)
	}
}

// setFor notes for how long a node has set a key.
func (c *checker) setFor(e *Event) {
	if e.Value < node.Forever {
		ms := e.Local / 1e6
		if e.Local%1e6 < 0 {
			ms--
		}
		c.ttl(e.Value - ms)
	}
}

// ttl notes a TTL in milliseconds.
func (c *checker) ttl(ms int64) {
	if ttl := time.Duration(ms) * time.Millisecond; ttl > 0 && !slices.Contains(c.verdict.TTLs, ttl) {
		c.verdict.TTLs = append(c.verdict.TTLs, ttl)
	}
}

// holds notes whose key is on a node after a fault.
func (c *checker) holds(e *Event) {
	b, place := c.opened(e.Node, e.Key)
	if b != nil && b.owner == e.Owner && e.At < b.Lapse {
		if b.When != e.Value {
			c.nodes[e.Node].lasts(b, e.At, e.Value)
			c.verdict.Probes[ProbeGhost]++
		}
		return
	}
	if b != nil {
		c.close(place, e.At, Forgotten)
		c.forgot = true
	}
	if e.Owner != 0 {
		c.begin(e, &c.owners[e.Owner]).restored = true
		c.verdict.Probes[ProbeGhost]++
	}
}
