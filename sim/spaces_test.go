package sim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlock/clock"
	"driftlock/sim/network"
)

// TestSpacesReachWhatTheyDeclare runs each space until every state that it
// declares was seen, and no longer than 10,000 seeds; with DRIFTLOCK_LONG=1 all of
// the 10,000, and tells how many of them reached its rarest state. Meanwhile nothing
// breaks that no unmet assumption explains.
func TestSpacesReachWhatTheyDeclare(t *testing.T) {
	t.Parallel()
	for _, sp := range Spaces() {
		t.Run(sp.Name(), func(t *testing.T) {
			t.Parallel()
			r := NewRunner()
			defer r.Close()
			var seen, seeds Probes // how often, and in how many seeds
			missing := sp.Reaches()
			if len(missing) < 5 {
				t.Errorf("declares only %v", missing)
			}
			for seed := uint64(0); seed < 10_000 && (len(missing) > 0 || long()); seed++ {
				if _, err := r.Run(Generate(sp, seed)); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				v := r.Check()
				for i, n := range v.Probes {
					seen[i] += n
					seeds[i] += min(n, 1)
				}
				missing = slices.DeleteFunc(missing, func(p Probe) bool { return seen[p] > 0 })
				for _, x := range v.Bugs() {
					t.Errorf("seed %d: %v: %s", seed, x.Invariant, x.Text)
				}
			}
			for _, p := range missing {
				t.Errorf("never in 10,000 seeds: %v", p)
			}
			if rarest := slices.MinFunc(sp.Reaches(), func(p, q Probe) int { return seeds[p] - seeds[q] }); long() {
				t.Logf("%d states; the rarest in %d of 10,000 seeds, %d times: %v", len(sp.Reaches()), seeds[rarest], seen[rarest], rarest)
			}
		})
	}
}

// TestNothingBreaksInTame is the theorem, in miniature: with every class of faults
// and none beyond the assumptions, nothing breaks but what hangs on fence numbers
// that got lost.
func TestNothingBreaksInTame(t *testing.T) {
	t.Parallel()
	seeds := runs(t, 3000)
	r := NewRunner()
	defer r.Close()
	tight, leases, faults := 0, 0, 0
	for seed := range seeds {
		sc := Generate(Tame(), seed)
		faults += len(sc.Faults)
		if _, err := r.Run(sc); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		v := r.Check()
		for _, u := range Assumptions(&sc) {
			if u.Assumption != A6 {
				t.Errorf("seed %d: %v: %s", seed, u.Assumption, u.Text)
			}
		}
		for _, x := range v.Violations {
			if x.Invariant != I3 || len(v.Bugs()) > 0 {
				t.Errorf("seed %d: %v: %s", seed, x.Invariant, x.Text)
			}
		}
		leases += len(v.Leases)
		for _, l := range v.Leases {
			if l.RanOut() && l.Margin() < 1000 {
				tight++
			}
		}
	}
	t.Logf("%d seeds, %d faults, %d leases, %d of them within 1 µs of a break", seeds, faults, leases, tight)
	if tight < int(seeds/30) || faults < int(seeds) || leases < int(seeds) {
		t.Error("too few to tell")
	}
}

// TestEachAssumptionIsNeeded: in the space of a class of faults that goes beyond an
// assumption a search finds the promise that this breaks, and the verdict says
// which assumption it was.
func TestEachAssumptionIsNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		space string
		inv   Invariant
		unmet Assumption
	}{
		{"suspend", I1, A4}, {"suspend", I2, A4}, {"freeze", I2, A4}, {"step", I2, A4},
		{"crash", I1, A2}, {"aof", I1, A2}, {"snapshot", I1, A2}, {"quarantine", I2, A2}, {"failover", I1, A2}, {"evict", I1, A2}, {"flush", I1, A2},
		{"step", I2, A3}, {"rate", I1, A1}, {"rate", I2, A1},
		{"fence", I3, A6}, {"alias", I2, A5}, {"alias", I6, A5},
	} {
		t.Run(fmt.Sprintf("%s breaks %v for %v", c.space, c.inv, c.unmet), func(t *testing.T) {
			t.Parallel()
			r := NewRunner()
			defer r.Close()
			sp, err := FindSpace(c.space)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(5000) {
				if _, err := r.Run(Generate(sp, seed)); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				v := r.Check()
				broke := slices.ContainsFunc(v.Violations, func(x Violation) bool { return x.Invariant == c.inv })
				if broke && len(v.Unmet) > 0 && !slices.ContainsFunc(v.Unmet, func(u Unmet) bool { return u.Assumption != c.unmet }) {
					return
				}
			}
			t.Error("not in 5,000 seeds")
		})
	}
}

// forced draws as another Drawer does, but for some labels.
type forced struct {
	Drawer
	labels map[string]int64
}

func (d forced) Int(label string, low, high int64) int64 {
	if n, ok := d.labels[label]; ok {
		return n
	}
	return d.Drawer.Int(label, low, high)
}

