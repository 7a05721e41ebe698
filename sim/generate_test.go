package sim

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"driftlock/clock"
	"driftlock/sim/node"
)

// byRapid draws a scenario value by value, as package simtest does.
type byRapid struct{ *rapid.T }

func (d byRapid) Int(label string, low, high int64) int64 {
	return rapid.Int64Range(low, high).Draw(d.T, label)
}

func anySpace(t *rapid.T) Space {
	all := append(Spaces(), Drift(200*clock.PPM), Drift(0), Drift(900_000*clock.PPM), DriftWide().Nodes(1, 64).Clients(1, 64),
		DriftCovered().TTL(7*time.Hour).Factor("0.0123456789"), DriftWide().TTL(time.Millisecond).Factor("0.2"))
	return rapid.SampledFrom(all).Draw(t, "space")
}

// TestDrawnScenarios: what is drawn can be run, and its text reads back as the
// same scenario.
func TestDrawnScenarios(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sc := Draw(anySpace(t), byRapid{t})
		if err := sc.Check(); err != nil {
			t.Fatal(err)
		}
		text := sc.AppendJSON(nil)
		again, err := Parse("drawn.json", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(sc, again) {
			t.Fatalf("read back as another scenario:\n%+v\n%+v", sc, again)
		}
		if second := again.AppendJSON(nil); string(second) != string(text) {
			t.Fatalf("printed differently:\n%s\n%s", text, second)
		}
	})
}

// TestGeneratedScenarios: no seed gives a scenario that cannot be run, and none
// depends on anything but its space and itself.
func TestGeneratedScenarios(t *testing.T) {
	t.Parallel()
	for _, sp := range append(Spaces(), Drift(200*clock.PPM)) {
		texts := map[string]bool{}
		for seed := range uint64(500) {
			sc := Generate(sp, seed)
			if err := sc.Check(); err != nil {
				t.Fatalf("%s, seed %d: %v", sp.Name(), seed, err)
			}
			if sc.Seed != seed {
				t.Fatalf("seed %d gives a scenario with seed %d", seed, sc.Seed)
			}
			if !reflect.DeepEqual(sc, Generate(sp, seed)) {
				t.Fatalf("%s, seed %d: two scenarios", sp.Name(), seed)
			}
			sc.Seed, sc.Name = 0, ""
			texts[string(sc.AppendJSON(nil))] = true
		}
		if len(texts) < 495 {
			t.Errorf("%s: 500 seeds give %d scenarios", sp.Name(), len(texts))
		}
	}
}

// drift is 1 − rate of the client / rate of the node, and budget how much of it
// T, f and b cover on that node: drift-math.md's condition, f ≥ 1 − (rc/rn)(1 −
// g/T) − b/T, written with the trust that the lock computes in nanoseconds.
func drift(sc *Scenario, c *Client, n *Node) (drift, budget *big.Rat) {
	ppb, err := factorPPB(sc.Lock.Factor)
	if err != nil {
		panic(err)
	}
	ms := big.NewRat(int64(time.Duration(sc.Lock.TTL)/time.Millisecond), 1)
	ns := new(big.Rat).Mul(ms, big.NewRat(1e6, 1))
	product := new(big.Rat).Mul(ns, big.NewRat(ppb, 1e9))
	cut := new(big.Int).Neg(new(big.Int).Div(new(big.Int).Neg(product.Num()), product.Denom())) // rounded up
	trust := new(big.Rat).Sub(ns, new(big.Rat).SetInt(cut))
	trust.Sub(trust, big.NewRat(int64(sc.Lock.Buffer), 1))
	if n.Expiry == node.NonStrict {
		ns.Sub(ns, big.NewRat(1e6, 1))
	}
	budget = new(big.Rat).Sub(big.NewRat(1, 1), trust.Quo(trust, ns))
	cn, cd := c.Clock.Rate.Fraction()
	nn, nd := n.Clock.Rate.Fraction()
	ratio := new(big.Rat).Quo(big.NewRat(cn, cd), big.NewRat(nn, nd))
	return new(big.Rat).Sub(big.NewRat(1, 1), ratio), budget
}

