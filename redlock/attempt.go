package redlock

import (
	"context"
	"fmt"
	"time"
)

// Acquire: see Locker.
func (l *core) Acquire(ctx context.Context, key string, ttl time.Duration) (Token, error) {
	return l.acquire(ctx, key, ttl, l.retry)
}

// TryAcquire: see Locker.
func (l *core) TryAcquire(ctx context.Context, key string, ttl time.Duration) (Token, error) {
	return l.acquire(ctx, key, ttl, noRetry)
}

var noRetry = NoRetry()

func (l *core) acquire(ctx context.Context, key string, ttl time.Duration, retry RetryPolicy) (Token, error) {
	if err := l.check(ctx, key); err != nil {
		return Token{}, err
	}
	t, err := l.terms(ttl)
	if err != nil {
		return Token{}, err
	}
	called := l.began()
	token, n, err := l.attempts(ctx, key, t, retry)
	if err != nil {
		l.report(ctx, called, Event{Kind: Refused, Key: key, Attempt: n, Err: err})
		return Token{}, err
	}
	l.report(ctx, called, Event{Kind: Granted, Key: key, Attempt: n, Remaining: token.Remaining()})
	return token, nil
}

// attempts makes attempts until one succeeds or there is no point in another; n
// is how many it made.
func (l *core) attempts(ctx context.Context, key string, t terms, retry RetryPolicy) (_ Token, n int, _ error) {
	patience := patience{l: l, policy: retry, budget: l.outageBudget(t)}
	var last *failure // of the last attempt that ctx did not cut short
	for {
		if ctx.Err() != nil {
			return Token{}, n, ended(OpAcquire, ctx, key, last)
		}
		if err := l.running(OpAcquire, key); err != nil {
			return Token{}, n, err
		}
		n++
		s, start, f := l.attempt(ctx, key, t)
		if f == nil {
			l.report(ctx, start, Event{Kind: Attempted, Key: key, Attempt: n})
			return Token{s}, n, nil
		}
		l.report(ctx, start, Event{Kind: Attempted, Key: key, Attempt: n, Err: f})
		if ctx.Err() != nil && f.class == ErrNoQuorum {
			continue // it says nothing of the nodes
		}
		last = f
		wait, again := patience.after(n, start, f)
		if !again {
			return Token{}, n, f
		}
		l.sleep(ctx, wait)
	}
}

// attempt asks all nodes. With fencing it asks again at once, with a higher
// number, if nothing but the number was refused; not for ever, because others
// may be at it too. It returns when it began, too.
func (l *core) attempt(ctx context.Context, key string, t terms) (s *lease, start time.Time, f *failure) {
	for range 3 {
		s, start, f = l.ballot(ctx, key, t)
		if f == nil || !f.tally.refusedByNumber() || ctx.Err() != nil {
			break
		}
	}
	return s, start, f
}

// ballot asks all nodes once. It counts only if a quorum granted and, read after
// the last answer that was needed, enough validity is left; if not, what it may
// have left on any node is given back before it returns. (Rules 1 to 5)
func (l *core) ballot(ctx context.Context, key string, t terms) (*lease, time.Time, *failure) {
	req := Request{Op: OpAcquire, Key: key, Owner: l.owner(), TTL: t.ttl}
	if l.fencing {
		req.Fence = l.hints.next(key)
	}
	start := l.clock.Now() // before the first send of this ballot: no key of it can be older
	until := start.Add(t.trust)
	v := l.ask(ctx, req, t.timeout, (*tally).attempted)
	now, needed := l.clock.Now(), max(l.minValidity, 1)
	if l.fencing {
		l.hints.saw(key, max(req.Fence, v.highest))
	}
	if v.won() && !now.Add(needed).After(until) { // a Sub, to which package time adds a check, takes twice as long
		return &lease{owner: req.Owner, fence: req.Fence, lock: l, key: key, since: start, until: until, longest: t.ttl}, start, nil
	}
	l.giveBack(ctx, Request{Op: OpRelease, Key: key, Owner: req.Owner, TTL: t.ttl})
	f := &failure{op: OpAcquire.String(), key: key, tally: v}
	switch {
	case v.won():
		f.class = ErrValidityExpired
		left := until.Sub(now)
		f.note = fmt.Sprintf("it took %v, which leaves %v of a ttl of %v, and needed is %v", t.trust-left, left, t.ttl, needed)
	case v.answered():
		f.class = ErrLockAlreadyHeld
	default:
		f.class = ErrNoQuorum
	}
	return nil, start, f
}

// giveBack sends a release of what there may be on any node, those that failed or
// did not answer too. It waits for a quorum of answers, so that another attempt
// finds the nodes free, but not for longer than ctx lasts: the transport sees to
// the rest.
func (l *core) giveBack(ctx context.Context, release Request) {
	l.ask(ctx, release, l.nodeTimeout(release.TTL), (*tally).answered)
}

// ended is the error of a call whose context has ended, after last.
func ended(op Op, ctx context.Context, key string, last *failure) error {
	f := &failure{op: op.String(), key: key, also: []error{context.Cause(ctx)}}
	if err := ctx.Err(); err != context.Cause(ctx) {
		f.class = err
	}
	if last != nil {
		f.also = append(f.also, last)
	}
	return f
}
