package tune

import (
	"fmt"
	"math"

	"driftlock/clock"
	"driftlock/clock/measure"
)

// FloorOfMeasured is the least factor that is recommended for clocks that were measured:
// twice the 500 ppm by which ntpd, and chrony if it is limited, may slew them later, which
// a measurement of a minute mostly does not see.
const FloorOfMeasured = 0.001

// Measured gives a plan the clocks that were measured: each node runs, against the
// client, anywhere in the interval that was found, or as fast as it was seen to slew, and
// steps as often as it was seen to, by what was seen at most. A server with two addresses
// is one node.
func (p Plan) Measured(r *measure.Result) Plan {
	servers := r.Distinct()
	p.Floor = FloorOfMeasured
	p.Nodes, p.Client, p.NodeClocks = len(servers), Machine{}, nil
	p.Clocks = fmt.Sprintf("as measured on %s", r.Taken.UTC().Format("2006-01-02"))
	ttl := p.Filled().TTL
	for _, s := range servers {
		m := Machine{Rate: Spread{
			Low:  clock.Drift(math.Floor(s.Rate.Low * float64(clock.PPM))),
			High: clock.Drift(math.Ceil(s.Rate.High * float64(clock.PPM))),
		}}
		if s.Slew != 0 {
			m.Rate.Low = min(m.Rate.Low, clock.Drift(math.Floor(s.Slew*float64(clock.PPM))))
			m.Rate.High = max(m.Rate.High, clock.Drift(math.Ceil(s.Slew*float64(clock.PPM))))
		}
		for _, step := range s.Steps {
			size := max(step.By, -step.By)
			if m.Step.Max = max(m.Step.Max, size); m.Step.Min == 0 || size < m.Step.Min {
				m.Step.Min = size
			}
		}
		if n := len(s.Steps); n > 0 {
			m.Step.Share = min(1, float64(n)*float64(ttl)/float64(r.For))
		}
		p.NodeClocks = append(p.NodeClocks, m)
	}
	return p
}
