package network

import (
	"math"
	"slices"

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
	seed  uint64
	nodes int
	ways  []way
	paths []path // of request and reply, by client and node
	cuts  []span // those of a path lie together
	rules []rule
	quiet int64 // from then on nothing happens by chance

	sides []side // while it is made: of each machine, clients first
	name  []byte // and the name of a path
}

const million = 1_000_000

// path is one direction between a client and a node, with all that concerns it.
type path struct {
	*way
	plain          int64     // until then nothing can happen to a message: it takes its delay
	delays         draw.Walk // of messages
	lossEnds       int64     // until then all is lost; this and slowEnds are all that a run changes
	slowEnds       int64     // until then all is late
	cuts, endCuts  int32     // in Network.cuts
	rules, endRule int32     // in Network.rules
}

// way is a Path, which many paths have.
type way struct {
	law            law
	min, mean, max int64 // max: of Pareto and Exponential, math.MaxInt64 for none
	room           int64 // from min to max
	longest        int64 // delay that the law can give
	lossPPM        int64
	lossFor        int64
	slowPPM        int64
	slowBy         int64
	slowFor        int64
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
	n.ways = append(n.ways[:0], newWay(&c.Request), newWay(&c.Reply))
	request, reply := &n.ways[0], &n.ways[1]
	n.paths = slices.Grow(n.paths[:0], 2*len(clients)*len(nodes))
	for i := range uint64(len(clients)) {
		for j := range uint64(len(nodes)) {
			n.paths = append(n.paths,
				path{way: request, plain: n.plain(request), delays: draw.NewWalk(seed, draw.RequestDelay, i, j)},
				path{way: reply, plain: n.plain(reply), delays: draw.NewWalk(seed, draw.ReplyDelay, i, j)})
		}
	}
	n.resolvePaths(c.Paths, clients, nodes)
	n.resolveCuts(c.Cuts, clients, nodes)
	n.resolveRules(c.Rules, clients, nodes)
}

func newWay(p *Path) way {
	d := &p.Delay
	w := way{min: int64(d.Min), mean: int64(d.Mean), max: int64(d.Max), lossPPM: int64(p.LossPPM), lossFor: int64(p.LossFor),
		slowPPM: int64(p.SlowPPM), slowBy: int64(p.SlowBy), slowFor: int64(p.SlowFor)}
	switch d.Law {
	case Uniform:
		w.law = uniform
	case Exponential:
		w.law = exponential
	case Pareto:
		w.law = pareto
	}
	if w.max == 0 && w.law != uniform {
		w.max = math.MaxInt64
	}
	w.room = w.max - w.min
	w.longest = max(w.delay(0), w.delay(math.MaxUint64))
	return w
}

// plain is until when a path that goes this way is plain, if it has no cuts and rules.
func (n *Network) plain(w *way) int64 {
	if w.lossPPM > 0 || w.slowPPM > 0 {
		return 0
	}
	return n.quiet
}

// bounded says that the longest delay is a bound, and not only all that the draws give.
func (w *way) bounded() bool { return w.law != pareto || w.max < math.MaxInt64 }

// resolvePaths gives those paths a way of their own that have one.
func (n *Network) resolvePaths(own map[string]Path, clients, nodes []string) {
	if len(own) == 0 {
		return
	}
	for i := range n.paths {
		from, to := n.ends(i, clients, nodes)
		n.name = append(append(append(n.name[:0], from...), '>'), to...)
		if c, ok := own[string(n.name)]; ok {
			n.ways = append(n.ways, newWay(&c))
			p := &n.paths[i]
			p.way = &n.ways[len(n.ways)-1]
			p.plain = n.plain(p.way)
		}
	}
}

// index is where the path from a client to a node lies, and next to it the way back.
func (n *Network) index(client, node int) int { return 2 * (client*n.nodes + node) }

// ends are the machines that a path, by its number, leads from and to.
func (n *Network) ends(i int, clients, nodes []string) (from, to string) {
	client, node := clients[i/2/n.nodes], nodes[i/2%n.nodes]
	if i%2 == 1 {
		return node, client
	}
	return client, node
}

func (n *Network) resolveCuts(cuts []Cut, clients, nodes []string) {
	n.cuts = n.cuts[:0]
	if len(cuts) == 0 {
		return
	}
	n.sides = n.sides[:0]
	for _, c := range cuts {
		for _, names := range [][]string{clients, nodes} {
			for _, name := range names {
				n.sides = append(n.sides, c.side(name))
			}
		}
	}
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
				p.plain = 0
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
	if len(rules) == 0 {
		return
	}
	for i := range n.paths {
		p := &n.paths[i]
		from, to := n.ends(i, clients, nodes)
		p.rules = int32(len(n.rules))
		for _, r := range rules {
			if (r.From == "" || r.From == from) && (r.To == "" || r.To == to) {
				n.rules = append(n.rules, rule{uint32(r.Nth), r.Drop, r.Twice, int64(r.Late)})
				p.plain = 0
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
	back := 0
	if m.Reply {
		back = 1
	}
	i := n.index(m.Client, m.Node) + back
	p := &n.paths[i]
	if now >= p.plain {
		return n.fate(now, m, i)
	}
	u := p.delays.Key(uint64(m.Nth))
	if p.law == exponential { // as most are: without another call
		return Fate{At: later(now, p.exponential(u))}
	}
	return Fate{At: later(now, p.delay(u))}
}

// fate is what becomes of m on path i, where anything may happen.
func (n *Network) fate(now int64, m Message, i int) Fate {
	copied, loss, slow := draw.RequestCopy, draw.RequestLoss, draw.RequestSlow
	if m.Reply {
		copied, loss, slow = draw.ReplyCopy, draw.ReplyLoss, draw.ReplySlow
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
	takes := func(u uint64) int64 {
		if !chance {
			return p.min
		}
		return p.delay(u)
	}
	f := Fate{At: later(now, later(takes(p.delays.Key(uint64(m.Nth))), late))}
	if again {
		f.Again = later(f.At, max(1, takes(key(copied))))
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

// delay is what the law makes of u.
func (w *way) delay(u uint64) int64 {
	switch w.law {
	case uniform:
		return draw.Between(u, w.min, w.max)
	case exponential:
		return w.exponential(u)
	case pareto:
		return min(draw.Pareto(u, w.min), w.max)
	}
	return w.min
}

func (w *way) exponential(u uint64) int64 {
	return w.min + min(draw.Exponential(u, w.mean), w.room)
}

// LongestDelay bounds how long a message can be on its way, a copy included, in
// true nanoseconds. It is false if nothing bounds it: a Pareto law without Max.
// An exponential law without Max ends at 44.4 times its mean (see package draw).
// Rules are taken as if all met in one message.
func (n *Network) LongestDelay() (ns int64, bounded bool) {
	for i := range n.paths {
		p := &n.paths[i]
		if !p.bounded() {
			return math.MaxInt64, false
		}
		all := p.longest
		if p.slowPPM > 0 {
			all = later(all, p.slowBy)
		}
		copied := false
		for _, r := range n.rules[p.rules:p.endRule] {
			all = later(all, r.late)
			copied = copied || r.twice
		}
		if copied {
			all = later(all, max(1, p.longest))
		}
		ns = max(ns, all)
	}
	return ns, true
}

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

// later is t+d for d ≥ 0, kept within int64.
func later(t, d int64) int64 {
	if s := t + d; s >= t {
		return s
	}
	return math.MaxInt64
}
