package network

import (
	"math"

	"driftlock/sim/draw"
)

// A Message is one request from a client to a node, or one reply back. Nth counts
// those of one path from 1.
type Message struct {
	Client, Node int // indices in what Reset was given
	Nth          uint32
	Reply        bool
}

// A Fate is what becomes of a message. All instants are of true time.
type Fate struct {
	At      int64 // it arrives; Refused: the sender is told; it means nothing if Lost
	Lost    bool  // it never arrives and nobody is told
	Refused bool  // it never arrives and its sender is told
	Again   int64 // a second copy arrives, after At; 0: there is none
}

// A Network answers for the messages of one run. The zero Network has no
// machines: Reset it. Not safe for concurrent use.
type Network struct {
	seed    uint64
	nodes   int
	paths   []path // of request and reply, by client and node
	cuts    []span // those of a path lie together
	rules   []rule
	quiet   int64 // from then on nothing happens by chance
	longest int64
	bounded bool

	sides []side // while it is made: of each machine, clients first
	name  []byte // and the name of a path
}

const million = 1_000_000

// path is one direction between a client and a node, with all that concerns it.
type path struct {
	law            law
	min, mean, max int64 // max: of Pareto and Exponential, math.MaxInt64 for none
	lossPPM        int64
	lossFor        int64
	lossEnds       int64 // until then all is lost; this and slowEnds are all that a run changes
	slowPPM        int64
	slowBy         int64
	slowFor        int64
	slowEnds       int64 // until then all is late
	cuts, endCuts  int32 // in Network.cuts
	rules, endRule int32 // in Network.rules
}

type law uint8

const (
	constant law = iota
	uniform
	exponential
	pareto
)

// span is a cut of one path.
type span struct {
	from, to int64
	refused  bool
}

// rule is a Rule of one path. Nth 0 is every message.
type rule struct {
	nth         uint32
	drop, twice bool
	late        int64
}

// side is where a machine stands in a cut.
type side uint8

const (
	inFrom side = 1 << iota
	inTo
)

// Reset makes n the network c between these machines, for a run with this seed.
// It keeps its memory, so that the next run of the like allocates nothing. C must
// have passed Check; names that are no machine's are passed over.
func (n *Network) Reset(c Config, seed uint64, clients, nodes []string) {
	n.seed, n.nodes, n.quiet = seed, len(nodes), math.MaxInt64
	if c.QuietFrom > 0 {
		n.quiet = int64(c.QuietFrom)
	}
	n.paths = n.paths[:0]
	for _, client := range clients {
		for _, node := range nodes {
			n.paths = append(n.paths, n.resolve(&c, &c.Request, client, node), n.resolve(&c, &c.Reply, node, client))
		}
	}
	n.resolveCuts(c.Cuts, clients, nodes)
	n.resolveRules(c.Rules, clients, nodes)
	n.bound()
}

// resolve returns the path from one machine to another: usual, unless c has one
// of its own for them.
func (n *Network) resolve(c *Config, usual *Path, from, to string) path {
	if len(c.Paths) > 0 {
		n.name = append(append(append(n.name[:0], from...), '>'), to...)
		if own, ok := c.Paths[string(n.name)]; ok {
			usual = &own
		}
	}
	d := &usual.Delay
	p := path{min: int64(d.Min), mean: int64(d.Mean), max: int64(d.Max), lossPPM: int64(usual.LossPPM), lossFor: int64(usual.LossFor),
		slowPPM: int64(usual.SlowPPM), slowBy: int64(usual.SlowBy), slowFor: int64(usual.SlowFor)}
	switch d.Law {
	case Uniform:
		p.law = uniform
	case Exponential:
		p.law = exponential
	case Pareto:
		p.law = pareto
	}
	if p.max == 0 && p.law != uniform {
		p.max = math.MaxInt64
	}
	return p
}

// index is where the path from a client to a node lies, and next to it the way back.
func (n *Network) index(client, node int) int { return 2 * (client*n.nodes + node) }

func (n *Network) resolveCuts(cuts []Cut, clients, nodes []string) {
	n.sides = n.sides[:0]
	for _, c := range cuts {
		for _, names := range [][]string{clients, nodes} {
			for _, name := range names {
				n.sides = append(n.sides, c.side(name))
			}
		}
	}
	n.cuts = n.cuts[:0]
	machines := len(clients) + len(nodes)
	for i := range n.paths {
		p := &n.paths[i]
		from, to := i/2/len(nodes), len(clients)+i/2%len(nodes)
		if i%2 == 1 {
			from, to = to, from
		}
		p.cuts = int32(len(n.cuts))
		for j, c := range cuts {
			of := n.sides[j*machines : (j+1)*machines]
			if of[from]&inFrom != 0 && of[to]&inTo != 0 || !c.OneWay && of[from]&inTo != 0 && of[to]&inFrom != 0 {
				n.cuts = append(n.cuts, c.span(i%2 == 1))
			}
		}
		p.endCuts = int32(len(n.cuts))
	}
}

func (c Cut) side(name string) (s side) {
	for _, x := range c.From {
		if x == name {
			s |= inFrom
		}
	}
	for _, x := range c.To {
		if x == name {
			s |= inTo
		}
	}
	return s
}

// span is when c cuts a path. A node whose reply is refused has nobody to tell.
func (c Cut) span(reply bool) span {
	s := span{from: int64(c.At), to: math.MaxInt64, refused: c.Refuse && !reply}
	if c.For > 0 {
		s.to = later(s.from, int64(c.For))
	}
	return s
}

