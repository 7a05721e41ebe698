package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// One server must not count as two nodes. Addresses show that only as long as it
// has one name; its run_id shows it always, but has to be asked for.

// WithRunIDCheck makes a lock ask each node on first contact which server it is (of
// Redis run_id of INFO, of another what its method RunID says). Of two nodes that are
// one server, the one that was asked later fails every request with ErrBadArgument, so
// that it counts for no quorum; so does a node that does not say, until it does. It
// costs a round trip with the first batch, and of Redis the permission for INFO. Nodes
// that are clusters or rings, or have no such method, are not asked.
func WithRunIDCheck() Option { return func(c *config) { c.runIDs = true } }

// checked returns the nodes with their servers checked on first contact.
func checked(nodes []Node) []Node {
	seen := &runIDs{node: map[string]int{}}
	out := make([]Node, len(nodes))
	for i, n := range nodes {
		if r, ok := n.(runner); ok {
			n = &checkedNode{Node: n, runner: r, index: i, seen: seen}
		}
		out[i] = n
	}
	return out
}

// A runner is a node that can say which server process it is. An empty id says that
// it is none in particular.
type runner interface {
	RunID(ctx context.Context) (string, error)
}

// runIDs is which node was seen first with a run_id.
type runIDs struct {
	mu   sync.Mutex
	node map[string]int
}

// first returns the node that was seen first with id: i if none was.
func (s *runIDs) first(id string, i int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j, ok := s.node[id]; ok {
		return j
	}
	s.node[id] = i
	return i
}

type checkedNode struct {
	Node
	runner runner
	index  int
	seen   *runIDs
	known  bool
	bad    error
}

// Do implements Node.
func (n *checkedNode) Do(reqs []*Request, replies []Reply) {
	if err := n.check(); err != nil {
		for i := range replies {
			replies[i] = Reply{Err: err}
		}
		return
	}
	n.Node.Do(reqs, replies)
}

func (n *checkedNode) check() error {
	if n.known {
		return n.bad
	}
	id, err := n.runner.RunID(context.Background())
	if err != nil {
		return fmt.Errorf("%w: which server is it? %w", ErrUnsent, err)
	}
	n.known = true
	if id == "" {
		return nil
	}
	if first := n.seen.first(id, n.index); first != n.index {
		n.bad = fmt.Errorf("%w: %w", ErrUnsent, badArgument("nodes %d and %d: the same server, run_id %s", first, n.index, id))
	}
	return n.bad
}

var errNoRunID = errors.New("INFO has no run_id")

// RunID asks the server for its run_id. A cluster or a ring has none.
func (n *redisNode) RunID(ctx context.Context) (string, error) {
	switch n.client.(type) {
	case *redis.ClusterClient, *redis.Ring:
		return "", nil
	}
	info, err := n.client.Info(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(info) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "run_id:"); ok {
			return id, nil
		}
	}
	return "", errNoRunID
}
