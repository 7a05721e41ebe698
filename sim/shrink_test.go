package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// ---- a break with two causes among forty faults

// A haystack is a scenario of 7 nodes and 4 clients with 40 faults, of which two
// are needed for its break: each uses up more than half of what factor and buffer
// cover, and neither all of it.
type haystack struct {
	sc      Scenario
	needles [2]Fault
}

// newHaystack makes one at random, and leaves to the simulator whether it is one.
func newHaystack(r *rand.Rand) haystack {
	sc := plain(4, 7)
	sc.Seed = r.Uint64N(1 << 40)
	sc.Lock.Retry = Retry{Min: sec / 4, Max: sec}
	sc.Network.Cuts = []network.Cut{{From: []string{"c1", "c2", "c3", "c4"}, To: []string{"E", "F", "G"}}}
	lives := []Lives{Boot, Monotonic, Wall}
	for i := range sc.Nodes {
		sc.Nodes[i].Clock.Offset = clock.Duration(r.IntN(5_000_000))
		sc.Nodes[i].Persistence = node.Always
	}
	for i := range sc.Clients {
		c := &sc.Clients[i]
		c.Clock.Rate = clock.Ratio(1e6+int64(r.IntN(400))-200, 1e6)
		c.Lives = lives[r.IntN(3)]
		c.Steps[1].For = clock.Duration(100+r.IntN(900)) * ms
	}
	some := func() clock.Duration { return clock.Duration(60_000_000 + r.IntN(35_000_000)) }
	early := func() clock.Duration { return clock.Duration(100+r.IntN(3000)) * ms }
	holder, victim := &sc.Clients[0], nodeName(r.IntN(4))
	holder.Repeat = 1
	holder.Steps[1] = Step{Do: "hold", Key: "k", Percent: 100}
	holder.Clock.Rate = clock.Rate{}
	for i := 1; i < 4; i++ { // the others come later
		sc.Clients[i].Steps = append([]Step{{Do: "sleep", For: clock.Duration(50+r.IntN(100)) * ms}}, sc.Clients[i].Steps...)
	}
	stops := Fault{Kind: "suspend", On: "c1", At: early(), For: some()}
	holder.Lives = Monotonic
	if r.IntN(2) == 0 {
		stops.Kind, holder.Lives = "freeze", Wall
	}
	jump := Fault{Kind: "step", On: victim, At: early(), By: some()}
	fast := Fault{Kind: "rate", On: victim, At: early() / 10, For: 20 * sec, Rate: clock.Ratio(1_000_000+7000+int64(r.IntN(2000)), 1e6)}
	back := Fault{Kind: "step", On: "c1", At: early(), By: -some()}
	h := haystack{sc: sc}
	switch r.IntN(5) {
	case 0:
		h.needles = [2]Fault{jump, fast}
	case 1:
		h.needles = [2]Fault{jump, stops}
	case 2:
		h.needles = [2]Fault{fast, stops}
	case 3:
		again := jump
		again.At += clock.Duration(1+r.IntN(3000)) * ms
		h.needles = [2]Fault{jump, again}
	case 4:
		h.sc.Clients[0].Lives = Wall
		h.needles = [2]Fault{back, jump}
	}
	h.sc.Faults = append(h.needles[:], hay(r, 38)...)
	r.Shuffle(len(h.sc.Faults), func(i, j int) { f := h.sc.Faults; f[i], f[j] = f[j], f[i] })
	return h
}

// hay are faults that do little.
func hay(r *rand.Rand, n int) (faults []Fault) {
	for len(faults) < n {
		any := nodeName(r.IntN(7))
		if r.IntN(3) == 0 {
			any = fmt.Sprintf("c%d", 2+r.IntN(3))
		}
		f := Fault{On: any, At: clock.Duration(r.IntN(30_000)) * ms}
		switch f.Kind = faultKindNames[r.IntN(len(faultKindNames))]; f.Kind {
		case "pause", "suspend", "freeze":
			f.For = clock.Duration(1+r.IntN(20)) * ms
		case "crash":
			f.For = clock.Duration(1+r.IntN(200)) * ms
		case "step":
			f.By = clock.Duration(1+r.IntN(100)) * -ms
		case "rate":
			f.For, f.Rate = clock.Duration(1+r.IntN(3000))*ms, clock.Ratio(1e6-int64(1+r.IntN(500)), 1e6)
		case "evict":
			f.Key = "another"
		case "flush", "failover":
			f.On = nodeName(4 + r.IntN(3))
		}
		more := append(slices.Clip(faults), f)
		sc := plain(4, 7)
		sc.Faults = more
		for i := range sc.Nodes {
			sc.Nodes[i].Persistence = node.Always
		}
		if sc.Check() == nil {
			faults = more
		}
	}
	return faults
}

