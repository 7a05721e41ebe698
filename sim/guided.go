package sim

// A search guided by margin. Sampling draws every scenario anew; a guided search
// goes on from those that came closest to a break. What it changes are the choices
// of which a scenario was drawn, by their labels, so that whatever it changes, the
// scenario is one of its space: no rate leaves its bound, no tame fault goes beyond
// what the lock assumes.
//
// It runs in islands, each a short evolution of its own that knows nothing of the
// others: so it is the same with any number of jobs, and can be split over machines
// that share nothing. Closest is the smallest λ = x* − t_D of a scenario's leases
// (Lease.Slack): by how long the nodes would have blocked beyond the deadline, had
// nobody released. The margin of the lease as it was says nothing of one that was
// given back early.

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"driftlock/sim/draw"
)

// Island is how many runs an evolution has: in a guided search that begins at seed
// F the run number F + n·Island is the first of one.
const Island = 256

const (
	founders  = 16 // of them are drawn as sampling draws them
	elite     = 4  // from so many of the closest it goes on
	mutations = 12 // so many at most make a child
)

// choice is one that a scenario was drawn by.
type choice struct {
	label            string
	low, high, value int64
}

// genome is what a scenario was drawn from: a seed, and what was chosen otherwise.
type genome struct {
	seed    uint64
	other   map[string]int64
	choices []choice // all of them, as they were made
}

// Int is Drawer's.
func (g *genome) Int(label string, low, high int64) int64 {
	value, ok := g.other[label]
	if !ok {
		value = seeded(g.seed).Int(label, low, high)
	}
	value = max(low, min(value, high))
	g.choices = append(g.choices, choice{label, low, high, value})
	return value
}

// scenario draws the scenario of the genome.
func (g *genome) scenario(sp Space, number uint64) Scenario {
	g.choices = g.choices[:0]
	sc := Draw(sp, g)
	sc.Seed = g.seed
	sc.Name = sp.name + "-guided-" + strconv.FormatUint(number, 10)
	return sc
}

// member is a genome that was run.
type member struct {
	genome
	slack int64 // the smallest of its leases
	ttl   int64
}

// closer compares slack by the TTL that it is a part of.
func closer(a, b *member) int {
	if sa, sb := a.slack < 0, b.slack < 0; sa != sb {
		return cmp.Compare(a.slack, b.slack)
	}
	ahi, alo := bits.Mul64(abs(a.slack), uint64(b.ttl))
	bhi, blo := bits.Mul64(abs(b.slack), uint64(a.ttl))
	c := cmp.Or(cmp.Compare(ahi, bhi), cmp.Compare(alo, blo))
	if a.slack < 0 {
		return -c
	}
	return c
}

func abs(n int64) uint64 {
	if n < 0 {
		return uint64(-n)
	}
	return uint64(n)
}

// evolution is an island at work.
type evolution struct {
	sp     Space
	first  uint64 // the number of its first run
	stream draw.Stream
	best   []member // the closest first
}

func newEvolution(sp Space, first uint64) *evolution {
	return &evolution{sp: sp, first: first, stream: draw.NewStream(draw.Key(first, draw.Evolution, 0, 0, 0))}
}

// below is a number from 0 to n−1.
func (e *evolution) below(n int) int { return int(draw.Below(e.stream.Next(), int64(n))) }

// next is the genome of the nth run.
func (e *evolution) next(n uint64) genome {
	if n < founders {
		return genome{seed: e.first + n}
	}
	parent := &e.best[min(e.below(len(e.best)), e.below(len(e.best)))]
	child := genome{seed: parent.seed, other: make(map[string]int64, len(parent.other)+4)}
	maps.Copy(child.other, parent.other)
	if other := &e.best[e.below(len(e.best))]; e.below(4) == 0 && other != parent {
		e.cross(&child, other)
	}
	for range 1 + e.below(mutations) {
		e.mutate(&child, parent)
	}
	return child
}

// mutate changes one choice, or the same one of all machines.
func (e *evolution) mutate(child *genome, parent *member) {
	c := parent.choices[e.below(len(parent.choices))]
	if c.low == c.high {
		return
	}
	value := e.change(c)
	child.other[c.label] = value
	machine, what, ok := strings.Cut(c.label, ".")
	if !ok || machine == "" || e.below(4) == 0 {
		return
	}
	for _, o := range parent.choices {
		if _, same, _ := strings.Cut(o.label, "."); same == what {
			child.other[o.label] = value
		}
	}
}

// change is another value for a choice: one of its ends, one near by, or any.
func (e *evolution) change(c choice) int64 {
	switch e.below(4) {
	case 0:
		return c.low
	case 1:
		return c.high
	case 2:
		reach := max(1, (c.high-c.low)>>(1+e.below(12)))
		return draw.Between(e.stream.Next(), max(c.low, c.value-reach), min(c.high, c.value+reach))
	}
	return draw.Between(e.stream.Next(), c.low, c.high)
}

// cross takes some choices from another member.
func (e *evolution) cross(child *genome, other *member) {
	for _, c := range other.choices {
		if e.below(4) == 0 {
			child.other[c.label] = c.value
		}
	}
}

// learn takes in what a run came to.
func (e *evolution) learn(g genome, sc *Scenario, v *Verdict) {
	m := member{genome: g, slack: math.MaxInt64, ttl: max(1, int64(sc.Lock.TTL))}
	if slack, ok := v.Slack(); ok {
		m.slack = int64(slack)
	}
	at, _ := slices.BinarySearchFunc(e.best, &m, func(a member, b *member) int { return cmp.Or(closer(&a, b), -1) })
	if at < elite {
		e.best = slices.Insert(e.best, at, m)
		e.best = e.best[:min(len(e.best), elite)]
	}
}
