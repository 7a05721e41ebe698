package sim

// Drawing a scenario from a space. Each choice has a label of its own and is
// drawn by that label, so that a change to one leaves the others as they were.
// Draws are biased to where leases break: rates exactly at their bound, messages
// that take no time, a bare quorum of fast nodes, a slow client that trusts its
// lease to the end. The simplest choice comes first, since that is where rapid
// shrinks to.

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"driftlock/clock"
	"driftlock/sim/draw"
	"driftlock/sim/network"
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
	least := g.trust
	if trust := clock.Duration(trustNs(other, ppb, l.Buffer)); other > 0 && trust > 0 {
		g.other, g.longest, least = other, max(g.longest, other), min(least, trust)
		g.terms = append(g.terms, term{other, trust})
	}
	l.MinValidity = []clock.Duration{0, least / 10, least / 2}[g.among("lock.min_validity", 6, 1, 1)]
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

// slowestShare is the slowest that a client may run, as a share of the rate of a
// node that takes gone off the life of a key: (T(1−f) − b) / (T − g), from
// docs/drift-math.md, less what the space allows beyond.
func (g *drafter) slowestShare(gone clock.Duration) *big.Rat {
	var drift *big.Rat // what is covered, of whatever TTL
	for _, t := range g.terms {
		lives := int64(t.ttl - gone)
		trust := min(int64(t.trust+g.slack()), lives)
		if d := big.NewRat(lives-trust, lives); drift == nil || d.Cmp(drift) < 0 {
			drift = d
		}
	}
	if !g.sp.brink {
		drift.Mul(drift, big.NewRat(1e6+g.beyond, 1e6))
	}
	share := new(big.Rat).Sub(one, drift)
	if share.Cmp(leastShare) < 0 {
		return leastShare
	}
	return share
}

var (
	one        = big.NewRat(1, 1)
	two        = big.NewRat(2, 1)
	leastShare = big.NewRat(1, 8) // keeps rates within those that a scenario may have
)

// rates draws the clocks' rates.
func (g *drafter) rates() {
	var clients, strict, nonStrict pace
	if g.sp.covered {
		clients, strict, nonStrict = g.coveredRates()
	} else {
		bound := big.NewRat(int64(g.sp.bound), 1e9)
		clients = paceOf(new(big.Rat).Sub(one, bound), new(big.Rat).Add(one, bound))
		strict, nonStrict = clients, clients
	}
	g.paces.clients, g.paces.strict, g.paces.nonStrict = clients, strict, nonStrict
	slowest := int(g.Int("rate.slowest", 0, int64(len(g.sc.Clients)-1))) // one is, whatever is drawn
	for i := range g.sc.Clients {
		c := &g.sc.Clients[i]
		c.Clock.Rate = g.rate(c.Name, &clients, clients.low)
		if i == slowest && !g.blind() || g.sp.certain {
			c.Clock.Rate = clients.low
		}
	}
	for i := range g.sc.Nodes {
		n, p := &g.sc.Nodes[i], &strict
		if n.Expiry == node.NonStrict {
			p = &nonStrict
		}
		n.Clock.Rate = g.rate(n.Name, p, p.high)
		if g.sp.certain {
			n.Clock.Rate = p.high
		}
	}
}

// coveredRates draws how the slowest client and the fastest nodes share the
// drift that is allowed: one side has all of it, or each a part.
func (g *drafter) coveredRates() (clients, strict, nonStrict pace) {
	g.beyond = g.sp.beyond
	if some := 1000 * g.Int("rate.beyond", 0, g.sp.beyond/1000); g.happens("rate.beyond.less", 3) && !g.sp.certain && !g.sp.brink {
		g.beyond = some
	}
	if g.sp.wild { // what drift leaves of the budget is for steps
		g.beyond = -[]int64{0, 1e6, 500_000, 900_000}[g.among("rate.share", 2, 2, 1, 1)]
	}
	ofStrict := g.slowestShare(0)
	share := ofStrict
	if slices.ContainsFunc(g.sc.Nodes, func(n Node) bool { return n.Expiry == node.NonStrict }) {
		share = g.slowestShare(1e6) // the larger of both
	}
	if g.sp.brink {
		p := brinkOf(share, g.sp.beyond)
		return p, p, p
	}
	slow := g.slowest(share)
	least, most := new(big.Rat).Mul(slow, share), new(big.Rat).Quo(slow, share)
	return paceOf(slow, most), paceOf(least, new(big.Rat).Quo(slow, ofStrict)), paceOf(least, most)
}

