package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// Watch keeps token alive: it extends it by ttl every third of ttl (or as
// WithRenewInterval says), and tries again until the deadline if that fails.
//
// The context that it returns is the holder's: it ends when ctx does and, with
// the cause, at the first loss, at the deadline, or after WithMaxHold, whichever
// comes first and whether or not the nodes answer. The cause (context.Cause) is
// ErrLockNotHeld, ErrLockExpired or ErrMaxHold; it says what the nodes answered
// last, or that this process stood still. A loss is for good: the token is not
// valid any more, and its keys are released on all nodes. After ErrMaxHold the
// holder still has the lock, until the deadline or Release.
//
// Calling stop ends the renewing and the context; it does not release. Call it
// when the work is done, before Release. Between renewals a watched token costs
// a timer on the clock of the lock that granted it, and no goroutine.
//
// If token is not valid, or an argument makes no sense, the context has ended
// already and says so. The token of another process, from ParseToken, is to be
// extended once before it is watched.
func Watch(ctx context.Context, l Locker, key string, token Token, ttl time.Duration) (held context.Context, stop context.CancelFunc) {
	w := newWatch(ctx, l, key, token, ttl)
	return w.ctx, w.stop
}

// A watch is one timer, which fires when the next renewal is due or, if that is
// earlier or one is under way, when trust in the lock ends.
type watch struct {
	locker Locker
	lock   *core // of the token: its clock and options
	key    string
	token  Token
	ttl    time.Duration
	ctx    context.Context // the holder's
	cancel context.CancelCauseFunc

	mu    sync.Mutex // over what follows; never held over a call that blocks
	timer clockwork.Timer
	due   time.Time // of the next renewal, or the one under way
	busy  bool      // one is under way
	over  bool
	why   error // it ended the holder's context; nil: it did not
	tries int   // renewals that have failed since the last that did not
	last  error // the last of them
}

func newWatch(ctx context.Context, l Locker, key string, token Token, ttl time.Duration) *watch {
	parent := ctx
	if ctx == nil {
		parent = context.Background()
	}
	w := &watch{locker: l, key: key, token: token, ttl: ttl}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.mu.Lock() // the timer may fire at once
	defer w.mu.Unlock()
	if w.why = w.start(ctx); w.why != nil {
		w.over = true
		w.cancel(w.why)
	}
	return w
}

// start arms the timer, or says why there is nothing to watch.
func (w *watch) start(ctx context.Context) error {
	if ctx == nil {
		return badArgument("context nil")
	}
	if w.locker == nil {
		return badArgument("locker nil")
	}
	if w.token.l == nil {
		return badArgument("the zero Token: nothing was acquired")
	}
	if w.lock = w.token.l.granter(); w.lock == nil {
		return badArgument("a token from ParseToken: extend it once before it is watched")
	}
	if _, err := w.lock.of(w.ctx, w.key, w.token); err != nil {
		return err
	}
	if _, err := w.lock.terms(w.ttl); err != nil {
		return err
	}
	now := w.lock.clock.Now()
	until, end, why := w.trust(now)
	if why != nil || w.ctx.Err() != nil {
		return why
	}
	w.due = now.Add(w.interval(now, until))
	w.timer = w.lock.clock.AfterFunc(w.next(end).Sub(now), w.tick)
	return nil
}

// interval is the time to the next renewal of a token with that deadline.
func (w *watch) interval(now, until time.Time) time.Duration {
	d := w.ttl / 3
	if w.lock.renew > 0 {
		d = w.lock.renew
	}
	return min(d, until.Sub(now)/2)
}

// trust is the deadline of the token and when its watch ends, which is earlier
// if the maximum hold is; or why it has ended.
func (w *watch) trust(now time.Time) (until, end time.Time, why error) {
	s := w.token.l
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.endedAt(now, "watch", w.key); f != nil {
		return until, end, f
	}
	if s.until.IsZero() {
		return until, end, badArgument("a token from ParseToken: extend it once before it is watched")
	}
	end = s.until
	if most := s.since.Add(w.lock.maxHold); w.lock.maxHold > 0 && most.Before(end) {
		end = most
	}
	if !now.Before(end) {
		why = &failure{op: "watch", key: w.key, class: ErrMaxHold, note: w.lock.maxHold.String()}
	}
	return s.until, end, why
}

// tick is what the timer does.
func (w *watch) tick() {
	if renew, why := w.look(); why != nil {
		w.lose(why)
	} else if renew {
		w.renewed(w.locker.TryExtend(w.ctx, w.key, w.token, w.ttl))
	}
}

