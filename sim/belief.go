package sim

import (
	"fmt"
	"iter"
	"time"

	"driftlock/sim/node"
)

// What the user of a lock believes is what the checks of I1 and I2 compare with
// the truth. A lock of package redlock tells it with its tokens; any other lock
// may say it with Holds and Drops.

// belief is what a process has said that it holds.
type belief struct {
	key   string
	owner Text
	until time.Time // zero: until it says otherwise
	fence uint64
}

// believed is the process's belief about key, or nil.
func (p *Process) believed(key string) *belief {
	for i := range p.beliefs {
		if p.beliefs[i].key == key {
			return &p.beliefs[i]
		}
	}
	return nil
}

// forget ends the process's belief about key, without a word.
func (p *Process) forget(key string) {
	for i := range p.beliefs {
		if p.beliefs[i].key == key {
			p.beliefs = append(p.beliefs[:i], p.beliefs[i+1:]...)
			return
		}
	}
}

// Holds says that from now on the process believes that it holds the lock on key,
// until the client's clock reads until; the zero Time is until it says otherwise, or
// the run ends. Said again before Drops, it moves that instant, as an extension does.
// Of a lock whose tokens have a deadline it says that the process goes by another:
// that it works on without a look at its token, say, until it calls Release. It is how
// a lock that is not of package redlock tells what its user believes: call it as
// late as possible before you return to the user.
//
// Which keys at the nodes stand for it is taken from the last request that the
// process sent to set this one. A lock that asks no node is judged by I1 alone.
func (p *Process) Holds(key string, until time.Time) {
	owner, value := p.lastSet(key), int64(never)
	if !until.IsZero() {
		value = p.reading(until)
		until = time.Unix(0, epoch+value).UTC()
	}
	e := Event{Kind: Extended, Key: p.text(key), Owner: owner, Value: value, Nth: milliseconds(time.Duration(p.ttl.Load()))}
	if b := p.believed(key); b != nil && (owner == 0 || b.owner == owner) {
		e.Owner, b.until = b.owner, until
	} else {
		p.forget(key)
		p.held++
		if owner == 0 {
			e.Owner = p.text(fmt.Sprintf("%s, lock %d", p.name, p.held))
		}
		if !p.granted(e.Owner) {
			e.Kind = Granted
		}
		p.beliefs = append(p.beliefs, belief{key: key, owner: e.Owner, until: until})
	}
	p.note(&e)
}

// granted says that a token of that owner value was granted to the process, which
// has neither released nor lost it.
func (p *Process) granted(owner Text) bool {
	for e := range p.backward() {
		if e.Owner == owner {
			switch e.Kind {
			case Granted:
				return true
			case Releasing, Lost:
				return false
			}
		}
	}
	return false
}

// Drops says that the process does not believe any more that it holds the lock on
// key. Without a belief it does nothing.
func (p *Process) Drops(key string) {
	if b := p.believed(key); b != nil {
		p.note(&Event{Kind: Lost, Key: p.text(key), Owner: b.owner})
		p.forget(key)
	}
}

// Fence says which fence number goes with what the process holds of key.
func (p *Process) Fence(key string, n uint64) {
	if b := p.believed(key); b != nil {
		b.fence = n
		p.note(&Event{Kind: Fenced, Key: p.text(key), Owner: b.owner, Value: int64(n)})
	}
}

// lastSet is the owner value of the process's last request to set key; 0: none.
func (p *Process) lastSet(key string) Text {
	k := p.text(key)
	for e := range p.backward() {
		if e.Kind == Asked && e.Key == k && node.Acquires(e.Op) {
			return e.Owner
		}
	}
	return 0
}

// backward yields what the process has done, the last first: at least what it asked
// for and what it believed.
func (p *Process) backward() iter.Seq[*Event] {
	if b := p.c.w.bubble; b != nil {
		return b.backward(p)
	}
	return func(yield func(*Event) bool) {
		h := &p.c.w.history
		for i := len(h.events) - 1; i >= 0; i-- {
			if e := &h.events[i]; int(e.Client) == p.c.id && int(e.Proc) == p.n && !yield(e) {
				return
			}
		}
	}
}

// reading is the reading of the client's clock that t stands for: a reading of it,
// or in a bubble one of package time, which tells true time there.
func (p *Process) reading(t time.Time) int64 {
	if b := p.c.w.bubble; b != nil && t.UTC().Year() < 2050 { // a client's clock may be ahead or behind, but not by so much
		return p.c.clock.at(max(0, int64(t.Sub(b.start))))
	}
	return reading(t)
}

// asks notes the TTL of an acquire or extend: Holds then stands for that.
func (p *Process) asks(ttl time.Duration) {
	p.ttl.Store(int64(ttl))
	if b := p.c.w.bubble; b != nil { // a watch renews on a goroutine of its own
		b.mu.Lock()
		defer b.mu.Unlock()
	}
	p.c.w.history.want(ttl)
}

// milliseconds is a TTL as an event tells it.
func milliseconds(ttl time.Duration) uint32 { return uint32(min(ttl.Milliseconds(), 1<<32-1)) }
