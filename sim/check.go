package sim

import (
	"cmp"
	"slices"

	"driftlock/redlock"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// Check judges a history. It knows nothing but the history and its scenario,
// and solves every instant from the clocks: nothing is sampled.
func Check(h *History) Verdict {
	var c checker
	return *c.check(h)
}

// checker is one pass over a history, and the tables it fills. Used again, it
// keeps its memory; the verdict it gave before is then gone.
type checker struct {
	h        *History
	clients  []machine
	nodes    []machine
	leases   []lease
	blocks   []block
	open     []int // blocks that go on, one a node and key at most, in no order
	attempts []attempt
	waits    []wait
	net      network.Network // for its bounds
	names    []string
	fences   []fenced
	writes   []written
	accepted []written  // the newest of a resource and key
	owners   []owner    // by owner value
	trusting []int      // for I1
	blocking []interval // for a lease, while it is settled
	lapsing  []interval // the same, its own release ignored
	ppb      int64      // the drift factor
	verdict  Verdict    // what comes of it
}

// lease is a Lease in the making.
type lease struct {
	Lease
	grant    int // which acquisition it is of: extensions that come too late, and a token's in other hands, are of the same
	client   int
	key      Text
	owner    Text
	deadline int64 // reading of the holder's clock
	ttl      int64 // ns
	told     int64 // true time at which the holder was told that it is over; never
}

// block is a Block in the making.
type block struct {
	Block
	key, owner Text
	next       int32  // the next of its owner; 0: this is the last
	client     int16  // that set the key
	nth        uint32 // by which of its messages; 0: it is there since a fault
	restored   bool   // a fault brought it back
}

// owner is what there is of one owner value. Its blocks are a chain, in their order:
// there are many blocks, and few of one owner.
type owner struct {
	attempt     int32 // the newest, from 1; 0: there is none
	first, last int32 // of its blocks, from 1; both 0: it has none
	unawaited   bool  // nobody waits for the answers to its acquire any more
}

func (c *checker) check(h *History) *Verdict {
	c.reset(h)
	events := h.events
	for i := range events {
		e := &events[i]
		switch e.Kind { // most events are of the first kinds
		case Read, Heard:
		case Sent, Answered:
			if e.Value < 0 {
				c.probeEvent(e)
			}
		case Executed:
			c.probeQueued(e)
			c.answered(e)
			if e.Status == redlock.Done {
				c.execute(e)
			}
		default:
			c.probeEvent(e)
			c.follow(e)
			c.waiting(e)
			c.take(e)
		}
	}
	for len(c.open) > 0 {
		c.close(0, never, Expired)
	}
	for i := range c.leases {
		c.settle(&c.leases[i])
	}
	v := &c.verdict
	for i := range c.leases {
		v.Leases = append(v.Leases, c.leases[i].Lease)
	}
	for i := range c.blocks {
		v.Blocks = append(v.Blocks, c.blocks[i].Block)
	}
	c.soundness()
	c.mutex()
	c.liveness()
	c.tidiness()
	c.probe()
	slices.SortStableFunc(v.Violations, func(a, b Violation) int {
		if a.At != b.At {
			return cmp.Compare(a.At, b.At)
		}
		return cmp.Compare(b.Invariant, a.Invariant) // the cause, I2, before its effect, I1
	})
	if len(v.Violations) > 0 {
		v.Unmet = Assumptions(&h.scenario)
	}
	if len(h.scenario.Clients) == 1 {
		v.Warnings = append(v.Warnings, "one client: exclusion was never at stake")
	}
	return v
}

func (c *checker) reset(h *History) {
	sc := &h.scenario
	c.h = h
	c.ppb, _ = factorPPB(sc.Lock.Factor)
	c.clients = slices.Grow(c.clients[:0], len(sc.Clients))[:len(sc.Clients)]
	c.nodes = slices.Grow(c.nodes[:0], len(sc.Nodes))[:len(sc.Nodes)]
	for i := range sc.Clients {
		c.clients[i].set(sc.Clients[i].Clock, sc.Faults, sc.Clients[i].Name, nil)
	}
	for i := range sc.Nodes {
		c.nodes[i].set(sc.Nodes[i].Clock, sc.Faults, sc.Nodes[i].Name, &sc.Nodes[i].Config)
	}
	c.leases, c.blocks, c.open = c.leases[:0], c.blocks[:0], c.open[:0]
	c.waits = c.waits[:0]
	c.fences, c.writes, c.accepted = c.fences[:0], c.writes[:0], c.accepted[:0]
	c.attempts, c.owners = c.attempts[:0], append(c.owners[:0], make([]owner, len(h.texts))...)
	v := &c.verdict
	*v = Verdict{Hash: h.Hash(), Leases: v.Leases[:0], Blocks: v.Blocks[:0], Violations: v.Violations[:0], Warnings: v.Warnings[:0]}
}

// take notes what an event means for leases and blocks.
func (c *checker) take(e *Event) {
	switch e.Kind {
	case Granted:
		c.grant(e, false)
	case Extended:
		c.extend(e)
	case Releasing:
		c.tell(e)
	case Lost:
		c.tell(e)
	case Unextended:
		if e.Value == 1 {
			c.tell(e)
		}
	case Faulted:
		if e.Client >= 0 && c.h.scenario.Faults[e.Value].Kind == "crash" {
			for i := range c.leases {
				if c.leases[i].client == int(e.Client) {
					c.leases[i].told = min(c.leases[i].told, e.At)
				}
			}
		}
	case Over:
		c.lastWord(e)
	case Fenced:
		c.numbered(e)
	case Wrote:
		c.wrote(e)
	case Stored:
		c.stored(e)
	case Holds:
		c.holds(e)
	}
}

// ---- leases

// clock is the one that a client lives on.
func (c *checker) clock(client int) *line {
	return c.clients[client].lives(c.h.scenario.lives(client))
}

func (c *checker) grant(e *Event, late bool) {
	l := lease{grant: len(c.leases), client: int(e.Client), key: e.Key, owner: e.Owner, deadline: e.Value, ttl: int64(e.Nth) * 1e6, told: never}
	l.Lease = Lease{Client: c.h.scenario.Clients[e.Client].Name, Key: c.h.Text(e.Key), Owner: c.h.Text(e.Owner), Granted: e.At, Proc: int(e.Proc), Late: late}
	if e.Kind == Extended {
		for i := range c.leases {
			if o := &c.leases[i]; o.owner == l.owner && o.key == l.key {
				l.grant = o.grant
			}
		}
	}
	c.leases = append(c.leases, l)
}

// extend moves a lease's deadline. If its trust had ended by then, the holder
// was told that a lease goes on which was over: that is a grant of its own.
func (c *checker) extend(e *Event) {
	for i := len(c.leases) - 1; i >= 0; i-- {
		l := &c.leases[i]
		if l.owner != e.Owner || l.key != e.Key {
			continue
		}
		ended := min(l.told, c.clock(l.client).reach(l.Granted, l.deadline))
		c.honestExtension(e, ended)
		if e.At < ended {
			l.deadline, l.ttl = max(l.deadline, e.Value), int64(e.Nth)*1e6
			return
		}
		c.grant(e, true)
		return
	}
	c.grant(e, false) // a token handed over from elsewhere
}

// tell ends trust in the leases of an owner that the client of e has. If it has
// none, somebody gave it the token, and trust ends in all of that owner.
func (c *checker) tell(e *Event) {
	own := false
	for i := range c.leases {
		l := &c.leases[i]
		own = own || l.owner == e.Owner && l.client == int(e.Client)
	}
	for i := range c.leases {
		if l := &c.leases[i]; l.owner == e.Owner && (!own || l.client == int(e.Client)) {
			l.told = min(l.told, e.At)
		}
	}
}

// lastWord ends trust that has no deadline, at the end of the run: who would say
// that it has ended, or keep the lock alive, is stopped there.
func (c *checker) lastWord(e *Event) {
	for i := range c.leases {
		if l := &c.leases[i]; l.deadline == never {
			l.told = min(l.told, e.At)
		}
	}
}

// settle solves the ends of a lease.
func (c *checker) settle(l *lease) {
	clock := c.clock(l.client)
	l.Deadline = clock.reach(l.Granted, l.deadline)
	l.TrustEnds = max(l.Granted, min(l.Deadline, l.told))
	of := &c.owners[l.owner]
	if of.attempt == 0 && of.first == 0 {
		// Its lock asks no node.
		l.ExclusionEnds, l.Lapse = l.TrustEnds, l.Deadline
		return
	}
	c.blocking, c.lapsing = c.blocking[:0], c.lapsing[:0]
	for b := c.block(of.first); b != nil; b = c.block(b.next) {
		if b.key != l.key {
			continue
		}
		c.blocking = append(c.blocking, interval{b.From, b.To})
		c.lapsing = append(c.lapsing, interval{b.From, b.Lapse})
		if b.From <= l.Granted && l.Granted < b.To {
			l.Nodes++
		}
	}
	l.ExclusionEnds = c.excluded(l.Granted, c.blocking)
	l.Lapse = c.excluded(l.Granted, c.lapsing)
	if l.Lapse != never && l.ttl > 0 {
		short := l.deadline + mulUp(l.ttl, c.ppb) - clock.at(l.Lapse) // required: T·f' >= short
		l.Required = Factor(divUp(short, l.ttl))
	}
}

// quorum is how many nodes must grant, and mustBlock how many must block so that
// no rival finds a quorum: N−q+1.
func (c *checker) quorum() int    { return len(c.nodes)/2 + 1 }
func (c *checker) mustBlock() int { return len(c.nodes) - c.quorum() + 1 }

// excluded is the first instant from t on at which fewer than N−q+1 nodes block.
func (c *checker) excluded(t int64, blocks []interval) int64 {
	need := c.mustBlock()
	for {
		count, next := 0, int64(never)
		for _, b := range blocks {
			if b.from <= t && t < b.to {
				count++
				next = min(next, b.to)
			}
		}
		if count < need {
			return t
		}
		t = next
	}
}

// ---- blocks

// block is a block by its number from 1; nil for 0.
func (c *checker) block(n int32) *block {
	if n == 0 {
		return nil
	}
	return &c.blocks[n-1]
}

// opened is the block of a node and key that goes on, and where in c.open it is; nil
// if there is none.
func (c *checker) opened(node int16, key Text) (b *block, at int) {
	for at, i := range c.open {
		if b := &c.blocks[i]; b.Node == int(node) && b.key == key {
			return b, at
		}
	}
	return nil, -1
}

func (c *checker) begin(node int16, key, owner Text, at, when int64) *block {
	c.blocks = append(c.blocks, block{key: key, owner: owner,
		Block: Block{Node: int(node), Key: c.h.Text(key), Owner: c.h.Text(owner), From: at}})
	c.open = append(c.open, len(c.blocks)-1)
	n, of := int32(len(c.blocks)), &c.owners[owner]
	if of.last == 0 {
		of.first = n
	} else {
		c.blocks[of.last-1].next = n
	}
	of.last = n
	b := &c.blocks[n-1]
	c.lasts(b, at, when)
	return b
}

// lasts says, from the true time at on, until which reading a block's key lives. It is
// gone by itself on the node's wall clock, and not while the node does not serve.
func (c *checker) lasts(b *block, at, when int64) {
	m := &c.nodes[b.Node]
	gone := when * 1e6
	if c.h.scenario.Nodes[b.Node].Expiry != node.NonStrict {
		gone += 1e6
	}
	b.When, b.Lapse = when, past(m.away, m.wall.reach(at, gone))
}

// broke adds a violation to the verdict.
func (c *checker) broke(v Violation) { c.verdict.Violations = append(c.verdict.Violations, v) }

// close ends the block at a place of c.open at the true time at, or when it lapsed
// before.
func (c *checker) close(place int, at int64, why BlockEnd) {
	b := &c.blocks[c.open[place]]
	b.To, b.Ends = at, why
	if b.Lapse <= at {
		b.To, b.Ends = b.Lapse, Expired
	} else if why != Freed {
		b.Lapse = at
	}
	last := len(c.open) - 1
	c.open[place], c.open = c.open[last], c.open[:last]
}

// execute notes what a request that was granted did to a node's key.
func (c *checker) execute(e *Event) {
	b, place := c.opened(e.Node, e.Key)
	there := b != nil && e.At < b.Lapse
	if there && !node.Acquires(e.Op) {
		c.owned(e, b)
	}
	switch effect := node.EffectOf(e.Op, there); {
	case effect == node.Deletes && b != nil && b.owner == e.Owner:
		c.close(place, e.At, Freed)
	case effect == node.Deletes && b != nil:
		c.close(place, e.At, Deleted)
	case effect == node.Prolongs && b != nil:
		c.lasts(b, e.At, e.Value)
	case effect == node.Sets:
		if b != nil {
			c.close(place, e.At, Deleted)
		}
		b = c.begin(e.Node, e.Key, e.Owner, e.At, e.Value)
		b.client, b.nth = e.Client, e.Nth
	}
}

// holds notes whose key is on a node after a fault.
func (c *checker) holds(e *Event) {
	b, place := c.opened(e.Node, e.Key)
	if b != nil && b.owner == e.Owner && e.At < b.Lapse {
		if b.When != e.Value {
			c.lasts(b, e.At, e.Value)
			c.verdict.Probes[ProbeGhost]++
		}
		return
	}
	if b != nil {
		c.close(place, e.At, Forgotten)
	}
	if e.Owner != 0 {
		c.begin(e.Node, e.Key, e.Owner, e.At, e.Value).restored = true
		c.verdict.Probes[ProbeGhost]++
	}
}
