package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// instant is a world without chance: each message takes 1 ms.
func instant(clients, nodes int) Scenario {
	sc := plain(clients, nodes)
	p := network.Path{Delay: network.Delay{Min: ms}}
	sc.Network = network.Config{Request: p, Reply: p}
	return sc
}

// asks sends one request and returns when and what each node answered: "A 3ms done".
func asks(p *Process, op redlock.Op, owner string, wait time.Duration) (heard []string) {
	for r := range p.Transport().Broadcast(p.Context(), redlock.Request{Op: op, Key: "k", Owner: owner, TTL: 10 * time.Second}, wait) {
		what := [...]string{redlock.Done: "granted", redlock.Others: "taken", redlock.Gone: "gone", redlock.Ours: "ours"}[r.Status]
		if r.Err != nil {
			what = r.Err.Error()
		}
		heard = append(heard, fmt.Sprintf("%s %v %s", p.c.NodeName(r.Node), time.Duration(p.c.w.now), what))
	}
	return heard
}

func sameLines(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", name, got, want)
	}
}

// TestNodeFaults: what a node does with requests that reach it while it is paused,
// down, or in quarantine.
func TestNodeFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Scenario)
		faults []Fault
		want   []string
	}{
		{"healthy", nil, nil, []string{"A 1.002s granted"}},
		{"paused: it queues", nil, []Fault{{Kind: "pause", On: "A", At: sec, For: 300 * ms}}, []string{"A 1.301s granted"}},
		{"down: silence", nil, []Fault{{Kind: "crash", On: "A", At: sec, For: 300 * ms}}, []string{"A 1.5s no answer"}},
		{"down, its host is there", nil, []Fault{{Kind: "crash", On: "A", At: sec, For: 300 * ms, Refuse: true}}, []string{"A 1.002s not sent: connection refused"}},
		{"down for good", nil, []Fault{{Kind: "crash", On: "A", At: 500 * ms}}, []string{"A 1.5s no answer"}},
		{"back just in time", nil, []Fault{{Kind: "crash", On: "A", At: 500 * ms, For: 501 * ms}}, []string{"A 1.002s granted"}},
		{"back 1 ns late", nil, []Fault{{Kind: "crash", On: "A", At: 500 * ms, For: 501*ms + 1}}, []string{"A 1.5s no answer"}},
		{"back, but in quarantine", func(sc *Scenario) { sc.Nodes[0].Quarantine = 502 * ms }, []Fault{{Kind: "crash", On: "A", At: 500 * ms, For: ms}}, []string{"A 1.5s no answer"}},
		{"its quarantine is over", func(sc *Scenario) { sc.Nodes[0].Quarantine = 501 * ms }, []Fault{{Kind: "crash", On: "A", At: 500 * ms, For: ms}}, []string{"A 1.002s granted"}},
		{"it crashes with what waited", nil, []Fault{{Kind: "pause", On: "A", At: sec, For: 300 * ms}, {Kind: "crash", On: "A", At: 1200 * ms, For: ms}}, []string{"A 1.5s no answer"}},
		{"and its host says so", nil, []Fault{{Kind: "pause", On: "A", At: sec, For: 300 * ms}, {Kind: "crash", On: "A", At: 1200 * ms, For: ms, Refuse: true}}, []string{"A 1.201s not sent: connection refused"}},
	} {
		sc := instant(1, 1)
		sc.Faults = c.faults
		if c.change != nil {
			c.change(&sc)
		}
		var got []string
		mustRun(t, sc, Do(func(p *Process) {
			p.Sleep(time.Second)
			got = asks(p, redlock.OpAcquire, "me", 500*time.Millisecond)
		}))
		sameLines(t, c.name, got, c.want...)
	}
}

