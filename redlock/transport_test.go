package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"
)

// A fakeNode answers each batch after a delay, as a store in memory.
type fakeNode struct {
	name  string
	delay func(batch int) time.Duration // nil: at once
	fail  func(batch int) error         // nil: never
	dies  int                           // panics at this batch, counted from 1

	mu      sync.Mutex
	keys    map[string]string
	log     []string
	batches int
	busy    bool
}

func (n *fakeNode) Name() string { return n.name }

func (n *fakeNode) Do(reqs []*Request, replies []Reply) {
	n.mu.Lock()
	if n.busy {
		panic("two goroutines at once")
	}
	n.busy = true
	n.batches++
	batch := n.batches
	n.mu.Unlock()
	if n.delay != nil {
		time.Sleep(n.delay(batch))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy = false
	if batch == n.dies {
		panic("out of cheese")
	}
	if n.fail != nil {
		if err := n.fail(batch); err != nil {
			for i := range replies {
				replies[i].Err = err
			}
			return
		}
	}
	if n.keys == nil {
		n.keys = map[string]string{}
	}
	for i, r := range reqs {
		n.log = append(n.log, requestName(r))
		replies[i] = Reply{Status: n.execute(r)}
	}
}

func (n *fakeNode) execute(r *Request) Status {
	owner, there := n.keys[r.Key]
	switch {
	case r.Op == OpAcquire && there && owner != r.Owner:
		return Others
	case r.Op == OpAcquire:
		n.keys[r.Key] = r.Owner
	case !there:
		return Gone
	case owner != r.Owner:
		return Others
	case r.Op == OpRelease:
		delete(n.keys, r.Key)
	}
	return Done
}

func (n *fakeNode) left() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.keys)
}

// fakes makes a transport over n nodes in the bubble's time.
func fakes(n int) ([]*fakeNode, *transport) {
	var fs []*fakeNode
	var ns []Node
	for i := range n {
		f := &fakeNode{name: fmt.Sprint("node", i)}
		fs, ns = append(fs, f), append(ns, f)
	}
	return fs, NewTransport(ns, clockwork.NewRealClock()).(*transport)
}

// inBubble runs f in a synctest bubble, which fails if a goroutine is left in it.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

const wait = 50 * ms

// later lets time pass, and what happens in it come to an end.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func collect(tr Transport, ctx context.Context, name string) []Reply {
	return slices.Collect(tr.Broadcast(ctx, *laneRequest(name, time.Minute), wait))
}

func statuses(rs []Reply) string {
	out := make([]string, len(rs))
	for _, r := range rs {
		s := fmt.Sprint(r.Status)
		if r.Err != nil {
			s = r.Err.Error()
		}
		out[r.Node] = s
	}
	return strings.Join(out, " ")
}

func TestTransportAsksAllNodesAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, tr := fakes(3)
		for i, f := range fs {
			f.delay = func(int) time.Duration { return time.Duration(3-i) * ms }
		}
		start := time.Now()
		var order []int
		for r := range tr.Broadcast(context.Background(), *laneRequest("+a", time.Minute), wait) {
			order = append(order, r.Node)
			if r.Status != Done {
				t.Errorf("node %d: %v %v", r.Node, r.Status, r.Err)
			}
		}
		if took := time.Since(start); took != 3*ms || !slices.Equal(order, []int{2, 1, 0}) {
			t.Errorf("took %v, order %v; want 3ms and the order of arrival", took, order)
		}
		if tr.Len() != 3 || tr.NodeName(1) != "node1" {
			t.Error(tr.Len(), tr.NodeName(1))
		}
	})
}

func TestTransportSendsWhenRanged(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, tr := fakes(3)
		seq := tr.Broadcast(context.Background(), *laneRequest("+a", time.Minute), wait)
		synctest.Wait()
		if fs[0].batches != 0 {
			t.Fatal("sent before anyone ranged")
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errors.New("enough"))
		for range seq { // nobody listens to the rest
			break
		}
		synctest.Wait()
		collect(tr, ctx, "-a") // sent though ctx has ended
		synctest.Wait()
		for _, f := range fs {
			if f.batches != 2 || f.left() != 0 {
				t.Errorf("%s got %d batches and has %d keys", f.name, f.batches, f.left())
			}
		}
	})
}

