package locktest_test

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"driftlock/internal/servers"
	"driftlock/redlock"
	"driftlock/redlock/locktest"
	"driftlock/sim/node"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// The suite on the nodes that need no driver. Databases, and a mix, are in the module
// sqlnode/sqltest.

var serial atomic.Int64

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "8") // most of them wait most of the time
	os.Exit(m.Run())
}

func TestRedis(t *testing.T) { suite(t, realRedis) }
func TestMini(t *testing.T)  { suite(t, miniRedis) }
func TestSim(t *testing.T)   { suite(t, simulated) }

// suite runs both tests. A maker returns a node over a store of its own.
func suite(t *testing.T, maker func(t testing.TB) redlock.Node) {
	t.Parallel()
	t.Run("node", func(t *testing.T) {
		t.Parallel()
		locktest.Node(t, maker)
	})
	t.Run("lock", func(t *testing.T) {
		t.Parallel()
		locktest.Lock(t, func(t testing.TB, n int) []redlock.Node {
			var nodes []redlock.Node
			for range n {
				nodes = append(nodes, maker(t))
			}
			return nodes
		})
	})
}

// realRedis starts a server for each node: a store of its own.
func realRedis(t testing.TB) redlock.Node {
	s := servers.New(t, servers.Redis)
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	t.Cleanup(func() { c.Close() })
	return redlock.RedisNode(c)
}

// miniRedis is a Redis in this process, whose time goes on only when it is told.
func miniRedis(t testing.TB) redlock.Node {
	s := miniredis.RunT(t)
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { c.Close() })
	return &ticking{Node: redlock.RedisNode(c), server: s, last: time.Now()}
}

type ticking struct {
	redlock.Node
	server *miniredis.Miniredis
	mu     sync.Mutex
	last   time.Time
}

func (n *ticking) Do(reqs []*redlock.Request, replies []redlock.Reply) {
	n.tick()
	n.Node.Do(reqs, replies)
}

// tick lets as much time pass at the server as has passed here.
func (n *ticking) tick() {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.server.FastForward(now.Sub(n.last))
	n.last = now
}

// simulated is the simulator's node, on the time of this machine.
func simulated(t testing.TB) redlock.Node {
	return &simNode{name: fmt.Sprint("sim ", serial.Add(1)), store: node.New(node.Config{}), begin: time.Now()}
}

type simNode struct {
	name  string
	begin time.Time
	mu    sync.Mutex
	store node.Store
}

func (n *simNode) Name() string { return n.name }

func (n *simNode) Do(reqs []*redlock.Request, replies []redlock.Reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, r := range reqs {
		at := int64(time.Since(n.begin))
		n.store.Do(at, n.begin.UnixNano()+at, r, &replies[i])
	}
}
