package sim

// Leases, as the checks see them: who trusts in which, from when to when, and for how
// long the nodes exclude others.

// lease is a Lease in the making.
type lease struct {
	Lease
	grant    int // which acquisition it is of: extensions that come too late, and a token's in other hands, are of the same
	client   int
	key      Text
	owner    Text
	deadline int64 // reading of the holder's clock
	ttl      int64 // ns
	told     int64 // true time at which the holder was told that it is over; never
}

func (c *checker) grant(e *Event, late bool) {
	c.ttl(int64(e.Nth))
	grant := len(c.leases)
	if e.Kind == Extended {
		for i := range c.leases {
			if o := &c.leases[i]; o.owner == e.Owner && o.key == e.Key {
				grant = o.grant
			}
		}
	}
	c.leases = append(c.leases, lease{})
	l := &c.leases[len(c.leases)-1]
	l.Client, l.Key, l.Owner = c.h.scenario.Clients[e.Client].Name, c.h.Text(e.Key), c.h.Text(e.Owner)
	l.Granted, l.Proc, l.Late = e.At, int(e.Proc), late
	l.grant, l.client, l.key, l.owner = grant, int(e.Client), e.Key, e.Owner
	l.deadline, l.ttl, l.told = e.Value, int64(e.Nth)*1e6, never
	if of := &c.owners[e.Owner]; of.lease == 0 {
		of.lease = int32(len(c.leases))
	}
}

// extend moves a lease's deadline. If its trust had ended by then, the holder
// was told that a lease goes on which was over: that is a grant of its own.
func (c *checker) extend(e *Event) {
	for i := len(c.leases) - 1; i >= 0; i-- {
		l := &c.leases[i]
		if l.owner != e.Owner || l.key != e.Key {
			continue
		}
		ended := min(l.told, c.clock(l.client).reach(l.Granted, l.deadline))
		c.honestExtension(e, l, ended)
		if e.At < ended {
			c.ttl(int64(e.Nth))
			l.deadline, l.ttl = max(l.deadline, e.Value), int64(e.Nth)*1e6
			return
		}
		c.grant(e, true)
		return
	}
	c.grant(e, false) // a token handed over from elsewhere
}

// tell ends trust in the leases of an owner that the client of e has. If it has
// none, somebody gave it the token, and trust ends in all of that owner.
func (c *checker) tell(e *Event) {
	first := c.owners[e.Owner].lease
	if first == 0 {
		return
	}
	leases, own := c.leases[first-1:], false
	for i := range leases {
		l := &leases[i]
		own = own || l.owner == e.Owner && l.client == int(e.Client)
	}
	for i := range leases {
		if l := &leases[i]; l.owner == e.Owner && (!own || l.client == int(e.Client)) {
			l.told = min(l.told, e.At)
		}
	}
}

// crashed ends trust in the leases of a client that a fault crashes.
func (c *checker) crashed(e *Event) {
	if e.Client < 0 || c.h.scenario.Faults[e.Value].Kind != "crash" {
		return
	}
	for i := range c.leases {
		if l := &c.leases[i]; l.client == int(e.Client) {
			l.told = min(l.told, e.At)
		}
	}
}

// lastWord ends trust that has no deadline, at the end of the run: who would say
// that it has ended, or keep the lock alive, is stopped there.
func (c *checker) lastWord(e *Event) {
	for i := range c.leases {
		if l := &c.leases[i]; l.deadline == never {
			l.told = min(l.told, e.At)
		}
	}
}

// settle solves the ends of a lease.
func (c *checker) settle(l *lease) {
	clock := c.clock(l.client)
	l.Deadline = clock.reach(l.Granted, l.deadline)
	l.TrustEnds = max(l.Granted, min(l.Deadline, l.told))
	of := &c.owners[l.owner]
	if of.attempt == 0 && of.first == 0 {
		// Its lock asks no node.
		l.ExclusionEnds, l.Lapse = l.TrustEnds, l.Deadline
		return
	}
	c.blocking, c.lapsing = c.blocking[:0], c.lapsing[:0]
	for b := c.block(of.first); b != nil; b = c.block(b.next) {
		if b.key != l.key {
			continue
		}
		c.blocking = byEnd(c.blocking, interval{b.From, b.To})
		c.lapsing = byEnd(c.lapsing, interval{b.From, b.Lapse})
		if b.From <= l.Granted && l.Granted < b.To {
			l.Nodes++
		}
	}
	l.ExclusionEnds = c.excluded(l.Granted, c.blocking)
	l.Lapse = c.excluded(l.Granted, c.lapsing)
	if l.Lapse != never && l.ttl > 0 {
		short := l.deadline + mulUp(l.ttl, c.ppb) - clock.at(l.Lapse) // required: T·f' >= short
		l.Required = Factor(divUp(short, l.ttl))
	}
}

// byEnd adds an interval to some, of which the one that ends last is the first.
func byEnd(all []interval, x interval) []interval {
	all = append(all, x)
	for i := len(all) - 1; i > 0 && all[i-1].to < x.to; i-- {
		all[i-1], all[i] = x, all[i-1]
	}
	return all
}

// excluded is the first instant from t on at which fewer than N−q+1 nodes block: the end
// of the one that is the (N−q+1)-th to end from the last on, of those that have begun.
func (c *checker) excluded(t int64, blocks []interval) int64 {
	need := c.mustBlock()
	for {
		left, end, begins := need, t, int64(never)
		for _, b := range blocks {
			if b.from > t {
				begins = min(begins, b.from) // and it may go on where others end
				continue
			}
			if left--; left == 0 {
				end = max(t, b.to)
				break
			}
		}
		if end == t || end < begins {
			return end
		}
		t = end
	}
}
