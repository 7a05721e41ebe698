package sim

import (
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/network"
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
	d := network.Path{Delay: network.Delay{Law: network.Uniform, Max: 100 * ms}}
	sc.Network.Request, sc.Network.Reply = d, d
	h := &History{}
	h.reset(&sc)
	return tale{h}
}

func (t tale) at(at int64, e Event) {
	e.At = at
	t.add(&e)
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

func (t tale) executed(at int64, op redlock.Op, s redlock.Status, client, node int, owner string, when int64) {
	t.at(at, Event{Kind: Executed, Op: op, Status: s, Client: int16(client), Node: int16(node), Key: t.text("k"), Owner: t.text(owner), Value: when})
}

func (t tale) asked(at int64, op redlock.Op, client int, owner string) {
	t.at(at, Event{Kind: Asked, Op: op, Client: int16(client), Node: -1, Key: t.text("k"), Owner: t.text(owner)})
}

// TestOwn: an extend or a release that touches the unexpired key of another
// acquisition breaks I5; one that finds it expired, or its own, does not.
func TestOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		at     int64
		op     redlock.Op
		status redlock.Status
		owner  string
		broken int
	}{
		{"another's key deleted", 100*milli - 1, redlock.OpRelease, redlock.Done, "y", 1},
		{"another's key extended", 100*milli - 1, redlock.OpExtend, redlock.Done, "y", 1},
		{"another's key, expired in this nanosecond", 100 * milli, redlock.OpRelease, redlock.Done, "y", 0},
		{"refused", 50 * milli, redlock.OpRelease, redlock.Others, "y", 0},
		{"its own", 50 * milli, redlock.OpRelease, redlock.Done, "x", 0},
	} {
		h := told(2, 3)
		h.grants(0, 0, "x", 100, 90*milli, 0, 1, 2)
		h.executed(c.at, c.op, c.status, 1, 0, c.owner, 500)
		if got := len(broken(Check(h.History), I5)); got != c.broken {
			t.Errorf("%s: I5 broken %d times, want %d", c.name, got, c.broken)
		}
	}
}

// TestHonest: each lie breaks I6, and the truth next to it does not.
func TestHonest(t *testing.T) {
	t.Parallel()
	granted := func(h tale, at int64, until int64, nodes ...int) {
		h.asked(0, redlock.OpAcquire, 0, "x")
		h.grants(at, 0, "x", 100, until, nodes...)
		h.events[len(h.events)-1].Local = at
	}
	for name, c := range map[string]struct {
		tell   func(h tale)
		broken int
	}{
		"granted at its deadline":      {func(h tale) { granted(h, 90*milli, 90*milli, 0, 1) }, 1},
		"granted 1 ns before":          {func(h tale) { granted(h, 90*milli-1, 90*milli, 0, 1) }, 0},
		"granted by 1 of 3":            {func(h tale) { granted(h, 0, 90*milli, 0) }, 1},
		"extended at its end":          {func(h tale) { granted(h, 0, 90*milli, 0, 1); h.says(90*milli, Extended, 0, "x", 190*milli) }, 1},
		"extended 1 ns before its end": {func(h tale) { granted(h, 0, 90*milli, 0, 1); h.says(90*milli-1, Extended, 0, "x", 190*milli) }, 0},
		"extended after it was told of the loss": {func(h tale) {
			granted(h, 0, 90*milli, 0, 1)
			h.says(50*milli, Unextended, 0, "x", 1)
			h.says(60*milli, Extended, 0, "x", 190*milli)
		}, 1},
		"held, by 1 of 3": {func(h tale) {
			h.asked(0, redlock.OpAcquire, 0, "x")
			h.executed(1, redlock.OpAcquire, redlock.Others, 0, 0, "x", 0)
			h.says(2, Refused, 0, "", int64(refusedHeld))
		}, 1},
		"held, by 1 with a grant of its own": {func(h tale) {
			h.asked(0, redlock.OpAcquire, 0, "x")
			h.executed(1, redlock.OpAcquire, redlock.Others, 0, 0, "x", 0)
			h.executed(1, redlock.OpAcquire, redlock.Done, 0, 1, "x", 100)
			h.says(2, Refused, 0, "", int64(refusedHeld))
		}, 0},
		"an outage, by 1 of 3": {func(h tale) {
			h.asked(0, redlock.OpAcquire, 0, "x")
			h.executed(1, redlock.OpAcquire, redlock.Others, 0, 0, "x", 0)
			h.says(2, Refused, 0, "", int64(refusedOutage))
		}, 0},
		"released, freed by 1 of 3": {func(h tale) {
			granted(h, 0, 90*milli, 0, 1)
			h.executed(5, redlock.OpRelease, redlock.Done, 0, 0, "x", 0)
			h.says(6, Released, 0, "x", 0)
		}, 1},
		"released, freed by 2 of 3": {func(h tale) {
			granted(h, 0, 90*milli, 0, 1)
			h.executed(5, redlock.OpRelease, redlock.Done, 0, 0, "x", 0)
			h.executed(5, redlock.OpRelease, redlock.Done, 0, 1, "x", 0)
			h.says(6, Released, 0, "x", 0)
		}, 0},
	} {
		h := told(2, 3)
		c.tell(h)
		if got := len(broken(Check(h.History), I6)); got != c.broken {
			t.Errorf("%s: I6 broken %d times, want %d: %v", name, got, c.broken, Check(h.History).Err())
		}
	}
}

