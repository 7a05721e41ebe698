package simtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim"
)

// TestOptionsOfTheCode: where the code's own options of the lock have it trust for longer
// than the scenario's factor and buffer allow, a break fails the test, and is told as the
// options' and not as a bug, nor left unjudged. A lock that trusts less than those has
// nothing to fail by.
func TestOptionsOfTheCode(t *testing.T) {
	toTheEnd := func(opts ...redlock.Option) sim.Workload {
		return func(p *sim.Process) {
			l := p.Lock(opts...)
			token, err := l.Acquire(p.Context(), "orders", 10*time.Second)
			if err != nil {
				if errors.Is(err, redlock.ErrBadArgument) {
					t.Error(err)
				}
				return
			}
			p.Sleep(token.Remaining())
			l.Release(p.Context(), "orders", token)
		}
	}
	for _, c := range []struct {
		name string
		sp   sim.Space
		opts []redlock.Option
		few  int // failures at least, of 60 scenarios; 0: none
		in   []sim.Option
	}{
		{"covered drift", sim.DriftCovered(), []redlock.Option{redlock.WithClockDriftFactor(0.0001)}, 20, nil},
		{"drift", sim.Drift(4000 * clock.PPM).Factor("0.01"), []redlock.Option{redlock.WithClockDriftFactor(0)}, 20, nil},
		{"tame", sim.Tame(), []redlock.Option{redlock.WithClockDriftFactor(0), redlock.WithClockDriftBuffer(0)}, 10, nil},
		{"in a bubble", sim.DriftCovered(), []redlock.Option{redlock.WithClockDriftFactor(0.0001)}, 20, []sim.Option{InBubble(t)}},
		{"less", sim.DriftCovered(), []redlock.Option{redlock.WithClockDriftFactor(0.5), redlock.WithMinValidity(0)}, 0, nil},
		{"less, tame", sim.Tame(), []redlock.Option{redlock.WithClockDriftBuffer(time.Second), redlock.WithMinValidity(0)}, 0, nil},
	} {
		x := &check{t: t, base: c.sp, sp: c.sp, code: true, trials: newTrials(t, toTheEnd(c.opts...), c.in)}
		defer x.close()
		failed := 0
		for seed := range 60 {
			sc, f := x.fitting(seed)
			if f == nil {
				continue
			}
			if failed++; f.misfits(&sc) {
				t.Errorf("%s, seed %d: not judged", c.name, seed)
			}
			told := strings.Join(strings.Fields(f.tell("here")), " ")
			for _, want := range []string{"Options: ", "made with options of its own trusted a TTL of 10s for ", "Would have held: the lock of the scenario, with its factor of "} {
				if !strings.Contains(told, want) {
					t.Errorf("%s, seed %d: %q is not in %s", c.name, seed, want, f.tell("here"))
				}
			}
			if strings.Contains(told, "BUG") || strings.Contains(told, "Not promised: ") {
				t.Errorf("%s, seed %d: %s", c.name, seed, f.tell("here"))
			}
		}
		if failed < c.few || c.few == 0 && failed > 0 {
			t.Errorf("%s: %d failures of 60, want %d or more, or none", c.name, failed, c.few)
		}
	}
}
