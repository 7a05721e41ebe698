package redlock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"driftlock/internal/servers"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// The lock over five real servers, and what happens to servers.

// A cast is five servers and a lock over them.
type cast struct {
	t       *testing.T
	servers []*server
	clients []*redis.Client
	lock    *DistributedLock
}

const (
	realTTL     = 30 * time.Second // longer than any test: what expires hides nothing
	nodeTimeout = time.Second      // long beside what a call takes on a busy machine
	prompt      = 800 * ms         // so this is without waiting for a node
)

// newCast starts five servers. Their clients have go-redis' defaults but for options.
func newCast(t *testing.T, options ...func(*redis.Options)) *cast {
	t.Helper()
	return castOver(t, startServers(t, servers.Redis, 5), nil, options...)
}

// castOver makes the lock over servers, through proxies where there are any.
func castOver(t *testing.T, servers []*server, proxies []*proxy, options ...func(*redis.Options)) *cast {
	t.Helper()
	c := &cast{t: t, servers: servers}
	var locks []*Lock
	for i, s := range servers {
		addr := s.Addr
		if i < len(proxies) {
			addr = proxies[i].addr()
		}
		c.clients = append(c.clients, clientOf(t, addr, options...))
		locks = append(locks, NewLock(c.clients[i]))
	}
	c.lock = NewDistributedLock(locks, WithNodeTimeout(nodeTimeout))
	if err := c.lock.Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.lock.Close() })
	return c
}

func (c *cast) acquire(key string) Token {
	c.t.Helper()
	tok, err := c.lock.Acquire(bg, key, realTTL)
	if err != nil {
		c.t.Fatalf("acquire: %v", err)
	}
	return tok
}

// acquireOnAll acquires, and waits until all servers have the key. A hasty client may
// fail to reach one of them where much else runs; then it tries again.
func (c *cast) acquireOnAll(key string) (tok Token) {
	c.t.Helper()
	clients := c.direct()
	eventually(c.t, 10*time.Second, key+" on all servers", func() bool {
		tok = c.acquire(key)
		for range 100 {
			n := 0
			for _, d := range clients {
				n += int(d.Exists(bg, key).Val())
			}
			if n == len(clients) {
				return true
			}
			time.Sleep(5 * ms)
		}
		c.lock.Release(bg, key, tok)
		return false
	})
	return tok
}

func (c *cast) release(key string, tok Token) {
	c.t.Helper()
	if err := c.lock.Release(bg, key, tok); err != nil {
		c.t.Fatalf("release: %v", err)
	}
}

// cycle acquires and releases, and so carries what is owed.
func (c *cast) cycle() {
	c.t.Helper()
	c.release("cycle", c.acquire("cycle"))
}

// quiet waits until the lock works and nothing is owed: a request carries what is, and
// the first may meet a connection that has ended meanwhile.
func (c *cast) quiet() {
	c.t.Helper()
	eventually(c.t, 5*time.Second, "the lock works, and nothing is owed", func() bool {
		tok, err := c.lock.TryAcquire(bg, "quiet", realTTL)
		if err != nil || c.lock.Release(bg, "quiet", tok) != nil {
			return false
		}
		time.Sleep(20 * ms) // for those that nobody waits for
		return c.owed() == 0
	})
}

// some runs f for n of the servers, the last ones.
func (c *cast) some(n int, f func(s *server)) {
	for _, s := range c.servers[len(c.servers)-n:] {
		f(s)
	}
}

// held waits until as many servers have the key: what is in flight arrives late.
func (c *cast) held(key string, want int) {
	c.t.Helper()
	clients := c.direct()
	eventually(c.t, 5*time.Second, fmt.Sprintf("%s on %d servers", key, want), func() bool {
		n := 0
		for _, d := range clients {
			n += int(d.Exists(bg, key).Val())
		}
		return n == want
	})
}

// tidy demands that no server keeps a key.
func (c *cast) tidy() {
	c.t.Helper()
	clients := c.direct()
	var left string
	eventually(c.t, 5*time.Second, "no key left", func() bool {
		left = ""
		for i, d := range clients {
			if keys := d.Keys(bg, "*").Val(); len(keys) > 0 {
				left += fmt.Sprintf("%s has %q ", c.servers[i].Addr, keys)
			}
		}
		return left == ""
	})
}

