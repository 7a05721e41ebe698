package tune

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/spell"
)

// A Parameter is what a sweep changes.
type Parameter string

// The parameters of a sweep.
const (
	OfFactor  Parameter = "factor"  // drift factor
	OfDrift   Parameter = "drift"   // rates within ± so much, clients and nodes
	OfTTL     Parameter = "ttl"     //
	OfNodes   Parameter = "nodes"   //
	OfLoss    Parameter = "loss"    // share of the messages
	OfDelay   Parameter = "delay"   // of a message, in the mean, exponential
	OfBuffer  Parameter = "buffer"  // drift buffer
	OfTimeout Parameter = "timeout" // node timeout
	OfRenew   Parameter = "renew"   // renew interval, of a hold that is watched
	OfDown    Parameter = "down"    // nodes out of reach
)

// An Axis is the values that a sweep gives to a parameter: durations in seconds,
// drift as a share (0.0002 is 200 ppm), the others as they are.
type Axis struct {
	Of     Parameter `json:"of"`
	Values []float64 `json:"values"`
}

// parameters are the ranges that a parameter has if none is asked for.
var parameters = []struct {
	of        Parameter
	low, high float64
	n         int
	even      bool // evenly, and not over the decades
}{
	{OfFactor, 0.0001, 0.1, 10, false},
	{OfDrift, 1e-5, 0.1, 9, false},
	{OfTTL, 0.1, 100, 7, false},
	{OfNodes, 1, 9, 5, true},
	{OfLoss, 0, 0.4, 9, true},
	{OfDelay, 0.0001, 1, 9, false},
	{OfBuffer, 0.001, 1, 7, false},
	{OfTimeout, 0.001, 1, 7, false},
	{OfRenew, 0.1, 10, 7, false},
	{OfDown, 0, 2, 3, true},
}

// ParseAxis reads "drift", "drift=10ppm..1/12" or, with how many values, "ttl=1s..1m:5".
func ParseAxis(s string) (Axis, error) {
	name, span, given := strings.Cut(s, "=")
	var names []string
	for _, p := range parameters {
		if names = append(names, string(p.of)); string(p.of) != name {
			continue
		}
		low, high, n := p.low, p.high, p.n
		if given {
			from, to, ok := strings.Cut(span, "..")
			to, count, counted := strings.Cut(to, ":")
			var err error
			if counted {
				n, err = strconv.Atoi(count)
				ok = ok && err == nil && n >= 2 && n <= 50
			}
			if !ok {
				return Axis{}, fmt.Errorf("%q: is written LOW..HIGH, or LOW..HIGH:COUNT with 2 to 50 values", s)
			}
			if low, err = p.of.parse(from); err == nil {
				high, err = p.of.parse(to)
			}
			if err != nil {
				return Axis{}, fmt.Errorf("%s: %w", name, err)
			}
			if low >= high {
				return Axis{}, fmt.Errorf("%s from %s to %s: the first must be below the second", name, from, to)
			}
			if low <= 0 && !p.even {
				return Axis{}, fmt.Errorf("%s from %s: must be above 0", name, from)
			}
			if p.of.counts() && !counted {
				n = int(high-low) + 1
			}
		}
		return Axis{p.of, p.of.values(low, high, n, p.even)}, nil
	}
	return Axis{}, fmt.Errorf("nothing to sweep is called %q%s: there are %s", name, spell.Hint(name, names), strings.Join(names, ", "))
}

// counts says that its values are whole numbers.
func (of Parameter) counts() bool { return of == OfNodes || of == OfDown }

// values spreads n of them from low to high. A factor has nine digits.
func (of Parameter) values(low, high float64, n int, even bool) []float64 {
	var values []float64
	for i := range n {
		part := float64(i) / float64(n-1)
		v := low * math.Pow(high/low, part)
		if even {
			v = low + (high-low)*part
		}
		if of.counts() {
			v = math.Round(v)
		} else if i == 0 {
			v = low
		} else if i == n-1 {
			v = high
		} else if v > 0 { // three digits are enough for a round picture
			unit := math.Pow(10, math.Floor(math.Log10(v))-2)
			v = math.Round(math.Round(v/unit)*unit*1e12) / 1e12
		}
		if len(values) == 0 || v > values[len(values)-1] {
			values = append(values, v)
		}
	}
	return values
}

