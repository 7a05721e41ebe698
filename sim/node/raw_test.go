package node

import (
	"testing"
	"time"

	"driftlock/redlock"
)

// TestRaw: each of the operations that no lock should use, on a key that is free,
// one's own, and another's.
func TestRaw(t *testing.T) {
	t.Parallel()
	const short, long = 5 * time.Millisecond, 20 * time.Millisecond
	type want struct {
		status redlock.Status
		owner  string // afterwards
		when   int64
	}
	for _, c := range []struct {
		op              redlock.Op
		ttl             time.Duration
		free, own, that want // what comes of it at 3 ms; the key ends at 10 ms
	}{
		{OpDelete, long, want{redlock.Gone, "", 0}, want{redlock.Done, "", 0}, want{redlock.Done, "", 0}},
		{OpExpire, short, want{redlock.Gone, "", 0}, want{redlock.Done, "a", 8}, want{redlock.Done, "b", 8}},
		{OpExpire, long, want{redlock.Gone, "", 0}, want{redlock.Done, "a", 23}, want{redlock.Done, "b", 23}},
		{OpExpireOwn, short, want{redlock.Gone, "", 0}, want{redlock.Done, "a", 8}, want{redlock.Others, "b", 10}},
		{OpExtendOrSet, long, want{redlock.Done, "a", 23}, want{redlock.Done, "a", 23}, want{redlock.Others, "b", 10}},
		{OpExtendOrSet, short, want{redlock.Done, "a", 8}, want{redlock.Done, "a", 10}, want{redlock.Others, "b", 10}},
		{OpSetForGood, long, want{redlock.Done, "a", Forever}, want{redlock.Ours, "a", 10}, want{redlock.Others, "b", 10}},
		{OpAcquireCount, long, want{redlock.Done, "a", 23}, want{redlock.Ours, "a", 10}, want{redlock.Others, "b", 10}},
	} {
		for holder, want := range map[string]want{"": c.free, "a": c.own, "b": c.that} {
			s := New(Config{})
			if holder != "" {
				do(s, 0, 0, &redlock.Request{Op: redlock.OpAcquire, Key: "k", Owner: holder, TTL: 10 * time.Millisecond})
			}
			reply, when := do(s, 3e6, 3e6, &redlock.Request{Op: c.op, Key: "k", Owner: "a", TTL: c.ttl})
			owner, until, _ := s.Holder(3e6, "k")
			if reply.Status != want.status || owner != want.owner || until != want.when {
				t.Errorf("%s for %v, held by %q: status %d, now held by %q until %d; want %+v", Word(c.op), c.ttl, holder, reply.Status, owner, until, want)
			}
			if reply.Status != redlock.Gone && EffectOf(c.op, holder != "") != Deletes && when != until {
				t.Errorf("%s for %v, held by %q: answers %d, but the key ends at %d", Word(c.op), c.ttl, holder, when, until)
			}
		}
	}
}

// TestRawTakenBack: a crash takes them back as it does every write.
func TestRawTakenBack(t *testing.T) {
	t.Parallel()
	for op := OpDelete; op <= OpAcquireCount; op++ {
		s := New(Config{Persistence: EverySecond})
		if op != OpSetForGood && op != OpAcquireCount {
			do(s, 0, 0, &redlock.Request{Op: redlock.OpAcquire, Key: "k", Owner: "a", TTL: 10 * time.Millisecond})
		}
		owner, when, _ := s.Holder(1e6, "k")
		if reply, _ := do(s, 1e6, 1e6, &redlock.Request{Op: op, Key: "k", Owner: "a", TTL: time.Second}); reply.Status != redlock.Done {
			t.Errorf("%s: status %d", Word(op), reply.Status)
		}
		s.Rollback(0)
		if o, w, _ := s.Holder(1e6, "k"); o != owner || w != when {
			t.Errorf("%s, taken back: held by %q until %d, want %q until %d", Word(op), o, w, owner, when)
		}
	}
}

// TestCount: the number of a node goes up with each key that it sets, and is
// told in every answer.
func TestCount(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	for i := int64(1); i <= 3; i++ {
		at := i * 100e6
		reply, _ := do(s, at, at, &redlock.Request{Op: OpAcquireCount, Key: "k", Owner: "a", TTL: 10 * time.Millisecond})
		other, _ := do(s, at, at, &redlock.Request{Op: OpAcquireCount, Key: "k", Owner: "b", TTL: 10 * time.Millisecond})
		if reply.Fence != uint64(i) || other.Fence != uint64(i) || other.Status != redlock.Others {
			t.Errorf("grant %d: numbers %d and, refused, %d", i, reply.Fence, other.Fence)
		}
	}
}

// TestWords: every operation has a word, and what is none says so.
func TestWords(t *testing.T) {
	t.Parallel()
	for op, want := range map[redlock.Op]string{redlock.OpExtend: "extend", OpDelete: "delete", OpAcquireCount: "acquire and count", OpAcquireCount + 2: "op 107"} {
		if got := Word(op); got != want {
			t.Errorf("%d is called %q, want %q", op, got, want)
		}
	}
}
