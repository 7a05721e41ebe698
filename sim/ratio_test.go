package sim

import (
	"math"
	"testing"

	"driftlock/clock"

	"pgregory.net/rapid"
)

// timed holds a clock of that rate, which takes no division, to package clock.
func timed(t rapid.TB, rate clock.Rate, d int64) {
	l := line{spans: []span{newSpan(0, 0, rate, false)}}
	if got, want := l.spans[0].at(d), rate.Elapsed(d); got != want {
		t.Fatalf("%v has counted %d after %d, want %d", rate, got, d, want)
	}
	if got, want := l.reach(0, d), max(0, rate.Reached(d)); got != want {
		t.Fatalf("%v has counted %d after %d, want %d", rate, d, got, want)
	}
}

func TestRatio(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 62).Draw(t, "size")
		most := rapid.SampledFrom([]int64{3, 2e9, math.MaxInt64}).Draw(t, "most")
		num, den := rapid.Int64Range(1, most).Draw(t, "num"), rapid.Int64Range(1, most).Draw(t, "den")
		rate := clock.Ratio(num, den)
		for _, d := range rapid.SliceOfN(rapid.Int64Range(-1, 1<<size), 1, 20).Draw(t, "times") {
			timed(t, rate, d)
		}
		// Multiples of whole nanoseconds, where a cut ratio is a little too low.
		num, den = rate.Fraction()
		for _, whole := range []int64{num, den} {
			n := rapid.Int64Range(0, math.MaxInt64/whole).Draw(t, "multiple") >> rapid.IntRange(0, 62).Draw(t, "smaller")
			for off := int64(-1); off <= 1; off++ {
				timed(t, rate, n*whole+off)
			}
		}
	})
}

// TestRatioOfLongTimes: near the longest time that it takes, what is cut off a ratio
// often counts.
func TestRatioOfLongTimes(t *testing.T) {
	t.Parallel()
	for _, rate := range []clock.Rate{clock.Ratio(1, 1), clock.Ratio(7, 1), clock.Ratio(1, 7), clock.Ratio(199, 200), clock.Ratio(1_000_000_007, 999_999_937)} {
		num, den := rate.Fraction()
		for i := range int64(1000) {
			for _, d := range []int64{math.MaxInt64, math.MaxInt64 / num, math.MaxInt64 / den, rate.Elapsed(math.MaxInt64), rate.Reached(math.MaxInt64)} {
				timed(t, rate, d-i)
				timed(t, rate, d/3-i)
			}
		}
	}
}
