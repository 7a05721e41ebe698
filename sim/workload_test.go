package sim

import (
	"slices"
	"strings"
	"testing"

	"driftlock/redlock"
	"driftlock/sim/network"
)

// TestWatchStep: a watch keeps the lock alive, ends with it, and what a holder
// would do after that is not done.
func TestWatchStep(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"redlock", kindFlawed} {
		for _, c := range []struct {
			name   string
			steps  []Step
			cut    bool // from the nodes at 1 s
			trust  int64
			writes int
			lost   int64 // when the client learns of it; 0: never
		}{
			{"for a time", []Step{{Do: "watch", Key: "k", For: 25 * sec}, {Do: "write", Key: "k", To: "S"}}, false, 25_000*milli + 4_898*milli, 1, 0},
			{"until it is released", []Step{{Do: "watch", Key: "k"}, {Do: "hold", Key: "k", For: 25 * sec}, {Do: "write", Key: "k", To: "S"}, {Do: "release", Key: "k"}}, false, 25_000 * milli, 1, 0},
			{"lost", []Step{{Do: "watch", Key: "k", For: 25 * sec}, {Do: "write", Key: "k", To: "S"}}, true, 9_898 * milli, 0, 9_898 * milli},
			{"lost, in the background", []Step{{Do: "watch", Key: "k"}, {Do: "hold", Key: "k", For: 25 * sec}, {Do: "write", Key: "k", To: "S"}}, true, 9_898 * milli, 0, 9_898 * milli},
		} {
			sc := quiet()
			sc.Lock.Kind = kind
			sc.Resources = []ResourceConfig{{Name: "S"}}
			sc.Clients[0].Repeat = 1
			sc.Clients[0].Steps = append([]Step{{Do: "acquire", Key: "k"}}, c.steps...)
			if c.cut {
				sc.Network.Cuts = []network.Cut{{From: []string{"c1"}, To: []string{"A", "B", "C"}, At: sec}}
			}
			h := mustRun(t, sc)
			v := Check(h)
			if !v.OK() || len(v.Leases) != 1 {
				t.Fatalf("%s, %s: %d leases, %v", kind, c.name, len(v.Leases), v.Err())
			}
			writes, lost := 0, int64(0)
			for _, e := range h.Events() {
				switch e.Kind {
				case Wrote:
					writes++
				case Lost:
					lost = e.At
				}
			}
			// The last renewal of 25 s is at a third of the TTL, three times each: at 23.333 s.
			if c.trust > 25_000*milli {
				c.trust = 7*(10_000*milli/3) + 9_898*milli
			}
			if v.Leases[0].TrustEnds != c.trust || writes != c.writes || lost != c.lost {
				t.Errorf("%s, %s: trusted until %d, %d writes, lost at %d; want %d, %d, %d", kind, c.name, v.Leases[0].TrustEnds, writes, lost, c.trust, c.writes, c.lost)
			}
		}
	}
}

// TestExtendStepLoses: who learns from an extend that the lock is lost does no
// more as its holder.
func TestExtendStepLoses(t *testing.T) {
	t.Parallel()
	sc := quiet()
	sc.Resources = []ResourceConfig{{Name: "S"}}
	sc.Clients[0].Repeat = 1
	sc.Clients[0].Steps = []Step{{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", For: 9_900 * ms}, {Do: "extend", Key: "k"}, {Do: "write", Key: "k", To: "S"}, {Do: "release", Key: "k"}}
	for _, e := range mustRun(t, sc).Events() {
		if e.Kind == Wrote || e.Kind == Releasing {
			t.Errorf("%v at %d, after the lock was found lost", e.Kind, e.At)
		}
	}
}

// TestStepsOnSeveralKeys: a step is of any key that a step of its client before it
// acquires, and of no other.
func TestStepsOnSeveralKeys(t *testing.T) {
	t.Parallel()
	sc := quiet()
	var steps []Step
	for _, do := range []string{"acquire", "release"} {
		for _, key := range []string{"k", "l", "m", "k"} {
			steps = append(steps, Step{Do: do, Key: key})
		}
	}
	sc.Clients[0].Steps = steps
	if err := sc.Check(); err != nil {
		t.Error(err)
	}
	for _, missing := range []string{"k", "l", "m"} {
		sc.Clients[0].Steps = slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Do == "acquire" && s.Key == missing })
		want := "no step before this one acquires \"" + missing + "\""
		if err := sc.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestDeleteStep: a delete takes the key from whoever holds it, and an assumption
// says so.
func TestDeleteStep(t *testing.T) {
	t.Parallel()
	sc := quiet()
	sc.Clients[0].Repeat = 1
	sc.Clients[0].Steps = []Step{{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", For: 8 * sec}}
	sc.Clients = append(sc.Clients, Client{Name: "reaper", Steps: []Step{{Do: "sleep", For: 3 * sec}, {Do: "delete", Key: "k"}}})
	h := mustRun(t, sc)
	v := Check(h)
	if l := v.Leases[0]; l.ExclusionEnds != 3_000*milli || len(broken(v, I5)) != 3 || len(broken(v, I2)) != 1 {
		t.Errorf("exclusion ends at %d; %v", l.ExclusionEnds, v.Err())
	}
	if len(v.Unmet) != 1 || v.Unmet[0].Assumption != A2 || !strings.Contains(v.Unmet[0].Text, "reaper") {
		t.Errorf("unmet: %v", v.Unmet)
	}
	for _, e := range h.Events() {
		if e.Kind == Executed && e.Op != redlock.OpAcquire && e.Op < 100 {
			t.Errorf("op %v", e.Op)
		}
	}
}
