package sim

import (
	"errors"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/network"
)

// What users of other locks reported, where time itself is what it takes to show
// it. The rest is in package redlock (reports_test.go) and in testdata/scenarios.

// alone is a single client without delays, whose workload takes "k" for ttl.
func alone(nodes int, ttl time.Duration) Scenario {
	sc := plain(1, nodes)
	sc.Network.Request, sc.Network.Reply = network.Path{}, network.Path{}
	sc.Lock.TTL = clock.Duration(ttl)
	sc.Clients[0] = Client{Name: "c1", Steps: []Step{{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", Percent: 100}}}
	return sc
}

// redis/redis#416, redis/redis#217, valkey-io/valkey#2651: a TTL is counted by the
// server's wall clock, so a step by the TTL ends every lock at once. That is the
// limit of such nodes, and no fault of the lock: the verdict blames the step.
func TestReportStepEndsAllLocks(t *testing.T) {
	t.Parallel()
	sc := alone(3, 10*time.Second)
	for _, n := range sc.Nodes {
		sc.Faults = append(sc.Faults, Fault{Kind: "step", On: n.Name, At: sec, By: 10*sec + 2*ms})
	}
	v, err := Test(sc)
	if err != nil {
		t.Fatal(err)
	}
	if l := v.Leases[0]; l.ExclusionEnds != int64(sec) {
		t.Errorf("exclusion ends at %v, want 1s", time.Duration(l.ExclusionEnds))
	}
	if len(v.Bugs()) > 0 || len(v.Unmet) == 0 || v.Unmet[0].Assumption != A3 {
		t.Errorf("unmet: %v", v.Unmet)
	}
}

// leandromoreira/redlock-rb#50: elapsed time was taken from the wall clock. Here
// the lock's clock is the one that its machine's steps do not touch: a leap while
// the answers are under way changes nothing.
func TestReportWallClockJumpsWhileAcquiring(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		sc := alone(3, 10*time.Second)
		sc.Network.Reply.Delay.Min = 40 * ms
		sc.Faults = []Fault{{Kind: "step", On: "c1", At: 20 * ms, By: clock.Duration(by)}}
		v, err := Test(sc)
		if err != nil || len(v.Leases) != 1 {
			t.Fatal(err, v.Leases)
		}
		if l := v.Leases[0]; l.TrustEnds != 9_898*milli || !v.OK() {
			t.Errorf("a jump by %v: trust ends at %v, want 9.898s; %v", by, time.Duration(l.TrustEnds), v.Err())
		}
	}
}

// SPSCommerce/redlock-py#2 and mike-marcacci/node-redlock#2 sent a TTL in the wrong
// unit, jefferyjob/go-redislock#35 had whole seconds only: a key lives what was
// asked for, to the millisecond, below a second too.
func TestReportUnitsOfTTL(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{5 * time.Millisecond, 250 * time.Millisecond, 1500 * time.Millisecond, 30 * time.Second} {
		v, err := Test(alone(1, ttl))
		if err != nil {
			t.Fatal(err)
		}
		if b := v.Blocks[0]; b.To != int64(ttl)+milli { // strict expiry: a millisecond later
			t.Errorf("a key for %v lived until %v", ttl, time.Duration(b.To))
		}
	}
}

// phpredis/phpredis#640: a TTL of 0 made a key that never expires. Here it is an
// error, and nothing reaches a node.
func TestReportNoKeyWithoutTTL(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, -time.Second, 999 * time.Microsecond} {
		h := mustRun(t, plain(1, 3), Do(func(p *Process) {
			if _, err := p.Lock().Acquire(p.Context(), "k", ttl); !errors.Is(err, redlock.ErrBadArgument) {
				t.Errorf("ttl %v: %v", ttl, err)
			}
		}))
		for _, e := range h.Events() {
			if e.Kind == Executed {
				t.Errorf("ttl %v reached a node", ttl)
			}
		}
	}
}

// valkey-io/valkey#4345: a server with a frozen clock keeps a key for ever. One of
// three such does no harm: the others' keys expire, and a waiter gets the lock.
func TestReportFrozenServer(t *testing.T) {
	t.Parallel()
	sc := alone(3, 10*time.Second)
	sc.Clients = append(sc.Clients, Client{Name: "c2", Steps: []Step{{Do: "sleep", For: sec}, {Do: "acquire", Key: "k"}}})
	sc.Faults = []Fault{{Kind: "freeze", On: "A", At: sec / 2, For: 50 * sec}}
	sc.Live = &Live{From: sec, Within: sec}
	v, err := Test(sc)
	if err != nil || !v.OK() || len(v.Leases) != 2 {
		t.Fatalf("%v, %d leases, %v", err, len(v.Leases), v.Err())
	}
	if b := v.Blocks[0]; b.To < int64(60*sec) {
		t.Errorf("the frozen node let its key go at %v", time.Duration(b.To))
	}
}

// redis/redis#1525, redis/redis#10300: time stands still within a command, and in
// all of one batch. Every node executes what arrives together at one reading.
func TestReportTimeIsFixedPerBatch(t *testing.T) {
	t.Parallel()
	h := mustRun(t, plain(1, 3), Do(func(p *Process) {
		l := p.Lock()
		for _, key := range []string{"a", "b", "c"} {
			p.Go(func(p *Process) {
				for range 3 {
					if tok, err := l.Acquire(p.Context(), key, time.Second); err == nil {
						l.Release(p.Context(), key, tok)
					}
				}
			})
		}
	}))
	last := map[[3]int]int64{}
	batches := 0
	for _, e := range h.Events() {
		if e.Kind != Executed {
			continue
		}
		id := [3]int{int(e.Client), int(e.Node), int(e.Nth)}
		if at, ok := last[id]; ok {
			batches++
			if at != e.Local {
				t.Errorf("message %v was executed at %d and at %d", id, at, e.Local)
			}
		}
		last[id] = e.Local
	}
	if batches == 0 {
		t.Error("no batch of two in this run")
	}
}

// redisson/redisson#1445 wants more than a bare majority: late grants are kept, so
// that of five healthy nodes all block, and any two may forget.
func TestReportLateGrantsAreSlack(t *testing.T) {
	t.Parallel()
	sc := alone(5, 10*time.Second)
	sc.Faults = []Fault{{Kind: "flush", On: "A", At: sec}, {Kind: "flush", On: "B", At: 2 * sec}}
	v, err := Test(sc)
	if err != nil || !v.OK() {
		t.Errorf("two of five forgot: %v %v", err, v.Err())
	}
	sc.Faults = append(sc.Faults, Fault{Kind: "flush", On: "C", At: 3 * sec})
	if v, err = Test(sc); err != nil || v.OK() {
		t.Errorf("three of five forgot, and nothing broke: %v", err)
	}
}
