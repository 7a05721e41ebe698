package simredis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/internal/servers"
	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/network"
	"driftlock/sim/simredis"
	"driftlock/sim/simtest"

	"github.com/redis/go-redis/v9"
)

// plain is a scenario of nodes A, B, … and one client, without faults.
func plain(nodes int) sim.Scenario {
	sc := sim.Scenario{Version: sim.Version, Name: "plain", Until: clock.Duration(time.Minute), Lock: sim.Lock{
		TTL: clock.Duration(10 * time.Second), Factor: "0.01", Buffer: clock.Duration(2 * time.Millisecond),
		NodeTimeout: clock.Duration(50 * time.Millisecond), GiveUp: clock.Duration(5 * time.Second), Retry: sim.Retry{Tries: 1},
	}}
	for i := range nodes {
		sc.Nodes = append(sc.Nodes, sim.Node{Name: string(rune('A' + i))})
	}
	sc.Clients = []sim.Client{{Name: "c1"}}
	d := network.Path{Delay: network.Delay{Min: clock.Duration(time.Millisecond)}}
	sc.Network = network.Config{Request: d, Reply: d}
	return sc
}

func run(t *testing.T, sc sim.Scenario, w sim.Workload) *sim.History {
	t.Helper()
	h, err := sim.Run(sc, simtest.InBubble(t), sim.Do(w))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// commands are asked one after the other; + stands for a space.
var commands = []struct{ do, want string }{
	{"ping", "PONG"}, {"echo x", "x"},
	{"get k", "<nil>"}, {"set k v", "OK"}, {"get k", "v"}, {"set k w nx", "<nil>"}, {"set k w xx get", "v"}, {"get k", "w"},
	{"set n v px 0", "ERR invalid expire time in 'set' command"}, {"set n v px x", "ERR value is not an integer or out of range"},
	{"set n v nx xx", "ERR syntax error"}, {"set n v px 100000 nx", "OK"}, {"pttl n", "99998"}, {"set n v2 keepttl", "OK"}, {"get n", "v2"},
	{"pttl n", "99992"}, {"ttl k", "-1"}, {"ttl none", "-2"}, {"exists k n none k", "3"}, {"strlen k", "1"}, {"getrange k 0 -1", "w"}, {"getrange k 1 5", ""}, {"getrange k -9 0", "w"}, {"getrange k -1 -2", ""}, {"append k xy", "3"}, {"get k", "wxy"},
	{"expire k 10", "1"}, {"ttl k", "10"}, {"persist k", "1"}, {"ttl k", "-1"}, {"pexpire k 0", "1"}, {"get k", "<nil>"},
	{"incr i", "1"}, {"incrby i 5", "6"}, {"decr i", "5"}, {"incr n", "ERR value is not an integer or out of range"},
	{"mset a 1 b 2", "OK"}, {"mget a b c", "[1 2 <nil>]"}, {"del a b c", "2"}, {"setnx a 1", "1"}, {"setnx a 2", "0"}, {"getset a 3", "1"}, {"getdel a", "3"},
	{"setex a 5 v", "OK"}, {"psetex a 0 v", "ERR invalid expire time in 'psetex' command"}, {"type a", "string"},
	{"nosuch l a b", "ERR unknown command 'nosuch', with args beginning with: 'l' 'a' 'b' "},
	{"get", "ERR wrong number of arguments for 'get' command"}, {"client wrong", "ERR unknown subcommand 'wrong'. Try CLIENT HELP."},
	{"exec", "ERR EXEC without MULTI"},
	{"eval return+redis.call('get',KEYS[1]) 1 n", "v2"}, {"eval return+{1,'a',{2},false,3} 0", "[1 a [2] <nil> 3]"},
	{"eval return+redis.error_reply('MY+err') 0", "MY err"}, {"eval return+redis.status_reply('fine') 0", "fine"},
	{"eval return+redis.call('nope') 0", "ERR Unknown Redis command called from script"},
	{"eval return+redis.pcall('incr',KEYS[1]).err 1 n", "ERR value is not an integer or out of range"},
	{"eval return+ARGV[1] 0 x", "x"}, {"eval x 0 x", "ERR Error compiling script (new function)"},
	{"eval return+1 2 k", "ERR Number of keys can't be greater than number of args"},
	{"evalsha 0123 0", "NOSCRIPT No matching script. Please use EVAL."}, {"script load return+7", "59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9"},
}

// answers are what a client hears.
func answers(ctx context.Context, c *redis.Client) (list []string) {
	for _, r := range commands {
		var args []any
		for _, a := range strings.Split(r.do, " ") {
			args = append(args, strings.ReplaceAll(a, "+", " "))
		}
		v, err := c.Do(ctx, args...).Result()
		got := fmt.Sprint(v)
		if err != nil && err != redis.Nil {
			got = err.Error()
		}
		list = append(list, got)
	}
	return list
}

// TestCommands: what the node answers. A colon and what comes after it is not looked at:
// scripts are compiled by another Lua.
func TestCommands(t *testing.T) {
	run(t, plain(1), func(p *sim.Process) {
		c := simredis.Client(p, "A")
		defer c.Close()
		compare(t, answers(p.Context(), c))
	})
}

// TestCommandsOfRedis: and a real server answers the same.
func TestCommandsOfRedis(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: servers.New(t, servers.Redis).Addr, Protocol: 2, MaxRetries: -1})
	defer c.Close()
	compare(t, answers(context.Background(), c))
}

