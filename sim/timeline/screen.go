package timeline

import (
	"fmt"
	"io"
	"time"

	"driftlock/sim"
)

// Screen writes what a verdict says, in about a screen: what broke and by how
// much, when the holder believed and when the nodes blocked, why, and what would
// have held. Of a run that held it shows the lease that came closest.
// Tried is a drift factor with which the scenario was run and held; 0: none was.
func Screen(w io.Writer, h *sim.History, v sim.Verdict, tried sim.Factor, st Style) error {
	p := &page{Style: st}
	c := castOf(h.Scenario())
	a := Tell(h, v, tried)
	p.verdict(v, a)
	if a.lease != nil {
		p.line("")
		p.bars(c, v, *a.lease, a.rival)
	}
	if a.explained {
		p.line("")
	}
	p.sentences(a)
	return p.writeTo(w)
}

// verdict writes what broke, or came closest to it.
func (p *page) verdict(v sim.Verdict, a Account) {
	switch {
	case !v.OK():
		p.headline(bad, "BROKEN", a.Headline)
	case len(v.Leases) > 0:
		p.headline(good, "HELD", a.Headline)
	default:
		p.headline(warn, "HELD", a.Headline)
	}
}

// sentences writes why.
func (p *page) sentences(a Account) {
	for _, s := range a.Sentences {
		p.para(s.Head, s.Text)
	}
}

func (p *page) headline(t tint, word, text string) {
	lines := wrap(text, columns-len(word)-2)
	p.line(p.paint(t, word) + "  " + lines[0])
	for _, l := range lines[1:] {
		p.line(pad("", len(word)+2) + l)
	}
}

// stretches are what a picture shows of a lease, or of two that overlap.
type stretches struct {
	axis
	trust, second span // second is the rival's, empty without one
	danger        span // belief in what is not so
	exclusion     span
	groups        []blocker
}

func stretchesOf(c cast, v sim.Verdict, l sim.Lease, rival *sim.Lease) (s stretches) {
	s.trust = span{l.Granted, l.TrustEnds}
	s.danger = span{max(l.ExclusionEnds, l.Granted), l.TrustEnds}
	spans := []span{s.trust}
	gap := span{min(l.ExclusionEnds, l.TrustEnds), max(l.ExclusionEnds, l.TrustEnds)}
	if rival != nil {
		s.second = span{rival.Granted, rival.TrustEnds}
		s.danger = span{max(s.trust.from, s.second.from), min(s.trust.to, s.second.to)}
		gap, spans = s.danger, append(spans, s.second)
	}
	s.groups = blockers(c, v, l)
	from := l.Granted
	for _, g := range s.groups {
		from = min(from, g.blocks[0].From)
	}
	s.exclusion = span{from, max(from, l.ExclusionEnds)}
	s.axis = axisOver(append(spans, s.exclusion), gap)
	return s
}

// bars draws who believed what, and what was so.
func (p *page) bars(c cast, v sim.Verdict, l sim.Lease, rival *sim.Lease) {
	s := stretchesOf(c, v, l, rival)
	a := s.axis
	p.scale(a)
	p.row(clean(l.Client)+" believes it holds", a.bar(p.Style, []span{s.trust}, s.danger, good), shortest(l.TrustEnds))
	if rival != nil {
		p.row(clean(rival.Client)+" believes it holds", a.bar(p.Style, []span{s.second}, s.danger, good), shortest(rival.TrustEnds))
	}
	p.row("the nodes really block", a.bar(p.Style, []span{s.exclusion}, span{}, strong), shortest(l.ExclusionEnds))
	var silent []int
	for n := range c.Nodes {
		silent = append(silent, n)
	}
	for _, g := range s.groups {
		label := "  " + c.nodes(g.nodes)
		if off := g.off.label(); off != "" {
			label += "  " + off
		}
		p.row(label, a.bar(p.Style, g.spans(), span{}, faint), shortest(g.end()))
		silent = without(silent, g.nodes)
	}
	note := fmt.Sprintf("%d of the %d nodes must block to keep a rival from its %d.", c.needed, len(c.Nodes), c.quorum)
	if len(c.Nodes) == 1 {
		note = "There is no other node to keep a rival from the lock."
	}
	if len(silent) > 0 {
		note += fmt.Sprintf(" %s never had the key.", c.nodes(silent))
	}
	p.para("  ", note)
}

func without(which, gone []int) []int {
	var left []int
	for _, n := range which {
		keep := true
		for _, g := range gone {
			keep = keep && n != g
		}
		if keep {
			left = append(left, n)
		}
	}
	return left
}

// Needed is the drift factor with which, by their margins, all leases of a run
// would have ended in time: three digits, rounded up. It is what to try first:
// with another factor a run can take another course. 0: none was needed.
func Needed(v sim.Verdict) sim.Factor {
	exact := sim.Factor(0)
	for _, l := range v.Leases {
		if l.Margin() < 0 {
			exact = max(exact, l.Required)
		}
	}
	unit := sim.Factor(1)
	for exact/unit >= 1000 {
		unit *= 10
	}
	return (exact + unit - 1) / unit * unit
}

// share is the drift that a factor takes off a TTL, rounded up as the lock does.
func share(f sim.Factor, ttl time.Duration) time.Duration {
	whole, rest := int64(ttl)/1e9, int64(ttl)%1e9
	return time.Duration(whole*int64(f) + (rest*int64(f)+1e9-1)/1e9)
}
