package redlock

import (
	"strings"
	"testing"
	"time"
)

// TestAlias: what a server answers that is two nodes of a lock. The second is refused
// a key that the first has set, unless it has to tell a fence number: then it sees that
// the key is its owner's. It extends what the first has, and finds it gone when the first
// has deleted it.
func TestAlias(t *testing.T) {
	for _, kind := range redisKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := startServers(t, kind, 1)[0]
			one := RedisNode(s.client())
			two := RedisNode(clientOf(t, strings.Replace(s.Addr, "127.0.0.1", "localhost", 1)))
			for _, c := range []struct {
				what   string
				fence  uint64
				first  Status
				second Status
			}{
				{"+a", 0, Done, Others},
				{"~a", 0, Done, Done},
				{"-a", 0, Done, Gone},
				{"+a", 1, Done, Ours},
				{"-a", 0, Done, Gone},
			} {
				req := ask("k", c.what, time.Minute)
				req.Fence = c.fence
				if x, y := do(one, req)[0], do(two, req)[0]; x.Status != c.first || y.Status != c.second || x.Err != nil || y.Err != nil {
					t.Errorf("%s, fence number %d: %v and %v, want %v and %v", c.what, c.fence, x, y, c.first, c.second)
				}
			}
		})
	}
}
