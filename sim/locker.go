package sim

import (
	"fmt"
	"strconv"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/flawed"
)

// The lock under test, as a scenario describes it.

// Lock makes the lock under test on the client's clock, transport and
// randomness, with the scenario's options and then opts. What it tells its user
// is what the simulator judges. Under LockedBy it is the lock of a test's own; the
// function that makes that gets the scenario's, to build upon.
func (p *Process) Lock(opts ...redlock.Option) *Witness {
	own := p.c.w.locker
	if own == nil || p.inOwn {
		w := p.Witness(p.locker(opts))
		w.silent = p.inOwn // its user is the lock around it
		return w
	}
	p.inOwn = true
	defer func() { p.inOwn = false }()
	return p.Witness(own(p))
}

// locker is the lock of the scenario.
func (p *Process) locker(opts []redlock.Option) redlock.Locker {
	if p.c.w.sc.Lock.Kind == kindFlawed {
		return p.flawed()
	}
	given := []redlock.Option{redlock.WithClock(p.Clock()), redlock.WithRand(p.stream.Next)}
	given = append(given, p.c.w.sc.Lock.options()...)
	l, err := redlock.Over(p.Transport(), append(given, opts...)...)
	if err != nil {
		panic(fmt.Sprintf("sim: the lock of %s: %v", p.name, err))
	}
	return l
}

// flawed is a lock with the scenario's faults.
func (p *Process) flawed() *flawed.Lock {
	l := &p.c.w.sc.Lock
	c := flawed.Config{
		Nodes: p.c, Clock: p.Clock(), Rand: p.stream.Next, Tell: p,
		Buffer: time.Duration(l.Buffer), NodeTimeout: time.Duration(l.NodeTimeout), MinValidity: time.Duration(l.MinValidity),
		Retry: l.Retry.policy(), Fencing: l.Fencing,
	}
	c.Factor, _ = factorPPB(l.Factor) // Check has read it
	for _, f := range l.Flaws {
		c.Flaws = append(c.Flaws, flawed.Flaw(f))
	}
	return flawed.New(c)
}

// options are the lock's, from the scenario.
func (l *Lock) options() []redlock.Option {
	factor, _ := strconv.ParseFloat(l.Factor, 64) // Check has read it; the option takes it as the decimal that it is
	var fencing redlock.Option
	if l.Fencing {
		fencing = redlock.WithFencing()
	}
	return []redlock.Option{
		fencing,
		redlock.WithClockDriftFactor(factor),
		redlock.WithClockDriftBuffer(time.Duration(l.Buffer)),
		redlock.WithNodeTimeout(time.Duration(l.NodeTimeout)),
		redlock.WithMinValidity(time.Duration(l.MinValidity)),
		redlock.WithRetry(l.Retry.policy()),
	}
}

// policy draws each pause from [Min, Max], but waits a millisecond at least:
// true time would stand still for ever.
func (r Retry) policy() redlock.RetryPolicy {
	least := max(r.Min, clock.Duration(time.Millisecond))
	p := redlock.Between(time.Duration(least), time.Duration(max(r.Max, least)))
	if r.Tries > 0 {
		p = p.Times(r.Tries)
	}
	return p
}