// TestTidy: the bound of a tale is three times 100 ms of delay, its node timeout
// being less than one.
func TestTidy(t *testing.T) {
	t.Parallel()
	const returned = 10 * milli
	const bound = returned + 300*milli
	for name, c := range map[string]struct {
		ttl    int64 // of the key that B keeps, set at 0
		change func(h tale)
		margin []time.Duration
	}{
		"one ms longer":              {(bound + milli) / milli, nil, []time.Duration{-time.Millisecond}},
		"tie":                        {bound / milli, nil, nil},
		"the client crashed":         {1000, func(h tale) { h.scenario.Faults = []Fault{{Kind: "pause", On: "c1", At: ms, For: ms}} }, nil},
		"the node was down":          {1000, func(h tale) { h.scenario.Faults = []Fault{{Kind: "crash", On: "B", At: ms, For: ms}} }, nil},
		"another node was down":      {1000, func(h tale) { h.scenario.Faults = []Fault{{Kind: "crash", On: "C", At: ms, For: ms}} }, []time.Duration{-690 * time.Millisecond}},
		"a message to B was lost":    {1000, func(h tale) { h.at(5*milli, Event{Kind: Sent, Client: 0, Node: 1, Value: -1}) }, nil},
		"another's message was":      {1000, func(h tale) { h.at(5*milli, Event{Kind: Sent, Client: 1, Node: 1, Value: -1}) }, []time.Duration{-690 * time.Millisecond}},
		"lost after the bound":       {1000, func(h tale) { h.at(bound+1, Event{Kind: Sent, Client: 0, Node: 1, Value: -1}) }, []time.Duration{-690 * time.Millisecond}},
		"the delay has no bound":     {1000, func(h tale) { h.scenario.Network.Reply.Delay = network.Delay{Law: network.Pareto, Min: ms} }, nil},
		"the release came in time":   {1000, func(h tale) { h.executed(bound, redlock.OpRelease, redlock.Done, 0, 1, "x", 0) }, nil},
		"the run ends at the bound":  {1000, func(h tale) { h.scenario.Until, h.scenario.Grace = clock.Duration(bound-1), 1 }, []time.Duration{-690 * time.Millisecond}},
		"the run ends 1 ns before":   {1000, func(h tale) { h.scenario.Until, h.scenario.Grace = clock.Duration(bound-2), 1 }, nil},
		"at once, 1 ms too long":     {61, func(h tale) { h.scenario.Network = network.Config{} }, []time.Duration{-time.Millisecond}},
		"at once, tie":               {60, func(h tale) { h.scenario.Network = network.Config{} }, nil}, // after the node timeout of 50 ms
		"the release came 1 ns late": {1000, func(h tale) { h.executed(bound+1, redlock.OpRelease, redlock.Done, 0, 1, "x", 0) }, []time.Duration{-1}},
	} {
		h := told(2, 3)
		h.asked(0, redlock.OpAcquire, 0, "x")
		h.executed(0, redlock.OpAcquire, redlock.Done, 0, 1, "x", c.ttl)
		h.says(returned, Refused, 0, "", int64(refusedOutage))
		if c.change != nil {
			c.change(h)
		}
		got := broken(Check(h.History), I7)
		if len(got) != len(c.margin) || len(got) > 0 && got[0] != c.margin[0] {
			t.Errorf("%s: I7 broken by %v, want %v", name, got, c.margin)
		}
	}
	// The same after a release that has returned.
	h := told(2, 3)
	h.asked(0, redlock.OpAcquire, 0, "x")
	h.grants(0, 0, "x", 1000, 900*milli, 0, 1)
	h.executed(5*milli, redlock.OpRelease, redlock.Done, 0, 0, "x", 0)
	h.says(returned, Released, 0, "x", 0)
	if got := broken(Check(h.History), I7); len(got) != 1 || got[0] != -690*time.Millisecond {
		t.Errorf("after a release: I7 broken by %v, want -690ms", got)
	}
	// And after an attempt that another one, a pause or the end of its process ends.
	for _, k := range []EventKind{Asked, Slept, Ended} {
		h := told(2, 3)
		h.asked(0, redlock.OpAcquire, 0, "x")
		h.executed(0, redlock.OpAcquire, redlock.Done, 0, 1, "x", 1000)
		h.at(returned, Event{Kind: k, Op: redlock.OpAcquire, Client: 0, Node: -1, Key: h.text("k"), Owner: h.text("y")})
		if got := broken(Check(h.History), I7); len(got) != 1 || got[0] != -690*time.Millisecond {
			t.Errorf("after %v: I7 broken by %v, want -690ms", k, got)
		}
	}
}

