package tune

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"driftlock/clock"
	"driftlock/sim"
)

// A Report is the answer of a batch, as data. Factors, shares and probabilities are
// plain numbers; durations are of the client's clock.
type Report struct {
	Plan Plan `json:"plan"`
	Runs int  `json:"runs"` // made: fewer than Plan.Runs if it was stopped

	Factor  float64        `json:"factor"` // recommended
	Buffer  clock.Duration `json:"buffer"` // recommended: the plan's
	Basis   Basis          `json:"basis"`
	Enough  bool           `json:"enough"`         // there is a factor below 1 that does
	Least   float64        `json:"least,omitzero"` // of Basis floor: what would cover the clocks
	Shown   float64        `json:"shown"`          // bound on the probability that a lease is broken at Factor, with the plan's confidence
	Allowed bool           `json:"allowed"`        // Shown is within the target

	// Corrects is what the recommendation rests on: that no clock which slews corrects
	// more than that at a time. 0: it rests on no such bound.
	Corrects  clock.Duration `json:"corrects_at_most,omitzero"`
	Unbounded float64        `json:"unbounded"` // Closed, were there no bound to what a slew corrects

	Most   float64 `json:"most"`    // the most that any of the runs needed
	Worst  uint64  `json:"worst"`   // the seed of that run
	Bare   float64 `json:"bare"`    // the most, had each lease been granted by a bare quorum
	Closed float64 `json:"closed"`  // closed form for this TTL and buffer, no slack
	Rates  float64 `json:"rates"`   // closed form for any TTL, rounding and steps left to the buffer
	Parts  Parts   `json:"parts"`   // of Closed − what the worst run needed
	Exact  bool    `json:"exact"`   // the factor decides nothing but the deadline
	Points []Point `json:"points"`  // the curve at what is worth a line: 0, the recommended, the plan's
	Nodes  float64 `json:"granted"` // nodes that granted, in the mean

	Price Price `json:"price"` // at the recommended factor
	Asked Price `json:"asked"` // at the plan's

	Confirmed *Confirmation `json:"confirmed,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"` // what no factor covers
}

// Basis is why a factor is recommended.
type Basis string

const (
	ByFormula Basis = "formula" // it covers the worst that the clocks can do within their bounds
	ByRuns    Basis = "runs"    // it keeps to the target in the runs
	ByFloor   Basis = "floor"   // less would do, but nothing below the plan's floor is recommended
)

// cheap is up to where the closed form is recommended: it costs so much of the TTL,
// and then no lease is ever broken.
const cheap = 0.01

// Report sums up a batch.
func (b *Batch) Report() (Report, error) {
	p := &b.Plan
	curve := b.Curve(p.Buffer, false)
	r := Report{Plan: *p, Runs: len(b.Runs), Buffer: p.Buffer, Closed: p.Closed(0), Rates: p.Rates(), Unbounded: p.Unbounded(0), Exact: p.exact(), Enough: true}
	r.Most, r.Worst = b.worst(false)
	r.Bare, _ = b.worst(true)
	b.recommend(&r, curve)
	if r.Factor < r.Unbounded {
		r.Corrects = p.corrects()
	}
	at := FactorOf(r.Factor)
	asked, _ := sim.ParseFactor(p.Factor) // Check has read it
	r.Points = []Point{curve.At(0, p.Confidence), curve.At(at, p.Confidence), curve.At(asked, p.Confidence)}
	r.Shown = Upper(curve.Broken(at), max(1, curve.runs), p.Confidence)
	r.Allowed = r.Shown <= p.Target
	r.Price, r.Asked = b.Price(at), b.Price(asked)
	r.Warnings = p.warnings()
	granted, leases := 0, 0
	for i := range b.Runs {
		if b.Runs[i].Leases > 0 {
			granted, leases = granted+int(b.Runs[i].Granted), leases+1
		}
	}
	r.Nodes = float64(granted) / float64(max(1, leases))
	if leases == 0 {
		return r, nil
	}
	var err error
	r.Parts, err = p.Parts(r.Worst)
	return r, err
}

// warnings are of what neither factor nor buffer should cover.
func (p *Plan) warnings() (list []string) {
	step := clock.Duration(0)
	for _, m := range p.machines() {
		if m.Step.Share > 0 {
			step = max(step, m.Step.Max)
		}
	}
	if p.gone() > p.Buffer {
		list = append(list, fmt.Sprintf("the buffer of %v does not cover rounding: a key may live 1 ms less than its TTL", p.Buffer))
	}
	if step > 0 && step+p.gone() > p.Buffer {
		list = append(list, fmt.Sprintf("a step of %v takes as much off every lease, whatever its TTL: the buffer of %v does not cover it; step clocks only while the server is down", step, p.Buffer))
	}
	if p.Nodes%2 == 0 {
		list = append(list, fmt.Sprintf("%d nodes stand no more failures than %d: an odd number is better", p.Nodes, p.Nodes-1))
	}
	return list
}

// FactorOf is a float that is a whole number of parts per billion.
func FactorOf(f float64) sim.Factor { return sim.Factor(math.Round(f * 1e9)) }