func TestTransportHungNode(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, tr := fakes(3)
		fs[1].delay = func(batch int) time.Duration {
			if batch == 1 {
				return 5 * time.Second
			}
			return 0
		}
		fs[1].fail = func(batch int) error {
			if batch == 1 {
				return ErrNoAnswer
			}
			return nil
		}
		start := time.Now()
		for i := range 10 {
			name := fmt.Sprint(i)
			if got := statuses(collect(tr, context.Background(), "+"+name)); got != "done no answer done" && i == 0 {
				t.Fatalf("acquire: %s", got)
			}
			collect(tr, context.Background(), "-"+name)
		}
		if took := time.Since(start); took != 11*wait {
			t.Errorf("ten cycles took %v, want ten timeouts of the acquires and one of the first release: the others were in line", took)
		}
		later(5 * time.Second) // it comes back
		if got := strings.Join(fs[1].log, " "); got != "-0" || fs[1].left() != 0 {
			t.Errorf("the node that came back was told %q and has %d keys", got, fs[1].left())
		}
		if got := statuses(collect(tr, context.Background(), "+b")); got != "done done done" {
			t.Errorf("after it: %s", got)
		}
	})
}

// A node answers after the deadline: its late grant is released.
func TestTransportLateAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, tr := fakes(3)
		fs[2].delay = func(int) time.Duration { return wait + 1 }
		start := time.Now()
		if got := statuses(collect(tr, context.Background(), "+a")); got != "done done no answer" || time.Since(start) != wait {
			t.Fatalf("%s after %v", got, time.Since(start))
		}
		if got := statuses(collect(tr, context.Background(), "-a")); got != "done done no answer" {
			t.Fatal(got)
		}
		later(time.Second)
		if got := strings.Join(fs[2].log, " "); got != "+a -a" || fs[2].left() != 0 {
			t.Errorf("told %q, %d keys left", got, fs[2].left())
		}
	})
}

// Replies that are there when the wait ends are not thrown away.
func TestTransportRepliesWinOverTheTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for name, end := range map[string]func(ctx context.Context, cancel func()) time.Duration{
			"timeout": func(context.Context, func()) time.Duration { return 2 * wait },
			"context": func(_ context.Context, cancel func()) time.Duration { cancel(); return 0 },
		} {
			fs, tr := fakes(3)
			fs[2].delay = func(int) time.Duration { return time.Hour }
			ctx, cancel := context.WithCancel(context.Background())
			var got []Reply
			for r := range tr.Broadcast(ctx, *laneRequest("+a", time.Minute), wait) {
				if got = append(got, r); len(got) == 1 { // the consumer is slow
					later(end(ctx, cancel))
				}
			}
			if s := statuses(got); !strings.HasPrefix(s, "done done ") || len(got) != 3 {
				t.Errorf("%s: %s", name, s)
			}
			cancel()
			later(time.Hour)
		}
	})
}

func TestTransportContextEndsTheWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, tr := fakes(3)
		for _, f := range fs {
			f.delay = func(int) time.Duration { return 10 * ms }
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(5*ms, func() { cancel(enough) })
		start := time.Now()
		for _, r := range collect(tr, ctx, "+a") {
			if !errors.Is(r.Err, enough) {
				t.Errorf("node %d: %v, want the cause", r.Node, r.Err)
			}
		}
		if time.Since(start) != 5*ms {
			t.Errorf("waited %v", time.Since(start))
		}
		collect(tr, ctx, "-a")
		later(time.Second)
		for _, f := range fs {
			if s := strings.Join(f.log, " "); s != "+a -a" {
				t.Errorf("%s was told %q", f.name, s)
			}
		}
	})
}

func TestTransportEarlyStopLeavesTheRestInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, tr := fakes(5)
		for i, f := range fs {
			f.delay = func(int) time.Duration { return time.Duration(i+1) * ms }
		}
		n := 0
		for range tr.Broadcast(context.Background(), *laneRequest("+a", time.Minute), wait) {
			if n++; n == 3 {
				break
			}
		}
		collect(tr, context.Background(), "-a")
		later(time.Second)
		for _, f := range fs {
			if s := strings.Join(f.log, " "); s != "+a -a" {
				t.Errorf("%s was told %q", f.name, s)
			}
		}
	})
}

