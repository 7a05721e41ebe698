package sim

import (
	"bytes"
	"strings"
	"testing"

	"driftlock/sim/network"

	"github.com/go-json-experiment/json/jsontext"
)

type edits = map[string]jsontext.Value

// of writes single quotes for double ones.
func of(pairs ...string) edits {
	set := edits{}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = jsontext.Value(strings.ReplaceAll(pairs[i+1], "'", `"`))
	}
	return set
}

func editable() Scenario {
	sc := plain(2, 3)
	sc.Name = "x"
	sc.Faults = []Fault{{Kind: "pause", On: "A", At: sec, For: sec}}
	sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"B"}}}
	return sc
}

// TestWith: an edit changes what it names and nothing else, in the copy alone.
func TestWith(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  edits
		want func(sc *Scenario)
	}{
		{of(), func(sc *Scenario) {}},
		{of("lock.factor", `'0.02'`), func(sc *Scenario) { sc.Lock.Factor = "0.02" }},
		{of("lock.retry", `{'tries':1}`), func(sc *Scenario) { sc.Lock.Retry = Retry{Tries: 1} }},
		{of("nodes.C.persistence", `'always'`), func(sc *Scenario) { sc.Nodes[2].Persistence = "always" }},
		{of("nodes[2].clock.offset", `'-1s'`), func(sc *Scenario) { sc.Nodes[2].Clock.Offset = -sec }},
		{of("clients.c2.steps[1].for", `'1ms'`), func(sc *Scenario) { sc.Clients[1].Steps[1].For = ms }},
		{of("clients.c2.steps", `[{'do':'sleep','for':'1s'}]`), func(sc *Scenario) { sc.Clients[1].Steps = []Step{{Do: "sleep", For: sec}} }},
		{of("faults", `[]`), func(sc *Scenario) { sc.Faults = nil }},
		{of("faults[1]", `{'kind':'flush','on':'B','at':'2s'}`), func(sc *Scenario) { sc.Faults = append(sc.Faults, Fault{Kind: "flush", On: "B", At: 2 * sec}) }},
		{of("faults[1].kind", `'flush'`, "faults[1].on", `'B'`), func(sc *Scenario) { sc.Faults = append(sc.Faults, Fault{Kind: "flush", On: "B"}) }},
		{of("live.from", `'1s'`), func(sc *Scenario) { sc.Live = &Live{From: sec} }},
		{of("network.cuts[0].to[1]", `'C'`), func(sc *Scenario) { sc.Network.Cuts[0].To = []string{"B", "C"} }},
		{of("seed", `7`, "lock.fencing", `true`), func(sc *Scenario) { sc.Seed, sc.Lock.Fencing = 7, true }},
	} {
		sc, before := editable(), editable().AppendJSON(nil)
		got, err := sc.With(c.set)
		if err != nil {
			t.Errorf("%v: %v", c.set, err)
			continue
		}
		want := editable()
		c.want(&want)
		if have := got.AppendJSON(nil); !bytes.Equal(have, want.AppendJSON(nil)) {
			t.Errorf("%v: %s", c.set, have)
		}
		if !bytes.Equal(sc.AppendJSON(nil), before) {
			t.Errorf("%v: the scenario itself has changed", c.set)
		}
	}
}

