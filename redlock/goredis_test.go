package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"driftlock/internal/servers"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

var bg = context.Background()

// do asks a node as a transport would: one batch.
func do(n Node, reqs ...*Request) []Reply {
	rs := slices.Repeat([]Reply{{Err: ErrNoAnswer}}, len(reqs))
	n.Do(reqs, rs)
	return rs
}

func ask(key, name string, ttl time.Duration) *Request {
	r := laneRequest(name, ttl)
	r.Key = key
	return r
}

func fenceOf(n uint64, r *Request) *Request { r.Fence = n; return r }

// A Redis node is the same over each kind of server and each kind of client.
func TestRedisNode(t *testing.T) {
	t.Parallel()
	f := func(t *testing.T, c redis.UniversalClient) {
		t.Run("answers", func(t *testing.T) { nodeAnswers(t, c) })
		t.Run("fencing", func(t *testing.T) { nodeFences(t, c) })
		t.Run("refused by itself", func(t *testing.T) { nodeRefusedByItself(t, c) })
	}
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		f(t, clientOf(t, miniredis.RunT(t).Addr()))
	})
	for _, kind := range redisKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			t.Run("client", func(t *testing.T) {
				t.Parallel()
				f(t, startServers(t, kind, 1)[0].client())
			})
			t.Run("tight", func(t *testing.T) {
				t.Parallel()
				f(t, startServers(t, kind, 1)[0].client(func(o *redis.Options) {
					o.MaxRetries, o.ReadTimeout, o.WriteTimeout, o.ContextTimeoutEnabled, o.Protocol = -1, time.Second, time.Second, true, 2
				}))
			})
			t.Run("cluster", func(t *testing.T) {
				t.Parallel()
				f(t, startServers(t, kind, 1, "--cluster-enabled", "yes")[0].oneNodeCluster())
			})
			t.Run("ring", func(t *testing.T) {
				t.Parallel()
				ss := startServers(t, kind, 2)
				ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": ss[0].Addr, "b": ss[1].Addr}})
				t.Cleanup(func() { ring.Close() })
				f(t, ring)
			})
		})
	}
}

// A node says what it did, alone and in a batch, and says the same on every server.
func nodeAnswers(t *testing.T, c redis.UniversalClient) {
	n := RedisNode(c)
	const ttl = 100 * time.Second
	steps := []struct {
		name string
		ttl  time.Duration
		want Status
		pttl time.Duration // at least; 0: no key
	}{
		{"-a", ttl, Gone, 0},
		{"~a", ttl, Gone, 0},
		{"+a", ttl, Done, 90 * time.Second},
		{"+b", ttl, Others, 90 * time.Second},
		{"~b", ttl, Others, 90 * time.Second},
		{"-b", ttl, Others, 90 * time.Second},
		{"~a", 2 * ttl, Done, 190 * time.Second},
		{"~a", ttl, Done, 190 * time.Second}, // never shortens, and is held all the same
		{"-a", ttl, Done, 0},
		{"-a", ttl, Gone, 0},
		{"+b", ttl, Done, 90 * time.Second},
		{"-b", ttl, Done, 0},
	}
	for i, s := range steps {
		r := do(n, ask("alone", s.name, s.ttl))[0]
		pttl := max(0, c.PTTL(bg, "alone").Val())
		if r.Err != nil || r.Status != s.want || (s.pttl == 0) != (pttl == 0) || pttl < s.pttl {
			t.Errorf("step %d, %s: %v %v and the key lives %v; want %v and %v", i, s.name, r.Status, r.Err, pttl, s.want, s.pttl)
		}
	}
	for range 2 {
		var reqs []*Request
		for _, s := range steps {
			reqs = append(reqs, ask("batch", s.name, s.ttl))
		}
		for i, r := range do(n, reqs...) {
			lookedLater := steps[i].want == Others && r.Status == Gone // by DELEX, and then the batch went on
			if r.Err != nil || r.Status != steps[i].want && !lookedLater {
				t.Errorf("batch, step %d, %s: %v %v; want %v", i, steps[i].name, r.Status, r.Err, steps[i].want)
			}
		}
	}
	if keys := c.Exists(bg, "alone").Val() + c.Exists(bg, "batch").Val(); keys != 0 {
		t.Errorf("%d keys left", keys)
	}
	var acquires, releases []*Request // on as many shards or slots as there are
	for i := range 10 {
		key := fmt.Sprint("spread", i)
		acquires, releases = append(acquires, ask(key, "+a", ttl)), append(releases, ask(key, "-a", ttl))
	}
	for _, r := range append(do(n, acquires...), do(n, releases...)...) {
		if r.Status != Done {
			t.Errorf("many keys: %v", r)
		}
	}
	// Key and owner are any bytes.
	odd := &Request{Op: OpAcquire, Key: "{a}\r\n \x00ü", Owner: "\r\n\x00", TTL: time.Minute}
	if r := do(n, odd)[0]; r.Status != Done {
		t.Error(r)
	}
	if v := c.Get(bg, odd.Key).Val(); v != odd.Owner {
		t.Errorf("the key holds %q", v)
	}
}

