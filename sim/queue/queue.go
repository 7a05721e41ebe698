// Package queue holds what is going to happen in a run, the next first.
package queue

// An Event is something that is going to happen. It is a value: A and B index
// tables of its owner.
//
// What happens at one instant is ordered by kind, client and node, so that it
// does not hang on who asked first, and only then by who asked first.
type Event struct {
	At   int64  // true time in nanoseconds
	Rank uint64 // see Rank; no two events have the same
	A    int32
	B    uint32
}

// Rank packs what orders the events of one instant: kind 8 bits, client 8, node
// 8, sequence 40.
func Rank(kind uint8, client, node int, seq uint64) uint64 {
	return uint64(kind)<<56 | uint64(client&255)<<48 | uint64(node&255)<<40 | seq&(1<<40-1)
}

// Kind is what Rank was given.
func (e *Event) Kind() uint8 { return uint8(e.Rank >> 56) }

// Client is what Rank was given, of 8 bits.
func (e *Event) Client() int { return int(e.Rank >> 48 & 255) }

// Node is what Rank was given, of 8 bits.
func (e *Event) Node() int { return int(e.Rank >> 40 & 255) }

func (e *Event) before(o *Event) bool {
	return e.At < o.At || e.At == o.At && e.Rank < o.Rank
}

// A Queue is a heap of events in which each has up to four children. The zero
// Queue is empty. It allocates nothing once it has grown.
type Queue struct{ heap []Event }

// Len is the number of events.
func (q *Queue) Len() int { return len(q.heap) }

// Reset empties the queue and keeps its memory.
func (q *Queue) Reset() { q.heap = q.heap[:0] }

// First is the event that Pop would return. There must be one. It is good until
// the next Push or Pop.
func (q *Queue) First() *Event { return &q.heap[0] }

// Push puts an event in.
func (q *Queue) Push(e Event) {
	h := append(q.heap, e)
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) >> 2
		if !e.before(&h[p]) {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = e
	q.heap = h
}

// Pop takes out the first event. There must be one.
func (q *Queue) Pop() Event {
	h := q.heap
	top, n := h[0], len(h)-1
	e := h[n]
	h = h[:n]
	q.heap = h
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := i<<2 + 1
		if c >= n {
			break
		}
		least := c
		for j := c + 1; j < min(c+4, n); j++ {
			if h[j].before(&h[least]) {
				least = j
			}
		}
		if !h[least].before(&e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
	return top
}
