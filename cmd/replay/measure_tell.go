package main

import (
	"fmt"
	"strings"
	"time"

	"driftlock/clock"
	"driftlock/clock/measure"
	"driftlock/sim"
	"driftlock/sim/tune"
)

// judged is what a result means for a lock.
type judged struct {
	*measure.Result
	Factor  float64        `json:"factor"`         // in question
	Nodes   int            `json:"distinct"`       // servers of which there is a measure; two addresses may be one
	Needed  float64        `json:"needed_factor"`  // by the fastest server, for any TTL
	Enough  bool           `json:"enough"`         // the factor, for the rates
	Advised float64        `json:"advised_factor"` // the one in question if it is enough, but not below tune.FloorOfMeasured
	Buffer  clock.Duration `json:"advised_buffer"`
	Stepped clock.Duration `json:"stepped"` // the largest step that was seen
	ttl     time.Duration
	raised  bool // Advised, to the floor
}

// judge says what the clocks that were measured need.
func judge(r *measure.Result, f measureFlags, factor sim.Factor) *judged {
	plan := tune.Plan{TTL: clock.Duration(f.ttl)}.Measured(r)
	j := &judged{Result: r, Nodes: len(r.Distinct()), Factor: float64(factor) / 1e9, Needed: plan.Rates(), ttl: f.ttl, Buffer: plan.Filled().Buffer}
	for _, s := range r.Measured() {
		for _, step := range s.Steps {
			j.Stepped = max(j.Stepped, step.By, -step.By)
		}
	}
	j.Enough = j.Needed <= j.Factor
	if j.Advised = j.Factor; !j.Enough {
		j.Advised = tune.RoundUp(j.Needed)
	}
	j.raised = j.Advised < plan.Floor
	j.Advised = max(j.Advised, plan.Floor)
	return j
}

// text is the answer, then why.
func (j *judged) text() string {
	var b strings.Builder
	addresses := len(j.Measured())
	these := "this server"
	if j.Nodes > 1 {
		these = fmt.Sprintf("these %d servers", j.Nodes)
	}
	if aliases := addresses - j.Nodes; aliases > 0 {
		only := "1 server"
		if j.Nodes > 1 {
			only = fmt.Sprintf("%d servers", j.Nodes)
		}
		fmt.Fprintf(&b, "These %d addresses are only %s: a lock over them counts a server more than once, and stands fewer failures than it should.\n", addresses, only)
	}
	if failed := len(j.Servers) - addresses; failed > 0 {
		these += fmt.Sprintf(" (of %d)", j.Nodes+failed)
	}
	need := "they need " + tune.Short(j.Needed) + " at most"
	if j.Nodes == 1 {
		need = "it needs " + tune.Short(j.Needed) + " at most"
	}
	if j.Needed == 0 {
		need = "none runs faster than this machine"
	}
	if j.Enough {
		fmt.Fprintf(&b, "f = %s is enough for %s: %s (%g %% confidence).", tune.Decimal(j.Factor), these, need, 100*j.Confidence)
	} else {
		fmt.Fprintf(&b, "f = %s is NOT enough for %s: %s (%g %% confidence).", tune.Decimal(j.Factor), these, need, 100*j.Confidence)
	}
	if j.Stepped > 0 {
		fmt.Fprintf(&b, " But a clock stepped by %v, which no factor covers.", time.Duration(j.Stepped).Round(100*time.Microsecond))
	}
	if j.raised {
		fmt.Fprintf(&b, " But take no less than %s: a time daemon may yet slew them by 500 ppm.", tune.Decimal(j.Advised))
	}
	b.WriteString("\n\n")
	width := len("server")
	for _, s := range j.Servers {
		width = max(width, len(s.Name))
	}
	fmt.Fprintf(&b, "%-*s  %-20s  %-24s  %-10s  %s\n", width, "server", "rate (ppm)", "ahead by", "round trip", "answers")
	for _, s := range j.Servers {
		if s.Failed != "" {
			fmt.Fprintf(&b, "%-*s  %s\n", width, s.Name, s.Failed)
			continue
		}
		fmt.Fprintf(&b, "%-*s  %-20s  %-24s  %-10v  %d\n", width, s.Name, rateText(s.Rate), offsetText(s), time.Duration(s.Trip).Round(time.Microsecond), s.Samples)
	}
	fmt.Fprintf(&b, "Measured for %v against this machine's clock. How far ahead a server is does not matter to a lock.\n", time.Duration(j.For).Round(100*time.Millisecond))
	trusted := j.ttl - time.Duration(float64(j.ttl)*j.Advised) - time.Duration(j.Buffer)
	fmt.Fprintf(&b, "\nPrice: with f = %s and a buffer of %v, %v of a TTL of %v can be trusted.\n", tune.Decimal(j.Advised), j.Buffer, max(0, trusted), j.ttl)
	for _, w := range j.Warnings() {
		b.WriteString("Beware: " + w + "\n")
	}
	b.WriteString("Beware: " + notMeasured + "\n")
	fmt.Fprintf(&b, "\n  redlock.WithClockDriftFactor(%s),\n  redlock.WithClockDriftBuffer(%s),\n", tune.Decimal(j.Advised), tune.InGo(j.Buffer))
	return b.String()
}

// offsetText is "1.2ms ± 80µs".
func offsetText(s measure.Server) string {
	unit := time.Microsecond
	if s.Offset > 1e9 || s.Offset < -1e9 {
		unit = time.Millisecond
	}
	return fmt.Sprintf("%v ± %v", time.Duration(s.Offset).Round(unit), time.Duration(s.OffsetErr).Round(unit))
}
