package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"driftlock/redlock"
)

// Lock tests the lock over nodes: exclusion, expiry, extension, release, fencing,
// watching and what a cancelled call leaves. Open returns n independent, empty nodes; it
// is called for each part of the test, with n = 3 or 1.
func Lock(t *testing.T, open func(t testing.TB, n int) []redlock.Node) {
	t.Helper()
	for _, part := range []struct {
		name  string
		nodes int
		f     func(s *stage)
	}{
		{"exclusion", 3, exclusion},
		{"one node", 1, exclusion},
		{"tenure", 3, tenure},
		{"extend", 3, extend},
		{"watch", 3, watch},
		{"fencing", 3, fences},
		{"contention", 3, contention},
		{"many keys", 3, manyKeys},
		{"minority fails", 3, minority},
		{"majority fails", 3, majority},
		{"cancelled", 3, cancelled},
		{"odd keys", 3, oddLocks},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			s := &stage{T: t, nodes: open(t, part.nodes)}
			if len(s.nodes) != part.nodes {
				t.Fatalf("asked for %d nodes and got %d", part.nodes, len(s.nodes))
			}
			part.f(s)
		})
	}
}

// A stage is the nodes of one part of the test.
type stage struct {
	*testing.T
	nodes []redlock.Node
}

// lock returns another client of the nodes: it shares nothing with the others but them.
// Its waits are long beside what a busy machine takes.
func (s *stage) lock(opts ...redlock.Option) *redlock.DistributedLock {
	s.Helper()
	opts = append([]redlock.Option{redlock.WithNodeTimeout(5 * time.Second), redlock.WithRetry(redlock.Backoff(time.Millisecond, 20*time.Millisecond))}, opts...)
	l, err := redlock.New(s.nodes, opts...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { l.Close() })
	return l
}

func (s *stage) acquire(l redlock.Locker, key string, ttl time.Duration) redlock.Token {
	s.Helper()
	token, err := l.Acquire(background(), key, ttl)
	if err != nil {
		s.Fatalf("acquire: %v", err)
	}
	return token
}

func (s *stage) release(l redlock.Locker, key string, token redlock.Token) {
	s.Helper()
	if err := l.Release(background(), key, token); err != nil {
		s.Fatalf("release: %v", err)
	}
}

// held demands that nobody else gets key.
func (s *stage) held(key string) {
	s.Helper()
	_, err := s.lock().TryAcquire(background(), key, long)
	wantIs(s, "acquire of a held key", err, redlock.ErrLockAlreadyHeld)
}

// free demands that somebody else gets key, long before a lease would end. At once would
// be too much: a release returns at the quorum, and on one node more there may be for a
// moment what others asked for in vain.
func (s *stage) free(key string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(background(), long/4)
	defer cancel()
	l := s.lock()
	token, err := l.Acquire(ctx, key, long)
	if err != nil {
		s.Fatalf("acquire of a free key: %v", err)
	}
	s.release(l, key, token)
}

func exclusion(s *stage) {
	a, b := s.lock(), s.lock()
	token := s.acquire(a, "k", long)
	s.held("k")
	stranger, err := redlock.ParseToken(owner("abc"))
	if err != nil {
		s.Fatal(err)
	}
	wantIs(s, "a stranger's release", b.Release(background(), "k", stranger), redlock.ErrLockNotHeld)
	wantIs(s, "a stranger's extend", b.Extend(background(), "k", stranger, long), redlock.ErrLockNotHeld)
	s.held("k")
	s.release(a, "k", token)
	s.free("k")
	token = s.acquire(b, "k", long)
	heir, err := redlock.ParseToken(token.String()) // another process goes on
	if err != nil {
		s.Fatal(err)
	}
	if err := a.Extend(background(), "k", heir, long); err != nil || !heir.Valid() {
		s.Fatalf("the heir's extend: %v, valid %v", err, heir.Valid())
	}
	s.release(a, "k", heir)
	s.free("k")
}

// A lease ends by itself, and its late holder does no harm to the next one.
func tenure(s *stage) {
	a, b := s.lock(), s.lock()
	first := s.acquire(a, "k", short)
	begin := time.Now()
	second := s.acquire(b, "k", long) // waits
	if first.Valid() {
		s.Errorf("after %v two tokens are valid", time.Since(begin))
	}
	wantIs(s, "extend of an expired lock", a.Extend(background(), "k", first, long), redlock.ErrLockExpired)
	wantIs(s, "release of an expired lock", a.Release(background(), "k", first), redlock.ErrLockExpired)
	s.held("k")
	if !second.Valid() {
		s.Error("the second token is not valid")
	}
	s.release(b, "k", second)
	s.free("k")
}

func extend(s *stage) {
	l := s.lock()
	token := s.acquire(l, "k", short)
	if err := l.Extend(background(), "k", token, long); err != nil {
		s.Fatalf("extend: %v", err)
	}
	if left := token.Remaining(); left < long/2 {
		s.Errorf("after the extension %v remain", left)
	}
	time.Sleep(late)
	s.held("k")
	s.release(l, "k", token)
	s.free("k")
}

// Do holds the lock for longer than its TTL.
func watch(s *stage) {
	err := redlock.Do(background(), s.lock(), "k", 2*time.Second, func(ctx context.Context, token redlock.Token) error {
		time.Sleep(2500 * time.Millisecond)
		s.held("k")
		return context.Cause(ctx)
	})
	if err != nil {
		s.Fatal(err)
	}
	s.free("k")
}

