package redlock

import (
	"errors"
	"strings"
	"testing"
	"time"

	"driftlock/internal/servers"

	"github.com/redis/go-redis/v9"
)

// A server under two names is found out and counts once.
func TestRunIDCheck(t *testing.T) {
	t.Parallel()
	ss := startServers(t, servers.Redis, 2)
	alias := strings.Replace(ss[1].Addr, "127.0.0.1", "localhost", 1)
	locks := []*Lock{NewLock(ss[0].client()), NewLock(ss[1].client()), NewLock(clientOf(t, alias))}

	l := NewDistributedLock(locks, WithRunIDCheck())
	defer l.Close()
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var aliased int
		var text string
		for r := range l.transport.Broadcast(bg, *ask("k", "+a", time.Minute), time.Second) {
			if errors.Is(r.Err, ErrBadArgument) {
				aliased, text = aliased+1, r.Err.Error()
			} else if r.Err != nil || r.Status == Failed {
				t.Errorf("node %d: %v", r.Node, r)
			}
		}
		if aliased != 1 || !strings.Contains(text, "the same server, run_id") {
			t.Errorf("%d nodes found to be another (%s), want 1", aliased, text)
		}
		for range l.transport.Broadcast(bg, *ask("k", "-a", time.Minute), time.Second) {
		}
	}
	tok, err := l.Acquire(bg, "k", 10*time.Second) // two of three are a quorum
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(bg, "k", tok); err != nil {
		t.Error(err)
	}

	unchecked := NewDistributedLock(locks)
	defer unchecked.Close()
	for r := range unchecked.transport.Broadcast(bg, *ask("k", "+a", time.Minute), time.Second) {
		if r.Err != nil {
			t.Errorf("not asked to check: %v", r.Err)
		}
	}
}

// A server that does not answer who it is is asked again.
func TestRunIDCheckAsksAgain(t *testing.T) {
	t.Parallel()
	s := startServers(t, servers.Redis, 1)[0]
	c := s.client(func(o *redis.Options) { o.DialerRetries = 1 })
	n := checked([]Node{RedisNode(c)})[0]
	if n.Name() != s.Addr {
		t.Error(n.Name())
	}
	s.kill()
	if r := do(n, ask("k", "+a", time.Minute))[0]; !errors.Is(r.Err, ErrUnsent) {
		t.Error(r)
	}
	s.start()
	if r := do(n, ask("k", "+a", time.Minute))[0]; r.Status != Done {
		t.Error(r)
	}
}