// ParseDrift reads by how much a clock may be off: "200ppm", "5ppb", "1/12", "2%" or
// "0.02".
func ParseDrift(s string) (clock.Drift, error) {
	number, percent := strings.CutSuffix(s, "%")
	r, err := clock.ParseRate("+" + number)
	if err != nil || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		return 0, fmt.Errorf(`%q: a drift is written "200ppm", "5ppb", "1/12", "2%%" or "0.02"`, s)
	}
	num, den := r.Fraction()
	off := (float64(num)/float64(den) - 1) * 1e9
	if percent {
		off /= 100
	}
	return clock.Drift(math.Round(off)), nil
}

// parse reads a value of the parameter.
func (of Parameter) parse(s string) (float64, error) {
	switch of {
	case OfDrift:
		d, err := ParseDrift(s)
		return float64(d) / 1e9, err
	case OfTTL, OfDelay, OfBuffer, OfTimeout, OfRenew:
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf(`%q: a duration such as "10s" or "2ms" is expected`, s)
		}
		return d.Seconds(), nil
	case OfNodes, OfDown:
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0, fmt.Errorf("%q: a whole number is expected", s)
		}
		return float64(n), nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v >= 1 {
		return 0, fmt.Errorf("%q: a share from 0 to below 1 is expected", s)
	}
	return v, nil
}

// Text is a value of the parameter as one writes it.
func (of Parameter) Text(v float64) string {
	switch of {
	case OfDrift:
		if v < 1e-6 {
			return Decimal(math.Round(v*1e9)) + " ppb"
		}
		return Decimal(math.Round(v*1e7)/10) + " ppm"
	case OfTTL, OfDelay, OfBuffer, OfTimeout, OfRenew:
		return time.Duration(math.Round(v * 1e9)).String()
	case OfLoss:
		return Decimal(math.Round(v*1e5)/1e3) + " %"
	}
	return Decimal(v)
}

// with is the plan with a value of the parameter. A factor changes none of its runs.
func (p Plan) with(of Parameter, v float64) Plan {
	span := clock.Duration(math.Round(v * 1e9))
	switch of {
	case OfFactor:
		p.Factor = Decimal(math.Round(v*1e9) / 1e9)
	case OfDrift:
		drift := func(m Machine) Machine {
			m.Rate.Low, m.Rate.High = -clock.Drift(span), clock.Drift(span)
			return m
		}
		p.Client = drift(p.Client)
		nodes := []Machine{{}}
		if len(p.NodeClocks) > 0 {
			nodes = append([]Machine(nil), p.NodeClocks...)
		}
		for i := range nodes {
			nodes[i] = drift(nodes[i])
		}
		p.NodeClocks = nodes
	case OfTTL:
		p.TTL = span
	case OfNodes:
		p.Nodes = int(v)
	case OfDown:
		p.Down = int(v)
	case OfLoss:
		p.LossPPM = int(math.Round(v * 1e6))
	case OfDelay:
		return p.WithDelay(span)
	case OfBuffer:
		p.Buffer = span
	case OfTimeout:
		p.Timeout = span
	case OfRenew:
		p.Renew = span
	}
	return p
}

// A Measure is what a sweep shows.
type Measure string

// The measures of a sweep.
const (
	Broken Measure = "broken" // share of the runs that break with the plan's factor
	Needed Measure = "needed" // the most that any run needed
	Failed Measure = "failed" // share of the attempts to acquire that came to nothing
	Usable Measure = "usable" // share of the TTL that is left to work in
	Lost   Measure = "lost"   // share of the watched holds that ended before their time
)

// Measures are all of them.
func Measures() []Measure { return []Measure{Broken, Needed, Failed, Usable, Lost} }

