package sim

import (
	"strings"

	"driftlock/clock"
	"driftlock/sim/node"
)

// What makes nodes, clients and resources such as can be run, and how one finds
// them by their names.

// count refuses a list of machines that is too short or too long.
func (c *scenarioCheck) count(list string, n int) bool {
	if n < 1 || n > maxMachines {
		c.say(top, list, "%d %s: must be 1 to %d", n, list, maxMachines)
	}
	return n <= maxMachines
}

func (c *scenarioCheck) nodes() {
	if !c.count("nodes", len(c.s.Nodes)) {
		return
	}
	for i := range c.s.Nodes {
		n, p := &c.s.Nodes[i], &place{list: "nodes", i: i}
		c.name(p, n.Name, i)
		if n.Alias != "" {
			c.alias(p, n)
			continue
		}
		c.clock(p, n.Clock)
		c.oneOfOr(p, "expiry", string(n.Expiry), expiries)
		c.oneOfOr(p, "persistence", string(n.Persistence), persistences)
		c.within(p, "quarantine", n.Quarantine, 0, maxSpan)
		c.oneOfOr(p, "quarantine_on", string(n.QuarantineOn), quarantineClocks)
		c.none(p, "quarantine_on", n.QuarantineOn != "" && n.Quarantine == 0, "a node without a quarantine")
	}
}

// alias checks another address of a node.
func (c *scenarioCheck) alias(p *place, n *Node) {
	var names []string
	for i := range c.s.Nodes {
		if o := &c.s.Nodes[i]; o.Alias == "" {
			names = append(names, o.Name)
		}
	}
	if c.oneOf(p, "alias", n.Alias, names) {
		c.none(p, "", n.Clock != Clock{} || n.Config != node.Config{}, "another address of a node, besides its name,")
	}
}

func (c *scenarioCheck) clients() {
	if !c.count("clients", len(c.s.Clients)) {
		return
	}
	steps := 0
	for i := range c.s.Clients {
		cl, p := &c.s.Clients[i], &place{list: "clients", i: i}
		c.name(p, cl.Name, len(c.s.Nodes)+i)
		c.clock(p, cl.Clock)
		c.oneOfOr(p, "lives", string(cl.Lives), lives)
		if most := min(maxRepeat, maxWork/max(1, len(cl.Steps))); cl.Repeat < 0 || cl.Repeat > max(1, most) {
			c.say(p, "repeat", "%d: must be from 0 to %d for so many steps", cl.Repeat, max(1, most))
		}
		if steps += len(cl.Steps); steps > maxSteps {
			c.say(p, "steps", "%d steps so far: all clients together may have %d", steps, maxSteps)
			return
		}
		var acquired keys
		for j := range cl.Steps {
			c.step(&place{list: "clients", i: i, sub: "steps", j: j}, &cl.Steps[j], &acquired)
		}
	}
}

// resources checks what the lock protects.
func (c *scenarioCheck) resources() {
	if len(c.s.Resources) > maxMachines {
		c.say(top, "resources", "%d resources: at most %d are allowed", len(c.s.Resources), maxMachines)
		return
	}
	for i := range c.s.Resources {
		c.name(&place{list: "resources", i: i}, c.s.Resources[i].Name, len(c.s.Nodes)+len(c.s.Clients)+i)
	}
}

// name refuses a name that faults, cuts and rules could not use.
func (c *scenarioCheck) name(p *place, name string, number int) {
	switch {
	case name == "":
		c.say(p, "name", `missing: each machine has a name, such as "A" or "c1"`)
	case len(name) > maxName || !only(name, letters+digits+"-_."):
		c.say(p, "name", "%s: a name has up to %d letters, digits, '-', '_' and '.'", shown(name), maxName)
	default:
		if c.s.numberOf(name) != number {
			c.say(p, "name", "%s is the name of another machine already", shown(name))
		}
	}
}

// machine returns the number and the clock of a machine: nodes come first, then
// clients. Below 0: there is none of that name.
func (s *Scenario) machine(name string) (number int, c *Clock) {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return i, &s.Nodes[i].Clock
		}
	}
	for i := range s.Clients {
		if s.Clients[i].Name == name {
			return len(s.Nodes) + i, &s.Clients[i].Clock
		}
	}
	return -1, nil
}

// numberOf is the number of what has that name: nodes come first, then clients,
// then resources. Below 0: nothing has.
func (s *Scenario) numberOf(name string) int {
	if n, _ := s.machine(name); n >= 0 {
		return n
	}
	for i := range s.Resources {
		if s.Resources[i].Name == name {
			return len(s.Nodes) + len(s.Clients) + i
		}
	}
	return -1
}

// names are those of all machines, in their order.
func (c *scenarioCheck) names() []string {
	names := make([]string, 0, len(c.s.Nodes)+len(c.s.Clients))
	for i := range c.s.Nodes {
		names = append(names, c.s.Nodes[i].Name)
	}
	for i := range c.s.Clients {
		names = append(names, c.s.Clients[i].Name)
	}
	return names
}

func enumerated(names []string) string {
	if len(names) > 12 {
		return strings.Join(names[:12], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

func (c *scenarioCheck) clock(p *place, k Clock) {
	c.rate(p, "clock.rate", k.Rate)
	c.within(p, "clock.offset", k.Offset, -maxOffset, maxOffset)
}

func (c *scenarioCheck) rate(p *place, field string, r clock.Rate) {
	if r.Cmp(minRate) < 0 || r.Cmp(maxRate) > 0 {
		c.say(p, field, "%v: must be from %v to %v", r, minRate, maxRate)
	}
}
