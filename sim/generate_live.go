package sim

// The end of a scenario in which progress is demanded: a random quorum of nodes is
// healed, every other failure is there to stay, and nothing happens by chance any
// more.

import (
	"slices"

	"driftlock/clock"
	"driftlock/sim/network"
)

// liveness makes the end of the scenario such a phase. Faults of clients and of the
// nodes that are healed run to their end, and none begins after heal; the phase
// begins when all of that is over.
func (g *drafter) liveness() {
	heal := g.span("live.from", g.ttl/2, max(g.busy, g.ttl))
	core := g.core()
	heals := func(name string) bool {
		i := slices.IndexFunc(g.sc.Nodes, func(n Node) bool { return n.Name == name })
		return i < 0 || core[i]
	}
	from := max(g.healFaults(heal, heals), g.healCuts(heal, heals))
	for i := range g.sc.Nodes {
		var m machine
		n := &g.sc.Nodes[i]
		m.set(n.Clock, g.sc.Faults, n.Name, &n.Config)
		for _, d := range m.down {
			if core[i] {
				from = max(from, clock.Duration(d.to))
			}
		}
	}
	g.fates(from, core)
	g.waiters(from)
	g.sc.Network.Rules, g.sc.Network.QuietFrom = nil, from
	// Pauses are long enough for others to find the nodes free meanwhile.
	g.sc.Lock.Retry = Retry{Min: max(g.ttl/8, 1e6), Max: max(g.ttl/2, 2*g.sc.Lock.NodeTimeout, 4e6)}
	g.sc.Live, g.sc.Until = &Live{From: from}, from+g.ttl
	if bound, why := liveBound(&g.sc, nil); why == "" {
		g.sc.Until += clock.Duration(bound)
		g.sc.Lock.Retry.Outage = g.sc.Until // nobody gives up
	} else { // its delays are too long for its node timeout, say
		g.sc.Live = nil
		g.sc.Until += 10 * g.ttl
	}
}

// core draws which nodes are healed: a quorum, or some more.
func (g *drafter) core() []bool {
	n := len(g.sc.Nodes)
	first := int(g.Int("live.first", 0, int64(n-1)))
	count := n/2 + 1
	if more := int(g.Int("live.more", 0, int64(n-count))); g.happens("live.some_more", 3) {
		count += more
	}
	core := make([]bool, n)
	for i := range count {
		core[(first+i)%n] = true
	}
	return core
}

// healFaults ends the faults of machines that heal, has those of others last, and
// returns when the last one that ends is over.
func (g *drafter) healFaults(heal clock.Duration, heals func(string) bool) (over clock.Duration) {
	over = heal
	kept := g.sc.Faults[:0]
	for _, f := range g.sc.Faults {
		if f.At >= heal {
			continue
		}
		m := g.find(f.On)
		switch {
		case f.For == 0 && f.Kind != "crash" || m.client != nil && f.Kind == "crash":
		case heals(f.On):
			if f.For == 0 {
				f.For = g.longEnough(&f, &m, heal-f.At)
			}
			over = max(over, f.At+f.For)
		case f.For > 0 && f.At+f.For <= heal:
		case f.Kind == "crash":
			f.For = 0
		default:
			f.For = endless
		}
		kept = append(kept, f)
	}
	g.sc.Faults = kept
	return over
}

// healCuts does the same with cuts.
func (g *drafter) healCuts(heal clock.Duration, heals func(string) bool) (over clock.Duration) {
	over = heal
	kept := g.sc.Network.Cuts[:0]
	for _, c := range g.sc.Network.Cuts {
		if c.At >= heal {
			continue
		}
		isCore := func(name string) bool { return g.find(name).node != nil && heals(name) }
		switch lasts := c.For == 0 || c.At+c.For > heal; {
		case slices.ContainsFunc(c.From, isCore) || slices.ContainsFunc(c.To, isCore):
			if c.For == 0 {
				c.For = heal - c.At
			}
			over = max(over, c.At+c.For)
		case lasts:
			c.For = 0
		}
		kept = append(kept, c)
	}
	g.sc.Network.Cuts = kept
	return over
}

// fates draws what becomes of the others for good: some go down, stand still or
// are cut off, and so do some clients, but for one.
func (g *drafter) fates(from clock.Duration, core []bool) {
	spared := int(g.Int("live.spared", 0, int64(len(g.sc.Clients)-1)))
	all := []string{}
	for i := range g.sc.Clients {
		name := g.sc.Clients[i].Name
		all = append(all, name)
		if fate := g.among("live."+name+".fate", 6, 1, 1); i != spared {
			g.fate(fate, name, from)
		}
	}
	for i := range g.sc.Nodes {
		n := &g.sc.Nodes[i]
		fate := g.among("live."+n.Name+".fate", 3, 2, 2, 2)
		switch {
		case core[i] || n.Alias != "":
		case fate == 3:
			g.sc.Network.Cuts = append(g.sc.Network.Cuts, network.Cut{From: all, To: []string{n.Name}, At: from})
		default:
			g.fate(fate, n.Name, from)
		}
	}
}

// fate has a machine crash (1) or stand still (2) for good, unless it does
// something of the kind anyway.
func (g *drafter) fate(fate int, name string, from clock.Duration) {
	f := Fault{Kind: "crash", On: name, At: from}
	if fate == 2 {
		f = Fault{Kind: "pause", On: name, At: from, For: endless}
	}
	if fate == 0 || slices.ContainsFunc(g.sc.Faults, func(o Fault) bool { return o.On == name && o.Kind == f.Kind && (o.For == 0 || o.At+o.For > from) }) {
		return
	}
	g.sc.Faults = append(g.sc.Faults, f)
}

// waiters has the clients ask again, so that somebody waits in the phase.
func (g *drafter) waiters(from clock.Duration) {
	for i := range g.sc.Clients {
		c := &g.sc.Clients[i]
		c.Repeat = 1
		key := Step{Do: "release"}
		for _, s := range c.Steps {
			if s.Do == "acquire" {
				key.Key = s.Key
			}
		}
		for _, turn := range []string{".first", ".second"} {
			label := "live." + c.Name + turn
			c.Steps = append(c.Steps, Step{Do: "sleep", For: g.span(label+".sleep", 1, from)}, Step{Do: "acquire", Key: key.Key},
				Step{Do: "hold", Key: key.Key, Percent: int(g.Int(label+".hold", 1, 100))})
			if g.happens(label+".release", 4) {
				c.Steps = append(c.Steps, key)
			}
		}
	}
}

// find is the machine of that name.
func (g *drafter) find(name string) struck {
	for _, m := range append(g.allNodes(), g.allClients()...) {
		if m.name == name {
			return m
		}
	}
	return struck{}
}
