// Package findings keeps what searches found, a JSON line each, so that runs on many
// machines can be put together and a break is told once.
//
// There are two kinds of lines. A break is one seed in which a promise broke. A sum
// is one search, or one shard of it: how many runs held, how close the closest came,
// and which dangerous states were seen. Lines have an order (breaks first, by search
// and seed), so that the same search gives the same bytes however it was split.
package findings

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"driftlock/sim"
)

// Search names a search. Two with the same name make the same runs.
type Search struct {
	Code     string       `json:"code"` // version of the code that ran
	Space    string       `json:"space"`
	Sampling sim.Sampling `json:"sampling"`
	Guided   bool         `json:"guided,omitzero"`
	Flaws    string       `json:"flaws,omitzero"` // of a flawed lock, with commas
	Bugs     bool         `json:"bugs,omitzero"`  // only breaks that no assumption explains
	First    uint64       `json:"first"`
	Seeds    uint64       `json:"seeds"` // to run in all; 0: until stopped
}

// Break is a seed in which a promise broke.
type Break struct {
	Search
	Seed      uint64        `json:"seed"`
	Invariant sim.Invariant `json:"invariant"`
	Margin    *int64        `json:"margin_ns"`       // of what broke; null: it has none
	Unmet     []string      `json:"unmet,omitempty"` // the assumptions that its scenario does not keep
	Hash      string        `json:"hash"`
	File      string        `json:"file"` // its scenario, in the folder of the records
}

// Sum is what the runs of a search came to, or those of a shard.
type Sum struct {
	Search
	Shard   string         `json:"shard,omitzero"`   // "2/4"
	Stopped bool           `json:"stopped,omitzero"` // it ended before its last seed
	Held    uint64         `json:"held"`             // runs in which nothing broke
	Broke   uint64         `json:"broke"`
	Leases  uint64         `json:"leases"`
	Closest *Closest       `json:"closest"` // null: no run that held had a lease
	Probes  map[string]int `json:"probes"`  // how often each dangerous state was seen
}

// Closest is the run that held with the smallest λ (sim.Lease.Slack).
type Closest struct {
	Seed uint64 `json:"seed"`
	Left int64  `json:"left_ns"`
}

// Records are those of a file.
type Records struct {
	Breaks []Break
	Sums   []Sum
}

// BreakOf is the record of a break, whose scenario is kept in file.
func BreakOf(s Search, b sim.Break, file string) Break {
	r := Break{Search: s, Seed: b.Seed, Invariant: b.Violation.Invariant, Hash: b.Hash.String(), File: file}
	if b.Violation.HasMargin {
		r.Margin = new(int64(b.Violation.Margin))
	}
	for _, u := range b.Unmet {
		if a := u.Assumption.String(); !slices.Contains(r.Unmet, a) {
			r.Unmet = append(r.Unmet, a)
		}
	}
	return r
}

// SumOf is the record of a search that came so far.
func SumOf(s Search, shard string, stopped bool, p sim.Progress) Sum {
	r := Sum{Search: s, Shard: shard, Stopped: stopped, Held: p.Seeds - uint64(p.Breaks), Broke: uint64(p.Breaks), Leases: uint64(p.Leases), Probes: map[string]int{}}
	if left, seed, ok := p.Closest(); ok {
		r.Closest = &Closest{seed, int64(left)}
	}
	for i, n := range p.Probes {
		if n > 0 {
			r.Probes[sim.Probe(i).String()] = n
		}
	}
	return r
}

// Same says that two records are of one break: it is of the same runs, whatever
// version of the code made them, and however many more of them there were.
func (b *Break) Same(o *Break) bool { return b.compare(o) == 0 }

// compare orders breaks; equal ones are the same break.
func (b *Break) compare(o *Break) int {
	return cmp.Or(b.Search.runs(&o.Search), cmp.Compare(b.Seed, o.Seed), cmp.Compare(b.Invariant, o.Invariant))
}

// runs orders searches by how their seeds are run.
func (s *Search) runs(o *Search) int {
	return cmp.Or(cmp.Compare(s.Space, o.Space), cmp.Compare(s.Sampling, o.Sampling), compareBool(s.Guided, o.Guided),
		s.island(o), cmp.Compare(s.Flaws, o.Flaws), compareBool(s.Bugs, o.Bugs))
}

