package driftlock_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/network"
)

// ran is a scenario file, run and judged.
type ran struct {
	sc      sim.Scenario
	history *sim.History
	verdict sim.Verdict
}

func run(t *testing.T, file string) ran {
	t.Helper()
	sc, err := sim.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	h, err := sim.Run(sc)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return ran{sc, h, sim.Check(h)}
}

func named(t *testing.T, name string) ran {
	t.Helper()
	return run(t, filepath.Join("testdata", "scenarios", name+".json"))
}

// TestScenarios runs every scenario file and wants the verdict that stands in
// it: what breaks, and the smallest margin to the nanosecond.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.json")
	if err != nil || len(files) < 37 {
		t.Fatalf("%d scenario files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			r := run(t, file)
			want := r.sc.Expect
			if want == nil {
				t.Fatal("expects nothing")
			}
			if r.sc.About == "" || r.sc.Source == "" || r.sc.Name+".json" != filepath.Base(file) {
				t.Errorf("has no about, no source or another name: %q, %q, %q", r.sc.About, r.sc.Source, r.sc.Name)
			}
			if text, err := os.ReadFile(file); err != nil || !bytes.Equal(text, r.sc.AppendJSON(nil)) {
				t.Errorf("is not printed canonically, or: %v", err)
			}
			for _, how := range want.Mismatch(r.verdict) {
				t.Error(how)
			}
		})
	}
}

// TestEachFaultHasItsScenario: whatever can go wrong with a machine or on the
// network, one scenario shows by itself.
func TestEachFaultHasItsScenario(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/fault-*.json")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	show := func(what string, is bool) { shown[what] = shown[what] || is }
	for _, file := range files {
		sc, err := sim.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		node := func(name string) (n sim.Node, ok bool) {
			for _, n := range sc.Nodes {
				if n.Name == name {
					return n, true
				}
			}
			return n, false
		}
		for _, f := range sc.Faults {
			n, isNode := node(f.On)
			show(f.Kind+" of a node", isNode)
			show(f.Kind+" of a client", !isNode)
			show("a crash that is refused", f.Refuse)
			show("a crash for good", isNode && f.Kind == "crash" && f.For == 0)
			show("a step forward", f.By > 0 && f.Kind == "step")
			show("a step back", f.By < 0)
			if f.Kind == "crash" {
				show("persistence "+string(n.Persistence), isNode)
				show("a quarantine", n.Quarantine > 0 && n.QuarantineOn == "")
				show("a quarantine on "+string(n.QuarantineOn), n.Quarantine > 0)
			}
		}
		for _, p := range []network.Path{sc.Network.Request, sc.Network.Reply} {
			show("loss that lasts", p.LossPPM > 0 && p.LossFor > 0)
			show("slowness that lasts", p.SlowPPM > 0 && p.SlowFor > 0)
			show("delays of law "+string(p.Delay.Law), true)
		}
		for _, c := range sc.Network.Cuts {
			show("a partition", c.For > 0 && !c.OneWay)
			show("a partition one way", c.For > 0 && c.OneWay)
		}
		for _, r := range sc.Network.Rules {
			show("a message late", r.Late > 0)
			show("a message lost", r.Drop)
			show("a message twice", r.Twice)
		}
		show("a quiet end", sc.Network.QuietFrom > 0 && sc.Live != nil)
		show("a resource with a fence", len(sc.Resources) > 0 && sc.Resources[0].Fenced)
	}
	for _, want := range []string{
		"pause of a node", "pause of a client", "suspend of a client", "crash of a node", "crash of a client", "a crash that is refused", "a crash for good",
		"persistence ", "persistence everysec", "persistence always", "persistence snapshot", "a quarantine", "a quarantine on wall",
		"step of a node", "a step forward", "a step back", "rate of a node", "freeze of a node", "freeze of a client", "failover of a node", "evict of a node", "flush of a node",
		"loss that lasts", "slowness that lasts", "delays of law pareto", "a partition", "a partition one way", "a message late", "a message lost", "a message twice",
		"a quiet end", "a resource with a fence",
	} {
		if !shown[want] {
			t.Errorf("no scenario fault-*.json shows %s", want)
		}
	}
}

