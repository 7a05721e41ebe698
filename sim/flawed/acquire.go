package flawed

import (
	"context"
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"
)

// Acquire: see redlock.Locker.
func (l *Lock) Acquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	return l.acquire(ctx, key, ttl, l.Retry)
}

// TryAcquire: see redlock.Locker.
func (l *Lock) TryAcquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	return l.acquire(ctx, key, ttl, once)
}

func (l *Lock) acquire(ctx context.Context, key string, ttl time.Duration, policy redlock.RetryPolicy) (redlock.Token, error) {
	if l.has(LocalMutex) {
		return l.mutex(ctx, key, policy)
	}
	t, err := l.terms(ttl)
	if err != nil {
		return redlock.Token{}, err
	}
	first, owner := l.Clock.Now(), l.owner()
	for n := 1; ctx.Err() == nil; n++ {
		if n > 1 && !l.has(TokenPerAcquire) {
			owner = l.owner()
		}
		s, granted, err := l.ballots(ctx, key, owner, t, first)
		if err == nil {
			return l.grant(s)
		}
		wait, again := l.pause(policy, n, err)
		if !again || !l.has(NoReleaseBeforeRetry) {
			l.giveBack(ctx, s, granted)
		}
		if !again {
			return redlock.Token{}, err
		}
		l.sleep(ctx, wait)
	}
	return redlock.Token{}, context.Cause(ctx)
}

// grant tells the user of a success.
func (l *Lock) grant(s *lease) (redlock.Token, error) {
	l.leases = append(l.leases, s)
	l.Tell.Holds(s.key, s.until)
	if l.Fencing {
		l.Tell.Fence(s.key, s.fence)
	}
	return redlock.ParseToken(s.owner)
}

// ballots is one attempt. With fencing it asks again at once where nothing but
// its number was refused.
func (l *Lock) ballots(ctx context.Context, key, owner string, t terms, first time.Time) (s *lease, granted uint64, err error) {
	for range 3 {
		var v *votes
		s = &lease{key: key, owner: owner, longest: t.ttl}
		if v, err = l.attempt(ctx, s, t, first); err == nil {
			return s, v.done, nil
		}
		granted = v.done
		if !l.Fencing || count(v.done|v.gone) < l.q || ctx.Err() != nil {
			break
		}
		l.giveBack(ctx, s, granted)
		owner = l.owner()
	}
	return s, granted, err
}

// attempt asks all nodes once. (Rules 1 to 4)
func (l *Lock) attempt(ctx context.Context, s *lease, t terms, first time.Time) (*votes, error) {
	if l.Fencing {
		s.fence = l.seen[s.key] + 1
	}
	start, v := l.Clock.Now(), l.votes()
	l.set(ctx, v, s, t)
	l.number(s, v)
	now := l.Clock.Now()
	switch {
	case l.has(AnchorAtFirstTry):
		start = first
	case l.has(AnchorAtReply):
		start = now
	}
	s.until = start.Add(t.trust)
	need := l.q
	if l.has(QuorumOfReachable) {
		need = v.answered()/2 + 1
	}
	left := s.until.Sub(now)
	switch inTime := l.has(NoElapsedCheck) || left > 0 && left >= l.MinValidity; {
	case count(v.done) < need:
		return v, failed(redlock.OpAcquire, l.why(v), v)
	case !inTime:
		return v, failed(redlock.OpAcquire, redlock.ErrValidityExpired, v)
	}
	return v, nil
}

// why says what an attempt without a quorum came to. (Rule 10)
func (l *Lock) why(v *votes) error {
	if v.answered() >= l.q || l.has(ErrorCountsAsHeld) {
		return redlock.ErrLockAlreadyHeld
	}
	return redlock.ErrNoQuorum
}

// set asks all nodes for the key.
func (l *Lock) set(ctx context.Context, v *votes, s *lease, t terms) {
	req := redlock.Request{Op: redlock.OpAcquire, Key: s.key, Owner: s.owner, TTL: t.ttl, Fence: s.fence}
	switch {
	case l.has(NoTTL), l.has(SetNXThenExpire):
		req.Op = node.OpSetForGood
	case l.Fencing && l.has(FenceInSetRound):
		req.Op, req.Fence = node.OpAcquireCount, 0
	case l.Fencing && l.has(FenceByClock):
		req.Fence = 0
	}
	enough := (*votes).attempted
	if l.has(WaitForAll) || l.has(QuorumOfReachable) {
		enough = func(v *votes) bool { return false }
	}
	switch {
	case l.has(OwnKeyRefused): // the library asks again where no answer came
		l.ask(ctx, v, req, l.all, l.NodeTimeout/5, enough)
		if silent := v.failed; silent != 0 && !v.won() {
			l.ask(ctx, v, req, silent, l.NodeTimeout-l.NodeTimeout/5, enough)
		}
	default:
		l.ask(ctx, v, req, l.all, l.NodeTimeout, enough)
	}
	if l.has(SetNXThenExpire) && v.won() {
		req.Op = node.OpExpireOwn
		l.ask(ctx, l.votes(), req, l.all, l.NodeTimeout, (*votes).settled)
	}
}

// number is the fence number of an attempt. (Rule 12)
func (l *Lock) number(s *lease, v *votes) {
	switch {
	case !l.Fencing:
		return
	case l.has(FenceInSetRound):
		s.fence = v.highest
	case l.has(FenceByClock):
		s.fence = uint64(l.Clock.Now().UnixNano())
	}
	l.seen[s.key] = max(l.seen[s.key], s.fence, v.highest)
}

// mutex is the fault local-mutex.
func (l *Lock) mutex(ctx context.Context, key string, policy redlock.RetryPolicy) (redlock.Token, error) {
	for n := 1; ctx.Err() == nil; n++ {
		if !l.taken[key] {
			l.taken[key] = true
			return l.grant(&lease{key: key, owner: l.owner()})
		}
		wait, again := l.pause(policy, n, redlock.ErrLockAlreadyHeld)
		if !again {
			return redlock.Token{}, failed(redlock.OpAcquire, redlock.ErrLockAlreadyHeld, nil)
		}
		l.sleep(ctx, wait)
	}
	return redlock.Token{}, context.Cause(ctx)
}
