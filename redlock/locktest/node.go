package locktest

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"driftlock/redlock"
)

// Node tests what one node answers, alone and in a batch, under each condition that the
// lock relies on. Open returns an empty node; it is called for each part of the test.
func Node(t *testing.T, open func(t testing.TB) redlock.Node) {
	t.Helper()
	for _, part := range []struct {
		name string
		f    func(t *testing.T, n redlock.Node)
	}{
		{"answers", answers},
		{"batch", batch},
		{"expiry", expiry},
		{"extend", extension},
		{"fencing", fencing},
		{"odd keys", oddKeys},
		{"one winner", oneWinner},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.f(t, open(t))
		})
	}
}

// A step is a request and what must be answered.
type step struct {
	what  string
	fence uint64
	want  redlock.Status
	own   uint64 // the node's number, if one was proposed
}

func (s step) judge(t *testing.T, i int, r redlock.Reply) {
	t.Helper()
	own := r.Fence
	if s.fence == 0 {
		own = 0 // what a node says of a number that nobody asked for does not matter
	}
	resent := s.fence == 0 && s.want == redlock.Ours && r.Status == redlock.Others // to see that would cost Redis a GET
	if r.Err != nil || r.Status != s.want && !resent || own != s.own {
		t.Errorf("step %d, %s with number %d: %s, number %d; want %s, number %d", i, s.what, s.fence, status(r), r.Fence, s.want, s.own)
	}
}

func status(r redlock.Reply) string {
	if r.Status == redlock.Failed {
		return fmt.Sprint("failed: ", r.Err)
	}
	return r.Status.String()
}

// Every request on a key of nobody, of one's own and of another.
var plain = []step{
	{"-a", 0, redlock.Gone, 0},
	{"~a", 0, redlock.Gone, 0},
	{"+a", 0, redlock.Done, 0},
	{"+a", 0, redlock.Ours, 0}, // a request that came twice
	{"+b", 0, redlock.Others, 0},
	{"~b", 0, redlock.Others, 0},
	{"-b", 0, redlock.Others, 0},
	{"~a", 0, redlock.Done, 0},
	{"~a", 0, redlock.Done, 0},
	{"-a", 0, redlock.Done, 0},
	{"-a", 0, redlock.Gone, 0},
	{"~a", 0, redlock.Gone, 0},
	{"+b", 0, redlock.Done, 0},
	{"-b", 0, redlock.Done, 0},
}

// The same with numbers, and how they compare.
var numbered = []step{
	{"+a", 7, redlock.Done, 7},
	{"+a", 7, redlock.Ours, 7},
	{"+b", 9, redlock.Others, 7},
	{"-b", 0, redlock.Others, 0},
	{"~a", 0, redlock.Done, 0},
	{"-a", 0, redlock.Done, 0},
	{"-a", 0, redlock.Gone, 0},
	{"~a", 0, redlock.Gone, 0},
	{"+a", 7, redlock.Gone, 7}, // released, and then the acquire came again
	{"+b", 7, redlock.Gone, 7}, // free, but the number is not above
	{"+b", 6, redlock.Gone, 7},
	{"+b", 10, redlock.Done, 10}, // longer, though "10" sorts before "7"
	{"-b", 0, redlock.Done, 0},
	{"+c", 1<<53 + 1, redlock.Done, 1<<53 + 1}, // no float
	{"-c", 0, redlock.Done, 0},
	{"+d", 1 << 53, redlock.Gone, 1<<53 + 1},
	{"+d", math.MaxInt64, redlock.Done, math.MaxInt64},
	{"+e", 0, redlock.Others, 0}, // without fencing
	{"-d", 0, redlock.Done, 0},
	{"+e", 0, redlock.Done, 0},
	{"-e", 0, redlock.Done, 0},
	{"+f", math.MaxInt64, redlock.Gone, math.MaxInt64}, // the number outlives what has none
}

func answers(t *testing.T, n redlock.Node) {
	if n.Name() == "" {
		t.Error("the node has no name")
	}
	for i, s := range plain {
		s.judge(t, i, do(n, request("alone", s.what, long, 0))[0])
	}
}

func fencing(t *testing.T, n redlock.Node) {
	for i, s := range numbered {
		s.judge(t, i, do(n, request("numbered", s.what, long, s.fence))[0])
	}
	for i, s := range plain { // of a key that never had a number
		s.judge(t, i, do(n, request("other", s.what, long, 0))[0])
	}
}

// A batch holds what a lane may send at once: acquires of many owners, also of one key;
// extends and releases of what was granted before, a release after an extend of its
// owner; and never a release beside its own acquire.
func batch(t *testing.T, n redlock.Node) {
	for _, fence := range []uint64{0, 1} {
		held, wanted := fmt.Sprint("held ", fence), fmt.Sprint("wanted ", fence)
		want := func(what string, replies []redlock.Reply, statuses ...redlock.Status) {
			t.Helper()
			for i, r := range replies {
				if r.Status != statuses[i] {
					t.Errorf("%s, number %d, request %d: %s; want %s", what, fence, i, status(r), statuses[i])
				}
			}
		}
		want("acquires", do(n,
			request(held, "+a", long, fence), request("x", "-x", long, 0), request(wanted, "+a", long, fence), request(wanted, "+b", long, fence), request("x", "~x", long, 0)),
			redlock.Done, redlock.Gone, redlock.Done, redlock.Others, redlock.Gone)
		want("extends and releases", do(n,
			request(held, "~b", long, 0), request(held, "~a", long, 0), request(wanted, "~b", long, 0), request(held, "-a", long, 0), request(wanted, "-a", long, 0), request(wanted, "~a", long, 0)),
			redlock.Others, redlock.Done, redlock.Others, redlock.Done, redlock.Done, redlock.Gone)
	}
	var acquires, releases []*redlock.Request
	for i := range 128 { // the most that a lane sends
		key := fmt.Sprint("many ", i)
		acquires, releases = append(acquires, request(key, "+a", long, uint64(i%2))), append(releases, request(key, "-a", long, 0))
	}
	for i, r := range append(do(n, acquires...), do(n, releases...)...) {
		if r.Status != redlock.Done {
			t.Fatalf("request %d of many keys: %s", i, status(r))
		}
	}
}

