package sim

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A mutant is a check that is wrong in one place. If no test of the checks fails
// with it, nobody would notice that the verdicts are.
type mutant struct{ what, file, from, to string }

var mutants = []mutant{
	{"I1: a tie is a break", "i1_mutex.go", "early.TrustEnds <= late.Granted", "early.TrustEnds < late.Granted"},
	{"I1: one owner value is one acquisition", "i1_mutex.go", "early.grant == late.grant", "early.owner == late.owner"},
	{"I1: whatever the key", "i1_mutex.go", "early.key != late.key ||", ""},
	{"I2: a tie is a break", "i2_sound.go", "l.ExclusionEnds >= l.TrustEnds", "l.ExclusionEnds > l.TrustEnds"},
	{"I2: a nanosecond too long is sound", "i2_sound.go", "l.ExclusionEnds >= l.TrustEnds", "l.ExclusionEnds+1 >= l.TrustEnds"},
	{"I2: a quorum must block, not N−q+1", "check.go", "return len(c.nodes) - c.quorum() + 1", "return c.quorum()"},
	{"I2: one node less is enough", "check.go", "return len(c.nodes) - c.quorum() + 1", "return len(c.nodes) - c.quorum()"},
	{"I2: blocks end in the order in which they began", "lease.go", "all[i-1].to < x.to", "false"},
	{"I2: a block begins after its begin", "lease.go", "if b.from > t {", "if b.from >= t {"},
	{"I2: a block that began after the grant is none", "lease.go", "end == t || end < begins", "true"},
	{"I2: a block that begins as another ends is none", "lease.go", "end < begins", "end <= begins"},
	{"I2: a block that has yet to begin is one", "lease.go", "if b.from > t {", "if false {"},
	{"I2: a node's clock for true time", "block.go", "past(m.away, m.wall.reach(at, when*1e6+m.beyond))", "past(m.away, when*1e6+m.beyond)"},
	{"I2: the monotonic clock of a node", "block.go", "m.wall.reach(at, when", "m.mono.reach(at, when"},
	{"I2: a node that is away forgets", "block.go", "past(m.away, m.wall.reach", "past(nil, m.wall.reach"},
	{"I2: a paused node forgets", "block.go", "past(m.away, m.wall.reach", "past(m.down, m.wall.reach"},
	{"I2: strict is non-strict", "check.go", "m.open, m.beyond = 0, 1e6", "m.open, m.beyond = 0, 0"},
	{"I2: what a fault loses is kept", "block.go", "c.close(place, e.At, Forgotten)", "c.close(place, never, Forgotten)"},
	{"I2: a foreign delete is overlooked", "block.go", "c.close(place, e.At, Deleted)\n\t\t}\n\tcase node.Prolongs", "c.close(place, never, Deleted)\n\t\t}\n\tcase node.Prolongs"},
	{"I2: an extension leaves the key as it was", "block.go", "c.nodes[e.Node].lasts(b, e.At, e.Value)\n\t\t}\n\t}", "}\n\t}"},
	{"trust: true time for the holder's clock", "lease.go", "l.Deadline = clock.reach(l.Granted, l.deadline)", "l.Deadline = l.deadline"},
	{"trust: a release does not end it", "check.go", "\tcase Releasing:\n\t\tc.tell(e)", "\tcase Releasing:"},
	{"trust: a loss that was told does not end it", "check.go", "if e.Value == 1 {", "if e.Value == 2 {"},
	{"trust: an extension that failed ends it", "check.go", "if e.Value == 1 {", "if e.Value <= 1 {"},
	{"trust: a crash does not end it", "lease.go", `.Kind != "crash"`, `.Kind != "crush"`},
	{"trust: an extension at the deadline is in time", "lease.go", "if e.At < ended {", "if e.At <= ended {"},
	{"trust: an extension may shorten it", "lease.go", "max(l.deadline, e.Value)", "e.Value"},
	{"margin of search: the release counts", "lease.go", "interval{b.From, b.Lapse}", "interval{b.From, b.To}"},
	{"required factor: rounded down", "lease.go", "mulUp(l.ttl, c.ppb)", "mulUp(l.ttl, c.ppb) - l.ttl/1e6"},
	{"I3: a number may come twice", "i3_fence.go", "if n <= f.highest {", "if n < f.highest {"},
	{"I3: the last number counts, not the highest", "i3_fence.go", "this.highest = max(this.highest, f.highest)", ""},
	{"I3: attempts that overlap have an order", "i3_fence.go", "f.told <= begun", "f.told <= max(begun, e.At)"},
	{"I3: a number may come twice where attempts overlap", "i3_fence.go", "if n == f.number {", "if false {"},
	{"I3: writes of attempts that overlap have an order", "i3_fence.go", "first.Granted <= c.begun(", "first.Granted <= never+0*c.begun("},
	{"I3: a late extension is told when its grant is", "i3_fence.go", "first, next := &c.leases[l.grant], &c.leases[o.grant]", "first, next := l, o"},
	{"I3: a second write of one grant is stale", "i3_fence.go", "l.grant < o.grant", "l.grant <= o.grant"},
	{"I3: a late extension is a new grant", "i3_fence.go", "l.grant < o.grant", "mine.lease < a.lease"},
	{"I4: at the bound it is broken", "i4_live.go", "left < 0", "left <= 0"},
	{"I4: trust in the key does not count", "i4_live.go", "l.Granted <= at && at < l.TrustEnds", "false"},
	{"I5: an expired key is another's", "block.go", "there := b != nil && e.At < b.Lapse", "there := b != nil && e.At <= b.Lapse"},
	{"I5: only deletes are looked at", "block.go", "there && effect != node.Sets", "there && effect == node.Deletes"},
	{"I5: one owner value is one attempt", "i5_own.go", "b.owner == e.Owner && !c.ofAnother(e, b)", "b.owner == e.Owner"},
	{"I5: a batch is in two", "i5_own.go", "e.Nth < b.nth", "e.Nth <= b.nth"},
	{"I6: at its deadline a lease holds", "i6_honest.go", "e.Local >= e.Value", "e.Local > e.Value"},
	{"I6: a grant needs one node less", "i6_honest.go", "a != nil && a.granted < q", "a != nil && a.granted < q-1"},
	{"I6: an extension at the end is late or not", "i6_honest.go", "if e.At < ended {", "if e.At <= ended {"},
	{"I6: what a process says is the lock's word", "i6_honest.go", "if !own {", "if true {"},
	{"I6: held needs a vote more", "i6_honest.go", "a.granted+a.held < q", "a.granted+a.held <= q"},
	{"I6: held by nobody", "i6_honest.go", " || a.held == 0", ""},
	{"I6: a release needs one node less", "i6_honest.go", "a.freed < q", "a.freed < q-1"},
	{"I7: an attempt goes on in a pause", "check.go", "\tcase Slept:\n\t\tc.fail(e)", "\tcase Slept:"},
	{"I7: an attempt goes on after its process", "check.go", "\tcase Ended:\n\t\tc.fail(e)", "\tcase Ended:"},
	{"I4: a process that ended waits", "check.go", "c.fail(e)\n\t\tc.waiting(e)\n\tcase Faulted", "c.fail(e)\n\tcase Faulted"},
	{"I7: at the bound it is broken", "i7_tidy.go", "left >= 0", "left > 0"},
	{"I7: one delay, not two", "i7_tidy.go", "2*longest", "longest"},
	{"I7: who cannot be reached is", "i7_tidy.go", "!c.reachable(a, b.Node, a.returned+bound)", "false"},
	{"I7: a lost message is none", "i7_tidy.go", "e.Kind == GaveUp || ", "e.Kind == GaveUp && "},
	{"I7: judged beyond the run", "i7_tidy.go", "a.returned+bound > sc.last() || ", ""},
	{"I7: a later attempt's keys are the first's", "i7_tidy.go", " || c.ofLater(b, a, i)", ""},
	{"assumptions: a budget that is used up is exceeded", "assume.go", "budget.Sign() < 0", "budget.Sign() <= 0"},
	{"assumptions: steps share nothing with rates", "assume.go", "budget.Cmp(big.NewRat(int64(steps), 1)) < 0", "big.NewRat(int64(ttl), 100).Cmp(big.NewRat(int64(steps), 1)) < 0"},
	{"assumptions: a quarantine of 1 ns less than the TTL does", "assume.go", "away < longest", "away+1 < longest"},
	{"assumptions: a quarantine of the TTL does not", "assume.go", "away < longest", "away <= longest"},
	{"clocks: a reading is reached a nanosecond late", "machine.go", "return max(first, s.from+d)\n", "return max(first, s.from+d+1)\n"},
}