// brinkOf is the range 1 ± δ, where δ is beyond ppm more than the δ* that leaves
// the slowest client its share of the fastest node's rate: (1−δ*)/(1+δ*) = share.
func brinkOf(share *big.Rat, beyond int64) pace {
	bound := new(big.Rat).Quo(new(big.Rat).Sub(one, share), new(big.Rat).Add(one, share))
	bound.Mul(bound, big.NewRat(1e6+beyond, 1e6))
	return paceOf(new(big.Rat).Sub(one, bound), new(big.Rat).Add(one, bound))
}

// slowest draws the rate of the slowest client, where the fastest node may run
// at 1/share of it.
func (g *drafter) slowest(share *big.Rat) *big.Rat {
	tilt := big.NewRat(g.Int("rate.tilt", -100, 100)+1000, 1000)
	switch g.among("rate.split", 3, 2, 2, 1) {
	case 0: // each the same, one slow, the others fast: 1 ± δ with (1−δ)/(1+δ) = share
		return new(big.Rat).Quo(new(big.Rat).Mul(two, share), new(big.Rat).Add(one, share))
	case 1: // only nodes drift
		return one
	case 2: // only the client drifts
		return share
	}
	return tilt.Mul(tilt, share) // both sides off by up to a tenth as well
}

// A pace is a range of rates.
type pace struct {
	low, high       clock.Rate
	lowPPB, highPPB int64 // the whole parts per billion within
	perfect         bool  // 1 is within
}

func paceOf(low, high *big.Rat) pace {
	p := pace{lowPPB: ppbOf(low, 1), highPPB: ppbOf(high, 0), perfect: low.Cmp(one) <= 0 && one.Cmp(high) <= 0}
	p.low, p.high = rateOf(low, p.lowPPB), rateOf(high, p.highPPB)
	return p
}

// ppbOf is r in whole parts per billion, rounded down (up = 0) or up (up = 1).
func ppbOf(r *big.Rat, up int64) int64 {
	n, rest := new(big.Int).Mul(r.Num(), big.NewInt(1e9)), new(big.Int)
	if n.DivMod(n, r.Denom(), rest); rest.Sign() == 0 {
		return n.Int64()
	}
	return n.Int64() + up
}

// rateOf is r exactly or, where that does not fit, the ppb beside it that is
// within the range.
func rateOf(r *big.Rat, ppb int64) clock.Rate {
	if r.Num().IsInt64() && r.Denom().IsInt64() {
		return clock.Ratio(r.Num().Int64(), r.Denom().Int64())
	}
	return clock.Ratio(ppb, 1e9)
}

// rate draws one from a range: often exactly the worst, and often 1.
func (g *drafter) rate(name string, p *pace, worst clock.Rate) clock.Rate {
	if g.blind() {
		switch ppb := g.spread(name+".rate.ppb", p.lowPPB, max(p.lowPPB, p.highPPB)); ppb {
		case p.lowPPB:
			return p.low
		case p.highPPB:
			return p.high
		default:
			return clock.Ratio(ppb, 1e9)
		}
	}
	i := g.among(name+".rate", 5, 1, 2)
	between := g.Int(name+".rate.ppb", p.lowPPB, max(p.lowPPB, p.highPPB))
	switch {
	case i == 1 && p.perfect:
		return clock.Rate{}
	case i == 2 && p.lowPPB <= p.highPPB:
		return clock.Ratio(between, 1e9)
	}
	return worst
}

