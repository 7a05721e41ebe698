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
	nodes    []keeper
	leases   []lease
	blocks   []block
	attempts []attempt
	waits    []wait
	net      network.Network // for its bounds
	names    []string
	fences   []fenced
	writes   []written
	accepted []written  // the newest of a resource and key
	owners   []owner    // by owner value
	trusting []int      // for I1
	blocking []interval // for a lease, while it is settled: the one that ends last first
	lapsing  []interval // the same, its own release ignored
	ppb      int64      // the drift factor
	queues   bool       // some node stands still for a time
	forgot   bool       // some node has lost a key
	verdict  Verdict    // what comes of it
}

// keeper is a node, as one that keeps keys.
type keeper struct {
	machine
	open   int32 // the newest of its blocks that go on, from 1; 0: there is none
	beyond int64 // ns for which a key is there beyond its expiry reading
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
	under      int32  // the next of its node that goes on; 0: this is the last
	client     int16  // that set the key
	nth        uint32 // by which of its messages; 0: it is there since a fault
	restored   bool   // a fault brought it back
}

// owner is what there is of one owner value. Its blocks are a chain, in their order:
// there are many blocks, and few of one owner.
type owner struct {
	attempt     int32 // the newest, from 1; 0: there is none
	first, last int32 // of its blocks, from 1; both 0: it has none
	lease       int32 // its first, from 1; 0: it has none
	unawaited   bool  // nobody waits for the answers to its acquire any more
}

