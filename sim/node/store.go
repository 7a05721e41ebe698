package node

// The fast store: a key is a slot in a list, and what a write has overwritten
// goes to a journal, from which Rollback takes it back.

import (
	"errors"
	"math"
	"time"

	"driftlock/redlock"
)

// New returns the fast store. It keeps its memory over a Reset and allocates
// nothing once it has grown. That memory is as large as the most keys that one
// run used, and the most writes that one Horizon held.
func New(c Config) Store {
	s := new(store)
	s.Reset(c)
	return s
}

type store struct {
	strict  bool
	keeps   bool  // a journal
	horizon int64 // how much of it, in nanoseconds of true time
	now     int64 // true time of the last command

	slots   []slot
	numbers map[string]int32 // of slots by key, if there are many
	journal []undo           // in order of time
	oldest  int              // what lies before is out of reach
}

// few is up to how many keys looking at each is the fastest way to find one.
const few = 8

// slot is one key of the run, there or not.
type slot struct {
	key    string
	number int32 // its own
	value
}

// value is all that a node knows of a key.
type value struct {
	owner string
	when  int64  // ms: see Expiry
	fence uint64 // the highest number accepted; it has no TTL
	set   bool   // there is such a key, though it may have expired
}

// undo is what a write has overwritten.
type undo struct {
	at   int64
	slot int32
	value
}

// What a real server answers.
var (
	errExpire = errors.New("ERR invalid expire time")
	errOp     = errors.New("ERR unknown command")
)

func (s *store) Reset(c Config) {
	s.strict = c.Expiry != NonStrict
	s.keeps, s.horizon = c.Horizon >= 0, int64(c.Horizon)
	if s.horizon == 0 {
		s.horizon = math.MaxInt64
	}
	s.now = math.MinInt64
	s.slots, s.journal, s.oldest = s.slots[:0], s.journal[:0], 0
	clear(s.numbers)
}

func (s *store) Do(at, wall int64, req *redlock.Request, reply *redlock.Reply) (when int64) {
	s.now = max(s.now, at)
	if req.TTL < time.Millisecond && req.Op != redlock.OpRelease {
		reply.Status, reply.Fence, reply.Err = redlock.Failed, 0, errExpire
		return 0
	}
	ms, k := millisecond(wall), s.find(req.Key)
	if k != nil && k.set && s.over(k.when, ms) {
		s.clear(k) // who comes across an expired key deletes it
	}
	var a answer
	switch req.Op {
	case redlock.OpAcquire:
		a = s.acquire(k, ms, req)
	case redlock.OpExtend:
		a = s.extend(k, ms, req)
	case redlock.OpRelease:
		a = s.release(k, req)
	default:
		a = s.raw(k, ms, req)
	}
	reply.Status, reply.Fence, reply.Err = a.status, a.fence, nil
	if a.status == redlock.Failed {
		reply.Fence, reply.Err = 0, errOp
	}
	return a.when
}

// answer is what Do returns, in few words.
type answer struct {
	status redlock.Status
	fence  uint64
	when   int64
}

// acquire is SET key owner NX PX ttl; with a fence number it also takes a number
// higher than the node's own. A key that is free but not to be had for that
// number is answered Gone.
func (s *store) acquire(k *slot, ms int64, req *redlock.Request) answer {
	if k == nil {
		k = s.add(req.Key)
	}
	if k.set {
		status := redlock.Others
		if k.owner == req.Owner {
			status = redlock.Ours
		}
		return k.fenced(status, req)
	}
	if req.Fence > 0 && req.Fence <= k.fence {
		return answer{redlock.Gone, k.fence, 0}
	}
	s.note(k)
	k.owner, k.when, k.set, k.fence = req.Owner, ms+req.TTL.Milliseconds(), true, max(k.fence, req.Fence)
	return k.fenced(redlock.Done, req)
}

// fenced is an answer that tells the node's own number, if one was proposed.
func (k *slot) fenced(status redlock.Status, req *redlock.Request) answer {
	own := k.fence
	if req.Fence == 0 {
		own = 0
	}
	return answer{status, own, k.when}
}

