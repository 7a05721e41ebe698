package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/sim"

	"gonum.org/v1/gonum/stat/distuv"
)

// runs is how many a test makes: fewer under the race detector.
func runs(n int) int {
	info, _ := debug.ReadBuildInfo()
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return n / 20
	}
	return n
}

func batch(t *testing.T, p Plan) *Batch {
	t.Helper()
	b, err := p.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Runs) != p.Filled().Runs {
		t.Fatalf("%d runs, want %d", len(b.Runs), p.Filled().Runs)
	}
	return b
}

// wide is a plan in which a factor of a few per cent matters.
func wide(n int) Plan {
	p := Plan{Runs: runs(n), TTL: clock.Duration(time.Second)}
	p.Client, p.NodeClocks = sides(30_000*clock.PPM, 30_000*clock.PPM)
	return p
}

// A batch does not hang on how many jobs made it.
func TestBatchIsTheSameOnAnyNumberOfJobs(t *testing.T) {
	t.Parallel()
	one, many := wide(500), wide(500)
	one.Jobs, many.Jobs = 1, 7
	if !reflect.DeepEqual(batch(t, one).Runs, batch(t, many).Runs) {
		t.Error("1 job and 7 made different runs")
	}
}

// What the curve foretells is what breaks, run by run, with the factor in place:
// wherever the factor decides nothing but the deadline.
func TestCurveIsWhatBreaks(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Plan){
		"to the deadline":      func(*Plan) {},
		"a bare quorum":        func(p *Plan) { p.Down = 2 },
		"even":                 func(p *Plan) { p.Nodes = 4 },
		"steps":                func(p *Plan) { p.Buffer = 2e6; p.NodeClocks[0].Step = Step{10e6, 100e6, 0.5} },
		"slews":                func(p *Plan) { p.Client.Slew = slewing(83_333_333, time.Second) },
		"strict":               func(p *Plan) { p.Expiry = "strict" },
		"a fixed hold":         func(p *Plan) { p.Hold = Hold{Kind: For, For: 970e6} },
		"a share":              func(p *Plan) { p.Hold = Hold{Kind: Percent, Percent: 97} },
		"watched":              func(p *Plan) { p.Hold = Hold{Kind: Watched, For: 3e9}; p.LossPPM = 300_000 },
		"renewed often":        func(p *Plan) { p.Hold = Hold{Kind: Watched, For: 2e9}; p.Renew = 100e6; p.LossPPM = 300_000 },
		"three fixed holds":    func(p *Plan) { p.Hold = Hold{Kind: For, For: 970e6}; p.Clients = 3 },
		"an uneven TTL":        func(p *Plan) { p.TTL += 999_999 },
		"so much is not taken": func(p *Plan) { p.TTL = 20e6; p.Buffer = 1e6; p.Delay.Min = 100_000 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := wide(400)
			p.Runs = 400 // with fewer nothing breaks in some of them
			change(&p)
			b := batch(t, p)
			all := 0
			for _, f := range []float64{0, 0.004, 0.0123456, 0.03, 0.05} {
				c, err := b.Confirm(t.Context(), f, len(b.Runs), nil)
				if err != nil {
					t.Fatal(err)
				}
				curve := b.Curve(b.Plan.Buffer, false)
				if got := curve.Broken(FactorOf(f)); got != c.Foretold {
					t.Errorf("f = %v: the curve has %d broken, run by run they are %d", f, got, c.Foretold)
				}
				if c.Differ > 0 {
					t.Errorf("f = %v: %d of %d runs break, foretold were %d, and %d differ", f, c.Broken, c.Runs, c.Foretold, c.Differ)
				}
				all += c.Broken
			}
			if all == 0 {
				t.Error("nothing ever broke")
			}
		})
	}
}

// What a run needs is exact: with it the run holds, with two parts per billion less it
// breaks. (With one less the lock's own rounding up to the nanosecond may save it.)
func TestRequiredIsExact(t *testing.T) {
	t.Parallel()
	p := wide(60)
	p.TTL = clock.Duration(7777 * time.Millisecond)
	b := batch(t, p)
	tried := 0
	for i := range b.Runs {
		need := b.Required(i)
		if need < 2 {
			continue
		}
		for _, f := range []sim.Factor{need, need - 2} {
			v, err := sim.Test(p.Scenario(b.Plan.Seed+uint64(i), f.String()))
			if err != nil {
				t.Fatal(err)
			}
			if broke := !v.OK(); broke != (f < need) {
				t.Errorf("seed %d needs %v; with %v it breaks: %v", b.Plan.Seed+uint64(i), need, f, broke)
			}
		}
		tried++
	}
	if tried == 0 {
		t.Error("no run needs a factor")
	}
}