// A key lives for its TTL at least and not much longer, and what comes after its end
// finds nothing.
func expiry(t *testing.T, n redlock.Node) {
	for _, fence := range []uint64{0, 1} {
		key := fmt.Sprint("mortal ", fence)
		begin := time.Now()
		if r := do(n, request(key, "+a", short, fence))[0]; r.Status != redlock.Done {
			t.Fatalf("acquire: %s", status(r))
		}
		tries := 0
		eventually(t, 10*time.Second, "the key expires", func() bool {
			tries++
			asked := time.Now()
			r := do(n, request(key, "+b", long, 2*fence))[0]
			switch {
			case r.Status == redlock.Others:
				return false
			case r.Status != redlock.Done:
				t.Fatalf("acquire of another's: %s", status(r))
			case time.Since(begin) < short:
				t.Fatalf("gone after %v, and it was set for %v", time.Since(begin), short)
			case asked.Sub(begin) > late+time.Second:
				t.Errorf("gone only after %v, and it was set for %v", asked.Sub(begin), short)
			}
			return true
		})
		if tries < 3 {
			t.Logf("only %d tries: the node is slow", tries)
		}
		for _, s := range []step{{"~a", 0, redlock.Others, 0}, {"-a", 0, redlock.Others, 0}, {"-b", 0, redlock.Done, 0}} {
			s.judge(t, 0, do(n, request(key, s.what, long, 0))[0])
		}
		do(n, request(key, "+c", time.Millisecond, 3*fence))
		time.Sleep(50 * time.Millisecond)
		for _, s := range []step{{"~c", 0, redlock.Gone, 0}, {"-c", 0, redlock.Gone, 0}} {
			s.judge(t, 1, do(n, request(key, s.what, long, 0))[0])
		}
		step{"+d", 4 * fence, redlock.Done, 4 * fence}.judge(t, 2, do(n, request(key, "+d", long, 4*fence))[0])
		do(n, request(key, "-d", long, 0))
	}
}

// An extension lengthens a key and never shortens it.
func extension(t *testing.T, n redlock.Node) {
	for _, fence := range []uint64{0, 1} {
		longer, kept := fmt.Sprint("longer ", fence), fmt.Sprint("kept ", fence)
		replies := do(n, request(longer, "+a", short, fence), request(kept, "+a", long, fence))
		replies = append(replies, do(n, request(longer, "~a", long, 0), request(kept, "~a", short, 0))...)
		for _, r := range replies {
			if r.Status != redlock.Done {
				t.Fatalf("%s", status(r))
			}
		}
		time.Sleep(late)
		for _, key := range []string{longer, kept} {
			if r := do(n, request(key, "+b", long, 2*fence))[0]; r.Status != redlock.Others {
				t.Errorf("%s: after the shorter TTL another's acquire: %s; want others", key, status(r))
			}
			if r := do(n, request(key, "-a", long, 0))[0]; r.Status != redlock.Done {
				t.Errorf("%s: release: %s", key, status(r))
			}
		}
	}
}

// Keys are any bytes, and none is mistaken for another.
func oddKeys(t *testing.T, n redlock.Node) {
	for i, key := range OddKeys {
		if r := do(n, request(key, "+"+fmt.Sprint(i), long, uint64(i%2)))[0]; r.Status != redlock.Done {
			t.Fatalf("acquire %s: %s", short16(key), status(r))
		}
	}
	for i, key := range OddKeys {
		for _, s := range []step{{"+x", 0, redlock.Others, 0}, {"-" + fmt.Sprint(i), 0, redlock.Done, 0}, {"-" + fmt.Sprint(i), 0, redlock.Gone, 0}} {
			if r := do(n, request(key, s.what, long, 0))[0]; r.Status != s.want {
				t.Errorf("%s of %s: %s", s.what, short16(key), status(r))
			}
		}
	}
}

// Of many who ask at once for one key exactly one gets it, and of those with the same
// number too.
func oneWinner(t *testing.T, n redlock.Node) {
	const askers = 8
	rounds := 20
	for round := range rounds {
		for _, fence := range []uint64{0, uint64(round + 1)} {
			var won atomic.Int32
			var winner atomic.Value
			var wg sync.WaitGroup
			key := fmt.Sprint("wanted ", fence > 0)
			for g := range askers {
				wg.Go(func() {
					what := fmt.Sprint("+", round*askers+g)
					switch r := do(n, request(key, what, long, fence))[0]; r.Status {
					case redlock.Done:
						won.Add(1)
						winner.Store(what[1:])
					case redlock.Others:
					default:
						t.Errorf("%s: %s", what, status(r))
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				t.Fatalf("round %d, number %d: %d of %d got the key", round, fence, won.Load(), askers)
			}
			if r := do(n, request(key, "-"+winner.Load().(string), long, 0))[0]; r.Status != redlock.Done {
				t.Fatalf("release: %s", status(r))
			}
		}
	}
}
