// Package queue holds what is going to happen in a run, the next first.
package queue

import "math"

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
func (e Event) Kind() uint8 { return uint8(e.Rank >> 56) }

// Client is what Rank was given, of 8 bits.
func (e Event) Client() int { return int(e.Rank >> 48 & 255) }

// Node is what Rank was given, of 8 bits.
func (e Event) Node() int { return int(e.Rank >> 40 & 255) }

func (e *Event) before(o *Event) bool {
	return e.At < o.At || e.At == o.At && e.Rank < o.Rank
}

// A Queue has the events that come soon in a list, in their order, and those that
// come later in a heap in which each has up to four children. A run has little under
// way at a time, so that most of what it pushes comes soon and passes but a few.
//
// The zero Queue is empty. It allocates nothing once it has grown.
type Queue struct {
	near []Event // the next is the last, so that taking it moves nothing
	far  []Event // a heap of what comes after all of near; empty if near is
}

// Near holds at most nearMax events. When it is full, its later half moves to the
// heap; when it is empty, as many come from there.
const nearMax = 32

// Len is the number of events.
func (q *Queue) Len() int { return len(q.near) + len(q.far) }

// Reset empties the queue and keeps its memory.
func (q *Queue) Reset() { q.near, q.far = q.near[:0], q.far[:0] }

// Next is the time of the event that Pop would return; beyond any if there is none.
func (q *Queue) Next() int64 {
	if n := len(q.near); n > 0 {
		return q.near[n-1].At
	}
	return math.MaxInt64
}

// First is the event that Pop would return. There must be one. It is good until
// the next Push or Pop.
func (q *Queue) First() *Event { return &q.near[len(q.near)-1] }

// Push puts an event in.
func (q *Queue) Push(e Event) {
	if len(q.far) > 0 && !e.before(&q.near[0]) {
		q.pushFar(e)
		return
	}
	q.near = append(q.near, e)
	h := q.near
	i := len(h) - 1
	for ; i > 0 && h[i-1].before(&e); i-- {
		h[i] = h[i-1]
	}
	h[i] = e
	if len(h) == nearMax {
		q.spill()
	}
}

// Pop takes out the first event. There must be one.
func (q *Queue) Pop() Event {
	n := len(q.near) - 1
	e := q.near[n]
	q.near = q.near[:n]
	if n == 0 && len(q.far) > 0 {
		q.fill()
	}
	return e
}

// spill moves the later half of near to the heap.
func (q *Queue) spill() {
	for _, e := range q.near[:nearMax/2] {
		q.pushFar(e)
	}
	q.near = q.near[:copy(q.near, q.near[nearMax/2:])]
}

// fill moves the first of the heap to near, which is empty.
func (q *Queue) fill() {
	n := min(nearMax/2, len(q.far))
	q.near = q.near[:n] // it has had more
	for i := n - 1; i >= 0; i-- {
		q.near[i] = q.popFar()
	}
}

func (q *Queue) pushFar(e Event) {
	h := append(q.far, e)
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
	q.far = h
}

func (q *Queue) popFar() Event {
	h := q.far
	top, n := h[0], len(h)-1
	e := h[n]
	h = h[:n]
	q.far = h
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
		if c+4 <= n {
			least = first(h, first(h, c, c+1), first(h, c+2, c+3))
		} else {
			for j := c + 1; j < n; j++ {
				least = first(h, least, j)
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

// first is the one of h[i] and h[j] that comes first.
func first(h []Event, i, j int) int {
	if h[j].before(&h[i]) {
		return j
	}
	return i
}