// TestWhatARestartLeaves: a key is set at 1 s and extended at 3 s; another is set
// at 1 s and deleted at 3 s. Both for 10 s. Then the node loses what it loses.
func TestWhatARestartLeaves(t *testing.T) {
	t.Parallel()
	crash := func(by clock.Duration) Fault { return Fault{Kind: "crash", On: "A", At: 4 * sec, For: sec, By: by} }
	failover := func(by clock.Duration) Fault { return Fault{Kind: "failover", On: "A", At: 4 * sec, By: by} }
	const (
		all      = "k until 13s, no gone"            // as it was before the fault
		older    = "k until 11.002s, gone until 11s" // set in a second batch, which waited for the answer to the first
		nothing  = "no k, no gone"
		onlyGone = "k until 13s, gone until 11s"
	)
	for _, c := range []struct {
		name        string
		persistence node.Persistence
		fault       Fault
		want        string
	}{
		{"no persistence", node.Forgets, crash(0), nothing},
		{"by default", "", crash(0), nothing},
		{"AOF always", node.Always, crash(0), all},
		{"AOF every second, synced just before", node.EverySecond, crash(0), all},
		{"synced 998 ms before, when the deletion had come", node.EverySecond, crash(998 * ms), all},
		{"synced between the two", node.EverySecond, crash(999 * ms), onlyGone},
		{"the most that is lost", node.EverySecond, crash(2 * sec), older},
		{"a fresh snapshot", node.Snapshot, crash(0), all},
		{"a stale one", node.Snapshot, crash(2500 * ms), older},
		{"one of before all", node.Snapshot, crash(4 * sec), nothing},
		{"failover to a replica that is up to date", node.Forgets, failover(0), all},
		{"failover to one that lags", node.Forgets, failover(2 * sec), older},
		{"failover to an empty one", node.Forgets, failover(4 * sec), nothing},
		{"eviction", node.Always, Fault{Kind: "evict", On: "A", At: 4 * sec, Key: "k"}, nothing},
		{"eviction of what is not there", node.Always, Fault{Kind: "evict", On: "A", At: 4 * sec, Key: "gone"}, all},
		{"flush", node.Always, Fault{Kind: "flush", On: "A", At: 4 * sec}, nothing},
	} {
		sc := instant(1, 1)
		sc.Nodes[0].Persistence = c.persistence
		sc.Faults = []Fault{c.fault}
		h := mustRun(t, sc, Do(func(p *Process) {
			do := func(op redlock.Op, key string) {
				for range p.Transport().Broadcast(p.Context(), redlock.Request{Op: op, Key: key, Owner: key, TTL: 10 * time.Second}, time.Second) {
				}
			}
			p.Sleep(999 * time.Millisecond)
			p.Go(func(p *Process) { do(redlock.OpAcquire, "k") })
			do(redlock.OpAcquire, "gone")
			p.Sleep(1998 * time.Millisecond)
			p.Go(func(p *Process) { do(redlock.OpExtend, "k") })
			p.Sleep(2 * time.Millisecond)
			do(redlock.OpRelease, "gone")
			p.Sleep(10 * time.Second)
		}))
		got := map[string]string{"k": "no k", "gone": "no gone"}
		told := false
		for _, e := range h.Events() {
			if e.Kind == Holds {
				told = true
				if key := h.Text(e.Key); e.Owner != 0 {
					got[key] = fmt.Sprintf("%s until %v", key, time.Duration(e.Value)*time.Millisecond)
				}
			}
		}
		if left := got["k"] + ", " + got["gone"]; left != c.want || !told {
			t.Errorf("%s: %s, want %s", c.name, left, c.want)
		}
	}
}

