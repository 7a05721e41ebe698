package redlock

import "time"

// For how long goroutines of the production transport rest. It is real time, whatever
// the lock's clock: nothing is decided by it.

// lingering is for how long a goroutine rests at least; twice as long at most.
const lingering = 5 * time.Millisecond

// linger says whether a goroutine may rest: to start one for each request takes a lone
// caller 3 % longer. It may not where time is a simulator's or a synctest bubble's, which
// would wait for its end in vain.
func (t *transport) linger() bool {
	switch {
	case t.driven:
		return false
	case t.looking.Load():
		return true
	}
	if now := time.Now(); now == now.Round(0) { // no monotonic part: a bubble's
		return false
	}
	if t.looking.CompareAndSwap(false, true) {
		time.AfterFunc(lingering, t.look)
	}
	return true
}

// look comes as long as goroutines rest.
func (t *transport) look() {
	t.looking.Store(false) // before it looks: whoever comes to rest later sees to the next
	some := false
	for i := range t.workers {
		w := &t.workers[i]
		w.mu.Lock()
		some = w.dismiss(false) || some
		w.mu.Unlock()
	}
	if some {
		t.linger()
	}
}
