package redlock

import (
	"context"
	"errors"
	"time"
)

// Extend: see Locker.
func (l *core) Extend(ctx context.Context, key string, token Token, ttl time.Duration) error {
	return l.extend(ctx, key, token, ttl, l.retry)
}

// TryExtend: see Locker.
func (l *core) TryExtend(ctx context.Context, key string, token Token, ttl time.Duration) error {
	return l.extend(ctx, key, token, ttl, noRetry)
}

// AcquireOrExtend: see Locker.
func (l *core) AcquireOrExtend(ctx context.Context, key string, token Token, ttl time.Duration) (t Token, again bool, err error) {
	if token != (Token{}) {
		err = l.Extend(ctx, key, token, ttl)
		if !isLoss(err) {
			return token, false, err
		}
	}
	t, err = l.Acquire(ctx, key, ttl)
	if err != nil {
		return token, false, err
	}
	return t, true, nil
}

// isLoss says that err of an extend is for good. Of an outage nothing is, whatever
// the nodes' own errors wrap.
func isLoss(err error) bool {
	return (errors.Is(err, ErrLockExpired) || errors.Is(err, ErrLockNotHeld)) && !errors.Is(err, ErrNoQuorum)
}

func (l *core) extend(ctx context.Context, key string, token Token, ttl time.Duration, retry RetryPolicy) error {
	s, err := l.of(ctx, key, token)
	if err != nil {
		return err
	}
	t, err := l.terms(ttl)
	if err != nil {
		return err
	}
	patience := patience{l: l, policy: retry, budget: l.outageBudget(t)}
	if s.bind(l) {
		patience.budget = -1 // its deadline bounds it
	}
	called := l.began()
	var last *failure // of the last attempt that ctx did not cut short
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return ended(OpExtend, ctx, key, last)
		}
		if err := l.running(OpExtend, key); err != nil {
			return err
		}
		start, f := l.extendOnce(ctx, key, s, t, last)
		switch {
		case f == nil:
			l.report(ctx, called, Event{Kind: Renewed, Key: key, Attempt: n, Remaining: s.remaining()})
			return nil
		case isLoss(f):
			l.lose(ctx, key, s, f)
			return f
		case ctx.Err() != nil && f.class == ErrNoQuorum:
			continue // it says nothing of the nodes
		}
		last = f
		wait, again := patience.after(n, start, f)
		if !again {
			return f
		}
		if left := s.remaining(); left > 0 {
			wait = min(wait, left) // at the deadline it is lost, and that is the answer
		}
		l.sleep(ctx, wait)
	}
}

// bind gives a parsed token the lock whose clock its readings will be of, and
// says whether it has a deadline.
func (s *lease) bind(l *core) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		s.lock = l
	}
	return !s.until.IsZero()
}

// extendOnce asks all nodes once to let the key live on. On failure the old
// deadline stands. (Rule 8) last is what came before.
func (l *core) extendOnce(ctx context.Context, key string, s *lease, t terms, last *failure) (time.Time, *failure) {
	start := s.lock.clock.Now()
	if f := s.extending(key, start, t.ttl); f != nil {
		if last != nil {
			f.tally = last.tally // what kept it from being extended in time
		}
		return start, f
	}
	v := l.ask(ctx, Request{Op: OpExtend, Key: key, Owner: s.owner, TTL: t.ttl}, t.timeout, (*tally).settled)
	f := s.extended(key, &v, start, s.lock.clock.Now(), start.Add(t.trust))
	if f != nil && f.tally.lock == nil {
		f.tally = v
	}
	return start, f
}

// extending says why no extend by ttl may be sent now; nil if it may.
func (s *lease) extending(key string, now time.Time, ttl time.Duration) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.endedAt(now, OpExtend.String(), key); f != nil {
		return f
	}
	s.longest = max(s.longest, ttl)
	return nil
}

// extended takes what the nodes answered to an extend, the last of them before
// now. Only nodes count that still held the key, and now must be before the old
// deadline and the new one, which is until: otherwise a late SET of the same
// grant would let a lock that has expired be extended over a rival's tenure.
func (s *lease) extended(key string, v *tally, start, now, until time.Time) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.endedAt(now, OpExtend.String(), key); f != nil {
		return f
	}
	switch {
	case v.lost():
		return &failure{op: OpExtend.String(), key: key, class: ErrLockNotHeld}
	case !v.won():
		return &failure{op: OpExtend.String(), key: key, class: ErrNoQuorum}
	case !now.Before(until):
		return &failure{op: OpExtend.String(), key: key, class: ErrValidityExpired, note: "the last answer that was needed came after the new deadline"}
	}
	if s.until.IsZero() {
		s.key, s.since = key, start
	}
	if until.After(s.until) {
		s.until = until
	}
	return nil
}

// endedAt says why s is not held any more at now; nil if it is, or was never
// held here. Its mutex is held.
func (s *lease) endedAt(now time.Time, op, key string) *failure {
	switch {
	case s.lost != nil:
		return s.lostBefore(op, key)
	case s.releases > 0:
		return &failure{op: op, key: key, class: ErrLockNotHeld, note: "the token was released"}
	case !s.until.IsZero() && !now.Before(s.until):
		return expired(op, key, now.Sub(s.until))
	}
	return nil
}
