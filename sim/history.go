package sim

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"unsafe"

	"driftlock/redlock"
)

// A History is what happened in one run, in true time. It is plain data: Check
// judges it and a timeline shows it without the world that made it.
type History struct {
	scenario Scenario
	events   []Event
	texts    []string // keys, owners and notes; events name them by index
	index    map[string]int32
	hash     hasher
	end      int64
	closed   bool      // what is added now is not history
	most     int       // events that it may have
	stop     int       // the step at which Stopped is called; 0: at none
	full     bool      // it had more
	spare    Event     // for what is not history
	recent   [4]recent // asked for last: the same few strings come again and again
	oldest   int       // of those
}

// Event is one thing that happened. What the fields mean hangs on Kind; a field
// that a kind does not use is zero, Client and Node are -1 there.
type Event struct {
	At     int64 // true time in nanoseconds
	Local  int64 // what the machine's clock says then: a node's wall clock, else the clock the client lives on
	Value  int64
	Kind   EventKind
	Op     redlock.Op
	Status redlock.Status
	Client int16
	Node   int16
	Proc   int16  // the process of that client, from 0; -1: its connection or a timer
	Nth    uint32 // of a message from that client to that node, from 1; of a grant: its TTL in ms
	Key    Text
	Owner  Text // the owner value of one attempt
	Note   Text // an error, a log line
}

// recent is a text and its number; the zero one is right.
type recent struct {
	s string
	t Text
}

// Text is a string of the history, by number; 0 is the empty one.
type Text int32

// EventKind says what happened.
type EventKind uint8

const (
	Started    EventKind = iota + 1 // process: began
	Ended                           // process: returned; Note: how, unless normally
	Read                            // process: read its clock (Local)
	Slept                           // process: began to sleep; Value: for how long, on its clock
	Asked                           // process: began to ask all nodes; Op, Key, Owner; Value: how long it waits, on its clock
	Sent                            // client to node: Nth, Op, Key, Owner; Value: true time of arrival, -1 lost on the way, -2 refused
	Executed                        // node: executed Op of Client's Nth; Status; Value: the key's expiry reading in ms (0: none)
	Dropped                         // node: did not execute Client's Nth, being down; Value: true time at which the client hears that, 0 never
	Answered                        // node to client: Value: true time of arrival of the reply to Nth, -1 lost on the way
	Heard                           // client from node: the reply to Op of Nth; Status
	GaveUp                          // client: its connection gave up waiting for Nth
	Granted                         // process: Acquire returned; Key, Owner; Value: reading at which trust ends
	Refused                         // process: Acquire failed; Key, Note
	Extended                        // process: Extend succeeded; Key, Owner; Value: reading at which trust ends now
	Unextended                      // process: Extend failed; Key, Owner, Note; Value 1: the holder was told that the lock is lost
	Releasing                       // process: called Release; Key, Owner
	Released                        // process: Release returned; Key, Owner, Note unless nil
	Lost                            // process: its holder's context ended; Key, Owner, Note
	Faulted                         // machine: Value: index of the fault in the scenario, which begins
	Healed                          // machine: Value: index of the fault, which ends
	Holds                           // node: after a fault it has Key for Owner (0: for nobody) until Value
	Wanted                          // process: called Acquire; Key
	Fenced                          // process: its grant has a fence number; Key, Owner; Value: the number
	Wrote                           // process: sent a write to a resource (Node: after the nodes); Nth; Value: true time of arrival, -1 lost, -2 refused
	Stored                          // resource: carried out Client's write Nth; Status Done, or Others: refused; Value: its fence number, 0 for none
	Noted                           // process: a log line of the workload; Note
	Over                            // the run's end: all contexts end
)

var kindWords = [...]string{
	Started: "started", Ended: "ended", Read: "read", Slept: "slept", Asked: "asked", Sent: "sent", Executed: "executed",
	Dropped: "dropped", Answered: "answered", Heard: "heard", GaveUp: "gave-up", Granted: "granted", Refused: "refused",
	Extended: "extended", Unextended: "unextended", Releasing: "releasing", Released: "released", Lost: "lost",
	Faulted: "faulted", Healed: "healed", Holds: "holds", Wanted: "wanted", Fenced: "fenced", Wrote: "wrote", Stored: "stored", Noted: "noted", Over: "over",
}

