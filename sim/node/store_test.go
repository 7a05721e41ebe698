package node

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"

	"pgregory.net/rapid"
)

// do is s.Do, which returns the reply.
func do(s Store, at, wall int64, req *redlock.Request) (reply redlock.Reply, when int64) {
	when = s.Do(at, wall, req, &reply)
	return reply, when
}

const ms = int64(time.Millisecond)

func acquire(key, owner string, ttl int64) *redlock.Request {
	return &redlock.Request{Op: redlock.OpAcquire, Key: key, Owner: owner, TTL: time.Duration(ttl)}
}

func fencedAcquire(key, owner string, ttl int64, fence uint64) *redlock.Request {
	r := acquire(key, owner, ttl)
	r.Fence = fence
	return r
}

func extend(key, owner string, ttl int64) *redlock.Request {
	return &redlock.Request{Op: redlock.OpExtend, Key: key, Owner: owner, TTL: time.Duration(ttl)}
}

func release(key, owner string) *redlock.Request {
	return &redlock.Request{Op: redlock.OpRelease, Key: key, Owner: owner}
}

// Every request on a key of one's own, of another and of nobody, at the instants
// about its end. The key was set at a reading 0.4 ms past a whole one: When is
// the whole millisecond plus the TTL.
func TestRequestsAtTheEndOfAKey(t *testing.T) {
	t.Parallel()
	const set, ttl = 1000*ms + 400_000, 10 * ms
	const when = 1010 // ms
	last := map[Expiry]int64{"": when*ms + ms - 1, Strict: when*ms + ms - 1, NonStrict: when*ms - 1}
	for expiry, last := range last {
		for _, wall := range []int64{set, when*ms - 1, when * ms, when*ms + ms - 1, when*ms + ms, when*ms + 5*ms} {
			now := wall / ms
			alive := wall <= last
			for _, c := range []struct {
				name string
				req  *redlock.Request
				// of a live key, and of one that has expired
				live, dead     redlock.Status
				until, renewed int64
				owner, heir    string // who holds the key afterwards
			}{
				{"acquire of one's own", acquire("k", "me", 50*ms), redlock.Ours, redlock.Done, when, now + 50, "me", "me"},
				{"acquire of another's", acquire("k", "you", 50*ms), redlock.Others, redlock.Done, when, now + 50, "me", "you"},
				{"extend", extend("k", "me", 50*ms), redlock.Done, redlock.Gone, now + 50, 0, "me", ""},
				{"extend by less", extend("k", "me", ms), redlock.Done, redlock.Gone, max(when, now+1), 0, "me", ""},
				{"extend of another's", extend("k", "you", 50*ms), redlock.Others, redlock.Gone, when, 0, "me", ""},
				{"release", release("k", "me"), redlock.Done, redlock.Gone, 0, 0, "", ""},
				{"release of another's", release("k", "you"), redlock.Others, redlock.Gone, when, 0, "me", ""},
			} {
				s := New(Config{Expiry: expiry})
				if r, w := do(s, 0, set, acquire("k", "me", ttl)); r != (redlock.Reply{Status: redlock.Done}) || w != when {
					t.Fatalf("set: %+v until %d, want Done until %d", r, w, when)
				}
				if owner, w, ok := s.Holder(wall, "k"); ok != alive || ok && (owner != "me" || w != when) {
					t.Errorf("%s, %q at %d ns: held by %q until %d, %v, want %v", c.name, expiry, wall, owner, w, ok, alive)
				}
				status, until, holder := c.dead, c.renewed, c.heir
				if alive {
					status, until, holder = c.live, c.until, c.owner
				}
				r, w := do(s, 1, wall, c.req)
				if r != (redlock.Reply{Status: status}) || until != 0 && w != until {
					t.Errorf("%s, %q at %d ns: %+v until %d, want %v until %d", c.name, expiry, wall, r, w, status, until)
				}
				if owner, w, ok := s.Holder(wall, "k"); ok != (holder != "") || owner != holder || ok && w != until {
					t.Errorf("%s, %q at %d ns: then held by %q until %d, want %q until %d", c.name, expiry, wall, owner, w, holder, until)
				}
			}
		}
	}
}

