package driftlock_test

// What must hold of every run, as properties of scenarios that rapid draws. Each
// says how many of its runs reached the states in which it could have failed, and
// fails where hardly any did. -rapid.checks=N runs N of each (400 unless given, a
// twentieth of that under the race detector), DRIFTLOCK_LONG=1 20,000; each is a
// target of go test -fuzz too.

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"driftlock/sim"
	"driftlock/sim/node"
)

// raced says whether the race detector makes everything slow.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	checks := 400
	if os.Getenv("DRIFTLOCK_LONG") == "1" {
		checks = 20_000
	}
	if raced() {
		checks /= 20
	}
	if !given {
		flag.Set("rapid.checks", fmt.Sprint(checks))
	}
	os.Exit(m.Run())
}

// reached counts the runs of a property, and in how many of them it was in danger.
type reached struct {
	runs   int
	states map[string]int
	order  []string
}

// danger names the states that the runs of a property must reach.
func danger(states ...string) *reached { return &reached{states: map[string]int{}, order: states} }

// run counts one, and saw a state of it.
func (r *reached) run() { r.runs++ }
func (r *reached) saw(state string, is bool) {
	if is {
		r.states[state]++
	}
}

// probes counts the states of a verdict that have the name of a probe.
func (r *reached) probes(v *sim.Verdict) {
	for i, n := range v.Probes {
		if name := sim.Probe(i).String(); slices.Contains(r.order, name) {
			r.saw(name, n > 0)
		}
	}
}

// check prints how many runs reached each, and fails under 1 % of them. So few runs
// that 1 % is no number do not tell.
func (r *reached) check(t *testing.T) {
	t.Helper()
	if t.Failed() {
		return
	}
	var text []string
	for _, state := range r.order {
		n := r.states[state]
		text = append(text, fmt.Sprintf("%d: %s", n, state))
		if 100*n < r.runs && r.runs >= 200 {
			t.Errorf("of %d runs %d reached it: %s", r.runs, n, state)
		}
	}
	t.Logf("%d runs, of which reached\n  %s", r.runs, strings.Join(text, "\n  "))
}

// property is one: it is run over and over, and counts.
type property func(t *rapid.T, r *reached)

// holds checks a property.
func holds(t *testing.T, r *reached, p property) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) { p(t, r) })
	r.check(t)
}

// fuzzed makes a property a target of go test -fuzz.
func fuzzed(f *testing.F, p property) {
	r := danger()
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { p(t, r) }))
}

// drawer draws a scenario value by value, but for labels whose value is given. It
// shrinks as that of simtest does, and spreads large ranges more.
type drawer struct {
	t     *rapid.T
	given map[string]int64
}

func (d drawer) Int(label string, low, high int64) int64 {
	if n, ok := d.given[label]; ok {
		return min(max(n, low), high)
	}
	if high-low > 64 && rapid.IntRange(0, 2).Draw(d.t, label+" anywhere") > 0 {
		// rapid prefers small numbers, and faults at the very beginning are no danger.
		return sampled{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(d.t, label+" by"), 0))}.Int(label, low, high)
	}
	return rapid.Int64Range(low, high).Draw(d.t, label)
}

// always has what happens in a part of the scenarios happen in all of them.
const always = 7

// judged runs a scenario. What is wrong with it, or with the simulator, fails.
func judged(t *rapid.T, sc sim.Scenario, opts ...sim.Option) sim.Verdict {
	v, err := sim.Test(sc, opts...)
	if err != nil {
		t.Fatalf("%v\n%s", err, sc.AppendJSON(nil))
	}
	return v
}

// The theorem: while A1 to A5 hold, I1, I2, I5, I6 and I7 do, with every class of
// faults inside its assumption.
func theorem(t *rapid.T, r *reached) {
	sc := sim.Draw(sim.Tame(), drawer{t: t})
	for _, u := range sim.Assumptions(&sc) {
		if u.Assumption != sim.A6 {
			t.Fatalf("%v is not kept: %s\n%s", u.Assumption, u.Text, sc.AppendJSON(nil))
		}
	}
	v := judged(t, sc)
	for _, x := range v.Violations {
		if x.Invariant != sim.I3 && x.Invariant != sim.I4 {
			t.Fatalf("%v: %s\n%s", x.Invariant, x.Text, sc.AppendJSON(nil))
		}
	}
	r.run()
	r.probes(&v)
	tight := false
	for _, l := range v.Leases {
		tight = tight || l.RanOut() && l.Margin() < 1000
	}
	r.saw(closeCall, tight)
}

const closeCall = "a lease within 1 µs of a break"