// isOne says whether the break needs both needles, and neither the one that it is
// among two of the hay.
func (h *haystack) isOne(t *testing.T) bool {
	t.Helper()
	breaks := func(gone ...Fault) bool {
		sc := copied(h.sc)
		drop(&sc.Faults, func(f Fault) bool { return slices.Contains(gone, f) })
		v, err := Test(sc)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(v.Broken(), I2)
	}
	return h.sc.Check() == nil && breaks() && !breaks(h.needles[0]) && !breaks(h.needles[1])
}

// TestShrinkFindsTheCause: of 40 faults the two that it takes, on one node, where
// there is but one to lose, with its holder alone.
func TestShrinkFindsTheCause(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 1))
	cases := 20
	if raced() {
		cases = 3
	}
	var took []time.Duration
	for made := 0; len(took) < cases; made++ {
		h := newHaystack(r)
		if made > 1000 {
			t.Fatalf("of 1000 scenarios %d are haystacks", len(took))
		}
		if !h.isOne(t) {
			continue
		}
		begin := time.Now()
		small, steps, err := Shrink(t.Context(), h.sc, I2)
		took = append(took, time.Since(begin))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v in %d steps, %v: %s and %s", small.Size(), steps, took[len(took)-1].Round(time.Millisecond), small.Faults[0].Kind, small.Faults[len(small.Faults)-1].Kind)
		if len(small.Nodes) != 1 || len(small.Clients) > 2 || len(small.Faults) != 2 || len(small.Network.Cuts) != 0 {
			t.Errorf("%s left:\n%s", small.Size(), small.AppendJSON(nil))
		}
		checkShrunk(t, h.sc, small, I2)
	}
	slices.Sort(took)
	median := took[len(took)/2]
	t.Logf("median %v, longest %v", median, took[len(took)-1])
	if median > time.Second && !raced() {
		t.Errorf("the median of %d took %v, at most 1s is allowed", cases, median)
	}
}

// raced says whether the race detector makes everything slow.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// checkShrunk: the result can be run, breaks what it should and expects it, is no
// larger, needs each of its parts, and breaks no assumption that the first kept.
func checkShrunk(t *testing.T, was, small Scenario, keep Invariant) {
	t.Helper()
	text := small.AppendJSON(nil)
	read, err := Parse("small.json", text)
	if err != nil || !reflect.DeepEqual(read, small) {
		t.Fatalf("does not read back: %v\n%s", err, text)
	}
	v, err := Test(small)
	if err != nil {
		t.Fatal(err)
	}
	if how := small.Expect.Mismatch(v); !slices.Contains(v.Broken(), keep) || len(how) > 0 {
		t.Errorf("breaks %v, and %v:\n%s", v.Broken(), how, text)
	}
	for _, u := range v.Unmet {
		if !slices.ContainsFunc(Assumptions(&was), func(w Unmet) bool { return w.Assumption == u.Assumption }) {
			t.Errorf("does not keep %v, which the first did: %s", u.Assumption, u.Text)
		}
	}
	if len(small.Nodes) > len(was.Nodes) || len(small.Clients) > len(was.Clients) || len(small.Faults) > len(was.Faults) || small.Until > was.Until {
		t.Errorf("%s and %v from %s and %v", small.Size(), small.Until, was.Size(), was.Until)
	}
	if inTime(t, was, keep) && !inTime(t, small, keep) {
		t.Errorf("the run ends at %v, and the break later:\n%s", small.Until, text)
	}
	if again, steps, err := Shrink(t.Context(), small, keep); err != nil || again.Size() != small.Size() || len(again.AppendJSON(nil)) > len(text)+20 {
		t.Errorf("shrinks further, in %d steps: %v\n%s\n%s", steps, err, text, again.AppendJSON(nil))
	}
}

// inTime says whether a break is over when the run is.
func inTime(t *testing.T, sc Scenario, keep Invariant) bool {
	t.Helper()
	v, err := Test(sc)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(v.Violations, func(x Violation) bool { return x.Invariant == keep && v.over(&x) <= int64(sc.Until) })
}

// ---- what else it keeps

