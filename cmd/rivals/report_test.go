package rivals

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"driftlock/sim"
	"driftlock/sim/simtest"
	"driftlock/testdata/scenarios"
)

// A contender is a lock of the report.
type contender struct {
	name   string
	opt    sim.Option // nil: redlock
	one    bool       // it is for one server
	factor string     // its drift factor, without a buffer; "": the scenario's
}

var contenders = []contender{
	{"redlock", nil, false, ""},
	{"redsync", redsyncWaits, false, "0.01"},
	{"redsync-failfast", redsyncReturn, false, "0.01"},
	{"redlock, 1 node", nil, true, ""},
	{"redislock", redislockOne, true, "0"},
}

const reportFile = "../../docs/rivals.md"

// seeds are how many scenarios of each space are searched: as many as the report tells.
const seeds = 100

// TestCatalogue: the report's table is what comes out.
func TestCatalogue(t *testing.T) {
	text, err := os.ReadFile(reportFile)
	if err != nil {
		t.Fatal(err)
	}
	if table := catalogueTable(t); !*update && !strings.Contains(string(text), table) {
		t.Errorf("docs/rivals.md has another table: go test . -update\n%s", table)
	}
}

// TestFound: what the searches have found still breaks as the report says.
func TestFound(t *testing.T) {
	text, err := os.ReadFile(reportFile)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("testdata/found-*.json")
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "found-"), ".json")
		space, rest, _ := strings.Cut(name, "-")
		cut := strings.LastIndex(rest, "-")
		i := slices.IndexFunc(contenders, func(c contender) bool { return c.name == rest[:cut] })
		if i < 0 {
			t.Errorf("%s is of no contender", file)
			continue
		}
		line := line(t, contenders[i], filepath.Base(file), rest[cut+1:])
		if !strings.Contains(string(text), line) {
			t.Errorf("%s (space %s): docs/rivals.md does not say\n%s", file, space, line)
		}
	}
	if len(files) == 0 {
		t.Error("nothing found")
	}
}

