package flawed

import (
	"context"
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"
)

// giveBack releases a failed attempt on all nodes, and waits for a quorum of
// answers while ctx lasts. (Rule 5)
func (l *Lock) giveBack(ctx context.Context, s *lease, granted uint64) {
	if l.has(ReleaseOnCallerContext) && ctx.Err() != nil {
		return
	}
	which := l.all
	if l.has(ReleaseOnlyGranted) {
		if which = granted; which == 0 {
			return
		}
	}
	req := redlock.Request{Op: redlock.OpRelease, Key: s.key, Owner: s.owner, TTL: s.longest}
	l.ask(ctx, l.votes(), req, which, l.NodeTimeout, func(v *votes) bool { return v.answered() >= l.q })
}

// Release: see redlock.Locker. (Rule 7)
func (l *Lock) Release(ctx context.Context, key string, token redlock.Token) error {
	if l.has(LocalMutex) {
		l.taken[key] = false
		return nil
	}
	s := l.of(key, token)
	expired := !s.until.IsZero() && !s.held(l.Clock.Now())
	s.until = time.Time{} // before anything is sent, for good
	err := l.release(ctx, s)
	switch {
	case l.has(ReleaseAlwaysOK):
		return nil
	case expired:
		return failed(redlock.OpRelease, redlock.ErrLockExpired, nil)
	}
	return err
}

func (l *Lock) release(ctx context.Context, s *lease) error {
	req := redlock.Request{Op: redlock.OpRelease, Key: s.key, Owner: s.owner, TTL: s.longest}
	if l.has(ReleaseWithoutCompare) {
		req.Op = node.OpDelete
	}
	v := l.votes()
	l.ask(context.WithoutCancel(ctx), v, req, l.all, l.NodeTimeout, (*votes).settled)
	switch {
	case v.won():
		return nil
	case v.lost():
		return failed(redlock.OpRelease, redlock.ErrLockNotHeld, v)
	}
	return failed(redlock.OpRelease, redlock.ErrReleaseUnknown, v)
}
