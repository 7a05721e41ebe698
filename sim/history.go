package sim

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"time"

	"driftlock/redlock"
)

// A History is what happened in one run, in true time. It is plain data: Check
// judges it and a timeline shows it without the world that made it.
type History struct {
	scenario Scenario
	events   []Event
	texts    []string // keys, owners and notes; events name them by index
	slots    []Text   // their numbers by their hashes, at most half of them used: 0 is none, for "" needs no place
	hash     hasher
	end      int64
	closed   bool  // what is added now is not history
	room     int   // up to so many events, to take one in is no more than its place and its hash
	most     int   // events that it may have
	stop     int   // the step at which Stopped is called; 0: at none
	full     bool  // it had more
	spare    Event // for what is not history
	wanted   []time.Duration
	options  []deadline // that locks with options of the code told: as little a part of it as what is wanted
	guesses  [32]Text   // texts by their ends: the same few strings come again and again
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

// Wanted are the TTLs that locks were asked for in this run, each once, in whole
// milliseconds, also where nothing came of it: where the lock refused to try, say. They
// are part of neither the hash nor a recorded history.
func (h *History) Wanted() []time.Duration { return slices.Clone(h.wanted) }

func (h *History) want(ttl time.Duration) {
	if ttl = ttl.Truncate(time.Millisecond); ttl > 0 && !slices.Contains(h.wanted, ttl) {
		h.wanted = append(h.wanted, ttl)
	}
}

// End is the true time at which the world stopped.
func (h *History) End() int64 { return h.end }

func (h *History) reset(sc *Scenario) {
	h.scenario, h.events, h.texts, h.end = *sc, h.events[:0], append(h.texts[:0], ""), 0
	h.closed, h.full, h.room, h.wanted, h.options = false, false, 0, h.wanted[:0], h.options[:0]
	h.hash = hasher{sum: 0x9e3779b97f4a7c15}
	h.place(64)
}

// text numbers a string, which becomes part of the hash when it is new.
func (h *History) text(s string) Text {
	if s == "" {
		return 0
	}
	guess := &h.guesses[(s[0]+2*s[len(s)-1])%32]
	if t := uint(*guess); t < uint(len(h.texts)) && h.texts[t] == s {
		return Text(t)
	}
	*guess = h.lookUp(s)
	return *guess
}

// lookUp is text where the guess was wrong.
func (h *History) lookUp(s string) Text {
	i := h.slot(s)
	if h.slots[i] == 0 && !h.closed {
		h.slots[i] = Text(len(h.texts))
		h.texts = append(h.texts, s)
		h.hash.text(s)
		if 2*len(h.texts) > len(h.slots) {
			h.place(2 * len(h.slots))
			return Text(len(h.texts) - 1)
		}
	}
	return h.slots[i]
}

// slot is the one that has the number of a text, or where that belongs.
func (h *History) slot(s string) int {
	last := len(h.slots) - 1
	i := int(maphash.String(textSeed, s)) & last
	for h.slots[i] != 0 && h.texts[h.slots[i]] != s {
		i = (i + 1) & last
	}
	return i
}

// textSeed differs from process to process: it says where a text is looked for, not
// which number it gets.
var textSeed = maphash.MakeSeed()

// place puts the texts into so many slots, a power of two.
func (h *History) place(slots int) {
	if cap(h.slots) < slots {
		h.slots = make([]Text, slots)
	}
	h.slots = h.slots[:slots]
	clear(h.slots)
	for t := 1; t < len(h.texts); t++ {
		h.slots[h.slot(h.texts[t])] = Text(t)
	}
}

// add takes in an event.
func (h *History) add(e *Event) {
	if n := len(h.events); n < h.room {
		h.events = h.events[:n+1]
		h.events[n] = *e
		h.hash.event(e)
		return
	}
	to := h.grow()
	*to = *e
	if h.closed {
		return
	}
	h.hash.event(e)
	if len(h.events) == h.stop {
		Stopped(h, h.stop, *e)
	}
}

// grow makes room for an event where none is left. What is not to become history
// gets room of its own.
func (h *History) grow() *Event {
	if h.closed || h.most > 0 && len(h.events) == h.most {
		if !h.closed {
			h.fill()
		}
		h.close()
		return &h.spare
	}
	h.events = append(h.events, Event{})
	if !h.full && h.stop == 0 {
		h.room = cap(h.events)
		if h.most > 0 {
			h.room = min(h.room, h.most)
		}
	}
	return &h.events[len(h.events)-1]
}

// close ends the history: what is added now is not part of it.
func (h *History) close() { h.closed, h.room = true, 0 }

// fill ends it because it is too long.
func (h *History) fill() { h.full, h.room = true, 0 }

// hasher folds words one by one. Folding is a bijection of the sum for a given
// word and of the word for a given sum, so histories that differ in one word
// never have the same hash.
type hasher struct{ sum uint64 }

func (h *hasher) word(v uint64) { h.sum = fold(h.sum, v) }

func fold(sum, v uint64) uint64 { return bits.RotateLeft64(sum^v, 29) * 0x9fb21c651e98df25 }

// event takes in the words of an event.
func (h *hasher) event(e *Event) {
	sum := fold(h.sum, uint64(e.At))
	sum = fold(sum, uint64(e.Local))
	sum = fold(sum, uint64(e.Value))
	sum = fold(sum, what(e.Kind, e.Op, e.Status, e.Client, e.Node, e.Proc))
	sum = fold(sum, pair(int32(e.Nth), e.Key))
	h.sum = fold(sum, pair(int32(e.Owner), e.Note))
}

// what is the word of an event that says what happened, and where. A client's number
// needs but the lower of its bytes: the upper one takes in that of a process beyond 254.
func what(k EventKind, op redlock.Op, s redlock.Status, client, node, proc int16) uint64 {
	high := uint64(uint16(proc)+1) >> 8 & 255
	return uint64(k)<<56 | uint64(op)<<48 | uint64(s)<<40 | uint64(uint16(client))<<24 ^ high<<32 | uint64(uint16(node))<<8 | uint64(uint8(proc))
}

// pair is a word of two numbers.
func pair(a int32, b Text) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

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
