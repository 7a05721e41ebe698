package sim

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

// resources checks what the lock protects.
func (c *scenarioCheck) resources() {
	if len(c.s.Resources) > maxMachines {
		c.say(at("resources"), "%d resources: at most %d are allowed", len(c.s.Resources), maxMachines)
		return
	}
	for i := range c.s.Resources {
		c.name(place{list: "resources", i: i}.in("name"), c.s.Resources[i].Name, len(c.s.Nodes)+len(c.s.Clients)+i)
	}
}

// target refuses what no step can write to.
func (c *scenarioCheck) target(p place, name string) {
	var names []string
	for i := range c.s.Resources {
		if c.s.Resources[i].Name == name {
			return
		}
		names = append(names, c.s.Resources[i].Name)
	}
	switch {
	case len(names) == 0:
		c.say(p, "%s: the scenario has no resources", shown(name))
	case name == "":
		c.say(p, "missing: the name of a resource, of %v", names)
	default:
		c.say(p, "%s is no resource: have %v", shown(name), names)
	}
}

// live checks when progress is demanded.
func (c *scenarioCheck) live() {
	if l := c.s.Live; l != nil {
		c.within(at("live.from"), l.From, 0, maxSpan)
		c.within(at("live.within"), l.Within, 0, maxSpan)
	}
}