// mutated is a file with the mutant in it.
func (m mutant) mutated(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte(m.from)); n != 1 {
		t.Fatalf("%s: %q stands there %d times, want once", m.file, m.from, n)
	}
	return bytes.Replace(text, []byte(m.from), []byte(m.to), 1)
}

// TestMutantsApply keeps the list in step with the code.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.what, func(t *testing.T) {
			t.Parallel()
			m.mutated(t)
		})
	}
}

// checkTests are the tests of the checks.
const checkTests = "^(TestSound|TestSlackIsLost|TestMutex|TestEachOnItsOwnClock|TestAwayNodesBlock|TestOwn|TestHonest|TestTidy|TestFence|TestFenceOfOverlap|TestLive" +
	"|TestOneOwnerValueForTwo|TestTokenInOtherHands|TestOwnOfAnotherAttempt|TestRawOperations|TestHeldByNobody|TestLateExtensionIsNoNewGrant" +
	"|TestBelief|TestWhoseWordIsBroken|TestHoldsWithoutLocker|TestLockWithoutNodes|TestAssumptions|TestNearest.*)$"

// TestMutants breaks each check in turn, and wants the tests of the checks to
// notice. It compiles the package once for each, some minutes in all: set
// DRIFTLOCK_MUTANTS to run it.
func TestMutants(t *testing.T) {
	if os.Getenv("DRIFTLOCK_MUTANTS") == "" {
		t.Skip("set DRIFTLOCK_MUTANTS=1 to run it")
	}
	if out, err := testChecks(t, nil); err != nil {
		t.Fatalf("without a mutant: %v\n%s", err, out)
	}
	for _, m := range mutants {
		t.Run(m.what, func(t *testing.T) {
			out, err := testChecks(t, &m)
			switch {
			case err == nil:
				t.Errorf("%s: %q for %q: no test fails", m.file, m.to, m.from)
			case !bytes.Contains(out, []byte("--- FAIL: ")) && !bytes.Contains(out, []byte("test timed out")):
				t.Errorf("%s: %q for %q: %v\n%s", m.file, m.to, m.from, err, out)
			}
		})
	}
}

// testChecks runs the tests of the checks over a package with the mutant in it.
func testChecks(t *testing.T, m *mutant) ([]byte, error) {
	t.Helper()
	args := []string{"test", "-count=1", "-timeout=60s", "-vet=off", "-run", checkTests}
	if m != nil {
		dir := t.TempDir()
		file, err := filepath.Abs(m.file)
		if err != nil {
			t.Fatal(err)
		}
		mutated, overlay := filepath.Join(dir, m.file), filepath.Join(dir, "overlay.json")
		replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutated}})
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{mutated: m.mutated(t), overlay: replace} {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Env = append(os.Environ(), "DRIFTLOCK_MUTANTS=")
	out, err := cmd.CombinedOutput()
	if len(out) > 2000 {
		out = append(out[:2000], "…"...)
	}
	return []byte(strings.TrimSpace(string(out))), err
}
