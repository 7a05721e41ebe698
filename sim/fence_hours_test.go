package sim_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/network"
	"driftlock/sim/timeline"
)

// contended is so many hours in which four clients want one lock over five nodes, and
// each of them stands still every few minutes for longer than the TTL: as the worked
// example doc-pause-30s, but again and again.
func contended(seed uint64, long time.Duration, fenced bool) sim.Scenario {
	sc := sim.Scenario{
		Version: sim.Version, Seed: seed, Until: clock.Duration(long),
		Lock: sim.Lock{TTL: clock.Duration(30 * time.Second), Factor: "0.01", Buffer: clock.Duration(2 * time.Millisecond),
			NodeTimeout: clock.Duration(50 * time.Millisecond), GiveUp: clock.Duration(5 * time.Second), Fencing: true,
			Retry: sim.Retry{Min: clock.Duration(time.Second), Max: clock.Duration(3 * time.Second)}},
		Resources: []sim.ResourceConfig{{Name: "S", Fenced: fenced}},
		Network: network.Config{
			Request: network.Path{Delay: network.Delay{Law: network.Exponential, Min: clock.Duration(200 * time.Microsecond), Mean: clock.Duration(500 * time.Microsecond)}},
			Reply:   network.Path{Delay: network.Delay{Law: network.Exponential, Min: clock.Duration(200 * time.Microsecond), Mean: clock.Duration(500 * time.Microsecond)}},
		},
	}
	for i := range 5 {
		sc.Nodes = append(sc.Nodes, sim.Node{Name: string(rune('A' + i))})
	}
	draw := seed
	next := func(n time.Duration) time.Duration { // up to n, from a generator that is good enough for when to stop
		draw = draw*6364136223846793005 + 1442695040888963407
		return time.Duration(draw>>33) * time.Millisecond % n
	}
	for i := range 4 {
		name := fmt.Sprint("c", i+1)
		sc.Clients = append(sc.Clients, sim.Client{Name: name})
		for at := next(5 * time.Minute); at < long-time.Minute; at += 2*time.Minute + next(5*time.Minute) {
			lasts := 10*time.Second + next(80*time.Second)
			sc.Faults = append(sc.Faults, sim.Fault{Kind: "pause", On: name, At: clock.Duration(at), For: clock.Duration(lasts)})
		}
	}
	return sc
}

// careless works for some seconds under the lock and then writes, without a look at its
// token: what a pause does to it, no lease can prevent.
func careless(grants *int) sim.Workload {
	return func(p *sim.Process) {
		lock, row := p.Lock(), p.Resource("S")
		for {
			token, err := lock.Acquire(p.Context(), "k", 30*time.Second)
			if err != nil {
				if p.Context().Err() != nil {
					return
				}
				continue
			}
			*grants++
			n, _ := token.Fence()
			p.Sleep(time.Duration(3+n%7) * time.Second)
			row.WriteFenced(p.Context(), n)
			lock.Release(p.Context(), "k", token)
		}
	}
}

// stale counts the writes that a resource accepted after one with a higher number, and
// those that it refused. It asks the history alone, not the checker.
func stale(h *sim.History) (accepted, landed, refused int) {
	highest := uint64(0)
	for _, e := range h.Events() {
		if e.Kind != sim.Stored {
			continue
		}
		switch n := uint64(e.Value); {
		case e.Status != redlock.Done:
			refused++
		case n < highest:
			landed++
		default:
			accepted, highest = accepted+1, n
		}
	}
	return accepted, landed, refused
}

// Seven hours: a resource that compares fence numbers never accepts a stale write. One
// that does not accepts many, and the timeline tells of the first.
func TestSevenHoursOfPauses(t *testing.T) {
	t.Parallel()
	long := 7 * time.Hour
	if testing.Short() {
		long = time.Hour
	}
	for _, fenced := range []bool{true, false} {
		t.Run(fmt.Sprintf("fenced %v", fenced), func(t *testing.T) {
			t.Parallel()
			grants := 0
			h, err := sim.Run(contended(1, long, fenced), sim.Do(careless(&grants)))
			if err != nil {
				t.Fatal(err)
			}
			v := sim.Check(h)
			accepted, landed, refused := stale(h)
			t.Logf("%v: %d grants, %d writes in order, %d stale ones landed, %d refused", long, grants, accepted, landed, refused)
			for _, broken := range v.Broken() {
				if broken != sim.I3 || fenced {
					t.Errorf("%v is broken: %v", broken, v.Err())
				}
			}
			if hours := int(long.Hours()); grants < 200*hours {
				t.Errorf("only %d grants", grants)
			}
			if fenced {
				if landed != 0 || refused < 10 {
					t.Errorf("%d stale writes landed and %d were refused", landed, refused)
				}
				return
			}
			if landed < 10 || refused != 0 {
				t.Fatalf("%d stale writes landed and %d were refused: nothing is shown", landed, refused)
			}
			wantStory(t, h, v, landed)
		})
	}
}

// wantStory demands that the picture tells of the first stale write, and that the story
// marks each.
func wantStory(t *testing.T, h *sim.History, v sim.Verdict, landed int) {
	t.Helper()
	var screen bytes.Buffer
	if err := timeline.Screen(&screen, h, v, 0, timeline.Style{}); err != nil {
		t.Fatal(err)
	}
	first := v.Violations[0]
	for _, want := range []string{"I3", first.Text} {
		if !strings.Contains(strings.Join(strings.Fields(screen.String()), " "), want) {
			t.Errorf("the picture does not tell of %q:\n%s", want, screen.String())
		}
	}
	marked := 0
	for _, l := range timeline.Lines(h, v, timeline.Story) {
		if l.Bad {
			marked++
		}
	}
	if marked != landed {
		t.Errorf("the story marks %d lines, and %d stale writes landed", marked, landed)
	}
}
