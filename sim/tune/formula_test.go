package tune

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// golden is a number of testdata/golden-drift.json.
func golden(t *testing.T, example, field string) float64 {
	t.Helper()
	text, err := os.ReadFile("../../testdata/golden-drift.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Examples []map[string]any }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, e := range file.Examples {
		if v, ok := e[field].(float64); ok && e["name"] == example {
			return v
		}
	}
	t.Fatalf("no %s of %s", field, example)
	return 0
}

const aNanosecond = clock.Duration(1) // as good as no buffer, which would be the default

// sides are the bounds of the drift of clients and nodes.
func sides(client, node clock.Drift) (Machine, []Machine) {
	return Machine{Rate: Within(client)}, []Machine{{Rate: Within(node)}}
}

// The closed forms of docs/drift-math.md, with its own numbers.
func TestClosed(t *testing.T) {
	t.Parallel()
	plan := func(client, node clock.Drift, change ...func(*Plan)) Plan {
		p := Plan{Buffer: aNanosecond, Expiry: "strict"}
		p.Client, p.NodeClocks = sides(client, node)
		for _, f := range change {
			f(&p)
		}
		return p
	}
	nonStrict := func(p *Plan) { p.Expiry, p.Buffer = node.NonStrict, 2e6 }
	table := func(ppm clock.Drift) Plan { return plan(ppm*clock.PPM, ppm*clock.PPM) }
	for _, tt := range []struct {
		name string
		plan Plan
		want float64
	}{
		{"10 ppm", table(10), 2.0e-5},
		{"100 ppm", table(100), 2.0e-4},
		{"200 ppm", table(200), 3.999e-4},
		{"500 ppm", table(500), 9.995e-4},
		{"5,000 ppm", table(5000), 9.950e-3},
		{"83,333 ppm", plan(83_333_333, 83_333_333), 0.15385},
		{"nodes only", plan(0, 5000*clock.PPM), 0.005 / 1.005},
		{"the client only", plan(5000*clock.PPM, 0), 0.005},
		{"G2", plan(200*clock.PPM, 200*clock.PPM, func(p *Plan) { p.TTL = 30e9 }), golden(t, "G2_200ppm", "f_min_b0")},
		{"G4", plan(0, 83_333_333, func(p *Plan) { p.Buffer = 2e6 }), golden(t, "G4_node_slew_1_12", "f_min")},
		{"G5", plan(0, 0, func(p *Plan) { p.Buffer = 2e6; p.NodeClocks[0].Step = Step{1e9, 1e9, 1} }), golden(t, "G5_step_plus1s", "f_min_k3")},
		{"rates and steps share one budget", plan(5000*clock.PPM, 5000*clock.PPM, nonStrict,
			func(p *Plan) { p.NodeClocks[0].Step = Step{102e6, 102e6, 1} }), 1 - 0.995/1.005*(1-103.0/10_000) - 2.0/10_000},
		{"a slew that corrects little is a step", plan(0, 0,
			func(p *Plan) { p.NodeClocks[0].Slew = slewing(83_333_333, time.Second/10) }), 0.01},
		{"and one that corrects much a rate", plan(0, 0,
			func(p *Plan) { p.NodeClocks[0].Slew = slewing(83_333_333, time.Hour) }), 1.0 / 13},
		{"one without a bound too", plan(0, 0,
			func(p *Plan) { p.TTL, p.NodeClocks[0].Slew = clock.Duration(24*time.Hour), slewing(83_333_333, 0) }), 1.0 / 13},
		{"a client's too", plan(0, 0, func(p *Plan) { p.Client.Slew = slewing(83_333_333, time.Second/10) }), 0.01},
		{"the buffer is enough", plan(0, 0, nonStrict), 0},
	} {
		if got, without := tt.plan.Closed(0), tt.plan.Unbounded(0); without < got {
			t.Errorf("%s: needs %v, and less with slews that have no bound, %v", tt.name, got, without)
		}
		if got := tt.plan.Closed(0); math.Abs(got-tt.want) > 1e-4*tt.want+1e-9 {
			t.Errorf("%s: needs %v, want %v", tt.name, got, tt.want)
		}
	}
	uneven := plan(0, 0) // one node is fast: without slack it counts, with one node more it does not
	uneven.NodeClocks = []Machine{{}, {}, {Rate: Within(10_000 * clock.PPM)}, {}, {}}
	if without, with := uneven.Closed(0), uneven.Closed(1); math.Abs(without-0.01/1.01) > 1e-9 || with != 0 {
		t.Errorf("one fast node: %v without slack, %v with", without, with)
	}
	if got := (Plan{}).Filled().TTL; got != clock.Duration(10*time.Second) {
		t.Errorf("the default TTL is %v", got)
	}
	for f, want := range map[float64]float64{0: 0, 0.000199: 0.0002, 0.0002: 0.0002, 0.15384615: 0.16, 0.0767: 0.077, 2e-9: 2e-9, 1.23e-8: 1.3e-8} {
		if got := RoundUp(f); got != want {
			t.Errorf("%v is rounded to %v, want %v", f, got, want)
		}
	}
}

