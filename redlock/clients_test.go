package redlock

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"driftlock/internal/servers"

	"github.com/redis/go-redis/v9"
)

// The lock over any client that go-redis has, however it is set up: it excludes, it tells
// the truth about a release, and it leaves nothing behind.
func TestRealOddClients(t *testing.T) {
	t.Parallel()
	servers := startServers(t, servers.Redis, 3)
	plain := func(f func(*redis.Options)) func(t *testing.T, s *server) redis.UniversalClient {
		return func(t *testing.T, s *server) redis.UniversalClient { return clientOf(t, s.Addr, f) }
	}
	ringOf := func(t *testing.T, addrs map[string]string) redis.UniversalClient {
		r := redis.NewRing(&redis.RingOptions{Addrs: addrs})
		t.Cleanup(func() { r.Close() })
		return r
	}
	piper := func(t *testing.T, make func() (*redis.AutoPipeliner, error)) redis.UniversalClient {
		p, err := make()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	for _, c := range []struct {
		name string
		open func(t *testing.T, s *server) redis.UniversalClient
	}{
		{"no timeouts", plain(func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout, o.MaxRetries = -1, -1, -1 })},
		{"no deadlines", plain(func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -2, -2 })},
		{"many retries", plain(func(o *redis.Options) { o.MaxRetries, o.MinRetryBackoff = 20, -1 })},
		{"one connection", plain(func(o *redis.Options) { o.PoolSize = 1 })},
		{"context timeouts, RESP2", plain(func(o *redis.Options) { o.ContextTimeoutEnabled, o.Protocol = true, 2 })},
		{"stack of connections", plain(func(o *redis.Options) { o.PoolFIFO, o.MaxIdleConns, o.ConnMaxLifetime = true, 1, ms })},
		{"ring of one", func(t *testing.T, s *server) redis.UniversalClient { return ringOf(t, map[string]string{"a": s.Addr}) }},
		{"wrapper", func(t *testing.T, s *server) redis.UniversalClient { return wrapper{s.client()} }},
		{"universal", func(t *testing.T, s *server) redis.UniversalClient {
			u := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{s.Addr}})
			t.Cleanup(func() { u.Close() })
			return u
		}},
		{"auto pipeline", func(t *testing.T, s *server) redis.UniversalClient { return piper(t, s.client().AutoPipeline) }},
		{"async auto pipeline", func(t *testing.T, s *server) redis.UniversalClient { return piper(t, s.client().AsyncAutoPipeline) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var locks []*Lock
			for _, s := range servers {
				locks = append(locks, NewLock(c.open(t, s)))
			}
			l := NewDistributedLock(locks, WithNodeTimeout(5*time.Second), WithRetry(Every(ms)))
			if err := l.Err(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			var mu sync.Mutex // held by who holds the lock: never contended
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 10 {
						tok, err := l.Acquire(bg, c.name, realTTL)
						if err != nil {
							t.Error(err)
							return
						}
						if !mu.TryLock() {
							t.Error("two holders")
							return
						}
						if err := l.Extend(bg, c.name, tok, 2*realTTL); err != nil {
							t.Error("extend:", err)
						}
						mu.Unlock()
						if err := l.Release(bg, c.name, tok); err != nil {
							t.Error("release:", err)
						}
					}
				})
			}
			wg.Wait()
			// What a holder does not have any more it is told.
			gone := fmt.Sprint(c.name, " gone")
			tok, err := l.Acquire(bg, gone, realTTL)
			if err != nil {
				t.Fatal(err)
			}
			nodes := func(each func(*redis.Client)) {
				for _, s := range servers {
					each(s.client())
				}
			}
			eventually(t, 5*time.Second, "all hold it", func() bool {
				n := 0
				nodes(func(d *redis.Client) { n += int(d.Exists(bg, gone).Val()) })
				return n == len(servers)
			})
			nodes(func(d *redis.Client) { d.Del(bg, gone) })
			if err := l.Release(bg, gone, tok); !errors.Is(err, ErrLockNotHeld) {
				t.Errorf("release of what is gone: %v", err)
			}
			eventually(t, 5*time.Second, "no key left", func() bool {
				n := 0
				nodes(func(d *redis.Client) { n += int(d.Exists(bg, c.name, gone).Val()) })
				return n == 0
			})
		})
	}
}

// AutoPipeliner asks each command whether it may be sent again before it sends it, if it
// has several: that is no sign that it has.
func TestRedisNodeOverAutoPipeliner(t *testing.T) {
	t.Parallel()
	p, err := startServers(t, servers.Redis, 1)[0].client().AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	n := RedisNode(p) // of several locks
	do(n, ask("first", "-a", time.Minute))
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for range 10 {
				if r := do(n, ask(fmt.Sprint(i), "-a", time.Minute))[0]; r.Status != Gone {
					t.Error(r)
				}
			}
		})
	}
	wg.Wait()
}