// A buffer moves the curve as a factor does: one batch serves for all.
func TestCurveOfAnotherBuffer(t *testing.T) {
	t.Parallel()
	small, large := wide(300), wide(300)
	small.Buffer, large.Buffer = 2e6, 20e6
	from, to := batch(t, small), batch(t, large)
	if got, want := from.Curve(20e6, false).needs, to.Curve(20e6, false).needs; !slices.Equal(got, want) {
		t.Errorf("a buffer of 20 ms needs %v…, foretold was %v…", want[:3], got[:3])
	}
}

// Where clients hold to their deadlines the factor decides who is next. Then the
// report says that it is not exact.
func TestFactorThatChangesWhoWins(t *testing.T) {
	t.Parallel()
	p := wide(1000)
	p.Clients = 4
	p.Client.Slew, p.NodeClocks[0].Slew = slewing(83_333_333, 10*time.Second), slewing(83_333_333, 10*time.Second)
	b := batch(t, p)
	c, err := b.Confirm(t.Context(), 0.1, len(b.Runs), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Report()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", *c)
	if c.Differ == 0 || r.Exact {
		t.Errorf("%d runs differ, and the report is exact: %v", c.Differ, r.Exact)
	}
}

func TestClopperPearson(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		k, n      int
		c         float64
		low, high float64
	}{
		{0, 10, 0.95, 0, 0.30850}, // tables; the first is 1 − 0.025^(1/10)
		{1, 10, 0.95, 0.00253, 0.44502},
		{5, 10, 0.95, 0.18709, 0.81291},
		{10, 10, 0.95, 0.69150, 1},
		{0, 0, 0.95, 0, 1},
	} {
		low, high := Bounds(tt.k, tt.n, tt.c)
		if math.Abs(low-tt.low) > 1e-5 || math.Abs(high-tt.high) > 1e-5 {
			t.Errorf("%d of %d: %.5f to %.5f, want %.5f to %.5f", tt.k, tt.n, low, high, tt.low, tt.high)
		}
	}
	// By their definition: as few, or as many, happen with half of what is left.
	for _, tt := range [][2]int{{3, 1000}, {250, 30_000}, {1, 1_000_000}} {
		k, n := tt[0], tt[1]
		low, high := Bounds(k, n, 0.99)
		asFew := distuv.Binomial{N: float64(n), P: high}.CDF(float64(k))
		asMany := 1 - distuv.Binomial{N: float64(n), P: low}.CDF(float64(k-1))
		if math.Abs(asFew-0.005) > 1e-6 || math.Abs(asMany-0.005) > 1e-6 {
			t.Errorf("%d of %d: %v to %v, with %v and %v beyond", k, n, low, high, asMany, asFew)
		}
	}
	for _, n := range []int{1, 30_000, 1_000_000} {
		if got, want := Upper(0, n, 0.95), 1-math.Pow(0.05, 1/float64(n)); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("0 of %d: %v, want %v", n, got, want)
		}
	}
}

// Below keeps to its confidence: of a law that is known, uniform over 1,000 factors,
// it names too small a factor in no more than one batch in twenty.
func TestBelowKeepsItsConfidence(t *testing.T) {
	t.Parallel()
	const target, n, batches = 0.02, 1000, 2000
	wrong := 0
	for i := range batches {
		c := &Curve{runs: n}
		for j := range n {
			c.needs = append(c.needs, sim.Factor(dice(i).between(99, j, 1, 1e6)))
		}
		slices.Sort(c.needs)
		slices.Reverse(c.needs)
		f, ok := c.Below(target, 0.95)
		if !ok {
			t.Fatal("nothing is shown")
		}
		if 1-float64(f)/1e6 > target {
			wrong++
		}
	}
	if share := float64(wrong) / batches; share > 0.065 || share < 0.02 {
		t.Errorf("wrong in %.3f of the batches, want about 0.05 or a little less", share)
	}
	few := &Curve{runs: 10, needs: make([]sim.Factor, 10)}
	if _, ok := few.Below(1e-3, 0.95); ok {
		t.Error("10 runs show a probability below 0.001")
	}
}