func TestTransportPanicOfANode(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, tr := fakes(3)
		fs[1].dies = 1
		start := time.Now()
		got := statuses(collect(tr, context.Background(), "+a"))
		if !strings.Contains(got, "panic: out of cheese") || time.Since(start) != 0 {
			t.Errorf("%q after %v", got, time.Since(start))
		}
		if got := statuses(collect(tr, context.Background(), "+a")); got != "done done done" {
			t.Errorf("after it: %s", got)
		}
	})
}

// A quitter is a node that ends its goroutine, as t.FailNow does, the first time.
type quitter struct{ asked int }

func (q *quitter) Name() string { return "quitter" }

func (q *quitter) Do(reqs []*Request, replies []Reply) {
	if q.asked++; q.asked == 1 {
		runtime.Goexit()
	}
	for i := range replies {
		replies[i] = Reply{Status: Done}
	}
}

func TestTransportNodeEndsItsGoroutine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		q := &quitter{}
		tr := NewTransport([]Node{q}, clockwork.NewRealClock())
		if got := statuses(collect(tr, context.Background(), "+a")); !strings.Contains(got, "ended its goroutine") {
			t.Error(got)
		}
		for range 2 {
			if got := statuses(collect(tr, context.Background(), "+b")); got != "done" {
				t.Errorf("after it: %s", got)
			}
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestTransportClose(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, tr := fakes(3)
		fs[0].delay = func(int) time.Duration { return 10 * ms }
		fs[1].delay = func(int) time.Duration { return 400 * ms }
		for range tr.Broadcast(context.Background(), *laneRequest("+a", time.Minute), wait) {
			break
		}
		synctest.Wait()
		for range tr.Broadcast(context.Background(), *laneRequest("-a", time.Minute), wait) {
			break
		}
		start := time.Now()
		if err := tr.Close(); err != nil || time.Since(start) != 780*ms {
			t.Errorf("Close: %v after %v; want it to wait for what is in line", err, time.Since(start))
		}
		if got := statuses(collect(tr, context.Background(), "+b")); strings.Count(got, ErrClosed.Error()) != 3 {
			t.Errorf("after Close: %s", got)
		}
		for _, f := range fs {
			if s := strings.Join(f.log, " "); s != "+a -a" {
				t.Errorf("%s was told %q", f.name, s)
			}
		}
		if err := tr.Close(); err != nil {
			t.Error("closed twice:", err)
		}
	})
}

func TestTransportCloseDoesNotWaitForever(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, tr := fakes(3)
		fs[1].delay = func(int) time.Duration { return time.Hour }
		var wg sync.WaitGroup
		wg.Go(func() { collect(tr, context.Background(), "+a") })
		synctest.Wait()
		start := time.Now()
		err := tr.Close()
		if !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), "node1") || strings.Contains(err.Error(), "node0") {
			t.Errorf("Close: %v, want node1 named", err)
		}
		if time.Since(start) != closePatience {
			t.Errorf("Close took %v", time.Since(start))
		}
		wg.Wait()
		later(time.Hour) // the bubble sees that the worker ends
	})
}

// Many callers at many nodes that stumble: per owner the order holds, every broadcast
// hears of every node once, and nothing is left behind.
func TestTransportOrderPerOwner(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, tr := fakes(5)
		for i, f := range fs {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			f.delay = func(int) time.Duration {
				if rng.IntN(50) == 0 {
					return 200 * ms
				}
				return time.Duration(rng.IntN(20)) * ms
			}
			f.fail = func(int) error {
				if rng.IntN(20) == 0 {
					return ErrUnsent
				}
				return nil
			}
		}
		var wg sync.WaitGroup
		for g := range 20 {
			wg.Go(func() {
				for i := range 50 {
					owner := fmt.Sprintf("%d.%d", g, i)
					req := Request{Key: owner, Owner: owner, TTL: time.Hour}
					for _, op := range []Op{OpAcquire, OpExtend, OpRelease} {
						req.Op = op
						heard := map[int]bool{}
						for r := range tr.Broadcast(context.Background(), req, 30*ms) {
							if heard[r.Node] {
								t.Errorf("heard of node %d twice", r.Node)
							}
							heard[r.Node] = true
							if len(heard) == 3 && i%2 == 0 {
								break
							}
						}
						if len(heard) < 3 || i%2 == 1 && len(heard) != 5 {
							t.Errorf("heard of %d nodes", len(heard))
						}
					}
				}
			})
		}
		wg.Wait()
		later(time.Minute)
		for _, f := range fs {
			f.fail = nil
		}
		collect(tr, context.Background(), "+last") // carries what is still owed
		collect(tr, context.Background(), "-last")
		later(time.Minute)
		rank := map[byte]int{'+': 0, '~': 1, '-': 2}
		for _, f := range fs {
			if f.left() != 0 {
				t.Errorf("%s has %d keys left", f.name, f.left())
			}
			last := map[string]int{}
			for _, name := range f.log {
				if k := rank[name[0]]; k < last[name[1:]] {
					t.Errorf("%s was told %s late", f.name, name)
				} else {
					last[name[1:]] = k
				}
			}
		}
	})
}