// without takes out of a scenario all that belongs to a class of faults.
func without(sc Scenario, class string) Scenario {
	kinds := map[string]string{"death": "crash", "rate": "rate"}
	isNode := func(name string) bool {
		return slices.ContainsFunc(sc.Nodes, func(n Node) bool { return n.Name == name })
	}
	kind := class
	if k := kinds[class]; k != "" {
		kind = k
	}
	sc.Faults = slices.DeleteFunc(slices.Clone(sc.Faults), func(f Fault) bool {
		return f.Kind == kind && !(class == "death" && isNode(f.On)) && !(class == "crash" && !isNode(f.On))
	})
	if len(sc.Faults) == 0 {
		sc.Faults = nil
	}
	sc.Nodes, sc.Clients = slices.Clone(sc.Nodes), slices.Clone(sc.Clients)
	switch class {
	case "crash":
		for i := range sc.Nodes {
			sc.Nodes[i].Persistence, sc.Nodes[i].Quarantine, sc.Nodes[i].QuarantineOn = "", 0, ""
		}
	case "partition":
		sc.Network.Cuts = nil // "cut" is left out in this test
	case "slow":
		for _, p := range []*int{&sc.Network.Request.SlowPPM, &sc.Network.Reply.SlowPPM} {
			*p = 0
		}
		sc.Network.Request.SlowBy, sc.Network.Request.SlowFor, sc.Network.Reply.SlowBy, sc.Network.Reply.SlowFor = 0, 0, 0, 0
	case "message":
		sc.Network.Rules = nil
	case "fence":
		sc.Lock.Fencing, sc.Resources = false, nil
		for i := range sc.Clients {
			sc.Clients[i].Steps = slices.DeleteFunc(slices.Clone(sc.Clients[i].Steps), func(s Step) bool { return s.Do == "write" })
		}
	case "alias":
		sc.Nodes = slices.DeleteFunc(sc.Nodes, func(n Node) bool { return n.Alias != "" })
		sc.Lock.Fencing = len(sc.Resources) > 0
	case "loss":
		for _, p := range []*int{&sc.Network.Request.LossPPM, &sc.Network.Reply.LossPPM} {
			*p = 0
		}
		sc.Network.Request.LossFor, sc.Network.Reply.LossFor = 0, 0
		for name, p := range sc.Network.Paths {
			p.LossPPM, p.LossFor = 0, 0
			sc.Network.Paths[name] = p
		}
	}
	return sc
}

// TestLeavingAClassOutIsLocal: without a class of faults, all else is drawn as it
// would be with it. (The phase of progress, which makes other failures last, is
// left out here.)
func TestLeavingAClassOutIsLocal(t *testing.T) {
	t.Parallel()
	// Which classes occur, all of them, and none of them beyond: else leaving one
	// out would show in what others may do.
	for _, class := range []string{"pause", "suspend", "crash", "failover", "evict", "flush", "step", "rate", "freeze", "death", "partition", "slow", "message", "fence", "alias", "loss"} {
		changed := 0
		for seed := range uint64(300) {
			d := forced{seeded(seed), map[string]int64{"live": 0}}
			with, left := Faulty().Without("cut"), Faulty().Without("cut").Without(class)
			if class == "crash" {
				left = left.Without("aof").Without("snapshot").Without("quarantine")
			}
			was, is := Draw(with, d), Draw(left, d)
			if !reflect.DeepEqual(was, is) {
				changed++
			}
			if a, b := without(was, class), without(is, class); !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d: without %q something else has changed:\n%s\n%s", seed, class, a.AppendJSON(nil), b.AppendJSON(nil))
			}
		}
		if changed < 10 {
			t.Errorf("without %q %d of 300 scenarios change", class, changed)
		}
	}
}

// fates are what became of every message of a run, by what names it: how long it
// was on its way, or -1: lost, -2: refused.
func fates(h *History) map[string]int64 {
	all := map[string]int64{}
	for _, e := range h.Events() {
		if e.Kind != Sent && e.Kind != Answered {
			continue
		}
		fate := e.Value
		if fate >= 0 {
			fate -= e.At
		}
		all[fmt.Sprint(e.Kind, h.scenario.Clients[e.Client].Name, ">", h.scenario.Nodes[e.Node].Name, " ", e.Nth)] = fate
	}
	return all
}

// keyed is the space for the tests of keyed draws. What lasts hangs on when
// messages are sent, and so does a quiet phase.
func keyed(seed uint64) Scenario {
	sp := Faulty().Without("slow").Without("partition").Without("cut")
	sc := Draw(sp, forced{seeded(seed), map[string]int64{"live": 0, "request.loss_for": 0, "reply.loss_for": 0}})
	sc.Seed = seed
	return sc
}

