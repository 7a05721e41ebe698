package sim

import (
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/node"
)

// tale is a history made by hand, to try the checks at the nanosecond.
type tale struct{ *History }

// told begins a tale of clients c1, c2, … on nodes whose keys end when their
// wall clock reads their expiry (non-strict).
func told(clients, nodes int) tale {
	sc := plain(clients, nodes)
	for i := range sc.Nodes {
		sc.Nodes[i].Expiry = node.NonStrict
	}
	h := &History{}
	h.reset(sc)
	return tale{h}
}

func (t tale) at(at int64, e Event) {
	e.At = at
	t.add(e)
}

// grants has nodes grant "k" to an owner for so many ms, and then its client
// trust it until a reading of its clock.
func (t tale) grants(at int64, client int, owner string, ttl, until int64, nodes ...int) {
	for _, n := range nodes {
		t.at(at, Event{Kind: Executed, Op: redlock.OpAcquire, Status: redlock.Done, Client: int16(client), Node: int16(n), Key: t.text("k"), Owner: t.text(owner), Value: at/1e6 + ttl})
	}
	t.at(at, Event{Kind: Granted, Client: int16(client), Node: -1, Key: t.text("k"), Owner: t.text(owner), Value: until, Nth: uint32(ttl)})
}

func (t tale) says(at int64, k EventKind, client int, owner string, value int64) {
	t.at(at, Event{Kind: k, Client: int16(client), Node: -1, Key: t.text("k"), Owner: t.text(owner), Value: value})
}

// broken are the margins of the violations of an invariant.
func broken(v Verdict, inv Invariant) (margins []time.Duration) {
	for _, x := range v.Violations {
		if x.Invariant == inv {
			margins = append(margins, x.Margin)
		}
	}
	return margins
}

const milli = int64(time.Millisecond)

// TestSound: I2 breaks by a nanosecond, holds at the tie, and holds by one.
func TestSound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		until  int64 // reading at which trust ends; the keys end at 100 ms
		nodes  int
		by     []int
		broken bool
		margin int64
	}{
		{"one ns too long", 100*milli + 1, 5, []int{0, 1, 2}, true, -1},
		{"tie", 100 * milli, 5, []int{0, 1, 2}, false, 0},
		{"one ns to spare", 100*milli - 1, 5, []int{0, 1, 2}, false, 1},
		{"slack does not help keys that end together", 100*milli + 1, 5, []int{0, 1, 2, 3, 4}, true, -1},
		{"below N-q+1 from the start", 100 * milli, 5, []int{0, 1}, true, -100 * milli},
		{"of 4 nodes 2 that block are enough", 100 * milli, 4, []int{0, 1}, false, 0},
		{"of 4 nodes 1 is not", 100 * milli, 4, []int{0}, true, -100 * milli},
		{"of 1 node 1 is", 100 * milli, 1, []int{0}, false, 0},
	} {
		h := told(1, c.nodes)
		h.grants(0, 0, "x", 100, c.until, c.by...)
		v := Check(h.History)
		m, _ := v.Margin()
		if got := len(broken(v, I2)) > 0; got != c.broken || int64(m) != c.margin {
			t.Errorf("%s: broken %v by %d ns, want %v by %d", c.name, got, m, c.broken, c.margin)
		}
	}
}

// TestSlackIsLost: with five grants the third loss is the one that counts.
func TestSlackIsLost(t *testing.T) {
	t.Parallel()
	h := told(1, 5)
	h.grants(0, 0, "x", 100, 90*milli, 0, 1, 2, 3, 4)
	for i, at := range []int64{10, 20, 30} {
		h.at(at*milli, Event{Kind: Holds, Client: -1, Node: int16(i), Key: h.text("k")})
	}
	v := Check(h.History)
	if l := v.Leases[0]; l.ExclusionEnds != 30*milli || l.Margin() != -60*time.Millisecond {
		t.Errorf("exclusion ends at %v", time.Duration(l.ExclusionEnds))
	}
	if v.Probes[ProbeForgot] != 3 {
		t.Errorf("%d nodes forgot, want 3", v.Probes[ProbeForgot])
	}
}