// TestShrinkCatalogue: every scenario of the catalogue that breaks something can
// be shrunk for each invariant that it breaks.
func TestShrinkCatalogue(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/scenarios/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for i, file := range files {
		if raced() && i%10 != 0 {
			continue
		}
		sc, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Test(sc)
		if err != nil {
			t.Fatal(err)
		}
		for _, keep := range v.Broken() {
			t.Run(sc.Name+"/"+keep.String(), func(t *testing.T) {
				t.Parallel()
				small, _, err := Shrink(t.Context(), sc, keep)
				if err != nil {
					t.Fatal(err)
				}
				checkShrunk(t, sc, small, keep)
			})
		}
	}
}

// TestShrinkSpaces: breaks that a search finds, whatever their space, and with a
// floor under the machines.
func TestShrinkSpaces(t *testing.T) {
	t.Parallel()
	for _, sp := range []Space{DriftWide(), Canary(), DriftWide().Clients(2, 4)} {
		shrunk, enough := 0, 12
		if raced() {
			enough = 2
		}
		for seed := uint64(0); shrunk < enough; seed++ {
			sc := Generate(sp, seed)
			v, err := Test(sc)
			if err != nil {
				t.Fatal(err)
			}
			for _, keep := range v.Broken() {
				small, steps, err := sp.Shrink(t.Context(), sc, keep)
				if err != nil {
					t.Fatal(err)
				}
				if len(small.Nodes) != 3 || len(small.Clients) < sp.clients[0] || len(small.Clients) > 2 {
					t.Errorf("seed %d, %v: %s left in %d steps", seed, keep, small.Size(), steps)
				}
				again, same, err := sp.Shrink(t.Context(), sc, keep)
				if err != nil || same != steps || !reflect.DeepEqual(small, again) {
					t.Errorf("seed %d, %v: two results, after %d and %d steps, %v", seed, keep, steps, same, err)
				}
				shrunk++
			}
		}
	}
}

// TestShrinkKeepsABug: a break that no assumption explains is a fault of the lock,
// and stays one though the clocks drift as far as they may.
func TestShrinkKeepsABug(t *testing.T) {
	t.Parallel()
	for flaw, keep := range map[string]Invariant{"drift-added": I2, "half-quorum": I2, "release-without-compare": I5} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5000) {
				sc := Generate(DriftCovered().Without("loss"), seed)
				sc.Lock.Kind, sc.Lock.Flaws = kindFlawed, []string{"lockstep-retry", flaw, "anchor-at-first-try"}
				v, err := Test(sc)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(v.Bugs(), func(x Violation) bool { return x.Invariant == keep }) {
					continue
				}
				small, _, err := Shrink(t.Context(), sc, keep)
				if err != nil {
					t.Fatal(err)
				}
				checkShrunk(t, sc, small, keep)
				if u := Assumptions(&small); len(u) > 0 || len(small.Lock.Flaws) != 1 {
					t.Errorf("seed %d: assumptions not kept: %v; flaws %v\n%s", seed, u, small.Lock.Flaws, small.AppendJSON(nil))
				}
				return
			}
			t.Error("no break in 5000 seeds")
		})
	}
}

// TestShrinkMakesNoExcuse: a step that the budget of an uneven TTL just covers, and
// that of the round one beside it does not, stays covered.
func TestShrinkMakesNoExcuse(t *testing.T) {
	t.Parallel()
	sc := plain(2, 5)
	sc.Network = network.Config{Cuts: []network.Cut{{From: []string{"c1"}, To: []string{"D", "E"}}}}
	sc.Clients[0].Steps, sc.Clients[0].Repeat = sc.Clients[0].Steps[:1], 1
	sc.Clients[1].Steps = []Step{{Do: "sleep", For: sec}}
	sc.Lock.Kind, sc.Lock.Flaws = kindFlawed, []string{"no-buffer"}
	sc.Lock.TTL = 10*sec + sec/2
	sc.Faults = []Fault{{Kind: "step", On: "A", At: sec, By: 106*ms + ms/2}} // f·T + b is 107 ms
	small, _, err := Shrink(t.Context(), sc, I2)
	if err != nil {
		t.Fatal(err)
	}
	checkShrunk(t, sc, small, I2)
	if u := Assumptions(&small); len(u) > 0 || len(small.Lock.Flaws) != 1 || len(small.Faults) != 1 {
		t.Errorf("assumptions not kept: %v\n%s", u, small.AppendJSON(nil))
	}
}

