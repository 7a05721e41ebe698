package sim

import (
	"math"
	"slices"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/node"
)

// TestTTLsOfCode: a verdict knows for which TTLs keys were set, whatever stands in the
// scenario and whatever the nodes' clocks say, and judges by those what the lock promises.
func TestTTLsOfCode(t *testing.T) {
	t.Parallel()
	sc := plain(2, 3)
	sc.Lock.TTL = 100 * ms
	for i := range sc.Nodes {
		sc.Nodes[i].Clock.Offset = []clock.Duration{-1, 999_999, -3*sec - 1}[i]
		sc.Nodes[i].Quarantine = 100*ms + 2*ms
	}
	sc.Faults = []Fault{{Kind: "crash", On: "A", At: 3 * sec, For: 10 * ms}, {Kind: "crash", On: "B", At: 3 * sec, For: 10 * ms}}
	v, err := Test(sc, DoAs("c1", func(p *Process) {
		l := p.Lock()
		token, err := l.Acquire(p.Context(), "k", 2*time.Second+300*time.Microsecond)
		if err != nil {
			t.Error(err)
		}
		p.Sleep(700 * time.Millisecond)
		for _, ttl := range []time.Duration{time.Second, 5 * time.Second} { // the first is shorter than what is left
			if err := l.Extend(p.Context(), "k", token, ttl); err != nil {
				t.Error(err)
			}
			p.Sleep(100 * time.Millisecond)
		}
		p.Sleep(4 * time.Second)
		for range p.Transport().Broadcast(p.Context(), redlock.Request{Op: node.OpSetForGood, Key: "j", Owner: "x", TTL: time.Hour}, time.Second) {
		}
	}), DoAs("c2", func(*Process) {}))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(v.TTLs)
	if want := []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}; !slices.Equal(v.TTLs, want) {
		t.Errorf("TTLs %v, want %v", v.TTLs, want)
	}
	if !slices.Contains(v.Broken(), I2) || len(Assumptions(&sc)) > 0 || len(v.Unmet) != 2 || v.Unmet[0].Assumption != A2 || len(v.Bugs()) > 0 {
		t.Errorf("%v broke; unmet %v, for the scenario's TTL %v; bugs %v", v.Broken(), v.Unmet, Assumptions(&sc), v.Bugs())
	}
}

// TestLiveBoundOfCode: progress is not demanded of code that asks for a TTL of which the
// scenario wants more than is left.
func TestLiveBoundOfCode(t *testing.T) {
	t.Parallel()
	sc := plain(1, 3)
	sc.Lock.MinValidity = 4948 * ms // of 5 s, to the nanosecond
	sc.Lock.Retry = Retry{Min: 500 * ms, Max: 600 * ms}
	sc.Live = &Live{From: sec}
	bound, why := liveBound(&sc, nil)
	sc.Until = sec + clock.Duration(bound) + 10*sec
	if sc.Lock.Retry.Outage = sc.Until; why != "" {
		t.Fatal(why)
	}
	for _, ttl := range []time.Duration{10 * time.Second, 5 * time.Second} {
		granted := false
		v, err := Test(sc, Do(func(p *Process) {
			_, err := p.Lock().Acquire(p.Context(), "k", ttl)
			granted = err == nil
		}))
		if err != nil || granted != (ttl > 5*time.Second) || slices.Contains(v.Broken(), I4) {
			t.Errorf("a TTL of %v: granted: %t, %v %v", ttl, granted, err, v.Violations)
		}
	}
}

// TestFit: a space for several TTLs draws nothing that is beyond what the lock promises
// of any of them, and some of it just within.
func TestFit(t *testing.T) {
	t.Parallel()
	ttls := []time.Duration{7 * time.Millisecond, 10 * time.Second, 1500 * time.Millisecond}
	for _, c := range []struct {
		sp  Space
		ttl clock.Duration
	}{{Tame(), 10 * sec}, {DriftCovered(), 10 * sec}, {Tame().TTL(time.Second), sec}} {
		sp, minimal := c.sp.Fit(ttls...), 0
		for seed := range uint64(1000) {
			sc := Generate(sp, seed)
			if err := sc.Check(); err != nil {
				t.Fatalf("%s, seed %d: %v", sp.Name(), seed, err)
			}
			if sc.Lock.TTL != c.ttl {
				t.Fatalf("%s, seed %d: a TTL of %v, want %v", sp.Name(), seed, sc.Lock.TTL, c.ttl)
			}
			for _, u := range assumptions(&sc, ttls, nil) {
				if u.Assumption != A6 {
					t.Fatalf("%s, seed %d: %v: %s", sp.Name(), seed, u.Assumption, u.Text)
				}
			}
			ppb, _ := factorPPB(sc.Lock.Factor)
			trust := int64(math.MaxInt64)
			for _, d := range ttls {
				if left := trustNs(clock.Duration(d), ppb, sc.Lock.Buffer); left > 0 {
					trust = min(trust, left)
				}
			}
			if int64(sc.Lock.MinValidity) > trust {
				t.Fatalf("%s, seed %d: %v of validity are wanted, and a lock has %v", sp.Name(), seed, sc.Lock.MinValidity, trust)
			}
			if sc.Lock.MinValidity > 0 {
				minimal++
			}
		}
		if sp.wild && minimal == 0 {
			t.Errorf("%s: no validity is wanted in any scenario", sp.Name())
		}
	}
}

// TestShrinkLeavesTheTTLOfCode: what code asks for stands in the smallest scenario too,
// be it no round number.
func TestShrinkLeavesTheTTLOfCode(t *testing.T) {
	t.Parallel()
	const ttl = 12_345 * time.Millisecond
	work := Do(func(p *Process) {
		if token, err := p.Lock().Acquire(p.Context(), "k", ttl); err == nil {
			p.Sleep(token.Remaining())
		}
	})
	sc := plain(2, 3)
	sc.Lock.TTL = clock.Duration(ttl)
	sc.Faults = []Fault{{Kind: "flush", On: "A", At: 3 * sec}, {Kind: "flush", On: "B", At: 4 * sec}}
	small, _, err := Shrink(t.Context(), sc, I2, work)
	if err != nil {
		t.Fatal(err)
	}
	if small.Lock.TTL != clock.Duration(ttl) {
		t.Errorf("a TTL of %v, and the code asks for %v", small.Lock.TTL, ttl)
	}
}