func (n *Network) resolveRules(rules []Rule, clients, nodes []string) {
	n.rules = n.rules[:0]
	for i := range n.paths {
		p := &n.paths[i]
		from, to := clients[i/2/len(nodes)], nodes[i/2%len(nodes)]
		if i%2 == 1 {
			from, to = to, from
		}
		p.rules = int32(len(n.rules))
		for _, r := range rules {
			if (r.From == "" || r.From == from) && (r.To == "" || r.To == to) {
				n.rules = append(n.rules, rule{uint32(r.Nth), r.Drop, r.Twice, int64(r.Late)})
			}
		}
		p.endRule = int32(len(n.rules))
	}
}

// Send says what becomes of m, sent at the true time now. What is sent on other
// paths has no part in it, nor has what else is sent on this one, but for loss
// and slowness that last (Path.LossFor, SlowFor). Now must not go back on one path.
//
// A cut counts if it is there when m is sent. A refusal comes back after the
// least delay of the way there and the way back. Of the rules that fit, all
// count: one drop is enough, delays add up. A copy takes a delay of its own
// after the first has arrived.
func (n *Network) Send(now int64, m Message) Fate {
	i := n.index(m.Client, m.Node)
	delay, copied, loss, slow := draw.RequestDelay, draw.RequestCopy, draw.RequestLoss, draw.RequestSlow
	if m.Reply {
		i++
		delay, copied, loss, slow = draw.ReplyDelay, draw.ReplyCopy, draw.ReplyLoss, draw.ReplySlow
	}
	p := &n.paths[i]
	key := func(why draw.Purpose) uint64 {
		return draw.Key(n.seed, why, uint64(m.Client), uint64(m.Node), uint64(m.Nth))
	}
	chance := now < n.quiet
	lost := chance && p.lossPPM > 0 && befalls(now, key(loss), p.lossPPM, p.lossFor, &p.lossEnds)
	late := int64(0)
	if chance && p.slowPPM > 0 && befalls(now, key(slow), p.slowPPM, p.slowFor, &p.slowEnds) {
		late = p.slowBy
	}
	for _, c := range n.cuts[p.cuts:p.endCuts] {
		if c.from <= now && now < c.to {
			if c.refused {
				return Fate{Refused: true, At: later(now, later(p.min, n.paths[i^1].min))}
			}
			lost = true
		}
	}
	again := false
	for _, r := range n.rules[p.rules:p.endRule] {
		if r.nth == 0 || r.nth == m.Nth {
			late = later(late, r.late)
			again = again || r.twice
			lost = lost || r.drop
		}
	}
	if lost {
		return Fate{Lost: true}
	}
	takes := func(why draw.Purpose) int64 {
		if !chance {
			return p.min
		}
		return p.delay(key(why))
	}
	f := Fate{At: later(now, later(takes(delay), late))}
	if again {
		f.Again = later(f.At, max(1, takes(copied)))
	}
	return f
}

// befalls says whether what happens to ppm of a million messages happens to one
// sent at now, by chance u, or has not ended since it happened to one before it:
// it lasts, and ends has until when.
func befalls(now int64, u uint64, ppm, lasts int64, ends *int64) bool {
	if now < *ends {
		return true
	}
	if draw.Below(u, million) >= ppm {
		return false
	}
	*ends = later(now, lasts)
	return true
}

// delay is what the path's law makes of u.
func (p *path) delay(u uint64) int64 {
	switch p.law {
	case uniform:
		return draw.Between(u, p.min, p.max)
	case exponential:
		return min(later(p.min, draw.Exponential(u, p.mean)), p.max)
	case pareto:
		return min(draw.Pareto(u, p.min), p.max)
	}
	return p.min
}

// LongestDelay bounds how long a message can be on its way, a copy included, in
// true nanoseconds. It is false if nothing bounds it: a Pareto law without Max.
// An exponential law without Max ends at 44.4 times its mean (see package draw).
func (n *Network) LongestDelay() (ns int64, bounded bool) { return n.longest, n.bounded }

// RoundTrip is the least time that a request from a client to a node and the
// reply to it are on their way, in true nanoseconds. It is false if a cut is there
// at some instant from one on and before another.
func (n *Network) RoundTrip(client, node int, from, to int64) (ns int64, open bool) {
	i := n.index(client, node)
	for _, p := range n.paths[i : i+2] {
		for _, c := range n.cuts[p.cuts:p.endCuts] {
			if c.from < to && from < c.to {
				return 0, false
			}
		}
		ns = later(ns, p.min)
	}
	return ns, true
}

// bound computes LongestDelay. Rules are taken as if all met in one message.
func (n *Network) bound() {
	n.longest, n.bounded = 0, true
	for i := range n.paths {
		p := &n.paths[i]
		if p.law == pareto && p.max == math.MaxInt64 {
			n.longest, n.bounded = math.MaxInt64, false
			return
		}
		most := max(p.delay(0), p.delay(math.MaxUint64))
		all := most
		if p.slowPPM > 0 {
			all = later(all, p.slowBy)
		}
		copied := false
		for _, r := range n.rules[p.rules:p.endRule] {
			all = later(all, r.late)
			copied = copied || r.twice
		}
		if copied {
			all = later(all, max(1, most))
		}
		n.longest = max(n.longest, all)
	}
}

// later is t+d for d ≥ 0, kept within int64.
func later(t, d int64) int64 {
	if s := t + d; s >= t {
		return s
	}
	return math.MaxInt64
}
