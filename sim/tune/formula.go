package tune

// The closed form of docs/drift-math.md, for clocks that keep to bounds:
//
//	f_min = 1 − (rc⁻/rn⁺)·(1 − (g+J)/T) − b/T
//
// A slew that corrects at most O changes a clock by no more than O during a lease:
// where that is less than its rate would do, it counts like a step. One without a bound
// counts as a rate.

import (
	"math"
	"slices"

	"driftlock/clock"
	"driftlock/sim/node"
)

// gone is g: how much less than its TTL a key may live on its node's clock.
func (p *Plan) gone() clock.Duration {
	if p.Expiry == node.Strict {
		return 0
	}
	return 1e6
}

// Closed is the drift factor that no lease of the plan needs more than, for its TTL
// and buffer, whatever its clocks do within their bounds: at least 0. Slack is how
// many more nodes than a bare quorum grant; so many of the fastest then do not count.
func (p Plan) Closed(slack int) float64 {
	p = p.Filled()
	return max(0, p.closed(slack))
}

// closed is Closed, below 0 where the buffer covers more than is needed.
func (p *Plan) closed(slack int) float64 {
	ttl := float64(p.ttl())
	var ends []float64
	for _, m := range p.machines() {
		ends = append(ends, m.soonest(ttl-float64(p.gone())))
	}
	slices.Sort(ends)
	return 1 - p.Client.least(ends[min(max(slack, 0), len(ends)-1)])/ttl - float64(p.Buffer)/ttl
}

// Unbounded is Closed, were there no bound to what a slew corrects.
func (p Plan) Unbounded(slack int) float64 { return p.Filled().WithSlewsOf(0).Closed(slack) }

// WithSlewsOf is the plan with slews that correct so much at most, or, with 0, whatever
// there is. Clocks that do not slew stay as they are.
func (p Plan) WithSlewsOf(most clock.Duration) Plan {
	bounded := func(m Machine) Machine {
		if m.Slew.Rate > 0 {
			m.Slew.Max = most
			if most > 0 {
				m.Slew.Min = min(m.Slew.Min, most)
			}
		}
		return m
	}
	p.Client = bounded(p.Client)
	p.NodeClocks = slices.Clone(p.NodeClocks)
	for i := range p.NodeClocks {
		p.NodeClocks[i] = bounded(p.NodeClocks[i])
	}
	return p
}

// corrects is the least bound that a machine has to what its slews correct; 0: none has
// one.
func (p *Plan) corrects() (bound clock.Duration) {
	for _, m := range append([]Machine{p.Client}, p.machines()...) {
		if s := m.Slew; s.Rate > 0 && s.Max > 0 && (bound == 0 || s.Max < bound) {
			bound = s.Max
		}
	}
	return bound
}

// Rates is the drift factor that covers the rates of the clocks whatever the TTL,
// where the buffer covers what does not grow with it: rounding and steps.
func (p Plan) Rates() float64 {
	p = p.Filled()
	fast := 0.0
	for _, m := range p.machines() {
		fast = max(fast, float64(m.Rate.High+m.Slew.Rate)/1e9)
	}
	return max(0, 1-(1+float64(p.Client.Rate.Low-p.Client.Slew.Rate)/1e9)/(1+fast))
}

// Covered says that the buffer covers rounding and steps, so that Rates is enough.
func (p Plan) Covered() bool {
	p = p.Filled()
	for _, m := range p.machines() {
		if m.Step.Share > 0 && m.Step.Max+p.gone() > p.Buffer {
			return false
		}
	}
	return p.gone() <= p.Buffer
}

// soonest is the least true time in which a node's clock can count so much.
func (m Machine) soonest(counts float64) float64 {
	if m.Step.Share > 0 {
		counts -= float64(m.Step.Max)
	}
	steady, slew := 1+float64(m.Rate.High)/1e9, float64(m.Slew.Rate)/1e9
	took := counts / (steady + slew)
	if slew > 0 && m.Slew.Max > 0 {
		took = max(took, (counts-float64(m.Slew.Max))/steady)
	}
	return max(0, took)
}

// least is the least that a client's clock can count in so much true time.
func (m Machine) least(took float64) float64 {
	steady, slew := 1+float64(m.Rate.Low)/1e9, float64(m.Slew.Rate)/1e9
	counts := took * (steady - slew)
	if slew > 0 && m.Slew.Max > 0 {
		counts = max(counts, took*steady-float64(m.Slew.Max))
	}
	return max(0, counts)
}

// RoundUp is a factor with two digits, not below f: what one would write down. It
// is a whole number of parts per billion.
func RoundUp(f float64) float64 {
	if f <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(f))-1)
	unit = max(unit, 1e-9)
	n := math.Ceil(f/unit - 1e-9)
	return math.Round(n*unit*1e9) / 1e9
}
