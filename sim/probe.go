package sim

import (
	"slices"

	"driftlock/sim/network"
)

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

	ProbeStoodStill        // a holder stood still while it trusted its lease
	ProbePastDeadline      // and was at it when the lease ended
	ProbeClockStopped      // the clock of a holder stopped, or went back
	ProbeHolderDied        // a holder crashed
	ProbeQueued            // a request waited for a node that stood still
	ProbeDown              // a request reached a node that was down
	ProbeQuarantine        // one reached a node that was up again, but in quarantine
	ProbeAway              // a node forgot its keys and stayed away until all had expired
	ProbeGhost             // a fault brought back a key that was gone, or an earlier end of one
	ProbeStepped           // a wall clock was set forward while its node blocked for a trusted lease
	ProbeSteppedBack       // one was set back while its node had a key
	ProbeBent              // a clock ran at another rate while its node blocked for a trusted lease
	ProbeFrozen            // a wall clock stood still meanwhile
	ProbeCutOff            // a message was lost in a partition
	ProbeRefusedConnection // a connection was refused
	ProbeGaveUp            // a connection gave up waiting for its answer
	ProbeOurs              // a node was asked again for what it had granted
	ProbeExtended          // a lease was extended
	ProbeUnextended        // an extension failed, or came too late
	ProbeFenceRefused      // a node refused a fence number
	ProbeStale             // a resource refused a stale write
	ProbeSplitVote         // an attempt failed for keys of another that failed too
	ProbeLive              // somebody waited when progress was demanded
	probes
)

var probeWords = [probes]string{
	"a lease was granted", "trust ran to its deadline", "granted by a bare quorum", "a node granted after its caller had stopped waiting",
	"an attempt found the lock held", "an attempt reached no quorum", "an attempt won too late", "a message was lost",
	"a grant right after another's trust", "a node forgot a key that mattered",
	"a holder stood still", "a holder stood still past its deadline", "a holder's clock stopped or went back", "a holder crashed",
	"a request waited for a node that stood still", "a request reached a node that was down", "a request reached a node in quarantine",
	"a forgetful node stayed away long enough", "a fault brought back what was gone",
	"a node's wall clock was set forward under a lease", "a node's wall clock was set back under a key",
	"a node's clock changed its rate under a lease", "a node's wall clock stood still under a lease",
	"a message was lost in a partition", "a connection was refused", "a connection gave up waiting",
	"a node was asked again for what it had granted", "a lease was extended", "an extension failed",
	"a node refused a fence number", "a resource refused a stale write", "two attempts split the vote", "somebody waited for progress",
}

// String says it in a few words: "a lease was granted".
func (p Probe) String() string { return probeWords[p] }

// Probes counts states by Probe.
type Probes [probes]int

// probe counts the dangerous states that the run reached. Those that only a pass
// over the history can see are counted in it.
func (c *checker) probe() {
	for i := range c.leases {
		c.probeLease(i)
	}
	for i := range c.h.scenario.Faults {
		c.probeFault(&c.h.scenario.Faults[i])
	}
	c.probeVotes()
}

// probeSent is about a message that did not arrive.
func (c *checker) probeSent(e *Event) {
	p := &c.verdict.Probes
	switch e.Value {
	case LostOnWay:
		p[ProbeLostMessage]++
		if c.cutOff(e) {
			p[ProbeCutOff]++
		}
	case RefusedByHost:
		p[ProbeRefusedConnection]++
	}
}

// probeDropped is about a request that reached a node which did not serve.
func (c *checker) probeDropped(e *Event) {
	p := &c.verdict.Probes
	if e.Value > 0 {
		p[ProbeRefusedConnection]++
	}
	if c.isUp(e) {
		p[ProbeQuarantine]++
	} else {
		p[ProbeDown]++
	}
}

// probeRefused is about an acquire that failed.
func (c *checker) probeRefused(e *Event) {
	p := &c.verdict.Probes
	switch refusal(e.Value) {
	case refusedHeld:
		p[ProbeHeld]++
	case refusedOutage:
		p[ProbeOutage]++
	case refusedTooLate:
		p[ProbeTooLate]++
	}
}

// probeQueued is about a request that a node carried out when it went on.
func (c *checker) probeQueued(e *Event) {
	for _, a := range c.nodes[e.Node].paused {
		if a.to == e.At {
			c.verdict.Probes[ProbeQueued]++
			return
		}
	}
}