// TestReport: the whole report is what comes out, searches too. It takes about a minute.
func TestReport(t *testing.T) {
	if !*update && os.Getenv("DRIFTLOCK_LONG") == "" {
		t.Skip("a minute: DRIFTLOCK_LONG=1")
	}
	var b strings.Builder
	fmt.Fprint(&b, head)
	b.WriteString(catalogueTable(t))
	fmt.Fprintf(&b, searchHead, seeds)
	table, found := searches(t)
	b.WriteString(table)
	b.WriteString(found)
	if *update {
		if err := os.WriteFile(reportFile, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(reportFile)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("docs/rivals.md is not what comes out now: go test . -update\n%s", got)
	}
}

func (c contender) runner(t *testing.T) *sim.Runner {
	if c.opt == nil {
		return sim.NewRunner()
	}
	return sim.NewRunner(simtest.InBubble(t), c.opt)
}

// fit makes a scenario one for the contender: without the flawed lock that it may be
// about, with the contender's own allowance for drift, for a lock of one server with no
// more than the first node. Liveness is not judged: its bound is of a retry policy.
func (c contender) fit(sc sim.Scenario) sim.Scenario {
	sc.Lock.Kind, sc.Lock.Flaws, sc.Expect, sc.Remedies, sc.Live = "", nil, nil, nil, nil
	if c.factor != "" { // assumption A1 is about what the lock itself allows for
		sc.Lock.Factor, sc.Lock.Buffer = c.factor, 0
		trueClients(&sc)
	}
	if !c.one {
		return sc
	}
	gone := func(name string) bool {
		return slices.ContainsFunc(sc.Nodes[1:], func(n sim.Node) bool { return n.Name == name })
	}
	sc.Faults = slices.DeleteFunc(slices.Clone(sc.Faults), func(f sim.Fault) bool { return gone(f.On) })
	net := &sc.Network
	net.Rules = slices.Clone(net.Rules)
	net.Rules = slices.DeleteFunc(net.Rules, func(r ruleOf) bool { return gone(r.From) || gone(r.To) })
	net.Cuts = slices.Clone(net.Cuts)
	for i := range net.Cuts {
		cut := &net.Cuts[i]
		cut.From = slices.DeleteFunc(slices.Clone(cut.From), gone)
		cut.To = slices.DeleteFunc(slices.Clone(cut.To), gone)
	}
	net.Cuts = slices.DeleteFunc(net.Cuts, func(c cutOf) bool { return len(c.From) == 0 || len(c.To) == 0 })
	paths := net.Paths
	net.Paths = nil
	for k, v := range paths {
		from, to, _ := strings.Cut(k, ">")
		if !gone(from) && !gone(to) {
			if net.Paths == nil {
				net.Paths = map[string]pathOf{}
			}
			net.Paths[k] = v
		}
	}
	sc.Nodes = slices.Clone(sc.Nodes[:1])
	sc.Nodes[0].Alias = ""
	return sc
}

// trueClients gives clients the clock that package time is in a bubble: a true one.
func trueClients(sc *sim.Scenario) {
	sc.Clients, sc.Faults = slices.Clone(sc.Clients), slices.Clone(sc.Faults)
	for i := range sc.Clients {
		sc.Clients[i].Clock = sim.Clock{}
	}
	client := func(f sim.Fault) bool {
		return slices.ContainsFunc(sc.Clients, func(c sim.Client) bool { return c.Name == f.On })
	}
	sc.Faults = slices.DeleteFunc(sc.Faults, func(f sim.Fault) bool {
		return client(f) && slices.Contains([]string{"step", "rate", "freeze"}, f.Kind)
	})
	for i := range sc.Faults {
		if f := &sc.Faults[i]; f.Kind == "suspend" {
			f.Kind = "pause"
		}
	}
}

// ownClock says that a client's clock drifts, steps or is suspended in a scenario: of that
// a lock on package time sees nothing in a bubble.
func ownClock(sc *sim.Scenario) bool {
	for _, c := range sc.Clients {
		if c.Clock != (sim.Clock{}) {
			return true
		}
	}
	return slices.ContainsFunc(sc.Faults, func(f sim.Fault) bool {
		client := slices.ContainsFunc(sc.Clients, func(c sim.Client) bool { return c.Name == f.On })
		return client && slices.Contains([]string{"suspend", "step", "rate", "freeze"}, f.Kind)
	})
}

func cell(v *sim.Verdict, err error) string {
	switch {
	case err != nil:
		return "does not apply"
	case v.OK():
		return "held"
	}
	var list []string
	for _, i := range v.Broken() {
		list = append(list, i.String())
	}
	text := strings.Join(list, " ")
	if len(v.Bugs()) == 0 {
		text = "(" + text + ")"
	}
	return text
}

// catalogueTable is the catalogue: a line for each scenario in which somebody breaks a
// promise.
func catalogueTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| scenario |")
	for _, c := range contenders {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(contenders)) + "\n")
	entries, err := scenarios.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	held, runs := make([]int, len(contenders)), make([]int, len(contenders))
	var runners []*sim.Runner
	for _, c := range contenders {
		r := c.runner(t)
		defer r.Close()
		runners = append(runners, r)
	}
	for _, e := range entries {
		text, _ := scenarios.Files.ReadFile(e.Name())
		sc, err := sim.Parse(e.Name(), text)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(sc.Name, "-strict") {
			continue // the same with another expiry
		}
		line, all := "| "+sc.Name, true
		if ownClock(&sc) {
			line += " †"
		}
		line += " |"
		for i, c := range contenders {
			var v *sim.Verdict
			_, err := runners[i].Run(c.fit(sc))
			if err == nil {
				v = runners[i].Check()
				runs[i]++
				if v.OK() {
					held[i]++
				} else {
					all = false
				}
			}
			line += " " + cell(v, err) + " |"
		}
		if !all {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString("| **held, of all that apply** |")
	for i := range contenders {
		fmt.Fprintf(&b, " %d of %d |", held[i], runs[i])
	}
	b.WriteString("\n")
	return b.String()
}

// searches runs each space and counts; with -update what is found is shrunk and kept.
func searches(t *testing.T) (table, found string) {
	var b, f strings.Builder
	b.WriteString("| space | lock | runs | leases | broken | without an unmet assumption |\n|---|---|---|---|---|---|\n")
	for _, sp := range []sim.Space{sim.DriftCovered(), sim.Tame(), sim.Faulty()} {
		for _, c := range contenders {
			r := c.runner(t)
			leases, broken := 0, 0
			bugs := map[sim.Invariant]int{}
			runs := 0
			for seed := range uint64(seeds) {
				sc := c.fit(sim.Generate(sp, seed))
				if _, err := r.Run(sc); err != nil {
					continue // it does not apply
				}
				v := r.Check()
				runs++
				if leases += len(v.Leases); !v.OK() {
					broken++
				}
				for _, i := range v.Broken() {
					if slices.ContainsFunc(v.Bugs(), func(x sim.Violation) bool { return x.Invariant == i }) {
						if bugs[i]++; bugs[i] == 1 && c.opt != nil {
							f.WriteString(keep(t, sp, c, sc, i))
						}
					}
				}
			}
			r.Close()
			var list []string
			for _, i := range []sim.Invariant{sim.I1, sim.I2, sim.I3, sim.I4, sim.I5, sim.I6, sim.I7} {
				if bugs[i] > 0 {
					list = append(list, fmt.Sprintf("%v %d", i, bugs[i]))
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %s |\n", sp.Name(), c.name, runs, leases, broken, strings.Join(list, ", "))
		}
	}
	if f.Len() > 0 {
		return b.String(), foundHead + f.String()
	}
	return b.String(), ""
}

// keep shrinks a scenario that a search has found, and keeps it; or tells what is kept.
func keep(t *testing.T, sp sim.Space, c contender, sc sim.Scenario, i sim.Invariant) string {
	name := fmt.Sprintf("found-%s-%s-%v.json", sp.Name(), strings.ReplaceAll(strings.ReplaceAll(c.name, ",", ""), " ", "-"), i)
	path := filepath.Join("testdata", name)
	if *update {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		small, _, err := sim.Shrink(ctx, sc, i, simtest.InBubble(t), c.opt)
		if err != nil {
			t.Logf("%s: %v", name, err)
			small = sc
		}
		small.Name, small.About = strings.TrimSuffix(name, ".json"), fmt.Sprintf("Found by a search of %s for %s, and shrunk.", sp.Name(), c.name)
		if err := os.WriteFile(path, small.AppendJSON(nil), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return line(t, c, name, i.String())
}

// line tells what breaks in a file that is kept.
func line(t *testing.T, c contender, name, invariant string) string {
	small, err := sim.Load(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	v, err := sim.Test(small, simtest.InBubble(t), c.opt)
	text := ""
	for _, x := range v.Violations {
		if x.Invariant.String() == invariant {
			text = x.Text
			break
		}
	}
	if err != nil || text == "" {
		t.Errorf("%s: %s does not break (%v)", name, invariant, err)
	}
	return fmt.Sprintf("- %s, `cmd/rivals/testdata/%s`: %s\n", c.name, name, text)
}
