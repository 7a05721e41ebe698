package yours

import (
	"context"
	"errors"
	"time"

	"driftlock/redlock"
	"driftlock/sim"
)

// Locker is a Lock as a redlock.Locker, for a process of the simulator. It cannot
// extend.
type Locker struct {
	lock Lock
	p    *sim.Process
}

var _ redlock.Locker = (*Locker)(nil)

// NewLocker is the lock of a process.
func NewLocker(p *sim.Process) redlock.Locker {
	random := func() uint64 { return uint64(p.Rand("owner", 1<<62)) }
	return &Locker{Lock{p.Transport(), p.Clock(), random, 50 * time.Millisecond}, p}
}

// TryAcquire is redlock.Locker's. A redlock.Token has no deadline of this lock's, so
// the process says what it believes.
func (l *Locker) TryAcquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	h, err := l.lock.Lock(ctx, key, ttl)
	if err != nil {
		return redlock.Token{}, errors.Join(redlock.ErrLockAlreadyHeld, err)
	}
	l.p.Holds(key, h.Until)
	return redlock.ParseToken(h.Owner)
}

// Acquire is redlock.Locker's.
func (l *Locker) Acquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	for {
		token, err := l.TryAcquire(ctx, key, ttl)
		if err == nil || ctx.Err() != nil {
			return token, err
		}
		l.p.Sleep(time.Duration(10+l.p.Rand("pause", 90)) * time.Millisecond)
	}
}

// Release is redlock.Locker's.
func (l *Locker) Release(ctx context.Context, key string, token redlock.Token) error {
	l.p.Drops(key)
	l.lock.Unlock(ctx, Held{Key: key, Owner: token.String()})
	return nil
}

// Extend is redlock.Locker's.
func (l *Locker) Extend(context.Context, string, redlock.Token, time.Duration) error {
	return errors.ErrUnsupported
}

// TryExtend is redlock.Locker's.
func (l *Locker) TryExtend(context.Context, string, redlock.Token, time.Duration) error {
	return errors.ErrUnsupported
}

// AcquireOrExtend is redlock.Locker's.
func (l *Locker) AcquireOrExtend(ctx context.Context, key string, _ redlock.Token, ttl time.Duration) (redlock.Token, bool, error) {
	token, err := l.Acquire(ctx, key, ttl)
	return token, true, err
}
