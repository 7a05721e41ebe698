package sim

import "driftlock/redlock"

// probe counts the dangerous states that the run reached.
func (c *checker) probe() {
	p := &c.verdict.Probes
	sc := &c.h.scenario
	quorum := len(sc.Nodes)/2 + 1
	clear(c.released)
	for i := range c.h.events {
		switch e := &c.h.events[i]; e.Kind {
		case Granted:
			c.released[e.Owner] = true // from here on: nobody waits for its acquires
		case Asked:
			if e.Op == redlock.OpRelease {
				c.released[e.Owner] = true
			}
		case Executed:
			if e.Op == redlock.OpAcquire && e.Status == redlock.Done && c.released[e.Owner] {
				p[ProbeLateGrant]++
			}
		case Sent, Answered:
			if e.Value == -1 {
				p[ProbeLostMessage]++
			}
		case Refused:
			switch refusal(e.Value) {
			case refusedHeld:
				p[ProbeHeld]++
			case refusedOutage:
				p[ProbeOutage]++
			case refusedTooLate:
				p[ProbeTooLate]++
			}
		}
	}
	for i := range c.leases {
		l := &c.leases[i]
		p[ProbeGrant]++
		if l.RanOut() {
			p[ProbeRanOut]++
		}
		if l.Nodes == quorum {
			p[ProbeMinimalQuorum]++
		}
		for j := range c.leases {
			o := &c.leases[j]
			if o.key == l.key && o.owner != l.owner && o.Granted < l.Granted && l.Granted >= o.TrustEnds && l.Granted-o.TrustEnds <= l.ttl/100 {
				p[ProbeHandover]++
				break
			}
		}
		for j := range c.blocks {
			if b := &c.blocks[j]; b.owner == l.owner && b.Ends == Forgotten && l.Granted <= b.To && b.To < l.TrustEnds {
				p[ProbeForgot]++
			}
		}
	}
}
