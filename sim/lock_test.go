package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/network"
)

// Rules of the lock that only time, faults and the whole world can show: the
// shipped code, in the simulator.

// uniform is plain, with delays of up to 4 ms, so that I7 has a bound worth the name.
func uniform(clients, nodes int) Scenario {
	sc := plain(clients, nodes)
	d := network.Path{Delay: network.Delay{Law: network.Uniform, Min: ms, Max: 4 * ms}}
	sc.Network.Request, sc.Network.Reply = d, d
	return sc
}

// TestCancelAnywhere ends the caller's context at every instant at which
// anything happens in an acquire, a hold and a release, and just after it, and
// just before: never is a key left behind on a node that can be reached, and no
// result lies.
func TestCancelAnywhere(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Scenario){
		"five nodes": func(*Scenario) {},
		"three nodes": func(sc *Scenario) {
			sc.Nodes = sc.Nodes[:3]
		},
		"one node": func(sc *Scenario) {
			sc.Nodes = sc.Nodes[:1]
		},
		"two of five silent": func(sc *Scenario) {
			sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"D", "E"}}}
		},
		"two of five refuse": func(sc *Scenario) {
			sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"D", "E"}, Refuse: true}}
		},
		"three of five silent: no quorum": func(sc *Scenario) {
			sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"C", "D", "E"}}}
		},
		"a rival": func(sc *Scenario) {
			sc.Clients = append(sc.Clients, Client{Name: "c2", Repeat: 5, Steps: []Step{
				{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", For: 20 * ms}, {Do: "release", Key: "k"}, {Do: "sleep", For: 5 * ms}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc := uniform(1, 5)
			sc.Until, sc.Lock.Retry.Tries = 3*sec, 3
			change(&sc)
			run := func(at time.Duration) *History {
				return mustRun(t, sc, DoAs("c1", func(p *Process) {
					ctx, cancel := context.WithCancel(p.Context())
					defer cancel()
					if at >= 0 {
						p.Clock().AfterFunc(at, cancel)
					}
					l := p.Lock()
					tok, err := l.Acquire(ctx, "k", 10*time.Second)
					if err != nil {
						return
					}
					clock.Sleep(ctx, p.Clock(), 30*time.Millisecond)
					l.Release(ctx, "k", tok)
				}))
			}
			var instants []time.Duration
			for _, e := range run(-1).Events() {
				for d := e.At - 1; d <= e.At+1; d++ {
					instants = append(instants, time.Duration(max(0, d)))
				}
			}
			slices.Sort(instants)
			instants = slices.Compact(instants)
			if len(instants) < 15 {
				t.Fatalf("%d instants", len(instants))
			}
			for _, at := range instants {
				v := Check(run(at))
				if !v.OK() {
					t.Errorf("cancelled at %v: %v", at, v.Err())
				}
				for _, b := range v.Blocks {
					if b.Ends != Freed && !strings.Contains(name, "silent") {
						t.Errorf("cancelled at %v: node %d keeps the key of %.8s until %v (%v)", at, b.Node, b.Owner, time.Duration(b.To), b.Ends)
					}
				}
			}
		})
	}
}

// TestWatchEndsInTime: whatever happens to nodes or holder, the holder's context
// ends no later than its deadline, with a cause that says what was.
func TestWatchEndsInTime(t *testing.T) {
	t.Parallel()
	every := func(sc *Scenario, f Fault) {
		for _, n := range sc.Nodes {
			f.On = n.Name
			sc.Faults = append(sc.Faults, f)
		}
	}
	const at = 5 * sec // after one renewal of a TTL of 10 s, before the next
	for name, c := range map[string]struct {
		change func(*Scenario)
		class  error
		says   string
		wakes  int64 // ms: the latest reading at which the context may be seen to have ended
	}{
		"nodes dead": {func(sc *Scenario) { every(sc, Fault{Kind: "crash", At: at}) }, redlock.ErrLockExpired, "no answer", 0},
		"nodes hung": {func(sc *Scenario) { every(sc, Fault{Kind: "pause", At: at, For: 50 * sec}) }, redlock.ErrLockExpired, "no answer", 0},
		"nodes refuse": {func(sc *Scenario) {
			sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"A", "B", "C"}, At: at, Refuse: true}}
		}, redlock.ErrLockExpired, "refused", 0},
		"nodes flushed":     {func(sc *Scenario) { every(sc, Fault{Kind: "flush", At: at}) }, redlock.ErrLockNotHeld, "no such key", 0},
		"process paused":    {func(sc *Scenario) { sc.Faults = []Fault{{Kind: "pause", On: "c1", At: at, For: 20 * sec}} }, redlock.ErrLockExpired, "stood still", 25_000},
		"machine suspended": {func(sc *Scenario) { sc.Faults = []Fault{{Kind: "suspend", On: "c1", At: at, For: 20 * sec}} }, redlock.ErrLockExpired, "suspended", 25_000},
	} {
		sc := uniform(1, 3)
		c.change(&sc)
		var cause error
		var seen, deadline int64
		v, err := Test(sc, Do(func(p *Process) {
			l := p.Lock()
			tok, err := l.Acquire(p.Context(), "k", 10*time.Second)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			held, stop := redlock.Watch(p.Context(), l, "k", tok, 10*time.Second)
			defer stop()
			for held.Err() == nil {
				if tok.Valid() {
					deadline = reading(tok.ValidUntil())
				}
				clock.Sleep(held, p.Clock(), time.Second)
			}
			cause, seen = context.Cause(held), p.c.local()
			if tok.Valid() {
				t.Errorf("%s: the token is still valid", name)
			}
			if err := l.TryExtend(p.Context(), "k", tok, 10*time.Second); err == nil {
				t.Errorf("%s: extended after its loss", name)
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(cause, c.class) || !strings.Contains(fmt.Sprint(cause), c.says) {
			t.Errorf("%s: the cause is %q, want %v with %q", name, cause, c.class, c.says)
		}
		latest := max(deadline, c.wakes*milli)
		if seen == 0 || seen > latest {
			t.Errorf("%s: the context ended at %v, the deadline was %v", name, time.Duration(seen), time.Duration(latest))
		}
		if bugs := v.Bugs(); len(bugs) > 0 {
			t.Errorf("%s: %v", name, v.Err())
		}
	}
}

// TestDoJoinsALoss: what the function returned and the loss of its lock are both told.
func TestDoJoinsALoss(t *testing.T) {
	t.Parallel()
	sc := uniform(1, 3)
	for _, n := range sc.Nodes {
		sc.Faults = append(sc.Faults, Fault{Kind: "flush", On: n.Name, At: sec})
	}
	mine := errors.New("mine")
	var got error
	mustRun(t, sc, Do(func(p *Process) {
		got = redlock.Do(p.Context(), p.Lock(), "k", 10*time.Second, func(ctx context.Context, _ redlock.Token) error {
			for ctx.Err() == nil {
				clock.Sleep(ctx, p.Clock(), time.Second)
			}
			return mine
		})
	}))
	if !errors.Is(got, mine) || !errors.Is(got, redlock.ErrLockNotHeld) {
		t.Errorf("%v", got)
	}
}
