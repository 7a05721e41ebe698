package redlock_test

import (
	"strings"
	"testing"
	"time"

	"driftlock/redlock"

	"github.com/redis/go-redis/v9"
)

// A namedNode is a store that nobody asks.
type namedNode struct{ name string }

func (n namedNode) Name() string                         { return n.name }
func (namedNode) Do([]*redlock.Request, []redlock.Reply) {}

type funcNode struct {
	namedNode
	_ func() // so that it is not comparable
}

type wrapped struct{ redis.UniversalClient }

func clientAt(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { c.Close() })
	return c
}

// Rule 11, and go-redsync/redsync#190 (a racy shuffle put one pool twice in the
// list): one server is one node.
func TestNodesAreDistinct(t *testing.T) {
	t.Parallel()
	a, a2, b, c := clientAt(t, "127.0.0.1:1"), clientAt(t, "127.0.0.1:1"), clientAt(t, "127.0.0.1:2"), clientAt(t, "127.0.0.1:3")
	var noClient *redis.Client
	var noNode *namedNode
	for _, c := range []struct {
		name  string
		nodes []redlock.Node
		want  string // "": allowed
	}{
		{"three servers", []redlock.Node{redlock.RedisNode(a), redlock.RedisNode(b), redlock.RedisNode(c)}, ""},
		{"none", nil, "0 nodes: allowed is 1 to 64"},
		{"65", make([]redlock.Node, 65), "65 nodes: allowed is 1 to 64"},
		{"one client twice", []redlock.Node{redlock.RedisNode(a), redlock.RedisNode(b), redlock.RedisNode(a)}, `nodes 0 and 2: the same server "127.0.0.1:1"`},
		{"one address twice", []redlock.Node{redlock.RedisNode(b), redlock.RedisNode(a), redlock.RedisNode(a2)}, `nodes 1 and 2: the same server "127.0.0.1:1"`},
		{"wrapped clients", []redlock.Node{redlock.RedisNode(wrapped{a}), redlock.RedisNode(wrapped{b})}, ""},
		{"one wrapped client twice", []redlock.Node{redlock.RedisNode(wrapped{a}), redlock.RedisNode(wrapped{a})}, "nodes 0 and 1: the same server"},
		{"one value twice", []redlock.Node{namedNode{}, namedNode{}}, "nodes 0 and 1: the same server"},
		{"two pointers", []redlock.Node{&funcNode{}, &funcNode{}}, ""},
		{"no names, not comparable", []redlock.Node{funcNode{}, funcNode{}}, ""},
		{"one name twice", []redlock.Node{funcNode{namedNode: namedNode{"x"}}, &funcNode{namedNode: namedNode{"x"}}}, `the same server "x"`},
		{"nil", []redlock.Node{namedNode{"x"}, nil}, "node 1: nil"},
		{"nil pointer", []redlock.Node{noNode}, "node 0: nil"},
	} {
		l, err := redlock.New(c.nodes)
		if c.want == "" {
			if err != nil || l.Err() != nil {
				t.Errorf("%s: %v, %v", c.name, err, l.Err())
			}
			continue
		}
		wantIs(t, err, redlock.ErrBadArgument)
		if l != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	// The seed's constructors have no error: it is remembered.
	for name, locks := range map[string][]*redlock.Lock{
		"none":               nil,
		"nil lock":           {redlock.NewLock(a), nil},
		"nil client":         {redlock.NewLock(nil)},
		"nil client pointer": {redlock.NewLock(noClient)},
		"zero lock":          {new(redlock.Lock)},
		"one client twice":   {redlock.NewLock(a), redlock.NewLock(a)},
		"one address twice":  {redlock.NewLock(a), redlock.NewLock(a2)},
	} {
		dl := redlock.NewDistributedLock(locks)
		wantIs(t, dl.Err(), redlock.ErrBadArgument)
		_, err := dl.Acquire(bg, "k", time.Second)
		wantIs(t, err, redlock.ErrBadArgument)
		wantIs(t, dl.Release(bg, "k", redlock.Token{}), redlock.ErrBadArgument)
		if t.Failed() {
			t.Fatal(name)
		}
		if err := dl.Close(); err != nil {
			t.Error(err)
		}
	}
	wantIs(t, redlock.NewLock(noClient).Err(), redlock.ErrBadArgument)
	wantIs(t, redlock.NewDistributedLock([]*redlock.Lock{redlock.NewLock(a)}, redlock.WithClockDriftFactor(1)).Err(), redlock.ErrBadArgument)
	// Options of a Lock count when it is used by itself only.
	odd := redlock.NewLock(a, redlock.WithClockDriftFactor(2))
	wantIs(t, odd.Err(), redlock.ErrBadArgument)
	wantIs(t, redlock.NewDistributedLock([]*redlock.Lock{odd, redlock.NewLock(b), redlock.NewLock(c)}).Err(), nil)
}