// look says whether it is time to renew or, with why, to give up.
func (w *watch) look() (renew bool, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.ctx.Err() != nil {
		w.over = true
		return false, nil
	}
	now := w.lock.clock.Now()
	_, end, why := w.trust(now)
	if why != nil {
		return false, w.explain(why, now)
	}
	if renew = !w.busy && !now.Before(w.due); renew {
		w.busy = true
	}
	w.timer.Reset(w.next(end).Sub(now))
	return renew, nil
}

// next is when the timer is to fire, if trust ends then.
func (w *watch) next(end time.Time) time.Time {
	if !w.busy && w.due.Before(end) {
		return w.due
	}
	return end
}

// renewed takes the result of a renewal.
func (w *watch) renewed(err error) {
	if why := w.after(err); why != nil {
		w.lose(why)
	}
}

// after says what follows a renewal with that result: the next one or, with why,
// the end.
func (w *watch) after(err error) (why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = false
	if w.over || w.ctx.Err() != nil {
		w.over = true
		return nil
	}
	now := w.lock.clock.Now()
	until, end, why := w.trust(now)
	switch {
	case isFinal(err):
		return err
	case why != nil:
		return w.explain(why, now)
	case err == nil:
		w.tries, w.last = 0, nil
		w.due = now.Add(w.interval(now, until))
	default:
		w.tries++
		w.last = err
		w.due = now.Add(w.pause(err))
	}
	w.timer.Reset(w.next(end).Sub(now))
	return nil
}

// isFinal says that no further renewal can succeed after one that ended with err.
func isFinal(err error) bool {
	return isLoss(err) || (errors.Is(err, ErrBadArgument) || errors.Is(err, ErrClosed)) && !errors.Is(err, ErrNoQuorum)
}

// pause is the time to the next try after a renewal that failed. A watch tries
// until the deadline, also where the lock's policy would have stopped.
func (w *watch) pause(err error) time.Duration {
	wait, again := w.lock.pause(w.lock.retry, w.tries, err)
	if !again {
		wait, _ = w.lock.pause(defaultRetry, w.tries, err)
	}
	return wait
}

// explain adds to the end of trust what kept the lock from being renewed.
func (w *watch) explain(why error, now time.Time) error {
	f, ok := why.(*failure)
	if !ok || f.class != ErrLockExpired {
		return why
	}
	switch late := now.Sub(w.due); {
	case w.busy:
		f.note += fmt.Sprintf(", a renewal begun %v ago is not finished", late)
	case late > 0:
		f.note += fmt.Sprintf(", a renewal due %v ago did not run: the process stood still or was suspended", late)
	}
	var last *failure
	switch {
	case errors.As(w.last, &last):
		f.tally = last.tally
	case w.last != nil:
		f.also = append(f.also, w.last)
	}
	return f
}

// lose ends the holder's context because of why. A token that is lost is given
// back everywhere; one held for too long is left to its holder.
func (w *watch) lose(why error) {
	if !w.finish(why) {
		return
	}
	w.cancel(why)
	if errors.Is(why, ErrMaxHold) {
		w.lock.report(w.ctx, w.lock.began(), Event{Kind: Lost, Key: w.key, Err: why})
		return
	}
	w.lock.lose(w.ctx, w.key, w.token.l, why)
}

// finish ends the renewing; false if it had ended before.
func (w *watch) finish(why error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return false
	}
	w.over, w.why = true, why
	if w.timer != nil {
		w.timer.Stop()
	}
	return true
}

func (w *watch) stop() {
	w.finish(nil)
	w.cancel(nil)
}

// Do runs fn while it holds the lock on key: it acquires, watches, runs fn with
// the context that ends when the lock is lost, and releases whatever happens,
// also if fn panics.
//
// It returns what Acquire returned if that failed. Otherwise it joins fn's
// error with the loss of the lock if there was one (the cause of fn's context)
// and, if there was none, with what Release returned. So nil means that fn
// returned nil and held the lock all the while.
func Do(ctx context.Context, l Locker, key string, ttl time.Duration, fn func(ctx context.Context, token Token) error) (err error) {
	if l == nil {
		return badArgument("locker nil")
	}
	if fn == nil {
		return badArgument("function nil")
	}
	token, err := l.Acquire(ctx, key, ttl)
	if err != nil {
		return err
	}
	w := newWatch(ctx, l, key, token, ttl)
	defer func() {
		w.stop()
		released := l.Release(ctx, key, token)
		switch {
		case w.why == nil:
			err = errors.Join(err, released)
		case !errors.Is(err, w.why): // unless fn has told already
			err = errors.Join(err, w.why)
		}
	}()
	return fn(w.ctx, token)
}
