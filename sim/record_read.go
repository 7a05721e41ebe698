package sim

// Reading a history back. What is read may be no history at all, cut off, or
// edited: each is told, with the line.

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strconv"

	"driftlock/redlock"
	"driftlock/sim/node"

	"github.com/go-json-experiment/json"
)

// maxLineBytes is what a line of a recorded history may have: a scenario, and the
// rest of its line.
const maxLineBytes = maxFileBytes + 1<<10

// ErrNoHistory says that a file is not one of a recorded history: a scenario, say.
var ErrNoHistory = errors.New("no recorded history")

// LoadHistory reads the file of a recorded history; see ReadHistory.
func LoadHistory(file string) (*History, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	return ReadHistory(file, f)
}

// ReadHistory reads what Record has written: Check and a timeline tell of it what
// they told of the run. Name is what the errors call it: ErrNoHistory if its first
// line is not that of a history, else a *FieldError with the line.
func ReadHistory(name string, r io.Reader) (*History, error) {
	in := &reader{name: name, lines: bufio.NewReaderSize(r, 1<<16), sum: sha256.New()}
	h, err := in.head()
	if err != nil {
		return nil, err
	}
	for {
		text, err := in.next()
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(text, []byte(`{"end":`)) {
			if err := in.tail(h, text); err != nil {
				return nil, err
			}
			break
		}
		in.sum.Write(text)
		if err := in.event(h, text); err != nil {
			return nil, err
		}
	}
	if _, err := in.lines.ReadByte(); err != io.EOF {
		return nil, in.bad("there is text after the end of the history")
	}
	return h, nil
}

// isHistory says whether a text begins as a recorded history does.
func isHistory(text []byte) bool { return bytes.HasPrefix(text, []byte(`{"history":`)) }

// IsHistory says whether what r gives next is a recorded history, and not a
// scenario; it takes nothing from r.
func IsHistory(r *bufio.Reader) bool {
	text, _ := r.Peek(len(`{"history":`))
	return isHistory(text)
}

type reader struct {
	name    string
	lines   *bufio.Reader
	n       int // lines so far
	sum     hash.Hash
	clients map[string]int16
	nodes   map[string]int16
}

func (in *reader) bad(format string, a ...any) error {
	return &FieldError{File: in.name, Path: fmt.Sprintf("line %d", in.n), Text: fmt.Sprintf(format, a...)}
}

// next is the next line, with its end.
func (in *reader) next() ([]byte, error) {
	var text []byte
	in.n++
	for {
		part, err := in.lines.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > maxLineBytes:
			return nil, in.bad("longer than any line of a history")
		case err == nil:
			return text, nil
		case err == io.EOF:
			return nil, in.bad("the history is cut off: its last line, with the hash, is missing")
		case err != bufio.ErrBufferFull:
			return nil, fmt.Errorf("history: %w", err)
		}
	}
}

