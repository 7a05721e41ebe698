package simtest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/simtest"
)

// seedsVariable has TestCorrectCodeHolds try so many seeds of each, with 100 scenarios.
const seedsVariable = "DRIFTLOCK_SEEDS"

// kept works for a second under a lock that is kept alive.
func kept(p *sim.Process) {
	redlock.Do(p.Context(), p.Lock(), "bill", 5*time.Second, func(context.Context, redlock.Token) error {
		return p.Sleep(time.Second)
	})
}

// toTheEnd holds a lock for as long as it may.
func toTheEnd(p *sim.Process) {
	l := p.Lock()
	token, err := l.Acquire(p.Context(), "orders", 50*time.Second)
	if err != nil {
		return
	}
	p.Sleep(token.Remaining())
	l.Release(p.Context(), "orders", token)
}

// several has a short TTL to begin with, a long one when it gets on, and one that it
// draws for another key.
func several(p *sim.Process) {
	l := p.Lock()
	for range 3 {
		token, err := l.Acquire(p.Context(), "orders", 200*time.Millisecond)
		if err != nil {
			continue
		}
		if p.Rand("long", 2) == 0 && l.Extend(p.Context(), "orders", token, 5*time.Second) == nil {
			p.Sleep(4 * time.Second)
		}
		l.Release(p.Context(), "orders", token)
	}
	ttl := time.Duration(10+p.Rand("ttl", 9990)) * time.Millisecond
	if token, err := l.Acquire(p.Context(), "parcels", ttl); err == nil {
		p.Sleep(token.Remaining())
		l.Release(p.Context(), "parcels", token)
	}
}

// another asks for another TTL each time, whatever it was drawn for.
func another(p *sim.Process) {
	l := p.Lock()
	for range 3 {
		ttl := time.Second + time.Duration(p.Clock().Now().UnixNano()%9e9)
		token, err := l.Acquire(p.Context(), "orders", ttl)
		if err != nil {
			continue
		}
		p.Sleep(token.Remaining())
		l.Release(p.Context(), "orders", token)
	}
}

// TestCorrectCodeHolds: in a space in which nothing is beyond what the lock promises
// correct code fails with no seed, whatever TTL it asks for.
func TestCorrectCodeHolds(t *testing.T) {
	for _, c := range []struct {
		name  string
		sp    sim.Space
		w     sim.Workload
		seeds []int // with which it did fail, when scenarios were drawn for other TTLs than these
	}{
		{"kept", sim.Tame(), kept, []int{2, 5, 17, 102, 114, 127, 141, 156}},
		{"to the end", sim.DriftCovered(), toTheEnd, []int{105, 121, 130, 140, 146, 148, 149, 163, 167}},
		{"several", sim.Tame(), several, nil},
		{"several of one", sim.Tame().TTL(time.Second), several, nil},
		{"another", sim.Tame(), another, nil},
	} {
		checks, seeds := 12, slices.Clone(c.seeds)
		for seed := range 20 {
			seeds = append(seeds, 1000+seed)
		}
		if n, _ := strconv.Atoi(os.Getenv(seedsVariable)); n > 0 {
			checks, seeds = 100, c.seeds
			for seed := range n {
				seeds = append(seeds, 1+seed)
			}
		}
		scenarios(t, checks)
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", c.name, seed), func(t *testing.T) {
				setFlag(t, "rapid.seed", fmt.Sprint(seed))
				simtest.Check(t, c.sp, c.w)
			})
		}
	}
	scenarios(t, 6)
	t.Run("in a bubble", func(t *testing.T) {
		setFlag(t, "rapid.seed", "1")
		simtest.Bubble(t, sim.Tame(), kept)
	})
}

// scenarios has Check try so many, also where it would try but a part of them.
func scenarios(t *testing.T, n int) {
	if testing.Short() {
		n *= 5
	}
	if raced() {
		n *= 5
	}
	setFlag(t, "rapid.checks", fmt.Sprint(n))
}

// setFlag sets a flag for the time of a test.
func setFlag(t *testing.T, name, value string) {
	was := flag.Lookup(name).Value.String()
	t.Cleanup(func() { flag.Set(name, was) })
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}
