package node

import "driftlock/redlock"

// What a lock should not ask of a node, and some do. Only a simulated node knows
// these operations; no real one is ever sent them. They are for locks that are
// wrong on purpose, and for those who delete keys behind a lock's back.
const (
	OpDelete       redlock.Op = 100 + iota // delete Key, whoever holds it (DEL)
	OpExpire                               // let Key live for TTL from now, whoever holds it, though that may shorten it (PEXPIRE)
	OpExpireOwn                            // the same if Owner holds it
	OpExtendOrSet                          // OpExtend or, where there is no such key, OpAcquire
	OpSetForGood                           // OpAcquire without a TTL (SETNX)
	OpAcquireCount                         // OpAcquire that counts its fence number up itself (SET and INCR in one)
	OpCommand                              // some command that came over a connection; no Store carries it out
)

var rawWords = [...]string{"delete", "expire", "expire own", "extend or set", "set for good", "acquire and count", "command"}

// Word names an operation, these and those of package redlock: "acquire".
func Word(op redlock.Op) string {
	if i := int(op) - int(OpDelete); i >= 0 && i < len(rawWords) {
		return rawWords[i]
	}
	return op.String()
}

// Acquires says that an operation sets a key that is free, as a lock does to get
// it.
func Acquires(op redlock.Op) bool {
	return op == redlock.OpAcquire || op == OpSetForGood || op == OpAcquireCount
}

// Usual is the operation of package redlock that one stands in for: what it is
// asked for, and what its answers mean.
func Usual(op redlock.Op) redlock.Op {
	switch {
	case Acquires(op):
		return redlock.OpAcquire
	case EffectOf(op, true) == Prolongs:
		return redlock.OpExtend
	case EffectOf(op, true) == Deletes:
		return redlock.OpRelease
	}
	return op
}

// Effect is what an operation that was carried out has done to its key.
type Effect uint8

const (
	Nothing  Effect = iota
	Sets            // it is Owner's from now on
	Prolongs        // it lives until another reading, also if that is earlier
	Deletes         // it is gone
)

// EffectOf is the effect of an operation that a node answered with Done, on a
// key that was there before, unexpired, or was not.
func EffectOf(op redlock.Op, there bool) Effect {
	switch {
	case Acquires(op), !there && (op == redlock.OpExtend || op == OpExtendOrSet):
		return Sets
	case op == redlock.OpRelease, op == OpDelete:
		return Deletes
	case op == redlock.OpExtend, op == OpExtendOrSet, op == OpExpire, op == OpExpireOwn:
		return Prolongs
	}
	return Nothing
}

// Forever is the expiry reading, in whole milliseconds, of a key without a TTL: a
// hundred years.
const Forever = 100 * 365 * 24 * 3600 * 1000

// raw carries out an operation that package redlock does not know.
func (s *store) raw(k *slot, ms int64, req *redlock.Request) answer {
	free := k == nil || !k.set
	switch req.Op {
	case OpDelete:
		if free {
			return answer{status: redlock.Gone}
		}
		s.clear(k)
		return answer{status: redlock.Done}
	case OpExpire, OpExpireOwn:
		return s.expire(k, ms, req)
	case OpExtendOrSet:
		if free {
			return s.acquire(k, ms, req)
		}
		return s.extend(k, ms, req)
	case OpSetForGood:
		a := s.acquire(k, ms, req)
		if a.status == redlock.Done {
			a.when = Forever
			s.until(s.find(req.Key), a.when)
		}
		return a
	case OpAcquireCount:
		return s.count(k, ms, req)
	}
	return answer{status: redlock.Failed}
}

// expire sets a key's expiry to ttl from now, also to less than it has.
func (s *store) expire(k *slot, ms int64, req *redlock.Request) answer {
	if k == nil || !k.set {
		return answer{status: redlock.Gone}
	}
	if req.Op == OpExpireOwn && k.owner != req.Owner {
		return answer{status: redlock.Others, when: k.when}
	}
	when := ms + req.TTL.Milliseconds()
	s.until(k, when)
	return answer{status: redlock.Done, when: when}
}

func (s *store) until(k *slot, when int64) {
	s.note(k)
	k.when = when
}

// count is an acquire whose fence number is one above the node's own.
func (s *store) count(k *slot, ms int64, req *redlock.Request) answer {
	next := *req
	next.Fence = 1
	if k != nil {
		next.Fence = k.fence + 1
	}
	return s.acquire(k, ms, &next)
}
