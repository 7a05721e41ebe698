package main

import (
	"encoding/json"
	"io"
	"math"
	"strings"

	"driftlock/sim"
)

// report is the JSON of one run (docs/design.md, section 9). Instants are
// nanoseconds of true time; null is an instant that never comes, and a margin
// without an end.
type report struct {
	Scenario   string      `json:"scenario"`
	Hash       string      `json:"hash"`
	OK         bool        `json:"ok"`
	Margin     *int64      `json:"margin_ns"` // the smallest of the leases; null: none
	Leases     []lease     `json:"leases"`
	Violations []violation `json:"violations"`
	Probes     probes      `json:"probes"`
	Warnings   []string    `json:"warnings,omitempty"`
	Argv       []string    `json:"argv"`                 // replays the run
	Record     string      `json:"record,omitempty"`     // the file that the history was written to
	Expected   *bool       `json:"expected,omitempty"`   // the verdict is the one its file expects
	Unexpected []string    `json:"unexpected,omitempty"` // how it is not
}

type lease struct {
	Client       string `json:"client"`
	Key          string `json:"key"`
	Granted      int64  `json:"granted_ns"`
	TrustEnd     *int64 `json:"trust_end_ns"`
	ExclusionEnd *int64 `json:"exclusion_end_ns"`
	Margin       *int64 `json:"margin_ns"`
	Required     string `json:"required_factor"` // the drift factor with which its deadline would have come in time
}

type violation struct {
	Invariant sim.Invariant `json:"invariant"`
	At        int64         `json:"at_ns"`
	Client    string        `json:"client"`
	Key       string        `json:"key"`
	Margin    *int64        `json:"margin_ns"`
	Text      string        `json:"text"`
}

func reportOf(name string, v sim.Verdict, argv []string) report {
	r := report{Scenario: name, Hash: v.Hash.String(), OK: v.OK(), Leases: []lease{}, Violations: []violation{}, Probes: probes(v.Probes), Warnings: v.Warnings, Argv: argv}
	for _, l := range v.Leases {
		margin := marginOf(l)
		if margin != nil && (r.Margin == nil || *margin < *r.Margin) {
			r.Margin = margin
		}
		r.Leases = append(r.Leases, lease{l.Client, l.Key, l.Granted, instant(l.TrustEnds), instant(l.ExclusionEnds), margin, l.Required.String()})
	}
	for _, x := range v.Violations {
		y := violation{x.Invariant, x.At, x.Client, x.Key, nil, x.Text}
		if x.HasMargin {
			ns := int64(x.Margin)
			y.Margin = &ns
		}
		r.Violations = append(r.Violations, y)
	}
	return r
}

// instant is nil for one that no run reaches.
func instant(ns int64) *int64 {
	if ns == math.MaxInt64 {
		return nil
	}
	return &ns
}

func marginOf(l sim.Lease) *int64 {
	if instant(l.ExclusionEnds) == nil || instant(l.TrustEnds) == nil {
		return nil
	}
	ns := int64(l.Margin())
	return &ns
}

// probes are written in the order of their numbers.
type probes sim.Probes

// MarshalJSON is json.Marshaler's.
func (p probes) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, n := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(sim.Probe(i).String())
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		count, err := json.Marshal(n)
		if err != nil {
			return nil, err
		}
		b.Write(count)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// write writes the report as one line.
func (r report) write(w io.Writer) error {
	return writeJSON(w, r)
}

// writeJSON writes one JSON object on a line of its own.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