func nodeFences(t *testing.T, c redis.UniversalClient) {
	n := RedisNode(c)
	const most = "18446744073709551615"
	for i, s := range []struct {
		name  string
		fence uint64
		want  Status
		holds string
	}{
		{"+a", 7, Done, "7"},
		{"+a", 8, Ours, "7"},
		{"+b", 9, Others, "7"},
		{"-a", 0, Done, "0"},
		{"+b", 7, Gone, "7"}, // free, but the number is not above
		{"+b", 6, Gone, "7"},
		{"+b", 10, Done, "10"}, // longer, though "10" sorts before "7"
		{"-b", 0, Done, "0"},
		{"+c", 9007199254740993, Done, "9007199254740993"}, // 2⁵³ + 1
		{"-c", 0, Done, "0"},
		{"+d", 9007199254740992, Gone, "9007199254740993"},
		{"+d", 1<<64 - 1, Done, most},
		{"+e", 0, Others, "0"}, // without fencing
		{"-d", 0, Done, "0"},
	} {
		r := do(n, fenceOf(s.fence, ask("k", s.name, time.Minute)))[0]
		if r.Err != nil || r.Status != s.want || strconv.FormatUint(r.Fence, 10) != s.holds {
			t.Errorf("step %d, %s with %d: %v %v, number %d; want %v and %s", i, s.name, s.fence, r.Status, r.Err, r.Fence, s.want, s.holds)
		}
	}
	if pttl := c.PTTL(bg, FenceKey("k")).Val(); pttl != -1 {
		t.Errorf("the number lives for %v, want for ever", pttl)
	}
	if v := c.Get(bg, FenceKey("k")).Val(); v != most {
		t.Errorf("the number is %s", v)
	}
}

func TestFenceKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"orders":    "{orders}:fence",
		"{tag}rest": "{tag}rest:fence",
		"a{b}c{d}":  "a{b}c{d}:fence",
		"{}x":       "{{}x}:fence",
		"a{b":       "{a{b}:fence",
	} {
		if got := FenceKey(key); got != want {
			t.Errorf("FenceKey(%q) = %q, want %q", key, got, want)
		}
	}
}

// countCommands tells which commands a client sends.
type countCommands map[string]int

func (countCommands) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c countCommands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}
func (c countCommands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.count(cmd)
		}
		return next(ctx, cmds)
	}
}

func (c countCommands) count(cmd redis.Cmder) {
	if name := cmd.Name(); name != "hello" && name != "client" { // new connections
		c[name]++
	}
}

func (c countCommands) String() string {
	var names []string
	for name, n := range c {
		names = append(names, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// The way to release is found out once, in the round trip of the first batch.
func TestRedisNodeFindsItsWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind         servers.Kind
		first, later string
	}{
		{servers.Redis, "delex 1, delifeq 1, set 1", "eval 1, evalsha 5, set 4"},
		{servers.NewerRedis, "delex 1, delifeq 1, set 1", "delex 5, set 4"},
		{servers.NewerValkey, "delex 1, delifeq 1, set 1", "delifeq 5, set 4"},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			client := startServers(t, c.kind, 1)[0].client()
			count := countCommands{}
			client.AddHook(count)
			n := RedisNode(client)
			do(n, ask("k", "+a", time.Minute))
			if count.String() != c.first {
				t.Errorf("the first batch sent %s; want %s", count, c.first)
			}
			clear(count)
			for range 4 {
				do(n, ask("k", "-a", time.Minute))
				do(n, ask("k", "+a", time.Minute))
			}
			do(n, ask("k", "-a", time.Minute))
			if count.String() != c.later {
				t.Errorf("then it sent %s; want %s", count, c.later)
			}
			if v := client.Get(bg, "k").Val(); v != "" {
				t.Errorf("%q is left", v)
			}
		})
	}
}