// TestDropsOfANodeThatDoesNotRun: it can neither evict nor flush. A paused one
// does so when it goes on.
func TestDropsOfANodeThatDoesNotRun(t *testing.T) {
	t.Parallel()
	flush, evict := Fault{Kind: "flush", On: "A", At: 2 * sec}, Fault{Kind: "evict", On: "A", At: 2 * sec, Key: "k"}
	for _, c := range []struct {
		name   string
		faults []Fault
		want   clock.Duration // 0: never
	}{
		{"flush", []Fault{flush}, 2 * sec},
		{"flush of a paused node", []Fault{flush, {Kind: "pause", On: "A", At: sec, For: 3 * sec}}, 4 * sec},
		{"evict on a paused node", []Fault{evict, {Kind: "pause", On: "A", At: sec, For: 3 * sec}}, 4 * sec},
		{"flush of a node that is down", []Fault{flush, {Kind: "crash", On: "A", At: sec, For: 3 * sec}}, 0},
		{"evict on a node that goes down before it goes on", []Fault{evict, {Kind: "pause", On: "A", At: sec, For: 3 * sec}, {Kind: "crash", On: "A", At: 3 * sec, For: 4 * sec}}, 0},
	} {
		sc := instant(1, 1)
		sc.Nodes[0].Persistence = node.Always
		sc.Faults = c.faults
		h := mustRun(t, sc, Do(func(p *Process) {
			asks(p, redlock.OpAcquire, "me", time.Second)
			p.Sleep(9 * time.Second)
		}))
		lost := int64(0)
		for _, e := range h.Events() {
			if e.Kind == Holds && e.Owner == 0 && lost == 0 {
				lost = e.At
			}
		}
		if lost != int64(c.want) {
			t.Errorf("%s: the key was lost at %v, want %v", c.name, time.Duration(lost), c.want)
		}
	}
}

// TestQuarantineOnEitherClock: a step of the wall clock moves the end of a
// quarantine that it counts, and no other.
func TestQuarantineOnEitherClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		on   node.QuarantineOn
		step clock.Duration
		want clock.Duration
	}{
		{"", 0, 6 * sec}, {node.OnBoot, 0, 6 * sec}, {node.OnWall, 0, 6 * sec},
		{"", 3 * sec, 6 * sec}, {node.OnBoot, -3 * sec, 6 * sec},
		{node.OnWall, 3 * sec, 3 * sec}, {node.OnWall, -3 * sec, 9 * sec},
		{node.OnWall, 30 * sec, 2 * sec}, // the quarantine is over, the machine is not up
	} {
		sc := instant(1, 1)
		sc.Nodes[0].Quarantine, sc.Nodes[0].QuarantineOn = 5*sec, c.on
		sc.Faults = []Fault{{Kind: "crash", On: "A", At: sec, For: sec}}
		if c.step != 0 {
			sc.Faults = append(sc.Faults, Fault{Kind: "step", On: "A", At: 1500 * ms, By: c.step})
		}
		h := mustRun(t, sc, Do(func(p *Process) { p.Sleep(20 * time.Second) }))
		for _, e := range h.Events() {
			if e.Kind == Healed && e.At != int64(c.want) {
				t.Errorf("on %q, stepped by %v: serves at %v, want %v", c.on, c.step, time.Duration(e.At), c.want)
			}
		}
	}
}

// TestCrashInQuarantine: the node is back when it is back from the second crash,
// without what the first one lost.
func TestCrashInQuarantine(t *testing.T) {
	t.Parallel()
	sc := instant(1, 1)
	sc.Nodes[0].Quarantine = 5 * sec
	sc.Faults = []Fault{{Kind: "crash", On: "A", At: sec, For: sec}, {Kind: "crash", On: "A", At: 4 * sec, For: sec}}
	h := mustRun(t, sc, Do(func(p *Process) {
		asks(p, redlock.OpAcquire, "me", time.Second)
		p.Sleep(20 * time.Second)
	}))
	var told []string
	for _, e := range h.Events() {
		if e.Kind == Faulted || e.Kind == Healed || e.Kind == Holds {
			told = append(told, fmt.Sprintf("%v %v of %q", time.Duration(e.At), e.Kind, h.Text(e.Owner)))
		}
	}
	sameLines(t, "told", told, `1s faulted of ""`, `4s faulted of ""`, `9s healed of ""`, `9s holds of ""`)
	if b := Check(h).Blocks[0]; b.To != int64(9*sec) || b.Ends != Forgotten {
		t.Errorf("blocks until %v: %v", time.Duration(b.To), b.Ends)
	}
}

