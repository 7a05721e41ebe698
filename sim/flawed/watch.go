package flawed

import (
	"context"
	"time"

	"driftlock/redlock"

	"github.com/jonboulle/clockwork"
)

// Watch keeps a token alive as redlock.Watch does, which works for the tokens of
// its own locks only: it extends at a third of ttl, tries again until the
// deadline, and ends the holder's context with the cause at the first loss or at
// the deadline. (Rule 9)
func (l *Lock) Watch(ctx context.Context, key string, token redlock.Token, ttl time.Duration) (context.Context, context.CancelFunc) {
	w := &watch{l: l, s: l.of(key, token), token: token, ttl: ttl}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.due = l.Clock.Now().Add(ttl / 3)
	w.timer = l.Clock.AfterFunc(w.next(), w.tick)
	return w.ctx, func() { w.end(context.Canceled) }
}

// A watch is one timer, for the next renewal or the deadline.
type watch struct {
	l      *Lock
	s      *lease
	token  redlock.Token
	ttl    time.Duration
	ctx    context.Context // the holder's
	cancel context.CancelCauseFunc
	timer  clockwork.Timer
	due    time.Time // of the next renewal
	busy   bool      // one is under way
	over   bool
}

// next is the time to what comes next.
func (w *watch) next() time.Duration {
	at := w.s.until
	if !w.busy && w.due.Before(at) {
		at = w.due
	}
	return max(0, at.Sub(w.l.Clock.Now()))
}

func (w *watch) tick() {
	if w.over || w.ctx.Err() != nil {
		return
	}
	if !w.s.held(w.l.Clock.Now()) {
		w.lose(failed(redlock.OpExtend, redlock.ErrLockExpired, nil))
		return
	}
	if w.busy {
		w.timer.Reset(w.next())
		return
	}
	w.busy = true
	w.timer.Reset(w.next())
	err := w.l.TryExtend(w.ctx, w.s.key, w.token, w.ttl)
	w.busy = false
	wait := w.ttl / 3
	switch {
	case w.over || w.ctx.Err() != nil:
		return
	case isLoss(err):
		w.lose(err)
		return
	case err != nil:
		wait = w.ttl / 30
	}
	w.due = w.l.Clock.Now().Add(wait)
	w.timer.Reset(w.next())
}

func (w *watch) lose(why error) {
	if !w.l.has(WatchSurvivesLoss) {
		w.end(why)
	}
}

func (w *watch) end(why error) {
	w.over = true
	w.timer.Stop()
	w.cancel(why)
}