// network draws the delays, small against the TTL, and losses.
func (g *drafter) network() {
	delays, losses := g.on(faultDelay, "delay", 5), g.on(faultLoss, "loss", 2)
	for _, direction := range []struct {
		name string
		path *network.Path
	}{{"request", &g.sc.Network.Request}, {"reply", &g.sc.Network.Reply}} {
		delay := g.delay(direction.name)
		if delays {
			direction.path.Delay = delay
			g.trip += max(delay.Min, delay.Min+delay.Mean, (delay.Min+delay.Max)/2)
		}
		loss := []int{1_000, 10_000, 100_000, 300_000}[g.among(direction.name+".loss", 1, 1, 1, 1)]
		lasts := []clock.Duration{0, g.ttl / 10, g.ttl}[g.among(direction.name+".loss_for", 2, 1, 1)]
		if losses {
			direction.path.LossPPM, direction.path.LossFor = loss, lasts
		}
	}
	if name := nodeName(len(g.sc.Nodes) - 1); g.happens("far", 1) && delays {
		far := g.sc.Network.Request
		far.Delay = g.delay("far")
		g.sc.Network.Paths = map[string]network.Path{g.sc.Clients[0].Name + ">" + name: far}
	}
}

// delay draws one of the four laws, from a ten-thousandth of the TTL to a half,
// or none at all: that is the worst for exclusion.
func (g *drafter) delay(label string) network.Delay {
	size := max(g.ttl/[]clock.Duration{1000, 10_000, 100, 20, 2}[g.among(label+".delay", 6, 6, 4, 2, 2)], 1)
	if g.blind() {
		size = clock.Duration(g.spread(label+".delay.size", 1, int64(g.ttl/2)))
	}
	switch g.among(label+".law", 2, 2, 2, 2, 2) {
	case 1:
		return network.Delay{Law: network.Constant, Min: size}
	case 2:
		return network.Delay{Law: network.Uniform, Min: size / 4, Max: size + size/2}
	case 3:
		return network.Delay{Law: network.Exponential, Min: size / 4, Mean: size, Max: 10 * size}
	case 4:
		return network.Delay{Law: network.Pareto, Min: (size + 2) / 3, Max: 10 * size}
	}
	return network.Delay{}
}

// cuts draws, for each client or for one of them, a bare quorum: the other nodes
// are silent, or refuse.
func (g *drafter) cuts() {
	n := int64(len(g.sc.Nodes))
	spare := n - (n/2 + 1)
	some := g.on(faultCut, "cut", 5) || g.sp.certain
	all := g.among("cut.all", 1, 2) == 1 || g.sp.certain
	for i := range g.sc.Clients {
		name := g.sc.Clients[i].Name
		first := g.Int(name+".cut", 0, n-1)
		refuse := g.happens(name+".cut.refuse", 2)
		if spare == 0 || !some || !all && i > 0 {
			continue
		}
		cut := network.Cut{From: []string{name}, Refuse: refuse}
		for j := range spare {
			cut.To = append(cut.To, nodeName(int((first+j)%n)))
		}
		g.sc.Network.Cuts = append(g.sc.Network.Cuts, cut)
	}
}

// workload draws what the clients do, and how long that may take.
func (g *drafter) workload() {
	clients := len(g.sc.Clients)
	keys := []string{"k"}
	if g.happens("keys", 1) {
		keys = []string{"k", "j"}
	}
	pounce := g.happens("pounce", 2) && clients > 1 && !g.sp.certain
	uncovered := max(g.ttl-g.trust, 8)
	if pounce { // tries in quick succession around the end of the first lease
		g.sc.Lock.Retry = Retry{Tries: 16, Min: uncovered / 8, Max: max(uncovered/4, 1e3)}
	}
	g.keys = keys
	if g.on(faultFence, "fence", 3) {
		g.fence()
	}
	leases, idle := clock.Duration(0), clock.Duration(0)
	for i := range g.sc.Clients {
		c := &g.sc.Clients[i]
		c.Repeat = int(g.Int(c.Name+".repeat", 1, int64(max(2, 6/clients))))
		wait := g.wait(c.Name, i)
		if pounce && i > 0 {
			wait = g.ttl - g.span(c.Name+".pounce", 0, min(2*uncovered, g.ttl))
			c.Repeat = 1
		}
		if wait > 0 {
			c.Steps = append(c.Steps, Step{Do: "sleep", For: wait})
		}
		idle += g.cycle(c, keys[g.Int(c.Name+".key", 0, int64(len(keys)-1))])
		idle += wait * clock.Duration(c.Repeat)
		leases += clock.Duration(c.Repeat)
	}
	slowest := clock.Rate{}
	for i := range g.sc.Clients {
		if r := g.sc.Clients[i].Clock.Rate; r.Cmp(slowest) < 0 {
			slowest = r
		}
	}
	all := (leases+1)*(g.ttl+g.ttl/2) + idle
	g.sc.Until = clock.Duration(slowest.Reached(int64(all)))
}

