package sim

import (
	"strings"

	"driftlock/clock"
	"driftlock/sim/network"
)

// network holds delays and lists to limits; the rest package network knows.
func (c *scenarioCheck) network() {
	n := &c.s.Network
	c.path("network.request", &n.Request)
	c.path("network.reply", &n.Reply)
	if len(n.Paths) > 2*maxMachines*maxMachines || len(n.Cuts) > maxFaults || len(n.Rules) > maxFaults {
		c.say(top, "network", "%d paths, %d cuts, %d rules: at most %d, %d and %d are allowed",
			len(n.Paths), len(n.Cuts), len(n.Rules), 2*maxMachines*maxMachines, maxFaults, maxFaults)
		return
	}
	for _, name := range network.Sorted(n.Paths) {
		p := n.Paths[name]
		c.path("network.paths["+shown(name)+"]", &p)
	}
	for i := range n.Cuts {
		cut, p := &n.Cuts[i], &place{list: "network.cuts", i: i}
		if len(cut.From) > 2*maxMachines || len(cut.To) > 2*maxMachines {
			c.say(p, "", "more machines than there can be: at most %d", 2*maxMachines)
			return
		}
		c.notTooLong(p, "at", cut.At)
		c.notTooLong(p, "for", cut.For)
	}
	for i := range n.Rules {
		c.notTooLong(&place{list: "network.rules", i: i}, "late", n.Rules[i].Late)
	}
	c.notTooLong(top, "network.quiet_from", n.QuietFrom)
	var clients, places []string
	if len(n.Paths)+len(n.Cuts)+len(n.Rules) > 0 { // nothing else names a machine
		names := c.names()
		clients, places = names[len(c.s.Nodes):], names[:len(c.s.Nodes):len(c.s.Nodes)]
		for i := range c.s.Resources {
			places = append(places, c.s.Resources[i].Name)
		}
	}
	if err := n.Check(clients, places); err != nil {
		path, text, _ := strings.Cut(err.Error(), ": ")
		c.say(top, path, "%s", text)
	}
}

func (c *scenarioCheck) path(where string, p *network.Path) {
	if d := &p.Delay; max(d.Min, d.Mean, d.Max, p.LossFor, p.SlowBy, p.SlowFor) > maxSpan {
		c.notTooLong(top, where+".delay.min", d.Min)
		c.notTooLong(top, where+".delay.mean", d.Mean)
		c.notTooLong(top, where+".delay.max", d.Max)
		c.notTooLong(top, where+".loss_for", p.LossFor)
		c.notTooLong(top, where+".slow_by", p.SlowBy)
		c.notTooLong(top, where+".slow_for", p.SlowFor)
	}
}

// notTooLong refuses a duration above the limit; package network refuses those
// below 0.
func (c *scenarioCheck) notTooLong(p *place, field string, d clock.Duration) {
	if d > maxSpan {
		c.say(p, field, "%v: must be at most %v", d, maxSpan)
	}
}
