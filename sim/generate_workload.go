package sim

// What the clients do.

import "driftlock/clock"

// workload draws what the clients do, and how long that may take.
func (g *drafter) workload() {
	clients := len(g.sc.Clients)
	keys := []string{"k"}
	if g.happens("keys", 1) {
		keys = []string{"k", "j"}
	}
	pounce := g.happens("pounce", 2) && clients > 1 && !g.sp.certain
	uncovered := max(g.ttl-g.trust, 8)
	if pounce { // tries in quick succession around the end of the first lease
		g.sc.Lock.Retry = Retry{Tries: 16, Min: uncovered / 8, Max: max(uncovered/4, 1e3)}
	}
	g.keys = keys
	if g.on(faultFence, "fence", 3) {
		g.fence()
	}
	leases, idle := clock.Duration(0), clock.Duration(0)
	for i := range g.sc.Clients {
		c := &g.sc.Clients[i]
		c.Repeat = int(g.Int(c.Name+".repeat", 1, int64(max(2, 6/clients))))
		wait := g.wait(c.Name, i)
		if pounce && i > 0 {
			wait = g.ttl - g.span(c.Name+".pounce", 0, min(2*uncovered, g.ttl))
			c.Repeat = 1
		}
		if wait > 0 {
			c.Steps = append(c.Steps, Step{Do: "sleep", For: wait})
		}
		idle += g.cycle(c, keys[g.Int(c.Name+".key", 0, int64(len(keys)-1))])
		idle += wait * clock.Duration(c.Repeat)
		leases += clock.Duration(c.Repeat)
	}
	slowest := clock.Rate{}
	for i := range g.sc.Clients {
		if r := g.sc.Clients[i].Clock.Rate; r.Cmp(slowest) < 0 {
			slowest = r
		}
	}
	all := (leases+1)*(g.ttl+g.ttl/2) + idle
	g.sc.Until = clock.Duration(slowest.Reached(int64(all)))
}

// wait draws how long a client sleeps before it asks for the lock.
func (g *drafter) wait(name string, i int) clock.Duration {
	long := g.span(name+".wait", 1, g.ttl)
	if i == 0 || g.happens(name+".wait.not", 3) {
		return 0
	}
	return long
}

// cycle draws the steps of one lease: mostly it is trusted to its end. It
// returns how long the client sleeps after all of them.
func (g *drafter) cycle(c *Client, key string) (idle clock.Duration) {
	percent := int(g.Int(c.Name+".hold.percent", 1, 99))
	length := g.span(c.Name+".hold.for", 1, g.ttl)
	release := g.happens(c.Name+".release", 5)
	rest := g.span(c.Name+".rest.for", 1, g.ttl/2)
	hold := Step{Do: "hold", Key: key, Percent: 100}
	if i := g.among(c.Name+".hold", 12, 2, 1); g.sp.certain {
		release = false
	} else if g.blind() {
		hold.Percent = int(g.spread(c.Name+".hold.percent", 1, 100))
	} else if i == 1 {
		hold.Percent = percent
	} else if i == 2 {
		hold = Step{Do: "hold", Key: key, For: length}
	}
	c.Steps = append(c.Steps, Step{Do: "acquire", Key: key})
	if g.sp.wild {
		idle = g.work(c, key, hold) * clock.Duration(c.Repeat)
	} else {
		c.Steps = append(c.Steps, hold)
	}
	if release {
		c.Steps = append(c.Steps, Step{Do: "release", Key: key})
	}
	if g.happens(c.Name+".rest", 3) {
		c.Steps = append(c.Steps, Step{Do: "sleep", For: rest})
		idle += rest * clock.Duration(c.Repeat)
	}
	return idle
}

// work draws what a holder does in a fault space: it holds the lock as others do,
// extends it once or several times, or has it watched; and it writes to what the
// lock protects, if there is something. It returns how much longer that takes.
func (g *drafter) work(c *Client, key string, hold Step) (longer clock.Duration) {
	percent, times := int(g.Int(c.Name+".work.percent", 30, 100)), clock.Duration(1+g.among(c.Name+".work.times", 3, 2, 1))
	lasts := g.span(c.Name+".work.for", g.ttl/2, 3*g.ttl)
	ttl := g.other
	if g.happens(c.Name+".work.ttl", 4) {
		ttl = 0
	}
	if g.happens(c.Name+".work.first", 1) {
		c.Steps[len(c.Steps)-1].TTL = g.other
	}
	write := func() {
		for i := range g.sc.Resources {
			c.Steps = append(c.Steps, Step{Do: "write", Key: key, To: g.sc.Resources[i].Name})
		}
	}
	write()
	switch g.among(c.Name+".work", 4, 2, 2) {
	case 0:
		c.Steps = append(c.Steps, hold)
	case 1:
		for range times {
			c.Steps = append(c.Steps, Step{Do: "hold", Key: key, Percent: percent}, Step{Do: "extend", Key: key, TTL: ttl})
		}
		c.Steps = append(c.Steps, hold)
		longer = times * g.longest
	case 2:
		c.Steps = append(c.Steps, Step{Do: "watch", Key: key, For: lasts, TTL: ttl})
		longer = lasts
	}
	write()
	return longer
}

// fence adds something that the lock protects. A tame one looks at fence numbers.
func (g *drafter) fence() {
	off := g.happens("fence.off", 4) && g.may(faultFence)
	g.sc.Lock.Fencing = true
	g.sc.Resources = append(g.sc.Resources, ResourceConfig{Name: "store", Fenced: !off})
}
