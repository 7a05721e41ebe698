package timeline

import (
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// cause is what an account says why something broke: causes, and what is none.
func cause(t *testing.T, sc sim.Scenario, w sim.Workload) string {
	t.Helper()
	h := run(t, sc, sim.Do(w))
	v := sim.Check(h)
	if v.OK() {
		t.Fatal("nothing broke")
	}
	var text strings.Builder
	for _, s := range Tell(h, v, 0).Sentences {
		if strings.HasSuffix(s.Head, "ause: ") {
			text.WriteString(s.Head + strings.ReplaceAll(s.Text, hold, " ") + "\n")
		}
	}
	return text.String()
}

// careless takes the lock for 5 s, tries to extend it after 3 s, does not look whether
// it could, and works on for so long.
func careless(work time.Duration) sim.Workload {
	return func(p *sim.Process) {
		l := p.Lock()
		token, err := l.Acquire(p.Context(), "bill", 5*time.Second)
		if err != nil {
			return
		}
		p.Sleep(3 * time.Second)
		l.TryExtend(p.Context(), "bill", token, 5*time.Second)
		p.Holds("bill", p.Clock().Now().Add(work))
		p.Sleep(work)
		l.Release(p.Context(), "bill", token)
	}
}

func exact() sim.Scenario {
	sc := sim.Reference(1)
	sc.Until, sc.Clients, sc.Nodes, sc.Network, sc.Faults = clock.Duration(20*time.Second), sc.Clients[:1], sc.Nodes[:3], network.Config{}, nil
	sc.Clients[0] = sim.Client{Name: "c1"}
	for i, name := range []string{"A", "B", "C"} {
		sc.Nodes[i] = sim.Node{Name: name}
	}
	sc.Lock.NodeTimeout, sc.Lock.Factor = clock.Duration(200*time.Millisecond), "0.01"
	return sc
}

// A failed extension, how long the holder went on all the same, and how long a node was
// down are told as they were.
func TestCauseOfAnExtensionThatFailed(t *testing.T) {
	t.Parallel()
	sc := exact()
	sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"A"}}}
	sc.Nodes[2].Persistence = node.Always
	sc.Faults = []sim.Fault{{Kind: "crash", On: "C", At: clock.Duration(time.Second), For: clock.Duration(6 * time.Second)}}
	got := cause(t, sc, careless(4200*time.Millisecond))
	want := `Cause: c1 set the key for 5 s, which made a lock for 4.948 s, and went on for 7.4 s by its own clock, as it said with Holds. At 3.200 s it was told that it could not extend the lock.
Not the cause: C had the key for 5 s, as asked, and was down from 1.000 s on: that kept others out until 7.000 s. The clock of c1 was right. No clock was stepped. Slow messages cannot do this: trust counts from before the first request was sent.
`
	if got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}

// Where the lock was extended, what counts is from there on.
func TestCauseAfterAnExtension(t *testing.T) {
	t.Parallel()
	got := cause(t, exact(), careless(5200*time.Millisecond))
	want := `Cause: c1 last extended the key for 5 s, which made a lock for 4.948 s, and went on for 5.2 s by its own clock, as it said with Holds.
Not the cause: The clock of c1 was right. A–C kept the key for 5.001 s after the extension, as asked. No clock was stepped`
	if !strings.HasPrefix(got, want) {
		t.Errorf("it says\n%s\nwant\n%s…", got, want)
	}
}

// A process that says that it holds the lock after it could not extend it has not
// extended it.
func TestHoldsIsNoExtension(t *testing.T) {
	t.Parallel()
	sc := exact()
	sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"A", "B"}, At: clock.Duration(time.Second)}}
	h := run(t, sc, sim.Do(careless(time.Second)))
	text := told(t, h, Story, Style{})
	if strings.Contains(text, "has extended") || !strings.Contains(text, "could not extend") || !strings.Contains(text, "believes that it holds") {
		t.Errorf("the story says\n%s", text)
	}
}

// "Nothing crashed" means no machine at all.
func TestNothingCrashedMeansNothing(t *testing.T) {
	t.Parallel()
	sc := exact()
	sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"A"}}}
	quiet := cause(t, sc, careless(5200*time.Millisecond))
	sc.Faults = []sim.Fault{{Kind: "crash", On: "A", At: clock.Duration(time.Second), For: clock.Duration(time.Second)}}
	down := cause(t, sc, careless(5200*time.Millisecond))
	if !strings.Contains(quiet, "nothing crashed") || strings.Contains(down, "nothing crashed") {
		t.Errorf("without a crash it says\n%s\nand with that of A\n%s", quiet, down)
	}
}

// Of one node, or where one is enough to block, nobody is told of "fewer than 1 nodes".
func TestOneNodeIsNoPlural(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 2; n++ {
		sc := exact()
		sc.Nodes = sc.Nodes[:n]
		text := strings.Join(strings.Fields(told(t, run(t, sc, sim.Do(careless(5200*time.Millisecond))), Story, Style{})), " ")
		for _, wrong := range []string{"fewer than 1", "which 1 make", "the 1 nodes"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%d nodes: it says %q: %s", n, wrong, text)
			}
		}
		if !strings.Contains(text, "no node blocks") {
			t.Errorf("%d nodes: it says %s", n, text)
		}
	}
}