// island tells guided searches apart that began elsewhere: a number stands for
// another run there.
func (s *Search) island(o *Search) int {
	if !s.Guided {
		return 0
	}
	return cmp.Compare(s.First, o.First)
}

func (s *Search) compare(o *Search) int {
	return cmp.Or(s.runs(o), cmp.Compare(s.First, o.First), cmp.Compare(s.Seeds, o.Seeds), cmp.Compare(s.Code, o.Code))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// line is either kind, as it is written.
type line struct {
	Break *Break `json:"break,omitzero"`
	Sum   *Sum   `json:"sum,omitzero"`
}

// Append writes a break as a line at the end of b.
func (b Break) Append(to []byte) []byte { return appendLine(to, line{Break: &b}) }

func appendLine(to []byte, l line) []byte {
	text, err := json.Marshal(l, json.Deterministic(true))
	if err != nil {
		panic("findings: " + err.Error()) // plain data
	}
	return append(append(to, text...), '\n')
}

// Text is the records in their order, a line each.
func (r *Records) Text() (text []byte) {
	for i := range r.Breaks {
		text = appendLine(text, line{Break: &r.Breaks[i]})
	}
	for i := range r.Sums {
		text = appendLine(text, line{Sum: &r.Sums[i]})
	}
	return text
}

// maxLine is more than any line of records has: a device that never ends does not fill
// the memory.
const maxLine = 1 << 20

// Read reads records. Name is what the file is called in errors. A last line that
// was cut off, as when a machine went down in the midst of writing, is passed over.
// One that is whole but for its end of line counts.
func Read(r io.Reader, name string) (*Records, error) {
	all := &Records{}
	in := bufio.NewReaderSize(r, maxLine)
	for n := 1; ; n++ {
		text, err := in.ReadSlice('\n')
		switch {
		case err == bufio.ErrBufferFull:
			return nil, fmt.Errorf("%s, line %d: longer than %d bytes: not a record of a search (they are written by replay search --records)", name, n, maxLine)
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		last := err == io.EOF
		if len(bytes.TrimSpace(text)) > 0 {
			var l line
			switch err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); {
			case err == nil:
				err = all.take(l)
				if err != nil {
					return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
				}
			case !last || !cutOff(text):
				return nil, fmt.Errorf("%s, line %d: not a record of a search (they are written by replay search --records): %w", name, n, err)
			}
		}
		if last {
			return all, nil
		}
	}
}

// cutOff says that a text may be the beginning of a record. What is none is somebody's
// file, and not to be written over.
func cutOff(text []byte) bool {
	return slices.ContainsFunc([]string{`{"break":{`, `{"sum":{`}, func(begin string) bool {
		n := min(len(begin), len(text))
		return string(text[:n]) == begin[:n]
	})
}

func (r *Records) take(l line) error {
	switch {
	case (l.Break == nil) == (l.Sum == nil):
		return fmt.Errorf("neither a break nor a sum: each line is one of them")
	case l.Break != nil && (!strings.HasSuffix(l.Break.File, ".json") || strings.ContainsAny(l.Break.File, `/\`)):
		return fmt.Errorf("break.file %q: must be the name of a .json file in the same folder", l.Break.File)
	case l.Break != nil && l.Break.Invariant == 0:
		return fmt.Errorf("break.invariant: missing")
	case l.Break != nil:
		r.Breaks = append(r.Breaks, *l.Break)
	default:
		if _, _, err := Shard(l.Sum.Shard); l.Sum.Shard != "" && err != nil {
			return fmt.Errorf("sum.shard %w", err)
		}
		r.Sums = append(r.Sums, *l.Sum)
	}
	return nil
}

// maxShards is how many machines may share a search.
const maxShards = 10_000

// Shard reads "2/4": the second of four.
func Shard(text string) (i, n int, err error) {
	var rest string
	if k, err := fmt.Sscanf(text+"\n", "%d/%d%s", &i, &n, &rest); k != 2 || i < 1 || i > n || err == nil || text != fmt.Sprintf("%d/%d", i, n) {
		return 0, 0, fmt.Errorf("%q: is written i/n, from 1/n to n/n", text)
	}
	if n > maxShards {
		return 0, 0, fmt.Errorf("%q: must be one of at most %d", text, maxShards)
	}
	return i, n, nil
}
