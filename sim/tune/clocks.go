package tune

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"driftlock/clock"
	"driftlock/sim/spell"
)

// Law is how rates spread over machines and leases.
type Law string

const (
	Uniform Law = "uniform" // from Low to High; the default
	Ends    Law = "ends"    // Low or High, each half of the time: the worst that the bounds allow
	Normal  Law = "normal"  // around the middle of Low and High, which are 6 σ away and never passed
)

// Spread is by how much the rate of a clock is off, over machines and leases. The
// zero Spread is a perfect clock.
type Spread struct {
	Law  Law         `json:"law,omitzero"`
	Low  clock.Drift `json:"low_ppb"`
	High clock.Drift `json:"high_ppb"`
}

// Within is a uniform Spread of ±d.
func Within(d clock.Drift) Spread { return Spread{Low: -d, High: d} }

// Slew is a clock that corrects itself by running fast or slow for a while. One
// that is Max or less away from the truth, evenly over the decades down to Min,
// needs that divided by Rate; a lease meets it at a random moment.
type Slew struct {
	Rate  clock.Drift    `json:"rate_ppb,omitzero"` // of the correction, on top of the steady rate; to either side
	Min   clock.Duration `json:"min,omitzero"`      // the smallest correction
	Max   clock.Duration `json:"max,omitzero"`      // the largest; 0: no bound, so that a slew may go on for all of any lease
	Share float64        `json:"share,omitzero"`    // of leases that meet one on this machine
}

// anySize is up to where corrections without a bound are drawn.
const anySize = clock.Duration(24 * time.Hour)

// most is the largest correction that is drawn.
func (s Slew) most() clock.Duration {
	if s.Max == 0 {
		return anySize
	}
	return s.Max
}

// Step is a wall clock that jumps. It hits nodes alone: a client lives on a clock
// that never steps. Sizes are evenly spread over the decades from Min to Max; half
// of the steps go back.
type Step struct {
	Min   clock.Duration `json:"min,omitzero"`
	Max   clock.Duration `json:"max,omitzero"`
	Share float64        `json:"share,omitzero"` // of leases that meet one on this machine
}

// Machine is how the clock of a machine behaves. The zero Machine has a perfect one.
type Machine struct {
	Rate Spread `json:"rate,omitzero"`
	Slew Slew   `json:"slew,omitzero"`
	Step Step   `json:"step,omitzero"`
}

// check says what is wrong with a machine.
func (m Machine) check() error {
	most := 900_000 * clock.PPM
	switch r := m.Rate; {
	case r.Law != "" && r.Law != Uniform && r.Law != Ends && r.Law != Normal:
		return fmt.Errorf("law %q: there are uniform, ends and normal", r.Law)
	case r.Low > r.High:
		return fmt.Errorf("rates from %v to %v: the first must not be above the second", r.Low, r.High)
	case r.Low-m.Slew.Rate < -most || r.High+m.Slew.Rate > most:
		return fmt.Errorf("rates of %v to %v, slews of %v: together they must be within ±%v", r.Low, r.High, m.Slew.Rate, most)
	case m.Slew.Rate < 0:
		return fmt.Errorf("slew of %v: must not be negative", m.Slew.Rate)
	}
	if m.Slew.Rate > 0 {
		if err := episode("slew", m.Slew.Min, m.Slew.most(), m.Slew.Share); err != nil {
			return err
		}
	}
	if m.Step.Share > 0 {
		return episode("step", m.Step.Min, m.Step.Max, m.Step.Share)
	}
	return nil
}

func episode(what string, least, most clock.Duration, share float64) error {
	switch {
	case least <= 0 || least > most || most > clock.Duration(24*time.Hour):
		return fmt.Errorf("%ss of %v to %v: must be above 0, the first not above the second, at most 24h", what, least, most)
	case !(share > 0 && share <= 1):
		return fmt.Errorf("%ss in a share of %v of the leases: must be above 0 and at most 1", what, share)
	}
	return nil
}

// A Preset is a clock that people have.
type Preset struct {
	Name   string
	About  string // one line: what bounds the clock
	Clocks Machine
	Beware string // what no factor covers; empty: nothing known
}