// direct is clients that bypass the proxies.
func (c *cast) direct() []*redis.Client {
	var out []*redis.Client
	for _, s := range c.servers {
		if s.Running() {
			out = append(out, s.client())
		}
	}
	return out
}

// within fails if f takes longer.
func within(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > d {
		t.Errorf("%s took %v, want at most %v", what, took.Round(ms), d)
	}
}

// SIGSTOP of one and two of five, at each stage of a tenure: nobody waits for them, and
// nothing is left on them when they go on.
func TestRealStoppedServers(t *testing.T) {
	for _, clients := range []struct {
		name string
		opt  func(*redis.Options)
	}{
		{"default clients", func(*redis.Options) {}},
		{"hasty clients", func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout, o.DialTimeout = 300*ms, 300*ms, 300*ms }},
	} {
		for n := 1; n <= 2; n++ {
			for stage, at := range []string{"acquire", "hold", "extend", "release"} {
				t.Run(fmt.Sprintf("%s, %d stopped in %s", clients.name, n, at), func(t *testing.T) {
					t.Parallel()
					c := newCast(t, clients.opt)
					c.cycle()
					stop := func(now int) {
						if now == stage {
							c.some(n, (*server).pause)
						}
					}
					stop(0)
					var tok Token
					if at == "acquire" {
						within(t, prompt, "acquire", func() { tok = c.acquire("k") })
					} else {
						tok = c.acquireOnAll("k") // those that go on are a quorum
					}
					stop(1)
					time.Sleep(20 * ms)
					stop(2)
					within(t, prompt, "extend", func() {
						if err := c.lock.Extend(bg, "k", tok, realTTL); err != nil {
							t.Error("extend:", err)
						}
					})
					stop(3)
					within(t, prompt, "release", func() { c.release("k", tok) })
					if at != "release" { // hasty clients give up, and have more to give up
						time.Sleep(350 * ms)
						within(t, prompt, "a cycle beside stopped servers", c.cycle)
					}
					c.some(n, (*server).resume)
					time.Sleep(50 * ms)
					c.quiet()
					c.tidy()
				})
			}
		}
	}
}

// A majority stopped: nobody gets the lock, and it says why.
func TestRealStoppedMajority(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	tok := c.acquire("k")
	c.held("k", 5)
	c.some(3, (*server).pause)
	within(t, 2*nodeTimeout+prompt, "acquire", func() { // it waits for the grants, and then for the releases
		_, err := c.lock.TryAcquire(bg, "other", realTTL)
		if !errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrLockAlreadyHeld) {
			t.Errorf("acquire: %v", err)
		}
	})
	within(t, nodeTimeout+prompt, "extend", func() {
		if err := c.lock.TryExtend(bg, "k", tok, realTTL); !errors.Is(err, ErrNoQuorum) {
			t.Errorf("extend: %v", err)
		}
	})
	if !tok.Valid() {
		t.Error("a failed extend shortens nothing")
	}
	within(t, nodeTimeout+prompt, "release", func() {
		if err := c.lock.Release(bg, "k", tok); !errors.Is(err, ErrReleaseUnknown) {
			t.Errorf("release: %v", err)
		}
	})
	c.some(3, (*server).resume)
	time.Sleep(50 * ms)
	c.quiet()
	c.tidy()
}

// SIGKILL and restart without memory, of a minority and of a majority.
func TestRealRestartEmpty(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]error{2: nil, 3: ErrLockNotHeld} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			c := newCast(t)
			tok := c.acquire("k")
			c.held("k", 5)
			c.some(n, (*server).kill)
			err := c.lock.TryExtend(bg, "k", tok, realTTL)
			if n == 2 && err != nil || n == 3 && !errors.Is(err, ErrNoQuorum) {
				t.Errorf("extend while they are down: %v", err)
			}
			c.some(n, (*server).start)
			if err := c.lock.Extend(bg, "k", tok, realTTL); !errors.Is(err, want) {
				t.Errorf("extend: %v, want %v", err, want)
			}
			if tok.Valid() != (want == nil) {
				t.Errorf("valid: %v", tok.Valid())
			}
			if err := c.lock.Release(bg, "k", tok); !errors.Is(err, want) {
				t.Errorf("release: %v, want %v", err, want)
			}
			c.quiet()
			c.tidy()
		})
	}
}