// Scripts flushed and a server exchanged for an older one cost a round trip, no more.
func TestRedisNodeLosesItsWay(t *testing.T) {
	t.Parallel()
	client := startServers(t, servers.Redis, 1)[0].client()
	n := RedisNode(client).(*redisNode)
	for _, deleter := range []way{byScript, byDelex, byDelifeq} {
		n.deleter.Store(uint32(deleter))
		for range 2 {
			client.ScriptFlush(bg)
			rs := do(n, ask("k", "+a", time.Minute), ask("k", "~a", time.Minute), ask("other", "~b", time.Minute), ask("k", "-a", time.Minute))
			for i, want := range []Status{Done, Done, Gone, Done} {
				if rs[i].Status != want || rs[i].Err != nil {
					t.Errorf("releasing by %d, request %d: %v", deleter, i, rs[i])
				}
			}
		}
		if way(n.deleter.Load()) != byScript {
			t.Errorf("releases by %d on a server that has scripts only", n.deleter.Load())
		}
	}
}

func TestRedisNodeWithoutPermission(t *testing.T) {
	for _, kind := range redisKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := startServers(t, kind, 1)[0]
			admin := s.client()
			client := func(rules ...any) *redis.Client {
				t.Helper()
				if err := admin.Do(bg, append([]any{"acl", "setuser", "u", "reset", "on", ">p", "~*"}, rules...)...).Err(); err != nil {
					t.Fatal(err)
				}
				return s.client(func(o *redis.Options) { o.Username, o.Password = "u", "p" })
			}
			cycle := func(n Node, fence uint64) (rs []Reply) {
				return append(rs, do(n, fenceOf(fence, ask("k", "+a", time.Minute)))[0], do(n, ask("k", "~a", time.Minute))[0], do(n, ask("k", "-a", time.Minute))[0])
			}
			least := []any{"+set", "+get", "+del", "+pexpire", "+eval"}
			t.Run("without evalsha", func(t *testing.T) {
				c := client(least...)
				count := countCommands{}
				c.AddHook(count)
				n := RedisNode(c)
				for i := range 3 {
					clear(count)
					for _, r := range cycle(n, uint64(i+1)) {
						if r.Status != Done {
							t.Error(r)
						}
					}
				}
				if count["evalsha"]+count["delex"]+count["delifeq"] != 0 {
					t.Errorf("still asks for what is not permitted: %s", count)
				}
			})
			t.Run("without any script", func(t *testing.T) {
				n := RedisNode(client("+set", "+get", "+del", "+pexpire"))
				for range 2 {
					rs := cycle(n, 0)
					if rs[0].Status != Done {
						t.Error(rs[0])
					}
					for _, r := range rs[1:] {
						if r.Err == nil || !strings.Contains(r.Err.Error(), "neither EVALSHA nor EVAL is permitted: NOPERM") {
							t.Errorf("the error is %v", r.Err)
						}
						var own redis.Error
						if !errors.As(r.Err, &own) || errors.Is(r.Err, ErrNoAnswer) || errors.Is(r.Err, ErrUnsent) {
							t.Errorf("%v is not the server's own error", r.Err)
						}
					}
					admin.Del(bg, "k")
				}
			})
		})
	}
}

