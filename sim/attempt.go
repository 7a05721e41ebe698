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
func (c *checker) attemptOf(owner Text) *attempt {
	if i := c.owners[owner].attempt; i > 0 {
		return &c.attempts[i-1]
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
			c.owners[e.Owner].attempt = int32(len(c.attempts))
		}
	case Slept, Refused, Ended:
		c.fail(e)
	case Granted:
		a := c.attemptOf(e.Owner)
		c.honestGrant(e, a)
		if a != nil {
			a.won = true
		}
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

// answered counts what a node did for an attempt, and what that tells of the run.
func (c *checker) answered(e *Event) {
	a := c.attemptOf(e.Owner)
	if a == nil {
		a = new(attempt)
	}
	p := &c.verdict.Probes
	switch acquires := node.Acquires(e.Op); {
	case acquires && e.Status == redlock.Done:
		a.granted++
		if c.owners[e.Owner].unawaited {
			p[ProbeLateGrant]++
		}
	case acquires && e.Status == redlock.Others:
		a.held++
	case acquires && e.Status == redlock.Gone:
		a.held++
		p[ProbeFenceRefused]++
	case acquires && e.Status == redlock.Ours:
		p[ProbeOurs]++
	case e.Status == redlock.Done && node.EffectOf(e.Op, true) == node.Deletes:
		a.freed++
	}
}
