package measure

// From samples to a rate. A sample says that the server's clock read T somewhere
// between two readings of ours, s and r; half of the way there and back is the best
// guess, wrong by at most half of the round trip. Round trips that take long are
// wrong by more, so they weigh less, and the slower half of each second not at all.
// Through the rest goes a line by weighted least squares, with a jump at each step
// that was found. Its slope is the rate. How sure that is comes from how far the
// samples are off the line, whatever their spread (the sandwich estimator of White
// 1980, in the form HC3), and Student's law.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"driftlock/clock"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Sample is one answer of a server: its clock read Server between Sent and Heard of
// ours. All are counted from a begin of their own.
type Sample struct {
	Sent, Heard time.Duration
	Server      time.Duration // in whole microseconds, rounded down, as TIME answers
}

// at is when the server read its clock, as near as we know.
func (s Sample) at() float64 { return float64(s.Sent+s.Heard) / 2 }

// offset is by how much the server was ahead then.
func (s Sample) offset() float64 { return float64(s.Server) + 500 - s.at() }

func (s Sample) trip() time.Duration { return s.Heard - s.Sent }

// Confidence is that of every interval.
const Confidence = 0.99

// fewest samples make an estimate.
const fewest = 8

// Estimate measures a clock by its samples, which are in their order. It is about the
// clock alone: Name and what else is known of the server is not set. Ok is false if
// they are too few to tell anything.
func Estimate(samples []Sample) (s Server, ok bool) {
	s.Samples = len(samples)
	if len(samples) < fewest {
		return s, false
	}
	s.Trip = clock.Duration(slices.MinFunc(samples, func(a, b Sample) int { return cmp.Compare(a.trip(), b.trip()) }).trip())
	s.Frozen = frozen(samples)
	if s.Frozen > 0 { // a line through that means nothing
		s.Warnings = append(s.Warnings, "its clock stood still for "+round(s.Frozen))
	}
	kept := quick(samples)
	s.Steps = findSteps(samples)
	f, ok := fit(kept, s.Steps)
	if !ok {
		return s, false
	}
	s.Rate = f.rate(1e6)
	s.Offset, s.OffsetErr = f.end(kept)
	s.Slew = slew(kept, s.Steps, s.Rate)
	return s, true
}

// bucket is how long samples compete for being the quick half.
const bucket = time.Second

// quick is the samples with the shorter round trips, half of those of each second.
func quick(samples []Sample) (kept []Sample) {
	for i := 0; i < len(samples); {
		j := i
		for j < len(samples) && samples[j].Sent-samples[i].Sent < bucket {
			j++
		}
		trips := make([]time.Duration, 0, j-i)
		for _, s := range samples[i:j] {
			trips = append(trips, s.trip())
		}
		slices.Sort(trips)
		limit := trips[len(trips)/2]
		for _, s := range samples[i:j] {
			if s.trip() <= limit {
				kept = append(kept, s)
			}
		}
		i = j
	}
	return kept
}

// line is a fit: offset = coef[0] + coef[1]·(t − middle) + the jumps so far.
type line struct {
	coef   []float64
	sd     []float64 // of each coefficient
	middle float64
	times  float64 // how many standard deviations the interval goes to each side
}

// fit lays the line with its jumps through the samples.
func fit(samples []Sample, steps []Step) (line, bool) {
	n, k := len(samples), 2+len(steps)
	if n < k+3 {
		return line{}, false
	}
	least := slices.MinFunc(samples, func(a, b Sample) int { return cmp.Compare(a.trip(), b.trip()) }).trip()
	mean := 0.0
	for _, s := range samples {
		mean += float64(s.trip()-least) / float64(n)
	}
	floor := 1000 + mean/4 // ns: what even the quickest may be wrong by
	l := line{}
	for _, s := range samples {
		l.middle += s.at() / float64(n)
	}
	const unit = 1e9 // seconds keep the matrix tame
	x, y, w := mat.NewDense(n, k, nil), mat.NewVecDense(n, nil), make([]float64, n)
	for i, s := range samples {
		x.Set(i, 0, 1)
		x.Set(i, 1, (s.at()-l.middle)/unit)
		for j, step := range steps {
			if s.at() > float64(step.At) {
				x.Set(i, 2+j, 1)
			}
		}
		y.SetVec(i, s.offset()-samples[0].offset())
		off := float64(s.trip()-least) / 2
		w[i] = 1 / (floor*floor + off*off/3)
	}
	var wx, normal, inverse mat.Dense
	wx.Apply(func(i, _ int, v float64) float64 { return v * w[i] }, x)
	normal.Mul(wx.T(), x)
	if err := inverse.Inverse(&normal); err != nil {
		return line{}, false
	}
	var right, coef, errors mat.VecDense
	right.MulVec(wx.T(), y)
	coef.MulVec(&inverse, &right)
	errors.MulVec(x, &coef)
	// The sandwich: inverse · Σ wᵢ²·eᵢ²/(1−hᵢ)²·xᵢxᵢᵀ · inverse.
	var half, middle, cover mat.Dense
	half.Mul(x, &inverse)
	meat := mat.NewDense(n, k, nil)
	for i := range n {
		h := 0.0
		for j := range k {
			h += half.At(i, j) * x.At(i, j) * w[i]
		}
		e := (y.AtVec(i) - errors.AtVec(i)) / max(1-h, 0.1) * w[i]
		for j := range k {
			meat.Set(i, j, x.At(i, j)*e)
		}
	}
	middle.Mul(meat.T(), meat)
	cover.Mul(&inverse, &middle)
	cover.Mul(&cover, &inverse)
	for j := range k {
		c, sd := coef.AtVec(j), math.Sqrt(max(0, cover.At(j, j)))
		if j == 1 {
			c, sd = c/unit, sd/unit
		}
		l.coef, l.sd = append(l.coef, c), append(l.sd, sd)
	}
	l.coef[0] += samples[0].offset()
	l.times = distuv.StudentsT{Sigma: 1, Nu: float64(n - k)}.Quantile(0.5 + Confidence/2)
	return l, true
}

// rate is the slope, times a unit.
func (l *line) rate(unit float64) Interval {
	// The slope is against our clock. A microsecond is the least that an answer tells.
	v, d := l.coef[1]*unit, l.sd[1]*l.times*unit
	return Interval{Value: v, Low: v - d, High: v + d}
}

// end is the offset at the last sample, and by how much that may be wrong: half of the
// shortest round trip is never known.
func (l *line) end(samples []Sample) (offset, wrong clock.Duration) {
	last := samples[len(samples)-1]
	at := l.coef[0] + l.coef[1]*(last.at()-l.middle)
	for _, jump := range l.coef[2:] {
		at += jump
	}
	least := last.trip()
	for _, s := range samples {
		least = min(least, s.trip())
	}
	return clock.Duration(math.Round(at)), clock.Duration(l.times*l.sd[0]) + clock.Duration(least)/2 + 1000
}

// frozen is the longest that the server's clock stood still, if that is more than it
// may between two looks.
func frozen(samples []Sample) clock.Duration {
	longest, from := time.Duration(0), 0
	for i := range samples {
		if samples[i].Server != samples[from].Server {
			from = i
		}
		longest = max(longest, samples[i].Sent-samples[from].Heard) // certainly so long
	}
	if longest < still {
		return 0
	}
	return clock.Duration(longest)
}

const still = 20 * time.Millisecond
