package sim

import (
	"fmt"
	"strings"
)

// Sampling is how values are drawn from a space. Whatever it is, each class of
// faults is off in a random part of the scenarios (swarm testing).
type Sampling uint8

const (
	// Informed knows which way a lease breaks: nodes are mostly as fast as they may
	// be, one client as slow, keys are set where a millisecond costs most, leases are
	// trusted to their end. It is the default.
	Informed Sampling = iota
	// Bounds draws rates, phases, delays and holds from their whole range, and half of
	// the time one of its two ends, whichever: it knows nothing of which is dangerous.
	Bounds
	// Uniform draws them evenly from their range.
	Uniform
)

var samplings = []struct{ name, about string }{
	{"informed", "biased to where leases break"},
	{"bounds", "half of the time one of the two ends of its range, whichever"},
	{"uniform", "evenly from its range"},
}

// String is "informed", "bounds" or "uniform".
func (s Sampling) String() string { return samplings[s].name }

func (s Sampling) about() string { return samplings[s].about }

// MarshalText is String.
func (s Sampling) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what String writes.
func (s *Sampling) UnmarshalText(b []byte) error {
	var names []string
	for i, known := range samplings {
		if known.name == string(b) {
			*s = Sampling(i)
			return nil
		}
		names = append(names, known.name)
	}
	return fmt.Errorf("no sampling is called %s%s: there are %s", shown(string(b)), didYouMean(string(b), names), strings.Join(names, ", "))
}

// Sampled returns the space with its values drawn in that way.
func (sp Space) Sampled(by Sampling) Space {
	sp.sampling = by
	return sp
}

// blind says that draws know nothing of where leases break.
func (g *drafter) blind() bool { return g.sp.sampling != Informed && !g.sp.certain }

// spread draws from a range as the sampling says.
func (g *drafter) spread(label string, low, high int64) int64 {
	between := g.Int(label, low, high)
	if end := g.among(label+".end", 2, 1, 1); g.sp.sampling != Bounds || end == 0 {
		return between
	} else if end == 1 {
		return low
	}
	return high
}
