package sim

import (
	"fmt"

	"driftlock/clock"
	"driftlock/redlock"
)

// I3: the fence numbers of a key are unique and grow in grant order, and a
// resource accepts no write of a lease after one of a later lease. The second
// says the same of writes without a number: it is what a fence is for.

// numbered checks the fence number of a grant against those before it.
func (c *checker) numbered(e *Event) {
	for i := range c.fences {
		f := &c.fences[i]
		if f.key != e.Key {
			continue
		}
		if uint64(e.Value) <= f.highest {
			name := c.h.scenario.Clients[e.Client].Name
			c.broke(Violation{
				Invariant: I3, At: e.At, Client: name, Key: c.h.Text(e.Key), Lease: len(c.leases) - 1, Other: -1,
				Text: fmt.Sprintf("%s was granted %q with fence number %d at %v, after a grant with %d", name, c.h.Text(e.Key), e.Value, clock.Duration(e.At), f.highest),
			})
		}
		f.highest = max(f.highest, uint64(e.Value))
		return
	}
	c.fences = append(c.fences, fenced{e.Key, uint64(e.Value)})
}

// fenced is the highest number that a grant of a key has had.
type fenced struct {
	key     Text
	highest uint64
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
		if l.grant < o.grant {
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
