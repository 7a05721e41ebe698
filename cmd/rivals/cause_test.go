package rivals

import (
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/network"
	"driftlock/sim/simtest"
	"driftlock/sim/timeline"
)

// TestExtensionOverConnections: what a lock says with Holds after it has extended over
// connections, of which the simulator knows only the messages, is the lock's word, and
// not code that goes on beyond it.
func TestExtensionOverConnections(t *testing.T) {
	sc := sim.Reference(1)
	sc.Until, sc.Network, sc.Clients, sc.Nodes = clock.Duration(20*time.Second), network.Config{}, sc.Clients[:1], sc.Nodes[:3]
	sc.Clients[0] = sim.Client{Name: "c1"}
	for i, name := range []string{"A", "B", "C"} {
		sc.Nodes[i] = sim.Node{Name: name, Clock: sim.Clock{Rate: (100_000 * clock.PPM).Rate()}}
	}
	h, err := sim.Run(sc, simtest.InBubble(t), sim.LockedBy(Redsync()), sim.Do(func(p *sim.Process) {
		l := p.Lock()
		token, err := l.Acquire(p.Context(), "k", 5*time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		p.Sleep(3 * time.Second)
		if err := l.Extend(p.Context(), "k", token, 5*time.Second); err != nil {
			t.Error(err)
		}
		p.Sleep(6 * time.Second)
	}))
	if err != nil {
		t.Fatal(err)
	}
	v := sim.Check(h)
	if len(v.Violations) == 0 || v.Violations[0].Invariant != sim.I2 {
		t.Fatalf("%+v: I2 should break", v.Violations)
	}
	for _, s := range timeline.Tell(h, v, 0).Sentences {
		if strings.Contains(s.Text, "with Holds") || strings.Contains(s.Text, "goes on beyond") {
			t.Errorf("%s%s", s.Head, s.Text)
		}
	}
}