// wait draws how long a client sleeps before it asks for the lock.
func (g *drafter) wait(name string, i int) clock.Duration {
	long := g.span(name+".wait", 1, g.ttl)
	if i == 0 || g.happens(name+".wait.not", 3) {
		return 0
	}
	return long
}

// cycle draws the steps of one lease: mostly it is trusted to its end. It
// returns how long the client sleeps after all of them.
func (g *drafter) cycle(c *Client, key string) (idle clock.Duration) {
	percent := int(g.Int(c.Name+".hold.percent", 1, 99))
	length := g.span(c.Name+".hold.for", 1, g.ttl)
	release := g.happens(c.Name+".release", 5)
	rest := g.span(c.Name+".rest.for", 1, g.ttl/2)
	hold := Step{Do: "hold", Key: key, Percent: 100}
	if i := g.among(c.Name+".hold", 12, 2, 1); g.sp.certain {
		release = false
	} else if g.blind() {
		hold.Percent = int(g.spread(c.Name+".hold.percent", 1, 100))
	} else if i == 1 {
		hold.Percent = percent
	} else if i == 2 {
		hold = Step{Do: "hold", Key: key, For: length}
	}
	c.Steps = append(c.Steps, Step{Do: "acquire", Key: key})
	if g.sp.wild {
		idle = g.work(c, key, hold) * clock.Duration(c.Repeat)
	} else {
		c.Steps = append(c.Steps, hold)
	}
	if release {
		c.Steps = append(c.Steps, Step{Do: "release", Key: key})
	}
	if g.happens(c.Name+".rest", 3) {
		c.Steps = append(c.Steps, Step{Do: "sleep", For: rest})
		idle += rest * clock.Duration(c.Repeat)
	}
	return idle
}

// work draws what a holder does in a fault space: it holds the lock as others do,
// extends it once or several times, or has it watched; and it writes to what the
// lock protects, if there is something. It returns how much longer that takes.
func (g *drafter) work(c *Client, key string, hold Step) (longer clock.Duration) {
	percent, times := int(g.Int(c.Name+".work.percent", 30, 100)), clock.Duration(1+g.among(c.Name+".work.times", 3, 2, 1))
	lasts := g.span(c.Name+".work.for", g.ttl/2, 3*g.ttl)
	ttl := g.other
	if g.happens(c.Name+".work.ttl", 4) {
		ttl = 0
	}
	if g.happens(c.Name+".work.first", 1) {
		c.Steps[len(c.Steps)-1].TTL = g.other
	}
	write := func() {
		for i := range g.sc.Resources {
			c.Steps = append(c.Steps, Step{Do: "write", Key: key, To: g.sc.Resources[i].Name})
		}
	}
	write()
	switch g.among(c.Name+".work", 4, 2, 2) {
	case 0:
		c.Steps = append(c.Steps, hold)
	case 1:
		for range times {
			c.Steps = append(c.Steps, Step{Do: "hold", Key: key, Percent: percent}, Step{Do: "extend", Key: key, TTL: ttl})
		}
		c.Steps = append(c.Steps, hold)
		longer = times * g.longest
	case 2:
		c.Steps = append(c.Steps, Step{Do: "watch", Key: key, For: lasts, TTL: ttl})
		longer = lasts
	}
	write()
	return longer
}

// fence adds something that the lock protects. A tame one looks at fence numbers.
func (g *drafter) fence() {
	off := g.happens("fence.off", 4) && g.may(faultFence)
	g.sc.Lock.Fencing = true
	g.sc.Resources = append(g.sc.Resources, ResourceConfig{Name: "store", Fenced: !off})
}