// TestAnswersAreCounted: what nodes answer to an acquire, before and after its caller
// has stopped waiting for it.
func TestAnswersAreCounted(t *testing.T) {
	t.Parallel()
	stops := map[string]func(h tale){
		"goes on":  func(tale) {},
		"granted":  func(h tale) { h.says(milli, Granted, 0, "x", 900*milli) },
		"releases": func(h tale) { h.asked(milli, redlock.OpRelease, 0, "x") },
	}
	for name, stop := range stops {
		for _, op := range []redlock.Op{redlock.OpAcquire, redlock.OpRelease, node.OpAcquireCount} {
			for _, status := range []redlock.Status{redlock.Failed, redlock.Done, redlock.Gone, redlock.Others, redlock.Ours} {
				for _, begun := range []bool{true, false} { // or a token from elsewhere
					h := told(2, 3)
					if begun {
						h.asked(0, redlock.OpAcquire, 0, "x")
					}
					stop(h)
					h.executed(2*milli, op, status, 0, 1, "x", 1000)
					want := map[Probe]int{}
					if op != redlock.OpRelease {
						want[ProbeOurs] = map[redlock.Status]int{redlock.Ours: 1}[status]
						want[ProbeFenceRefused] = map[redlock.Status]int{redlock.Gone: 1}[status]
						if name != "goes on" {
							want[ProbeLateGrant] = map[redlock.Status]int{redlock.Done: 1}[status]
						}
					}
					v := Check(h.History)
					for _, p := range []Probe{ProbeOurs, ProbeFenceRefused, ProbeLateGrant} {
						if got := v.Probes[p]; got != want[p] {
							t.Errorf("%s, %s answered %v, begun %v: %v %d times, want %d", name, node.Word(op), status, begun, p, got, want[p])
						}
					}
				}
			}
		}
	}
}

// TestFence: numbers that do not grow break I3, and so does a resource that
// accepts a write of an earlier lease after one of a later.
func TestFence(t *testing.T) {
	t.Parallel()
	const q = 3 // the resource's number, after three nodes
	write := func(h tale, at int64, client int, nth uint32, s redlock.Status) {
		h.at(at, Event{Kind: Wrote, Client: int16(client), Node: q, Nth: nth})
		h.at(at+milli, Event{Kind: Stored, Status: s, Client: int16(client), Node: q, Nth: nth})
	}
	asks := func(h tale, at int64) {
		h.at(at, Event{Kind: Asked, Op: redlock.OpAcquire, Client: 1, Node: -1, Key: h.text("k"), Owner: h.text("z")})
	}
	for name, c := range map[string]struct {
		tell   func(h tale)
		broken int
	}{
		"equal numbers":  {func(h tale) { h.says(1, Fenced, 0, "x", 7); h.says(2, Fenced, 1, "y", 7) }, 1},
		"a lower number": {func(h tale) { h.says(1, Fenced, 0, "x", 7); h.says(2, Fenced, 1, "y", 6) }, 1},
		"a higher one":   {func(h tale) { h.says(1, Fenced, 0, "x", 7); h.says(2, Fenced, 1, "y", 8) }, 0},
		"a lower number, of an attempt that overlaps":   {func(h tale) { asks(h, 0); h.says(1, Fenced, 0, "x", 7); h.says(2, Fenced, 1, "z", 6) }, 0},
		"an equal number, of an attempt that overlaps":  {func(h tale) { asks(h, 0); h.says(1, Fenced, 0, "x", 7); h.says(2, Fenced, 1, "z", 7) }, 1},
		"a lower number, of an attempt that began then": {func(h tale) { asks(h, 1); h.says(1, Fenced, 0, "x", 7); h.says(2, Fenced, 1, "z", 6) }, 1},
		"below the highest, above the last": {func(h tale) {
			asks(h, 0)
			h.says(1, Fenced, 0, "x", 9)
			h.says(2, Fenced, 1, "z", 6)
			h.says(3, Fenced, 0, "y", 8)
		}, 1},
		"of another key": {func(h tale) {
			h.says(1, Fenced, 0, "x", 7)
			h.at(2, Event{Kind: Fenced, Client: 1, Node: -1, Key: h.text("other"), Owner: h.text("y"), Value: 7})
		}, 0},
		"the old lease writes after the new one": {func(h tale) { write(h, 210*milli, 1, 1, redlock.Done); write(h, 220*milli, 0, 1, redlock.Done) }, 1},
		"and is refused":                         {func(h tale) { write(h, 210*milli, 1, 1, redlock.Done); write(h, 220*milli, 0, 1, redlock.Others) }, 0},
		"the old one writes before":              {func(h tale) { write(h, 210*milli, 0, 1, redlock.Done); write(h, 220*milli, 1, 1, redlock.Done) }, 0},
		"sent before, it arrives after": {func(h tale) {
			h.at(201*milli, Event{Kind: Wrote, Client: 0, Node: q, Nth: 1})
			write(h, 210*milli, 1, 1, redlock.Done)
			h.at(220*milli, Event{Kind: Stored, Status: redlock.Done, Client: 0, Node: q, Nth: 1})
		}, 1},
	} {
		h := told(2, 3)
		h.scenario.Resources = []ResourceConfig{{Name: "S"}}
		h.grants(0, 0, "x", 100, 90*milli, 0, 1)
		h.grants(200*milli, 1, "y", 100, 290*milli, 0, 1)
		c.tell(h)
		if got := len(broken(Check(h.History), I3)); got != c.broken {
			t.Errorf("%s: I3 broken %d times, want %d", name, got, c.broken)
		}
	}
}