func TestTheTheorem(t *testing.T) {
	t.Parallel()
	holds(t, danger(closeCall, sim.ProbeRanOut.String(), sim.ProbeMinimalQuorum.String(), sim.ProbeHandover.String(), sim.ProbeLateGrant.String(),
		sim.ProbeHeld.String(), sim.ProbeStoodStill.String(), sim.ProbePastDeadline.String(), sim.ProbeDown.String(),
		sim.ProbeAway.String(), sim.ProbeStepped.String(), sim.ProbeBent.String(), sim.ProbeCutOff.String(), sim.ProbeExtended.String(), sim.ProbeUnextended.String()), theorem)
}

func FuzzTheTheorem(f *testing.F) { fuzzed(f, theorem) }

// Drift alone: as long as the clocks keep to what the drift factor and the buffer
// cover, nothing breaks.
func covered(t *rapid.T, r *reached) {
	sc := sim.Draw(sim.DriftCovered(), drawer{t: t})
	v := judged(t, sc)
	if !v.OK() {
		t.Fatalf("%v\n%s", v.Err(), sc.AppendJSON(nil))
	}
	r.run()
	r.probes(&v)
}

func TestNothingBreaksWithinTheBound(t *testing.T) {
	t.Parallel()
	holds(t, danger(sim.ProbeRanOut.String(), sim.ProbeMinimalQuorum.String(), sim.ProbeHandover.String()), covered)
}

func FuzzNothingBreaksWithinTheBound(f *testing.F) { fuzzed(f, covered) }

// Liveness: once a quorum of nodes is healed and nothing happens by chance any more,
// somebody who waits is granted the lock within the bound that the scenario implies,
// whatever else has happened before.
func live(t *rapid.T, r *reached) {
	sc := sim.Draw(sim.Faulty(), drawer{t, map[string]int64{"live": always}})
	v := judged(t, sc)
	for _, x := range v.Violations {
		if x.Invariant == sim.I4 {
			t.Fatalf("%s\n%s", x.Text, sc.AppendJSON(nil))
		}
	}
	r.run()
	r.probes(&v)
	dead, away := false, false
	for _, f := range sc.Faults {
		dead = dead || f.Kind == "crash" && f.For == 0
		away = away || sc.Live != nil && f.At < sc.Live.From
	}
	r.saw("a machine is dead for good", dead)
	r.saw("a fault was over before", away)
}

func TestLiveAfterHealing(t *testing.T) {
	t.Parallel()
	holds(t, danger(sim.ProbeLive.String(), "a machine is dead for good", "a fault was over before", sim.ProbeSplitVote.String()), live)
}

func FuzzLiveAfterHealing(f *testing.F) { fuzzed(f, live) }

// Fencing: whatever happens, beyond every other assumption too, fence numbers grow
// in the order of grants and a resource that looks at them refuses what is stale, as
// long as all name the same nodes (A5) and the numbers persist (A6).
func fencing(t *rapid.T, r *reached) {
	sc := sim.Draw(sim.Faulty().Without("alias"), drawer{t, map[string]int64{
		"fence": always, "fence.off": 0, "beyond": always, "clients.usual": 0, "keys": 0, "evict": always, "evict.count": always,
	}})
	for i := range sc.Nodes { // numbers persist: what would lose them does not
		sc.Nodes[i].Persistence = node.Always
	}
	sc.Faults = slices.DeleteFunc(sc.Faults, func(f sim.Fault) bool { return f.Kind == "flush" || f.Kind == "failover" && f.By > 0 })
	for i := range sc.Faults {
		if f := &sc.Faults[i]; f.Kind == "crash" {
			f.By = 0
		}
	}
	if len(sc.Faults) == 0 {
		sc.Faults = nil
	}
	for _, u := range sim.Assumptions(&sc) {
		if u.Assumption >= sim.A5 {
			t.Fatalf("%v is not kept: %s\n%s", u.Assumption, u.Text, sc.AppendJSON(nil))
		}
	}
	v := judged(t, sc)
	broke := false
	for _, x := range v.Violations {
		if x.Invariant == sim.I3 {
			t.Fatalf("%s\n%s", x.Text, sc.AppendJSON(nil))
		}
		broke = broke || x.Invariant == sim.I1 || x.Invariant == sim.I2
	}
	r.run()
	r.probes(&v)
	r.saw(unsafeLock, broke)
}

const unsafeLock = "exclusion itself broke (I1 or I2)"

func TestFencesHoldWhateverHappens(t *testing.T) {
	t.Parallel()
	holds(t, danger(unsafeLock, sim.ProbeStale.String(), sim.ProbeFenceRefused.String(), sim.ProbeForgot.String()), fencing)
}

