package sim

import (
	"context"
	"time"

	"driftlock/redlock"
)

// steps is the built-in workload: it carries out the steps of a scenario.
func steps(p *Process) {
	s := stepper{p: p, lock: p.Lock(), held: map[string]redlock.Token{}}
	for range max(1, p.c.conf.Repeat) {
		for i := range p.c.conf.Steps {
			if p.ctx.Err() != nil {
				break
			}
			s.do(&p.c.conf.Steps[i])
		}
	}
}

// stepper is where one client is in its steps.
type stepper struct {
	p    *Process
	lock *Witness
	held map[string]redlock.Token
}

func (s *stepper) do(step *Step) {
	ctx, p := s.p.ctx, s.p
	ttl := time.Duration(step.TTL)
	if ttl == 0 {
		ttl = time.Duration(p.c.w.sc.Lock.TTL)
	}
	if step.Do == "sleep" {
		p.Sleep(time.Duration(step.For))
		return
	}
	if step.Do == "acquire" {
		delete(s.held, step.Key)
		if t, err := s.lock.Acquire(ctx, step.Key, ttl); err == nil {
			s.held[step.Key] = t
		}
		return
	}
	t, ok := s.held[step.Key]
	if !ok {
		return
	}
	switch step.Do {
	case "hold":
		p.Sleep(s.length(step, t))
	case "write":
		p.Resource(step.To).WriteFenced(ctx, s.fence(step.Key, t))
	case "extend":
		s.lock.TryExtend(ctx, step.Key, t, ttl)
	case "release":
		delete(s.held, step.Key)
		s.lock.Release(context.WithoutCancel(ctx), step.Key, t)
	}
}

// remaining is how much validity is left of what the client holds.
func (s *stepper) remaining(key string, t redlock.Token) time.Duration {
	if b := s.p.believed(key); b != nil && !b.until.IsZero() {
		return b.until.Sub(s.p.Clock().Now())
	}
	return t.Remaining()
}

// fence is the fence number that goes with what the client holds; 0: none.
func (s *stepper) fence(key string, t redlock.Token) uint64 {
	if b := s.p.believed(key); b != nil {
		return b.fence
	}
	n, _ := t.Fence()
	return n
}

// length is how long a hold lasts on the client's clock.
func (s *stepper) length(step *Step, t redlock.Token) time.Duration {
	if step.Percent == 0 {
		return time.Duration(step.For)
	}
	left := s.remaining(step.Key, t)
	return left/100*time.Duration(step.Percent) + left%100*time.Duration(step.Percent)/100
}
