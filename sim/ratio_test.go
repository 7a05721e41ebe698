package sim

import (
	"math"
	"testing"

	"driftlock/clock"

	"pgregory.net/rapid"
)

// TestRatio holds the fraction without a division to the rates of package clock.
func TestRatio(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 62).Draw(t, "size")
		most := rapid.SampledFrom([]int64{3, 2e9, math.MaxInt64}).Draw(t, "most")
		rate := clock.Ratio(rapid.Int64Range(1, most).Draw(t, "num"), rapid.Int64Range(1, most).Draw(t, "den"))
		s := newSpan(0, 0, rate, false)
		for _, d := range rapid.SliceOfN(rapid.Int64Range(-1, 1<<size), 1, 20).Draw(t, "times") {
			if got, want := s.at(d), rate.Elapsed(d); got != want {
				t.Fatalf("%v has counted %d after %d, want %d", rate, got, d, want)
			}
			if got, want := s.reached(d), rate.Reached(d); got != want {
				t.Fatalf("%v has counted %d after %d, want %d", rate, d, got, want)
			}
		}
	})
}

// TestRatioOfLongTimes: near the longest time that it takes, what an inverse gives is
// often 1 too high.
func TestRatioOfLongTimes(t *testing.T) {
	t.Parallel()
	for _, rate := range []clock.Rate{clock.Ratio(1, 1), clock.Ratio(7, 1), clock.Ratio(1, 7), clock.Ratio(199, 200), clock.Ratio(1_000_000_007, 999_999_937)} {
		num, den := rate.Fraction()
		s := newSpan(0, 0, rate, false)
		for i := range int64(1000) {
			for _, d := range []int64{math.MaxInt64/num - i, math.MaxInt64/den - i, math.MaxInt64/3/num - i, math.MaxInt64/3/den - i} {
				if got, want := s.at(d), rate.Elapsed(d); got != want {
					t.Fatalf("%v has counted %d after %d, want %d", rate, got, d, want)
				}
				if got, want := s.reached(d), rate.Reached(d); got != want {
					t.Fatalf("%v has counted %d after %d, want %d", rate, d, got, want)
				}
			}
		}
	}
}
