package sim

import (
	"fmt"
	"strconv"
	"time"

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
		w.options = len(opts) > 0 && p.c.w.sc.Lock.Kind != kindFlawed
		return w
	}
	p.inOwn = true
	defer func() { p.inOwn = false }()
	return p.Witness(own(p))
}

// locker is the lock of the scenario.
func (p *Process) locker(opts []redlock.Option) redlock.Locker {
	s := &p.c.w.sc.Lock
	if s.Kind == kindFlawed {
		return p.flawed()
	}
	var fencing, outage redlock.Option
	if s.Fencing {
		fencing = redlock.WithFencing()
	}
	if s.Retry.Outage > 0 {
		outage = redlock.WithOutageBudget(time.Duration(s.Retry.Outage))
	}
	l, err := redlock.Over(p.Transport(), // what is made here is on the stack: it does not outlive the call
		redlock.WithClock(p.Clock()), redlock.WithRand(p.rand),
		p.c.w.factor, p.c.w.retry, fencing, outage,
		redlock.WithClockDriftBuffer(time.Duration(s.Buffer)),
		redlock.WithNodeTimeout(time.Duration(s.NodeTimeout)),
		redlock.WithMinValidity(time.Duration(s.MinValidity)),
		together(opts))
	if err != nil {
		panic(fmt.Sprintf("sim: the lock of %s: %v", p.name, err))
	}
	return l
}

// together is opts as one option: in a list that is made of both, those before it would
// not stay on the stack. What they set up has no name outside of redlock.
func together[C any, O ~func(*C)](opts []O) O {
	return func(c *C) {
		for _, o := range opts {
			if o != nil {
				o(c)
			}
		}
	}
}

// rand is the process's source of random numbers for its lock.
func (p *Process) rand() uint64 {
	if b := p.c.w.bubble; b != nil { // a watch renews on a goroutine of its own
		b.mu.Lock()
		defer b.mu.Unlock()
	}
	return p.stream.Next()
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

// factor is the option that sets the lock's drift factor.
func (l *Lock) factor() redlock.Option {
	f, _ := strconv.ParseFloat(l.Factor, 64) // Check has read it; the option takes it as the decimal that it is
	return redlock.WithClockDriftFactor(f)
}

// pauses are the shortest and the longest between two attempts: Min and Max, but a
// millisecond at least, since true time would stand still for ever.
func (r Retry) pauses() (least, most time.Duration) {
	least = max(time.Duration(r.Min), time.Millisecond)
	return least, max(time.Duration(r.Max), least)
}

// policy draws each pause.
func (r Retry) policy() redlock.RetryPolicy {
	p := redlock.Between(r.pauses())
	if r.Tries > 0 {
		p = p.Times(r.Tries)
	}
	return p
}
