package sim

import (
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/sim/node"

	"pgregory.net/rapid"
)

// drawFaults draws faults of one machine within a second.
func drawFaults(t *rapid.T, kinds ...string) []Fault {
	n := rapid.IntRange(0, 6).Draw(t, "faults")
	faults := make([]Fault, n)
	for i := range faults {
		faults[i] = Fault{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), On: "m",
			At:   clock.Duration(rapid.Int64Range(0, 1000).Draw(t, "at")),
			For:  clock.Duration(rapid.Int64Range(0, 500).Draw(t, "for")),
			By:   clock.Duration(rapid.Int64Range(-300, 300).Draw(t, "by")),
			Rate: clock.Ratio(rapid.Int64Range(1, 9).Draw(t, "num"), rapid.Int64Range(1, 9).Draw(t, "den")),
		}
	}
	return faults
}

// drawLines draws a machine with faults, and returns its clocks.
func drawLines(t *rapid.T) []*line {
	var m machine
	m.set(Clock{Rate: clock.Ratio(rapid.Int64Range(1, 9).Draw(t, "num"), rapid.Int64Range(1, 9).Draw(t, "den")), Offset: 7},
		drawFaults(t, "step", "rate", "freeze", "suspend"), "m", nil)
	return []*line{&m.wall, &m.mono, &m.boot}
}

// TestReachIsTheFirstInstant compares the solved instant with a search, true
// nanosecond by true nanosecond.
func TestReachIsTheFirstInstant(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, l := range drawLines(t) {
			from := rapid.Int64Range(0, 1200).Draw(t, "from")
			want := rapid.Int64Range(0, 2000).Draw(t, "reading")
			got := l.reach(from, want)
			if got < from {
				t.Fatalf("reach(%d, %d) = %d, before from", from, want, got)
			}
			for at := from; at < min(got, 20_000); at++ {
				if l.at(at) >= want {
					t.Fatalf("reach(%d, %d) = %d, but at %d the clock reads %d; %+v", from, want, got, at, l.at(at), l.spans)
				}
			}
			if got != never && l.at(got) < want {
				t.Fatalf("reach(%d, %d) = %d, where the clock reads %d", from, want, got, l.at(got))
			}
		}
	})
}

// TestDialReadsTheLine: what a dial keeps from one reading to the next is never wrong.
func TestDialReadsTheLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, l := range drawLines(t) {
			d := l.dial()
			for _, at := range rapid.SliceOfN(rapid.Int64Range(0, 1500), 1, 30).Draw(t, "times") {
				if got, want := d.at(at), l.at(at); got != want {
					t.Fatalf("at %d the dial reads %d, the line %d; %+v", at, got, want, l.spans)
				}
			}
		}
	})
}

func TestClocksUnderFaults(t *testing.T) {
	t.Parallel()
	s := func(d time.Duration) clock.Duration { return clock.Duration(d) }
	faults := []Fault{
		{Kind: "step", On: "m", At: s(10 * time.Second), By: s(-time.Second)},
		{Kind: "rate", On: "m", At: s(20 * time.Second), For: s(12 * time.Second), Rate: clock.Ratio(13, 12)},
		{Kind: "suspend", On: "m", At: s(40 * time.Second), For: s(5 * time.Second)},
		{Kind: "freeze", On: "m", At: s(60 * time.Second), For: s(10 * time.Second)},
		{Kind: "step", On: "other", At: s(1 * time.Second), By: s(time.Hour)},
	}
	var m machine
	m.set(Clock{}, faults, "m", nil)
	for _, c := range []struct {
		at               time.Duration
		wall, mono, boot time.Duration
	}{
		{9 * time.Second, 9 * time.Second, 9 * time.Second, 9 * time.Second},
		{10 * time.Second, 9 * time.Second, 10 * time.Second, 10 * time.Second},
		{32 * time.Second, 32 * time.Second, 33 * time.Second, 33 * time.Second},
		{42 * time.Second, 42 * time.Second, 41 * time.Second, 43 * time.Second},
		{50 * time.Second, 50 * time.Second, 46 * time.Second, 51 * time.Second},
		{65 * time.Second, 60 * time.Second, 61 * time.Second, 66 * time.Second},
		{75 * time.Second, 65 * time.Second, 71 * time.Second, 76 * time.Second},
	} {
		if w, mo, b := m.wall.at(int64(c.at)), m.mono.at(int64(c.at)), m.boot.at(int64(c.at)); w != int64(c.wall) || mo != int64(c.mono) || b != int64(c.boot) {
			t.Errorf("at %v: wall %v mono %v boot %v, want %v %v %v", c.at, time.Duration(w), time.Duration(mo), time.Duration(b), c.wall, c.mono, c.boot)
		}
	}
	if at := past(m.away, int64(42*time.Second)); at != int64(45*time.Second) {
		t.Errorf("awake at %v, want 45s", time.Duration(at))
	}
}

// A quarantine counts from the crash, on the boot clock, which a step of the
// wall clock does not move.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	var m machine
	m.set(Clock{Rate: clock.Ratio(2, 1)}, []Fault{
		{Kind: "crash", On: "m", At: 1000, For: 100},
		{Kind: "step", On: "m", At: 1050, By: 5000},
	}, "m", &node.Config{Quarantine: 1000})
	if at := m.serves(1000); at != 1500 {
		t.Errorf("serves again at %d, want 1500: 1,000 ns of a clock that runs twice as fast", at)
	}
}

// TestReachAtAStepBack: what a clock would have read when it is set back it reads later.
func TestReachAtAStepBack(t *testing.T) {
	t.Parallel()
	var m machine
	m.set(Clock{}, []Fault{{Kind: "step", On: "m", At: 1000, By: -300}}, "m", nil)
	if at := m.wall.reach(0, 1000); at != 1300 {
		t.Errorf("reaches 1000 at %d, want 1300", at)
	}
}

// TestReachBeyondInt64: a clock that starts below 0 has further to go than int64
// can tell, and has not been there all along.
func TestReachBeyondInt64(t *testing.T) {
	t.Parallel()
	var m machine
	m.set(Clock{Offset: -3600 * sec}, nil, "m", nil)
	for _, reading := range []int64{never, never - 1, never - 3599e9} {
		if at := m.wall.reach(5, reading); at != never {
			t.Errorf("reach(5, %d) = %d", reading, at)
		}
	}
}