// The parts of the difference between the closed form and the worst run add up.
func TestPartsAddUp(t *testing.T) {
	t.Parallel()
	for _, hold := range []Hold{{}, {Kind: Percent, Percent: 99}} {
		p := wide(300)
		p.Hold = hold
		b := batch(t, p)
		r, err := b.Report()
		if err != nil {
			t.Fatal(err)
		}
		sum := r.Parts.Slack + r.Parts.Way + r.Parts.Phase + r.Parts.Clocks + r.Parts.Hold
		if math.Abs(r.Closed-r.Most-sum) > 1e-8 {
			t.Errorf("%v: the closed form is %v and the worst %v, and the parts make %v: %+v", hold, r.Closed, r.Most, sum, r.Parts)
		}
		if r.Parts.Way <= 0 || r.Parts.Phase < 0 || r.Parts.Clocks < 0 || hold.Percent == 0 && math.Abs(r.Parts.Hold) > 1e-12 || hold.Percent > 0 && r.Parts.Hold <= 0 {
			t.Errorf("%v: parts %+v", hold, r.Parts)
		}
	}
}

// Without a target that runs can show, and with clocks that a hundredth of the TTL
// does not cover, the closed form is what is left.
func TestRecommendation(t *testing.T) {
	t.Parallel()
	preset := func(name string, change ...func(*Plan)) Plan {
		c, err := FindPreset(name)
		if err != nil {
			t.Fatal(err)
		}
		p := Plan{Client: c.Clocks, NodeClocks: []Machine{c.Clocks}, Runs: max(runs(40_000), 8000), Target: 1e-3} // fewer cannot show the target
		p.Client.Step = Step{}
		for _, f := range change {
			f(&p)
		}
		return p
	}
	for _, tt := range []struct {
		name   string
		plan   Plan
		basis  Basis
		factor float64
	}{
		{"quartz", preset("quartz"), ByFormula, 0.0002},
		{"few runs of chrony", preset("chrony-default", func(p *Plan) { p.Runs = 100 }), ByFormula, 0.16},
		{"chrony", preset("chrony-default", func(p *Plan) { p.Runs = 8000 }), ByFormula, 0.16},
		{"chrony, a long TTL", preset("chrony-default", func(p *Plan) { p.TTL, p.Runs = 60e9, 1000 }), ByFormula, 0.16},
		{"chrony that corrects little", preset("chrony-default", func(p *Plan) { *p = p.WithSlewsOf(1e9) }), ByRuns, 0},
	} {
		b := batch(t, tt.plan)
		r, err := b.Report()
		if err != nil {
			t.Fatal(err)
		}
		if r.Basis != tt.basis || tt.factor > 0 && r.Factor != tt.factor {
			t.Errorf("%s: %v by %s, want %v by %s", tt.name, r.Factor, r.Basis, tt.factor, tt.basis)
		}
		if r.Basis == ByRuns && (r.Factor >= r.Closed || r.Shown > r.Plan.Target || !r.Allowed) {
			t.Errorf("%s: f = %v of %v, broken at most %v, target %v", tt.name, r.Factor, r.Closed, r.Shown, r.Plan.Target)
		}
		c, err := b.Confirm(t.Context(), r.Factor, 500, nil)
		if err != nil {
			t.Fatal(err)
		}
		if float64(c.Broken) > 5+5*r.Plan.Target*float64(c.Runs) {
			t.Errorf("%s: with f = %v there break %d of %d", tt.name, r.Factor, c.Broken, c.Runs)
		}
	}
}

// A factor that would not do if clocks corrected more at a time than they are said to is
// not told without that, and what it takes then; any other is.
func TestRecommendationThatRestsOnABound(t *testing.T) {
	t.Parallel()
	c, err := FindPreset("chrony-default")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ttl, most clock.Duration
		factor    float64
		rests     clock.Duration
	}{
		{30e9, 0, 0.16, 0},
		{30e9, 60e9, 0.16, 0},
		{30e9, 1e9, 0.067, 1e9},
		{60e9, 1e9, 0.034, 1e9},
		{60e9, 500e6, 0.017, 500e6},
	} {
		p := Plan{TTL: tt.ttl, Runs: 50}.WithClocks(c)
		if tt.most > 0 {
			p = p.WithSlewsOf(tt.most)
		}
		r, err := batch(t, p).Report()
		if err != nil {
			t.Fatal(err)
		}
		if r.Factor != tt.factor || r.Corrects != tt.rests || math.Abs(r.Unbounded-0.1538) > 1e-4 {
			t.Errorf("%+v: f = %v that rests on %v, and %v without", tt, r.Factor, r.Corrects, r.Unbounded)
		}
		want := fmt.Sprintf(" It rests on corrections of at most %v at a time: if a clock may correct more, take f = 0.16.", tt.rests)
		if says := strings.Contains(r.Sentence(), "rests on"); says != (tt.rests > 0) || says && !strings.HasSuffix(r.Sentence(), want) {
			t.Errorf("%+v: says %q", tt, r.Sentence())
		}
	}
}