// All nodes down is an outage, and never a held lock.
func TestRealAllDown(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	tok := c.acquire("k")
	c.some(5, (*server).kill)
	within(t, 6*time.Second, "acquire", func() { // it retries an outage for its budget only
		_, err := c.lock.Acquire(bg, "other", realTTL)
		if !errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrLockAlreadyHeld) {
			t.Fatalf("acquire: %v", err)
		}
		named := 0
		for _, s := range c.servers {
			if strings.Contains(err.Error(), s.Addr+": ") {
				named++
			}
		}
		if named < 3 { // which is enough to know
			t.Errorf("%q names %d servers", err, named)
		}
		var node *NodeError
		if !errors.As(err, &node) {
			t.Errorf("%v has no NodeError", err)
		}
	})
	if err := c.lock.Release(bg, "k", tok); !errors.Is(err, ErrReleaseUnknown) {
		t.Errorf("release: %v", err)
	}
}

// A refused connection is seen by its own error, once the client has given up dialling.
func TestRealRefusedConnection(t *testing.T) {
	t.Parallel()
	c := newCast(t, func(o *redis.Options) { o.DialerRetries = 1 })
	c.some(5, (*server).kill)
	_, err := c.lock.TryAcquire(bg, "k", realTTL)
	var op *net.OpError
	if !errors.As(err, &op) || !errors.Is(err, ErrUnsent) || !errors.Is(err, ErrNoQuorum) {
		t.Errorf("acquire: %v", err)
	}
}

// A context that ends during acquire ends the call at once and leaves no key.
func TestRealCancelledAcquire(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	c.cycle()
	c.some(3, (*server).pause)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(bg)
	time.AfterFunc(50*ms, func() { cancel(enough) })
	within(t, prompt, "acquire", func() {
		if _, err := c.lock.Acquire(ctx, "k", realTTL); !errors.Is(err, enough) || !errors.Is(err, context.Canceled) {
			t.Errorf("acquire: %v", err)
		}
	})
	c.some(3, (*server).resume)
	c.tidy()
}

// The deferred release works on although its context has ended.
func TestRealCancelledRelease(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	ctx, cancel := context.WithCancel(bg)
	tok, err := c.lock.Acquire(ctx, "k", realTTL)
	if err != nil {
		t.Fatal(err)
	}
	c.held("k", 5)
	c.some(1, (*server).pause)
	cancel()
	within(t, prompt, "release", func() {
		if err := c.lock.Release(ctx, "k", tok); err != nil {
			t.Errorf("release: %v", err)
		}
	})
	c.some(1, (*server).resume)
	c.tidy()
}

// A context that ends while the release is under way changes nothing about it: it waits
// for the servers as long as it would have, says what it knows, and the rest is done when
// they go on.
func TestRealCancelledDuringRelease(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	ctx, cancel := context.WithCancel(bg)
	tok, err := c.lock.Acquire(ctx, "k", realTTL)
	if err != nil {
		t.Fatal(err)
	}
	c.held("k", 5)
	c.some(3, (*server).pause)
	time.AfterFunc(50*ms, cancel)
	within(t, nodeTimeout+prompt, "release", func() {
		if err := c.lock.Release(ctx, "k", tok); !errors.Is(err, ErrReleaseUnknown) {
			t.Errorf("release: %v", err)
		}
	})
	c.some(3, (*server).resume)
	c.tidy()
}

// FLUSHALL under a holder: of a minority it does no harm, of a majority it is a loss,
// and the holder hears of it.
func TestRealFlush(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	for n, want := range map[int]error{2: nil, 3: ErrLockNotHeld} {
		key := fmt.Sprint("k", n)
		tok := c.acquire(key)
		c.held(key, 5)
		c.some(n, func(s *server) { s.client().FlushAll(bg) })
		if err := c.lock.Extend(bg, key, tok, realTTL); !errors.Is(err, want) {
			t.Errorf("%d flushed: extend: %v, want %v", n, err, want)
		}
		if err := c.lock.Release(bg, key, tok); !errors.Is(err, want) {
			t.Errorf("%d flushed: release: %v, want %v", n, err, want)
		}
		c.tidy()
	}
}