func (c *checker) check(h *History) *Verdict {
	c.reset(h)
	events := h.events
	for i := telling(events, 0); i < len(events); i = telling(events, i+1) {
		if e := &events[i]; e.Kind == Executed { // most are
			c.execute(e)
		} else {
			c.take(e)
		}
	}
	for i := range c.nodes {
		for open := &c.nodes[i].open; *open != 0; {
			c.close(open, never, Expired)
		}
	}
	for i := range c.leases {
		c.settle(&c.leases[i])
	}
	v := &c.verdict
	v.Leases = slices.Grow(v.Leases, len(c.leases))[:len(c.leases)]
	for i := range c.leases {
		v.Leases[i] = c.leases[i].Lease
	}
	v.Blocks = slices.Grow(v.Blocks, len(c.blocks))[:len(c.blocks)]
	for i := range c.blocks {
		v.Blocks[i] = c.blocks[i].Block
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
	c.queues, c.forgot = false, false
	for i := range sc.Nodes {
		m, n := &c.nodes[i], &sc.Nodes[i]
		m.set(n.Clock, sc.Faults, n.Name, &n.Config)
		m.open, m.beyond = 0, 1e6
		if n.Expiry == node.NonStrict {
			m.beyond = 0
		}
		c.queues = c.queues || len(m.paused) > 0
	}
	c.leases, c.blocks = c.leases[:0], c.blocks[:0]
	c.waits = c.waits[:0]
	c.fences, c.writes, c.accepted = c.fences[:0], c.writes[:0], c.accepted[:0]
	c.attempts, c.owners = c.attempts[:0], append(c.owners[:0], make([]owner, len(h.texts))...)
	v := &c.verdict
	*v = Verdict{Hash: h.Hash(), Leases: v.Leases[:0], Blocks: v.Blocks[:0], Violations: v.Violations[:0], Warnings: v.Warnings[:0]}
}

// silent is, by the kind of an event, a Value below which it says nothing to a check. (Those
// below 0, LostOnWay and RefusedByHost, are above it as they are compared.)
var silent = [256]uint64{Started: 1 << 63, Read: 1 << 63, Sent: 1 << 63, Answered: 1 << 63, Heard: 1 << 63, Healed: 1 << 63, Noted: 1 << 63}

// telling is the number of the first event from the i-th on that says something.
func telling(events []Event, i int) int {
	for ; i < len(events); i++ {
		if e := &events[i]; uint64(e.Value) >= silent[e.Kind] {
			break
		}
	}
	return i
}

// take notes what an event says to the checks.
func (c *checker) take(e *Event) {
	switch e.Kind {
	case Sent, Answered:
		c.probeSent(e)
	case Dropped:
		c.probeDropped(e)
	case GaveUp:
		c.verdict.Probes[ProbeGaveUp]++
	case Asked:
		c.asked(e)
	case Slept:
		c.fail(e)
	case Wanted:
		c.waiting(e)
	case Granted:
		c.won(e)
		c.waiting(e)
		c.grant(e, false)
	case Refused:
		c.probeRefused(e)
		c.fail(e)
		c.waiting(e)
	case Extended:
		c.verdict.Probes[ProbeExtended]++
		c.extend(e)
	case Unextended:
		c.verdict.Probes[ProbeUnextended]++
		if e.Value == 1 {
			c.tell(e)
		}
	case Releasing:
		c.tell(e)
	case Released:
		c.released(e)
	case Lost:
		c.tell(e)
	case Ended:
		c.fail(e)
		c.waiting(e)
	case Faulted:
		c.waiting(e)
		if e.Client >= 0 && c.h.scenario.Faults[e.Value].Kind == "crash" {
			for i := range c.leases {
				if c.leases[i].client == int(e.Client) {
					c.leases[i].told = min(c.leases[i].told, e.At)
				}
			}
		}
	case Over:
		c.waiting(e)
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
	grant := len(c.leases)
	if e.Kind == Extended {
		for i := range c.leases {
			if o := &c.leases[i]; o.owner == e.Owner && o.key == e.Key {
				grant = o.grant
			}
		}
	}
	c.leases = append(c.leases, lease{})
	l := &c.leases[len(c.leases)-1]
	l.Client, l.Key, l.Owner = c.h.scenario.Clients[e.Client].Name, c.h.Text(e.Key), c.h.Text(e.Owner)
	l.Granted, l.Proc, l.Late = e.At, int(e.Proc), late
	l.grant, l.client, l.key, l.owner = grant, int(e.Client), e.Key, e.Owner
	l.deadline, l.ttl, l.told = e.Value, int64(e.Nth)*1e6, never
	if of := &c.owners[e.Owner]; of.lease == 0 {
		of.lease = int32(len(c.leases))
	}
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
	first := c.owners[e.Owner].lease
	if first == 0 {
		return
	}
	leases, own := c.leases[first-1:], false
	for i := range leases {
		l := &leases[i]
		own = own || l.owner == e.Owner && l.client == int(e.Client)
	}
	for i := range leases {
		if l := &leases[i]; l.owner == e.Owner && (!own || l.client == int(e.Client)) {
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
		c.blocking = byEnd(c.blocking, interval{b.From, b.To})
		c.lapsing = byEnd(c.lapsing, interval{b.From, b.Lapse})
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

// byEnd adds an interval to some, of which the one that ends last is the first.
func byEnd(all []interval, x interval) []interval {
	all = append(all, x)
	for i := len(all) - 1; i > 0 && all[i-1].to < x.to; i-- {
		all[i-1], all[i] = x, all[i-1]
	}
	return all
}

// excluded is the first instant from t on at which fewer than N−q+1 nodes block: the end
// of the one that is the (N−q+1)-th to end from the last on, of those that have begun.
func (c *checker) excluded(t int64, blocks []interval) int64 {
	need := c.mustBlock()
	for {
		left, end, begins := need, t, int64(never)
		for _, b := range blocks {
			if b.from > t {
				begins = min(begins, b.from) // and it may go on where others end
				continue
			}
			if left--; left == 0 {
				end = max(t, b.to)
				break
			}
		}
		if end == t || end < begins {
			return end
		}
		t = end
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

// broke adds a violation to the verdict.
func (c *checker) broke(v Violation) { c.verdict.Violations = append(c.verdict.Violations, v) }

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
			c.nodes[e.Node].lasts(b, e.At, e.Value)
		}
	}
	if there && effect != node.Sets {
		c.owned(e, b)
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