func TestKeyThatNeverWas(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	for _, r := range []*redlock.Request{extend("k", "me", ms), release("k", "me")} {
		if reply, _ := do(s, 0, 0, r); reply.Status != redlock.Gone {
			t.Errorf("op %d: %+v, want Gone", r.Op, reply)
		}
	}
	if _, _, ok := s.Holder(0, "k"); ok {
		t.Error("somebody holds it")
	}
	s.Evict(0, "k")
	s.Flush(0)
	s.Rollback(0)
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	for _, r := range []*redlock.Request{acquire("k", "me", 0), acquire("k", "me", ms-1), acquire("k", "me", -ms), extend("k", "me", 0), {Key: "k", TTL: time.Second}, {Op: 77, Key: "k", TTL: time.Second}} {
		if reply, _ := do(s, 0, 0, r); reply.Status != redlock.Failed || reply.Err == nil {
			t.Errorf("%+v: %+v, want an error", r, reply)
		}
	}
	if _, _, ok := s.Holder(0, "k"); ok {
		t.Error("one of them set the key")
	}
}

// A wall clock may be set before 1970, and round towards it all the same.
func TestReadingsBelowZero(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	if _, when := do(s, 0, -1, acquire("k", "me", 10*ms)); when != 9 {
		t.Errorf("set at -1 ns for 10 ms: until %d, want 9", when)
	}
	if _, when := do(s, 0, -ms, acquire("l", "me", 10*ms)); when != 9 {
		t.Errorf("set at -1 ms for 10 ms: until %d, want 9", when)
	}
	if r, when := do(s, 0, math.MaxInt64, acquire("m", "me", math.MaxInt64)); r.Status != redlock.Done || when != 2*(math.MaxInt64/ms) {
		t.Errorf("the farthest end: %+v until %d", r, when)
	}
	if r, _ := do(s, 0, math.MinInt64, acquire("n", "me", ms)); r.Status != redlock.Done {
		t.Errorf("the earliest reading: %+v", r)
	}
}

// A clock that steps back brings no key back that somebody has found expired.
func TestStepBack(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	do(s, 0, 0, acquire("k", "me", 10*ms))
	if r, _ := do(s, 1, 11*ms, extend("k", "me", 10*ms)); r.Status != redlock.Gone {
		t.Errorf("%+v, want Gone", r)
	}
	if _, _, ok := s.Holder(0, "k"); ok {
		t.Error("it came back")
	}
	do(s, 2, 0, acquire("l", "me", 10*ms))
	if _, _, ok := s.Holder(11*ms, "l"); ok {
		t.Error("held past its end")
	}
	if _, _, ok := s.Holder(0, "l"); !ok {
		t.Error("to look at a key is no command: it must be there again")
	}
}

// Rule 12 of docs/design.md.
func TestFence(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	for i, c := range []struct {
		wall int64
		req  *redlock.Request
		want redlock.Reply
	}{
		{0, fencedAcquire("k", "a", 10*ms, 5), redlock.Reply{Status: redlock.Done, Fence: 5}},
		{1, fencedAcquire("k", "a", 10*ms, 5), redlock.Reply{Status: redlock.Ours, Fence: 5}},
		{2, fencedAcquire("k", "b", 10*ms, 9), redlock.Reply{Status: redlock.Others, Fence: 5}}, // refused: 9 is not remembered
		{3, acquire("k", "b", 10*ms), redlock.Reply{Status: redlock.Others}},                    // does not ask
		{4, release("k", "a"), redlock.Reply{Status: redlock.Done}},
		{5, fencedAcquire("k", "b", 10*ms, 5), redlock.Reply{Status: redlock.Gone, Fence: 5}}, // free, but the number is no higher
		{6, fencedAcquire("k", "b", 10*ms, 4), redlock.Reply{Status: redlock.Gone, Fence: 5}},
		{7, fencedAcquire("k", "b", 10*ms, 6), redlock.Reply{Status: redlock.Done, Fence: 6}},
		{20 * ms, fencedAcquire("k", "a", 10*ms, 6), redlock.Reply{Status: redlock.Gone, Fence: 6}}, // expired: the number has no TTL
		{20 * ms, acquire("k", "a", 10*ms), redlock.Reply{Status: redlock.Done}},                    // takes none
		{21 * ms, release("k", "a"), redlock.Reply{Status: redlock.Done}},
		{22 * ms, fencedAcquire("k", "c", 10*ms, math.MaxUint64), redlock.Reply{Status: redlock.Done, Fence: math.MaxUint64}},
		{23 * ms, fencedAcquire("other", "c", 10*ms, 1), redlock.Reply{Status: redlock.Done, Fence: 1}},
	} {
		if got, _ := do(s, int64(i), c.wall, c.req); got != c.want {
			t.Errorf("step %d: %+v, want %+v", i, got, c.want)
		}
	}
	s.Evict(99, "other")
	if got, _ := do(s, 100, 0, fencedAcquire("other", "d", ms, 1)); got.Status != redlock.Gone {
		t.Errorf("after an eviction: %+v, want the number to stay", got)
	}
	s.Flush(100)
	if got, _ := do(s, 101, 0, fencedAcquire("other", "d", ms, 1)); got.Status != redlock.Done {
		t.Errorf("after a flush: %+v, want the number to be gone", got)
	}
}

