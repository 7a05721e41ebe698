package simredis

import (
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
//   - MaintNotificationsConfig: while it sets that up, go-redis holds a mutex over a
//     round trip, on which a bubble would hang.
//
// Timeouts are go-redis's own, and pass on the client's clock. Close the client, or
// leave that to the end of the run.
func Options(p *sim.Process, node string) *redis.Options {
	return &redis.Options{
		Addr: p.Addr(node), Dialer: p.Dial, MinRetryBackoff: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// Client is a go-redis client with Options.
func Client(p *sim.Process, node string) *redis.Client { return redis.NewClient(Options(p, node)) }

// Clients are a client for each node of the scenario, in its order.
func Clients(p *sim.Process) []*redis.Client {
	var list []*redis.Client
	for _, name := range p.Nodes() {
		list = append(list, Client(p, name))
	}
	return list
}
