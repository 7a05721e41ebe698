package flawed

import (
	"context"
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"
)

// Extend: see redlock.Locker.
func (l *Lock) Extend(ctx context.Context, key string, token redlock.Token, ttl time.Duration) error {
	return l.extend(ctx, key, token, ttl, l.Retry)
}

// TryExtend: see redlock.Locker.
func (l *Lock) TryExtend(ctx context.Context, key string, token redlock.Token, ttl time.Duration) error {
	return l.extend(ctx, key, token, ttl, once)
}

// AcquireOrExtend: see redlock.Locker.
func (l *Lock) AcquireOrExtend(ctx context.Context, key string, token redlock.Token, ttl time.Duration) (t redlock.Token, again bool, err error) {
	if token != (redlock.Token{}) {
		if err := l.Extend(ctx, key, token, ttl); !isLoss(err) {
			return token, false, err
		}
	}
	if t, err = l.Acquire(ctx, key, ttl); err != nil {
		return token, false, err
	}
	return t, true, nil
}

func (l *Lock) extend(ctx context.Context, key string, token redlock.Token, ttl time.Duration, policy redlock.RetryPolicy) error {
	t, err := l.terms(ttl)
	if err != nil {
		return err
	}
	s := l.of(key, token)
	for n := 1; ctx.Err() == nil; n++ {
		err := l.extendOnce(ctx, s, t)
		if err == nil {
			l.Tell.Holds(key, s.until)
			return nil
		}
		if isLoss(err) {
			s.until = time.Time{}
			l.giveBack(ctx, s, l.all)
			return err
		}
		wait, again := l.pause(policy, n, err)
		if !again {
			return err
		}
		l.sleep(ctx, wait)
	}
	return context.Cause(ctx)
}

// extendOnce asks all nodes once to let the key live on. On failure the old
// deadline stands. (Rule 8)
func (l *Lock) extendOnce(ctx context.Context, s *lease, t terms) error {
	start, v := l.Clock.Now(), l.votes()
	if err := l.late(s, start); err != nil {
		return err
	}
	s.longest = max(s.longest, t.ttl)
	if l.has(ExtendWithoutQuorum) {
		v.q = 1
	}
	l.ask(ctx, v, redlock.Request{Op: l.extendOp(), Key: s.key, Owner: s.owner, TTL: t.ttl}, l.all, l.NodeTimeout, (*votes).settled)
	now, until := l.Clock.Now(), start.Add(t.trust)
	if err := l.late(s, now); err != nil {
		return err
	}
	switch {
	case v.lost():
		return failed(redlock.OpExtend, redlock.ErrLockNotHeld, v)
	case !v.won():
		return failed(redlock.OpExtend, redlock.ErrNoQuorum, v)
	case !now.Before(until):
		return failed(redlock.OpExtend, redlock.ErrValidityExpired, v)
	}
	if until.After(s.until) {
		s.until = until
	}
	return nil
}

// late says that a lease is over.
func (l *Lock) late(s *lease, now time.Time) error {
	if s.held(now) || l.has(ExtendAfterDeadline) {
		return nil
	}
	return failed(redlock.OpExtend, redlock.ErrLockExpired, nil)
}

func (l *Lock) extendOp() redlock.Op {
	switch {
	case l.has(ExtendRecreates):
		return node.OpExtendOrSet
	case l.has(ExtendWithoutOwner):
		return node.OpExpire
	case l.has(ExtendShortens):
		return node.OpExpireOwn
	}
	return redlock.OpExtend
}