// Servers that answer with errors: two of five do no harm, and of three the error says
// what they said.
func TestRealServersThatRefuse(t *testing.T) {
	t.Parallel()
	// Real conditions where a server can be brought into them, the same words from a
	// proxy where not.
	for _, f := range []struct {
		prefix string
		begin  func(s *server, p *proxy)
		end    func(s *server, p *proxy)
	}{
		{"READONLY",
			func(s *server, _ *proxy) { s.client().ReplicaOf(bg, "127.0.0.1", "1") },
			func(s *server, _ *proxy) { s.client().ReplicaOf(bg, "no", "one") }},
		{"OOM",
			func(s *server, _ *proxy) { s.client().ConfigSet(bg, "maxmemory", "1") },
			func(s *server, _ *proxy) { s.client().ConfigSet(bg, "maxmemory", "0") }},
		{"NOAUTH",
			func(s *server, p *proxy) { s.client().ConfigSet(bg, "requirepass", "secret"); p.drop() },
			func(s *server, _ *proxy) {
				s.client(func(o *redis.Options) { o.Password = "secret" }).ConfigSet(bg, "requirepass", "")
			}},
		{"LOADING", answers("-LOADING Redis is loading the dataset in memory\r\n"), heals},
		{"MASTERDOWN", answers("-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n"), heals},
		{"BUSY", answers("-BUSY Redis is busy running a script.\r\n"), heals},
	} {
		t.Run(f.prefix, func(t *testing.T) {
			t.Parallel()
			c, proxies := proxiedCast(t)
			some := func(n int, g func(*server, *proxy)) {
				for i := 5 - n; i < 5; i++ {
					g(c.servers[i], proxies[i])
				}
			}
			c.cycle()
			some(2, f.begin)
			c.cycle()
			some(3, f.begin)
			_, err := c.lock.TryAcquire(bg, "k", realTTL)
			if !errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrLockAlreadyHeld) {
				t.Errorf("acquire: %v", err)
			}
			if !strings.Contains(fmt.Sprint(err), f.prefix) {
				t.Errorf("%q does not say %s", err, f.prefix)
			}
			var own redis.Error
			if !errors.As(err, &own) {
				t.Errorf("%v: the server's own error cannot be reached", err)
			}
			some(3, f.end)
			c.quiet()
			c.tidy()
		})
	}
}

func proxiedCast(t *testing.T) (*cast, []*proxy) {
	t.Helper()
	servers := startServers(t, servers.Redis, 5)
	var proxies []*proxy
	for _, s := range servers {
		proxies = append(proxies, startProxy(t, s.Addr))
	}
	return castOver(t, servers, proxies), proxies
}

// answers has the proxy put text for every answer to a command of the lock's, as often
// as there are commands in what is asked.
func answers(text string) func(*server, *proxy) {
	return func(_ *server, p *proxy) {
		p.set(func(p *proxy) {
			var asked atomic.Int64
			p.ask = func(b []byte) []byte {
				asked.Store(int64(bytes.Count(b, []byte("\n*")) + 1))
				return b
			}
			p.answer = func(b []byte) []byte { return bytes.Repeat([]byte(text), int(asked.Load())) }
		})
	}
}

func heals(_ *server, p *proxy) {
	p.set(func(p *proxy) { p.ask, p.answer, p.delay = nil, nil, 0 })
	p.drop()
}

// Half a reply, no reply, garbage, and a connection cut: two of five do no harm, of
// three it is an outage, and nothing is left afterwards.
func TestRealBrokenAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(b []byte) []byte{
		"half a reply":          func(b []byte) []byte { return b[:len(b)/2] },
		"half, and cut":         halfThenCut(),
		"none":                  func([]byte) []byte { return nil },
		"cut":                   func([]byte) []byte { return severed },
		"garbage":               func([]byte) []byte { return []byte("\x00\xffGET / HTTP/1.1\r\n\r\n") },
		"endless line":          func([]byte) []byte { return bytes.Repeat([]byte("x"), 1<<20) },
		"another type of reply": func([]byte) []byte { return []byte("*2\r\n$1\r\na\r\n%1\r\n+x\r\n:1\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := startServers(t, servers.Redis, 5)
			var proxies []*proxy
			for _, s := range servers {
				proxies = append(proxies, startProxy(t, s.Addr))
			}
			c := castOver(t, servers, proxies, func(o *redis.Options) { o.ReadTimeout, o.DialerRetries = 700*ms, 1 })
			c.cycle()
			for _, p := range proxies[3:] {
				p.set(func(p *proxy) { p.answer = answer })
			}
			for range 3 {
				tok := c.acquire("k")
				c.release("k", tok)
			}
			proxies[2].set(func(p *proxy) { p.answer = answer })
			if _, err := c.lock.TryAcquire(bg, "k", realTTL); !errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrLockAlreadyHeld) {
				t.Errorf("acquire: %v", err)
			}
			for i := range proxies {
				heals(nil, proxies[i])
			}
			c.quiet()
			c.tidy()
		})
	}
}

