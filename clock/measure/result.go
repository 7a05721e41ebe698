// Package measure finds out how the clocks of servers run against the clock of this
// machine: how fast, how far apart, and whether they step. A server is asked for its
// time over and over; the round trips that took longest are left out, a line is laid
// through the rest.
package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"driftlock/clock"
)

// A Result is what was measured, as it is kept in a file. Rates and offsets are the
// servers' against this machine's clock, which may be off itself: what a lock needs
// is the difference.
type Result struct {
	Format     string         `json:"format"`     // Format
	Taken      time.Time      `json:"taken"`      // when it began, by this machine's calendar
	For        clock.Duration `json:"for"`        // how long it took
	Confidence float64        `json:"confidence"` // of the intervals
	Servers    []Server       `json:"servers"`
}

// Format is the word that a file of results begins with.
const Format = "driftlock-clocks-1"

// A Server is what was measured of one server.
type Server struct {
	Name      string         `json:"name"`
	RunID     string         `json:"run_id,omitzero"`
	Version   string         `json:"version,omitzero"`
	Rate      Interval       `json:"rate_ppm"` // how much faster it runs, in parts per million
	Offset    clock.Duration `json:"offset"`   // by how much it is ahead at the end
	OffsetErr clock.Duration `json:"offset_error"`
	Trip      clock.Duration `json:"round_trip"` // the shortest
	Samples   int            `json:"samples"`
	Steps     []Step         `json:"steps,omitempty"`
	Slew      float64        `json:"slew_ppm,omitzero"` // the rate of a stretch that was far from the rest
	Frozen    clock.Duration `json:"frozen,omitzero"`   // the longest that it stood still
	Failed    string         `json:"failed,omitzero"`   // why there is no measure of it
	Warnings  []string       `json:"warnings,omitempty"`
}

// An Interval is an estimate and where the truth lies with the result's confidence.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// A Step is a jump of a clock.
type Step struct {
	At clock.Duration `json:"at"` // after the begin
	By clock.Duration `json:"by"`
}

// Measured are the servers of which there is a measure.
func (r *Result) Measured() (list []Server) {
	for _, s := range r.Servers {
		if s.Failed == "" {
			list = append(list, s)
		}
	}
	return list
}

// Distinct are the servers of which there is a measure, each once: without those that are
// another address of one before them.
func (r *Result) Distinct() (list []Server) {
	seen := make(map[string]bool)
	for _, s := range r.Measured() {
		if s.RunID == "" || !seen[s.RunID] {
			list = append(list, s)
		}
		seen[s.RunID] = true
	}
	return list
}

// Warnings are those of all servers, each with its server's name.
func (r *Result) Warnings() (list []string) {
	for _, s := range r.Servers {
		for _, w := range s.Warnings {
			list = append(list, s.Name+": "+w)
		}
	}
	return list
}

// AppendJSON appends the result as a file has it.
func (r *Result) AppendJSON(b []byte) ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(append(b, text...), '\n'), err
}

// Load reads a file of results. The error names the file and what is wrong with it.
func Load(name string) (*Result, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: is no result of replay measure: %w", name, err)
	}
	switch {
	case r.Format != Format:
		return nil, fmt.Errorf("%s: is no result of replay measure: format %q, and %q is expected", name, r.Format, Format)
	case r.For <= 0:
		return nil, fmt.Errorf("%s: for %v: must be above 0", name, r.For)
	case len(r.Measured()) == 0:
		return nil, fmt.Errorf("%s: no server was measured", name)
	}
	for i, s := range r.Measured() {
		if !(s.Rate.Low <= s.Rate.High && s.Rate.Low > -900_000 && s.Rate.High < 900_000) {
			return nil, fmt.Errorf("%s: servers[%d].rate_ppm: from %v to %v: must be within ±900000, the first not above the second", name, i, s.Rate.Low, s.Rate.High)
		}
	}
	return r, nil
}
