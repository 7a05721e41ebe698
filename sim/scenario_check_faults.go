package sim

import (
	"cmp"
	"slices"

	"driftlock/clock"
	"driftlock/sim/node"
)

// What makes faults such as can happen.

// faultKind is what a kind of fault takes.
type faultKind struct {
	name     string
	machines string // "node", "client"; empty: both
	lasts    bool   // takes for; two on one machine must not overlap
	takesKey bool
}

var faultKinds = []faultKind{
	{name: "pause", lasts: true},
	{name: "suspend", machines: "client", lasts: true},
	{name: "crash", lasts: true},
	{name: "step"},
	{name: "rate", lasts: true},
	{name: "freeze", lasts: true},
	{name: "evict", machines: "node", takesKey: true},
	{name: "flush", machines: "node"},
	{name: "failover", machines: "node"},
}

var faultKindNames = func() (names []string) {
	for _, k := range faultKinds {
		names = append(names, k.name)
	}
	return names
}()

func (c *scenarioCheck) faults() {
	if len(c.s.Faults) > maxFaults {
		c.say(top, "faults", "%d faults: at most %d are allowed", len(c.s.Faults), maxFaults)
		return
	}
	for i := range c.s.Faults {
		p, f := &place{list: "faults", i: i}, &c.s.Faults[i]
		if c.oneOf(p, "kind", f.Kind, faultKindNames) {
			c.fault(p, f, &faultKinds[slices.Index(faultKindNames, f.Kind)])
		}
	}
	if len(c.s.Faults) > 0 {
		c.steppedTooFar()
		c.overlaps()
	}
}

func (c *scenarioCheck) fault(p *place, f *Fault, k *faultKind) {
	number, on := c.s.machine(f.On)
	if on == nil {
		names := c.names()
		c.say(p, "on", "no machine is called %s%s: there are %s", shown(f.On), didYouMean(f.On, names), enumerated(names))
		return
	}
	is := "node"
	if number >= len(c.s.Nodes) {
		is = "client"
	}
	if is == "node" && c.s.Nodes[number].Alias != "" {
		c.say(p, "on", "%s is another address of %s: faults happen to that", shown(f.On), shown(c.s.Nodes[number].Alias))
	}
	if k.machines != "" && k.machines != is {
		c.say(p, "on", "%s is a %s: %s is a fault of %ss", shown(f.On), is, k.name, k.machines)
	}
	if end := clock.Duration(c.s.last()); c.within(p, "at", f.At, 0, 2*maxSpan) && f.At > end {
		c.say(p, "at", "%v: the run is over at %v", f.At, end)
	}
	switch {
	case !k.lasts:
		c.none(p, "for", f.For != 0, k.name)
	case k.name == "crash" && is == "client":
		c.none(p, "for", f.For != 0, "a client's crash")
	case k.name == "crash":
		c.within(p, "for", f.For, 0, maxSpan)
	default:
		c.within(p, "for", f.For, 1, maxSpan)
	}
	c.faultBy(p, f, number)
	if f.Refuse {
		c.none(p, "refuse", k.name != "crash", k.name)
		c.none(p, "refuse", k.name == "crash" && is == "client", "a client's crash")
	}
	if k.takesKey {
		c.key(p, f.Key)
	} else {
		c.none(p, "key", f.Key != "", k.name)
	}
	if k.name != "rate" {
		c.none(p, "rate", !f.Rate.IsZero(), k.name)
	} else if c.rate(p, "rate", f.Rate); f.Rate == on.Rate {
		c.say(p, "rate", "%v: the clocks of %s run at that rate anyway", f.Rate, shown(f.On))
	}
}

// faultBy is how far a step goes, or how much a node loses.
func (c *scenarioCheck) faultBy(p *place, f *Fault, number int) {
	switch f.Kind {
	case "step":
		if f.By == 0 {
			c.say(p, "by", `missing: how far the wall clock jumps, such as "-1s"`)
		}
		c.within(p, "by", f.By, -maxOffset, maxOffset)
	case "failover":
		c.within(p, "by", f.By, 0, maxSpan)
	case "crash":
		switch {
		case f.By == 0:
		case number >= len(c.s.Nodes):
			c.none(p, "by", true, "a client's crash")
		case c.s.Nodes[number].Persistence == node.EverySecond:
			c.within(p, "by", f.By, 0, everySecondLoss)
		case c.s.Nodes[number].Persistence == node.Snapshot:
			c.within(p, "by", f.By, 0, maxSpan)
		default:
			c.say(p, "by", "only a node with persistence everysec or snapshot loses a part")
		}
	default:
		c.none(p, "by", f.By != 0, f.Kind)
	}
}

// steppedTooFar holds all the steps of a machine together to the bound of one.
func (c *scenarioCheck) steppedTooFar() {
	sum := map[string]clock.Duration{}
	for i := range c.s.Faults {
		f := &c.s.Faults[i]
		if f.Kind != "step" || f.By < -maxOffset || f.By > maxOffset || sum[f.On] > maxOffset {
			continue
		}
		if sum[f.On] += max(f.By, -f.By); sum[f.On] > maxOffset {
			c.say(&place{list: "faults", i: i}, "by", "%s has been stepped by %v in all: at most %v are allowed", shown(f.On), sum[f.On], maxOffset)
		}
	}
}

// overlaps refuses two faults of one kind on one machine at the same time: which
// of them counts, and which ends it, would be a guess.
func (c *scenarioCheck) overlaps() {
	var lasting []int
	for i := range c.s.Faults {
		k := slices.Index(faultKindNames, c.s.Faults[i].Kind)
		if f := &c.s.Faults[i]; k >= 0 && faultKinds[k].lasts && 0 <= f.At && f.At <= 2*maxSpan && 0 <= f.For && f.For <= maxSpan {
			lasting = append(lasting, i)
		}
	}
	slices.SortFunc(lasting, func(i, j int) int {
		a, b := &c.s.Faults[i], &c.s.Faults[j]
		return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.At, b.At), cmp.Compare(i, j))
	})
	ruling := 0 // the one of those before that ends last
	for n := 1; n < len(lasting); n++ {
		i := lasting[n]
		a, b := &c.s.Faults[lasting[ruling]], &c.s.Faults[i]
		if a.On != b.On || a.Kind != b.Kind || a.For > 0 && a.At+a.For <= b.At {
			ruling = n
			continue
		}
		c.say(&place{list: "faults", i: i}, "at", "%v: the %s of faults[%d] on %s is not over then", b.At, a.Kind, lasting[ruling], shown(b.On))
		if a.For > 0 && (b.For == 0 || b.At+b.For > a.At+a.For) {
			ruling = n
		}
	}
}