// Each write is taken back by a rollback to the nanosecond before it, and stands
// after one to its own.
func TestRollback(t *testing.T) {
	t.Parallel()
	const before, at = 100, 200
	me, until := "me", int64(10)
	for name, c := range map[string]struct {
		prepare func(s Store)
		write   func(s Store)
		// after a rollback to the instant before, and to that of the write
		owner, kept string
		when, then  int64
	}{
		"set":       {func(Store) {}, func(s Store) { do(s, at, 0, acquire("k", me, 10*ms)) }, "", me, 0, until},
		"set again": {func(s Store) { do(s, before, 0, acquire("k", "you", 1*ms)) }, func(s Store) { do(s, at, 2*ms, acquire("k", me, 8*ms)) }, "you", me, 1, until},
		"extension": {func(s Store) { do(s, before, 0, acquire("k", me, 4*ms)) }, func(s Store) { do(s, at, 0, extend("k", me, 10*ms)) }, me, me, 4, until},
		"deletion":  {func(s Store) { do(s, before, 0, acquire("k", me, 10*ms)) }, func(s Store) { do(s, at, 0, release("k", me)) }, me, "", until, 0},
		"eviction":  {func(s Store) { do(s, before, 0, acquire("k", me, 10*ms)) }, func(s Store) { s.Evict(at, "k") }, me, "", until, 0},
		"flush":     {func(s Store) { do(s, before, 0, acquire("k", me, 10*ms)) }, func(s Store) { s.Flush(at) }, me, "", until, 0},
		"expiry":    {func(s Store) { do(s, before, 0, acquire("k", me, 1*ms)) }, func(s Store) { do(s, at, 5*ms, release("k", me)) }, me, "", 1, 0},
		"three ways": {func(s Store) { do(s, before, 0, acquire("k", me, 10*ms)) }, func(s Store) {
			do(s, at, 0, extend("k", me, 20*ms))
			do(s, at, 0, release("k", me))
			do(s, at, 0, acquire("k", "you", 30*ms))
		}, me, "you", until, 30},
	} {
		for _, horizon := range []clock.Duration{0, at - before + 1} {
			s := New(Config{Horizon: horizon})
			c.prepare(s)
			c.write(s)
			s.Rollback(at)
			if owner, when, _ := s.Holder(0, "k"); owner != c.kept || when != c.then {
				t.Errorf("%s: rolled back to its own instant: %q until %d, want %q until %d", name, owner, when, c.kept, c.then)
			}
			s.Rollback(at - 1)
			if owner, when, _ := s.Holder(0, "k"); owner != c.owner || when != c.when {
				t.Errorf("%s: rolled back: %q until %d, want %q until %d", name, owner, when, c.owner, c.when)
			}
			s.Rollback(before - 1)
			if owner, _, ok := s.Holder(0, "k"); ok {
				t.Errorf("%s: rolled back to the beginning: %q", name, owner)
			}
			if r, _ := do(s, at+1, 0, acquire("k", me, 10*ms)); r.Status != redlock.Done {
				t.Errorf("%s: then set again: %+v", name, r)
			}
		}
	}
}

func TestRollbackOfFenceNumbers(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	do(s, 1, 0, fencedAcquire("k", "a", ms, 5))
	do(s, 2, 9*ms, fencedAcquire("k", "b", ms, 6))
	s.Rollback(1)
	if got, _ := do(s, 3, 9*ms, fencedAcquire("k", "c", ms, 6)); got != (redlock.Reply{Status: redlock.Done, Fence: 6}) {
		t.Errorf("%+v: a rollback forgets numbers too", got)
	}
}