// TestClientFaults: everything that a client waits for comes at the right instant
// of true time on each of its clocks.
func TestClientFaults(t *testing.T) {
	t.Parallel()
	sleeps := func(p *Process) error { return p.Sleep(5 * time.Second) }
	timer := func(p *Process) error {
		ctx, cancel := context.WithCancelCause(p.Context())
		ran := false
		p.Clock().AfterFunc(5*time.Second, func() { ran = true; cancel(ErrEnded) })
		err := clock.Sleep(ctx, p.Clock(), time.Hour)
		if !ran {
			return context.Canceled
		}
		return err
	}
	timeout := func(p *Process) error {
		ctx, cancel := clock.WithTimeout(p.Context(), p.Clock(), 5*time.Second)
		defer cancel()
		return clock.Sleep(ctx, p.Clock(), time.Hour)
	}
	waits := func(p *Process) error {
		asks(p, redlock.OpAcquire, "me", 5*time.Second)
		return nil
	}
	for _, c := range []struct {
		name  string
		lives []Lives
		fault Fault
		want  clock.Duration
	}{
		{"none", []Lives{Boot, Monotonic, Wall}, Fault{Kind: "evict", On: "A", At: sec, Key: "x"}, 5 * sec},
		{"pause, due within", []Lives{Boot, Monotonic, Wall}, Fault{Kind: "pause", On: "c1", At: 4 * sec, For: 8 * sec}, 12 * sec},
		{"pause, due after", []Lives{Boot, Monotonic, Wall}, Fault{Kind: "pause", On: "c1", At: sec, For: 2 * sec}, 5 * sec},
		{"suspend, due within", []Lives{Boot, Wall}, Fault{Kind: "suspend", On: "c1", At: 4 * sec, For: 8 * sec}, 12 * sec},
		{"suspend, its clock stopped", []Lives{Monotonic}, Fault{Kind: "suspend", On: "c1", At: 4 * sec, For: 8 * sec}, 13 * sec},
		{"suspend, due after", []Lives{Boot, Wall}, Fault{Kind: "suspend", On: "c1", At: sec, For: 2 * sec}, 5 * sec},
		{"slow for a while", []Lives{Boot, Monotonic, Wall}, Fault{Kind: "rate", On: "c1", At: sec, For: 4 * sec, Rate: clock.Ratio(1, 2)}, 7 * sec},
		{"fast for a while", []Lives{Boot, Monotonic, Wall}, Fault{Kind: "rate", On: "c1", At: sec, For: 2 * sec, Rate: clock.Ratio(3, 2)}, 4 * sec},
		{"a frozen wall clock", []Lives{Wall}, Fault{Kind: "freeze", On: "c1", At: sec, For: 8 * sec}, 13 * sec},
		{"which others do not see", []Lives{Boot, Monotonic}, Fault{Kind: "freeze", On: "c1", At: sec, For: 8 * sec}, 5 * sec},
		{"a wall clock set forward", []Lives{Wall}, Fault{Kind: "step", On: "c1", At: sec, By: 3 * sec}, 2 * sec},
		{"set far forward", []Lives{Wall}, Fault{Kind: "step", On: "c1", At: sec, By: 3600 * sec}, sec},
		{"set back", []Lives{Wall}, Fault{Kind: "step", On: "c1", At: sec, By: -3 * sec}, 8 * sec},
		{"which others do not see", []Lives{Boot, Monotonic}, Fault{Kind: "step", On: "c1", At: sec, By: -3 * sec}, 5 * sec},
	} {
		for _, lives := range c.lives {
			for name, w := range map[string]func(p *Process) error{"Sleep": sleeps, "AfterFunc": timer, "WithTimeout": timeout, "Broadcast": waits} {
				sc := instant(1, 1)
				sc.Lock.GiveUp = 100 * sec
				sc.Clients[0].Lives = lives
				sc.Faults = []Fault{c.fault}
				if name == "Broadcast" {
					sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"A"}}}
				}
				var at int64
				var err error
				mustRun(t, sc, Do(func(p *Process) { err = w(p); at = p.c.w.now }))
				wrong := err == context.Canceled || name == "WithTimeout" && err != context.DeadlineExceeded
				if at != int64(c.want) || wrong {
					t.Errorf("%s: %s on the %s clock ended at %v, want %v: %v", c.name, name, lives, time.Duration(at), c.want, err)
				}
			}
		}
	}
}

