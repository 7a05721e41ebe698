package timeline

import (
	"fmt"
	"io"
	"slices"
	"strings"
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
	switch {
	case !v.OK():
		p.broken(h, c, v, v.Violations[0], tried)
	case len(v.Leases) > 0:
		p.held(c, v)
	default:
		p.para(p.paint(warn, "HELD")+"  ", "but nobody got a lock, so nothing was at stake.")
	}
	if v.OK() { // of what broke there is more to say
		for _, warning := range v.Warnings {
			p.para("Note: ", clean(warning)+".")
		}
	}
	return p.writeTo(w)
}

// held shows the lease that came closest: of those whose trust ran out, if there
// are any, since with a release in time the margin is a message's way.
func (p *page) held(c cast, v sim.Verdict) {
	closest := v.Leases[0]
	for _, l := range v.Leases[1:] {
		if l.RanOut() == closest.RanOut() && l.Margin() < closest.Margin() || l.RanOut() && !closest.RanOut() {
			closest = l
		}
	}
	leases := "leases"
	if len(v.Leases) == 1 {
		leases = "lease"
	}
	how := "released"
	if closest.RanOut() {
		how = "run out"
	}
	p.headline(good, "HELD", fmt.Sprintf("%d %s, none trusted longer than the nodes kept others out. The closest: %s on %q, %s with %s.",
		len(v.Leases), leases, clean(closest.Client), closest.Key, how, spare(closest)))
	p.line("")
	p.bars(c, v, closest, nil)
}

// spare is a margin that is not negative, in words.
func spare(l sim.Lease) string {
	if l.ExclusionEnds == never {
		return "all the time there is"
	}
	return length(l.Margin()) + " to spare"
}

func (p *page) headline(t tint, word, text string) {
	lines := wrap(text, columns-len(word)-2)
	p.line(p.paint(t, word) + "  " + lines[0])
	for _, l := range lines[1:] {
		p.line(pad("", len(word)+2) + l)
	}
}

func (p *page) broken(h *sim.History, c cast, v sim.Verdict, x sim.Violation, tried sim.Factor) {
	p.headline(bad, "BROKEN", headline(v, x))
	if x.Lease >= 0 {
		l := v.Leases[x.Lease]
		var rival *sim.Lease
		if x.Invariant == sim.I1 && x.Other >= 0 {
			l, rival = v.Leases[x.Other], &v.Leases[x.Lease]
		}
		p.line("")
		p.bars(c, v, l, rival)
		why := explain(h, c, v, l, tried)
		p.line("")
		for _, s := range why.sentences() {
			p.para(s.head, s.text)
		}
	}
	p.assumptions(c, v, x)
	p.rest(c, v, x)
}

// beyond is what the lock promises nothing about, by the assumption that it
// makes instead (docs/design.md, section 6).
var beyond = map[sim.Assumption]string{
	sim.A1: "clocks that drift further than factor and buffer cover",
	sim.A2: "nodes that forget what they have answered",
	sim.A3: "clocks that step further than factor and buffer cover",
	sim.A4: "a holder whose clock stops or goes back",
	sim.A5: "clients that name different nodes",
	sim.A6: "fence numbers that get lost",
}

// assumptions says what of the run lies beyond the lock's promise; a break that
// this does not explain is the lock's own.
func (p *page) assumptions(c cast, v sim.Verdict, x sim.Violation) {
	switch {
	case x.Invariant == sim.I4: // no assumption is about progress
		return
	case x.Invariant == sim.I3 && !c.Lock.Fencing:
		p.para("Not promised: ", "that a resource takes no stale write, without fence numbers.")
		return
	case !sim.Explained(x.Invariant, v.Unmet) && len(c.Lock.Flaws) > 0:
		p.para("Flaw:  ", "the lock is wrong on purpose: "+strings.Join(c.Lock.Flaws, ", ")+".")
		return
	case !sim.Explained(x.Invariant, v.Unmet):
		p.para("BUG: ", "nothing in this run is beyond what the lock promises. It is a fault of the lock, of the code around it, or of the simulator.")
		return
	}
	var what []string
	for _, u := range v.Unmet {
		text := fmt.Sprintf("%s (%v)", beyond[u.Assumption], u.Assumption)
		if !slices.Contains(what, text) {
			what = append(what, text)
		}
	}
	p.para("Not promised: ", "anything under "+join(what)+".")
}

