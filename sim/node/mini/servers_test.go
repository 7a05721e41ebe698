package mini

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"driftlock/internal/servers"
	"driftlock/redlock"
	"driftlock/sim/node"

	"github.com/redis/go-redis/v9"
)

// realServer is a server program to hold the fast node to.
func realServer(t *testing.T, kind servers.Kind) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: servers.New(t, kind).Addr})
	t.Cleanup(func() { c.Close() })
	return c
}

// guard is how near to its expiry a key is not judged on a real server, whose clock is
// read a little later than the test's: beside this, for as long as the commands that
// set and asked for it took.
const guard = 2 * time.Millisecond

// TestRealServers: the fast node and real servers answer alike. A thousand sequences,
// each on a key of its own, share their waits.
func TestRealServers(t *testing.T) {
	for _, kind := range []servers.Kind{servers.Redis, servers.NewerRedis, servers.NewerValkey} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := realServer(t, kind)
			p := &pair{t: t, real: c, node: redlock.RedisNode(c), fast: node.New(node.Config{}), draw: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))}
			total := sequences(10_000)
			for range (total + 999) / 1000 {
				p.thousand()
			}
			t.Logf("%d sequences, %d answers compared, %d too near to an expiry", total, p.judged, p.near)
			if p.judged < 2*p.near {
				t.Logf("most of it was too near to an expiry: the machine is busy")
			}
			if p.judged < 1000 {
				t.Errorf("only %d answers compared", p.judged)
			}
		})
	}
}

// pair is the two that are compared.
type pair struct {
	t      *testing.T
	real   *redis.Client
	node   redlock.Node
	fast   node.Store
	draw   *rand.Rand
	begun  time.Time
	blur   []time.Duration // of each key: for how long its expiry is not known
	serial int
	judged int
	near   int
	last   [][]string // what was done to each key
}

func (p *pair) now() int64 { return int64(time.Since(p.begun)) }

// thousand runs a thousand sequences.
func (p *pair) thousand() {
	const many, rounds = 1000, 10
	p.begun, p.blur, p.last = time.Now(), make([]time.Duration, many), make([][]string, many)
	p.fast.Reset(node.Config{Expiry: node.NonStrict})
	p.serial++
	for range rounds {
		p.round(many)
		time.Sleep(time.Duration(p.draw.IntN(4)) * 17 * time.Millisecond)
	}
}

func (p *pair) key(i int) string { return fmt.Sprintf("k%d:%d", p.serial, i) }

// round gives each key one command: to the server all in one batch, to the fast node
// at the time at which that began.
func (p *pair) round(many int) {
	ctx := context.Background()
	var reqs []*redlock.Request
	var of []int
	foreign := p.real.Pipeline()
	var others []int
	steps := make([]step, many)
	for i := range many {
		s := step{what: []string{"acquire", "acquire", "extend", "release", "foreign", "none"}[p.draw.IntN(6)], owner: p.draw.IntN(3),
			ttl: time.Duration(1+p.draw.IntN(8)) * 20 * time.Millisecond, fence: uint64(max(0, p.draw.IntN(16)-8))}
		steps[i] = s
		if r := s.request(p.key(i)); r != nil {
			reqs, of = append(reqs, r), append(of, i)
		} else if s.what == "foreign" {
			foreign.Set(ctx, p.key(i), "foreign", s.ttl)
			others = append(others, i)
		}
	}
	start := p.now()
	replies := make([]redlock.Reply, len(reqs))
	p.node.Do(reqs, replies)
	if _, err := foreign.Exec(ctx); err != nil {
		p.t.Fatal(err)
	}
	took := time.Duration(p.now() - start)
	var again []int
	for j, r := range reqs {
		i := of[j]
		p.last[i] = append(p.last[i], fmt.Sprintf("%v after %v: %+v", steps[i], time.Duration(start), replies[j]))
		if p.tooNear(i, start, took) {
			p.near++
			again = append(again, i)
			continue
		}
		reply, _ := do(p.fast, start, start, r)
		if !same(r, reply, replies[j]) {
			p.t.Fatalf("the fast node answers %+v, the server %+v:\n%s", reply, replies[j], strings.Join(p.last[i], "\n"))
		}
		p.judged++
		switch {
		case reply.Status == redlock.Done && r.Op == redlock.OpAcquire:
			p.blur[i] = took
		case reply.Status == redlock.Done && r.Op == redlock.OpExtend: // which may have left the key as it was
			p.blur[i] = max(p.blur[i], took)
		}
	}
	for _, i := range others {
		key := p.key(i)
		do(p.fast, start, start, &redlock.Request{Op: node.OpDelete, Key: key, Owner: "foreign", TTL: steps[i].ttl})
		do(p.fast, start, start, &redlock.Request{Op: redlock.OpAcquire, Key: key, Owner: "foreign", TTL: steps[i].ttl})
		p.last[i] = append(p.last[i], fmt.Sprintf("%v after %v", steps[i], time.Duration(start)))
		p.blur[i] = took
	}
	p.adopt(again)
}

// tooNear says whether a key's expiry is so near that either answer is right.
func (p *pair) tooNear(i int, start int64, took time.Duration) bool {
	_, when, ok := p.fast.Holder(0, p.key(i)) // also of what has expired since
	if !ok {
		return false
	}
	gap := guard + took + p.blur[i]
	expiry := time.Duration(when) * time.Millisecond
	return expiry-gap <= time.Duration(start)+took && time.Duration(start) <= expiry+gap
}

// adopt has the fast node take over what the server has of keys that were not judged.
func (p *pair) adopt(keys []int) {
	ctx := context.Background()
	pipe := p.real.Pipeline()
	type found struct {
		owner, fence *redis.StringCmd
		left         *redis.DurationCmd
	}
	var all []found
	for _, i := range keys {
		all = append(all, found{pipe.Get(ctx, p.key(i)), pipe.Get(ctx, redlock.FenceKey(p.key(i))), pipe.PTTL(ctx, p.key(i))})
	}
	start := p.now()
	pipe.Exec(ctx) // redis.Nil is usual
	took := time.Duration(p.now() - start)
	for j, i := range keys {
		key, ttl := p.key(i), max(all[j].left.Val(), time.Millisecond)
		fence, _ := all[j].fence.Uint64()
		do(p.fast, start, start, &redlock.Request{Op: node.OpDelete, Key: key, TTL: ttl})
		do(p.fast, start, start, &redlock.Request{Op: redlock.OpAcquire, Key: key, Owner: "number", TTL: ttl, Fence: fence})
		do(p.fast, start, start, &redlock.Request{Op: node.OpDelete, Key: key, TTL: ttl})
		if owner, err := all[j].owner.Result(); err == nil {
			do(p.fast, start, start, &redlock.Request{Op: redlock.OpAcquire, Key: key, Owner: owner, TTL: ttl})
		}
		p.last[i] = append(p.last[i], fmt.Sprintf("taken over after %v: %q for %v, number %d", time.Duration(start), all[j].owner.Val(), ttl, fence))
		p.blur[i] = took + time.Millisecond
	}
}