// TestMutex: I1 breaks if the second grant comes 1 ns before the first trust
// ends, and holds at the tie.
func TestMutex(t *testing.T) {
	t.Parallel()
	const trust = 100 * milli
	for _, c := range []struct {
		name   string
		second int64
		change func(h tale)
		margin []time.Duration
	}{
		{"one ns early", trust - 1, nil, []time.Duration{-1}},
		{"tie", trust, nil, nil},
		{"one ns late", trust + 1, nil, nil},
		{"after the release was called", 50 * milli, func(h tale) { h.says(50*milli, Releasing, 0, "x", 0) }, nil},
		{"one ns before it", 50*milli - 1, func(h tale) { h.says(50*milli, Releasing, 0, "x", 0) }, []time.Duration{-1}},
		{"after the holder was told of the loss", 50 * milli, func(h tale) { h.says(50*milli, Unextended, 0, "x", 1) }, nil},
		{"an extension that failed otherwise ends nothing", 60 * milli, func(h tale) { h.says(50*milli, Unextended, 0, "x", 0) }, []time.Duration{-40 * time.Millisecond}},
		{"an extension moves the end", trust + 5*milli, func(h tale) { h.says(50*milli, Extended, 0, "x", 110*milli) }, []time.Duration{-5 * time.Millisecond}},
		{"an extension after the end is a lease of its own", trust + 5*milli, func(h tale) { h.says(102*milli, Extended, 0, "x", 110*milli) }, []time.Duration{-5 * time.Millisecond}},
	} {
		h := told(2, 5)
		h.grants(0, 0, "x", 1000, trust, 0, 1, 2)
		if c.change != nil {
			c.change(h)
		}
		h.grants(c.second, 1, "y", 1000, c.second+trust, 2, 3, 4)
		v := Check(h.History)
		got := broken(v, I1)
		if len(got) != len(c.margin) || len(got) > 0 && got[0] != c.margin[0] {
			t.Errorf("%s: I1 broken by %v, want %v", c.name, got, c.margin)
		}
	}
}

// Trust is a matter of the holder's clock, and keys are of their nodes'.
func TestEachOnItsOwnClock(t *testing.T) {
	t.Parallel()
	h := told(1, 3)
	sc := &h.scenario
	sc.Clients[0].Clock.Rate = clock.Ratio(198, 199)
	for i := range sc.Nodes {
		sc.Nodes[i].Clock.Rate = clock.Ratio(200, 199)
	}
	h.grants(0, 0, "x", 10_000, 9_900*milli, 0, 1)
	l := Check(h.History).Leases[0]
	if l.TrustEnds != 9_950*milli || l.ExclusionEnds != 9_950*milli {
		t.Errorf("G3: trust ends at %v, exclusion at %v, want 9.95s both", time.Duration(l.TrustEnds), time.Duration(l.ExclusionEnds))
	}
	if l.Required.String() != "0.010000000" {
		t.Errorf("required factor %v, want 0.01", l.Required)
	}
}

// A node that is down or paused blocks, whatever its clock says.
func TestAwayNodesBlock(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]int64{"pause": 200 * milli, "crash": 200 * milli, "suspend": 200 * milli, "rate": 100 * milli} {
		h := told(1, 3)
		h.scenario.Faults = []Fault{{Kind: kind, On: "B", At: clock.Duration(50 * milli), For: clock.Duration(150 * milli)}}
		h.grants(0, 0, "x", 100, 100*milli, 0, 1)
		h.scenario.Nodes[0].Expiry = node.Strict // A's key ends at 101 ms
		if got := Check(h.History).Blocks[1].To; got != want {
			t.Errorf("%s: B blocks until %v, want %v", kind, time.Duration(got), time.Duration(want))
		}
		if got := Check(h.History).Blocks[0].To; got != 101*milli {
			t.Errorf("strict expiry: A blocks until %v, want 101ms", time.Duration(got))
		}
	}
}