// TestShrinkLeavesAQuorum: what is shrunk for I4 does not become an outage, in which
// no lock could go on. Two of five nodes are down for good, and a client that died
// has left a key without a TTL on a third.
func TestShrinkLeavesAQuorum(t *testing.T) {
	t.Parallel()
	sc := plain(2, 5)
	sc.Lock.Kind, sc.Lock.Flaws = kindFlawed, []string{"no-ttl"}
	sc.Lock.Retry = Retry{Min: sec / 4, Max: sec}
	sc.Live = &Live{From: 5 * sec, Within: 30 * sec}
	sc.Faults = []Fault{{Kind: "crash", On: "c1", At: 10 * ms}, {Kind: "crash", On: "A", At: sec}, {Kind: "crash", On: "B", At: sec}, {Kind: "pause", On: "C", At: sec, For: sec}}
	sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"A", "B", "D", "E"}, For: 2 * sec}}
	sc.Clients[1].Steps = append([]Step{{Do: "sleep", For: 2 * sec}}, sc.Clients[1].Steps...)
	small, _, err := Shrink(t.Context(), sc, I4)
	if err != nil {
		t.Fatal(err)
	}
	checkShrunk(t, sc, small, I4)
	if !small.heals() || !slices.Equal(small.Lock.Flaws, sc.Lock.Flaws) {
		t.Errorf("left:\n%s", small.AppendJSON(nil))
	}
}

// TestShrinkDrawsAnew: of two clients one only keeps the other from having its
// number, and with that its luck: the messages that are lost.
func TestShrinkDrawsAnew(t *testing.T) {
	t.Parallel()
	sc := plain(2, 3)
	sc.Network.Request.LossPPM = 300_000
	sc.Clients[0].Steps = []Step{{Do: "sleep", For: sec}}
	sc.Clients[1].Steps = sc.Clients[1].Steps[:1]
	sc.Clients[1].Repeat = 0
	sc.Faults = []Fault{{Kind: "flush", On: "B", At: 2 * sec}}
	breaks := func(sc Scenario) bool {
		v, err := Test(sc)
		if err != nil {
			t.Fatal(err)
		}
		return len(broken(v, I2)) > 0
	}
	for sc.Seed = range 1000 {
		alone := copied(sc)
		alone.remove([]string{"c1"})
		alone.Seed = sc.Seed
		zero := copied(alone)
		zero.Seed = 0
		if !breaks(sc) || breaks(alone) || breaks(zero) {
			continue
		}
		small, _, err := Space{}.Nodes(3, 3).Shrink(t.Context(), sc, I2)
		if err != nil {
			t.Fatal(err)
		}
		if len(small.Clients) != 1 || len(small.Nodes) != 3 || len(small.Faults) != 1 {
			t.Errorf("left:\n%s", small.AppendJSON(nil))
		}
		return
	}
	t.Error("no seed is such a one")
}

// TestShrinkCode: a workload of code is run with every scenario that is tried, and
// one that panics in a smaller world does no harm.
func TestShrinkCode(t *testing.T) {
	t.Parallel()
	runs := 0
	work := Do(func(p *Process) {
		runs++
		if p.Transport().Len() < 3 {
			panic("less than three nodes")
		}
		if p.Client() != "c1" {
			return
		}
		if _, err := p.Lock().Acquire(p.Context(), "k", 10*time.Second); err == nil {
			p.Sleep(10 * time.Second)
		}
	})
	sc := plain(4, 7)
	sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"E", "F", "G"}}}
	sc.Faults = []Fault{{Kind: "flush", On: "A", At: 3 * sec}, {Kind: "pause", On: "B", At: 5 * sec, For: ms}, {Kind: "step", On: "c2", At: sec, By: sec}}
	small, steps, err := Shrink(t.Context(), sc, I2, work)
	if err != nil || runs < steps {
		t.Fatal(err, runs, steps)
	}
	if len(small.Nodes) != 3 || len(small.Clients) != 1 || len(small.Faults) != 1 || small.Until < 9898*ms || small.Until > 11*sec {
		t.Errorf("%s and %v left", small.Size(), small.Until)
	}
	v, err := Test(small, work)
	if err != nil || len(small.Expect.Mismatch(v)) > 0 {
		t.Errorf("%v %v", err, small.Expect.Mismatch(v))
	}
}

