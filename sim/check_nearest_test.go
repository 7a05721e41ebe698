package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"driftlock/redlock"
)

// The nearest misses that the other tests of the checks leave open. Each was
// found by a mutant that no test noticed (TestMutants).

// TestNearestKeys: leases of different keys have nothing to do with each other.
func TestNearestKeys(t *testing.T) {
	t.Parallel()
	h := told(2, 5)
	h.grants(0, 0, "x", 1000, 900*milli, 0, 1, 2)
	h.at(0, Event{Kind: Granted, Client: 1, Node: -1, Key: h.text("j"), Owner: h.text("y"), Value: 900 * milli, Nth: 1000})
	if got := broken(Check(h.History), I1); len(got) > 0 {
		t.Errorf("I1 broken by %v between two keys", got)
	}
}

// TestNearestCrash: a client that crashed believes nothing any more.
func TestNearestCrash(t *testing.T) {
	t.Parallel()
	h := told(2, 3)
	h.scenario.Faults = []Fault{{Kind: "crash", On: "c1", At: 50 * ms}}
	h.grants(0, 0, "x", 100, 90*milli, 0, 1, 2)
	h.grants(10*milli, 1, "y", 100, 95*milli)
	h.at(50*milli, Event{Kind: Faulted, Client: 0, Node: -1})
	if l := Check(h.History).Leases; l[0].TrustEnds != 50*milli || l[1].TrustEnds != 95*milli {
		t.Errorf("trust ends at %d and %d, want 50 ms and 95 ms", l[0].TrustEnds, l[1].TrustEnds)
	}
}

// TestNearestExtension: an extension in the instant in which trust ends comes too
// late, and one that says less than what is trusted changes nothing.
func TestNearestExtension(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at, until int64
		leases    int
		trust     int64 // of the last
	}{
		{100*milli - 1, 150 * milli, 1, 150 * milli},
		{100 * milli, 150 * milli, 2, 150 * milli},
		{50 * milli, 80 * milli, 1, 100 * milli},
	} {
		h := told(1, 3)
		h.grants(0, 0, "x", 1000, 100*milli, 0, 1, 2)
		h.says(c.at, Extended, 0, "x", c.until)
		l := Check(h.History).Leases
		if last := l[len(l)-1]; len(l) != c.leases || last.TrustEnds != c.trust || last.Late != (c.leases == 2) {
			t.Errorf("extended at %d until %d: %+v, want %d leases, trusted until %d", c.at, c.until, l, c.leases, c.trust)
		}
	}
}

// TestNearestSlack: what a search steers by leaves the release out of account.
func TestNearestSlack(t *testing.T) {
	t.Parallel()
	h := told(1, 3)
	h.asked(0, redlock.OpAcquire, 0, "x")
	h.grants(0, 0, "x", 100, 90*milli, 0, 1, 2)
	h.says(50*milli, Releasing, 0, "x", 0)
	for n := range 3 {
		h.executed(51*milli, redlock.OpRelease, redlock.Done, 0, n, "x", 0)
	}
	if l := Check(h.History).Leases[0]; l.Margin() != time.Millisecond || l.Slack() != 10*time.Millisecond {
		t.Errorf("margin %v, slack %v; want 1ms, 10ms", l.Margin(), l.Slack())
	}
}

// TestNearestFence: a number is compared with the highest before it, and a holder
// may write twice.
func TestNearestFence(t *testing.T) {
	t.Parallel()
	h := told(2, 3)
	h.scenario.Resources = []ResourceConfig{{Name: "S"}}
	for i, n := range []int64{5, 3, 4, 6} {
		h.says(int64(i), Fenced, 0, "x", n)
	}
	h.grants(10*milli, 0, "x", 100, 90*milli, 0, 1)
	for nth := range uint32(2) {
		h.at(20*milli, Event{Kind: Wrote, Client: 0, Node: 3, Nth: nth + 1})
		h.at(20*milli, Event{Kind: Stored, Status: redlock.Done, Client: 0, Node: 3, Nth: nth + 1})
	}
	if got := len(broken(Check(h.History), I3)); got != 2 {
		t.Errorf("I3 broken %d times, want twice: by 3 and by 4", got)
	}
}

// TestNearestAttempt: keys of a later attempt with the same owner value are not
// held against the first, whose own are.
func TestNearestAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent   int64 // when the request was sent that set the key
		client int
		broken int
	}{
		"sent for the first": {0, 0, 1}, "sent for the second": {20 * milli, 0, 0}, "another client's": {0, 1, 0},
	} {
		h := told(2, 3)
		h.asked(0, redlock.OpAcquire, 0, "x")
		h.at(c.sent, Event{Kind: Sent, Op: redlock.OpAcquire, Client: int16(c.client), Node: 1, Nth: 2, Key: h.text("k"), Owner: h.text("x"), Value: 30 * milli})
		h.says(10*milli, Slept, 0, "", 0)
		h.asked(20*milli, redlock.OpAcquire, 0, "x")
		h.at(30*milli, Event{Kind: Executed, Op: redlock.OpAcquire, Status: redlock.Done, Client: int16(c.client), Node: 1, Nth: 2, Key: h.text("k"), Owner: h.text("x"), Value: 5000})
		if got := len(broken(Check(h.History), I7)); got != c.broken {
			t.Errorf("%s: I7 broken %d times, want %d", name, got, c.broken)
		}
	}
}

// TestNearestExclusion: exclusion ends at the first instant at which too few nodes
// block, in whatever order blocks begin and end.
func TestNearestExclusion(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		c := checker{nodes: make([]keeper, 1+draw.IntN(7))}
		var all, ordered []interval
		for range draw.IntN(9) {
			x := interval{from: draw.Int64N(6)}
			x.to = x.from + draw.Int64N(6)
			all, ordered = append(all, x), byEnd(ordered, x)
		}
		want := int64(2)
		for ; blocking(all, want) >= c.mustBlock(); want++ {
		}
		if got := c.excluded(2, ordered); got != want {
			t.Fatalf("of %d nodes some block at %v: excluded from 2 to %d, want %d", len(c.nodes), all, got, want)
		}
	}
}

// blocking is how many of the blocks there are at an instant.
func blocking(all []interval, at int64) (n int) {
	for _, x := range all {
		if x.from <= at && at < x.to {
			n++
		}
	}
	return n
}