// halfThenCut passes half of each reply and ends the connection with the next.
func halfThenCut() func(b []byte) []byte {
	var n atomic.Int64
	return func(b []byte) []byte {
		if n.Add(1)%2 == 0 {
			return severed
		}
		return b[:len(b)/2]
	}
}

// owed is how many releases the lanes still have.
func (c *cast) owed() (n int) {
	for i := range c.lock.transport.(*transport).workers {
		w := &c.lock.transport.(*transport).workers[i]
		w.mu.Lock()
		n += w.lane.Pending()
		w.mu.Unlock()
	}
	return n
}

// loseFirstReply cuts the connection instead of the answer to the first SET that comes,
// once at each proxy. It counts how often that was.
func loseFirstReply(proxies []*proxy) (lost *atomic.Int64) {
	lost = new(atomic.Int64)
	for _, p := range proxies {
		var asked, cut atomic.Bool
		p.set(func(p *proxy) {
			p.ask = func(b []byte) []byte {
				if bytes.Contains(b, []byte("\r\nset\r\n")) {
					asked.Store(true)
				}
				return b
			}
			p.answer = func(b []byte) []byte {
				if asked.Load() && !cut.Swap(true) {
					lost.Add(1)
					return severed
				}
				return b
			}
		})
	}
	return lost
}

// redis/go-redis#2985, #2124: a reply is lost, and the client library sends the SET
// again by itself. Ours has it sent once; the node counts as failed, and its key is
// taken back with the others.
func TestRealLostReply(t *testing.T) {
	t.Parallel()
	c, proxies := proxiedCast(t)
	c.quiet() // no SET is under way
	lost := loseFirstReply(proxies)
	sets := func() (n []int) {
		for _, d := range c.direct() {
			calls, _, _ := strings.Cut(strings.TrimPrefix(stat(t, d, "commandstats", "cmdstat_set"), "calls="), ",")
			k, _ := strconv.Atoi(calls) // none yet: no such line
			n = append(n, k)
		}
		return n
	}
	before := sets()
	_, err := c.lock.TryAcquire(bg, "k", realTTL)
	if !errors.Is(err, ErrNoQuorum) || !errors.Is(err, ErrNoAnswer) {
		t.Errorf("acquire: %v", err)
	}
	eventually(t, 5*time.Second, "three replies lost", func() bool { return lost.Load() >= 3 })
	time.Sleep(100 * ms) // for a resend, after a backoff of 8 ms and more
	after := sets()
	for i := range after {
		if n := after[i] - before[i]; n > 1 {
			t.Errorf("%d SETs reached server %d", n, i)
		}
	}
	for _, p := range proxies {
		heals(nil, p)
	}
	c.quiet()
	c.tidy()
}

// The reply to the SET is lost, and something above the client (a hook, a wrapper) sends
// it again all the same: the server refuses it, for it holds our own key. That is a grant.
func TestRealLostReplyResent(t *testing.T) {
	t.Parallel()
	c, proxies := proxiedCast(t)
	c.quiet() // no other answer is under way
	for _, client := range c.clients {
		client.AddHook(resend{})
	}
	lost := loseFirstReply(proxies)
	tok, err := c.lock.TryAcquire(bg, "k", realTTL)
	if err != nil || lost.Load() < 3 {
		t.Fatalf("acquire, after %d lost replies: %v", lost.Load(), err)
	}
	c.held("k", 5)
	// The releases are sent twice, too, and the second finds nothing: that is no loss.
	if err := c.lock.Release(bg, "k", tok); !errors.Is(err, ErrReleaseUnknown) {
		t.Errorf("release: %v", err)
	}
	c.tidy()
}