// TestGoldens compares the instants of each golden example with what exact
// rational arithmetic says of it: readings are in ms of a clock that runs at the
// given rate, and its first true nanosecond that shows one is rounded up.
func TestGoldens(t *testing.T) {
	t.Parallel()
	type reading struct{ ms, rate string }
	for _, c := range []struct {
		file           string
		granted        int64
		deadline, gone reading // on the client's clock; on a node's
	}{
		{"g1-baseline", 0, reading{"9898", "1"}, reading{"10000", "1"}},
		{"g1-after-137ms", 137_000_000, reading{"9898", "1"}, reading{"10000", "1"}},
		{"g2-200ppm", 0, reading{"29698", "4999/5000"}, reading{"30000", "5001/5000"}},
		{"g3-tie", 0, reading{"9900", "198/199"}, reading{"10000", "200/199"}},
		{"g3-plus-1ppm", 0, reading{"9900", "197999801/199000000"}, reading{"10000", "200000199/199000000"}},
		{"g4-slew", 0, reading{"9898", "1"}, reading{"10000", "13/12"}},
		{"g5-step-k3", 0, reading{"9898", "1"}, reading{"9000", "1"}},
		{"g5-step-k5", 0, reading{"9898", "1"}, reading{"10000", "1"}},
		{"g6-truncation", 0, reading{"4.95", "1"}, reading{"4.001", "1"}},
		{"g6-buffer", 0, reading{"2.95", "1"}, reading{"4.001", "1"}},
		{"g8-amnesia", 0, reading{"9898", "1"}, reading{"1200", "1"}},
		{"g8-late", 0, reading{"9898", "1"}, reading{"9898", "1"}},
		{"g8-quarantine", 0, reading{"9898", "1"}, reading{"10000", "1"}},
		{"g14-suspend", 0, reading{"12898", "1"}, reading{"10000", "1"}},
		{"g14-suspend-boot", 0, reading{"9898", "1"}, reading{"10000", "1"}},
		{"d1-validity", 500_000_000, reading{"29698", "1"}, reading{"30000", "1"}},
		{"d2-slow-client", 0, reading{"9900", "16/21"}, reading{"10000", "1"}},
		{"d2-enough", 0, reading{"7619.04761", "16/21"}, reading{"10000", "1"}},
	} {
		for _, twin := range []string{"", "-strict"} {
			t.Run(c.file+twin, func(t *testing.T) {
				t.Parallel()
				r := named(t, c.file+twin)
				gone := rational(t, c.gone.ms)
				if twin != "" && !strings.Contains(c.file, "amnesia") && !strings.Contains(c.file, "late") {
					gone.Add(gone, big.NewRat(1, 1)) // a strict node's key lives 1 ms of its time longer
				}
				trust, exclusion := first(rational(t, c.deadline.ms), rational(t, c.deadline.rate)), first(gone, rational(t, c.gone.rate))
				if len(r.verdict.Leases) != 1 {
					t.Fatalf("%d leases", len(r.verdict.Leases))
				}
				l := r.verdict.Leases[0]
				if l.Granted != c.granted || l.TrustEnds != trust || l.ExclusionEnds != exclusion || int64(l.Margin()) != exclusion-trust {
					t.Errorf("granted %d, trust ends %d, exclusion ends %d, margin %d; want %d, %d, %d, %d",
						l.Granted, l.TrustEnds, l.ExclusionEnds, l.Margin(), c.granted, trust, exclusion, exclusion-trust)
				}
				if !l.RanOut() {
					t.Errorf("trust ended before its deadline %d", l.Deadline)
				}
				if r.sc.Network.Cuts != nil && l.Nodes != 3 {
					t.Errorf("granted by %d nodes: c1 reaches a bare quorum", l.Nodes)
				}
			})
		}
	}
}

// first is the first nanosecond at which a clock of that rate shows so many ms.
func first(ms, rate *big.Rat) int64 {
	ns := new(big.Rat).Quo(ms.Mul(ms, big.NewRat(1e6, 1)), rate)
	down := new(big.Int).Div(new(big.Int).Neg(ns.Num()), ns.Denom()) // −⌈ns⌉
	return -down.Int64()
}

func rational(t *testing.T, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("no number: %q", s)
	}
	return r
}

