package flawed

import (
	"context"
	"time"

	"driftlock/redlock"

	"github.com/jonboulle/clockwork"
)

// Watch keeps a token alive as redlock.Watch does, which works for the tokens of
// its own locks only: it extends at a third of ttl, and ends the holder's context
// with the cause at a loss or at the deadline. (Rule 9)
func (l *Lock) Watch(ctx context.Context, key string, token redlock.Token, ttl time.Duration) (context.Context, context.CancelFunc) {
	w := &watch{l: l, s: l.of(key, token), token: token, ttl: ttl}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = l.Clock.AfterFunc(w.next(), w.tick)
	return w.ctx, w.stop
}

type watch struct {
	l      *Lock
	s      *lease
	token  redlock.Token
	ttl    time.Duration
	ctx    context.Context // the holder's
	cancel context.CancelCauseFunc
	timer  clockwork.Timer
	over   bool
}

// next is the time to the next look: a renewal or the deadline.
func (w *watch) next() time.Duration {
	return max(0, min(w.ttl/3, w.s.until.Sub(w.l.Clock.Now())))
}

func (w *watch) tick() {
	if w.over || w.ctx.Err() != nil {
		return
	}
	if err := w.l.TryExtend(w.ctx, w.s.key, w.token, w.ttl); isLoss(err) {
		if !w.over && !w.l.has(WatchSurvivesLoss) {
			w.l.Tell.Drops(w.s.key)
			w.end(err)
		}
		return
	}
	if !w.over {
		w.timer.Reset(max(w.next(), time.Millisecond))
	}
}

func (w *watch) stop() { w.end(context.Canceled) }

func (w *watch) end(why error) {
	w.over = true
	w.timer.Stop()
	w.cancel(why)
}
