package sim

import (
	"os"
	"slices"
	"strconv"
	"testing"
)

// runs is how many scenarios a test runs: a few by default, few under the race
// detector, and as many as DRIFTLOCK_RUNS says.
func runs(t *testing.T, few uint64) uint64 {
	t.Helper()
	if n := os.Getenv("DRIFTLOCK_RUNS"); n != "" {
		many, err := strconv.ParseUint(n, 10, 64)
		if err != nil {
			t.Fatalf("DRIFTLOCK_RUNS=%s: a number of runs is expected", n)
		}
		return many
	}
	if raced() {
		return few / 20
	}
	return few
}

// TestFencesGrow: while numbers persist, those of the real lock grow in grant
// order, and so do those of the flawed lock without flaws. Counting up in the
// SET's round and reading a clock look alike, and are found out.
func TestFencesGrow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind string
		flaws      []string
		breaks     bool
	}{
		{"redlock", "redlock", nil, false},
		{"flawed, without flaws", kindFlawed, nil, false},
		{"counted in the set's round", kindFlawed, []string{"fence-in-set-round"}, true},
		{"by the clock", kindFlawed, []string{"fence-by-clock"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := max(runs(t, 1000), 300)
			if c.breaks {
				n = 300
			}
			r := NewRunner()
			defer r.Close()
			numbers, breaks, first := 0, 0, uint64(0)
			for seed := range n {
				sc := Generate(DriftCovered(), seed)
				sc.Lock.Kind, sc.Lock.Flaws, sc.Lock.Fencing = c.kind, c.flaws, true
				h, err := r.Run(sc)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range h.Events() {
					if e.Kind == Fenced {
						numbers++
					}
				}
				broke := r.Check().Broken()
				if slices.Contains(broke, I3) {
					if breaks++; breaks == 1 {
						first = seed
					}
				}
				if rest := slices.DeleteFunc(broke, func(i Invariant) bool { return i == I3 }); len(rest) > 0 {
					t.Errorf("seed %d breaks %v", seed, rest)
				}
			}
			t.Logf("%d runs, %d numbers, %d breaks, the first at seed %d", n, numbers, breaks, first)
			if (breaks > 0) != c.breaks || uint64(numbers) < n {
				t.Errorf("%d of %d runs break I3, with %d numbers", breaks, n, numbers)
			}
		})
	}
}

// TestFenceOfOverlap: a client that stands still between the answers to its acquire
// and its return is told of its grant after a rival that came later, where exclusion
// has broken. Numbers are in order all the same, and the resource keeps to them: it
// refuses the one that was first, or takes both in their order.
func TestFenceOfOverlap(t *testing.T) {
	t.Parallel()
	sc := plain(2, 3)
	sc.Until, sc.Lock.Fencing = 20e9, true
	sc.Resources = []ResourceConfig{{Name: "S", Fenced: true}}
	sc.Network.Reply.Delay.Min = 10e6
	write := Step{Do: "write", Key: "k", To: "S"}
	sc.Clients[0].Steps = []Step{{Do: "acquire", Key: "k"}, write, {Do: "hold", Key: "k", For: 3e9}, write}
	sc.Clients[1].Steps = []Step{{Do: "sleep", For: 1e9}, {Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", For: 3e9}, write}
	sc.Faults = []Fault{{Kind: "suspend", On: sc.Clients[0].Name, At: 5e6, For: 2e9}}
	for _, n := range sc.Nodes {
		sc.Faults = append(sc.Faults, Fault{Kind: "evict", On: n.Name, At: 50e6, Key: "k"})
	}
	v := Check(mustRun(t, sc))
	if broken := v.Broken(); !slices.Contains(broken, I1) || slices.Contains(broken, I3) || len(v.Leases) < 2 || v.Leases[0].Client != sc.Clients[1].Name || v.Probes[ProbeStale] != 1 {
		t.Errorf("%v broke, %d stale writes, leases %+v, %v", broken, v.Probes[ProbeStale], v.Leases, v.Violations)
	}
}