// A batch that is stopped keeps what it has.
func TestBatchStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	p := wide(1)
	p.Runs = 1_000_000
	b, err := p.Run(ctx, func(done int) {
		if done >= 2*handful {
			stop(errors.New("a signal"))
		}
	})
	if err != nil || len(b.Runs) == 0 || len(b.Runs) > 100*handful {
		t.Errorf("%d runs, %v", len(b.Runs), err)
	}
	if _, err := b.Report(); err != nil {
		t.Error(err)
	}
}

// What nobody is ever granted is no lease, and no panic.
func TestNothingGranted(t *testing.T) {
	t.Parallel()
	p := Plan{Runs: 50, Delay: wide(1).Delay, TTL: 2e6, Buffer: 1e6}
	p.Delay.Min = 50e6
	p.Timeout = 1e6
	r, err := batch(t, p).Report()
	if err != nil || r.Price.Failed != 1 || r.Most != 0 {
		t.Errorf("failed %v, needs %v, %v", r.Price.Failed, r.Most, err)
	}
}

func TestPlanCheck(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Plan){
		"a ttl of 1ms: must be from 2ms to 24h":                     func(p *Plan) { p.TTL = 1e6 },
		"a buffer of 10s: must not be negative, and less than":      func(p *Plan) { p.Buffer = 10e9 },
		"65 nodes: must be 1 to 64":                                 func(p *Plan) { p.Nodes = 65 },
		"17 clients: must be 1 to 16":                               func(p *Plan) { p.Clients = 17 },
		"3 of 5 nodes down: must be 0 to 2":                         func(p *Plan) { p.Down = 3 },
		"clocks of 2 nodes, and there are 5 nodes":                  func(p *Plan) { p.NodeClocks = make([]Machine, 2) },
		"a loss of -1 in a million":                                 func(p *Plan) { p.LossPPM = -1 },
		"a node timeout of -1ns":                                    func(p *Plan) { p.Timeout = -1 },
		"a renew interval: is only for a hold that is watched":      func(p *Plan) { p.Renew = 1e9 },
		"a target of 1: must be a probability":                      func(p *Plan) { p.Target = 1 },
		"a floor of 1: must be from 0 to below 1":                   func(p *Plan) { p.Floor = 1 },
		"a target of NaN":                                           func(p *Plan) { p.Target = math.NaN() },
		"a confidence of 0.4: must be from 0.5":                     func(p *Plan) { p.Confidence = 0.4 },
		"-1 runs: must be 1 to 10000000":                            func(p *Plan) { p.Runs = -1 },
		"must be from 0 to below 1":                                 func(p *Plan) { p.Factor = "1" },
		"a hold of 0s: must be above 0":                             func(p *Plan) { p.Hold = Hold{Kind: For} },
		"a hold for 101 % of the validity":                          func(p *Plan) { p.Hold = Hold{Kind: Percent, Percent: 101} },
		`a hold "long": there are deadline, for, percent and watch`: func(p *Plan) { p.Hold = Hold{Kind: "long"} },
		`law "bell": there are uniform, ends and normal`:            func(p *Plan) { p.Client.Rate.Law = "bell" },
		"rates from +2ppb to +1ppb":                                 func(p *Plan) { p.Client.Rate = Spread{Low: 2, High: 1} },
		"together they must be within":                              func(p *Plan) { p.Client.Rate = Within(1e9) },
		"slews of 0s to 24h0m0s: must be above 0":                   func(p *Plan) { p.Client.Slew = Slew{Rate: 1, Share: 1} },
		"steps in a share of 2 of the leases":                       func(p *Plan) { p.NodeClocks = []Machine{{Step: Step{1, 1, 2}}} },
		"it lives on one that never steps":                          func(p *Plan) { p.Client.Step = Step{1, 1, 1} },
		"as a scenario":                                             func(p *Plan) { p.Delay.Law = "bell" },
	} {
		p := Plan{}
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for _, preset := range Presets() {
		p := Plan{Client: preset.Clocks, NodeClocks: []Machine{preset.Clocks}}
		p.Client.Step = Step{}
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", preset.Name, err)
		}
	}
	if _, err := FindPreset("crony-default"); err == nil || !strings.Contains(err.Error(), `did you mean "chrony-default"`) {
		t.Error(err)
	}
}
