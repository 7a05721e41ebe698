package sim

import (
	"fmt"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/node"
)

// I6: results tell the truth. Each check looks at one result as its user got it
// and at what the nodes really did.

func (c *checker) dishonest(e *Event, format string, args ...any) {
	name := c.h.scenario.Clients[e.Client].Name
	c.verdict.Violations = append(c.verdict.Violations, Violation{
		Invariant: I6, At: e.At, Client: name, Key: c.h.Text(e.Key), Lease: -1, Other: -1,
		Text: fmt.Sprintf("%s was told at %v, of %q, ", name, clock.Duration(e.At), c.h.Text(e.Key)) + fmt.Sprintf(format, args...),
	})
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
func (c *checker) honestExtension(e *Event, ended int64) {
	if e.At >= ended {
		c.dishonest(e, "that its lock goes on, which had been over for %v", clock.Duration(e.At-ended))
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

// attempt is what became of one owner value: one attempt to acquire, and the
// lease that came of it.
type attempt struct {
	owner, key   Text
	client, proc int16
	asked        int64 // true time
	returned     int64 // the attempt failed and is over, or its release returned; never
	won          bool
	granted      int // nodes that granted
	held         int // nodes that had another's key or, with fencing, a number from another
	freed        int // nodes that deleted its key for its release
}

// attemptOf finds the attempt of an owner, or nil: a token from elsewhere.
func (c *checker) attemptOf(owner Text) *attempt {
	if int(owner) < len(c.byOwner) {
		if i := c.byOwner[owner]; i > 0 {
			return &c.attempts[i-1]
		}
	}
	return nil
}

// follow keeps account of attempts.
func (c *checker) follow(e *Event) {
	switch e.Kind {
	case Asked:
		if node.Acquires(e.Op) {
			c.fail(e)
			c.attempts = append(c.attempts, attempt{owner: e.Owner, key: e.Key, client: e.Client, proc: e.Proc, asked: e.At, returned: never})
			c.byOwner[e.Owner] = int32(len(c.attempts))
		}
	case Slept, Refused, Ended:
		c.fail(e)
	case Granted:
		a := c.attemptOf(e.Owner)
		c.honestGrant(e, a)
		if a != nil {
			a.won = true
		}
	case Executed:
		c.answered(e)
	case Released:
		a := c.attemptOf(e.Owner)
		c.honestRelease(e, a)
		if a != nil && a.returned == never {
			a.returned = e.At
		}
	}
}

// fail ends the attempt that the event's process was in, if it has not won.
func (c *checker) fail(e *Event) {
	for i := len(c.attempts) - 1; i >= 0; i-- {
		a := &c.attempts[i]
		if a.client != e.Client || a.proc != e.Proc {
			continue
		}
		if !a.won && a.returned == never {
			a.returned = e.At
		}
		if e.Kind == Refused {
			c.honestRefusal(e, a)
		}
		return
	}
}

// answered counts what a node did for an attempt.
func (c *checker) answered(e *Event) {
	a := c.attemptOf(e.Owner)
	switch {
	case a == nil:
	case e.Status == redlock.Done && node.EffectOf(e.Op, true) == node.Deletes:
		a.freed++
	case !node.Acquires(e.Op):
	case e.Status == redlock.Done:
		a.granted++
	case e.Status == redlock.Others || e.Status == redlock.Gone:
		a.held++
	}
}
