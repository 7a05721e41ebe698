package redlock_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"driftlock/redlock"

	"github.com/jonboulle/clockwork"
)

// The tests of the lock's logic run on a model: a clock that moves only when
// somebody waits on it, and nodes that keep keys on that clock. Everything
// happens in the test's own goroutine, in an order that is always the same.

// A modelClock jumps from event to event while somebody sleeps or waits on it.
// It implements only what the lock may use: readings, AfterFunc, SleepContext.
type modelClock struct {
	clockwork.Clock // nil: anything else panics

	mu     sync.Mutex // over what follows; not held while a timer runs
	now    time.Time
	timers []*modelTimer
}

type modelTimer struct {
	c   *modelClock
	due time.Time
	f   func()
}

var epoch = time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)

func newClock() *modelClock { return &modelClock{now: epoch} }

func (c *modelClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *modelClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *modelClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

func (c *modelClock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	t := &modelTimer{c: c, f: f}
	t.Reset(d)
	return t
}

func (t *modelTimer) Chan() <-chan time.Time { return nil }

func (t *modelTimer) Stop() bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	n := len(t.c.timers)
	t.c.timers = slices.DeleteFunc(t.c.timers, func(u *modelTimer) bool { return u == t })
	return len(t.c.timers) < n
}

func (t *modelTimer) Reset(d time.Duration) bool {
	was := t.Stop()
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.due = t.c.now.Add(d)
	i, _ := slices.BinarySearchFunc(t.c.timers, t.due, func(u *modelTimer, due time.Time) int {
		if u.due.After(due) {
			return 1
		}
		return -1 // after those that are due at the same instant
	})
	t.c.timers = slices.Insert(t.c.timers, i, t)
	return was
}

// wait lets d pass, timer by timer, and stops early when enough says so.
func (c *modelClock) wait(d time.Duration, enough func() bool) {
	end := c.Now().Add(d)
	for !enough() {
		c.mu.Lock()
		if len(c.timers) == 0 || c.timers[0].due.After(end) {
			if end.After(c.now) {
				c.now = end
			}
			c.mu.Unlock()
			return
		}
		t := c.timers[0]
		c.timers = c.timers[1:]
		if t.due.After(c.now) {
			c.now = t.due
		}
		c.mu.Unlock()
		t.f()
	}
}

// pass lets d pass.
func (c *modelClock) pass(d time.Duration) { c.wait(d, func() bool { return false }) }

// jump lets d pass at once, as for a process that stood still: what was due
// meanwhile runs afterwards.
func (c *modelClock) jump(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	c.pass(0)
}

func (c *modelClock) SleepContext(ctx context.Context, d time.Duration) error {
	c.wait(d, func() bool { return ctx.Err() != nil })
	return context.Cause(ctx)
}

// A model is a transport to nodes that are part of it.
type model struct {
	clock  *modelClock
	nodes  []*modelNode
	mu     sync.Mutex // over what follows, and over the nodes
	sent   []sending
	closed int
}

// A sending is one broadcast, and when it was.
type sending struct {
	redlock.Request
	at time.Duration
}

// A modelNode is one node. Its zero value answers at once.
type modelNode struct {
	name  string
	keys  map[string]modelKey
	fence map[string]uint64 // the highest number accepted
	fails error             // it answers so, and does nothing
	hangs bool              // it does and says nothing until it is resumed
	mute  bool              // it does what it is asked, but its answers are lost
	delay time.Duration     // from the question to the answer; it acts halfway
	says  *redlock.Reply
	queue []func()
}

type modelKey struct {
	owner string
	until time.Time
}

func newModel(n int) *model {
	m := &model{clock: newClock()}
	for i := range n {
		m.nodes = append(m.nodes, &modelNode{name: string(rune('A' + i)), keys: map[string]modelKey{}, fence: map[string]uint64{}})
	}
	return m
}