// An idle transport has no goroutine.
func TestTransportLeavesNoGoroutine(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	fs, tr := fakes(5)
	for i := range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		if i%3 == 0 {
			cancel()
		}
		for range tr.Broadcast(ctx, *laneRequest("+a", time.Minute), wait) {
			break
		}
		collect(tr, context.Background(), "-a")
		cancel()
	}
	goleak.VerifyNone(t, ignore)
	for _, f := range fs {
		if f.left() != 0 {
			t.Errorf("%d keys left", f.left())
		}
	}
}

// begun has tr count the goroutines that it starts.
func begun(tr *transport) *atomic.Int64 {
	var n atomic.Int64
	for i := range tr.workers {
		w := &tr.workers[i]
		w.start = func() {
			n.Add(1)
			w.work()
		}
	}
	return &n
}

// resting counts the goroutines of tr that wait for more to do.
func (t *transport) resting() (n int) {
	for i := range t.workers {
		w := &t.workers[i]
		w.mu.Lock()
		if w.resting {
			n++
		}
		w.mu.Unlock()
	}
	return n
}

// patiently is collect in real time, on a machine that may be busy.
func patiently(tr Transport, name string) []Reply {
	return slices.Collect(tr.Broadcast(context.Background(), *laneRequest(name, time.Minute), 10*time.Second))
}

// Who asks again at once finds the goroutines that carried the request before.
func TestTransportGoroutinesRest(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	_, tr := fakes(5)
	n := begun(tr)
	const cycles = 500
	for range cycles {
		if got := statuses(patiently(tr, "+a")); got != "done done done done done" {
			t.Fatal(got)
		}
		patiently(tr, "-a")
	}
	if got := n.Load(); got > cycles {
		t.Errorf("%d goroutines for %d requests", got, 10*cycles)
	}
	goleak.VerifyNone(t, ignore)
	if tr.resting() > 0 {
		t.Error("some rest that are gone")
	}
	if got := statuses(patiently(tr, "+b")); got != "done done done done done" {
		t.Errorf("after they have gone: %s", got)
	}
}

// A request comes just as the goroutine that could carry it is sent away.
func TestTransportDismissesNobodyWithWork(t *testing.T) {
	_, tr := fakes(3) // which see to it that each has one goroutine at a time
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				tr.look()
				runtime.Gosched()
			}
		}
	}()
	for range 2000 {
		for _, name := range []string{"+a", "-a"} {
			if got := statuses(patiently(tr, name)); got != "done done done" {
				t.Fatal(got)
			}
		}
	}
	close(stop)
	<-stopped
}