// extend moves the key's expiry to at least ttl from now.
func (s *store) extend(k *slot, ms int64, req *redlock.Request) answer {
	if a := k.of(req.Owner); a.status != redlock.Done {
		return a
	}
	if when := ms + req.TTL.Milliseconds(); when > k.when {
		s.note(k)
		k.when = when
	}
	return answer{status: redlock.Done, when: k.when}
}

// release deletes the key.
func (s *store) release(k *slot, req *redlock.Request) answer {
	a := k.of(req.Owner)
	if a.status == redlock.Done {
		s.clear(k)
	}
	return a
}

// of answers a request for a key that its owner does not hold. Done means that it
// holds it.
func (k *slot) of(owner string) answer {
	switch {
	case k == nil || !k.set:
		return answer{status: redlock.Gone}
	case k.owner != owner:
		return answer{status: redlock.Others, when: k.when}
	}
	return answer{status: redlock.Done}
}

func (s *store) Holder(wall int64, key string) (owner string, when int64, ok bool) {
	k := s.find(key)
	if k == nil || !k.set || s.over(k.when, millisecond(wall)) {
		return "", 0, false
	}
	return k.owner, k.when, true
}

// over says whether a key has expired at a reading.
func (s *store) over(when, ms int64) bool {
	return ms > when || ms == when && !s.strict
}

// millisecond is the whole millisecond of a reading in nanoseconds, rounded down.
func millisecond(wall int64) int64 {
	if wall < 0 {
		return (wall+1)/1e6 - 1
	}
	return int64(uint64(wall) / 1e6)
}

// Evict drops key. What the node has for a fence number is no key with a TTL and
// stays.
func (s *store) Evict(at int64, key string) {
	s.now = max(s.now, at)
	if k := s.find(key); k != nil && k.set {
		s.clear(k)
	}
}

// Flush drops everything, the fence numbers too.
func (s *store) Flush(at int64) {
	s.now = max(s.now, at)
	for i := range s.slots {
		if k := &s.slots[i]; k.set || k.fence > 0 {
			s.note(k)
			k.value = value{}
		}
	}
}

func (s *store) Rollback(to int64) {
	for n := len(s.journal); n > s.oldest && s.journal[n-1].at > to; n-- {
		u := &s.journal[n-1]
		s.slots[u.slot].value = u.value
		s.journal = s.journal[:n-1]
	}
}

// clear deletes a key; its fence number stays.
func (s *store) clear(k *slot) {
	s.note(k)
	k.set = false
}

// note remembers what the node knows of a key, before a write.
func (s *store) note(k *slot) {
	if s.keeps {
		s.forget()
		s.journal = append(s.journal, undo{s.now, k.number, k.value})
	}
}

// forget lets go of what is out of a Rollback's reach. The room is used again
// when it is as large as what is left.
func (s *store) forget() {
	for s.oldest < len(s.journal) && s.now-s.journal[s.oldest].at >= s.horizon {
		s.oldest++
	}
	if s.oldest > few && s.oldest > len(s.journal)/2 {
		s.journal = s.journal[:copy(s.journal, s.journal[s.oldest:])]
		s.oldest = 0
	}
}

// find returns a key's slot, or nil. It is good until the next is added.
func (s *store) find(key string) *slot {
	if len(s.slots) > few {
		if i, ok := s.numbers[key]; ok {
			return &s.slots[i]
		}
		return nil
	}
	slots := s.slots
	for i := range slots {
		if k := &slots[i]; k.key == key {
			return k
		}
	}
	return nil
}

// add makes a slot for a key.
func (s *store) add(key string) *slot {
	i := int32(len(s.slots))
	s.slots = append(s.slots, slot{key: key, number: i})
	if len(s.slots) == few+1 {
		if s.numbers == nil {
			s.numbers = make(map[string]int32)
		}
		for j := range s.slots {
			s.numbers[s.slots[j].key] = int32(j)
		}
	} else if len(s.slots) > few {
		s.numbers[key] = i
	}
	return &s.slots[i]
}