func (in *reader) head() (*History, error) {
	text, err := in.next()
	if err != nil {
		return nil, err
	}
	if !isHistory(text) {
		return nil, fmt.Errorf("%s: %w", in.name, ErrNoHistory)
	}
	in.sum.Write(text)
	var version struct {
		History int `json:"history"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, in.bad("no line of a history: %v", err)
	} else if version.History != RecordVersion {
		return nil, in.bad("version %d of the format, and this program reads version %d", version.History, RecordVersion)
	}
	var head recordHead
	if err := json.Unmarshal(text, &head, json.RejectUnknownMembers(true)); err != nil {
		return nil, inFile(in.name, misfit(err))
	}
	if err := head.Scenario.Check(); err != nil {
		return nil, inFile(in.name, err)
	}
	h := &History{}
	h.reset(&head.Scenario)
	in.clients, in.nodes = make(map[string]int16), make(map[string]int16)
	for i := range h.scenario.Clients {
		in.clients[h.scenario.Clients[i].Name] = int16(i)
	}
	for i := range len(h.scenario.Nodes) + len(h.scenario.Resources) {
		in.nodes[h.scenario.Place(i)] = int16(i)
	}
	return h, nil
}

// event adds the event of a line to the history.
func (in *reader) event(h *History, text []byte) error {
	var l recordEvent
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		var bad *FieldError
		errors.As(misfit(err), &bad)
		return in.bad("%s", bad)
	}
	e := Event{At: l.At, Local: l.Local, Value: l.Value, Client: -1, Node: -1, Proc: l.Proc, Nth: l.Nth}
	var ok bool
	switch {
	case l.Step != len(h.events)+1:
		return in.bad("step %d, where step %d should be", l.Step, len(h.events)+1)
	case len(h.events) == maxEvents:
		return in.bad("more than %d steps: no history has so many", maxEvents)
	case l.At < 0 || len(h.events) > 0 && l.At < h.events[len(h.events)-1].At:
		return in.bad("step %d lies before the one before it", l.Step)
	case l.Proc < -1:
		return in.bad("process %d: must be -1 or more", l.Proc)
	}
	if e.Kind, ok = kindOf(l.Kind); !ok {
		return in.bad("no kind of event is called %s", shown(l.Kind))
	}
	if e.Op, ok = opOf(l.Op); !ok {
		return in.bad("no operation is called %s", shown(l.Op))
	}
	if e.Status, ok = statusOf(l.Status); !ok {
		return in.bad("no status is called %s", shown(l.Status))
	}
	if l.Client != "" {
		if e.Client, ok = in.clients[l.Client]; !ok {
			return in.bad("no client is called %s", shown(l.Client))
		}
	}
	if l.Node != "" {
		if e.Node, ok = in.nodes[l.Node]; !ok {
			return in.bad("no node is called %s", shown(l.Node))
		}
	}
	for _, t := range []struct {
		to   *Text
		text string
	}{{&e.Key, l.Key}, {&e.Owner, l.Owner}, {&e.Note, l.Note}} {
		s, err := bare(t.text)
		if err != nil {
			return in.bad("%s: %v", shown(t.text), err)
		}
		*t.to = h.text(s)
	}
	if lacks := h.lacks(&e); lacks != "" {
		return in.bad("an event %q without %s", l.Kind, lacks)
	}
	h.events = append(h.events, e)
	return nil
}

// lacks is what an event of its kind has and this one has not: those who look at
// it count on that.
func (h *History) lacks(e *Event) string {
	nodes := int16(len(h.scenario.Nodes))
	switch e.Kind {
	case Over:
		return ""
	case Faulted, Healed:
		if e.Value < 0 || e.Value >= int64(len(h.scenario.Faults)) {
			return "a fault of the scenario"
		}
		if e.Client < 0 && (e.Node < 0 || e.Node >= nodes) {
			return "a machine"
		}
		return ""
	case Holds:
		if e.Node < 0 || e.Node >= nodes {
			return "a node"
		}
		return ""
	}
	if e.Client < 0 {
		return "a client"
	}
	switch e.Kind {
	case Wrote, Stored:
		if e.Node < nodes {
			return "a resource"
		}
	case Executed:
		if e.Node < 0 || e.Node >= nodes {
			return "a node"
		}
	case Sent, Dropped, Answered, Heard, GaveUp:
		if e.Node < 0 {
			return "a node"
		}
	}
	return ""
}

// tail ends a history, if all of it is there as it was written.
func (in *reader) tail(h *History, text []byte) error {
	var t recordTail
	if err := json.Unmarshal(text, &t, json.RejectUnknownMembers(true)); err != nil {
		return in.bad("%v", misfit(err))
	}
	if t.Sum != hex.EncodeToString(in.sum.Sum(nil)) || t.Steps != len(h.events) {
		return in.bad("the history is not as it was written: lines were changed or lost")
	}
	sum, err := strconv.ParseUint(t.Hash, 16, 64)
	if err != nil || Hash(sum).String() != t.Hash {
		return in.bad("%s is no hash", shown(t.Hash))
	}
	h.hash.sum, h.end, h.closed = sum, t.End, true
	return nil
}

func kindOf(word string) (EventKind, bool) {
	i := slices.Index(kindWords[:], word)
	return EventKind(i), i > 0
}

func statusOf(word string) (redlock.Status, bool) {
	if word == "" {
		return 0, true
	}
	for s := redlock.Failed; s <= redlock.Ours; s++ {
		if s.String() == word {
			return s, true
		}
	}
	return 0, false
}

// opOf finds an operation by its word.
func opOf(word string) (redlock.Op, bool) {
	if word == "" {
		return 0, true
	}
	for op := redlock.Op(1); op < 255; op++ {
		if node.Word(op) == word {
			return op, true
		}
	}
	return 0, false
}