// Presets are clocks that people have, from docs/drift-math.md ("Real clocks"), of
// clients and nodes alike. None bounds what a slew corrects: chrony steps only where
// makestep says so, mostly for the first three updates, and ntpd -x hardly ever, so that
// either corrects whatever is left at full speed for as long as it takes.
func Presets() []Preset {
	return []Preset{
		{
			Name:   "quartz",
			About:  "free-running quartz, within 100 ppm",
			Clocks: Machine{Rate: Within(100 * clock.PPM)},
		}, {
			Name:   "ntpd",
			About:  "ntpd, which slews by up to 500 ppm",
			Clocks: Machine{Rate: Within(10 * clock.PPM), Slew: slewing(490*clock.PPM, 0)},
			Beware: "what is more than 128 ms off ntpd steps: start it with -x, or before Redis",
		}, {
			Name:   "chrony-default",
			About:  "chrony with its default maxslewrate of 83,333 ppm",
			Clocks: Machine{Slew: slewing(83_333_333*clock.PPB, 0)},
			Beware: "set maxslewrate 500 (chrony-limited) and makestep for the first updates only",
		}, {
			Name:   "chrony-limited",
			About:  "chrony with maxslewrate 500",
			Clocks: Machine{Slew: slewing(500*clock.PPM, 0)},
			Beware: "makestep with a limit of -1 steps at any time: limit it to the first updates",
		}, {
			Name:   "leap-smear",
			About:  "a leap second smeared over 24 h on some machines and not on others, 1/86,400",
			Clocks: Machine{Rate: Spread{Law: Ends, Low: -11_575 * clock.PPB, High: 11_575 * clock.PPB}},
			Beware: "a leap second that is not smeared steps the clock by 1 s",
		}, {
			Name:   "cloud-ptp",
			About:  "a cloud's PTP clock, within 1 ppm, wandering by up to 50 µs",
			Clocks: Machine{Rate: Within(1 * clock.PPM), Step: Step{Min: 1_000, Max: 50_000, Share: 1}},
		},
	}
}

// slewing is a correction of up to most, or without a bound, which every lease meets.
func slewing(rate clock.Drift, most time.Duration) Slew {
	return Slew{Rate: rate, Min: clock.Duration(time.Millisecond), Max: clock.Duration(most), Share: 1}
}

// FindPreset returns the preset of that name.
func FindPreset(name string) (Preset, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("no clocks are called %q%s: there are %s", name, spell.Hint(name, names), strings.Join(names, ", "))
}

// machines are the nodes' clocks, one a node.
func (p *Plan) machines() []Machine {
	if len(p.NodeClocks) == p.Nodes {
		return p.NodeClocks
	}
	var one Machine
	if len(p.NodeClocks) > 0 {
		one = p.NodeClocks[0]
	}
	return slices.Repeat([]Machine{one}, p.Nodes)
}

// PresetTable is the presets as a table: what bounds each, the factor that it needs,
// and what the common 1 % would do, for the plan's other defaults.
func PresetTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-15s %-12s %-12s %-12s %-34s %s\n", "clocks", "drift", "needs f =", "this TTL", "f = "+Common, "what they are")
	for _, row := range PresetRows() {
		fmt.Fprintf(&b, "%-15s %-12s %-12s %-12s %-34s %s\n", row[0], row[1], row[2], row[3], row[4], row[5])
	}
	return b.String()
}

// PresetRows are the cells of the table, a row a preset.
func PresetRows() (rows [][6]string) {
	for _, c := range Presets() {
		p := Plan{}.WithClocks(c).Filled()
		bound := float64(max(c.Clocks.Rate.High, -c.Clocks.Rate.Low)+c.Clocks.Slew.Rate) / 1e9
		verdict := "enough, " + times(0.01, p.Rates()) + " of what is needed"
		if p.Rates() > 0.01 {
			verdict = "breaks: too little by " + times(p.Rates(), 0.01)
		}
		if p.Closed(0) == 0 {
			verdict = "enough: the buffer alone is"
		}
		rows = append(rows, [6]string{c.Name, OfDrift.Text(bound), Decimal(RoundUp(p.Rates())), Short(p.Closed(0)), verdict, c.About})
	}
	return rows
}

// times is how often b goes into a.
func times(a, b float64) string { return fmt.Sprintf("%.3g ×", a/b) }
