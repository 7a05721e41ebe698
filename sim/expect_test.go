package sim

import (
	"strings"
	"testing"

	"driftlock/clock"
)

func TestMismatch(t *testing.T) {
	t.Parallel()
	margin := func(ns int64) *clock.Duration { d := clock.Duration(ns); return &d }
	held := Verdict{Leases: []Lease{{TrustEnds: 1, ExclusionEnds: 3}}}
	broke := Verdict{Leases: []Lease{{TrustEnds: 3, ExclusionEnds: 1}}, Violations: []Violation{{Invariant: I2}, {Invariant: I1}, {Invariant: I2}}}
	for _, c := range []struct {
		name string
		e    *Expect
		v    Verdict
		want string
	}{
		{"nothing said, held", nil, held, ""},
		{"nothing said, broke", nil, broke, "expected to hold, but it broke; I1 (mutex) broke and should not; I2 (sound) broke and should not"},
		{"as expected", &Expect{Breaks: []Invariant{I1, I2}, Margin: margin(-2)}, broke, ""},
		{"should break", &Expect{Breaks: []Invariant{I2}}, held, "expected to break, but it held; I2 (sound) should break and did not"},
		{"breaks one more", &Expect{Breaks: []Invariant{I2}}, broke, "I1 (mutex) broke and should not"},
		{"by one nanosecond", &Expect{OK: true, Margin: margin(1)}, held, "the margin should be 1ns and is 2ns"},
		{"gap", &Expect{Breaks: []Invariant{I1}, Gap: margin(-7)}, Verdict{Violations: []Violation{{Invariant: I1, Margin: -5}, {Invariant: I1, Margin: -7}}}, ""},
		{"gap by one nanosecond", &Expect{Breaks: []Invariant{I1}, Gap: margin(-6)}, Verdict{Violations: []Violation{{Invariant: I1, Margin: -7}}}, "the gap should be -6ns and is -7ns"},
		{"no gap", &Expect{Breaks: []Invariant{I2}, Gap: margin(-6)}, Verdict{Violations: []Violation{{Invariant: I2, Margin: -7}}}, "a gap of -6ns was expected, but no two leases overlap"},
		{"by one the other way", &Expect{OK: true, Margin: margin(3)}, held, "the margin should be 3ns and is 2ns"},
		{"no lease", &Expect{OK: true, Margin: margin(1)}, Verdict{}, "a margin of 1ns was expected, but no lease was granted"},
	} {
		if got := strings.Join(c.e.Mismatch(c.v), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