// What is not answered says whether it was sent.
func TestRedisNodeErrors(t *testing.T) {
	t.Parallel()
	s := startServers(t, servers.Redis, 1)[0]
	hasty := func(o *redis.Options) {
		o.DialTimeout, o.ReadTimeout, o.PoolTimeout, o.PoolSize = 200*ms, 200*ms, 50*ms, 1
	}
	both := func(t *testing.T, n Node, want, not error) {
		t.Helper()
		for _, reqs := range [][]*Request{{ask("k", "+a", time.Second)}, {ask("k", "+a", time.Second), ask("k", "-b", time.Second)}} {
			for _, r := range do(n, reqs...) {
				if r.Status != Failed || !errors.Is(r.Err, want) || errors.Is(r.Err, not) {
					t.Errorf("%d requests: %v %v; want %v", len(reqs), r.Status, r.Err, want)
				}
			}
		}
	}
	t.Run("nobody listens", func(t *testing.T) {
		dead := startServers(t, servers.Redis, 1)[0]
		dead.kill()
		both(t, RedisNode(dead.client(hasty)), ErrUnsent, ErrNoAnswer)
	})
	t.Run("client closed", func(t *testing.T) {
		c := s.client()
		c.Close()
		both(t, RedisNode(c), ErrUnsent, ErrNoAnswer)
	})
	t.Run("no connection free", func(t *testing.T) {
		c := s.client(hasty)
		conn := c.Conn()
		defer conn.Close()
		conn.Ping(bg)
		n := RedisNode(c).(*redisNode)
		n.deleter.Store(uint32(byScript)) // no probe: pipelines have connections of their own
		if r := do(n, ask("k", "+a", time.Second))[0]; !errors.Is(r.Err, ErrUnsent) {
			t.Error(r)
		}
	})
	t.Run("silent", func(t *testing.T) {
		c := s.client(hasty)
		c.Ping(bg)
		s.pause()
		defer s.resume()
		both(t, RedisNode(c), ErrNoAnswer, ErrUnsent)
	})
	t.Run("server's own", func(t *testing.T) {
		for _, c := range []struct{ config, value, text string }{
			{"maxmemory", "1", "OOM "},
			{"min-replicas-to-write", "1", "NOREPLICAS "},
		} {
			client := s.client()
			old := client.ConfigGet(bg, c.config).Val()[c.config]
			client.ConfigSet(bg, c.config, c.value)
			r := do(RedisNode(client), ask("k", "+a", time.Second))[0]
			if !redis.HasErrorPrefix(r.Err, strings.TrimSpace(c.text)) || errors.Is(r.Err, ErrNoAnswer) {
				t.Errorf("%s: %v", c.text, r.Err)
			}
			client.ConfigSet(bg, c.config, old)
		}
		client := s.client()
		client.RPush(bg, "list", "x")
		rs := do(RedisNode(client), ask("list", "+a", time.Second), ask("list", "-a", time.Second))
		if rs[0].Status != Others || !redis.HasErrorPrefix(rs[1].Err, "WRONGTYPE") {
			t.Errorf("a key of another type: %v", rs)
		}
	})
}

// A resend is a hook that sends each command twice, as a client library does that
// got no answer the first time.
type resend struct{ redis.Hook }

func (resend) DialHook(next redis.DialHook) redis.DialHook { return next }
func (resend) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		next(ctx, cmd)
		if cmd.NoRetry() { // is asked after a failed attempt
			return next(ctx, cmd)
		}
		return nil
	}
}
func (resend) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// redis/go-redis#2985: SetNX false for a key that was new.
func nodeRefusedByItself(t *testing.T, c redis.UniversalClient) {
	n := RedisNode(c)
	do(n, ask("first", "+a", time.Minute)) // no probe after it
	c.AddHook(resend{})
	if r := do(n, ask("resent", "+a", time.Minute))[0]; r.Status != Ours || r.Err != nil {
		t.Errorf("%v; want ours", r)
	}
	if r := do(n, ask("resent", "+b", time.Minute))[0]; r.Status != Others || r.Err != nil {
		t.Errorf("%v; want another's", r)
	}
	if r := do(n, ask("resent", "-a", time.Minute))[0]; r.Status != Failed || !errors.Is(r.Err, errSentTwice) {
		t.Errorf("a release that was sent twice: %v", r)
	}
	if c.Exists(bg, "resent").Val() != 0 {
		t.Error("it is not released")
	}
}

