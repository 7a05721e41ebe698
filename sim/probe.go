package sim

import "driftlock/redlock"

// Probe is a dangerous state that a run may reach.
type Probe uint8

const (
	ProbeGrant         Probe = iota // a lease was granted
	ProbeRanOut                     // its trust ran to its deadline
	ProbeMinimalQuorum              // it was granted by q nodes and no more
	ProbeLateGrant                  // a node granted after its caller had stopped waiting
	ProbeHeld                       // an attempt found the lock held by another
	ProbeOutage                     // an attempt reached no quorum
	ProbeTooLate                    // an attempt won, but with too little validity left
	ProbeLostMessage                // a message was lost
	ProbeHandover                   // a lease was granted within a hundredth of its TTL after the trust of another
	ProbeForgot                     // a node lost a key that blocked for a trusted lease
	probes
)

var probeWords = [probes]string{
	"a lease was granted", "trust ran to its deadline", "granted by a bare quorum", "a node granted after its caller had stopped waiting",
	"an attempt found the lock held", "an attempt reached no quorum", "an attempt won too late", "a message was lost",
	"a grant right after another's trust", "a node forgot a key that mattered",
}

// String says it in a few words: "a lease was granted".
func (p Probe) String() string { return probeWords[p] }

// Probes counts states by Probe.
type Probes [probes]int

// probe counts the dangerous states that the run reached.
func (c *checker) probe() {
	p := &c.verdict.Probes
	clear(c.unawaited)
	for i := range c.h.events {
		switch e := &c.h.events[i]; e.Kind {
		case Granted:
			c.unawaited[e.Owner] = true
		case Asked:
			if e.Op == redlock.OpRelease {
				c.unawaited[e.Owner] = true
			}
		case Executed:
			if e.Op == redlock.OpAcquire && e.Status == redlock.Done && c.unawaited[e.Owner] {
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
		if l.Nodes == c.quorum() {
			p[ProbeMinimalQuorum]++
		}
		for j := range c.leases {
			o := &c.leases[j]
			if o.key == l.key && o.owner != l.owner && o.Granted < l.Granted && l.Granted >= o.TrustEnds && l.Granted-o.TrustEnds <= l.ttl/100 {
				p[ProbeHandover]++
				break
			}
		}
		for j := c.held[l.owner].first; j > 0; j = c.blocks[j-1].next {
			if b := &c.blocks[j-1]; b.Ends == Forgotten && l.Granted <= b.To && b.To < l.TrustEnds {
				p[ProbeForgot]++
			}
		}
	}
}