// cutOff says that a message was sent into a partition that comes and goes.
func (c *checker) cutOff(e *Event) bool {
	sc := &c.h.scenario
	return slices.ContainsFunc(sc.Network.Cuts, func(x network.Cut) bool {
		if x.At == 0 && x.For == 0 || e.At < int64(x.At) || x.For > 0 && e.At >= int64(x.At+x.For) {
			return false
		}
		client, at := sc.Clients[e.Client].Name, sc.Nodes[e.Node].Name
		there := slices.Contains(x.From, client) && slices.Contains(x.To, at)
		back := slices.Contains(x.To, client) && slices.Contains(x.From, at)
		return there && (e.Kind == Sent || !x.OneWay) || back && (e.Kind == Answered || !x.OneWay)
	})
}

// isUp says that no crash keeps a node down that does not serve.
func (c *checker) isUp(e *Event) bool {
	sc := &c.h.scenario
	name := sc.Nodes[sc.server(int(e.Node))].Name
	return !slices.ContainsFunc(sc.Faults, func(f Fault) bool {
		return f.Kind == "crash" && f.On == name && int64(f.At) <= e.At && e.At < f.end()
	})
}

func (c *checker) probeLease(i int) {
	p, l := &c.verdict.Probes, &c.leases[i]
	p[ProbeGrant]++
	if l.RanOut() {
		p[ProbeRanOut]++
	}
	if l.Nodes == c.quorum() {
		p[ProbeMinimalQuorum]++
	}
	for j := i - 1; j >= 0; j-- {
		o := &c.leases[j]
		if o.key == l.key && o.owner != l.owner && o.Granted < l.Granted && l.Granted >= o.TrustEnds && l.Granted-o.TrustEnds <= l.ttl/100 {
			p[ProbeHandover]++
			break
		}
	}
	if c.forgot {
		for b := c.block(c.owners[l.owner].first); b != nil; b = c.block(b.next) {
			if b.Ends == Forgotten && l.Granted <= b.To && b.To < l.TrustEnds {
				p[ProbeForgot]++
			}
		}
	}
	for j := range c.h.scenario.Faults {
		f := &c.h.scenario.Faults[j]
		switch {
		case f.On == l.Client:
			c.probeHolder(l, f)
		case int64(f.At) < l.TrustEnds && f.end() > l.Granted:
			c.probeBlocks(l, f)
		}
	}
}

// probeHolder is about a fault of the holder of a lease.
func (c *checker) probeHolder(l *lease, f *Fault) {
	p, lives := &c.verdict.Probes, c.h.scenario.lives(l.client)
	at := int64(f.At)
	if at < l.Granted || at > l.TrustEnds {
		return
	}
	switch f.Kind {
	case "pause", "suspend":
		p[ProbeStoodStill]++
		if l.RanOut() && at < l.TrustEnds && l.TrustEnds < f.end() {
			p[ProbePastDeadline]++
		}
	case "crash":
		p[ProbeHolderDied]++
	}
	if f.Kind == "suspend" && lives == Monotonic || lives == Wall && (f.Kind == "freeze" || f.Kind == "step" && f.By < 0) {
		p[ProbeClockStopped]++
	}
}

// probeBlocks is about a fault of a node, while a lease is trusted for which it
// blocks.
func (c *checker) probeBlocks(l *lease, f *Fault) {
	p := &c.verdict.Probes
	for b := c.block(c.owners[l.owner].first); b != nil; b = c.block(b.next) {
		if c.h.scenario.Nodes[b.Node].Name != f.On || int64(f.At) < b.From || int64(f.At) >= b.To {
			continue
		}
		switch {
		case f.Kind == "step" && f.By > 0:
			p[ProbeStepped]++
		case f.Kind == "step":
			p[ProbeSteppedBack]++
		case f.Kind == "rate":
			p[ProbeBent]++
		case f.Kind == "freeze":
			p[ProbeFrozen]++
		}
	}
}

// probeFault is about a crash that was survived by staying away.
func (c *checker) probeFault(f *Fault) {
	if f.Kind != "crash" || f.For == 0 {
		return
	}
	a := assumer{sc: &c.h.scenario}
	n := a.node(f.On)
	if n == nil || f.loses(n) == "" {
		return
	}
	m := &c.nodes[slices.IndexFunc(c.h.scenario.Nodes, func(o Node) bool { return o.Name == f.On })]
	serves := m.serves(int64(f.At))
	if _, longest := a.ttls(); serves < c.h.end && m.boot.at(serves)-m.boot.at(int64(f.At)) >= int64(longest) {
		c.verdict.Probes[ProbeAway]++
	}
}

// probeVotes counts attempts that failed for each other's keys.
func (c *checker) probeVotes() {
	for i := range c.attempts {
		a := &c.attempts[i]
		if a.won || a.granted == 0 {
			continue
		}
		for j := i + 1; j < len(c.attempts) && c.attempts[j].asked < a.returned; j++ {
			if b := &c.attempts[j]; b.key == a.key && !b.won && b.granted > 0 && a.held+b.held > 0 {
				c.verdict.Probes[ProbeSplitVote]++
				break
			}
		}
	}
}
