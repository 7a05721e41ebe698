package sim

import (
	"fmt"

	"driftlock/clock"
)

// I6: results tell the truth. Each check looks at one result as its user got it
// and at what the nodes really did.

func (c *checker) dishonest(e *Event, format string, args ...any) {
	c.lied(e, fmt.Sprintf("%s was told at %v, of %q, ", c.h.scenario.Clients[e.Client].Name, clock.Duration(e.At), c.h.Text(e.Key))+fmt.Sprintf(format, args...))
}

func (c *checker) lied(e *Event, text string) {
	c.broke(Violation{Invariant: I6, At: e.At, Client: c.h.scenario.Clients[e.Client].Name, Key: c.h.Text(e.Key), Lease: -1, Other: -1, Text: text})
}

// honestGrant: a lease that is over at the last reading of the clock before its
// grant is none, and neither is one that no quorum granted.
func (c *checker) honestGrant(e *Event, a *attempt) {
	if e.Local >= e.Value {
		c.dishonest(e, "that it holds the lock, which had expired by its own clock %v before", clock.Duration(e.Local-e.Value))
	}
	if q := c.quorum(); a != nil && a.granted < q {
		c.dishonest(e, "that it holds the lock, which %d of %d nodes had granted", a.granted, len(c.nodes))
	}
}

// honestExtension: an extension does not revive a lease that is over.
func (c *checker) honestExtension(e *Event, l *lease, ended int64) {
	if e.At < ended {
		return
	}
	own, over := c.wordOf(e)
	if !own {
		c.dishonest(e, "that its lock goes on, which had been over for %v", clock.Duration(e.At-ended))
		return
	}
	text := fmt.Sprintf("%s said with Holds at %v, of %q, that it goes on with its lock, which by what it had said and heard before had been over for %v",
		l.Client, clock.Duration(e.At), c.h.Text(e.Key), clock.Duration(e.At-ended))
	if over < ended {
		text += fmt.Sprintf(", and by its token for %v", clock.Duration(e.At-over))
	}
	c.lied(e, text)
}

// honestRefusal: "held by another" needs a quorum that said so, the attempt's
// own grants counted, and another's key on one node at least; an outage is never
// that, and one's own keys are not another's.
func (c *checker) honestRefusal(e *Event, a *attempt) {
	if a == nil || refusal(e.Value) != refusedHeld {
		return
	}
	if q := c.quorum(); a.granted+a.held < q || a.held == 0 {
		c.dishonest(e, "that another holds the lock; but %d nodes granted it and %d had another's key, of %d", a.granted, a.held, len(c.nodes))
	}
}

// honestRelease: released means that a quorum of nodes deleted the key.
func (c *checker) honestRelease(e *Event, a *attempt) {
	if a == nil || e.Note != 0 {
		return
	}
	if q := c.quorum(); a.freed < q {
		c.dishonest(e, "that it has released the lock, which %d of %d nodes had freed", a.freed, len(c.nodes))
	}
}
