package tune

import (
	"errors"
	"fmt"
	"math"
	"time"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// A Plan is an experiment: what is known of a deployment, and what is asked. The
// zero value of each field is its default.
type Plan struct {
	TTL        clock.Duration `json:"ttl"`             // 0: 10 s
	Buffer     clock.Duration `json:"buffer"`          // drift buffer b; 0: 2 ms, and more where clocks step by little
	Nodes      int            `json:"nodes"`           // 0: 5
	Clients    int            `json:"clients"`         // that want the lock at the same time; 0: 1
	Clocks     string         `json:"clocks,omitzero"` // what the clocks are called, for people
	Client     Machine        `json:"client"`          // the clock of every client
	NodeClocks []Machine      `json:"node_clocks"`     // one for all nodes, or one each
	Delay      network.Delay  `json:"delay"`           // of a message, each way; zero: 200 µs and exponential 300 µs
	LossPPM    int            `json:"loss_ppm"`        // messages lost, in a million
	Down       int            `json:"down"`            // nodes out of reach, others in each run
	Hold       Hold           `json:"hold"`            // zero: to the deadline
	Expiry     node.Expiry    `json:"expiry"`          // zero: non-strict, where keys live up to 1 ms less
	Timeout    clock.Duration `json:"node_timeout"`    // 0: a twentieth of the TTL, 10 to 500 ms
	Renew      clock.Duration `json:"renew,omitzero"`  // of Hold Watched; 0: a third of the TTL
	Floor      float64        `json:"floor,omitzero"`  // no factor below it is recommended, whatever the clocks need
	Factor     string         `json:"factor"`          // to judge beside the recommended one; "": 0.01
	Target     float64        `json:"target"`          // probability of a broken lease that is accepted; 0: 1e-4
	Confidence float64        `json:"confidence"`      // of the bounds; 0: 0.95
	Runs       int            `json:"runs"`            // 0: 30,000
	Seed       uint64         `json:"seed"`            // of the first run; the others follow; 0: 1
	Jobs       int            `json:"-"`               // run at once; 0: one a core
}

// HoldKind is what a holder does with its lock.
type HoldKind string

const (
	ToDeadline HoldKind = "deadline" // trusts it to its end, the default: what the closed form is about
	For        HoldKind = "for"      // releases it after Hold.For, or at the deadline
	Percent    HoldKind = "percent"  // releases it after so much of the validity that was left
	Watched    HoldKind = "watch"    // keeps it alive for Hold.For, then releases it
)

// Hold is how long a lock is held, on the client's clock.
type Hold struct {
	Kind    HoldKind       `json:"kind"`
	For     clock.Duration `json:"for,omitzero"`
	Percent int            `json:"percent,omitzero"`
}

// String is "to the deadline", "for 8s", "for 50 % of its validity" or "watched for 1m0s".
func (h Hold) String() string {
	switch h.Kind {
	case For:
		return fmt.Sprintf("for %v", h.For)
	case Percent:
		return fmt.Sprintf("for %d %% of its validity", h.Percent)
	case Watched:
		return fmt.Sprintf("watched for %v", h.For)
	}
	return "to the deadline"
}

// Common is the drift factor that most Redlocks have.
const Common = "0.01"

const maxRuns = 10_000_000

// Filled is the plan with its defaults written out.
func (p Plan) Filled() Plan {
	fill(&p.TTL, clock.Duration(10*time.Second))
	fill(&p.Nodes, 5)
	fill(&p.Clients, 1)
	fill(&p.Hold.Kind, ToDeadline)
	fill(&p.Expiry, node.NonStrict)
	fill(&p.Timeout, min(max(p.TTL/20, 10e6), 500e6))
	fill(&p.Factor, Common)
	fill(&p.Target, 1e-4)
	fill(&p.Confidence, 0.95)
	fill(&p.Runs, 30_000)
	fill(&p.Seed, 1)
	fill(&p.Delay, p.WithDelay(500_000).Delay)
	if len(p.NodeClocks) == 0 {
		p.NodeClocks = []Machine{{}}
	}
	if p.Buffer == 0 {
		p.Buffer = p.buffer()
	}
	return p
}

// WithDelay is the plan with messages that take so long in the mean, each way: two
// fifths of it at least, the rest exponential.
func (p Plan) WithDelay(mean clock.Duration) Plan {
	p.Delay = network.Delay{Law: network.Exponential, Min: mean * 2 / 5, Mean: mean - mean*2/5, Max: max(1, 40*mean)}
	return p
}

// WithClocks is the plan with the clocks of a preset.
func (p Plan) WithClocks(c Preset) Plan {
	p.Clocks, p.Client, p.NodeClocks = c.Name, c.Clocks, []Machine{c.Clocks}
	p.Client.Step = Step{} // it lives on a clock that never steps
	return p
}

func fill[T comparable](field *T, otherwise T) {
	var zero T
	if *field == zero {
		*field = otherwise
	}
}

// buffer covers what does not grow with the TTL: 2 ms for rounding, and steps up to
// a tenth of the TTL, in whole milliseconds.
func (p *Plan) buffer() clock.Duration {
	const rounding = 2e6
	step := clock.Duration(0)
	for _, m := range p.machines() {
		if m.Step.Share > 0 {
			step = max(step, m.Step.Max)
		}
	}
	if step > p.TTL/10 {
		return rounding
	}
	if step <= 1e6 { // the second millisecond is there for it
		return rounding
	}
	return rounding + (step+999_999)/1e6*1e6
}

// Check says what is wrong with a plan, by the names of its fields' meanings.
func (p Plan) Check() error {
	p = p.Filled()
	switch {
	case p.TTL < 2e6 || p.TTL > clock.Duration(24*time.Hour):
		return fmt.Errorf("a ttl of %v: must be from 2ms to 24h", p.TTL)
	case p.Buffer < 0 || p.Buffer >= p.TTL:
		return fmt.Errorf("a buffer of %v: must not be negative, and less than the ttl, %v", p.Buffer, p.TTL)
	case p.Nodes < 1 || p.Nodes > 64:
		return fmt.Errorf("%d nodes: must be 1 to 64", p.Nodes)
	case p.Clients < 1 || p.Clients > 16:
		return fmt.Errorf("%d clients: must be 1 to 16", p.Clients)
	case len(p.NodeClocks) != 1 && len(p.NodeClocks) != p.Nodes:
		return fmt.Errorf("clocks of %d nodes, and there are %d nodes", len(p.NodeClocks), p.Nodes)
	case p.Down < 0 || p.Down > p.Nodes-p.quorum():
		return fmt.Errorf("%d of %d nodes down: must be 0 to %d, so that a quorum is left", p.Down, p.Nodes, p.Nodes-p.quorum())
	case p.LossPPM < 0 || p.LossPPM > 900_000:
		return fmt.Errorf("a loss of %d in a million: must be 0 to 900000", p.LossPPM)
	case p.Timeout <= 0 || p.Timeout > clock.Duration(time.Hour):
		return fmt.Errorf("a node timeout of %v: must be above 0, and 1h at most", p.Timeout)
	case p.Renew < 0 || p.Renew > p.TTL:
		return fmt.Errorf("a renew interval of %v: must be from 0 to the ttl, %v", p.Renew, p.TTL)
	case p.Renew > 0 && p.Hold.Kind != Watched:
		return errors.New("a renew interval: is only for a hold that is watched")
	case !(p.Floor >= 0 && p.Floor < 1):
		return fmt.Errorf("a floor of %v: must be from 0 to below 1", p.Floor)
	case !(p.Target > 0 && p.Target < 1):
		return fmt.Errorf("a target of %v: must be a probability, above 0 and below 1", p.Target)
	case !(p.Confidence >= 0.5 && p.Confidence < 1):
		return fmt.Errorf("a confidence of %v: must be from 0.5 to less than 1", p.Confidence)
	case p.Runs < 1 || p.Runs > maxRuns:
		return fmt.Errorf("%d runs: must be 1 to %d", p.Runs, maxRuns)
	case p.Seed > math.MaxUint64-maxRuns:
		return fmt.Errorf("seed %d: must be at most %d", p.Seed, uint64(math.MaxUint64-maxRuns))
	}
	if _, err := sim.ParseFactor(p.Factor); err != nil {
		return fmt.Errorf("the factor %w", err)
	}
	if err := p.Hold.check(); err != nil {
		return err
	}
	if p.Client.Step.Share > 0 {
		return errors.New("steps of a client's clock: it lives on one that never steps")
	}
	for _, m := range append(p.machines(), p.Client) {
		if err := m.check(); err != nil {
			return err
		}
	}
	sc := p.scenario(p.Seed, "0")
	if err := sc.Check(); err != nil {
		return fmt.Errorf("as a scenario: %w", err)
	}
	return nil
}

func (h Hold) check() error {
	switch h.Kind {
	case ToDeadline:
		if h.For != 0 || h.Percent != 0 {
			return errors.New("a hold to the deadline: has no length of its own")
		}
	case For, Watched:
		if h.For <= 0 || h.For > clock.Duration(24*time.Hour) {
			return fmt.Errorf("a hold of %v: must be above 0, and 24h at most", h.For)
		}
	case Percent:
		if h.Percent < 1 || h.Percent > 100 {
			return fmt.Errorf("a hold for %d %% of the validity: must be 1 to 100", h.Percent)
		}
	default:
		return fmt.Errorf("a hold %q: there are deadline, for, percent and watch", h.Kind)
	}
	return nil
}

func (p *Plan) quorum() int { return p.Nodes/2 + 1 }

// exact says that the factor decides nothing but the deadline, so that what a lease
// needs is known from one run of it.
func (p *Plan) exact() bool {
	return p.Clients == 1 || p.Hold.Kind == For
}