// TestDriftIsAtItsBound: the space "drift" never passes what the lock covers,
// not by a part in a billion, and often reaches it exactly; "drift-wide" never
// passes 1.2 times that, and reaches it as well; "canary" is at twice.
func TestDriftIsAtItsBound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sp     Space
		bound  *big.Rat // times the budget
		always bool
	}{
		{DriftCovered(), big.NewRat(1, 1), false},
		{DriftWide(), big.NewRat(12, 10), false},
		{Canary(), big.NewRat(2, 1), true},
		{DriftCovered().TTL(3 * time.Hour).Factor("0.012345678"), big.NewRat(1, 1), false},
	} {
		const seeds = 1000
		reached, beyond := 0, 0
		for seed := range uint64(seeds) {
			sc := Generate(c.sp, seed)
			at, over := false, false
			for i := range sc.Clients {
				for j := range sc.Nodes {
					d, budget := drift(&sc, &sc.Clients[i], &sc.Nodes[j])
					over = over || d.Cmp(budget) > 0
					switch d.Cmp(budget.Mul(budget, c.bound)) {
					case 1:
						t.Fatalf("%s, seed %d: %s and %s drift by %s, allowed are %s", c.sp.Name(), seed, sc.Clients[i].Name, sc.Nodes[j].Name, d.FloatString(12), budget.FloatString(12))
					case 0:
						at = true
					}
				}
			}
			if at {
				reached++
			}
			if over {
				beyond++
			}
		}
		t.Logf("%s: %d of %d seeds reach their bound, %d pass what is covered", c.sp.Name(), reached, seeds, beyond)
		if reached < seeds/4 || c.always && reached < seeds*9/10 {
			t.Errorf("%s: only %d of %d seeds reach their bound", c.sp.Name(), reached, seeds)
		}
	}
}

// TestPace: whatever is drawn from a range of rates is within, also where its
// ends are no whole parts per billion, or fractions too long for a Rate.
func TestPace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64Range(1, rapid.SampledFrom([]int64{1000, 1 << 40}).Draw(t, "size"))
		low := big.NewRat(number.Draw(t, "low"), number.Draw(t, "below low"))
		for low.Cmp(leastShare) < 0 {
			low.Mul(low, two)
		}
		for low.Cmp(big.NewRat(8, 1)) > 0 {
			low.Quo(low, two)
		}
		wider := new(big.Rat).Add(one, big.NewRat(1, number.Draw(t, "width")))
		wider.Mul(wider, new(big.Rat).Add(one, big.NewRat(1, number.Draw(t, "more width"))))
		high := new(big.Rat).Mul(low, wider)
		p := paceOf(low, high)
		rates := []clock.Rate{p.low, p.high}
		if p.lowPPB <= p.highPPB {
			rates = append(rates, clock.Ratio(p.lowPPB, 1e9), clock.Ratio(p.highPPB, 1e9))
		} else {
			rates = rates[:0] // narrower than a part in a billion
		}
		for _, r := range rates {
			num, den := r.Fraction()
			if is := big.NewRat(num, den); is.Cmp(low) < 0 || is.Cmp(high) > 0 {
				t.Fatalf("%v is not from %v to %v", is, low, high)
			}
		}
		if p.perfect != (low.Cmp(one) <= 0 && high.Cmp(one) >= 0) {
			t.Fatalf("perfect is %v", p.perfect)
		}
	})
}

// TestBoundOfDrift: Drift(bound) keeps every clock within ±bound and reaches
// both ends.
func TestBoundOfDrift(t *testing.T) {
	t.Parallel()
	low, high := (-200 * clock.PPM).Rate(), (200 * clock.PPM).Rate()
	atLow, atHigh := 0, 0
	for seed := range uint64(500) {
		sc := Generate(Drift(200*clock.PPM), seed)
		var rates []clock.Rate
		for _, c := range sc.Clients {
			rates = append(rates, c.Clock.Rate)
		}
		for _, n := range sc.Nodes {
			rates = append(rates, n.Clock.Rate)
		}
		for _, r := range rates {
			if r.Cmp(low) < 0 || r.Cmp(high) > 0 {
				t.Fatalf("seed %d: %v", seed, r)
			}
		}
		if slices.Contains(rates, low) {
			atLow++
		}
		if slices.Contains(rates, high) {
			atHigh++
		}
	}
	if atLow < 100 || atHigh < 100 {
		t.Errorf("of 500 seeds %d have a clock at the lower bound, %d at the upper", atLow, atHigh)
	}
}

// TestSpacesShowVariety: each choice that a space offers is taken.
func TestSpacesShowVariety(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(2000) {
		sc := Generate(DriftCovered(), seed)
		seen[fmt.Sprint(len(sc.Nodes), " nodes")]++
		seen[fmt.Sprint(len(sc.Clients), " clients")]++
		for _, n := range sc.Nodes {
			seen["expiry "+string(n.Expiry)]++
			if n.Clock.Offset%1e6 == 999_999 {
				seen["worst phase"]++
			}
		}
		for _, c := range sc.Clients {
			seen["lives "+string(c.Lives)]++
			if c.Steps[0].Do == "acquire" && c.Steps[1].Percent == 100 {
				seen["trusted to the end"]++
			}
		}
		seen["request "+string(sc.Network.Request.Delay.Law)]++
		seen["reply "+string(sc.Network.Reply.Delay.Law)]++
		if sc.Network.Request.LossPPM > 0 {
			seen["loss"]++
		}
		if len(sc.Network.Cuts) > 0 {
			seen["cut"]++
		}
		if sc.Network.Paths != nil {
			seen["far node"]++
		}
		if sc.Lock.TTL%1e6 != 0 {
			seen["uneven ttl"]++
		}
		if sc.Lock.TTL < 10e6 {
			seen["tiny ttl"]++
		}
		if sc.Lock.TTL > 50e9 {
			seen["long ttl"]++
		}
		seen["buffer "+sc.Lock.Buffer.String()]++
	}
	for _, want := range []string{"3 nodes", "4 nodes", "5 nodes", "6 nodes", "7 nodes", "1 clients", "2 clients", "3 clients", "4 clients",
		"expiry ", "expiry non-strict", "worst phase", "lives ", "lives monotonic", "lives wall", "trusted to the end",
		"request ", "request constant", "request uniform", "request exponential", "request pareto",
		"reply ", "reply constant", "reply uniform", "reply exponential", "reply pareto",
		"loss", "cut", "far node", "uneven ttl", "tiny ttl", "long ttl", "buffer 2ms", "buffer 1ms", "buffer 0s"} {
		if seen[want] < 20 {
			t.Errorf("%q: in %d of 2000 seeds", want, seen[want])
		}
	}
}

