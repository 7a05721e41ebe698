// Package rivals puts other lock clients for Go into the simulator, as their users
// would use them, and reports what becomes of their promises: docs/rivals.md. It is a
// module of its own, so that they are no dependency of the product.
//
//	go test .                      what is told of each rival still comes out so
//	DRIFTLOCK_LONG=1 go test .     the searches too
//	go test . -update              and all of it is written to docs/rivals.md
package rivals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/simredis"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// Redsync is redsync v4 over a go-redis client for each node, all settings as they are by
// default, and then opts. Its random values and delays come from the process, so that a run
// can be repeated: the values are as random, and the delays have the default's law.
func Redsync(opts ...redsync.Option) func(p *sim.Process) redlock.Locker {
	return func(p *sim.Process) redlock.Locker {
		var pools []redsyncredis.Pool
		for _, c := range simredis.Clients(p) {
			pools = append(pools, goredis.NewPool(c))
		}
		return &redsyncGuest{p: p, rs: redsync.New(pools...), opts: append([]redsync.Option{
			redsync.WithGenValueFunc(func() (string, error) { return value(p), nil }),
			redsync.WithRetryDelayFunc(func(int) time.Duration { return time.Duration(50+p.Rand("delay", 200)) * time.Millisecond }),
		}, opts...)}
	}
}

// value is 128 bits.
func value(p *sim.Process) string {
	return fmt.Sprintf("%016x%016x", uint64(p.Rand("value", 1<<62)), uint64(p.Rand("value", 1<<62)))
}

type redsyncGuest struct {
	p    *sim.Process
	rs   *redsync.Redsync
	opts []redsync.Option
}

// mutex is that of a key. Of a lock that is held already, its value is known.
func (g *redsyncGuest) mutex(key string, ttl time.Duration, token redlock.Token) *redsync.Mutex {
	opts := append([]redsync.Option{redsync.WithExpiry(ttl)}, g.opts...)
	if v := token.String(); v != "" {
		opts = append(opts, redsync.WithValue(v))
	}
	return g.rs.NewMutex(key, opts...)
}

func (g *redsyncGuest) took(m *redsync.Mutex, err error) (redlock.Token, error) {
	var taken *redsync.ErrTaken
	switch {
	case errors.As(err, &taken):
		return redlock.Token{}, errors.Join(redlock.ErrLockAlreadyHeld, err)
	case err != nil:
		return redlock.Token{}, err
	}
	g.p.Holds(m.Name(), m.Until())
	return redlock.ParseToken(m.Value())
}

func (g *redsyncGuest) Acquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	m := g.mutex(key, ttl, redlock.Token{})
	return g.took(m, m.LockContext(ctx))
}

func (g *redsyncGuest) TryAcquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	m := g.mutex(key, ttl, redlock.Token{})
	return g.took(m, m.TryLockContext(ctx))
}

// Extend: redsync says no more than that it failed, and the old deadline stands.
func (g *redsyncGuest) Extend(ctx context.Context, key string, token redlock.Token, ttl time.Duration) error {
	m := g.mutex(key, ttl, token)
	ok, err := m.ExtendContext(ctx)
	if !ok {
		return errors.Join(errors.New("redsync: not extended"), err)
	}
	g.p.Holds(key, m.Until())
	return nil
}

func (g *redsyncGuest) TryExtend(ctx context.Context, key string, token redlock.Token, ttl time.Duration) error {
	return g.Extend(ctx, key, token, ttl)
}

func (g *redsyncGuest) AcquireOrExtend(ctx context.Context, key string, token redlock.Token, ttl time.Duration) (redlock.Token, bool, error) {
	if token != (redlock.Token{}) && g.Extend(ctx, key, token, ttl) == nil {
		return token, false, nil
	}
	t, err := g.Acquire(ctx, key, ttl)
	return t, true, err
}

func (g *redsyncGuest) Release(ctx context.Context, key string, token redlock.Token) error {
	ok, err := g.mutex(key, time.Second, token).UnlockContext(ctx)
	if !ok {
		return errors.Join(redlock.ErrReleaseUnknown, err)
	}
	return nil
}

// Redislock is redislock over a go-redis client for the first node: it is for one server.
// It does not tell a deadline. Its user counts the TTL from before the call, which is the
// most careful he can do, and tries again every 100 ms.
func Redislock(p *sim.Process) redlock.Locker {
	return &redislockGuest{p, redislock.New(simredis.Client(p, p.Nodes()[0])), map[string]*redislock.Lock{}}
}

type redislockGuest struct {
	p    *sim.Process
	c    *redislock.Client
	held map[string]*redislock.Lock // by token
}

func (g *redislockGuest) TryAcquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	start := time.Now()
	l, err := g.c.Obtain(ctx, key, ttl, &redislock.Options{Token: value(g.p)})
	switch {
	case errors.Is(err, redislock.ErrNotObtained):
		return redlock.Token{}, errors.Join(redlock.ErrLockAlreadyHeld, err)
	case err != nil:
		return redlock.Token{}, err
	}
	g.p.Holds(key, start.Add(ttl))
	g.held[l.Token()] = l
	return redlock.ParseToken(l.Token())
}

func (g *redislockGuest) Acquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	for {
		token, err := g.TryAcquire(ctx, key, ttl)
		if err == nil {
			return token, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return redlock.Token{}, err
		}
	}
}

func (g *redislockGuest) Extend(ctx context.Context, key string, token redlock.Token, ttl time.Duration) error {
	start := time.Now()
	switch err := g.held[token.String()].Refresh(ctx, ttl, nil); {
	case errors.Is(err, redislock.ErrNotObtained):
		return errors.Join(redlock.ErrLockNotHeld, err)
	case err != nil:
		return err
	}
	g.p.Holds(key, start.Add(ttl))
	return nil
}

func (g *redislockGuest) TryExtend(ctx context.Context, key string, token redlock.Token, ttl time.Duration) error {
	return g.Extend(ctx, key, token, ttl)
}

func (g *redislockGuest) AcquireOrExtend(ctx context.Context, key string, token redlock.Token, ttl time.Duration) (redlock.Token, bool, error) {
	if g.held[token.String()] != nil && g.Extend(ctx, key, token, ttl) == nil {
		return token, false, nil
	}
	t, err := g.Acquire(ctx, key, ttl)
	return t, true, err
}

func (g *redislockGuest) Release(ctx context.Context, key string, token redlock.Token) error {
	l := g.held[token.String()]
	delete(g.held, token.String())
	if err := l.Release(ctx); err != nil {
		return errors.Join(redlock.ErrReleaseUnknown, err)
	}
	return nil
}