// String is a word such as "granted".
func (k EventKind) String() string {
	if int(k) < len(kindWords) && kindWords[k] != "" {
		return kindWords[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Hash names a history: equal hashes mean that everything that happened, and
// every reading of a clock, was the same.
type Hash uint64

// String is 16 hex digits.
func (h Hash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// Scenario is what was run.
func (h *History) Scenario() Scenario { return h.scenario }

// Hash is the hash of the whole history.
func (h *History) Hash() Hash { return Hash(h.hash.sum) }

// Len is the number of events.
func (h *History) Len() int { return len(h.events) }

// Event is the event of a step, which count from 1.
func (h *History) Event(step int) Event { return h.events[step-1] }

// Events yields all events with their steps, which count from 1.
func (h *History) Events() iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		for i, e := range h.events {
			if !yield(i+1, e) {
				return
			}
		}
	}
}

// Text is the string that an event names.
func (h *History) Text(t Text) string { return h.texts[t] }

// End is the true time at which the world stopped.
func (h *History) End() int64 { return h.end }

func (h *History) reset(sc Scenario) {
	h.scenario, h.events, h.texts, h.end = sc, h.events[:0], append(h.texts[:0], ""), 0
	h.closed, h.full, h.recent = false, false, [4]recent{}
	h.hash = hasher{sum: 0x9e3779b97f4a7c15}
	if h.index == nil {
		h.index = make(map[string]int32)
	}
	clear(h.index)
	h.index[""] = 0
}

// text numbers a string, which becomes part of the hash when it is new.
func (h *History) text(s string) Text {
	for i := range h.recent {
		if r := &h.recent[i]; len(r.s) == len(s) && (unsafe.StringData(r.s) == unsafe.StringData(s) || r.s == s) {
			return r.t
		}
	}
	t := h.lookUp(s)
	h.recent[h.oldest] = recent{s, t}
	h.oldest = (h.oldest + 1) % len(h.recent)
	return t
}

func (h *History) lookUp(s string) Text {
	if i, ok := h.index[s]; ok {
		return Text(i)
	}
	if h.closed {
		return 0
	}
	i := int32(len(h.texts))
	h.texts = append(h.texts, s)
	h.index[s] = i
	h.hash.text(s)
	return Text(i)
}

// next makes room for an event, which its caller fills in place and then seals.
// What is not to become history gets room of its own.
func (h *History) next() *Event {
	if h.closed || h.most > 0 && len(h.events) == h.most {
		h.full = h.full || !h.closed
		h.closed = true
		h.spare = Event{}
		return &h.spare
	}
	if n := len(h.events); n < cap(h.events) {
		h.events = h.events[:n+1]
		h.events[n] = Event{}
	} else {
		h.events = append(h.events, Event{})
	}
	return &h.events[len(h.events)-1]
}

// seal takes an event into the hash.
func (h *History) seal(e *Event) {
	if h.closed {
		return
	}
	h.hash.event(e)
	if len(h.events) == h.stop {
		Stopped(h, h.stop, *e)
	}
}

func (h *History) add(e *Event) {
	to := h.next()
	*to = *e
	h.seal(to)
}

// hasher folds words one by one. Folding is a bijection of the sum for a given
// word and of the word for a given sum, so histories that differ in one word
// never have the same hash.
type hasher struct{ sum uint64 }

func (h *hasher) word(v uint64) {
	h.sum = bits.RotateLeft64(h.sum^v, 29) * 0x9fb21c651e98df25
}

func (h *hasher) event(e *Event) {
	h.word(uint64(e.At))
	h.word(uint64(e.Local))
	h.word(uint64(e.Value))
	// A client's number needs but the lower of its bytes: the upper one takes in
	// that of a process beyond 254.
	high := uint64(uint16(e.Proc)+1) >> 8 & 255
	h.word(uint64(e.Kind)<<56 | uint64(e.Op)<<48 | uint64(e.Status)<<40 | uint64(uint16(e.Client))<<24 ^ high<<32 | uint64(uint16(e.Node))<<8 | uint64(uint8(e.Proc)))
	h.word(uint64(e.Nth)<<32 | uint64(uint32(e.Key)))
	h.word(uint64(uint32(e.Owner))<<32 | uint64(uint32(e.Note)))
}

func (h *hasher) text(s string) {
	h.word(uint64(len(s)))
	for len(s) >= 8 {
		h.word(binary.LittleEndian.Uint64([]byte(s[:8])))
		s = s[8:]
	}
	var tail [8]byte
	copy(tail[:], s)
	h.word(binary.LittleEndian.Uint64(tail[:]))
}

// FirstDifference compares two histories. Same says that they are equal; else
// step is the first at which they differ (or at which one has ended).
func FirstDifference(a, b *History) (step int, same bool) {
	for i := range min(len(a.events), len(b.events)) {
		if !a.sameEvent(b, i) {
			return i + 1, false
		}
	}
	if len(a.events) != len(b.events) {
		return min(len(a.events), len(b.events)) + 1, false
	}
	return 0, true
}

func (h *History) sameEvent(o *History, i int) bool {
	x, y := h.events[i], o.events[i]
	same := h.texts[x.Key] == o.texts[y.Key] && h.texts[x.Owner] == o.texts[y.Owner] && h.texts[x.Note] == o.texts[y.Note]
	x.Key, x.Owner, x.Note = y.Key, y.Owner, y.Note
	return same && x == y
}