func FuzzFencesHoldWhateverHappens(f *testing.F) { fuzzed(f, fencing) }

// sampled draws from a stream, but for labels whose value is given.
type sampled struct {
	*rand.Rand
	given map[string]int64
}

func (s sampled) Int(label string, low, high int64) int64 {
	if n, ok := s.given[label]; ok {
		return min(max(n, low), high)
	}
	return low + s.Int64N(high-low+1)
}

// A converse is that without one assumption, and with all the others, scenarios of
// a space break a promise: some of a few hundred do, wherever a search begins. Small
// worlds serve, and labels that say who is struck.
type converse struct {
	inv    sim.Invariant
	unmet  sim.Assumption
	space  sim.Space
	given  map[string]int64
	within int
}

var converses = []converse{
	{sim.I2, sim.A1, sim.DriftWide().Nodes(3, 3).Clients(1, 1), nil, 100},
	{sim.I2, sim.A2, sim.FaultsOf("crash").Nodes(3, 3).Clients(1, 1), map[string]int64{"beyond": always}, 500},
	{sim.I2, sim.A3, sim.FaultsOf("step").Nodes(3, 3).Clients(1, 1), map[string]int64{"beyond": always, "step.clients": 0}, 500},
	{sim.I2, sim.A4, sim.FaultsOf("suspend").Nodes(3, 3).Clients(1, 1), map[string]int64{"beyond": always}, 500},
	{sim.I6, sim.A5, sim.FaultsOf("alias").Nodes(3, 3).Clients(1, 2), map[string]int64{"beyond": always}, 500},
	{sim.I3, sim.A6, sim.FaultsOf("fence").Nodes(3, 3), map[string]int64{"beyond": always, "fence.off": always, "pause.clients": always, "clients.usual": 0, "keys": 0}, 1000},
}

func (c *converse) String() string { return fmt.Sprintf("%v breaks without %v", c.inv, c.unmet) }

const soon = "in a tenth of the runs it may take"

// found is the property of a converse.
func (c *converse) found(t *rapid.T, r *reached) {
	d := sampled{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "first"), 0)), c.given}
	runner := sim.NewRunner()
	defer runner.Close()
	for i := range c.within {
		sc := sim.Draw(c.space, d)
		if _, err := runner.Run(sc); err != nil {
			t.Fatalf("%v\n%s", err, sc.AppendJSON(nil))
		}
		v := runner.Check()
		broke := slices.ContainsFunc(v.Violations, func(x sim.Violation) bool { return x.Invariant == c.inv })
		if broke && len(v.Unmet) > 0 && !slices.ContainsFunc(v.Unmet, func(u sim.Unmet) bool { return u.Assumption != c.unmet }) {
			r.run()
			r.saw(c.String(), true)
			r.saw(soon, i < c.within/10)
			return
		}
	}
	t.Fatalf("%v in none of %d scenarios of %v", c, c.within, c.space)
}

func TestEachAssumptionIsNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range converses {
		t.Run(c.unmet.String(), func(t *testing.T) {
			t.Parallel()
			holds(t, danger(c.String(), soon), c.found)
		})
	}
}

func FuzzEachAssumptionIsNeeded(f *testing.F) {
	fuzzed(f, func(t *rapid.T, r *reached) {
		c := rapid.SampledFrom(converses).Draw(t, "converse")
		c.found(t, r)
	})
}

// Two runs of one scenario have one history, whatever was run before.
func repeats(t *rapid.T, r *reached) {
	sc := sim.Draw(sim.Faulty(), drawer{t: t})
	first, err := sim.Run(sc)
	if err != nil {
		t.Fatal(err)
	}
	used := sim.NewRunner()
	defer used.Close()
	if _, err := used.Run(sim.Generate(sim.Faulty(), sc.Seed)); err != nil {
		t.Fatal(err)
	}
	second, err := used.Run(sc)
	if err != nil {
		t.Fatal(err)
	}
	if step, same := sim.FirstDifference(first, second); !same || first.Hash() != second.Hash() {
		t.Fatalf("the histories differ from step %d on\n%s", step, sc.AppendJSON(nil))
	}
	v := sim.Check(first)
	r.run()
	r.probes(&v)
	r.saw("more than 1,000 events", first.Len() > 1000)
}

func TestTwoRunsOneHistory(t *testing.T) {
	t.Parallel()
	holds(t, danger("more than 1,000 events", sim.ProbeLostMessage.String(), sim.ProbeSplitVote.String(), sim.ProbeForgot.String(), sim.ProbeExtended.String()), repeats)
}

func FuzzTwoRunsOneHistory(f *testing.F) { fuzzed(f, repeats) }