// TestWithBad: what cannot be set says where and why.
func TestWithBad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  edits
		want string
	}{
		{of("", `1`), "no path"},
		{of("lock.facter", `'0.02'`), `lock.facter: no field "facter" (did you mean "factor"?): there are kind, flaws, `},
		{of("lock.factor", `0.02`), `lock.factor: a number, but a text in quotes is expected`},
		{of("lock.factor", `'2'`), `lock.factor: "2": must be from 0 to below 1`},
		{of("lock.factor.x", `'2'`), `lock.factor.x: there is nothing in it that could be called "x"`},
		{of("lock.ttl.x", `'2'`), `lock.ttl.x: there is nothing in it`},
		{of("nodes.c.alias", `'A'`), `nodes.c.alias: no "c" (did you mean "C"?): there are A, B, C`},
		{of("nodes[4].name", `'X'`), `nodes[4].name: no index "[4]": there are 3`},
		{of("nodes[x].name", `'X'`), `nodes[x].name: no index "[x]"`},
		{of("nodes[-1].name", `'X'`), `no index "[-1]"`},
		{of("nodes[0", `'X'`), `no index "[0"`},
		{of("faults.first", `'X'`), `faults.first: "first": an element of this list is called by its index`},
		{of("faults[0].at", `null`), `faults[0].at: null: an empty value`},
		{of("lock.retry", `{'trys':1}`), `lock.retry.trys: no such field (did you mean "tries"?)`},
		{of("lock.retry", `{`), `lock.retry: `},
		{of("network.paths.c1>A", `{}`), `there is nothing in it that could be called "c1>A"`},
		{of("faults[1].kind", `'flush'`), `faults[1].on: no machine is called ""`},
	} {
		if _, err := editable().With(c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.set, err, c.want)
		}
	}
	bad := editable()
	bad.Until = 0
	if _, err := bad.With(nil); err == nil || !strings.Contains(err.Error(), "before the edit: until: ") {
		t.Errorf("of a bad scenario: %v", err)
	}
}

// TestWithRemedy: a remedy is found by its name, and the scenario with it is
// expected to hold.
func TestWithRemedy(t *testing.T) {
	t.Parallel()
	sc := editable()
	sc.Expect = &Expect{Breaks: []Invariant{I2}}
	sc.Remedies = []Remedy{
		{Name: "factor", Text: "more of it", Set: of("lock.factor", `'0.02'`)},
		{Name: "no-fault", Text: "none", Set: of("faults", `[]`, "expect.text", `'ok'`)},
	}
	for name, want := range map[string]Scenario{
		"":         {Name: "x, with factor", Lock: Lock{Factor: "0.02"}, Faults: sc.Faults, Expect: &Expect{OK: true}},
		"factor":   {Name: "x, with factor", Lock: Lock{Factor: "0.02"}, Faults: sc.Faults, Expect: &Expect{OK: true}},
		"no-fault": {Name: "x, with no-fault", Lock: Lock{Factor: "0.01"}, Expect: &Expect{OK: true, Text: "ok"}},
	} {
		got, err := sc.WithRemedy(name)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != want.Name || got.Lock.Factor != want.Lock.Factor || len(got.Faults) != len(want.Faults) || got.Remedies != nil ||
			!got.Expect.OK || got.Expect.Breaks != nil || got.Expect.Text != want.Expect.Text {
			t.Errorf("%q: %s", name, got.AppendJSON(nil))
		}
	}
	if _, err := sc.WithRemedy("facto"); err == nil || err.Error() != `x has no remedy "facto" (did you mean "factor"?): there are factor, no-fault` {
		t.Error(err)
	}
	if _, err := editable().WithRemedy(""); err == nil || err.Error() != "x has no remedy" {
		t.Error(err)
	}
	parsed, err := Parse("x.json", sc.AppendJSON(nil))
	if err != nil || !bytes.Equal(parsed.AppendJSON(nil), sc.AppendJSON(nil)) {
		t.Errorf("is not read as it is written: %v", err)
	}
}

// TestRemedyChecked: a remedy that cannot be applied is an error of its scenario.
func TestRemedyChecked(t *testing.T) {
	t.Parallel()
	good := of("lock.factor", `'0.02'`)
	for _, c := range []struct {
		r    []Remedy
		want string
	}{
		{[]Remedy{{Set: good}}, "remedies[0].name: missing"},
		{[]Remedy{{Name: "more factor", Set: good}}, `remedies[0].name: "more factor": a name has`},
		{[]Remedy{{Name: "a", Set: good}, {Name: "a", Set: good}}, `remedies[1].name: "a" is there twice`},
		{[]Remedy{{Name: "a"}}, "remedies[0].set: missing"},
		{[]Remedy{{Name: "a", Set: of("lock.facter", `1`)}}, `remedies[0].set["lock.facter"]: no field "facter"`},
		{[]Remedy{{Name: "a", Set: of("nodes.C.name", `'A'`)}}, `remedies[0].set["nodes[2].name"]: "A" is the name of another machine already`},
		{make([]Remedy, 9), "remedies: 9 of them: at most 8"},
		{[]Remedy{{Name: "a", Set: good}}, ""},
	} {
		sc := editable()
		sc.Remedies = c.r
		if err := sc.Check(); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.r, err, c.want)
		}
	}
}