// labels draws as another Drawer does, and notes what is asked.
type labels struct {
	Drawer
	t    *testing.T
	seen map[string]bool
}

func (d labels) Int(label string, low, high int64) int64 {
	if d.seen[label] {
		d.t.Errorf("label %q is used twice", label)
	}
	if low > high {
		d.t.Errorf("label %q: from %d to %d", label, low, high)
	}
	d.seen[label] = true
	return d.Drawer.Int(label, low, high)
}

// TestLabelsAreUsedOnce: two choices of one label would be one choice.
func TestLabelsAreUsedOnce(t *testing.T) {
	t.Parallel()
	for _, sp := range append(Spaces(), Drift(clock.PPM), DriftWide().Nodes(64, 64).Clients(64, 64)) {
		for seed := range uint64(100) {
			Draw(sp, labels{seeded(seed), t, map[string]bool{}})
		}
	}
}

// otherwise draws what is about one name in another way.
type otherwise struct {
	Drawer
	prefix string
}

func (d otherwise) Int(label string, low, high int64) int64 {
	if strings.HasPrefix(label, d.prefix) {
		return seeded(12345).Int(label, low, high)
	}
	return d.Drawer.Int(label, low, high)
}

// TestChoicesAreLocal: a change to one client, or to one node, leaves all the
// other draws as they were.
func TestChoicesAreLocal(t *testing.T) {
	t.Parallel()
	changed := 0
	for seed := range uint64(500) {
		was := Draw(DriftWide(), seeded(seed))
		is := Draw(DriftWide(), otherwise{seeded(seed), "c1."})
		if !reflect.DeepEqual(was.Clients[0], is.Clients[0]) {
			changed++
		}
		cuts := func(sc Scenario) (others []string) {
			for _, c := range sc.Network.Cuts {
				if c.From[0] != "c1" {
					others = append(others, fmt.Sprint(c))
				}
			}
			return others
		}
		if !reflect.DeepEqual(cuts(was), cuts(is)) {
			t.Errorf("seed %d: the cuts of other clients changed", seed)
		}
		for _, sc := range []*Scenario{&was, &is} {
			sc.Clients, sc.Until, sc.Network.Cuts = sc.Clients[1:], 0, nil
		}
		if !reflect.DeepEqual(was, is) {
			t.Errorf("seed %d: another first client, and\n%s\nbecame\n%s", seed, was.AppendJSON(nil), is.AppendJSON(nil))
		}
	}
	if changed < 400 {
		t.Errorf("the client changed in %d of 500 seeds", changed)
	}
}

func TestSpaceArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sp   Space
		want string // empty: none
	}{
		{DriftWide().Nodes(3, 3).Clients(1, 64).TTL(time.Second).Factor("0").Without("loss"), ""},
		{Space{}, "made by Drift"},
		{DriftWide().Nodes(0, 3), "0 to 3 nodes: must be within 1 to 64"},
		{DriftWide().Nodes(4, 3), "4 to 3 nodes"},
		{DriftWide().Clients(1, 65), "1 to 65 clients"},
		{DriftWide().TTL(999 * time.Microsecond), "999µs: must be from 1ms"},
		{DriftWide().TTL(1 << 62), "must be from 1ms"},
		{DriftWide().Factor("1"), "must be from 0 to below 1"},
		{DriftWide().Without("los"), `did you mean "loss"?`},
		{Drift(-1), "must be from 0"},
		{Drift(1e9), "must be from 0"},
	} {
		err := c.sp.Check()
		switch {
		case c.want == "" && err != nil:
			t.Error(err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if sp, err := FindSpace("drift-wide"); err != nil || sp.Name() != "drift-wide" {
		t.Error(sp, err)
	}
	if _, err := FindSpace("drift-wid"); err == nil || !strings.Contains(err.Error(), `did you mean "drift-wide"?`) || !strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

func BenchmarkGenerate(b *testing.B) {
	seed := uint64(0)
	for b.Loop() {
		Generate(DriftWide(), seed)
		seed++
	}
}
