package sim

import (
	"cmp"
	"slices"

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
		v.Unmet = assumptions(&h.scenario, v.TTLs, h.trusts())
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
	*v = Verdict{Hash: h.Hash(), Leases: v.Leases[:0], Blocks: v.Blocks[:0], TTLs: v.TTLs[:0], Violations: v.Violations[:0], Warnings: v.Warnings[:0]}
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
		c.crashed(e)
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

// clock is the one that a client lives on.
func (c *checker) clock(client int) *line {
	return c.clients[client].lives(c.h.scenario.lives(client))
}

// quorum is how many nodes must grant, and mustBlock how many must block so that
// no rival finds a quorum: N−q+1.
func (c *checker) quorum() int    { return len(c.nodes)/2 + 1 }
func (c *checker) mustBlock() int { return len(c.nodes) - c.quorum() + 1 }

// broke adds a violation to the verdict.
func (c *checker) broke(v Violation) { c.verdict.Violations = append(c.verdict.Violations, v) }
