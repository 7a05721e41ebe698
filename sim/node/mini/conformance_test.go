package mini

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// do is s.Do, which returns the reply.
func do(s node.Store, at, wall int64, req *redlock.Request) (reply redlock.Reply, when int64) {
	when = s.Do(at, wall, req, &reply)
	return reply, when
}

// The same random commands go to the fast node, to miniredis and to real servers
// (servers_test.go), and the answers are compared.
//
// Where they differ by nature:
//
//   - At the very millisecond at which a TTL has passed: Redis reads a key then (strict),
//     and newer ones may have deleted it (non-strict). The fast node has both rules, and
//     so has miniredis here. A real server is asked nothing that near.
//   - An acquire without a fence number of a key that is one's own already: Redis
//     refuses it as it does any other, and to tell whose it is would cost a GET;
//     production asks only where a command may have been sent twice. The fast node says
//     Ours, and the simulator makes that a refusal where an alias has asked (TestRuns).
//   - The keys k and {k} share one fence number at a Redis node, since they share the
//     key beside them: numbers grow all the same. The fast node keeps them apart.
//   - miniredis deletes a key when it expires, the fast node when a command comes across
//     it, as Redis does at the latest: a clock that is stepped back in between brings it
//     back. So here a command comes across it before. For the same reason a sequence has
//     steps or rollbacks, not both: what a rollback brings back may have expired before
//     the step.
//   - Commands that no lock should send are the simulator's own (package node).

func TestMain(m *testing.M) {
	flag.Parse()
	if m.Run() != 0 {
		os.Exit(1)
	}
}

// sequences is how many a test runs: 1,000, with DRIFTLOCK_LONG=1 so many.
func sequences(long int) int {
	if os.Getenv("DRIFTLOCK_LONG") == "1" {
		return long
	}
	return 1000
}

// A step is a command for one key, or a wait.
type step struct {
	what  string // acquire, extend, release, foreign, delete, evict, wait
	owner int
	ttl   time.Duration
	fence uint64
}

func (s step) String() string {
	return fmt.Sprintf("%s %s ttl %v fence %d", s.what, ownerNames[s.owner], s.ttl, s.fence)
}

var keys = []string{"k", "l", "{m}n"}

var ownerNames = []string{strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("c", 32)}

// request is the step's; nil for what is none.
func (s step) request(key string) *redlock.Request {
	op, ok := map[string]redlock.Op{"acquire": redlock.OpAcquire, "extend": redlock.OpExtend, "release": redlock.OpRelease, "delete": node.OpDelete}[s.what]
	if !ok {
		return nil
	}
	r := &redlock.Request{Op: op, Key: key, Owner: ownerNames[s.owner], TTL: s.ttl}
	if op == redlock.OpAcquire {
		r.Fence = s.fence
	}
	return r
}

// same says whether two replies to a request agree, by the rules above.
func same(r *redlock.Request, fast, other redlock.Reply) bool {
	if (fast.Err == nil) != (other.Err == nil) || fast.Fence != other.Fence {
		return false
	}
	resent := r.Op == redlock.OpAcquire && r.Fence == 0 && fast.Status == redlock.Ours && other.Status == redlock.Others
	return fast.Status == other.Status || resent
}

// foreign is what somebody else does to a key: SET key other PX ttl.
func foreign(s node.Store, at, wall int64, key string, ttl time.Duration) {
	if s, ok := s.(*store); ok {
		s.foreign(at, wall, key, ttl)
		return
	}
	do(s, at, wall, &redlock.Request{Op: node.OpDelete, Key: key, Owner: "foreign", TTL: ttl})
	do(s, at, wall, &redlock.Request{Op: redlock.OpAcquire, Key: key, Owner: "foreign", TTL: ttl})
}

func (s *store) foreign(at, wall int64, key string, ttl time.Duration) {
	s.now = max(s.now, at)
	s.tick(wall)
	s.meet(key)
	before := s.look(key)
	s.redis.Set(key, "foreign")
	s.redis.SetTTL(key, ttl+s.more)
	s.note(key, before)
}

