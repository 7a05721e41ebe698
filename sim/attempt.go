package sim

import (
	"driftlock/redlock"
	"driftlock/sim/node"
)

// Attempts to acquire, as the checks see them: I5 asks whose a key was, I6 what
// the nodes had really done, I7 when somebody was done with a key.

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
func (c *checker) attemptOf(owner Text) *attempt { return c.newest(&c.owners[owner]) }

// newest is an owner's newest attempt, or nil.
func (c *checker) newest(of *owner) *attempt {
	if of.attempt == 0 {
		return nil
	}
	return &c.attempts[of.attempt-1]
}

// asked notes an attempt that begins, and an owner that nobody waits for any more.
func (c *checker) asked(e *Event) {
	of := &c.owners[e.Owner]
	switch {
	case node.Acquires(e.Op):
		c.fail(e)
		c.attempts = append(c.attempts, attempt{owner: e.Owner, key: e.Key, client: e.Client, proc: e.Proc, asked: e.At, returned: never})
		of.attempt = int32(len(c.attempts))
	case e.Op == redlock.OpRelease:
		of.unawaited = true
	}
}

// won notes an attempt that was granted the lock.
func (c *checker) won(e *Event) {
	c.owners[e.Owner].unawaited = true // from here on: nobody waits for its acquires
	a := c.attemptOf(e.Owner)
	c.honestGrant(e, a)
	if a != nil {
		a.won = true
	}
}

// released notes an attempt that is over, with its lease.
func (c *checker) released(e *Event) {
	a := c.attemptOf(e.Owner)
	c.honestRelease(e, a)
	if a != nil && a.returned == never {
		a.returned = e.At
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

// voted counts a node that granted an attempt its key.
func (c *checker) voted(of *owner) {
	if a := c.newest(of); a != nil {
		a.granted++
	}
	if of.unawaited {
		c.verdict.Probes[ProbeLateGrant]++
	}
}

// denied counts a node that did not.
func (c *checker) denied(e *Event, of *owner) {
	switch e.Status {
	case redlock.Gone:
		c.verdict.Probes[ProbeFenceRefused]++
	case redlock.Ours:
		c.verdict.Probes[ProbeOurs]++
		return
	case redlock.Others:
	default:
		return
	}
	if a := c.newest(of); a != nil {
		a.held++
	}
}

// freed counts a node that deleted an attempt's key.
func (c *checker) freed(of *owner) {
	if a := c.newest(of); a != nil {
		a.freed++
	}
}
