package sim

import (
	"fmt"

	"driftlock/clock"
	"driftlock/redlock"
)

// I3: the fence numbers of a key are unique and grow in grant order, and a
// resource accepts no write of a lease after one of a later lease. The second
// says the same of writes without a number: it is what a fence is for.
//
// One grant is later than another if its attempt began when the other had been told
// to its user. Of attempts that overlap either may be the first: where exclusion has
// broken, one whose client stood still is told of its grant after a rival that came
// later, and the resource then refuses the older number as it should.

// numbered checks the fence number of a grant against those before it.
func (c *checker) numbered(e *Event) {
	n, begun := uint64(e.Value), c.begun(e.Owner, e.At)
	this := fenced{e.Key, e.At, n, n}
	worst := uint64(0) // the number that it should be above
	for i := len(c.fences) - 1; i >= 0; i-- {
		f := &c.fences[i]
		if f.key != e.Key {
			continue
		}
		this.highest = max(this.highest, f.highest)
		if f.told <= begun {
			if n <= f.highest {
				worst = f.highest
			}
			break
		}
		if n == f.number {
			worst = max(worst, n)
		}
	}
	if worst > 0 {
		name := c.h.scenario.Clients[e.Client].Name
		c.broke(Violation{
			Invariant: I3, At: e.At, Client: name, Key: c.h.Text(e.Key), Lease: len(c.leases) - 1, Other: -1,
			Text: fmt.Sprintf("%s was granted %q with fence number %d at %v, after a grant with %d", name, c.h.Text(e.Key), n, clock.Duration(e.At), worst),
		})
	}
	c.fences = append(c.fences, this)
}

// begun is when the attempt began that a grant came of; the instant at which it was
// told, if nobody knows.
func (c *checker) begun(owner Text, told int64) int64 {
	if a := c.attemptOf(owner); a != nil {
		return a.asked
	}
	return told
}

// fenced is a grant with a number.
type fenced struct {
	key     Text
	told    int64 // when its user was
	number  uint64
	highest uint64 // of the key up to here
}

// written is a write on its way, for the lease that its process held last.
type written struct {
	client, resource int16
	nth              uint32
	lease            int
}

// wrote notes on whose behalf a write is sent.
func (c *checker) wrote(e *Event) {
	for i := len(c.leases) - 1; i >= 0; i-- {
		if l := &c.leases[i]; l.client == int(e.Client) && l.Proc == int(e.Proc) {
			c.writes = append(c.writes, written{e.Client, e.Node, e.Nth, i})
			return
		}
	}
}

// stored checks a write that a resource accepted against those before it.
func (c *checker) stored(e *Event) {
	if e.Status != redlock.Done {
		if e.Status == redlock.Others {
			c.verdict.Probes[ProbeStale]++
		}
		return
	}
	mine := c.lastWrite(func(w *written) bool { return w.client == e.Client && w.resource == e.Node && w.nth == e.Nth })
	if mine == nil {
		return
	}
	l := &c.leases[mine.lease]
	for i := range c.accepted {
		a := &c.accepted[i]
		o := &c.leases[a.lease]
		if a.resource != e.Node || o.key != l.key {
			continue
		}
		if first, next := &c.leases[l.grant], &c.leases[o.grant]; l.grant < o.grant && first.Granted <= c.begun(next.owner, next.Granted) {
			c.broke(Violation{
				Invariant: I3, At: e.At, Client: l.Client, Key: l.Key, Lease: mine.lease, Other: a.lease,
				Text: fmt.Sprintf("%s accepted a write of %s, whose lease on %q was granted at %v, after one of %s, who was granted it at %v",
					c.h.scenario.Resources[int(e.Node)-len(c.nodes)].Name, l.Client, l.Key, clock.Duration(l.Granted), o.Client, clock.Duration(o.Granted)),
			})
			return
		}
		a.lease = mine.lease
		return
	}
	c.accepted = append(c.accepted, *mine)
}

func (c *checker) lastWrite(is func(*written) bool) *written {
	for i := len(c.writes) - 1; i >= 0; i-- {
		if is(&c.writes[i]) {
			return &c.writes[i]
		}
	}
	return nil
}
