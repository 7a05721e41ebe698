package sim

import (
	"strings"
	"testing"

	"driftlock/clock"
	"driftlock/sim/node"
)

// TestAssumptions takes the budgets of drift-math.md, each at its edge and one
// step beyond.
func TestAssumptions(t *testing.T) {
	t.Parallel()
	rates := func(client, nodes string) func(*Scenario) {
		return func(sc *Scenario) {
			sc.Lock.Buffer = 0
			c, err1 := clock.ParseRate(client)
			n, err2 := clock.ParseRate(nodes)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			sc.Clients[0].Clock.Rate = c
			for i := range sc.Nodes {
				sc.Nodes[i].Clock.Rate = n
			}
		}
	}
	fault := func(f Fault) func(*Scenario) { return func(sc *Scenario) { sc.Faults = append(sc.Faults, f) } }
	both := func(fs ...func(*Scenario)) func(*Scenario) {
		return func(sc *Scenario) {
			for _, f := range fs {
				f(sc)
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*Scenario)
		unmet  string // "A1 A3"
		text   string
	}{
		"defaults":                     {func(*Scenario) {}, "", ""},
		"break-even on both sides":     {rates("198/199", "200/199"), "", ""},
		"1 ppb more":                   {rates("198/199", "1.005025126"), "A1 A1 A1", ""},
		"nodes only, at the edge":      {rates("1", "100/99"), "", ""},
		"nodes only, beyond":           {rates("1", "1.010101011"), "A1 A1 A1", ""},
		"client only, at the edge":     {rates("0.99", "1"), "", ""},
		"client only, beyond":          {rates("0.989999999", "1"), "A1 A1 A1", ""},
		"a step of 102 ms":             {fault(Fault{Kind: "step", On: "C", At: sec, By: 102 * ms}), "", ""},
		"1 ns more":                    {fault(Fault{Kind: "step", On: "C", At: sec, By: 102*ms + 1}), "A3", "C stepped by 102.000001ms, the budget was 102ms"},
		"two steps share the budget":   {both(fault(Fault{Kind: "step", On: "C", At: sec, By: 60 * ms}), fault(Fault{Kind: "step", On: "C", At: 2 * sec, By: 60 * ms})), "A3", "stepped by 120ms"},
		"non-strict takes 1 ms of it":  {both(func(sc *Scenario) { sc.Nodes[2].Expiry = node.NonStrict }, fault(Fault{Kind: "step", On: "C", At: sec, By: 102 * ms})), "A3", "the budget was 101ms"},
		"a step back is safe":          {fault(Fault{Kind: "step", On: "C", At: sec, By: -sec}), "", ""},
		"drift and a step, each alone": {both(rates("0.995", "1.005"), fault(Fault{Kind: "step", On: "C", At: sec, By: 100 * ms})), "A3", ""},
		"a slew for a while":           {fault(Fault{Kind: "rate", On: "B", At: sec, For: sec, Rate: clock.Ratio(13, 12)}), "A1", "B runs at up to"},
		"a crash that forgets":         {fault(Fault{Kind: "crash", On: "A", At: sec, For: 5 * sec}), "A2", "A was back from its crash at 1s without its keys, 5s after it had gone down; it should have stayed away for the longest TTL, 10s"},
		"away for longer than the TTL": {fault(Fault{Kind: "crash", On: "A", At: sec, For: 10*sec + 2*ms}), "", ""},
		"in quarantine for as long":    {both(func(sc *Scenario) { sc.Nodes[0].Quarantine = 10*sec + 2*ms }, fault(Fault{Kind: "crash", On: "A", At: sec, For: sec})), "", ""},
		"a crash for good":             {fault(Fault{Kind: "crash", On: "A", At: sec}), "", ""},
		"a crash with AOF always":      {both(func(sc *Scenario) { sc.Nodes[0].Persistence = node.Always }, fault(Fault{Kind: "crash", On: "A", At: sec, For: sec})), "", ""},
		"eviction":                     {fault(Fault{Kind: "evict", On: "A", At: sec, Key: "k"}), "A2", ""},
		"evictions leave numbers":      {both(func(sc *Scenario) { sc.Lock.Fencing = true }, fault(Fault{Kind: "evict", On: "A", At: sec, Key: "k"})), "A2", ""},
		"away for as long as the TTL":  {fault(Fault{Kind: "crash", On: "A", At: sec, For: 10 * sec}), "", ""},
		"1 ns less":                    {fault(Fault{Kind: "crash", On: "A", At: sec, For: 10*sec - 1}), "A2", ""},
		"numbers have no TTL":          {both(func(sc *Scenario) { sc.Lock.Fencing = true }, fault(Fault{Kind: "crash", On: "A", At: sec, For: 20 * sec})), "A6", "20s after it had gone down; fence numbers are lost too"},
		"away for good":                {both(func(sc *Scenario) { sc.Lock.Fencing = true }, fault(Fault{Kind: "crash", On: "A", At: sec})), "", ""},
		"a stale snapshot":             {both(func(sc *Scenario) { sc.Nodes[0].Persistence = node.Snapshot }, fault(Fault{Kind: "crash", On: "A", At: sec, For: sec, By: ms})), "A2", "without the last 1ms"},
		"quarantine ended by a step":   {both(func(sc *Scenario) { sc.Nodes[0].Quarantine, sc.Nodes[0].QuarantineOn = 10*sec, node.OnWall }, fault(Fault{Kind: "crash", On: "A", At: sec, For: sec}), fault(Fault{Kind: "step", On: "A", At: 2 * sec, By: 100 * ms})), "A2", "9.9s after"},
		"which the boot clock ignores": {both(func(sc *Scenario) { sc.Nodes[0].Quarantine = 10 * sec }, fault(Fault{Kind: "crash", On: "A", At: sec, For: sec}), fault(Fault{Kind: "step", On: "A", At: 2 * sec, By: 100 * ms})), "", ""},
		"a resource without fences":    {func(sc *Scenario) { sc.Resources = []ResourceConfig{{Name: "S"}} }, "A6", "S does not look"},
		"a bent clock loses its parts": {both(fault(Fault{Kind: "step", On: "C", At: sec, By: 102 * ms}), fault(Fault{Kind: "rate", On: "c1", At: sec, For: sec, Rate: clock.Ratio(2, 1)})), "A3", "the budget was 101.999998ms"},
		"with fencing":                 {both(func(sc *Scenario) { sc.Lock.Fencing = true }, fault(Fault{Kind: "flush", On: "A", At: sec})), "A2 A6", ""},
		"suspend on a boot clock":      {fault(Fault{Kind: "suspend", On: "c1", At: sec, For: sec}), "", ""},
		"on a monotonic clock":         {both(func(sc *Scenario) { sc.Clients[0].Lives = Monotonic }, fault(Fault{Kind: "suspend", On: "c1", At: sec, For: sec})), "A4", ""},
		"a wall clock set back":        {both(func(sc *Scenario) { sc.Clients[0].Lives = Wall }, fault(Fault{Kind: "step", On: "c1", At: sec, By: -sec})), "A4", ""},
	} {
		sc := plain(1, 3)
		c.change(&sc)
		var got, texts []string
		for _, u := range Assumptions(&sc) {
			got, texts = append(got, u.Assumption.String()), append(texts, u.Text)
		}
		if strings.Join(got, " ") != c.unmet || !strings.Contains(strings.Join(texts, "\n"), c.text) {
			t.Errorf("%s: %q unmet, want %q with %q: %q", name, got, c.unmet, c.text, texts)
		}
	}
}
