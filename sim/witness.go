package sim

import (
	"context"
	"errors"
	"time"

	"driftlock/redlock"
)

// A Witness is a redlock.Locker that tells the simulator what its user is told:
// when trust in a lease begins, moves and ends. It wraps any Locker. Of one whose
// tokens have no deadline (Token.ValidUntil) and which does not say itself what
// is believed (Process.Holds), trust is taken to last until Release is called or
// the TTL has passed on the client's clock.
type Witness struct {
	inner   redlock.Locker
	p       *Process
	silent  bool // it tells nothing: another is around it
	options bool // the code chose those of the real lock
}

// Witness wraps a lock of your own.
func (p *Process) Witness(l redlock.Locker) *Witness {
	_, options := l.(*redlock.DistributedLock) // not made by Lock
	return &Witness{inner: l, p: p, options: options}
}

var _ redlock.Locker = (*Witness)(nil)

// owner is the owner value of a token, 0 for none: the one of which the lock has
// said that it is believed, if it has.
func (w *Witness) owner(key string, t redlock.Token) Text {
	switch b := w.p.believed(key); {
	case b != nil:
		return b.owner
	case t != redlock.Token{}:
		return w.p.text(t.String())
	}
	return 0
}

func (w *Witness) note(k EventKind, key string, owner Text, value int64, ttl time.Duration, err error) {
	e := Event{Kind: k, Key: w.p.text(key), Owner: owner, Value: value, Nth: milliseconds(ttl)}
	if err != nil {
		e.Note = w.p.text(err.Error())
	}
	if !w.silent {
		w.p.note(&e)
	}
}

func (w *Witness) acquired(ctx context.Context, key string, t redlock.Token, ttl time.Duration, err error) (redlock.Token, error) {
	if err != nil {
		why := classify(err)
		if ctx.Err() != nil {
			why = refusedOther // what it says beside that is about the attempt before
		}
		w.note(Refused, key, w.owner(key, t), int64(why), 0, err)
		return t, err
	}
	if !w.spoken(key, t) {
		w.note(Granted, key, w.owner(key, t), w.until(t, ttl), ttl, nil)
		if fence, ok := t.Fence(); ok {
			w.note(Fenced, key, w.owner(key, t), int64(fence), 0, nil)
		}
	}
	return t, err
}

// spoken says that the lock itself has said what its user believes.
func (w *Witness) spoken(key string, t redlock.Token) bool {
	return t.ValidUntil().IsZero() && w.p.believed(key) != nil
}

// until is the reading of the client's clock at which trust in a token ends that
// the lock has just granted or extended.
func (w *Witness) until(t redlock.Token, ttl time.Duration) int64 {
	until := t.ValidUntil()
	if _, tells := w.inner.(*redlock.DistributedLock); tells || !until.IsZero() {
		reading := w.p.reading(until)
		if w.options {
			w.p.options(t.String(), reading)
		}
		return reading
	}
	return later(w.p.local(), ttl)
}

// wants begins an Acquire.
func (w *Witness) wants(key string, ttl time.Duration) {
	w.p.forget(key)
	w.p.wants = true
	w.p.asks(ttl)
	w.note(Wanted, key, 0, 0, 0, nil)
}

// Acquire is redlock.Locker's.
func (w *Witness) Acquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	w.wants(key, ttl)
	t, err := w.inner.Acquire(ctx, key, ttl)
	return w.acquired(ctx, key, t, ttl, err)
}

// TryAcquire is redlock.Locker's.
func (w *Witness) TryAcquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	w.wants(key, ttl)
	t, err := w.inner.TryAcquire(ctx, key, ttl)
	return w.acquired(ctx, key, t, ttl, err)
}

func (w *Witness) extended(key string, t redlock.Token, ttl time.Duration, err error) error {
	switch {
	case err == nil && w.spoken(key, t):
	case err == nil:
		w.note(Extended, key, w.owner(key, t), w.until(t, ttl), ttl, nil)
	case errors.Is(err, redlock.ErrLockNotHeld), errors.Is(err, redlock.ErrLockExpired):
		w.note(Unextended, key, w.owner(key, t), 1, 0, err)
		w.p.forget(key)
	default:
		w.note(Unextended, key, w.owner(key, t), 0, 0, err)
	}
	return err
}

// Extend is redlock.Locker's.
func (w *Witness) Extend(ctx context.Context, key string, t redlock.Token, ttl time.Duration) error {
	w.p.asks(ttl)
	return w.extended(key, t, ttl, w.inner.Extend(ctx, key, t, ttl))
}

// TryExtend is redlock.Locker's.
func (w *Witness) TryExtend(ctx context.Context, key string, t redlock.Token, ttl time.Duration) error {
	w.p.asks(ttl)
	return w.extended(key, t, ttl, w.inner.TryExtend(ctx, key, t, ttl))
}

// AcquireOrExtend is redlock.Locker's.
func (w *Witness) AcquireOrExtend(ctx context.Context, key string, t redlock.Token, ttl time.Duration) (redlock.Token, bool, error) {
	got, again, err := w.inner.AcquireOrExtend(ctx, key, t, ttl)
	switch {
	case err != nil || again:
		w.acquired(ctx, key, got, ttl, err)
	default:
		w.extended(key, got, ttl, nil)
	}
	return got, again, err
}

// Release is redlock.Locker's.
func (w *Witness) Release(ctx context.Context, key string, t redlock.Token) error {
	owner := w.owner(key, t)
	w.p.forget(key)
	w.note(Releasing, key, owner, 0, 0, nil)
	err := w.inner.Release(ctx, key, t)
	w.note(Released, key, owner, 0, 0, err)
	return err
}

// A refusal is why an acquire failed, as the Value of a Refused event.
type refusal int64

const (
	refusedOther refusal = iota
	refusedHeld
	refusedOutage
	refusedTooLate
)

func classify(err error) refusal {
	switch {
	case errors.Is(err, redlock.ErrLockAlreadyHeld):
		return refusedHeld
	case errors.Is(err, redlock.ErrNoQuorum):
		return refusedOutage
	case errors.Is(err, redlock.ErrValidityExpired):
		return refusedTooLate
	}
	return refusedOther
}
