package sim

import (
	"slices"
	"testing"
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"
)

// TestOneOwnerValueForTwo: acquisitions are told apart though they share an owner
// value, which no good lock would let them.
func TestOneOwnerValueForTwo(t *testing.T) {
	t.Parallel()
	h := told(2, 3)
	h.asked(0, redlock.OpAcquire, 0, "x")
	h.grants(0, 0, "x", 100, 90*milli, 0, 1)
	h.asked(50*milli, redlock.OpAcquire, 1, "x")
	h.grants(50*milli, 1, "x", 100, 140*milli, 2)
	if got := broken(Check(h.History), I1); len(got) != 1 || got[0] != -40*time.Millisecond {
		t.Errorf("I1 broken by %v, want -40ms", got)
	}
	h.says(60*milli, Releasing, 1, "x", 0)
	v := Check(h.History)
	if l := v.Leases; l[0].TrustEnds != 90*milli || l[1].TrustEnds != 60*milli {
		t.Errorf("the second's release ended trust at %d and %d, want its own only", l[0].TrustEnds, l[1].TrustEnds)
	}
}

// TestTokenInOtherHands: a token that was handed over is one acquisition, and
// whoever releases it ends it.
func TestTokenInOtherHands(t *testing.T) {
	t.Parallel()
	h := told(2, 3)
	h.asked(0, redlock.OpAcquire, 0, "x")
	h.grants(0, 0, "x", 100, 90*milli, 0, 1)
	h.says(50*milli, Extended, 1, "x", 80*milli)
	if got := broken(Check(h.History), I1); len(got) > 0 {
		t.Errorf("I1 broken by %v within one acquisition", got)
	}
	h = told(2, 3)
	h.asked(0, redlock.OpAcquire, 0, "x")
	h.grants(0, 0, "x", 100, 90*milli, 0, 1)
	h.says(60*milli, Releasing, 1, "x", 0)
	h.executed(60*milli, redlock.OpRelease, redlock.Done, 1, 0, "x", 0)
	v := Check(h.History)
	if l := v.Leases[0]; l.TrustEnds != 60*milli || !v.OK() {
		t.Errorf("trust ends at %d, want 60 ms; %v", l.TrustEnds, v.Err())
	}
}

// TestOwnOfAnotherAttempt: with one owner value for two attempts a release is of
// the one it was sent for.
func TestOwnOfAnotherAttempt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		client int
		nth    uint32 // of the release; the key was set by message 3 of client 0
		asked  bool   // client 1 made an attempt with that value
		broken int
	}{
		{"sent after the acquire", 0, 4, false, 0},
		{"in one batch with it", 0, 3, false, 0},
		{"sent before it", 0, 2, false, 1},
		{"handed over", 1, 1, false, 0},
		{"of an attempt of its own", 1, 1, true, 1},
	} {
		h := told(2, 3)
		h.asked(0, redlock.OpAcquire, 0, "x")
		if c.asked {
			h.asked(0, redlock.OpAcquire, 1, "x")
		}
		h.at(0, Event{Kind: Executed, Op: redlock.OpAcquire, Status: redlock.Done, Client: 0, Node: 0, Nth: 3, Key: h.text("k"), Owner: h.text("x"), Value: 100})
		h.at(50*milli, Event{Kind: Executed, Op: redlock.OpRelease, Status: redlock.Done, Client: int16(c.client), Node: 0, Nth: c.nth, Key: h.text("k"), Owner: h.text("x")})
		if got := len(broken(Check(h.History), I5)); got != c.broken {
			t.Errorf("%s: I5 broken %d times, want %d", c.name, got, c.broken)
		}
	}
}

