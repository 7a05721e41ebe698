package sim

// A history as a file, so that a run can be looked at without the code that made
// it. One JSON object a line: the scenario, then every event with its step, then
// the end with the hash of the history and a checksum of all lines before.

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"strings"
	"unicode/utf8"

	"driftlock/sim/node"

	"github.com/go-json-experiment/json"
)

// RecordVersion is the version of the format of recorded histories that this code
// writes.
const RecordVersion = 1

// recordHead is the first line.
type recordHead struct {
	History  int      `json:"history"` // the format's version
	Scenario Scenario `json:"scenario"`
}

// recordEvent is a line of an event. A field that is zero is left out, and so are
// a client or a node that there is not.
type recordEvent struct {
	Step   int    `json:"step"`
	At     int64  `json:"at"` // true time in nanoseconds
	Kind   string `json:"kind"`
	Client string `json:"client,omitzero"`
	Proc   int16  `json:"proc,omitzero"`
	Node   string `json:"node,omitzero"` // or a resource
	Local  int64  `json:"local,omitzero"`
	Op     string `json:"op,omitzero"`
	Status string `json:"status,omitzero"`
	Nth    uint32 `json:"nth,omitzero"`
	Key    string `json:"key,omitzero"`
	Owner  string `json:"owner,omitzero"`
	Value  int64  `json:"value,omitzero"`
	Note   string `json:"note,omitzero"`
}

// recordTail is the last line.
type recordTail struct {
	End   int64  `json:"end"` // true time at which the world stopped
	Steps int    `json:"steps"`
	Hash  string `json:"hash"`
	Sum   string `json:"sha256"` // of all lines before
}

// Record writes the history as ReadHistory reads it. The error is w's.
func (h *History) Record(w io.Writer) error {
	r := recorder{w: bufio.NewWriter(w), sum: sha256.New()}
	r.line(recordHead{RecordVersion, h.scenario})
	for i := range h.events {
		r.line(h.recorded(i))
		if r.err != nil {
			return r.err
		}
	}
	r.line(recordTail{h.end, len(h.events), h.Hash().String(), hex.EncodeToString(r.sum.Sum(nil))})
	if r.err == nil {
		r.err = r.w.Flush()
	}
	return r.err
}

type recorder struct {
	w   *bufio.Writer
	sum hash.Hash
	err error
}

func (r *recorder) line(v any) {
	if r.err != nil {
		return
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		r.err = err
		return
	}
	text = append(text, '\n')
	r.sum.Write(text)
	_, r.err = r.w.Write(text)
}

// recorded is the line of the event i.
func (h *History) recorded(i int) recordEvent {
	e := &h.events[i]
	l := recordEvent{Step: i + 1, At: e.At, Kind: e.Kind.String(), Proc: e.Proc, Local: e.Local, Nth: e.Nth, Value: e.Value,
		Key: armoured(h.Text(e.Key)), Owner: armoured(h.Text(e.Owner)), Note: armoured(h.Text(e.Note))}
	if e.Client >= 0 {
		l.Client = h.scenario.Clients[e.Client].Name
	}
	if e.Node >= 0 {
		l.Node = h.scenario.Place(int(e.Node))
	}
	if e.Op != 0 {
		l.Op = node.Word(e.Op)
	}
	if e.Status != 0 {
		l.Status = e.Status.String()
	}
	return l
}

// armour is before a text that JSON cannot have, in base64.
const armour = "\x00base64:"

func armoured(s string) string {
	if utf8.ValidString(s) && !strings.HasPrefix(s, armour) {
		return s
	}
	return armour + base64.StdEncoding.EncodeToString([]byte(s))
}

func bare(s string) (string, error) {
	code, ok := strings.CutPrefix(s, armour)
	if !ok {
		return s, nil
	}
	b, err := base64.StdEncoding.DecodeString(code)
	return string(b), err
}
