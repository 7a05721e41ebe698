package sim

// event is something that is going to happen. It is a value: a and b index
// tables of the world.
//
// What happens at one instant is ordered by kind, client and node, so that it
// does not hang on who asked first, and only then by who asked first.
type event struct {
	at   int64
	rank uint64 // kind 8 bits, client 8, node 8, sequence 40
	a    int32
	b    uint32
}

func (e *event) kind() kind  { return kind(e.rank >> 56) }
func (e *event) client() int { return int(e.rank >> 48 & 255) }
func (e *event) node() int   { return int(e.rank >> 40 & 255) }

func rank(k kind, client, node int, seq uint64) uint64 {
	return uint64(k)<<56 | uint64(client)<<48 | uint64(node)<<40 | seq&(1<<40-1)
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.rank < o.rank
}

// queue is a heap of events in which each has up to four children.
type queue struct{ heap []event }

func (q *queue) push(e event) {
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

func (q *queue) pop() event {
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
