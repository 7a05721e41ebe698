// Package mini runs a simulated node as a real miniredis: a second store, written by
// others, to hold the fast one to. It is driven in process, without a socket or a
// goroutine, by the very commands and scripts that package redlock sends to Redis;
// its time is the node's wall clock.
//
// A miniredis deletes a key at the very millisecond at which its TTL has passed
// (node.NonStrict). Where a node's keys are to live until the next (node.Strict), each
// has a nanosecond more than it was given: all readings are whole milliseconds, so that
// changes nothing else.
//
// Where it differs from the fast store: without a fence number it refuses an acquire of
// a key that is its owner's already, as Redis does; and of what a lock should not ask
// (package node, OpDelete and on) it knows OpDelete alone.
package mini

import (
	"fmt"
	"math"
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// New returns a node on a miniredis of its own.
func New(c node.Config) node.Store {
	m := miniredis.NewMiniRedis()
	if conn, err := m.Dial(); err != nil { // without a listener; it must have been dialled to begin
		panic(fmt.Sprintf("sim: miniredis does not start: %v", err))
	} else {
		conn.Close()
	}
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, // never dialled
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}}) // which has goroutines
	client.AddHook(wire{m.Server()})
	s := &store{redis: m, node: redlock.RedisNode(client)}
	s.Reset(c)
	return s
}

type store struct {
	redis *miniredis.Miniredis
	node  redlock.Node

	more    time.Duration // that each key lives beyond its TTL: see the package
	ms      int64         // to where its time has been moved, on the node's clock
	now     int64         // true time of the last command
	horizon int64
	keeps   bool
	journal []undo
	asked   []string        // keys, in the order of their first use
	fences  map[string]bool // the same; true: it may have a fence number
}

// undo is what a key was before a write.
type undo struct {
	at    int64
	key   string
	value value
}

// value is what a node knows of a key.
type value struct {
	owner string
	when  int64
	there bool
	fence string
}

func (s *store) Reset(c node.Config) {
	s.redis.FlushAll()
	s.ms, s.now, s.journal = 0, math.MinInt64, s.journal[:0]
	s.asked, s.fences = s.asked[:0], map[string]bool{}
	s.keeps, s.horizon = c.Horizon >= 0, int64(c.Horizon)
	s.more = time.Nanosecond
	if c.Expiry == node.NonStrict {
		s.more = 0
	}
}

// tick moves the time of the server to a reading of the node's clock, in whole
// milliseconds: forwards, or back where the clock was stepped.
func (s *store) tick(wall int64) {
	ms := wall / 1e6
	if wall%1e6 < 0 {
		ms--
	}
	if ms != s.ms {
		s.redis.FastForward(time.Duration(ms-s.ms) * time.Millisecond)
		s.ms = ms
	}
}

func (s *store) Do(at, wall int64, req *redlock.Request, reply *redlock.Reply) (when int64) {
	s.now = max(s.now, at)
	s.tick(wall)
	s.meet(req.Key)
	before := s.look(req.Key)
	replies := []redlock.Reply{{Err: redlock.ErrNoAnswer}}
	if req.Op == node.OpDelete {
		replies[0] = s.delete(req.Key)
	} else {
		if req.Fence > 0 {
			s.fences[req.Key] = true
		}
		s.node.Do([]*redlock.Request{req}, replies)
		s.prolong(req.Key)
	}
	after := s.look(req.Key)
	if after != before {
		s.note(req.Key, before)
	}
	reply.Status, reply.Fence, reply.Err = replies[0].Status, replies[0].Fence, replies[0].Err
	switch {
	case reply.Status == redlock.Failed || reply.Status == redlock.Gone || reply.Status == redlock.Done && !after.there:
		return 0
	case req.Op == redlock.OpRelease || req.Op == node.OpDelete:
		return before.when
	}
	return after.when
}

// meet keeps a key in mind.
func (s *store) meet(key string) {
	if _, known := s.fences[key]; !known {
		s.asked = append(s.asked, key)
		s.fences[key] = false
	}
}

func (s *store) delete(key string) redlock.Reply {
	if s.redis.Del(key) {
		return redlock.Reply{Status: redlock.Done}
	}
	return redlock.Reply{Status: redlock.Gone}
}

// prolong gives a key whose TTL has just been set what it lives beyond it.
func (s *store) prolong(key string) {
	if ttl := s.redis.TTL(key); ttl > 0 && ttl%time.Millisecond == 0 {
		s.redis.SetTTL(key, ttl+s.more)
	}
}

// look is what the server has of a key.
func (s *store) look(key string) (v value) {
	if owner, err := s.redis.Get(key); err == nil {
		v.owner, v.when, v.there = owner, s.ms+s.redis.TTL(key).Milliseconds(), true
	}
	if s.fences[key] {
		v.fence, _ = s.redis.Get(redlock.FenceKey(key))
	}
	return v
}

// put makes the server have of a key what it was.
func (s *store) put(key string, v value) {
	s.redis.Del(key)
	if ttl := time.Duration(v.when-s.ms)*time.Millisecond + s.more; v.there && ttl > 0 {
		s.redis.Set(key, v.owner)
		s.redis.SetTTL(key, ttl)
	}
	if s.fences[key] {
		s.redis.Del(redlock.FenceKey(key))
		if v.fence != "" {
			s.redis.Set(redlock.FenceKey(key), v.fence)
		}
	}
}

func (s *store) note(key string, before value) {
	if s.keeps {
		s.journal = append(s.journal, undo{s.now, key, before})
	}
}

// Holder is node.Store's.
func (s *store) Holder(wall int64, key string) (owner string, when int64, ok bool) {
	s.tick(wall)
	v := s.look(key)
	return v.owner, v.when, v.there
}

// Rollback is node.Store's. A key that has expired since, on the node's clock, does
// not come back.
func (s *store) Rollback(to int64) {
	if !s.keeps {
		return
	}
	for n := len(s.journal); n > 0; n-- {
		u := s.journal[n-1]
		if u.at <= to || s.horizon > 0 && s.now-u.at >= s.horizon {
			break
		}
		s.journal = s.journal[:n-1]
		s.put(u.key, u.value)
	}
}

// Evict is node.Store's.
func (s *store) Evict(at int64, key string) {
	s.now = max(s.now, at)
	if before := s.look(key); s.redis.Del(key) {
		s.note(key, before)
	}
}

// Flush is node.Store's.
func (s *store) Flush(at int64) {
	s.now = max(s.now, at)
	for _, key := range s.asked {
		if before := s.look(key); before != (value{}) {
			s.note(key, before)
		}
	}
	s.redis.FlushAll()
}
