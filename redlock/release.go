package redlock

import (
	"context"
	"fmt"
	"time"
)

// Release: see Locker.
func (l *core) Release(ctx context.Context, key string, token Token) error {
	s, err := l.of(ctx, key, token)
	if err != nil {
		return err
	}
	called := l.began()
	if f := l.release(ctx, key, s); f != nil {
		err = f
	}
	l.report(ctx, called, Event{Kind: Released, Key: key, Err: err})
	return err
}

// release ends the validity of s before it sends anything, for good: an extend
// in flight cannot revive it. It goes on when ctx has ended, for as long as the
// nodes have to answer. (Rule 7)
func (l *core) release(ctx context.Context, key string, s *lease) *failure {
	until, before := s.releasing(key)
	if l.closed.Load() {
		return &failure{op: OpRelease.String(), key: key, class: ErrClosed, note: "its keys expire"}
	}
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	req := s.give(key)
	v := l.ask(ctx, req, l.nodeTimeout(req.TTL), (*tally).settled)
	f := s.released(&v, until, req)
	if before != nil {
		f = before
	}
	if f != nil {
		f.tally = v
	}
	return f
}

// releasing ends the validity of s, and returns its deadline and, if it was
// lost or had expired already, how.
func (s *lease) releasing(key string) (until time.Time, before *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.lost != nil:
		before = s.lostBefore(OpRelease.String(), key)
	case !s.until.IsZero():
		if now := s.lock.clock.Now(); !now.Before(s.until) {
			before = expired(OpRelease.String(), key, now.Sub(s.until))
		}
	}
	until, s.until = s.until, time.Time{}
	s.releases++
	return until, before
}

// released says what the answers to a release come to, for a token that was
// valid until then. Of a token that is released more than once nobody can tell
// any more who deleted its keys: that they are gone is no loss.
func (s *lease) released(v *tally, until time.Time, req Request) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case v.won():
		return nil
	case s.releases > 1:
		return &failure{op: OpRelease.String(), key: req.Key, class: ErrReleaseUnknown, note: "it was released before"}
	case !v.lost():
		return &failure{op: OpRelease.String(), key: req.Key, class: ErrReleaseUnknown,
			note: fmt.Sprintf("keys on nodes that did not answer are deleted when they answer again, or expire within %v", req.TTL)}
	case !until.IsZero():
		if late := s.lock.clock.Now().Sub(until); late >= 0 {
			return expired(OpRelease.String(), req.Key, late)
		}
	}
	return &failure{op: OpRelease.String(), key: req.Key, class: ErrLockNotHeld}
}
