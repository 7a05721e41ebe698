package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// failuresOf keeps what an observer is told of failed nodes, in order.
type failuresOf struct {
	mu   sync.Mutex
	told []string
}

func (f *failuresOf) Observe(_ context.Context, e Event) {
	var failed *NodeError
	if e.Kind != NodeFailed || !errors.As(e.Err, &failed) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, fmt.Sprintf("%s %s %s: %v", failed.Name, failed.Op, e.Key, failed.Err))
}

// sorted returns what was told once all have spoken, and forgets it.
func (f *failuresOf) sorted() []string {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	told := f.told
	f.told = nil
	slices.Sort(told)
	return told
}

// A node that fails is told of once a request, whether somebody waits for it or not.
func TestObserverIsToldOfEachFailureOnce(t *testing.T) {
	errDown := errors.New("down")
	for _, c := range []struct {
		name   string
		good   time.Duration // how long the sound nodes take
		bad    time.Duration // and how long the other two
		within time.Duration // of the caller's patience; 0: enough
	}{
		{name: "before the others", good: 5 * ms, bad: ms},
		{name: "with the others", good: 5 * ms, bad: 5 * ms},
		{name: "after the others", good: ms, bad: 5 * ms},
		{name: "long after", good: ms, bad: time.Minute},
		{name: "before the caller has had enough", good: 20 * ms, bad: 5 * ms, within: 10 * ms},
		{name: "when nobody waits", good: 20 * ms, bad: 30 * ms, within: 10 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				nodes, tr := fakes(5)
				for i, n := range nodes {
					d := c.good
					if i > 2 {
						d = c.bad
						n.fail = func(int) error { return errDown }
					}
					n.delay = func(int) time.Duration { return d }
				}
				var failures failuresOf
				l, err := Over(tr, WithObserver(&failures), WithNodeTimeout(100*ms))
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				check := func(op string) {
					t.Helper()
					time.Sleep(2 * time.Minute) // all have answered
					want := []string{"node3 " + op + " k: down", "node4 " + op + " k: down"}
					if got := failures.sorted(); !slices.Equal(got, want) {
						t.Errorf("%s: told %q, want %q", op, got, want)
					}
				}
				ctx := context.Background()
				if c.within > 0 {
					patient, cancel := context.WithTimeout(ctx, c.within)
					defer cancel()
					if _, err := l.TryAcquire(patient, "k", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("acquire: %v", err)
					}
					time.Sleep(2 * time.Minute)
					// Its release followed it, and has failed as well.
					want := []string{"node3 acquire k: down", "node3 release k: down", "node4 acquire k: down", "node4 release k: down"}
					if got := failures.sorted(); !slices.Equal(got, want) {
						t.Errorf("told %q, want %q", got, want)
					}
					return
				}
				token, err := l.TryAcquire(ctx, "k", time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				check("acquire")
				if err := l.Extend(ctx, "k", token, time.Hour); err != nil {
					t.Fatal(err)
				}
				check("extend")
				if err := l.Release(ctx, "k", token); err != nil {
					t.Fatal(err)
				}
				check("release")
			})
		})
	}
}

// A node that a call has waited for in vain has been told of; its late answer is not
// told again. An acquire that its release takes out of the line has not failed.
func TestObserverIsNotToldTwice(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		nodes, tr := fakes(3)
		var failures failuresOf
		l, err := Over(tr, WithObserver(&failures), WithNodeTimeout(100*ms))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for _, n := range nodes[1:] {
			n.delay = func(int) time.Duration { return time.Second }
			n.fail = func(int) error { return ErrNoAnswer }
		}
		if _, err := l.TryAcquire(context.Background(), "k", time.Hour); !errors.Is(err, ErrNoQuorum) {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want := []string{"node1 acquire k: no answer", "node1 release k: no answer", "node2 acquire k: no answer", "node2 release k: no answer"}
		if got := failures.sorted(); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		for _, n := range nodes {
			n.delay, n.fail = nil, nil
		}
		nodes[2].delay = func(int) time.Duration { return 10 * ms }
		for range 5 { // the last of three is always behind
			token, err := l.TryAcquire(context.Background(), "l", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Release(context.Background(), "l", token); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if got := failures.sorted(); len(got) > 0 {
			t.Errorf("told %q, though nothing failed", got)
		}
	})
}

// Locks that share a transport have each its own observers.
func TestObserversOfASharedTransport(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		nodes, tr := fakes(3)
		nodes[2].delay = func(int) time.Duration { return 10 * ms }
		nodes[2].fail = func(int) error { return ErrNoAnswer }
		var failures [2]failuresOf
		var locks []*DistributedLock
		for i := range failures {
			l, err := Over(tr, WithObserver(&failures[i]))
			if err != nil {
				t.Fatal(err)
			}
			locks = append(locks, l)
		}
		plain, err := Over(tr)
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		for i, l := range append(locks, plain) {
			if _, err := l.TryAcquire(context.Background(), fmt.Sprint("k", i), time.Hour); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		for i := range failures {
			if got, want := failures[i].sorted(), []string{fmt.Sprintf("node2 acquire k%d: no answer", i)}; !slices.Equal(got, want) {
				t.Errorf("lock %d: told %q, want %q", i, got, want)
			}
		}
	})
}

// What has come by the time the listener has had enough is told as the listener leaves,
// what comes later as the worker's lane is free; and a call that is used again begins
// anew.
func TestCallTellsWhatItsListenerMissed(t *testing.T) {
	t.Parallel()
	var told []string
	tr := &transport{workers: make([]worker, 3)}
	missed := func(m miss) { told = append(told, fmt.Sprint(m.op, " ", m.key, " ", m.reply.Node)) }
	for i := range tr.workers {
		tr.workers[i].transport = tr
	}
	c := tr.newCall()
	answer := func(node int, err error) {
		w := &tr.workers[node]
		w.mu.Lock()
		c.Receive(Reply{Node: node, Status: map[bool]Status{true: Done}[err == nil], Err: err})
		w.unlock()
	}
	use := func(req Request, heard int) {
		c.ctx, c.req, c.missed = context.Background(), &req, missed
		answer(0, nil)
		answer(1, ErrNoAnswer)
		n := 0
		c.listen(c.ctx, 0, func(Reply) bool { n++; return n < heard })
		c.leave()
		told = append(told, "left")
		answer(2, ErrNoAnswer)
	}
	use(Request{Op: OpAcquire, Key: "k"}, 1)
	use(Request{Op: OpRelease, Key: "l"}, 2)
	use(Request{Op: OpExtend, Key: "m"}, 1)
	want := []string{"acquire k 1", "left", "acquire k 2", "left", "release l 2", "extend m 1", "left", "extend m 2"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
