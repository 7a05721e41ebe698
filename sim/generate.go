package sim

// Drawing a scenario from a space. Each choice has a label of its own and is
// drawn by that label, so that a change to one leaves the others as they were.
// Draws are biased to where leases break: rates exactly at their bound, messages
// that take no time, a bare quorum of fast nodes, a slow client that trusts its
// lease to the end. The simplest choice comes first, since that is where rapid
// shrinks to.

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"driftlock/clock"
	"driftlock/sim/draw"
	"driftlock/sim/node"
)

// A Drawer makes choices: a seed does, and rapid does (package simtest).
type Drawer interface {
	// Int returns a number from low to high, both included. The label says what
	// for; a scenario uses each label once.
	Int(label string, low, high int64) int64
}

// Generate returns the scenario of the space that the seed stands for. It panics
// if the space's Check fails.
func Generate(sp Space, seed uint64) Scenario {
	sc := Draw(sp, seeded(seed))
	sc.Seed = seed
	sc.Name = sp.name + "-" + strconv.FormatUint(seed, 10)
	return sc
}

// seeded draws by hashing the seed with the label.
type seeded uint64

func (s seeded) Int(label string, low, high int64) int64 {
	return draw.Between(draw.Key(uint64(s), draw.Choice, hashOf(label), 0, 0), low, high)
}

// hashOf is FNV-1a.
func hashOf(label string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(label) {
		h = (h ^ uint64(label[i])) * 0x100000001b3
	}
	return h
}

// Draw returns a scenario of the space. It panics if the space's Check fails.
func Draw(sp Space, d Drawer) Scenario {
	if err := sp.Check(); err != nil {
		panic("sim: " + err.Error())
	}
	g := drafter{Drawer: d, sp: sp}
	g.sc.Version = Version
	g.sc.Name = sp.name
	g.sc.About = sp.about
	g.sc.Seed = uint64(g.Int("seed", 0, 1<<62))
	if sp.wild {
		g.recklessness()
	}
	g.lock()
	g.nodes()
	g.clients()
	g.rates()
	g.network()
	g.cuts()
	g.workload()
	if sp.wild {
		g.goWild()
	}
	if len(g.sc.Faults) == 0 { // as it reads back
		g.sc.Faults = nil
	}
	if len(g.sc.Network.Cuts) == 0 {
		g.sc.Network.Cuts = nil
	}
	return g.sc
}

// drafter is a scenario in the making.
type drafter struct {
	Drawer
	sp    Space
	sc    Scenario
	ttl   clock.Duration // in whole milliseconds, as the lock cuts it
	trust clock.Duration // T − ⌈T·f⌉ − b

	beyond int64 // how much more drift than is covered, in ppm

	terms []term   // of every TTL that the clients use
	keys  []string // that they ask for
	paces struct{ clients, strict, nonStrict pace }

	// Of the fault spaces.
	reckless faults         // classes that may go beyond what the lock assumes
	other    clock.Duration // a second TTL; 0: there is none
	longest  clock.Duration // TTL
	trip     clock.Duration // about how long an attempt takes
	deadline clock.Duration // of a lease that is granted at once to the first client
	busy     clock.Duration // until when clients have something to do
}

// term is a TTL in whole milliseconds and for how long it is trusted.
type term struct{ ttl, trust clock.Duration }

// among picks by weight: 0 is the simplest choice.
func (g *drafter) among(label string, weights ...int64) int {
	sum := int64(0)
	for _, w := range weights {
		sum += w
	}
	at, i := g.Int(label, 0, sum-1), 0
	for ; at >= weights[i]; i++ {
		at -= weights[i]
	}
	return i
}

// happens is true n times in 8.
func (g *drafter) happens(label string, n int64) bool { return g.among(label, 8-n, n) == 1 }

// on says whether a class of faults occurs in this scenario: n times in 8.
func (g *drafter) on(class faults, label string, n int64) bool {
	return (g.happens(label, n) || g.sp.sure&class != 0) && g.sp.off&class == 0
}

func (g *drafter) span(label string, low, high clock.Duration) clock.Duration {
	return clock.Duration(g.Int(label, int64(low), int64(max(low, high))))
}

var (
	roundTTLs = []clock.Duration{10e9, 1e9, 30e9, 100e6, 60e9, 5e6, 3e6, 1e6}
	factors   = []string{"0.01", "0.001", "0.05", "0.2"}
	buffers   = []clock.Duration{2e6, 1e6, 0}
)

// lock draws TTL, factor and buffer; the rest of the lock's options follow from
// the TTL.
func (g *drafter) lock() {
	l := &g.sc.Lock
	if l.Factor = g.sp.factor; l.Factor == "" {
		l.Factor = factors[g.among("lock.factor", 13, 1, 1, 1)]
		if g.sp.certain {
			l.Factor = factors[0]
		}
	}
	if l.TTL = g.sp.ttl; l.TTL == 0 {
		l.TTL = g.drawTTL()
	}
	ppb, _ := factorPPB(l.Factor) // the space has checked it
	g.ttl = clock.Duration(time.Duration(l.TTL).Truncate(time.Millisecond))
	first := g.among("lock.buffer", 5, 2, 1)
	if g.sp.certain {
		first = 0
	}
	for i := first; i < len(buffers); i++ { // the first that leaves something of a tiny TTL
		l.Buffer = buffers[i]
		if g.trust = clock.Duration(trustNs(l.TTL, ppb, l.Buffer)); g.trust > 0 {
			break
		}
	}
	g.terms, g.longest = append(g.terms, term{g.ttl, g.trust}), g.ttl
	for _, t := range g.sp.asked {
		if t != g.ttl {
			g.term(t, ppb)
		}
	}
	if g.sp.wild {
		g.otherTerms(ppb)
	}
	l.NodeTimeout = max(2*g.ttl/[]clock.Duration{40, 8, 4, 1}[g.among("lock.node_timeout", 5, 2, 1, 2)], 1e6)
	l.GiveUp = l.NodeTimeout * []clock.Duration{4, 1, 20}[g.among("lock.give_up", 2, 1, 1)]
	l.Retry.Tries = []int{0, 1, 3}[g.among("lock.retry.tries", 6, 1, 1)]
	l.Retry.Min = g.ttl / 8
	l.Retry.Max = g.ttl / 2
}