// TestLive: somebody waits from 10 ms on, and the bound is 100 ms.
func TestLive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tell   func(h tale)
		margin []time.Duration
	}{
		"granted 1 ns late": {func(h tale) { h.grants(110*milli+1, 0, "x", 100, 200*milli, 0, 1) }, []time.Duration{-1}},
		"tie":               {func(h tale) { h.grants(110*milli, 0, "x", 100, 200*milli, 0, 1) }, nil},
		"another was granted meanwhile": {func(h tale) {
			h.grants(60*milli, 1, "y", 100, 61*milli, 0, 1)
			h.grants(161*milli, 0, "x", 100, 200*milli, 0, 1)
		}, nil},
		"another trusts it": {func(h tale) {
			h.grants(60*milli, 1, "y", 1000, 500*milli, 0, 1)
			h.says(600*milli, Refused, 0, "", 0)
		}, nil},
		"it gave up": {func(h tale) { h.says(110*milli, Refused, 0, "", 0) }, nil},
		"it is over": {func(h tale) { h.says(110*milli, Ended, 0, "", 0) }, nil},
		"it crashed": {func(h tale) {
			h.scenario.Faults = []Fault{{Kind: "crash", On: "c1"}}
			h.says(110*milli, Faulted, 0, "", 0)
		}, nil},
		"the run was over":   {func(h tale) { h.says(110*milli, Over, -1, "", 0) }, nil},
		"nobody is told yet": {func(h tale) { h.scenario.Live.From = clock.Duration(50 * milli); h.says(150*milli, Refused, 0, "", 0) }, nil},
	} {
		h := told(2, 3)
		h.scenario.Live = &Live{Within: clock.Duration(100 * milli)}
		h.says(10*milli, Wanted, 0, "", 0)
		c.tell(h)
		got := broken(Check(h.History), I4)
		if len(got) != len(c.margin) || len(got) > 0 && got[0] != c.margin[0] {
			t.Errorf("%s: I4 broken by %v, want %v", name, got, c.margin)
		}
	}
}