// Numbers grow from grant to grant, whoever gets it and however the one before ended.
func fences(s *stage) {
	locks := []*redlock.DistributedLock{s.lock(redlock.WithFencing()), s.lock(redlock.WithFencing()), s.lock(redlock.WithFencing())}
	last := uint64(0)
	for i := range 12 {
		l, ttl := locks[i%3], long
		if i%6 == 5 {
			ttl = short // and is never released
		}
		token := s.acquire(l, "k", ttl)
		n, ok := token.Fence()
		if !ok || n <= last {
			s.Fatalf("grant %d has number %d, %v; the one before had %d", i, n, ok, last)
		}
		if last = n; ttl == long {
			s.release(l, "k", token)
		}
	}
}

// Several clients, each with several goroutines, count up a number that only the lock
// protects.
func contention(s *stage) {
	const clients, goroutines, times = 2, 2, 5
	var wg sync.WaitGroup
	var inside atomic.Int32
	count := 0 // not atomic: that is the test
	numbers := map[uint64]bool{}
	for range clients {
		l := s.lock(redlock.WithFencing())
		for range goroutines {
			wg.Go(func() {
				for range times {
					token, err := l.Acquire(background(), "k", long)
					if err != nil {
						s.Errorf("acquire: %v", err)
						return
					}
					if inside.Add(1) != 1 {
						s.Error("two are inside")
					}
					n, _ := token.Fence()
					if count++; numbers[n] {
						s.Errorf("number %d came twice", n)
					}
					numbers[n] = true
					inside.Add(-1)
					if err := l.Release(background(), "k", token); err != nil {
						s.Errorf("release: %v", err)
					}
				}
			})
		}
	}
	wg.Wait()
	if want := clients * goroutines * times; count != want {
		s.Errorf("counted to %d, want %d", count, want)
	}
}

// Many goroutines of one client, each on a key of its own: batches.
func manyKeys(s *stage) {
	l := s.lock()
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			key := fmt.Sprint("k", g)
			for range 2 {
				token, err := l.Acquire(background(), key, long)
				if err != nil {
					s.Errorf("acquire: %v", err)
					return
				}
				if err := l.Release(background(), key, token); err != nil {
					s.Errorf("release: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

// A broken node has the wrong answer to everything.
type broken struct {
	redlock.Node
	err error
}

func (b broken) Do(_ []*redlock.Request, replies []redlock.Reply) {
	for i := range replies {
		replies[i] = redlock.Reply{Err: b.err}
	}
}

var errBroken = errors.New("broken for the test")

func minority(s *stage) {
	sound := s.nodes
	s.nodes = append([]redlock.Node{broken{sound[0], errBroken}}, sound[1:]...)
	l := s.lock(redlock.WithFencing())
	token := s.acquire(l, "k", long)
	first, _ := token.Fence()
	s.held("k")
	s.nodes = append([]redlock.Node{}, sound[0], sound[1], broken{sound[2], errBroken})
	s.held("k") // one node is free and one is held: neither is a quorum
	s.release(l, "k", token)
	token = s.acquire(s.lock(redlock.WithFencing()), "k", long) // the first knows nothing of it
	if n, _ := token.Fence(); n <= first {
		s.Errorf("number %d after %d", n, first)
	}
}

func majority(s *stage) {
	sound := s.nodes
	s.nodes = []redlock.Node{sound[0], broken{sound[1], errBroken}, broken{sound[2], errBroken}}
	_, err := s.lock().TryAcquire(background(), "k", long)
	wantIs(s, "acquire in an outage", err, redlock.ErrNoQuorum)
	wantIs(s, "acquire in an outage", err, errBroken)
	s.nodes = sound
	eventually(s, 5*time.Second, "the sound node has nothing left", func() bool {
		r := do(sound[0], request("k", "+x", long, 0))[0]
		return r.Status == redlock.Done && do(sound[0], request("k", "-x", long, 0))[0].Status == redlock.Done
	})
	s.free("k")
}

// A call that is cancelled leaves no key behind.
func cancelled(s *stage) {
	l := s.lock()
	for i := range 20 {
		ctx, cancel := context.WithTimeout(background(), time.Duration(i)*200*time.Microsecond)
		if token, err := l.Acquire(ctx, "k", long); err == nil {
			s.release(l, "k", token)
		}
		cancel()
	}
	holder := s.lock()
	token := s.acquire(holder, "k", long)
	ctx, cancel := context.WithTimeout(background(), 100*time.Millisecond)
	defer cancel()
	_, err := l.Acquire(ctx, "k", long)
	wantIs(s, "a cancelled wait", err, context.DeadlineExceeded)
	s.release(holder, "k", token) // another's release may overtake the holder's acquire
	eventually(s, 5*time.Second, "the key is free on every node", func() bool {
		for _, n := range s.nodes {
			if r := do(n, request("k", "+x", long, 0))[0]; r.Status != redlock.Done {
				return false
			}
			do(n, request("k", "-x", long, 0))
		}
		return true
	})
}

func oddLocks(s *stage) {
	l := s.lock(redlock.WithFencing())
	_, err := l.Acquire(background(), "", long)
	wantIs(s, "the empty key", err, redlock.ErrBadArgument)
	var wg sync.WaitGroup
	tokens := make([]redlock.Token, len(OddKeys))
	for i, key := range OddKeys {
		wg.Go(func() {
			var err error
			if tokens[i], err = l.Acquire(background(), key, long); err != nil {
				s.Errorf("acquire %s: %v", short16(key), err)
			}
		})
	}
	wg.Wait()
	for i, key := range OddKeys {
		if err := l.Release(background(), key, tokens[i]); err != nil {
			s.Errorf("release %s: %v", short16(key), err)
		}
	}
}