// drawn is a step with durations in a grain, so that a wait often ends at the very
// millisecond at which a TTL does.
func drawn(t *rapid.T, kinds []string, grain time.Duration) step {
	return step{
		what:  rapid.SampledFrom(kinds).Draw(t, "what"),
		owner: rapid.IntRange(0, 2).Draw(t, "owner"),
		ttl:   time.Duration(rapid.IntRange(1, 8).Draw(t, "ttl")) * grain,
		fence: uint64(rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 9, 10, 11}).Draw(t, "fence")),
	}
}

// TestConformance: the fast node and miniredis answer alike, and have the same keys
// until the same readings, by either rule of expiry, also when the clock is stepped, and
// after a rollback.
func TestConformance(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // neither has a goroutine
	total := sequences(100_000)
	const checks = 100 // that rapid makes by default
	done := 0
	fast, mini := node.New(node.Config{}), New(node.Config{})
	kinds := []string{"acquire", "acquire", "acquire", "extend", "extend", "release", "release", "foreign", "wait", "wait", "wait", "delete", "evict", "flush"}
	rapid.Check(t, func(t *rapid.T) {
		for range (total + checks - 1) / checks {
			sequence(t, fast, mini, append(kinds, rapid.SampledFrom([]string{"step", "rollback"}).Draw(t, "fault")))
			done++
		}
	})
	t.Logf("%d sequences", done)
}

func sequence(t *rapid.T, fast, mini node.Store, kinds []string) {
	c := node.Config{Expiry: rapid.SampledFrom([]node.Expiry{node.Strict, node.NonStrict}).Draw(t, "expiry")}
	fast.Reset(c)
	mini.Reset(c)
	at, wall := int64(0), rapid.Int64Range(0, 3e6).Draw(t, "wall")
	var told []string
	for range rapid.IntRange(2, 14).Draw(t, "steps") {
		s := drawn(t, kinds, time.Millisecond)
		key := rapid.SampledFrom(keys).Draw(t, "key")
		told = append(told, fmt.Sprintf("at %d on %s: %v", wall, key, s))
		at++
		switch s.what {
		case "wait":
			d := int64(s.ttl) + rapid.SampledFrom([]int64{0, 0, 1, 500_000, -1}).Draw(t, "more")
			at, wall = at+d, wall+d
		case "step":
			for _, key := range keys {
				nobodys := &redlock.Request{Op: redlock.OpRelease, Key: key, Owner: "nobody"}
				do(fast, at, wall, nobodys)
				do(mini, at, wall, nobodys)
			}
			if back := int64(s.ttl); s.fence == 0 && wall > back {
				wall -= back
			} else {
				wall += back
			}
		case "rollback":
			to := at - int64(s.ttl)
			fast.Rollback(to)
			mini.Rollback(to)
		case "flush":
			fast.Flush(at)
			mini.Flush(at)
		case "evict":
			fast.Holder(wall, key)
			mini.Holder(wall, key) // moves its time
			fast.Evict(at, key)
			mini.Evict(at, key)
		case "foreign":
			foreign(fast, at, wall, key, s.ttl)
			foreign(mini, at, wall, key, s.ttl)
		default:
			req := s.request(key)
			x, xWhen := do(fast, at, wall, req)
			y, yWhen := do(mini, at, wall, req)
			if !same(req, x, y) || xWhen != yWhen {
				t.Fatalf("the fast node answers %+v, until %d; miniredis %+v, until %d:\n%s", x, xWhen, y, yWhen, strings.Join(told, "\n"))
			}
		}
		for _, key := range keys {
			xOwner, xWhen, x := fast.Holder(wall, key)
			yOwner, yWhen, y := mini.Holder(wall, key)
			if xOwner != yOwner || xWhen != yWhen || x != y {
				t.Fatalf("%s: the fast node has %q until %d, %v; miniredis %q until %d, %v:\n%s", key, xOwner, xWhen, x, yOwner, yWhen, y, strings.Join(told, "\n"))
			}
		}
	}
}