// TestLiveBound: what may hold up a waiter when faults are over, and when nothing
// can be said.
func TestLiveBound(t *testing.T) {
	t.Parallel()
	const keys, rounds = 10*sec + 2*ms, 500*ms + 50*ms + liveTries*(50*ms+2*50*ms+2*ms) // what was begun, and attempts
	for name, c := range map[string]struct {
		change func(sc *Scenario)
		bound  clock.Duration // 0: none
		why    string
	}{
		"no fault at all":        {func(*Scenario) {}, keys + rounds, ""},
		"longer TTLs":            {func(sc *Scenario) { sc.Clients[0].Steps[0].TTL = 20 * sec }, keys + 10*sec + rounds, ""},
		"one slow node of three": {func(sc *Scenario) { sc.Nodes[0].Clock.Rate = clock.Ratio(1, 2) }, keys + rounds, ""},
		"two": {func(sc *Scenario) {
			sc.Nodes[0].Clock.Rate, sc.Nodes[1].Clock.Rate = clock.Ratio(1, 2), clock.Ratio(1, 2)
		}, 2*keys + rounds, ""},
		"a slow client":          {func(sc *Scenario) { sc.Clients[1].Clock.Rate = clock.Ratio(1, 2) }, keys + 2*rounds, ""},
		"one node down for good": {func(sc *Scenario) { sc.Faults = []Fault{{Kind: "crash", On: "A", At: sec}} }, keys + rounds, ""},
		"two down for good": {func(sc *Scenario) {
			sc.Faults = []Fault{{Kind: "crash", On: "A", At: sec}, {Kind: "crash", On: "B", At: sec}}
		}, 0, "1 of 3 nodes are there to stay, and a quorum is 2"},
		"one paused from then on": {func(sc *Scenario) {
			sc.Faults = []Fault{{Kind: "pause", On: "A", At: 20 * sec, For: sec}, {Kind: "crash", On: "B", At: sec}}
		}, 0, "1 of 3 nodes"},
		"one paused until then": {func(sc *Scenario) {
			sc.Faults = []Fault{{Kind: "pause", On: "A", At: 4 * sec, For: sec}, {Kind: "crash", On: "B", At: sec}}
		}, keys + rounds, ""},
		"two set back before": {func(sc *Scenario) {
			sc.Faults = []Fault{{Kind: "step", On: "A", At: sec, By: -3 * sec}, {Kind: "step", On: "B", At: 2 * sec, By: -4 * sec}, {Kind: "crash", On: "C", At: sec}}
		}, keys + 4*sec - 1 + rounds, ""}, // keys of the last nanosecond before the step
		"a frozen node": {func(sc *Scenario) {
			sc.Faults = []Fault{{Kind: "freeze", On: "A", At: sec, For: 3600 * sec}, {Kind: "crash", On: "B", At: sec}}
		}, 3600*sec - 4*sec + keys + rounds, ""},
		"cut off from one": {func(sc *Scenario) {
			sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"A", "B"}}}
		}, 0, "1 of 3 nodes"},
		"one that is dead": {func(sc *Scenario) {
			sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"A", "B"}}}
			sc.Faults = []Fault{{Kind: "crash", On: "c1", At: sec}}
		}, keys + rounds, ""},
		"too far": {func(sc *Scenario) {
			sc.Network.Paths = map[string]network.Path{"c1>A": {Delay: network.Delay{Min: 26 * ms}}, "B>c2": {Delay: network.Delay{Min: 60 * ms}}}
		}, keys + rounds, ""},
		"two too far": {func(sc *Scenario) {
			sc.Network.Paths = map[string]network.Path{"c1>A": {Delay: network.Delay{Min: 51 * ms}}, "B>c2": {Delay: network.Delay{Min: 60 * ms}}}
		}, 0, "1 of 3 nodes"},
		"too far for the validity that is asked": {func(sc *Scenario) { sc.Lock.MinValidity = 9898*ms - ms/5 }, 0, "0 of 3 nodes"},
		"no jitter":                              {func(sc *Scenario) { sc.Lock.Retry.Min = 50 * ms }, 0, "2 clients pause for 50ms each time"},
		"less than the least pause":              {func(sc *Scenario) { sc.Lock.Retry.Min, sc.Lock.Retry.Max = ms/10, ms/2 }, 0, "2 clients pause for 1ms each time"},
		"no jitter among one": {func(sc *Scenario) {
			sc.Lock.Retry.Min = 50 * ms
			sc.Faults = []Fault{{Kind: "crash", On: "c2", At: sec}}
		}, keys + rounds, ""},
		"a clock that was set back": {func(sc *Scenario) {
			sc.Clients[1].Lives = Wall
			sc.Faults = []Fault{{Kind: "step", On: "c2", At: sec, By: -7 * sec}}
		}, keys + rounds + 3*sec - 1, ""},
	} {
		sc := plain(2, 3)
		sc.Live = &Live{From: 5 * sec}
		c.change(&sc)
		if name == "two set back before" {
			sc.Live.From = 2 * sec
		}
		bound, why := liveBound(&sc, nil)
		if clock.Duration(bound) != c.bound || !strings.HasPrefix(why, c.why) || (why == "") != (c.bound > 0) {
			t.Errorf("%s: %v %q, want %v %q", name, clock.Duration(bound), why, c.bound, c.why)
		}
	}
}
