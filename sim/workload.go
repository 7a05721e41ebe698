package sim

import (
	"context"
	"errors"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/node"
)

// steps is the built-in workload: it carries out the steps of a scenario.
func steps(p *Process) {
	s := stepper{p: p, lock: p.Lock()}
	for range max(1, p.c.conf.Repeat) {
		for i := range p.c.conf.Steps {
			if p.life.Err() != nil {
				break
			}
			s.do(&p.c.conf.Steps[i])
		}
	}
	for i := range s.held {
		s.held[i].stop()
	}
}

// stepper is where one client is in its steps.
type stepper struct {
	p    *Process
	lock *Witness
	held []holding
}

// holding is what the client holds of one key.
type holding struct {
	key   string
	token redlock.Token
	ctx   context.Context // ends when a watch finds the lock lost
	stop  context.CancelFunc
}

func (s *stepper) do(step *Step) {
	switch step.Do {
	case "sleep":
		s.p.Sleep(time.Duration(step.For))
		return
	case "acquire":
		s.acquire(step)
		return
	case "delete":
		s.delete(step)
		return
	}
	h := s.holding(step.Key)
	if h == nil {
		return
	}
	switch step.Do {
	case "hold":
		clock.Sleep(h.ctx, s.p.Clock(), s.length(step, h.token))
	case "watch":
		s.watch(step, h)
	case "write":
		s.p.Resource(step.To).WriteFenced(h.ctx, s.fence(h))
	case "extend":
		if err := s.lock.TryExtend(h.ctx, h.key, h.token, s.ttl(step)); errors.Is(err, redlock.ErrLockExpired) || errors.Is(err, redlock.ErrLockNotHeld) {
			s.drop(h.key)
		}
	case "release":
		token := h.token
		s.drop(h.key)
		s.lock.Release(context.Background(), step.Key, token) // also when the run ends
	}
	s.holding(step.Key) // the step may have ended with the lock
}

// holding is what the client holds of key, nil if it does not, or has just
// learnt that it does not any more.
func (s *stepper) holding(key string) *holding {
	for i := range s.held {
		h := &s.held[i]
		if h.key != key {
			continue
		}
		if h.ctx.Err() == nil || s.p.life.Err() != nil {
			return h
		}
		s.lock.note(Lost, key, s.lock.owner(key, h.token), 0, 0, context.Cause(h.ctx))
		s.drop(key)
		return nil
	}
	return nil
}

// drop forgets what the client holds of key, and ends its watch.
func (s *stepper) drop(key string) {
	for i := range s.held {
		if s.held[i].key == key {
			s.held[i].stop()
			s.held = append(s.held[:i], s.held[i+1:]...)
			return
		}
	}
}

func (s *stepper) acquire(step *Step) {
	s.drop(step.Key)
	if t, err := s.lock.Acquire(s.p.Context(), step.Key, s.ttl(step)); err == nil {
		s.held = append(s.held, holding{step.Key, t, s.p.Context(), func() {}})
	}
}

// watch keeps the lock alive, for a time or until it is released.
func (s *stepper) watch(step *Step, h *holding) {
	h.stop()
	h.ctx, h.stop = s.lock.watch(s.p.Context(), h.key, h.token, s.ttl(step))
	if step.For == 0 {
		return
	}
	if clock.Sleep(h.ctx, s.p.Clock(), time.Duration(step.For)) == nil {
		h.stop()
		h.ctx, h.stop = s.p.Context(), func() {}
	}
}

// watch is redlock.Watch, or that of a lock which has its own.
func (w *Witness) watch(ctx context.Context, key string, t redlock.Token, ttl time.Duration) (context.Context, context.CancelFunc) {
	w.p.asks(ttl)
	type watcher interface {
		Watch(ctx context.Context, key string, t redlock.Token, ttl time.Duration) (context.Context, context.CancelFunc)
	}
	if own, ok := w.inner.(watcher); ok {
		return own.Watch(ctx, key, t, ttl)
	}
	return redlock.Watch(ctx, w, key, t, ttl)
}

// delete deletes a key on all nodes, whoever holds it.
func (s *stepper) delete(step *Step) {
	l := &s.p.c.w.sc.Lock
	req := redlock.Request{Op: node.OpDelete, Key: step.Key, TTL: s.ttl(step)}
	for range s.p.Transport().Broadcast(s.p.Context(), req, time.Duration(l.NodeTimeout)) {
	}
}

// ttl is a step's, or the lock's.
func (s *stepper) ttl(step *Step) time.Duration {
	if step.TTL != 0 {
		return time.Duration(step.TTL)
	}
	return time.Duration(s.p.c.w.sc.Lock.TTL)
}

// remaining is how much validity is left of what the client holds.
func (s *stepper) remaining(key string, t redlock.Token) time.Duration {
	if b := s.p.believed(key); b != nil && !b.until.IsZero() {
		return b.until.Sub(s.p.Clock().Now())
	}
	return t.Remaining()
}

// fence is the fence number that goes with what the client holds; 0: none.
func (s *stepper) fence(h *holding) uint64 {
	if b := s.p.believed(h.key); b != nil {
		return b.fence
	}
	n, _ := h.token.Fence()
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