// otherTerms draws a second TTL, for some extensions, and how much validity a
// grant must have.
func (g *drafter) otherTerms(ppb int64) {
	l := &g.sc.Lock
	other := []clock.Duration{0, 2 * g.ttl, g.ttl / 2 / 1e6 * 1e6}[g.among("lock.ttl.other", 5, 2, 1)]
	if g.term(other, ppb) {
		g.other = other
	}
	least := g.trust
	for _, t := range g.terms {
		least = min(least, t.trust)
	}
	l.MinValidity = []clock.Duration{0, least / 10, least / 2}[g.among("lock.min_validity", 6, 1, 1)]
}

// term adds a TTL that clients use. One of which nothing is left is none: the lock
// refuses it.
func (g *drafter) term(ttl clock.Duration, ppb int64) (used bool) {
	trust := clock.Duration(trustNs(ttl, ppb, g.sc.Lock.Buffer))
	if ttl <= 0 || trust <= 0 {
		return false
	}
	g.terms, g.longest = append(g.terms, term{ttl, trust}), max(g.longest, ttl)
	return true
}

// drawTTL picks a round TTL, or any from 1 ms to 60 s, evenly over the decades.
// Some are no whole number of milliseconds: the lock cuts those.
func (g *drafter) drawTTL() clock.Duration {
	var ttl clock.Duration
	weights := []int64{6, 4, 3, 3, 1, 1, 1, 1, 6}
	if g.sp.certain {
		weights = weights[:4]
	}
	if i := g.among("lock.ttl", weights...); i < len(roundTTLs) {
		ttl = roundTTLs[i]
	} else {
		decade := []clock.Duration{1e6, 10e6, 100e6, 1e9, 10e9}[g.among("lock.ttl.decade", 1, 1, 1, 1, 1)]
		ttl = g.span("lock.ttl.ms", decade/1e6, min(10*decade, 60e9)/1e6) * 1e6
	}
	if g.happens("lock.ttl.uneven", 1) && ttl < 60e9 {
		ttl += g.span("lock.ttl.ns", 0, 999_999)
	}
	return ttl
}

// nodes draws how many there are, how their keys expire and where in a
// millisecond their wall clocks start.
func (g *drafter) nodes() {
	n := g.size("nodes", g.sp.nodes, 5, 3)
	offsets := g.on(faultOffset, "offset", 6)
	for i := range n {
		name := nodeName(i)
		c := Node{Name: name}
		// A key of a non-strict node lives up to 1 ms less. Where factor and
		// buffer do not cover that even with perfect clocks, all is strict.
		if g.happens(name+".expiry", 4) && g.coversMillisecond() && !g.sp.certain {
			c.Expiry = node.NonStrict
		}
		c.Clock.Offset = g.offset(name, offsets)
		g.sc.Nodes = append(g.sc.Nodes, c)
	}
}

// coversMillisecond says that factor and buffer make up for the millisecond less
// that keys of a non-strict node live.
func (g *drafter) coversMillisecond() bool {
	return !slices.ContainsFunc(g.terms, func(t term) bool { return t.trust+g.slack() > t.ttl-1e6 })
}

// slack is what is left unused of every budget, in nanoseconds of a client's clock:
// at each bend that a fault makes a clock loses a part of one.
func (g *drafter) slack() clock.Duration {
	if g.sp.wild {
		return 16
	}
	return 0
}

// size draws how many machines there are, preferring some numbers.
func (g *drafter) size(label string, bounds [2]int, preferred ...int64) int {
	low, high := int64(bounds[0]), int64(bounds[1])
	if i := g.among(label+".usual", 3, 3, 2); i < len(preferred) && low <= preferred[i] && preferred[i] <= high {
		return int(preferred[i])
	}
	return int(g.Int(label, low, high))
}

func nodeName(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("n%d", i+1)
}

// offset is where a wall clock stands at the start. The worst is just before the
// end of a millisecond: the node then cuts nearly all of it off an expiry.
func (g *drafter) offset(name string, any bool) clock.Duration {
	i := g.among(name+".offset", 2, 3, 2, 1)
	phase := g.span(name+".offset.phase", 0, 999_999)
	whole := g.span(name+".offset.ms", -3_600_000, 3_600_000) * 1e6
	switch {
	case any && g.blind():
		return clock.Duration(g.spread(name+".offset.phase", 0, 999_999))
	case !any || i == 0:
		return 0
	case i == 1:
		return 999_999
	case i == 2:
		return phase
	}
	return whole + phase
}

func (g *drafter) clients() {
	offsets := g.on(faultOffset, "offset.clients", 6)
	for i := range g.size("clients", g.sp.clients, 2, 1) {
		c := Client{Name: fmt.Sprintf("c%d", i+1)}
		weights := []int64{6, 1, 1}
		if g.sp.wild {
			weights = []int64{2, 1, 1}
		}
		c.Lives = []Lives{"", Monotonic, Wall}[g.among(c.Name+".lives", weights...)]
		c.Clock.Offset = g.offset(c.Name, offsets)
		g.sc.Clients = append(g.sc.Clients, c)
	}
}