// Close does not wait for look.
func TestTransportCloseDismisses(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	_, tr := fakes(3)
	for i := 0; tr.resting() == 0; i++ {
		if i == 1000 {
			t.Fatal("nobody rests")
		}
		patiently(tr, "+a")
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	if n := tr.resting(); n > 0 {
		t.Errorf("%d still rest", n)
	}
	goleak.VerifyNone(t, ignore)
}

// Whom a reply wakes finds the lane free, and nobody is forgotten.
func TestTransportRousesWhenTheLaneIsFree(t *testing.T) {
	t.Parallel()
	tr := &transport{workers: make([]worker, 1)}
	a, b, w := tr.newCall(), tr.newCall(), &tr.workers[0]
	w.mu.Lock()
	a.Receive(Reply{Status: Done})
	if len(a.wake) > 0 {
		t.Error("roused while the lane is taken")
	}
	b.Receive(Reply{Status: Done})
	w.unlock()
	if len(a.wake) != 1 || len(b.wake) != 1 {
		t.Errorf("%d and %d are roused, of 1 and 1", len(a.wake), len(b.wake))
	}
}

// The timeout is an event of the injected clock.
func TestTransportTimeoutIsOnTheClock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, _ := fakes(1)
		fs[0].delay = func(int) time.Duration { return time.Hour }
		c := clockwork.NewFakeClock()
		tr := NewTransport([]Node{fs[0]}, c)
		var got []Reply
		go func() { got = collect(tr, context.Background(), "+a") }()
		later(time.Minute)
		if got != nil {
			t.Fatal("heard", statuses(got), "while the clock stood")
		}
		c.Advance(wait)
		synctest.Wait()
		if s := statuses(got); s != ErrNoAnswer.Error() {
			t.Fatal(s)
		}
		later(time.Hour)
	})
}

// A starterClock keeps what is begun until it is told.
type starterClock struct {
	clockwork.Clock
	begun []func()
}

func (c *starterClock) Go(f func()) { c.begun = append(c.begun, f) }

func TestTransportStartsOneWorkerANode(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fs, _ := fakes(2)
		c := &starterClock{Clock: clockwork.NewRealClock()}
		tr := NewTransport([]Node{fs[0], fs[1]}, c)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for i := range 10 {
			collect(tr, ended, fmt.Sprint("+", i))
		}
		if len(c.begun) != 2 {
			t.Fatalf("%d workers for 2 nodes", len(c.begun))
		}
		for _, f := range c.begun {
			f()
		}
		if fs[0].batches != 1 || len(fs[0].log) != 10 {
			t.Errorf("%d batches of %d requests, want all in one", fs[0].batches, len(fs[0].log))
		}
	})
}

// A tieClock fills a call just before its timer fires.
type tieClock struct {
	clockwork.Clock
	call *call
}

func (c *tieClock) AfterFunc(_ time.Duration, f func()) clockwork.Timer {
	for i := range cap(c.call.replies) {
		c.call.Receive(Reply{Node: i, Status: Done})
	}
	f()
	return c.Clock.AfterFunc(0, func() {})
}

func TestTransportRepliesWinATie(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tr := &transport{workers: make([]worker, 3)}
		c := tr.newCall()
		tr.clock = &tieClock{clockwork.NewRealClock(), c}
		var got []Reply
		c.listen(context.Background(), wait, func(r Reply) bool {
			got = append(got, r)
			return true
		})
		if s := statuses(got); s != "done done done" {
			t.Fatal(s)
		}
	})
}

// The timer of a call that has fired, if late, must not end the wait of its next use.
func TestCallWhoseTimerFiredIsNotUsedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, fires := range []bool{false, true} {
			tr := &transport{workers: make([]worker, 1), clock: clockwork.NewRealClock()}
			c := tr.newCall()
			go func() {
				time.Sleep(wait / 2)
				if fires {
					time.Sleep(wait)
				}
				w := &tr.workers[0]
				w.mu.Lock()
				defer w.unlock()
				c.Receive(Reply{Status: Done})
			}()
			c.listen(context.Background(), wait, func(r Reply) bool { return true })
			c.leave()
			synctest.Wait()
			time.Sleep(2 * wait)
			synctest.Wait()
			if c.kept != fires || c.over != fires || c.kept == (len(c.replies) == 0) {
				t.Errorf("fires %v: %+v", fires, c)
			}
		}
	})
}

// A call is used again only when nobody can answer it any more.
func TestCallIsUsedAgain(t *testing.T) {
	t.Parallel()
	tr := &transport{workers: make([]worker, 3)}
	c := tr.newCall()
	c.Receive(Reply{Node: 0})
	c.Receive(Reply{Node: 1})
	c.leave()
	if d := tr.newCall(); d == c {
		t.Fatal("used again while an answer is to come")
	}
	c.Receive(Reply{Node: 2, Err: ErrNoAnswer})
	if len(c.replies) != 0 || c.left || len(c.wake) != 0 || c.replies[:3][2].Err != nil {
		t.Errorf("not as new: %+v", c)
	}
}
