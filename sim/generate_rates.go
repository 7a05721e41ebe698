package sim

// The rates of the clocks: where a lease breaks, and how near to it a space goes.

import (
	"math/big"
	"slices"

	"driftlock/clock"
	"driftlock/sim/node"
)

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