func TestShrinkErrors(t *testing.T) {
	t.Parallel()
	held := plain(1, 3)
	if got, steps, err := Shrink(t.Context(), held, I2); !errors.Is(err, ErrNotBroken) || steps != 0 || !reflect.DeepEqual(got, held) || !strings.Contains(err.Error(), "I2 (sound)") {
		t.Error(got, steps, err)
	}
	bad := plain(1, 3)
	bad.Until = 0
	if _, _, err := Shrink(t.Context(), bad, I2); err == nil || !strings.Contains(err.Error(), "until") {
		t.Error(err)
	}
	broken := plain(1, 3)
	broken.Clients[0].Clock.Rate = clock.Ratio(9, 10)
	broken.Clients[0].Steps = broken.Clients[0].Steps[:1]
	n := 0
	unsteady := Do(func(p *Process) {
		n++
		p.Logf("%d", n)
		p.Lock().Acquire(p.Context(), "k", 10*time.Second)
	})
	if _, _, err := Shrink(t.Context(), broken, I2, unsteady); !errors.Is(err, ErrDiffers) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	got, steps, err := Shrink(ended, broken, I2)
	if err != nil || steps != 0 || got.Size() != broken.Size() || got.Expect == nil {
		t.Errorf("a context that has ended: %s, %d steps, %v", got.Size(), steps, err)
	}
}

// ---- edits

// filled is a value of type t in which everything is set and every list and map has
// an element.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e)
		v.SetMapIndex(reflect.ValueOf("c1>A"), e)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[clock.Rate]() {
			v.Set(reflect.ValueOf(clock.Ratio(3, 2)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(7)
	default:
		v.SetInt(7)
	}
}

// TestCopied: a copy is the same and shares nothing.
func TestCopied(t *testing.T) {
	t.Parallel()
	var a, same Scenario
	fill(reflect.ValueOf(&a).Elem())
	fill(reflect.ValueOf(&same).Elem())
	c := copied(a)
	if !reflect.DeepEqual(a, c) {
		t.Fatalf("%+v\n%+v", a, c)
	}
	var spoil func(v reflect.Value)
	spoil = func(v reflect.Value) {
		switch {
		case v.Kind() == reflect.Pointer:
			spoil(v.Elem())
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				spoil(v.Index(i))
			}
		case v.Kind() == reflect.Map:
			for _, key := range v.MapKeys() {
				if e := v.MapIndex(key); e.Kind() == reflect.Slice {
					spoil(e)
				}
				v.SetMapIndex(key, reflect.Value{})
			}
		case v.Kind() == reflect.Struct && !readsText(v.Type()):
			for i := range v.NumField() {
				spoil(v.Field(i))
			}
		default:
			v.SetZero()
		}
	}
	spoil(reflect.ValueOf(&c).Elem())
	if !reflect.DeepEqual(a, same) {
		t.Errorf("spoiling the copy changed it:\n%+v", a)
	}
}

// TestCares: each field that needs care is there, and whatever else refers to a
// machine by its name is left alone.
func TestCares(t *testing.T) {
	t.Parallel()
	var sc Scenario
	fill(reflect.ValueOf(&sc).Elem())
	var names []string
	var texts []string
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		names = append(names, path)
		switch {
		case v.Kind() == reflect.Pointer:
			walk(v.Elem(), path)
		case v.Kind() == reflect.Slice:
			walk(v.Index(0), path)
		case v.Kind() == reflect.Map:
			walk(v.MapIndex(v.MapKeys()[0]), path)
		case v.Kind() == reflect.Struct && !readsText(v.Type()):
			for i := range v.NumField() {
				name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
				if name != "" {
					name = "." + name
				}
				walk(v.Field(i), path+name)
			}
		case v.Kind() == reflect.String && v.Type() == reflect.TypeFor[string]():
			texts = append(texts, strings.TrimPrefix(path, "."))
		}
	}
	walk(reflect.ValueOf(sc), "")
	for _, name := range careful {
		if !slices.Contains(names, "."+name) {
			t.Errorf("there is no field %s", name)
		}
	}
	for _, path := range texts {
		told := strings.HasPrefix(path, "expect.") || strings.HasPrefix(path, "remedies.") || path == "claim" // taken away at once
		if !told && careOf(path)&leave == 0 {
			t.Errorf("%s is a text that shrinking may take away", path)
		}
	}
}