// TestWhatAStandstillHolds: while a client stands still nothing of it runs, and it
// sees everything when it goes on; what it had sent goes its way.
func TestWhatAStandstillHolds(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pause", "suspend"} {
		sc := instant(1, 3)
		sc.Faults = []Fault{{Kind: kind, On: "c1", At: 500_000, For: 2 * sec}}
		var heard []string
		h := mustRun(t, sc, Do(func(p *Process) { heard = asks(p, redlock.OpAcquire, "me", time.Second) }))
		sameLines(t, kind, heard, "A 2.0005s granted", "B 2.0005s granted", "C 2.0005s granted")
		for _, e := range h.Events() {
			if e.Kind == Executed && e.At != milli {
				t.Errorf("%s: executed at %v, want 1ms", kind, time.Duration(e.At))
			}
		}
	}
}

// TestCrashedClient: nothing of it runs any more, no deferred call either; what it
// had sent is carried out, and what it held expires.
func TestCrashedClient(t *testing.T) {
	t.Parallel()
	sc := instant(2, 3)
	sc.Faults = []Fault{{Kind: "crash", On: "c1", At: 500_000}}
	var deferred, done bool
	h := mustRun(t, sc, DoAs("c1", func(p *Process) {
		defer func() { deferred = true }()
		p.Lock().Acquire(p.Context(), "k", time.Second)
		done = true
	}), DoAs("c2", func(p *Process) { p.Sleep(20 * time.Millisecond) }))
	granted, sawEnd := 0, false
	for _, e := range h.Events() {
		switch {
		case e.Kind == Executed && e.Status == redlock.Done:
			granted++
		case e.Client == 0 && e.Kind == Ended:
			sawEnd = true
		case e.Client == 0 && e.At > 500_000 && e.Kind != Executed && e.Kind != Answered:
			t.Errorf("after its crash: %+v", e)
		}
	}
	if done || sawEnd || granted != 3 {
		t.Errorf("returned: %v, ended: %v; %d nodes granted, want 3", done, sawEnd, granted)
	}
	_ = deferred // it runs when the world is unwound, and is no part of the history
}

// TestOrderOnAConnection: one batch at a time is out on a connection, so its
// requests keep their order. When the client has given a connection up, what it
// sends on the next may overtake what is under way on the old one, whose answer
// nobody hears.
func TestOrderOnAConnection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		giveUp clock.Duration
		want   []string
	}{
		{"one connection", 10 * sec, []string{"701ms first", "703ms second"}},
		{"two", 100 * ms, []string{"201ms second", "701ms first"}},
	} {
		sc := instant(1, 1)
		sc.Lock.GiveUp = c.giveUp
		sc.Network.Rules = []network.Rule{{From: "c1", To: "A", Nth: 1, Late: 700 * ms}}
		h := mustRun(t, sc, Do(func(p *Process) {
			p.Go(func(p *Process) { asks(p, redlock.OpAcquire, "first", 5*time.Second) })
			p.Sleep(200 * time.Millisecond)
			asks(p, redlock.OpAcquire, "second", 5*time.Second)
			p.Sleep(time.Second)
		}))
		var order []string
		for _, e := range h.Events() {
			if e.Kind == Executed {
				order = append(order, fmt.Sprint(time.Duration(e.At), " ", h.Text(e.Owner)))
			}
			if e.Kind == Heard && h.Text(e.Owner) == "first" && c.giveUp < sec {
				t.Errorf("%s: heard on a connection that was given up", c.name)
			}
		}
		sameLines(t, c.name, order, c.want...)
	}
}

