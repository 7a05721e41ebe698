package sim

import (
	"fmt"
	"iter"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/node"
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
	if e.At >= ended {
		c.revived(e, l, ended)
	}
}

// revived is about an extension of a lease that is over: who says that it goes on.
func (c *checker) revived(e *Event, l *lease, ended int64) {
	switch {
	case c.ownWord(e):
		text := fmt.Sprintf("%s said with Holds at %v, of %q, that it goes on with its lock, which by what it had said and heard before had been over for %v",
			l.Client, clock.Duration(e.At), c.h.Text(e.Key), clock.Duration(e.At-ended))
		if token := c.tokenEnded(e, l); token < ended {
			text += fmt.Sprintf(", and by its token for %v", clock.Duration(e.At-token))
		}
		c.lied(e, text)
	default:
		c.dishonest(e, "that its lock goes on, which had been over for %v", clock.Duration(e.At-ended))
	}
}

// ownWord says that an extension is none of the lock's but what the process has said
// with Holds: nodes were asked for the lock, and since it was last told of it not one to
// extend it.
func (c *checker) ownWord(e *Event) bool {
	if c.owners[e.Owner].attempt == 0 {
		return false // over connections, of which nothing is known
	}
	for o := range c.before(e) {
		if o.Kind == Sent && o.Op == node.OpCommand && (o.Owner == 0 || o.Owner == e.Owner) {
			return false // by a script of a lock that is not known here
		}
		if o.Owner != e.Owner || o.Kind != Sent && o.Proc != e.Proc {
			continue
		}
		switch {
		case o.Kind == Sent && node.Usual(o.Op) == redlock.OpExtend: // over a connection nothing is asked before
			return false
		case o.Kind == Granted, o.Kind == Extended, o.Kind == Unextended:
			return true
		}
	}
	return true
}

// tokenEnded is when the lease ended by what the lock itself had said before e; never if
// all that is known of that is what the process has said.
func (c *checker) tokenEnded(e *Event, l *lease) int64 {
	for o := range c.before(e) {
		if o.Owner == e.Owner && (o.Kind == Extended && !c.ownWord(o) || o.Kind == Granted && c.wanted(o)) {
			return c.clock(l.client).reach(o.At, o.Value)
		}
	}
	return never
}

// wanted says that a grant is what a call of Acquire came to.
func (c *checker) wanted(e *Event) bool {
	for o := range c.before(e) {
		if o.Proc == e.Proc && o.Key == e.Key {
			switch o.Kind {
			case Wanted:
				return true
			case Granted, Refused:
				return false
			}
		}
	}
	return false
}

// before yields what the client of e did before, the last first.
func (c *checker) before(e *Event) iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		found := false
		for i := len(c.h.events) - 1; i >= 0; i-- {
			o := &c.h.events[i]
			if found && o.Client == e.Client && !yield(o) {
				return
			}
			found = found || o == e
		}
	}
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