// The worst of a batch comes within a hundredth of the closed form, and never
// beyond: for drift on both sides, of the nodes alone and of the client alone, with
// a bare quorum and with two nodes more, which may then be as fast as they like.
func TestWorstReachesTheClosedForm(t *testing.T) {
	t.Parallel()
	const delta = 5000 * clock.PPM
	quick := network.Delay{Min: 1} // nothing is left but clocks and the millisecond
	wild := Machine{Rate: Within(200_000 * clock.PPM)}
	for _, bounds := range []struct {
		name         string
		client, node clock.Drift
	}{{"symmetric", delta, delta}, {"node-only", 0, delta}, {"client-only", delta, 0}} {
		for _, slack := range []int{0, 2} {
			for _, expiry := range []node.Expiry{node.Strict, node.NonStrict} {
				p := Plan{Runs: runs(4000), Delay: quick, Expiry: expiry, Down: 2 - slack, Buffer: 1e6}
				p.Client, p.NodeClocks = sides(bounds.client, bounds.node)
				p.Client.Rate.Law = Ends // with slack, three nodes must be at the bound
				p.NodeClocks[0].Rate.Law = Ends
				if slack > 0 {
					kept := p.NodeClocks[0]
					p.NodeClocks = []Machine{kept, wild, kept, kept, wild}
				}
				b, err := p.Run(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				worst, seed := b.worst(false)
				closed := p.Closed(slack)
				t.Logf("%-11s slack %d, %-10v needed %.8f of %.8f (%.3f %% below), seed %d", bounds.name, slack, expiry, worst, closed, 100*(1-worst/closed), seed)
				if worst > closed+1e-9 {
					t.Errorf("%s, slack %d: seed %d needs %v, and the closed form says %v", bounds.name, slack, seed, worst, closed)
				}
				if worst < 0.99*closed {
					t.Errorf("%s, slack %d: the worst needs %v: not within a hundredth of %v", bounds.name, slack, worst, closed)
				}
			}
		}
	}
}

// Presets that slew need what they need whatever the TTL: nothing bounds how long they
// do. The worst of a batch shows it of chrony, for TTLs of up to an hour.
func TestPresetsSlewForAsLongAsTheyLike(t *testing.T) {
	t.Parallel()
	for _, c := range Presets() {
		p := Plan{TTL: clock.Duration(24 * time.Hour)}.WithClocks(c)
		if got, want := p.Closed(0), p.Rates(); c.Clocks.Slew.Rate > 0 && math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: needs %v for a TTL of a day, and %v for any", c.Name, got, want)
		}
	}
	c, err := FindPreset("chrony-default")
	if err != nil {
		t.Fatal(err)
	}
	for _, ttl := range []time.Duration{10 * time.Second, time.Minute, time.Hour} {
		p := Plan{TTL: clock.Duration(ttl), Runs: max(runs(2000), 500), Down: 2}.WithClocks(c)
		b := batch(t, p)
		worst, _ := b.worst(false)
		if closed := b.Plan.Closed(0); worst < 0.99*closed || worst > closed+1e-9 {
			t.Errorf("%v: the worst needs %v, and the closed form says %v", ttl, worst, closed)
		}
	}
}