// TestPartitions: both ways, one way there and one way back; in silence or refused.
func TestPartitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		cut      network.Cut
		want     string
		executed bool
	}{
		{"both ways", network.Cut{From: []string{"c1"}, To: []string{"A"}}, "A 1.05s no answer", false},
		{"requests only", network.Cut{From: []string{"c1"}, To: []string{"A"}, OneWay: true}, "A 1.05s no answer", false},
		{"replies only", network.Cut{From: []string{"A"}, To: []string{"c1"}, OneWay: true}, "A 1.05s no answer", true},
		{"refused", network.Cut{From: []string{"c1"}, To: []string{"A"}, Refuse: true}, "A 1.002s not sent: connection refused", false},
		{"over", network.Cut{From: []string{"c1"}, To: []string{"A"}, For: sec}, "A 1.002s granted", true},
		{"not yet", network.Cut{From: []string{"c1"}, To: []string{"A"}, At: sec + 2*ms}, "A 1.002s granted", true},
		{"another client's", network.Cut{From: []string{"c2"}, To: []string{"A"}}, "A 1.002s granted", true},
	} {
		sc := instant(2, 1)
		sc.Network.Cuts = []network.Cut{c.cut}
		var heard []string
		h := mustRun(t, sc, DoAs("c1", func(p *Process) {
			p.Sleep(time.Second)
			heard = asks(p, redlock.OpAcquire, "me", 50*time.Millisecond)
		}), DoAs("c2", func(p *Process) {}))
		sameLines(t, c.name, heard, c.want)
		executed := false
		for _, e := range h.Events() {
			executed = executed || e.Kind == Executed
		}
		if executed != c.executed {
			t.Errorf("%s: executed %v", c.name, executed)
		}
	}
}

// TestResourceAcrossTheNetwork: a write is lost, late and cut off like any message,
// and a fenced resource refuses what is stale.
func TestResourceAcrossTheNetwork(t *testing.T) {
	t.Parallel()
	sc := instant(1, 1)
	sc.Resources = []ResourceConfig{{Name: "S", Fenced: true}, {Name: "open"}}
	sc.Network.Rules = []network.Rule{{From: "c1", To: "S", Nth: 2, Drop: true}, {From: "c1", To: "S", Nth: 3, Late: 5 * ms}, {From: "S", To: "c1", Nth: 4, Drop: true}}
	var got []string
	mustRun(t, sc, Do(func(p *Process) {
		write := func(to string, fence uint64) {
			err := p.Resource(to).WriteFenced(p.Context(), fence)
			got = append(got, fmt.Sprintf("%s %d at %v: %v", to, fence, time.Duration(p.c.w.now), err))
		}
		for _, fence := range []uint64{7, 8, 9, 10, 9, 10, 0} {
			write("S", fence)
		}
		write("open", 0)
	}))
	sameLines(t, "writes", got,
		"S 7 at 2ms: <nil>",
		"S 8 at 502ms: no answer", // lost
		"S 9 at 509ms: <nil>",     // late
		"S 10 at 1.009s: no answer",
		"S 9 at 1.011s: sim: the resource refused a stale write", // 10 was carried out, its answer lost
		"S 10 at 1.013s: <nil>",
		"S 0 at 1.015s: sim: the resource refused a stale write",
		"open 0 at 1.017s: <nil>")
}

// TestOutageIsWaitedOut: for as long as the scenario says, or as the lock does of
// itself.
func TestOutageIsWaitedOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outage       clock.Duration
		after, until clock.Duration
	}{{0, 50 * ms, sec}, {3 * sec, 2900 * ms, 3200 * ms}, {10 * sec, 9900 * ms, 10200 * ms}} {
		sc := instant(1, 3)
		sc.Lock.Retry.Outage = c.outage
		sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"A", "B"}}}
		for _, e := range mustRun(t, sc).Events() {
			if e.Kind == Refused && (e.At < int64(c.after) || e.At > int64(c.until)) {
				t.Errorf("%v: gave up after %v, want %v to %v", c.outage, time.Duration(e.At), c.after, c.until)
			}
			if e.Kind == Refused {
				break
			}
		}
	}
}