// lock is a lock over the model; it fails the test where there is an error.
func (m *model) lock(t testing.TB, opts ...redlock.Option) *redlock.DistributedLock {
	t.Helper()
	opts = append([]redlock.Option{redlock.WithClock(m.clock), redlock.WithRand(numbers(uint64(len(m.nodes))))}, opts...)
	l, err := redlock.Over(m, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// numbers is a random source that repeats itself from run to run.
func numbers(seed uint64) func() uint64 {
	return func() uint64 { // splitmix64
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
}

func (m *model) Len() int              { return len(m.nodes) }
func (m *model) NodeName(i int) string { return m.nodes[i].name }
func (m *model) Close() error          { m.closed++; return nil }

func (m *model) Broadcast(ctx context.Context, req redlock.Request, timeout time.Duration) iter.Seq[redlock.Reply] {
	return func(yield func(redlock.Reply) bool) {
		b := &broadcast{}
		m.mu.Lock()
		m.sent = append(m.sent, sending{req, m.clock.Since(epoch)})
		m.mu.Unlock()
		for i := range m.nodes {
			m.ask(i, req, b)
		}
		end := m.clock.Now().Add(timeout)
		for heard := uint64(0); ; {
			for r := range b.take() {
				if heard |= 1 << r.Node; !yield(r) {
					return
				}
			}
			if heard == 1<<len(m.nodes)-1 {
				return
			}
			var why error
			switch {
			case ctx.Err() != nil:
				why = context.Cause(ctx)
			case !m.clock.Now().Before(end):
				if m.clock.pass(0); b.any() { // an answer that is there wins
					continue
				}
				why = redlock.ErrNoAnswer
			}
			if why != nil {
				redlock.Silence(len(m.nodes), heard, why, yield)
				return
			}
			m.clock.wait(m.clock.Until(end), func() bool { return ctx.Err() != nil || b.any() })
		}
	}
}

// ask lets node i act on req and answer to b, when its time has come.
func (m *model) ask(i int, req redlock.Request, b *broadcast) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[i]
	act := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		r := n.do(m.clock.Now(), req)
		r.Node = i
		switch {
		case n.mute:
		case n.delay == 0:
			b.put(r)
		default:
			m.clock.AfterFunc(n.delay-n.delay/2, func() { b.put(r) })
		}
	}
	switch {
	case n.hangs:
		n.queue = append(n.queue, act)
	case n.delay > 0:
		m.clock.AfterFunc(n.delay/2, act)
	default:
		m.mu.Unlock()
		act()
		m.mu.Lock()
	}
}

// resume lets nodes that hang go on; they do first what waits at them.
func (m *model) resume() {
	for _, n := range m.nodes {
		if n.hangs = false; n.queue != nil {
			queue := n.queue
			n.queue = nil
			for _, act := range queue {
				act()
			}
		}
	}
}

func (n *modelNode) do(now time.Time, req redlock.Request) redlock.Reply {
	if n.says != nil {
		return *n.says
	}
	if n.fails != nil {
		return redlock.Reply{Err: n.fails}
	}
	r := n.act(now, req)
	r.Fence = n.fence[req.Key]
	return r
}

func (n *modelNode) act(now time.Time, req redlock.Request) redlock.Reply {
	k, ok := n.keys[req.Key]
	ok = ok && now.Before(k.until)
	ours := ok && k.owner == req.Owner
	until := now.Add(req.TTL)
	switch {
	case req.Op == redlock.OpAcquire && ours:
		return redlock.Reply{Status: redlock.Ours}
	case req.Op == redlock.OpAcquire && !ok && req.Fence > 0 && req.Fence <= n.fence[req.Key]:
		return redlock.Reply{Status: redlock.Gone}
	case req.Op == redlock.OpAcquire && !ok:
		n.fence[req.Key] = max(n.fence[req.Key], req.Fence)
		n.keys[req.Key] = modelKey{req.Owner, until}
	case ok && !ours:
		return redlock.Reply{Status: redlock.Others}
	case !ok:
		return redlock.Reply{Status: redlock.Gone}
	case req.Op == redlock.OpExtend:
		if until.After(k.until) {
			n.keys[req.Key] = modelKey{req.Owner, until}
		}
	case req.Op == redlock.OpRelease:
		delete(n.keys, req.Key)
	}
	return redlock.Reply{Status: redlock.Done}
}

// take puts another's key on nodes, for an hour.
func (m *model) take(key string, nodes ...int) {
	for _, i := range nodes {
		m.nodes[i].keys[key] = modelKey{"another", m.clock.Now().Add(time.Hour)}
	}
}

// flush empties nodes.
func (m *model) flush(nodes ...int) {
	for _, i := range nodes {
		clear(m.nodes[i].keys)
	}
}

func (m *model) each(f func(n *modelNode), nodes ...int) {
	for _, i := range nodes {
		f(m.nodes[i])
	}
}

func hang(n *modelNode) { n.hangs = true }
func mute(n *modelNode) { n.mute = true }
func die(n *modelNode)  { n.fails = errRefused }
func heal(n *modelNode) { n.fails, n.mute, n.hangs, n.says = nil, false, false, nil }

var errRefused = errors.New("connection refused")

// holders is on how many nodes owner has key now.
func (m *model) holders(key, owner string) (n int) {
	for _, node := range m.nodes {
		if k := node.keys[key]; k.owner == owner && m.clock.Now().Before(k.until) {
			n++
		}
	}
	return n
}

// ours is how many keys there are that are not another's.
func (m *model) ours() (n int) {
	for _, node := range m.nodes {
		for k := range maps.Values(node.keys) {
			if k.owner != "another" && m.clock.Now().Before(k.until) {
				n++
			}
		}
	}
	return n
}

// asked is how many requests of that kind were broadcast.
func (m *model) asked(op redlock.Op) (n int) {
	for _, r := range m.sent {
		if r.Op == op {
			n++
		}
	}
	return n
}

// A broadcast collects the answers to one request.
type broadcast struct {
	mu    sync.Mutex
	inbox []redlock.Reply
}

func (b *broadcast) put(r redlock.Reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inbox = append(b.inbox, r)
}

func (b *broadcast) any() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.inbox) > 0
}

// take yields what has come, in order.
func (b *broadcast) take() iter.Seq[redlock.Reply] {
	return func(yield func(redlock.Reply) bool) {
		for b.any() {
			b.mu.Lock()
			r := b.inbox[0]
			b.inbox = b.inbox[1:]
			b.mu.Unlock()
			if !yield(r) {
				return
			}
		}
	}
}
