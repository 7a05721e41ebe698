package locktest_test

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"driftlock/redlock"
	"driftlock/redlock/locktest"
)

// The node that docs/your-own-node.md shows.

// A Store is a node in memory: the smallest that is right.
type Store struct {
	name string
	mu   sync.Mutex
	rows map[string]row
}

type row struct {
	owner   string
	expires time.Time
	fence   uint64 // the highest number accepted; it stays when the key has gone
}

func (s *Store) Name() string { return s.name }

func (s *Store) Do(reqs []*redlock.Request, replies []redlock.Reply) {
	for i, r := range reqs {
		replies[i] = s.one(r)
	}
}

func (s *Store) one(r *redlock.Request) redlock.Reply {
	s.mu.Lock() // compare and write are one step
	defer s.mu.Unlock()
	k, now := s.rows[r.Key], time.Now() // the store's own clock
	held := now.Before(k.expires)
	mine := held && k.owner == r.Owner
	switch {
	case r.Op == redlock.OpAcquire && mine:
		return redlock.Reply{Status: redlock.Ours, Fence: k.fence}
	case held && !mine:
		return redlock.Reply{Status: redlock.Others, Fence: k.fence}
	case r.Op == redlock.OpAcquire && r.Fence > 0 && r.Fence <= k.fence:
		return redlock.Reply{Status: redlock.Gone, Fence: k.fence}
	case r.Op == redlock.OpAcquire:
		k = row{owner: r.Owner, expires: now.Add(r.TTL), fence: max(k.fence, r.Fence)}
	case !held:
		return redlock.Reply{Status: redlock.Gone}
	case r.Op == redlock.OpExtend && now.Add(r.TTL).After(k.expires):
		k.expires = now.Add(r.TTL) // never shorten
	case r.Op == redlock.OpRelease:
		k.expires = time.Time{}
	}
	s.rows[r.Key] = k
	return redlock.Reply{Status: redlock.Done, Fence: k.fence}
}

func TestOwnNode(t *testing.T) {
	t.Parallel()
	locktest.Node(t, func(t testing.TB) redlock.Node { return &Store{name: "mine", rows: map[string]row{}} })
}

func TestOwnLock(t *testing.T) {
	t.Parallel()
	locktest.Lock(t, func(t testing.TB, n int) []redlock.Node {
		var nodes []redlock.Node
		for i := range n {
			nodes = append(nodes, &Store{name: string(rune('A' + i)), rows: map[string]row{}})
		}
		return nodes
	})
}

// The page shows this file's code as it is.
func TestPageShowsTheNode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/your-own-node.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("yourown_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	for _, b := range blocks {
		code, _, _ := strings.Cut(b, "```")
		if !strings.Contains(string(source), code) {
			t.Errorf("the page shows code that is not here:\n%s", code)
		}
	}
	if len(blocks) != 2 {
		t.Errorf("the page shows %d blocks of code", len(blocks))
	}
}