// TestAlias: a second address of a node is that node, and counts as another. As on
// Redis, it grants what that has granted only if it has to tell a fence number.
func TestAlias(t *testing.T) {
	t.Parallel()
	sc := quiet()
	sc.Lock.Fencing = true
	sc.Nodes[2] = Node{Name: "C", Alias: "A"}
	sc.Clients[0].Repeat, sc.Clients[0].Steps = 1, []Step{{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", For: sec}, {Do: "release", Key: "k"}}
	sc.Faults = []Fault{{Kind: "crash", On: "B", At: 0}}
	sc.Live = nil
	h := mustRun(t, sc)
	v := Check(h)
	if len(v.Leases) != 1 || v.Leases[0].ExclusionEnds != 0 || len(broken(v, I2)) != 1 {
		t.Errorf("%+v: want a lease by A and its alias, which does not exclude", v.Leases)
	}
	for _, e := range h.Events() {
		if e.Kind == Executed && e.Node != 0 {
			t.Errorf("executed by node %d", e.Node)
		}
	}
	plain := sc
	plain.Lock.Fencing = false
	if v := Check(mustRun(t, plain)); len(v.Leases) != 0 || !v.OK() {
		t.Errorf("without fencing: %+v: want no lease", v.Leases)
	}
	if len(v.Unmet) != 1 || v.Unmet[0].Assumption != A5 || v.Unmet[0].Text != "C is another address of A: it counts twice" {
		t.Errorf("unmet: %v", v.Unmet)
	}
	for _, c := range []struct {
		set  edits
		want string
	}{
		{of("nodes.C.alias", `'D'`), `nodes[2].alias: "D" is none of A, B`},
		{of("nodes.C.alias", `'C'`), `nodes[2].alias: "C" is none of A, B`},
		{of("nodes.C.persistence", `'always'`), "nodes[2]: another address of a node, besides its name, takes none"},
		{of("faults[0].on", `'C'`), `faults[0].on: "C" is another address of "A": faults happen to that`},
	} {
		if _, err := sc.With(c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.set, err, c.want)
		}
	}
}

// What is typed in a shell has no quotes where JSON has some.
func TestValueOfWhatIsTyped(t *testing.T) {
	t.Parallel()
	sc := Generate(DriftCovered(), 1)
	for _, c := range []struct{ path, text, want string }{
		{"lock.ttl", "10s", `"10s"`},
		{"lock.ttl", `"10s"`, `"10s"`},
		{"lock.factor", "0.02", `"0.02"`},
		{"nodes[0].clock.rate", "+1/12", `"+1/12"`},
		{"seed", "7", "7"},
		{"seed", "seven", `"seven"`},
		{"lock.fencing", "true", "true"},
		{"lock.flaws", `["no-buffer"]`, `["no-buffer"]`},
		{"expect.margin", "5", `"5"`},
		{"name", "", `""`},
	} {
		if got, err := sc.Value(c.path, c.text); err != nil || string(got) != c.want {
			t.Errorf("%s=%s is %s, %v; want %s", c.path, c.text, got, err, c.want)
		}
	}
	if _, err := sc.Value("lock.tll", "10s"); err == nil || !strings.HasPrefix(err.Error(), `lock.tll: no field "tll" (did you mean "ttl"?)`) {
		t.Errorf("a field that there is not: %v", err)
	}
}