// TestRawOperations: what each operation that no lock should use does to what a
// node blocks for.
func TestRawOperations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op    redlock.Op
		owner string
		when  int64 // the node's answer
		want  []Block
		i5    int
	}{
		{node.OpDelete, "y", 0, []Block{{Owner: "x", To: 50 * milli, Ends: Deleted}}, 1},
		{node.OpDelete, "x", 0, []Block{{Owner: "x", To: 50 * milli, Ends: Freed}}, 0},
		{node.OpExpire, "y", 60, []Block{{Owner: "x", To: 60 * milli, Ends: Expired}}, 1},
		{node.OpExpireOwn, "x", 60, []Block{{Owner: "x", To: 60 * milli, Ends: Expired}}, 0},
		{node.OpExtendOrSet, "x", 150, []Block{{Owner: "x", To: 150 * milli, Ends: Expired}}, 0},
		{node.OpSetForGood, "y", node.Forever, []Block{{Owner: "x", To: 50 * milli, Ends: Deleted}, {Owner: "y", To: node.Forever * 1e6, Ends: Expired}}, 0},
	} {
		h := told(2, 3)
		h.asked(0, redlock.OpAcquire, 0, "x")
		h.executed(0, redlock.OpAcquire, redlock.Done, 0, 0, "x", 100)
		h.executed(50*milli, c.op, redlock.Done, 0, 0, c.owner, c.when)
		v := Check(h.History)
		same := slices.EqualFunc(v.Blocks, c.want, func(a, b Block) bool { return a.Owner == b.Owner && a.To == b.To && a.Ends == b.Ends })
		if got := len(broken(v, I5)); !same || got != c.i5 {
			t.Errorf("%s as %s: blocks %+v, want %+v; I5 broken %d times, want %d", node.Word(c.op), c.owner, v.Blocks, c.want, got, c.i5)
		}
	}
	// A key that is set anew where it has expired is a new one.
	h := told(1, 3)
	h.executed(0, redlock.OpAcquire, redlock.Done, 0, 0, "x", 100)
	h.executed(120*milli, node.OpExtendOrSet, redlock.Done, 0, 0, "x", 220)
	if b := Check(h.History).Blocks; len(b) != 2 || b[0].To != 100*milli || b[1].From != 120*milli || b[1].To != 220*milli {
		t.Errorf("blocks %+v", b)
	}
}

// TestHeldByNobody: that another holds the lock is no answer where only one's own
// keys stand.
func TestHeldByNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		granted, held, broken int
	}{
		{3, 0, 1}, {5, 0, 1}, {2, 1, 0}, {4, 1, 0}, {2, 0, 1}, {1, 1, 1},
	} {
		h := told(1, 5)
		h.asked(0, redlock.OpAcquire, 0, "x")
		for n := range c.granted + c.held {
			s := redlock.Done
			if n >= c.granted {
				s = redlock.Others
			}
			h.executed(0, redlock.OpAcquire, s, 0, n, "x", 0)
		}
		h.says(1, Refused, 0, "", int64(refusedHeld))
		if got := len(broken(Check(h.History), I6)); got != c.broken {
			t.Errorf("%d granted, %d held: I6 broken %d times, want %d", c.granted, c.held, got, c.broken)
		}
	}
}

// TestLateExtensionIsNoNewGrant: a write after an extension that came too late is
// a write of the old acquisition.
func TestLateExtensionIsNoNewGrant(t *testing.T) {
	t.Parallel()
	h := told(2, 3)
	h.scenario.Resources = []ResourceConfig{{Name: "S"}}
	write := func(at int64, client int) {
		h.at(at, Event{Kind: Wrote, Client: int16(client), Node: 3, Nth: 1, Value: at})
		h.at(at, Event{Kind: Stored, Status: redlock.Done, Client: int16(client), Node: 3, Nth: 1})
	}
	h.grants(0, 0, "x", 100, 90*milli, 0, 1)
	h.grants(110*milli, 1, "y", 100, 120*milli, 0, 1)
	write(115*milli, 1)
	h.says(130*milli, Extended, 0, "x", 230*milli)
	write(140*milli, 0)
	if got := len(broken(Check(h.History), I3)); got != 1 {
		t.Errorf("I3 broken %d times, want once", got)
	}
}
