package timeline

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"driftlock/clock"
	"driftlock/sim"
)

func seen(s string) string { return strings.ReplaceAll(s, hold, " ") }

func TestInstantsAreCutAndGrouped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ns       int64
		decimals int
		want     string
	}{
		{0, 3, "0.000"},
		{9_230_769_231, 9, "9.230 769 231"},
		{9_230_769_999, 6, "9.230 769"}, // cut: never past an instant that came before
		{-1_500_000_000, 3, "−1.500"},
		{math.MinInt64, 9, "−9223372036.854 775 808"},
	} {
		if got := seen(instant(c.ns, c.decimals)); got != c.want {
			t.Errorf("instant(%d, %d) = %q, want %q", c.ns, c.decimals, got, c.want)
		}
	}
	for ns, want := range map[int64]string{
		1_000_000_000: "1.000 s", 1_000_001_000: "1.000 001 s", 1_000_000_001: "1.000 000 001 s", never: "never",
	} {
		if got := seen(shortest(ns)); got != want {
			t.Errorf("shortest(%d) = %q, want %q", ns, got, want)
		}
	}
}

func TestLengthsAreRoundedInTheUnitThatSuits(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 ns", 999: "999 ns", 1000: "1 µs", 19_900: "19.9 µs", 667_230_769: "667.231 ms", -667_230_769: "667.231 ms",
		10 * time.Second: "10 s", 9_230_769_231: "9.231 s", 8_698 * time.Millisecond: "8.698 s", math.MinInt64: "9223372036.855 s",
	} {
		if got := seen(length(d)); got != want {
			t.Errorf("length(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestClocksAreToldByTheirDeviation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate         clock.Rate
		label, words string
	}{
		{clock.Rate{}, "", "right"},
		{clock.Ratio(13, 12), "+83,333 ppm", "83,333 ppm (8.3 %) fast"},
		{clock.Ratio(198, 199), "−5,025 ppm", "5,025 ppm (0.50 %) slow"},
		{(200 * clock.PPM).Rate(), "+200 ppm", "200 ppm fast"},
		{(1 * clock.PPB).Rate(), "+1ppb", "less than 1 ppm fast"},
		{clock.Ratio(2, 1), "+1,000,000 ppm", "1,000,000 ppm (100.0 %) fast"},
		{clock.Ratio(16, 21), "−238,095 ppm", "238,095 ppm (23.8 %) slow"},
	} {
		d := deviationOf(c.rate)
		if got := seen(d.label()); got != c.label {
			t.Errorf("label of %v = %q, want %q", c.rate, got, c.label)
		}
		if got := seen(d.words()); got != c.words {
			t.Errorf("words of %v = %q, want %q", c.rate, got, c.words)
		}
	}
}

func five() (nodes []sim.Node) {
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		nodes = append(nodes, sim.Node{Name: name})
	}
	return nodes
}

// The factor that one pastes must hold: it is never below the one needed.
func TestNeededFactorIsRoundedUp(t *testing.T) {
	t.Parallel()
	for exact, want := range map[sim.Factor]string{
		76_723_077: "0.0768", 9_950_249: "0.00996", 9_950_000: "0.00995", 999_999_999: "1", 100: "0.0000001", 100_000_001: "0.101",
	} {
		paste := Needed(sim.Verdict{Leases: []sim.Lease{
			{TrustEnds: 2, ExclusionEnds: 1, Required: exact / 2},
			{TrustEnds: 2, ExclusionEnds: 1, Required: exact},
			{TrustEnds: 1, ExclusionEnds: 2, Required: 2 * exact}, // held: needs nothing
		}})
		if got := decimal(paste); got != want || paste < exact {
			t.Errorf("for %v one would paste %s (%d), want %s", exact, got, paste, want)
		}
	}
}

func TestNodesAreNamedInRanges(t *testing.T) {
	t.Parallel()
	c := castOf(sim.Scenario{Nodes: five()})
	for want, which := range map[string][]int{"": nil, "A": {0}, "A, B": {0, 1}, "A–C": {0, 1, 2}, "A–C, E": {0, 1, 2, 4}, "A, C–E": {0, 2, 3, 4}} {
		if got := c.nodes(which); got != want {
			t.Errorf("nodes %v are %q, want %q", which, got, want)
		}
	}
	for want, list := range map[string]string{
		"A, C, D": "A C D", "A–C, E": "A B C E", "n1–n3, n5": "n1 n2 n3 n5", "n9–n11": "n9 n10 n11", "r08–r10": "r08 r09 r10",
		"eu, us, ap": "eu us ap", "C, B, A": "C B A", "eu-a–eu-c": "eu-a eu-b eu-c", "Y, Z, A": "Y Z A", "A, A1, A2": "A A1 A2", "7, 8": "7 8",
	} {
		var c cast
		for _, name := range strings.Fields(list) {
			c.Nodes = append(c.Nodes, sim.Node{Name: name})
		}
		if got := c.nodes(all(len(c.Nodes))); got != want {
			t.Errorf("the nodes %s are %q, want %q", list, got, want)
		}
	}
	if c.quorum != 3 || c.needed != 3 {
		t.Errorf("of five nodes %d and %d are needed", c.quorum, c.needed)
	}
	if c := castOf(sim.Scenario{Nodes: five()[:4]}); c.quorum != 3 || c.needed != 2 {
		t.Errorf("of four nodes %d make a lock, %d must block; want 3 and 2", c.quorum, c.needed)
	}
}

func TestWrapKeepsWordsAndWidth(t *testing.T) {
	t.Parallel()
	text := "one two  three " + "9.230" + hold + "769 " + strings.Repeat("x", 30) + " end"
	lines := wrap(text, 12)
	if got, want := strings.Join(lines, "|"), "one two|three|9.230"+hold+"769|"+strings.Repeat("x", 30)+"|end"; got != want {
		t.Errorf("wrapped to %q, want %q", got, want)
	}
	for _, l := range wrap(strings.Repeat("words and ", 50), 44) {
		if utf8.RuneCountInString(l) > 44 {
			t.Errorf("%q is wider than 44", l)
		}
	}
}

// A hair's breadth must still be seen: the axis then shows only the end.
func TestTheGapIsAlwaysVisible(t *testing.T) {
	t.Parallel()
	for _, margin := range []int64{1, 7, 1000, 19_900, 1e6, 667e6, 8e9} {
		trust, exclusion := span{0, 9_950_000_000}, span{0, 9_950_000_000 - margin}
		gap := span{exclusion.to, trust.to}
		a := axisOver([]span{trust, exclusion}, gap)
		bar := a.bar(Style{}, []span{trust}, gap, good)
		if !strings.Contains(bar, "!") || !strings.Contains(bar, "█") {
			t.Errorf("a gap of %d ns is drawn as %q", margin, bar)
		}
		if n := utf8.RuneCountInString(bar); n != barWidth {
			t.Errorf("the bar is %d wide", n)
		}
		if below := a.bar(Style{}, []span{exclusion}, span{}, strong); below == strings.ReplaceAll(bar, "!", "█") {
			t.Errorf("a gap of %d ns: both bars end together", margin)
		}
	}
}