// Decimal is a factor as one writes it: "0.0002".
func Decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// worst is the most that a run needed, 1 if no factor below it is enough, and its
// seed.
func (b *Batch) worst(bare bool) (most float64, seed uint64) {
	short := int64(none)
	seed = b.Plan.Seed
	for i := range b.Runs {
		s := b.Runs[i].Short
		if bare {
			s = b.Runs[i].Bare
		}
		if s > short {
			short, seed = s, b.Plan.Seed+uint64(i)
		}
	}
	if short == none {
		return 0, seed
	}
	return min(1, max(0, float64(short-int64(b.Plan.Buffer))/float64(b.Plan.ttl()))), seed
}

// recommend picks a factor: what never breaks a lease if that is cheap, otherwise
// what keeps to the target; but not less than the plan's floor.
func (b *Batch) recommend(r *Report, curve *Curve) {
	p := &b.Plan
	sure := r.Closed
	if p.Covered() && r.Rates <= cheap { // then it is right for other TTLs too
		sure = max(sure, r.Rates)
	}
	r.Basis, r.Factor = ByFormula, RoundUp(sure)
	if r.Factor < p.Floor {
		r.Basis, r.Factor, r.Least = ByFloor, p.Floor, r.Factor
	}
	if sure > cheap {
		if f, ok := curve.Below(p.Target, p.Confidence); ok && RoundUp(float64(f)/1e9) < r.Factor {
			r.Basis, r.Factor = ByRuns, max(p.Floor, RoundUp(float64(f)/1e9))
		}
	}
	if trusts := 1 - r.Factor - float64(p.Buffer)/float64(p.ttl()); trusts <= 0 {
		r.Enough, r.Factor = false, min(r.Factor, 1)
	}
}

// Price is what a factor costs.
type Price struct {
	Usable  float64 `json:"usable"` // share of the TTL that is left to work in after an acquire, in the mean
	Failed  float64 `json:"failed"` // attempts to acquire that came to nothing, the late ones with them
	TooLate float64 `json:"late"`   // those that won, with no validity left
	Lost    float64 `json:"lost"`   // holds that were watched and ended before their time

	factor float64
}

// Price is what a factor costs with the plan's buffer.
func (b *Batch) Price(f sim.Factor) (price Price) {
	p := &b.Plan
	price.factor = float64(f) / 1e9
	trust := int64(p.ttl()) - int64(math.Ceil(float64(p.ttl())*float64(f)/1e9)) - int64(p.Buffer)
	usable, grants, late, tries, leases, lost := 0.0, 0, 0, 0, 0, 0
	for i := range b.Runs {
		r := &b.Runs[i]
		tries, leases = tries+int(r.Tries), leases+int(r.Leases)
		if r.Lost {
			lost++
		}
		if r.Took < 0 {
			continue
		}
		if left := trust - r.Took; left > 0 {
			usable += float64(left)
			grants++
		} else {
			late++
		}
	}
	share := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
	price.Usable = usable / float64(max(1, grants)) / float64(p.ttl())
	price.TooLate = share(late, tries)
	price.Failed = share(tries-leases+late, tries)
	price.Lost = share(lost, grants+late)
	return price
}

// Confirmation is a batch with a factor in place.
type Confirmation struct {
	Factor   float64 `json:"factor"`
	Runs     int     `json:"runs"`
	Broken   int     `json:"broken"`   // in which I1 or I2 broke
	Foretold int     `json:"foretold"` // of the same seeds, that the curve says should
	Differ   int     `json:"differ"`   // seeds of which the two are not the same: there the factor changed who won
	Seed     uint64  `json:"seed"`     // of the first that broke; 0: none
}

// Required is the least factor with which no lease of the i-th run is broken, with
// the plan's buffer; 9.2 billion times 1 if none below 1 is enough.
func (b *Batch) Required(i int) sim.Factor { return b.need(&b.Runs[i], b.Plan.Buffer, false) }

// Confirm makes the first n runs again with a factor in place, and compares what
// breaks with what the curve foretells.
func (b *Batch) Confirm(ctx context.Context, f float64, n int, on func(done int)) (*Confirmation, error) {
	p := &b.Plan
	n = min(n, len(b.Runs))
	broken := make([]bool, n)
	done, err := p.each(ctx, Decimal(f), n, on, func() func(int, *sim.History, *sim.Verdict) {
		return func(i int, _ *sim.History, v *sim.Verdict) {
			for _, x := range v.Violations {
				if x.Invariant == sim.I1 || x.Invariant == sim.I2 {
					broken[i] = true
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("confirming f = %s: %w", Decimal(f), err)
	}
	c := &Confirmation{Factor: f, Runs: done}
	for i := range done {
		foretold := b.need(&b.Runs[i], p.Buffer, false) > FactorOf(f)
		if foretold {
			c.Foretold++
		}
		if broken[i] {
			if c.Broken++; c.Broken == 1 {
				c.Seed = p.Seed + uint64(i)
			}
		}
		if foretold != broken[i] {
			c.Differ++
		}
	}
	return c, nil
}
