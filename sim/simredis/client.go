package simredis

import (
	"context"
	"sync"

	"driftlock/sim"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options are those of a go-redis client of p's machine that reaches a node, by its
// name in the scenario, over the simulated network. Change what you like, except:
//
//   - Dialer, which is p.Dial, and Addr, a numeric address, which nobody looks up;
//   - MinRetryBackoff -1: between retries go-redis waits for a time drawn from the
//     global random source, and a run could not be repeated. Retries stay as they are;
//   - PoolSize, which by default hangs on the number of processors. Never let a pool run
//     out of connections: who waits for one there uses a timer that go-redis keeps from
//     one bubble to the next, which is fatal;
//   - MaintNotificationsConfig: while it sets that up, go-redis holds a mutex over a
//     round trip, on which a bubble would hang.
//
// Timeouts are go-redis's own, and pass on the client's clock. Close a client that you
// make with them, at the latest in p.Cleanup: one that cannot dial goes on trying on a
// goroutine of its own.
func Options(p *sim.Process, node string) *redis.Options {
	return &redis.Options{
		Addr: p.Addr(node), Dialer: p.Dial, MinRetryBackoff: -1, PoolSize: 256,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// Client is a go-redis client with Options. It is closed at the end of the run.
func Client(p *sim.Process, node string) *redis.Client {
	c := redis.NewClient(Options(p, node))
	p.Cleanup(func() { c.Close() }) // it may be closed already
	return c
}

// Clients are a client for each node of the scenario, in its order.
func Clients(p *sim.Process) []*redis.Client {
	var list []*redis.Client
	for _, name := range p.Nodes() {
		list = append(list, Client(p, name))
	}
	return list
}

// silence takes go-redis's log away: it would tell of every node that a scenario takes
// down, in the bubble's time. What matters the caller hears as an error.
var silence = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
