package sim

// Delays, losses and cuts.

import (
	"driftlock/clock"
	"driftlock/sim/network"
)

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