// Scripts flushed between acquire and release cost a round trip and no error.
func TestRealScriptsFlushed(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	c.cycle()
	tok := c.acquire("k")
	flush := func() { c.some(5, func(s *server) { s.client().ScriptFlush(bg) }) }
	flush()
	if err := c.lock.Extend(bg, "k", tok, realTTL); err != nil {
		t.Error("extend:", err)
	}
	flush()
	c.release("k", tok)
	c.tidy()
}

// A user who may not EVALSHA locks all the same.
func TestRealWithoutEvalsha(t *testing.T) {
	t.Parallel()
	c := newCast(t, func(o *redis.Options) { o.Username, o.Password = "u", "p" })
	for _, s := range c.servers {
		if err := s.client().Do(bg, "acl", "setuser", "u", "on", ">p", "~*", "+set", "+get", "+del", "+pexpire", "+eval").Err(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		tok := c.acquire("k")
		if err := c.lock.Extend(bg, "k", tok, realTTL); err != nil {
			t.Error("extend:", err)
		}
		c.release("k", tok)
	}
	c.tidy()
}

// Nothing is left on healthy servers by those who return at the quorum, however many
// they are.
func TestRealNoOrphans(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	var wg sync.WaitGroup
	for g := range 20 {
		wg.Go(func() {
			for i := range 50 {
				key := fmt.Sprintf("%d.%d", g, i)
				tok, err := c.lock.Acquire(bg, key, realTTL)
				if err == nil {
					err = c.lock.Release(bg, key, tok)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	c.tidy()
}

// One of five stopped: a call waits for a quorum only, and what is stuck is one
// goroutine, whatever the number of calls.
func TestRealStuckGoroutines(t *testing.T) {
	c := newCast(t)
	c.cycle()
	time.Sleep(50 * ms)
	ignore := goleak.IgnoreCurrent()
	c.some(1, (*server).pause)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 25 {
				key := fmt.Sprintf("%d.%d", g, i)
				c.release(key, c.acquire(key))
			}
		})
	}
	wg.Wait()
	stuck := 0
	eventually(t, 5*time.Second, "at most one goroutine stuck", func() bool {
		stuck = 0
		if err := goleak.Find(ignore, goleak.IgnoreAnyFunction("none")); err != nil {
			stuck = strings.Count(err.Error(), "(*worker).work")
		}
		return stuck <= 1
	})
	c.some(1, (*server).resume)
	if err := goleak.Find(ignore); err != nil {
		t.Errorf("after it went on: %v", err)
	}
	c.quiet()
	c.tidy()
}

// Nothing is left running by a closed lock, by cancelled calls, or by servers that hung
// and went on.
func TestRealLeavesNoGoroutine(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	t.Run("", func(t *testing.T) {
		c := newCast(t)
		c.cycle()
		c.some(3, (*server).pause)
		for range 3 {
			ctx, cancel := context.WithTimeout(bg, 20*ms)
			if _, err := c.lock.Acquire(ctx, "k", realTTL); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		within(t, closePatience+prompt, "close", func() {
			if err := c.lock.Close(); !errors.Is(err, ErrNoAnswer) {
				t.Errorf("close beside servers that hang: %v", err)
			}
		})
		if _, err := c.lock.Acquire(bg, "k", realTTL); !errors.Is(err, ErrClosed) {
			t.Errorf("after close: %v", err)
		}
		c.some(3, (*server).resume)
		c.tidy()
	})
	if err := goleak.Find(ignore); err != nil {
		t.Error(err)
	}
}

// Close in mid-flight: calls under way end, with what they were given or ErrClosed.
func TestRealCloseInFlight(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d.%d", g, i)
				tok, err := c.lock.Acquire(bg, key, realTTL)
				if err == nil {
					err = c.lock.Release(bg, key, tok)
				}
				if err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	time.Sleep(100 * ms)
	within(t, prompt, "close", func() {
		if err := c.lock.Close(); err != nil {
			t.Error(err)
		}
	})
	within(t, time.Second, "the calls", wg.Wait)
	var keys []string
	for _, d := range c.direct() {
		keys = append(keys, d.Keys(bg, "*").Val()...)
	}
	slices.Sort(keys)
	if n := len(slices.Compact(keys)); n > 8 {
		t.Errorf("%d keys are left by 8 calls that were cut short", n)
	}
}