// What lies beyond the horizon cannot be taken back, and takes no room.
func TestHorizon(t *testing.T) {
	t.Parallel()
	s := New(Config{Horizon: 100}).(*store)
	for at := range int64(10_000) {
		do(s, at, at*ms, acquire("k", fmt.Sprint(at), ms))
		do(s, at, at*ms, release("k", fmt.Sprint(at)))
	}
	if n := len(s.journal); n > 2*2*101+few {
		t.Errorf("keeps %d writes, of which 202 are within the horizon", n)
	}
	do(s, 10_000, 0, acquire("k", "last", ms))
	do(s, 10_000, 0, acquire("l", "last", ms))
	s.Rollback(9_950)
	if _, _, ok := s.Holder(0, "k"); ok {
		t.Error("the last write stands")
	}
	none := New(Config{Horizon: -1}).(*store)
	do(none, 1, 0, acquire("k", "a", ms))
	none.Rollback(0)
	if _, _, ok := none.Holder(0, "k"); !ok || len(none.journal) != 0 {
		t.Errorf("without a journal nothing is taken back, and %d writes are kept", len(none.journal))
	}
}

// model is the store in the simplest way there is: maps, and a copy of them for
// every write.
type model struct {
	expiry Expiry
	now    int64
	state
	old []past
}

type state struct {
	keys   map[string]held
	fences map[string]uint64
}
type held struct {
	owner string
	when  int64
}
type past struct {
	at int64
	state
}

func (m *model) copy() state { return state{maps.Clone(m.keys), maps.Clone(m.fences)} }

func (m *model) live(wall int64, key string) (held, bool) {
	k, ok := m.keys[key]
	reading := int64(math.Floor(float64(wall) / 1e6))
	return k, ok && (reading < k.when || m.expiry != NonStrict && reading == k.when)
}

func (m *model) do(at, wall int64, r *redlock.Request) (redlock.Reply, int64) {
	m.now = at
	m.old = append(m.old, past{at, m.copy()})
	m.now = at
	k, ok := m.live(wall, r.Key)
	if !ok {
		delete(m.keys, r.Key)
	}
	reading := int64(math.Floor(float64(wall) / 1e6))
	reply := redlock.Reply{Status: redlock.Done}
	switch {
	case r.Op == redlock.OpAcquire && !ok && (r.Fence == 0 || r.Fence > m.fences[r.Key]):
		k = held{r.Owner, reading + r.TTL.Milliseconds()}
		m.keys[r.Key] = k
		m.fences[r.Key] = max(m.fences[r.Key], r.Fence)
	case !ok:
		reply.Status = redlock.Gone
	case r.Op == redlock.OpAcquire && k.owner == r.Owner:
		reply.Status = redlock.Ours
	case k.owner != r.Owner || r.Op == redlock.OpAcquire:
		reply.Status = redlock.Others
	case r.Op == redlock.OpRelease:
		delete(m.keys, r.Key)
	case r.Op == redlock.OpExtend:
		k.when = max(k.when, reading+r.TTL.Milliseconds())
		m.keys[r.Key] = k
	}
	if r.Fence > 0 {
		reply.Fence = m.fences[r.Key]
	}
	return reply, k.when
}

func (m *model) rollback(to int64) {
	for i, p := range m.old {
		if p.at > to {
			m.state, m.old = p.state, m.old[:i]
			return
		}
	}
}

