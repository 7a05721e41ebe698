package measure

// Where a clock jumped. Around each gap between two samples a line goes through the
// few before and another through the few after; where they miss each other there was
// a step. Both have slopes of their own, so that a clock that is only fast is not taken
// for one that steps; nor is one that begins to slew, which a line that bends explains
// as well.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"driftlock/clock"

	"gonum.org/v1/gonum/mat"
)

const (
	beside    = 5                    // samples on each side of a gap
	leastStep = 4 * time.Millisecond // that is told from noise
)

// findSteps returns the steps of a clock, each in the middle of the gap in which it
// must have been.
func findSteps(samples []Sample) (steps []Step) {
	best := quickest(samples)
	type jump struct {
		i     int
		by    float64
		worth float64 // how far beyond what it takes
	}
	var jumps []jump
	for i := beside; i+beside <= len(best); i++ {
		by, noise := miss(best[i-beside:i], best[i:i+beside])
		worth := math.Abs(by) / max(float64(leastStep), 6*noise)
		if worth >= 1 && !bends(best[i-beside:i+beside]) {
			jumps = append(jumps, jump{i, by, worth})
		}
	}
	// The nearest gaps see the same step: the best of them is it.
	slices.SortFunc(jumps, func(a, b jump) int { return cmp.Compare(b.worth, a.worth) })
	var taken []jump
	for _, j := range jumps {
		if !slices.ContainsFunc(taken, func(o jump) bool { return o.i-2*beside < j.i && j.i < o.i+2*beside }) {
			taken = append(taken, j)
		}
	}
	slices.SortFunc(taken, func(a, b jump) int { return cmp.Compare(a.i, b.i) })
	for _, j := range taken {
		at := (best[j.i-1].at() + best[j.i].at()) / 2
		steps = append(steps, Step{At: clock.Duration(at), By: clock.Duration(math.Round(j.by))})
	}
	return steps
}

// bends says that the samples, which are those beside a gap, are explained as well by
// a clock that begins or ends to slew somewhere among them, without a step.
func bends(samples []Sample) bool {
	jump := off(samples[:beside], nil) + off(samples[beside:], nil)
	least := math.Inf(1)
	for i := 1; i+1 < len(samples); i++ {
		for _, part := range []float64{0, 0.5} {
			at := samples[i].at() + part*(samples[i+1].at()-samples[i].at())
			least = min(least, off(samples, &at))
		}
	}
	return least < 6*(jump+1e7)
}

// off is the sum of the squares by which samples are off a line, which may bend at an
// instant.
func off(samples []Sample, bend *float64) float64 {
	k, n := 2, len(samples)
	if bend != nil {
		k = 3
	}
	x, y := mat.NewDense(n, k, nil), mat.NewVecDense(n, nil)
	for i, s := range samples {
		x.Set(i, 0, 1)
		x.Set(i, 1, (s.at()-samples[0].at())/1e9)
		if bend != nil {
			x.Set(i, 2, max(0, s.at()-*bend)/1e9)
		}
		y.SetVec(i, s.offset()-samples[0].offset())
	}
	var coef, rest mat.VecDense
	if err := coef.SolveVec(x, y); err != nil { // they are all at one instant
		return math.Inf(1)
	}
	rest.MulVec(x, &coef)
	rest.SubVec(y, &rest)
	return mat.Dot(&rest, &rest)
}

// quickest leaves out the samples that say little: those whose round trip is far longer
// than those around them.
func quickest(samples []Sample) (list []Sample) {
	const around = 8
	for i, s := range samples {
		least := s.trip()
		for _, o := range samples[max(0, i-around):min(len(samples), i+around+1)] {
			least = min(least, o.trip())
		}
		if s.trip() <= 3*least+200*time.Microsecond {
			list = append(list, s)
		}
	}
	return list
}

// miss is by how much the line through the samples after a gap is above the one through
// those before, in its middle, and how much of that may be noise.
func miss(before, after []Sample) (by, noise float64) {
	middle := (before[len(before)-1].at() + after[0].at()) / 2
	y1, n1 := extended(before, middle)
	y2, n2 := extended(after, middle)
	return y2 - y1, math.Hypot(n1, n2)
}

// extended is where the line through the samples is at an instant, and its standard
// deviation there; a microsecond is in every sample.
func extended(samples []Sample, at float64) (y, sd float64) {
	n := float64(len(samples))
	var mt, my, stt, sty, rest float64
	for _, s := range samples {
		mt, my = mt+s.at()/n, my+s.offset()/n
	}
	for _, s := range samples {
		stt += (s.at() - mt) * (s.at() - mt)
		sty += (s.at() - mt) * (s.offset() - my)
	}
	slope := 0.0
	if stt > 0 {
		slope = sty / stt
	}
	for _, s := range samples {
		e := s.offset() - my - slope*(s.at()-mt)
		rest += e * e
	}
	sd = math.Sqrt(rest/(n-2) + 1e6)
	if stt > 0 {
		return my + slope*(at-mt), sd * math.Sqrt(1/n+(at-mt)*(at-mt)/stt)
	}
	return my, sd
}

// slew is the rate, in ppm, of the stretch of a clock that is furthest from its rate
// over all, if that is certain; else 0.
func slew(samples []Sample, steps []Step, all Interval) float64 {
	const stretch, far = 5 * time.Second, 50.0 // ppm
	found, furthest := 0.0, far
	for from := 0; from < len(samples); {
		to := from
		for to < len(samples) && samples[to].Sent-samples[from].Sent < stretch {
			to++
		}
		part := samples[from:to]
		var within []Step
		for _, s := range steps {
			if float64(s.At) > part[0].at() && float64(s.At) < part[len(part)-1].at() {
				within = append(within, s)
			}
		}
		if l, ok := fit(part, within); ok && len(part) >= 4*fewest && part[len(part)-1].Sent-part[0].Sent > stretch/2 {
			r := l.rate(1e6)
			apart := max(r.Low-all.High, all.Low-r.High) // certainly so far
			if apart > furthest {
				furthest, found = apart, r.Value
			}
		}
		from = to
	}
	return found
}

// round is a duration for people.
func round(d clock.Duration) string {
	switch t := time.Duration(d); {
	case max(t, -t) >= 10*time.Second:
		return t.Round(time.Second).String()
	case max(t, -t) >= time.Second:
		return t.Round(100 * time.Millisecond).String()
	case max(t, -t) >= 10*time.Millisecond:
		return t.Round(time.Millisecond).String()
	default:
		return t.Round(10 * time.Microsecond).String()
	}
}