// TestRemove: with a machine goes all that refers to it, and what is left can be run.
func TestRemove(t *testing.T) {
	t.Parallel()
	full := plain(3, 5)
	full.Nodes[4] = Node{Name: "E", Alias: "B"}
	full.Resources = []ResourceConfig{{Name: "S"}, {Name: "R"}}
	full.Clients[0].Steps = append(full.Clients[0].Steps[:2:2], Step{Do: "write", Key: "k", To: "S"}, Step{Do: "write", Key: "k", To: "R"})
	full.Faults = []Fault{{Kind: "flush", On: "A", At: sec}, {Kind: "pause", On: "c2", At: sec, For: sec}, {Kind: "flush", On: "B", At: sec}}
	full.Network.Paths = map[string]network.Path{"c1>A": {}, "B>c2": {}}
	full.Network.Cuts = []network.Cut{{From: []string{"c1", "A"}, To: []string{"B", "c2"}}, {From: []string{"c3"}, To: []string{"C"}}, {From: []string{"c1", "c2"}, To: []string{"D", "E"}}}
	full.Network.Rules = []network.Rule{{From: "c1", To: "C", Nth: 1, Drop: true}, {To: "c3", Nth: 2, Late: sec}, {Nth: 3, Twice: true}}
	if err := full.Check(); err != nil {
		t.Fatal(err)
	}
	for _, gone := range [][]string{{"A"}, {"B"}, {"C"}, {"E"}, {"c1"}, {"c2"}, {"c3"}, {"S"}, {"R"}, {"A", "B", "C"}, {"c1", "c3"}, {"c1", "S", "D"}, {"A", "c2"}, {"R", "S"}} {
		sc := copied(full)
		sc.remove(gone)
		text := string(sc.AppendJSON(nil))
		if read, err := Parse("less.json", []byte(text)); err != nil || !reflect.DeepEqual(read, sc) {
			t.Errorf("without %v: %v\n%s", gone, err, text)
		}
		for _, name := range gone {
			for _, form := range []string{`"` + name + `"`, name + ">", ">" + name} {
				if strings.Contains(text, form) {
					t.Errorf("without %v there is still %s:\n%s", gone, form, text)
				}
			}
		}
	}
	sc := copied(full)
	sc.remove([]string{"C"})
	if len(sc.Nodes) != 4 || len(sc.Faults) != 3 || len(sc.Network.Cuts) != 2 || len(sc.Network.Rules) != 2 || len(sc.Network.Paths) != 2 {
		t.Errorf("without C too little is left:\n%s", sc.AppendJSON(nil))
	}
}

func TestRounderNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int64
		more bool
		want string
	}{
		{0, true, "[]"}, {7, true, "[]"}, {7000, true, "[]"}, {12, true, "[10 20]"}, {12, false, "[10]"}, {-12, true, "[-10 -20]"}, {-12, false, "[-10]"},
		{9_898_000, true, "[9000000 10000000 9800000 9900000 9890000 9900000]"}, {1_234_567, false, "[1000000 1200000 1230000]"},
		{1<<63 - 1, true, "[9000000000000000000 9200000000000000000 9220000000000000000]"},
	} {
		if got := fmt.Sprint(rounded(c.n, c.more)); got != c.want {
			t.Errorf("%d, more %v: %s, want %s", c.n, c.more, got, c.want)
		}
	}
	for _, c := range []struct {
		rate string
		more bool
		want string
	}{
		{"+7ppm", true, "[]"}, {"+12392ppm", true, "[+10000ppm +12000ppm +12300ppm +12390ppm]"}, {"-12392300ppb", false, "[-10000ppm -12000ppm -12300ppm -12390ppm -12392ppm]"},
		{"198/199", true, "[-5000ppm -5020ppm -5025ppm -5026ppm]"}, {"200/199", false, "[+5000ppm +5020ppm +5025ppm]"}, {"13/12", false, "[+80000ppm +83000ppm +83300ppm +83330ppm +83333ppm]"},
		{"2", true, "[]"}, {"1/3", false, "[2/5 17/50 167/500 1667/5000 16667/50000 166667/500000]"},
		{"1000000001/1000000000", true, "[+1ppm]"}, {"1/1000000", true, "[1/10 1/100 1/1000 1/10000 1/100000]"},
	} {
		r, err := clock.ParseRate(c.rate)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(slower(r, c.more)); got != c.want {
			t.Errorf("%s, more %v: %s, want %s", c.rate, c.more, got, c.want)
		}
	}
	if got := fmt.Sprint(shorter(9_898_000), shorter(4), shorter(1)); got != "[2400000 4900000 7400000 8600000] [1 2 3] []" {
		t.Error(got)
	}
}