// ParseMeasure reads a measure.
func ParseMeasure(s string) (Measure, error) {
	var names []string
	for _, m := range Measures() {
		if names = append(names, string(m)); string(m) == s {
			return m, nil
		}
	}
	return "", fmt.Errorf("nothing to show is called %q%s: there are %s", s, spell.Hint(s, names), strings.Join(names, ", "))
}

// Fits is the measure that two parameters are mostly swept for.
func Fits(x, y Parameter) Measure {
	for _, of := range []Parameter{x, y} {
		switch of {
		case OfFactor:
			return Broken
		case OfRenew:
			return Lost
		case OfLoss, OfTimeout, OfDelay, OfDown:
			return Failed
		}
	}
	return Needed
}

// A Cell is one place of a sweep.
type Cell struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Runs   int     `json:"runs"`
	Broken float64 `json:"broken"`
	High   float64 `json:"broken_high"` // one-sided bound on that, with the plan's confidence
	Needed float64 `json:"needed"`
	Closed float64 `json:"closed"`
	Failed float64 `json:"failed"`
	Usable float64 `json:"usable"`
	Lost   float64 `json:"lost"`
}

// Of is what it shows of a measure.
func (c Cell) Of(m Measure) float64 {
	switch m {
	case Broken:
		return c.Broken
	case Failed:
		return c.Failed
	case Usable:
		return c.Usable
	case Lost:
		return c.Lost
	}
	return c.Needed
}

// A Sweep is a batch for every pair of two parameters' values.
type Sweep struct {
	Plan  Plan    `json:"plan"`
	X     Axis    `json:"x"`
	Y     Axis    `json:"y"`
	Show  Measure `json:"show"`
	Cells []Cell  `json:"cells"` // X runs faster; those that were made, if it was stopped
}

// Sweep makes Runs runs of the plan for each pair of values, or each value of the
// other axis where one is the factor. On is told how many of how many are done.
func (p Plan) Sweep(ctx context.Context, x, y Axis, on func(done, of int)) (*Sweep, error) {
	if x.Of == y.Of {
		return nil, fmt.Errorf("a sweep over %s and %s: two different parameters are needed", x.Of, y.Of)
	}
	s := &Sweep{Plan: p.Filled(), X: x, Y: y, Show: Fits(x.Of, y.Of)}
	batches := len(x.Values) * len(y.Values)
	if x.Of == OfFactor || y.Of == OfFactor {
		batches /= len(map[bool]Axis{true: x, false: y}[x.Of == OfFactor].Values)
	}
	of, made := batches*s.Plan.Runs, 0
	known := make(map[float64]*Batch) // by the axis that is not the factor
	for _, vy := range y.Values {
		for _, vx := range x.Values {
			plan, other, shared := p.with(x.Of, vx).with(y.Of, vy), vx, x.Of == OfFactor || y.Of == OfFactor
			if x.Of == OfFactor {
				other = vy
			}
			b := known[other]
			if !shared || b == nil {
				var err error
				b, err = plan.Run(ctx, func(done int) {
					if on != nil {
						on(made+done, of)
					}
				})
				if err != nil {
					return nil, fmt.Errorf("%s %s, %s %s: %w", x.Of, x.Of.Text(vx), y.Of, y.Of.Text(vy), err)
				}
				if ctx.Err() != nil {
					return s, nil
				}
				made += len(b.Runs)
				if shared {
					known[other] = b
				}
			}
			s.Cells = append(s.Cells, b.cell(vx, vy, plan.Filled().Factor))
		}
	}
	return s, nil
}

// cell sums up a batch.
func (b *Batch) cell(x, y float64, factor string) Cell {
	f, _ := sim.ParseFactor(factor) // Check has read it
	curve, price := b.Curve(b.Plan.Buffer, false), b.Price(f)
	k := curve.Broken(f)
	c := Cell{X: x, Y: y, Runs: len(b.Runs), Broken: float64(k) / float64(max(1, len(b.Runs))), Closed: b.Plan.Closed(0),
		Failed: price.Failed, Usable: price.Usable, Lost: price.Lost, High: Upper(k, max(1, len(b.Runs)), b.Plan.Confidence)}
	c.Needed, _ = b.worst(false)
	return c
}