func compare(t *testing.T, got []string) {
	t.Helper()
	for i, r := range commands {
		head, _, _ := strings.Cut(got[i], ":")
		head, _, _ = strings.Cut(head, " script: ")
		head = strings.TrimSuffix(head, " script")
		if strings.HasPrefix(r.do, "pttl") && got[i] != "-1" {
			continue // time passes
		}
		if head != r.want && got[i] != r.want {
			t.Errorf("%s: %s, want %s", r.do, got[i], r.want)
		}
	}
}

// TestLockOverGoRedis: the lock as it is shipped, transport, go-redis and all, against
// nodes that speak Redis. What it holds in the world is told by its Witness.
func TestLockOverGoRedis(t *testing.T) {
	work := func(p *sim.Process) {
		var nodes []redlock.Node
		for _, c := range simredis.Clients(p) {
			defer c.Close()
			nodes = append(nodes, redlock.RedisNode(c))
		}
		inner, err := redlock.New(nodes, redlock.WithClock(p.Clock()), redlock.WithRand(func() uint64 { return uint64(p.Rand("owner", 1<<62)) }),
			redlock.WithClockDriftFactor(0.02), redlock.WithRetry(redlock.Between(5*time.Millisecond, 50*time.Millisecond)))
		if err != nil {
			t.Error(err)
			return
		}
		defer inner.Close()
		l := p.Witness(inner)
		for range 3 {
			token, err := l.Acquire(p.Context(), "k", time.Second)
			if err != nil {
				return
			}
			p.Sleep(token.Remaining() / 4)
			if err := l.Release(p.Context(), "k", token); err != nil && p.Context().Err() == nil {
				p.Logf("release: %v", err)
			}
		}
	}
	r, again := sim.NewRunner(simtest.InBubble(t), sim.Do(work)), sim.NewRunner(simtest.InBubble(t), sim.Do(work))
	defer r.Close()
	defer again.Close()
	leases := 0
	for seed := range uint64(20) {
		sc := sim.Reference(seed)
		h, err := r.Run(sc)
		if err != nil {
			t.Fatal(err)
		}
		v := r.Check()
		if leases += len(v.Leases); !v.OK() {
			t.Errorf("seed %d: %v", seed, v.Err())
		}
		if h2, err := again.Run(sc); err != nil || h.Hash() != h2.Hash() {
			step, _ := sim.FirstDifference(h, h2)
			t.Errorf("seed %d: another run differs at step %d (%v):\n%+v\n%+v", seed, step, err, h.Event(step), h2.Event(step))
		}
	}
	if leases < 100 {
		t.Errorf("%d leases", leases)
	}
}

// TestConnections: what a client finds on a network that fails, at the time at which
// its own timeouts say.
func TestConnections(t *testing.T) {
	sc := plain(1)
	sc.Faults = []sim.Fault{{Kind: "crash", On: "A", At: clock.Duration(time.Second), For: clock.Duration(time.Second), Refuse: true}}
	sc.Network.Rules = []network.Rule{{From: "A", To: "c1", Nth: 2, Drop: true}}
	var log []string
	say := func(p *sim.Process, begin time.Time, what string, err error) {
		log = append(log, fmt.Sprint(what, " after ", time.Since(begin), ": ", err))
	}
	run(t, sc, func(p *sim.Process) {
		once := simredis.Options(p, "A")
		once.MaxRetries, once.ReadTimeout = -1, 300*time.Millisecond
		c := redis.NewClient(once)
		defer c.Close()
		begin := time.Now()
		say(p, begin, "set", c.SetNX(p.Context(), "k", "v", 10*time.Second).Err())
		say(p, begin, "lost reply", c.Get(p.Context(), "k").Err())
		retries := simredis.Options(p, "A")
		retries.ReadTimeout = 300 * time.Millisecond
		again := redis.NewClient(retries)
		defer again.Close()
		time.Sleep(time.Until(begin.Add(1100 * time.Millisecond)))
		say(p, begin, "down", c.Get(p.Context(), "k").Err())
		time.Sleep(time.Until(begin.Add(2100 * time.Millisecond)))
		say(p, begin, "up again", again.Get(p.Context(), "k").Err())
	})
	want := []string{"set after 8ms: <nil>", "lost reply after 308ms: ", "down after 1.51s: dial tcp", "up again after 2.108s: redis: nil"}
	for i, w := range want {
		if i >= len(log) || !strings.HasPrefix(log[i], w) {
			t.Errorf("line %d:\n%s\nwant %q", i, strings.Join(log, "\n"), w)
		}
	}
}

// TestScriptsSeeNoAddress: what a script may write of a table or a function is the
// same in every run.
func TestScriptsSeeNoAddress(t *testing.T) {
	t.Parallel()
	run(t, plain(1), func(p *sim.Process) {
		c := simredis.Client(p, "A")
		for script, want := range map[string]string{
			"return tostring({})":         "table: 0x0",
			"return tostring(redis.call)": "function: 0x0",
			"return tostring(1)..tostring('a')..tostring(nil)..tostring(true)":               "1aniltrue",
			"return tostring(setmetatable({}, {__tostring = function() return 'mine' end}))": "mine",
			"return string.format('%s %d', 'a', 5)":                                          "a 5",
			"return string.format('%s', {})":                                                 "bad argument #2 to 'format' (string expected, got table)",
			"return ('%p'):format(redis.call)":                                               "bad argument #2 to 'format' (string expected, got function)",
			"error(redis.call)":                                                              "function: 0x0",
		} {
			got, err := c.Eval(p.Context(), script, nil).Text()
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", script, got, want)
			}
		}
	})
}
