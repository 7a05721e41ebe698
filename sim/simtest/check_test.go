package simtest

import (
	"errors"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim"
)

// TestScenariosFitTheCode: whatever a scenario was drawn for first, it is judged as one
// for the TTLs of the code, also where no lock was granted before, or where the code
// fails in one that is for others.
func TestScenariosFitTheCode(t *testing.T) {
	const short, long = 50 * time.Millisecond, 5 * time.Second
	refused := 0
	c := &check{t: t, base: sim.Tame(), code: true, trials: newTrials(t, func(p *sim.Process) {
		ttl := long
		if p.Client() == "c3" {
			ttl = short
		}
		token, err := p.Lock().Acquire(p.Context(), "k", ttl)
		switch {
		case err == nil:
			p.Sleep(token.Remaining())
		case errors.Is(err, redlock.ErrBadArgument) && ttl == long:
			t.Error(err)
		case errors.Is(err, redlock.ErrBadArgument): // more validity is wanted than it leaves
			refused++
			panic(err)
		}
	}, nil)}
	defer c.close()
	for seed := range 300 {
		if seed%10 == 0 { // as at the begin of a test
			c.ttls, c.sp = nil, c.base
		}
		sc, f := c.fitting(seed)
		if f != nil {
			t.Fatalf("seed %d: %s", seed, f.tell("here"))
		}
		if asked := c.runner.History().Wanted(); len(asked) > 0 && sc.Lock.TTL != clock.Duration(long) {
			t.Fatalf("seed %d: a scenario with a TTL of %v, and the code asks for %v", seed, sc.Lock.TTL, asked)
		}
	}
	if refused == 0 {
		t.Error("the lock never refused the short TTL")
	}
}

// TestKeptForAnotherTTL: a scenario that was kept when the code asked for another TTL is
// left alone if it is beyond what the lock promises of the one it asks for now, and fails
// the test if not.
func TestKeptForAnotherTTL(t *testing.T) {
	asks := func(ttl time.Duration) sim.Workload {
		return func(p *sim.Process) {
			if _, err := p.Lock().Acquire(p.Context(), "k", ttl); err == nil {
				p.Holds("k", p.Clock().Now().Add(2*ttl))
				p.Sleep(2 * ttl)
			}
		}
	}
	sc := sim.Generate(sim.DriftCovered().Nodes(3, 3).Clients(1, 1).TTL(time.Second).Factor("0.01"), 1)
	for i := range sc.Nodes {
		sc.Nodes[i].Quarantine = clock.Duration(1100 * time.Millisecond)
		sc.Faults = append(sc.Faults, sim.Fault{Kind: "crash", On: sc.Nodes[i].Name, At: clock.Duration(500 * time.Millisecond), For: 1})
	}
	for _, c := range []struct {
		ttl    time.Duration
		misfit bool
	}{{time.Second, false}, {10 * time.Second, true}} {
		x := newTrials(t, asks(c.ttl), nil)
		defer x.close()
		f := x.try(sc)
		if f == nil || f.broken == nil || f.misfits(&sc) != c.misfit {
			t.Errorf("a TTL of %v: %+v", c.ttl, f)
		}
	}
}