// TestGoldenTable holds the runs against the numbers of docs/drift-math.md, kept
// as data. They are decimals of milliseconds, some of them cut off after 16
// digits, so an instant is theirs rounded up to a nanosecond.
func TestGoldenTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/golden-drift.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Examples []map[string]any }
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&table); err != nil {
		t.Fatal(err)
	}
	number := func(example, field string) *big.Rat {
		for _, e := range table.Examples {
			if e["name"] == example {
				return rational(t, e[field].(json.Number).String())
			}
		}
		t.Fatalf("no example %s", example)
		return nil
	}
	for _, c := range []struct{ file, example, trust, exclusion string }{
		{"g1-baseline", "G1_baseline", "deadline", "excl_end_bound"},
		{"g2-200ppm", "G2_200ppm", "deadline", "excl_end_bound"},
		{"g3-tie", "G3_breakeven", "deadline", "excl_end_bound"},
		{"g4-slew", "G4_node_slew_1_12", "deadline", "excl_end_bound"},
		{"g5-step-k3", "G5_step_plus1s", "deadline", "excl_end_k3"},
		{"g5-step-k5", "G5_step_plus1s", "deadline", "excl_end_k5"},
		{"g6-truncation", "G6_truncation", "deadline_quantised", "x_nonstrict_phi_0_999"},
		{"g6-truncation-strict", "G6_truncation", "deadline_quantised", "x_strict_phi_0_999"},
		{"g6-buffer", "G6_truncation", "deadline_quantised_b2", "x_nonstrict_phi_0_999"},
		{"g8-amnesia", "G8_amnesia", "deadline", "up"},
		{"g8-late", "G8_amnesia", "deadline", "min_safe_up"},
		{"g14-suspend", "G14_suspend", "deadline", "excl_end"},
	} {
		l := named(t, c.file).verdict.Leases[0]
		one := big.NewRat(1, 1)
		trust, exclusion := first(number(c.example, c.trust), one), first(number(c.example, c.exclusion), one)
		if l.TrustEnds != trust || l.ExclusionEnds != exclusion {
			t.Errorf("%s: trust ends %d, exclusion %d; the table says %d and %d", c.file, l.TrustEnds, l.ExclusionEnds, trust, exclusion)
		}
	}
	if left := named(t, "g1-after-137ms").verdict.Leases[0]; left.Deadline-left.Granted != first(number("G1_baseline", "validity_after_137ms"), big.NewRat(1, 1)) {
		t.Errorf("after 137 ms %d ns of validity remain", left.Deadline-left.Granted)
	}
}

// TestRequiredFactors: the factor that would have held, as docs/drift-math.md
// gives it, in parts per billion rounded up.
func TestRequiredFactors(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]sim.Factor{
		"g3-tie": 10_000_000, "g4-slew": 76_723_077, "g5-step-k3": 99_800_000,
		"d2-slow-client": 238_095_239, "g1-baseline": 0,
	} {
		if got := named(t, file).verdict.Leases[0].Required; got != want {
			t.Errorf("%s: needs a factor of %v, want %v", file, got, want)
		}
	}
}

// TestLateReplyIsGivenBack is D3: the second of three answers after 12 s.
func TestLateReplyIsGivenBack(t *testing.T) {
	t.Parallel()
	r := named(t, "d3-late-reply")
	var granted, released [3]int64
	refused := ""
	for _, e := range r.history.Events() {
		switch {
		case e.Kind == sim.Executed && e.Op == redlock.OpAcquire && e.Status == redlock.Done:
			granted[e.Node]++
		case e.Kind == sim.Executed && e.Op == redlock.OpRelease:
			released[e.Node] = e.At
		case e.Kind == sim.Refused:
			refused = r.history.Text(e.Note)
		}
	}
	if granted != [3]int64{1, 1, 1} || released != [3]int64{12e9, 12e9, 12e9} {
		t.Errorf("nodes granted %v times and were released at %v", granted, released)
	}
	if !strings.Contains(refused, redlock.ErrValidityExpired.Error()) || len(r.verdict.Leases) != 0 {
		t.Errorf("refused with %q, %d leases", refused, len(r.verdict.Leases))
	}
}
