package simtest_test

import (
	"cmp"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"driftlock/sim"
	"driftlock/sim/simtest"
)

// The two engines are each other's oracle: coroutines over the simulator's own
// transport, and goroutines over the production transport, in the same world.

// told is all that happened in a run that both engines must agree on, in an order
// that hangs on nothing but what happened: within one instant and client the engines
// differ in who came first. So what is not told is how often a clock was read, which
// strand of a client asked (the watch of a lock is the process's in a bubble), and the
// texts of errors: where a watch finds the lock expired at the same instant as an
// extend does, either may say so.
func told(h *sim.History, v *sim.Verdict) []string {
	type line struct {
		at   int64
		text string
	}
	var list []line
	for _, e := range h.Events() {
		switch e.Kind {
		case sim.Read:
			continue
		case sim.Asked:
			e.Proc = -1
		}
		key, owner, failed := h.Text(e.Key), h.Text(e.Owner), e.Note != 0
		e.Key, e.Owner, e.Note = 0, 0, 0
		list = append(list, line{e.At, fmt.Sprintf("%v %s%+v %s %v", e.Kind, owner, e, key, failed)})
	}
	slices.SortStableFunc(list, func(a, b line) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.text, b.text)) })
	var lines []string
	for _, l := range list {
		lines = append(lines, l.text)
	}
	for _, l := range v.Leases {
		lines = append(lines, fmt.Sprintf("%+v", l))
	}
	for _, x := range v.Violations {
		lines = append(lines, fmt.Sprintf("%v %d %s", x.Invariant, x.At, x.Text))
	}
	return lines
}

// TestEnginesAgree runs scenarios of every space on both. DRIFTLOCK_LONG=1: 10,000.
func TestEnginesAgree(t *testing.T) {
	each := uint64(20)
	if raced() {
		each = 1
	}
	if os.Getenv("DRIFTLOCK_LONG") != "" {
		each = uint64(10_000/len(sim.Spaces()) + 1)
	}
	coroutines, goroutines := sim.NewRunner(), sim.NewRunner(simtest.InBubble(t))
	defer coroutines.Close()
	defer goroutines.Close()
	leases, broken, runs := 0, 0, 0
	for _, sp := range sim.Spaces() {
		for seed := range each {
			sc := sim.Generate(sp, seed)
			a, err := coroutines.Run(sc)
			if err != nil {
				t.Fatal(err)
			}
			b, err := goroutines.Run(sc)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", sp.Name(), seed, err)
			}
			v := coroutines.Check()
			runs++
			leases += len(v.Leases)
			if !v.OK() {
				broken++
			}
			if where := differ(told(a, v), told(b, goroutines.Check())); where != "" {
				t.Errorf("%s, seed %d: %s", sp.Name(), seed, where)
			}
		}
	}
	t.Logf("%d scenarios, %d leases, %d broken", runs, leases, broken)
	if leases == 0 || broken == 0 {
		t.Error("nothing was at stake")
	}
}

// differ tells the first lines that are not the same.
func differ(a, b []string) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("line %d, in the bubble only: %s", i, b[i])
		case i >= len(b):
			return fmt.Sprintf("line %d, not in the bubble: %s", i, a[i])
		case a[i] != b[i]:
			return fmt.Sprintf("line %d:\n  coroutines: %s\n  goroutines: %s", i, a[i], b[i])
		}
	}
	return ""
}

// raced says whether the race detector makes everything slow.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
