package tune

import (
	"math"
	"math/bits"
	"slices"

	"driftlock/clock"
	"driftlock/sim"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Curve is how likely a lease is broken, by drift factor. Like its batch it does
// not change once made.
type Curve struct {
	needs []sim.Factor // what each run needs, the most first
	runs  int
}

// beyond is what a run needs that no factor below 1 saves.
const beyond = sim.Factor(math.MaxInt64)

// Curve is that of the batch with a drift buffer. With bare, each lease is taken to
// have been granted by a bare quorum, that with the node whose key ended first.
func (b *Batch) Curve(buffer clock.Duration, bare bool) *Curve {
	c := &Curve{runs: len(b.Runs), needs: make([]sim.Factor, len(b.Runs))}
	for i := range b.Runs {
		c.needs[i] = b.need(&b.Runs[i], buffer, bare)
	}
	slices.SortFunc(c.needs, func(x, y sim.Factor) int {
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return c
}

// need is the least factor with which no lease of the run is broken.
func (b *Batch) need(r *Run, buffer clock.Duration, bare bool) sim.Factor {
	short := r.Short
	if bare {
		short = r.Bare
	}
	if short <= int64(buffer) { // also of none
		return 0
	}
	short -= int64(buffer)
	ttl := uint64(b.Plan.ttl())
	hi, lo := bits.Mul64(uint64(short), 1e9)
	lo, carry := bits.Add64(lo, ttl-1, 0)
	if hi+carry >= ttl {
		return beyond
	}
	q, _ := bits.Div64(hi+carry, lo, ttl)
	if q >= 1e9 {
		return beyond
	}
	return sim.Factor(q)
}

// Runs is how many the curve is made of.
func (c *Curve) Runs() int { return c.runs }

// Broken is how many runs break with a factor.
func (c *Curve) Broken(f sim.Factor) int {
	n, _ := slices.BinarySearchFunc(c.needs, f, func(need, f sim.Factor) int {
		if need > f {
			return -1
		}
		return 1
	})
	return n
}

// Most is the factor with which none of the runs breaks; ok is false if no factor
// below 1 is enough.
func (c *Curve) Most() (f sim.Factor, ok bool) { return c.Allowing(0) }

// Allowing is the least factor with which at most so many runs break.
func (c *Curve) Allowing(broken int) (f sim.Factor, ok bool) {
	if broken >= len(c.needs) {
		return 0, true
	}
	f = c.needs[broken]
	return f, f != beyond
}

// Below is the least factor of which the runs show, with that confidence, that a
// lease is broken no more often than target; ok is false if they are too few to show
// it, or no factor below 1 is enough. It is one of the needs, so its bound is exact:
// the tolerance limit of an order statistic has the same Beta law as the
// Clopper–Pearson bound.
func (c *Curve) Below(target, confidence float64) (f sim.Factor, ok bool) {
	if c.runs == 0 || Upper(0, c.runs, confidence) > target {
		return 0, false
	}
	low, high := 0, c.runs // Upper(low) <= target < Upper(high)
	for high-low > 1 {
		if mid := (low + high) / 2; Upper(mid, c.runs, confidence) <= target {
			low = mid
		} else {
			high = mid
		}
	}
	return c.Allowing(low)
}

// Upper is the one-sided Clopper–Pearson bound: with that confidence the probability
// of what happened k times in n is not more.
func Upper(k, n int, confidence float64) float64 {
	if k >= n {
		return 1
	}
	return distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(confidence)
}

// Bounds are the two-sided Clopper–Pearson bounds of what happened k times in n.
func Bounds(k, n int, confidence float64) (low, high float64) {
	half := (1 - confidence) / 2
	if k > 0 {
		low = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(half)
	}
	if n == 0 {
		return 0, 1
	}
	return low, Upper(k, n, 1-half)
}

// A Point is how often leases are broken with one factor.
type Point struct {
	Factor      float64 `json:"factor"`
	Broken      int     `json:"broken"`
	Probability float64 `json:"probability"`
	Low         float64 `json:"low"`  // Clopper–Pearson
	High        float64 `json:"high"` //
}

// At is the curve at one factor.
func (c *Curve) At(f sim.Factor, confidence float64) Point {
	k := c.Broken(f)
	p := Point{Factor: float64(f) / 1e9, Broken: k, Probability: float64(k) / float64(max(1, c.runs))}
	p.Low, p.High = Bounds(k, c.runs, confidence)
	return p
}

// Points is the curve at 0 and, evenly over the decades, at so many factors from low
// to high, both above 0.
func (c *Curve) Points(low, high float64, n int, confidence float64) []Point {
	points := []Point{c.At(0, confidence)}
	for i := range n {
		f := low * math.Pow(high/low, float64(i)/float64(n-1))
		points = append(points, c.At(sim.Factor(math.Round(f*1e9)), confidence))
	}
	return points
}