func TestStoreIsItsModel(t *testing.T) {
	t.Parallel()
	reused := New(Config{})
	rapid.Check(t, func(t *rapid.T) {
		c := Config{Expiry: rapid.SampledFrom([]Expiry{"", Strict, NonStrict}).Draw(t, "expiry")}
		const horizon = 30
		if rapid.Bool().Draw(t, "bounded") {
			c.Horizon = horizon
		}
		keys := rapid.IntRange(1, 2*few).Draw(t, "keys") // some with an index, some without
		reused.Reset(c)
		m := &model{expiry: c.Expiry, state: state{map[string]held{}, map[string]uint64{}}}
		at, wall := int64(0), int64(0)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			at += rapid.Int64Range(0, 5).Draw(t, "true time")
			wall += rapid.Int64Range(-2*ms, 3*ms).Draw(t, "wall time")
			key := fmt.Sprint("k", rapid.IntRange(1, keys).Draw(t, "key"))
			switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); kind {
			case 0:
				to := at - rapid.Int64Range(0, horizon).Draw(t, "back")
				if m.now-to <= horizon {
					reused.Rollback(to)
					m.rollback(to)
				}
			case 1:
				m.old = append(m.old, past{at, m.copy()})
				if rapid.IntRange(0, 3).Draw(t, "all") == 0 {
					reused.Flush(at)
					clear(m.keys)
					clear(m.fences)
				} else {
					reused.Evict(at, key)
					delete(m.keys, key)
				}
			default:
				r := &redlock.Request{
					Op: redlock.Op(1 + kind%3), Key: key,
					Owner: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "owner"),
					TTL:   time.Duration(rapid.Int64Range(ms, 9*ms).Draw(t, "ttl")),
				}
				if r.Op == redlock.OpAcquire && rapid.Bool().Draw(t, "fenced") {
					r.Fence = rapid.Uint64Range(1, 6).Draw(t, "fence")
				}
				got, when := do(reused, at, wall, r)
				want, until := m.do(at, wall, r)
				told := want.Status == redlock.Ours || want.Status == redlock.Others || want.Status == redlock.Done && r.Op != redlock.OpRelease
				if got != want || told && when != until {
					t.Fatalf("%+v at %d: %+v until %d, want %+v until %d", r, wall, got, when, want, until)
				}
			}
			for i := range keys {
				key := fmt.Sprint("k", i+1)
				k, ok := m.live(wall, key)
				if !ok {
					k = held{}
				}
				if owner, when, held := reused.Holder(wall, key); held != ok || owner != k.owner || when != k.when {
					t.Fatalf("%s is held by %q until %d, want %q until %d", key, owner, when, k.owner, k.when)
				}
			}
		}
	})
}

// cycle is one acquire, extend and release of each key.
func cycle(s Store, at int64, requests [][3]*redlock.Request, reply *redlock.Reply) {
	for _, r := range requests {
		for i := range r {
			s.Do(at, at, r[i], reply)
		}
	}
}

func requests(keys int) [][3]*redlock.Request {
	var all [][3]*redlock.Request
	for i := range keys {
		key := fmt.Sprint("orders/", i)
		all = append(all, [3]*redlock.Request{acquire(key, "a", 10*ms), extend(key, "a", 20*ms), release(key, "a")})
	}
	return all
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, keys := range []int{1, 8, 1000} {
		s, reply := New(Config{}), new(redlock.Reply)
		all := requests(keys)
		run := func() {
			s.Reset(Config{Horizon: 1000})
			for at := range int64(10) {
				cycle(s, at*100, all, reply)
			}
			s.Rollback(500)
			s.Flush(1000)
		}
		run()
		if n := testing.AllocsPerRun(10, run); n != 0 {
			t.Errorf("%d keys: a run allocates %v times, want 0", keys, n)
		}
	}
}

func BenchmarkDo(b *testing.B) {
	for _, keys := range []int{1, 8, 1000} {
		for name, horizon := range map[string]clock.Duration{"": clock.Duration(2 * time.Second), "/no journal": -1} {
			b.Run(fmt.Sprint(keys, name), func(b *testing.B) {
				s, reply := New(Config{Horizon: horizon}), new(redlock.Reply)
				all := requests(keys)
				for i := 0; i < b.N; i++ {
					r := all[i/3%keys][i%3]
					s.Do(int64(i)*ms, int64(i)*ms, r, reply)
				}
			})
		}
	}
}

func Example() {
	s := New(Config{Persistence: EverySecond})
	second := int64(time.Second)
	request := &redlock.Request{Op: redlock.OpAcquire, Key: "orders", Owner: "f00d", TTL: 10 * time.Second}
	var reply redlock.Reply
	when := s.Do(0, 5*second, request, &reply) // at true time 0 the node's clock reads 5 s
	fmt.Println(reply.Status == redlock.Done, when)

	request.Owner = "beef"
	s.Do(1*second, 6*second, request, &reply)
	fmt.Println(reply.Status == redlock.Others)

	s.Rollback(-1) // the set was lost
	when = s.Do(2*second, 7*second, request, &reply)
	fmt.Println(reply.Status == redlock.Done, when)
	// Output:
	// true 15000
	// true
	// true 17000
}
