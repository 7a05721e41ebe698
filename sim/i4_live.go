package sim

import (
	"fmt"
	"time"

	"driftlock/clock"
)

// A wait is one call of Acquire, from true time to true time.
type wait struct {
	client, proc int16
	key          Text
	from, to     int64
}

// waiting keeps account of who waits for what.
func (c *checker) waiting(e *Event) {
	if c.h.scenario.Live == nil {
		return
	}
	switch e.Kind {
	case Wanted:
		c.waits = append(c.waits, wait{e.Client, e.Proc, e.Key, e.At, never})
	case Granted, Refused, Ended:
		c.stopWaiting(e.At, func(w *wait) bool { return w.client == e.Client && w.proc == e.Proc })
	case Faulted:
		if e.Client >= 0 && c.h.scenario.Faults[e.Value].Kind == "crash" {
			c.stopWaiting(e.At, func(w *wait) bool { return w.client == e.Client })
		}
	case Over:
		c.stopWaiting(e.At, func(*wait) bool { return true })
	}
}

func (c *checker) stopWaiting(at int64, who func(*wait) bool) {
	for i := range c.waits {
		if w := &c.waits[i]; w.to == never && who(w) {
			w.to = at
		}
	}
}

// liveness is I4: from an instant on, at which the scenario says that faults
// have stopped, nobody waits for a key that nobody trusts to hold for longer than
// a bound, before some waiter is granted it. Its margin is what was left of it.
func (c *checker) liveness() {
	live := c.h.scenario.Live
	if live == nil {
		return
	}
	bound := int64(live.Within)
	if bound == 0 {
		var why string
		if bound, why = liveBound(&c.h.scenario, c.verdict.TTLs); why != "" {
			c.verdict.Warnings = append(c.verdict.Warnings, "progress is not judged: "+why)
			return
		}
	}
	for i := range c.waits {
		w := &c.waits[i]
		for t := max(w.from, int64(live.From)); t < w.to; {
			if end := max(c.trusted(w.key, t), past(c.clients[w.client].away, t)); end > t {
				t = end // somebody has it, or who waits stands still
				continue
			}
			c.verdict.Probes[ProbeLive]++
			next := min(w.to, c.nextGrant(w.key, t))
			if left := bound - (next - t); left < 0 {
				c.starved(w, t, bound, left)
				break
			}
			t = next
		}
	}
}

func (c *checker) starved(w *wait, from, bound, left int64) {
	name := c.h.scenario.Clients[w.client].Name
	c.broke(Violation{
		Invariant: I4, At: from + bound, Client: name, Key: c.h.Text(w.key), Lease: -1, Other: -1, Margin: time.Duration(left), HasMargin: true,
		Text: fmt.Sprintf("%s waited for %q from %v on, which nobody held, and nobody was granted it within %v", name, c.h.Text(w.key), clock.Duration(from), clock.Duration(bound)),
	})
}

// trusted is the end of the last trust in the key at a true instant, or that instant.
func (c *checker) trusted(key Text, at int64) int64 {
	end := at
	for i := range c.leases {
		if l := &c.leases[i]; l.key == key && l.Granted <= at && at < l.TrustEnds {
			end = max(end, l.TrustEnds)
		}
	}
	return end
}

func (c *checker) nextGrant(key Text, after int64) int64 {
	next := int64(never)
	for i := range c.leases {
		if l := &c.leases[i]; l.key == key && l.Granted > after {
			next = min(next, l.Granted)
		}
	}
	return next
}