// headline says what broke, in words that need no knowledge of the theory.
func headline(v sim.Verdict, x sim.Violation) string {
	what := fmt.Sprintf("%v (%s): ", x.Invariant, x.Invariant.Word())
	switch {
	case x.Invariant == sim.I2 && x.HasMargin:
		return what + fmt.Sprintf("%s believed that it held %q for %s longer than the nodes kept others out.",
			clean(x.Client), x.Key, length(x.Margin))
	case x.Invariant == sim.I1 && x.Lease >= 0 && x.Other >= 0:
		early, late := v.Leases[x.Other], v.Leases[x.Lease]
		return what + fmt.Sprintf("%s and %s both believed that they held %q, for %s.",
			clean(early.Client), clean(late.Client), x.Key, length(time.Duration(min(early.TrustEnds, late.TrustEnds)-late.Granted)))
	}
	return what + clean(x.Text)
}

// bars draws who believed what, and what was so.
func (p *page) bars(c cast, v sim.Verdict, l sim.Lease, rival *sim.Lease) {
	trust := span{l.Granted, l.TrustEnds}
	danger := span{max(l.ExclusionEnds, l.Granted), l.TrustEnds}
	spans := []span{trust}
	gap := span{min(l.ExclusionEnds, l.TrustEnds), max(l.ExclusionEnds, l.TrustEnds)}
	if rival != nil {
		second := span{rival.Granted, rival.TrustEnds}
		danger = span{max(trust.from, second.from), min(trust.to, second.to)}
		gap, spans = danger, append(spans, second)
	}
	groups := blockers(c, v, l)
	from := l.Granted
	for _, g := range groups {
		from = min(from, g.blocks[0].From)
	}
	exclusion := span{from, max(from, l.ExclusionEnds)}
	spans = append(spans, exclusion)
	a := axisOver(spans, gap)

	p.scale(a)
	p.row(clean(l.Client)+" believes it holds", a.bar(p.Style, []span{trust}, danger, good), shortest(l.TrustEnds))
	if rival != nil {
		p.row(clean(rival.Client)+" believes it holds", a.bar(p.Style, []span{{rival.Granted, rival.TrustEnds}}, danger, good), shortest(rival.TrustEnds))
	}
	p.row("the nodes really block", a.bar(p.Style, []span{exclusion}, span{}, strong), shortest(l.ExclusionEnds))
	var silent []int
	for n := range c.Nodes {
		silent = append(silent, n)
	}
	for _, g := range groups {
		label := "  " + c.nodes(g.nodes)
		if off := g.off.label(); off != "" {
			label += "  " + off
		}
		p.row(label, a.bar(p.Style, g.spans(), span{}, faint), shortest(g.end()))
		silent = without(silent, g.nodes)
	}
	note := fmt.Sprintf("%d of the %d nodes must block to keep a rival from its %d.", c.needed, len(c.Nodes), c.quorum)
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

// rest names what else broke, or that nobody happened to use the gap.
func (p *page) rest(c cast, v sim.Verdict, shown sim.Violation) {
	for i := sim.I1; i <= sim.I7; i++ {
		var more []sim.Violation
		var most time.Duration
		for _, x := range v.Violations {
			if x.Invariant == i && x != shown {
				more = append(more, x)
				most = min(most, x.Margin)
			}
		}
		switch {
		case len(more) == 1:
			p.para("Also broken: ", headline(v, more[0])+" (At "+shortest(more[0].At)+".)")
		case len(more) > 1 && most < 0:
			p.para("Also broken: ", fmt.Sprintf("%v (%s) %s more, by up to %s.", i, i.Word(), times(len(more)), length(most)))
		case len(more) > 1:
			p.para("Also broken: ", fmt.Sprintf("%v (%s) %s more.", i, i.Word(), times(len(more))))
		}
	}
	if shown.Invariant == sim.I2 && !broke(v, sim.I1) {
		nobody := "nobody asked"
		if len(c.Clients) == 1 {
			nobody = "there was nobody else to ask"
		}
		p.para("Luck: ", nobody+" for the lock in that gap. Whoever does gets it, and there are two holders.")
	}
}

func broke(v sim.Verdict, i sim.Invariant) bool {
	for _, x := range v.Violations {
		if x.Invariant == i {
			return true
		}
	}
	return false
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