// compareDraws wants the draws of two runs alike where they name the same thing.
func compareDraws(t *testing.T, seed uint64, a, b *History, skip string) (alike int) {
	t.Helper()
	was := fates(a)
	for name, fate := range fates(b) {
		if before, ok := was[name]; ok && !strings.Contains(name, skip+">") {
			if alike++; before != fate {
				t.Fatalf("seed %d: %s took %d, and now %d", seed, name, before, fate)
			}
		}
	}
	return alike
}

// TestAWorkloadIsItsOwn: whatever the first client does instead, the messages of
// the others fare as they did.
func TestAWorkloadIsItsOwn(t *testing.T) {
	t.Parallel()
	alike, differ := 0, 0
	for seed := range uint64(500) {
		sc := keyed(seed)
		if len(sc.Clients) < 2 {
			continue
		}
		was := mustRun(t, sc)
		sc.Clients = slices.Clone(sc.Clients)
		sc.Clients[0].Steps = []Step{{Do: "sleep", For: sc.Lock.TTL / 3}, {Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", Percent: 50}, {Do: "release", Key: "k"}}
		is := mustRun(t, sc)
		alike += compareDraws(t, seed, was, is, sc.Clients[0].Name)
		if was.Hash() != is.Hash() {
			differ++
		}
	}
	if alike < 10_000 || differ < 200 {
		t.Errorf("%d messages compared, %d runs differ: too few to tell", alike, differ)
	}
}

// TestAFaultIsItsOwn: without one fault of a scenario, everybody's messages fare
// as they did.
func TestAFaultIsItsOwn(t *testing.T) {
	t.Parallel()
	alike, differ := 0, 0
	for seed := range uint64(500) {
		sc := keyed(seed)
		if len(sc.Faults) == 0 {
			continue
		}
		was := mustRun(t, sc)
		i := int(seed) % len(sc.Faults)
		sc.Faults = slices.Delete(slices.Clone(sc.Faults), i, i+1)
		is := mustRun(t, sc)
		alike += compareDraws(t, seed, was, is, "nobody")
		if was.Hash() != is.Hash() {
			differ++
		}
	}
	if alike < 10_000 || differ < 100 {
		t.Errorf("%d messages compared, %d runs differ: too few to tell", alike, differ)
	}
}

// TestLivePhase: what the phase of progress is made of, in every scenario that has
// one: a quorum of nodes that stays, nothing that begins or happens by chance, and
// somebody who waits.
func TestLivePhase(t *testing.T) {
	t.Parallel()
	r := NewRunner()
	defer r.Close()
	phases, waited, dead := 0, 0, 0
	for seed := range uint64(2000) {
		sc := Generate(Faulty(), seed)
		if sc.Live == nil {
			continue
		}
		phases++
		if bound, why := liveBound(&sc, nil); why != "" || sc.Live.From+clock.Duration(bound) > sc.Until {
			t.Errorf("seed %d: the phase begins at %v, its bound is %v, %q, and the run ends at %v", seed, sc.Live.From, clock.Duration(bound), why, sc.Until)
		}
		if sc.Network.QuietFrom != sc.Live.From || len(sc.Network.Rules) > 0 {
			t.Errorf("seed %d: quiet from %v, %d rules", seed, sc.Network.QuietFrom, len(sc.Network.Rules))
		}
		for _, f := range sc.Faults {
			if f.At > sc.Live.From || f.At == sc.Live.From && f.For == 0 && f.Kind != "crash" {
				t.Errorf("seed %d: %+v in the phase", seed, f)
			}
			if f.Kind == "crash" && f.For == 0 {
				dead++
			}
		}
		if _, err := r.Run(sc); err != nil {
			t.Fatal(err)
		}
		if r.Check().Probes[ProbeLive] > 0 {
			waited++
		}
	}
	if phases < 300 || waited < phases/2 || dead < phases/4 {
		t.Errorf("%d phases, in %d of which somebody waits; %d machines are dead for good", phases, waited, dead)
	}
}

// TestNoProgressIsFound: where the healed quorum is not healed after all, somebody
// starves, and that is a bug, since no assumption is about progress.
func TestNoProgressIsFound(t *testing.T) {
	t.Parallel()
	r := NewRunner()
	defer r.Close()
	starved := 0
	for seed := range uint64(300) {
		sc := Generate(FaultsOf("pause"), seed)
		if sc.Live == nil {
			continue
		}
		bound, _ := liveBound(&sc, nil)
		sc.Live.Within = clock.Duration(bound)
		cut := network.Cut{At: sc.Live.From} // nobody can be reached any more
		for i := range sc.Nodes {
			cut.To = append(cut.To, sc.Nodes[i].Name)
		}
		for i := range sc.Clients {
			cut.From = append(cut.From, sc.Clients[i].Name)
		}
		sc.Network.Cuts = append(sc.Network.Cuts, cut)
		if _, err := r.Run(sc); err != nil {
			t.Fatal(err)
		}
		v := r.Check()
		for _, x := range v.Bugs() {
			if x.Invariant == I4 {
				starved++
				break
			}
		}
	}
	if starved < 20 {
		t.Errorf("found in %d of 300 seeds", starved)
	}
}
