package driftlock_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/flawed"
	"driftlock/testdata/scenarios"

	"github.com/go-json-experiment/json/jsontext"
)

// catalogue is every scenario of the catalogue, by name.
func catalogue(t *testing.T) map[string]sim.Scenario {
	t.Helper()
	files, err := fs.Glob(scenarios.Files, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]sim.Scenario{}
	for _, file := range files {
		text, err := scenarios.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sc, err := sim.Parse(file, text)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(file, ".json")] = sc
	}
	return all
}

func tested(t *testing.T, sc sim.Scenario) sim.Verdict {
	t.Helper()
	v, err := sim.Test(sc)
	if err != nil {
		t.Fatalf("%s: %v", sc.Name, err)
	}
	return v
}

// edited is a scenario with fields set by their paths, in pairs.
func edited(t *testing.T, sc sim.Scenario, pairs ...string) sim.Scenario {
	t.Helper()
	set := map[string]jsontext.Value{}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = jsontext.Value(pairs[i+1])
	}
	sc.Expect = nil
	sc, err := sc.With(set)
	if err != nil {
		t.Fatalf("%v: %v", pairs, err)
	}
	return sc
}

// TestCatalogueIsWhole: every named failure has its scenario, with what it claims
// and, if it breaks, what would have helped.
func TestCatalogueIsWhole(t *testing.T) {
	t.Parallel()
	all := catalogue(t)
	named := strings.Fields(`s01 s02 s03 s04 s05 s06 s09 s10 s11 s12 s13 s14 s15 s16 s18 s19 s20 s21 s23 s25 s26 s27 s28 s29
		s31 s32 s33 s34 s35 s37 s39 s40 s42 s44 s46 s48 s50 s51
		doc-validity-29198 doc-three-of-five doc-reply-after-12s doc-slow-client doc-pause-30s doc-heartbeat-paused doc-split-brain
		doc-one-redis-failover doc-local-mutex doc-eternal-lock`)
	for _, name := range named {
		found := 0
		for have := range all {
			if have == name || strings.HasPrefix(have, name+"-") && name[0] == 's' {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %d scenarios", name, found)
		}
	}
	for name, sc := range all {
		golden := strings.HasPrefix(name, "g") || strings.HasPrefix(name, "d") && !strings.HasPrefix(name, "doc-") || name == "chrony-slew"
		switch {
		case sc.Claim == "":
			t.Errorf("%s: claims nothing", name)
		case golden:
		case strings.Count(sc.About, "\n") != 1:
			t.Errorf("%s: is told in %d lines, want two", name, 1+strings.Count(sc.About, "\n"))
		case sc.Expect.OK != (len(sc.Remedies) == 0):
			t.Errorf("%s: %d remedies for a run that is expected to be ok: %v", name, len(sc.Remedies), sc.Expect.OK)
		case sc.Expect.Text == "":
			t.Errorf("%s: says not what one should see", name)
		}
	}
}

// TestRemedies: each remedy keeps its scenario from breaking.
func TestRemedies(t *testing.T) {
	t.Parallel()
	n := 0
	for name, sc := range catalogue(t) {
		for _, r := range sc.Remedies {
			better, err := sc.WithRemedy(r.Name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			n++
			for _, how := range better.Expect.Mismatch(tested(t, better)) {
				t.Errorf("%s, with %s: %s", name, r.Name, how)
			}
			if better.Expect.OK != true || r.Text == "" {
				t.Errorf("%s: %s is no remedy, or says nothing", name, r.Name)
			}
		}
	}
	if n < 50 {
		t.Errorf("%d remedies", n)
	}
}

// flaws is a scenario with a lock that has these faults; with none, the real one.
func flaws(t *testing.T, sc sim.Scenario, names ...string) sim.Scenario {
	t.Helper()
	if len(names) == 0 {
		return edited(t, sc, "lock.kind", `"redlock"`, "lock.flaws", "[]")
	}
	return edited(t, sc, "lock.kind", `"flawed"`, "lock.flaws", `["`+strings.Join(names, `","`)+`"]`)
}

// TestFlaws: each fault breaks what its scenario says, the same scenario holds
// with the real lock, and where a lock has two faults it takes both.
func TestFlaws(t *testing.T) {
	t.Parallel()
	shown := map[string][]string{} // scenarios, by fault
	for name, sc := range catalogue(t) {
		if sc.Lock.Kind != "flawed" || sc.Expect.OK {
			continue
		}
		if v := tested(t, flaws(t, sc)); !v.OK() && name != "s09-sub-ms-truncation" { // which has no buffer at all; flaw-no-truncation is its twin
			t.Errorf("%s, with the real lock: %v", name, v.Err())
		}
		for _, f := range sc.Lock.Flaws {
			shown[f] = append(shown[f], name)
			if len(sc.Lock.Flaws) == 1 {
				continue
			}
			others := slices.DeleteFunc(slices.Clone(sc.Lock.Flaws), func(o string) bool { return o == f })
			if broke := tested(t, flaws(t, sc, others...)).Broken(); slices.Equal(broke, sc.Expect.Breaks) {
				t.Errorf("%s breaks %v without %s too", name, broke, f)
			}
		}
	}
	for _, f := range flawed.Flaws() {
		if len(shown[string(f)]) == 0 {
			t.Errorf("no scenario shows %s", f)
		}
	}
}

// TestFlawsElsewhere: some faults show in a second scenario, of the catalogue
// that the real lock stands.
func TestFlawsElsewhere(t *testing.T) {
	t.Parallel()
	all := catalogue(t)
	for _, c := range []struct {
		scenario, flaw string
		breaks         sim.Invariant
	}{
		{"s12-replies-in-kernel-buffer", "no-elapsed-check", sim.I6},
		{"s32-late-set-after-failure", "release-only-granted", sim.I7},
		{"doc-reply-after-12s", "no-elapsed-check", sim.I6},
		{"s28-holder-crash", "no-ttl", sim.I4},
		{"doc-validity-29198", "anchor-at-reply", sim.I1},
		{"doc-slow-client", "drift-added", sim.I2},
	} {
		v := tested(t, flaws(t, all[c.scenario], c.flaw))
		if !slices.Contains(v.Broken(), c.breaks) {
			t.Errorf("%s, with %s, breaks %v, want %v", c.scenario, c.flaw, v.Broken(), c.breaks)
		}
	}
}

// TestLeastTTL is the number of s19: with a TTL of 5.053 s waiting for a node
// that hangs for 5 s leaves something, with one of a millisecond less nothing.
func TestLeastTTL(t *testing.T) {
	t.Parallel()
	sc := catalogue(t)["s19-ctx-not-on-the-wire"]
	for ttl, want := range map[string]int{`"5.053s"`: 1, `"5.052s"`: 0} {
		v := tested(t, edited(t, sc, "lock.ttl", ttl, "until", `"15s"`))
		if early := slices.DeleteFunc(v.Leases, func(l sim.Lease) bool { return l.Granted > 5e9 }); len(early) != want {
			t.Errorf("ttl %s: %d leases at 5 s, want %d", ttl, len(early), want)
		}
	}
}

// TestDocumentsNumbers are what the source documents say of their own examples,
// beyond what breaks.
func TestDocumentsNumbers(t *testing.T) {
	t.Parallel()
	r := named(t, "doc-validity-29198")
	if l := r.verdict.Leases[0]; l.Granted != 500e6 || l.Deadline-l.Granted != 29_198e6 {
		t.Errorf("granted at %d, %d ns of validity remain", l.Granted, l.Deadline-l.Granted)
	}

	r = named(t, "doc-three-of-five")
	if released := releases(r); len(released) != 5 || r.verdict.Leases[0].Nodes != 3 {
		t.Errorf("granted by %d nodes, released on %v", r.verdict.Leases[0].Nodes, released)
	}

	r = named(t, "doc-reply-after-12s")
	refused := ""
	for _, e := range r.history.Events() {
		if e.Kind == sim.Refused {
			refused = r.history.Text(e.Note)
		}
	}
	if released := releases(r); len(released) != 3 || !strings.Contains(refused, redlock.ErrValidityExpired.Error()) {
		t.Errorf("refused with %q, released on %v", refused, released)
	}

	r = named(t, "doc-slow-client")
	if f := r.verdict.Leases[0].Required; f != 238_095_239 {
		t.Errorf("a factor of %v would have held, want 5/21", f)
	}

	r = named(t, "doc-heartbeat-paused")
	var lost []int64
	for _, e := range r.history.Events() {
		if e.Kind == sim.Lost {
			lost = append(lost, e.At)
		}
	}
	if !slices.Equal(lost, []int64{32e9}) || r.verdict.Leases[0].TrustEnds != 29_698e6 {
		t.Errorf("the loss is seen at %v, and trust ended at %d", lost, r.verdict.Leases[0].TrustEnds)
	}

	r = named(t, "doc-local-mutex-one-client")
	if !slices.Contains(r.verdict.Warnings, "one client: exclusion was never at stake") {
		t.Errorf("warnings: %v", r.verdict.Warnings)
	}
}

// releases are the nodes on which a release was carried out, by their first.
func releases(r ran) map[int16]time.Duration {
	at := map[int16]time.Duration{}
	for _, e := range r.history.Events() {
		if _, done := at[e.Node]; e.Kind == sim.Executed && e.Op == redlock.OpRelease && e.Client == 0 && !done {
			at[e.Node] = time.Duration(e.At)
		}
	}
	return at
}
