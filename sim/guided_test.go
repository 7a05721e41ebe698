package sim

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
)

// brink is where guidance is measured: leases of 1 s, a drift factor of 1 %, clocks
// on both sides within ±δ, all nodes within reach, and draws that know nothing of
// which way a lease breaks.
func brink(beyond int) Space {
	return Brink(beyond).Factor("0.01").TTL(time.Second).Without("cut").Sampled(Bounds)
}

// runsToBreak is how many runs a search takes to its first break, at most so many.
func runsToBreak(t *testing.T, s Search, most uint64) uint64 {
	t.Helper()
	s.Seeds = most
	for b := range s.Run(context.Background()) {
		if b.Err != nil || b.Violation.Invariant != I2 && b.Violation.Invariant != I1 {
			t.Fatalf("%v %+v", b.Err, b.Violation)
		}
		return b.Seed - s.First + 1
	}
	return most
}

func median(list []uint64) uint64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// TestGuidedFindsSooner: 1 % beyond the symmetric bound a guided search finds a
// break within 200 runs in the median, and sampling the same space takes at least
// five times as many. With DRIFTLOCK_LONG=1 of 50 starts, and how many it takes.
func TestGuidedFindsSooner(t *testing.T) {
	t.Parallel()
	starts := 15
	if long() {
		starts = 50
	}
	var guided, sampled, uniform []uint64
	for i := range starts {
		first := uint64(1+i) << 32
		guided = append(guided, runsToBreak(t, Search{Space: brink(10_000), First: first, Guided: true}, 20_000))
	}
	limit := 5 * median(guided)
	if long() {
		limit = 20_000
	}
	for i := range starts {
		first := uint64(1+i) << 32
		sampled = append(sampled, runsToBreak(t, Search{Space: brink(10_000), First: first}, limit))
		if long() {
			uniform = append(uniform, runsToBreak(t, Search{Space: brink(10_000).Sampled(Uniform), First: first}, limit))
		}
	}
	g, s := median(guided), median(sampled)
	t.Logf("%d starts: guided %d runs in the median %v; bound-biased sampling %d (at most %d) %v", starts, g, guided, s, limit, sampled)
	if long() {
		t.Logf("uniform sampling %d (at most %d) %v", median(uniform), limit, uniform)
	}
	if g > 200 || s < 5*g {
		t.Errorf("guided %d runs, sampling %d", g, s)
	}
}

// TestNothingBreaksAtTheBrink: exactly at the bound a guided search finds nothing,
// though it comes within 1 % of f·T. With DRIFTLOCK_LONG=1 in 1,000,000 runs.
func TestNothingBreaksAtTheBrink(t *testing.T) {
	t.Parallel()
	var p Progress
	s := Search{Space: brink(0), First: 1, Seeds: runs(t, 3000), Guided: true, On: func(q Progress) { p = q }}
	if long() {
		s.Seeds = 1_000_000
	}
	for b := range s.Run(context.Background()) {
		t.Fatalf("run %d: %+v %v\n%s", b.Seed, b.Violation, b.Err, b.Scenario.AppendJSON(nil))
	}
	near, run, ok := p.Closest()
	t.Logf("%d runs held, %d leases; closest: run %d, %v left of 10ms that drift may take", p.Seeds, p.Leases, run, near)
	if p.Seeds != s.Seeds || !ok || near < 0 || !raced() && near > 100*time.Microsecond {
		t.Errorf("%d runs, %v left", p.Seeds, near)
	}
}

// TestGuidedStaysInItsSpace: whatever choices are changed, no rate leaves its bound,
// and a tame scenario stays tame.
func TestGuidedStaysInItsSpace(t *testing.T) {
	t.Parallel()
	r := NewRunner()
	defer r.Close()
	e := newEvolution(Tame(), 1)
	differ := 0
	for i := range uint64(Island) {
		g := e.next(i)
		sc := g.scenario(Tame(), i)
		for _, u := range Assumptions(&sc) {
			if u.Assumption != A6 {
				t.Fatalf("run %d: %v: %s", i, u.Assumption, u.Text)
			}
		}
		if _, err := r.Run(sc); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
		e.learn(g, &sc, r.Check())
		if plain := Generate(Tame(), g.seed); i >= founders && !reflect.DeepEqual(plain.Clients, sc.Clients) {
			differ++
		}
		// As many parents as it says, the closest first.
		if len(e.best) > elite || !slices.IsSortedFunc(e.best, func(a, b member) int { return closer(&a, &b) }) {
			t.Fatalf("run %d: the best are %v", i, e.best)
		}
	}
	if differ < Island/2 {
		t.Errorf("%d of %d children have other clients than their founder", differ, Island-founders)
	}
}

// TestCloser orders margins by the part of the TTL that they are.
func TestCloser(t *testing.T) {
	t.Parallel()
	of := func(slack, ttl int64) member { return member{slack: slack, ttl: ttl} }
	order := []member{of(-3e9, 1e9), of(-1, 1e6), of(-1, 1e9), of(0, 1e9), of(1, 60e9), of(1, 1e6), of(2e6, 1e9), of(1e6, 1e6), of(1<<63-1, 60e9), of(1<<63-1, 1)}
	for i := range order {
		for j := range order {
			if got, want := closer(&order[i], &order[j]), min(1, max(-1, i-j)); got != want {
				t.Errorf("%s and %s: %d, want %d", fmt.Sprint(order[i].slack, "/", order[i].ttl), fmt.Sprint(order[j].slack, "/", order[j].ttl), got, want)
			}
		}
	}
}