func TestRedisNodeName(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"x": "127.0.0.1:2", "y": "127.0.0.1:1"}})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:3", "127.0.0.1:4"}})
	defer ring.Close()
	defer cluster.Close()
	for want, c := range map[string]redis.UniversalClient{
		"127.0.0.1:9":             clientOf(t, "127.0.0.1:9"),
		"127.0.0.1:1,127.0.0.1:2": ring,
		"127.0.0.1:3,127.0.0.1:4": cluster,
		"redlock.wrapper":         wrapper{ring},
	} {
		if got := RedisNode(c).Name(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

type wrapper struct{ redis.UniversalClient }

// Several releases of a batch go as one script, and are told apart all the same.
func TestRedisNodeReleasesInBulk(t *testing.T) {
	t.Parallel()
	batch := func() []*Request {
		return []*Request{
			ask("a1", "-a", time.Minute), // held
			ask("b1", "-a", time.Minute), // another's
			ask("a2", "~a", time.Minute),
			ask("c1", "+x", time.Minute), // held by c until later in this batch, or before
			ask("a2", "-a", time.Minute), // after its extend
			ask("list", "-a", time.Minute),
			ask("none", "-a", time.Minute),
			ask("c1", "-c", time.Minute),
		}
	}
	prepare := func(t *testing.T, c *redis.Client) {
		t.Helper()
		c.FlushDB(bg)
		for key, owner := range map[string]string{"a1": "a", "a2": "a", "b1": "b", "c1": "c"} {
			if err := c.Set(bg, key, owner, time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
		}
		c.RPush(bg, "list", "x")
	}
	check := func(t *testing.T, rs []Reply) {
		t.Helper()
		for i, want := range []Status{Done, Others, Done, 0, Done, Failed, Gone, Done} {
			if i != 3 && rs[i].Status != want || (rs[i].Err != nil) != (i == 5) {
				t.Errorf("request %d: %v, want status %d", i, rs[i], want)
			}
		}
		if !redis.HasErrorPrefix(rs[5].Err, "WRONGTYPE") {
			t.Error(rs[5])
		}
	}
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		c := startServers(t, servers.Redis, 1)[0].client()
		n := RedisNode(c)
		do(n, ask("first", "+a", time.Minute)) // no probe after it
		count := countCommands{}
		c.AddHook(count)
		for range 2 {
			prepare(t, c)
			clear(count)
			check(t, do(n, batch()...))
		}
		if want := "evalsha 4, set 1"; count.String() != want { // bulk, the extend and its release, the key of another type
			t.Errorf("sent %s, want %s", count, want)
		}
		if c.Exists(bg, "a1", "a2").Val() != 0 || c.Get(bg, "b1").Val() != "b" {
			t.Error("not what the answers said")
		}
	})
	t.Run("cluster", func(t *testing.T) { // a plain client of a server that wants keys of one slot
		t.Parallel()
		s := startServers(t, servers.Redis, 1, "--cluster-enabled", "yes")[0]
		s.oneNodeCluster()
		c := s.client()
		n := RedisNode(c).(*redisNode)
		for range 2 {
			prepare(t, c)
			check(t, do(n, batch()...))
			if !n.noBulk.Load() {
				t.Error("goes on in bulk")
			}
		}
	})
	t.Run("one key twice", func(t *testing.T) {
		t.Parallel()
		c := startServers(t, servers.Redis, 1)[0].client()
		n := RedisNode(c).(*redisNode)
		n.deleter.Store(uint32(byScript)) // no probe
		prepare(t, c)
		rs := do(n, ask("a1", "-x", time.Minute), ask("a1", "-a", time.Minute), ask("a1", "-a", time.Minute), ask("a1", "-x", time.Minute))
		for i, want := range []Status{Others, Done, Gone, Gone} {
			if rs[i].Status != want {
				t.Errorf("request %d: %v, want status %d", i, rs[i], want)
			}
		}
	})
	t.Run("without mget", func(t *testing.T) {
		t.Parallel()
		s := startServers(t, servers.Redis, 1)[0]
		admin := s.client()
		admin.Do(bg, "acl", "setuser", "u", "on", ">p", "~*", "+set", "+get", "+del", "+pexpire", "+eval", "+evalsha")
		c := s.client(func(o *redis.Options) { o.Username, o.Password = "u", "p" })
		n := RedisNode(c).(*redisNode)
		for range 2 {
			prepare(t, admin)
			check(t, do(n, batch()...))
			if !n.noBulk.Load() {
				t.Error("goes on in bulk")
			}
		}
	})
	t.Run("one key not permitted", func(t *testing.T) {
		t.Parallel()
		s := startServers(t, servers.Redis, 1)[0]
		admin := s.client()
		prepare(t, admin)
		admin.Do(bg, "acl", "setuser", "u", "on", ">p", "~a*", "+@all")
		n := RedisNode(s.client(func(o *redis.Options) { o.Username, o.Password = "u", "p" }))
		rs := do(n, ask("a1", "-a", time.Minute), ask("b1", "-a", time.Minute), ask("a2", "-a", time.Minute))
		if rs[0].Status != Done || rs[2].Status != Done || rs[1].Err == nil {
			t.Error(rs)
		}
	})
}
