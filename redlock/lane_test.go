package redlock

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const ms = time.Millisecond

// heard collects what receivers hear, by name.
type heard map[string][]Reply

type ear struct {
	name string
	all  heard
}

func (e ear) Receive(r Reply) { e.all[e.name] = append(e.all[e.name], r) }

// A laneRig drives a lane by hand. Requests are named by their letter: "+a" acquires
// for owner a, "~a" extends, "-a" releases.
type laneRig struct {
	t     *testing.T
	l     Lane
	heard heard
	now   time.Duration
}

func newLaneRig(t *testing.T) *laneRig {
	t.Helper()
	return &laneRig{t: t, heard: heard{}, l: Lane{Node: 3}}
}

func laneRequest(name string, ttl time.Duration) *Request {
	op := map[byte]Op{'+': OpAcquire, '~': OpExtend, '-': OpRelease}[name[0]]
	return &Request{Op: op, Key: "k", Owner: name[1:], TTL: ttl}
}

func requestName(r *Request) string {
	return string(" +~-"[r.Op]) + r.Owner
}

func (g *laneRig) push(names ...string) {
	for _, n := range names {
		g.l.Push(g.now, laneRequest(n, time.Second), 50*ms, ear{n, g.heard})
	}
}

// batch takes a batch and demands these requests in it.
func (g *laneRig) batch(want string) {
	g.t.Helper()
	var got []string
	for _, r := range g.l.Take(g.now) {
		got = append(got, requestName(r))
	}
	if s := strings.Join(got, " "); s != want {
		g.t.Fatalf("batch %q, want %q", s, want)
	}
}

func (g *laneRig) settle(rs ...Reply) { g.l.Settle(rs) }

// hears demands what name has heard: one reply with this status or error, or with
// nil that it still waits.
func (g *laneRig) hears(name string, want any) {
	g.t.Helper()
	got := g.heard[name]
	if want == nil {
		if len(got) != 0 {
			g.t.Fatalf("%s heard %v already", name, got)
		}
		return
	}
	if len(got) != 1 {
		g.t.Fatalf("%s heard %d replies (%v), want one", name, len(got), got)
	}
	r := got[0]
	if r.Node != 3 {
		g.t.Errorf("%s heard of node %d, want the lane's, 3", name, r.Node)
	}
	switch w := want.(type) {
	case Status:
		if r.Status != w || r.Err != nil {
			g.t.Fatalf("%s heard %v, %v; want status %v", name, r.Status, r.Err, w)
		}
	case error:
		if r.Status != Failed || !errors.Is(r.Err, w) {
			g.t.Fatalf("%s heard %v, %v; want %v", name, r.Status, r.Err, w)
		}
	}
}

var (
	done     = Reply{Status: Done}
	noAnswer = Reply{Err: ErrNoAnswer}
	notSent  = Reply{Err: fmt.Errorf("%w: connection refused", ErrUnsent)}
	errOwn   = errors.New("LOADING")
	ownError = Reply{Err: errOwn}
)

func TestLaneSendsWhatWaitsAsOneBatch(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	if g.l.Ready() || g.l.Take(0) != nil {
		t.Fatal("an empty lane has nothing to send")
	}
	g.push("+a")
	g.batch("+a")
	g.push("+b", "~a", "+c")
	if g.l.Ready() || g.l.Take(0) != nil {
		t.Fatal("a second batch while one is out")
	}
	g.settle(done)
	g.hears("+a", Done)
	g.hears("+b", nil)
	g.batch("+b ~a +c")
	g.settle(Reply{Status: Others}, done, Reply{Status: Done, Err: ErrNoAnswer}) // a store that left the preset Err
	g.hears("+b", Others)
	g.hears("~a", Done)
	g.hears("+c", Done)
	if g.l.Ready() || g.l.Pending() != 0 {
		t.Fatal("not idle")
	}
}

func TestLaneRepliesMissingOrWithoutReason(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("+a", "+b")
	g.batch("+a +b")
	g.settle(Reply{})
	g.hears("+a", ErrNoAnswer)
	g.hears("+b", ErrNoAnswer)
	g.settle(done, done) // no batch is out
	g.hears("+a", ErrNoAnswer)
}

func TestLaneReleaseWaitsBehindItsAcquire(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("+a")
	g.batch("+a")
	g.push("-a")
	g.hears("-a", nil)
	g.settle(done)
	g.batch("-a")
	g.settle(done)
	g.hears("-a", Done)
}

func TestLaneReleaseOfWhatIsStillInLine(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("+x")
	g.batch("+x")
	g.push("+a", "+b", "-a")
	g.hears("+a", ErrUnsent)
	g.hears("-a", Gone)
	g.settle(done)
	g.batch("+b")
	g.push("+c", "-c") // nothing else waits
	g.hears("+c", ErrUnsent)
	g.hears("-c", Gone)
}

func TestLaneReleaseTakesOnlyTheAcquireOfItsKey(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("+a")
	other := laneRequest("-a", time.Second)
	other.Key = "other"
	g.l.Push(0, other, 50*ms, ear{"-a", g.heard})
	g.hears("+a", nil)
	g.batch("+a -a")
}

func TestLaneDeadlineInLine(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("+x")
	g.batch("+x")
	g.push("+a", "~b", "-c")
	g.settle(done)
	g.now = 50 * ms
	g.batch("-c") // kept for its TTL of a second
	g.hears("+a", ErrUnsent)
	g.hears("~b", ErrUnsent)
	g.settle(done)
	g.push("-a") // its acquire was never sent
	g.hears("-a", Gone)
	if g.l.Ready() {
		t.Fatal("the release of what was never sent goes out")
	}
	g.push("+d", "-e")
	g.now += time.Second - 1
	g.batch("-e")
	g.settle(done)
	g.push("-f")
	g.now += time.Second
	g.batch("")
	g.hears("-f", ErrUnsent)
}

func TestLaneReleaseIsKeptForTheLongerOfWaitAndTTL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ wait, ttl, last time.Duration }{
		{50 * ms, 10 * ms, 50*ms - 1},
		{10 * ms, 50 * ms, 50*ms - 1},
		{0, 50 * ms, 50*ms - 1},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64 - 1},
	} {
		var l Lane
		l.Push(7, laneRequest("-a", c.ttl), c.wait, nil)
		if l.Take(min(c.last, math.MaxInt64-8)+7) == nil {
			t.Errorf("wait %v, TTL %v: not sent at the last moment", c.wait, c.ttl)
		}
	}
}

func TestLaneUnansweredBatchFailsWhatWaitsBehind(t *testing.T) {
	t.Parallel()
	for _, silent := range []Reply{noAnswer, notSent} {
		g := newLaneRig(t)
		g.push("+a")
		g.batch("+a")
		g.push("+b", "~c", "-c")
		g.settle(silent)
		g.hears("+a", silent.Err)
		g.hears("+b", ErrUnsent)
		g.hears("~c", ErrUnsent)
		g.hears("-c", silent.Err)
		g.batch("-c") // owed, and goes out by itself once
		g.settle(silent)
		if g.l.Ready() {
			t.Fatal("what is owed keeps the lane busy")
		}
		g.push("-b") // never sent
		g.hears("-b", Gone)
	}
}

func TestLaneErrorOfTheStoreIsAnAnswer(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("+a")
	g.batch("+a")
	g.push("+b", "-c")
	g.settle(ownError)
	g.hears("+a", errOwn)
	g.hears("+b", nil)
	g.batch("+b -c")
	g.settle(ownError, ownError)
	g.hears("-c", errOwn)
	g.batch("-c")
}

// What nobody can tell any more is not asked again.
func TestLaneReleaseSentTwiceIsNotOwed(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("-a")
	g.batch("-a")
	g.push("+b")
	g.settle(Reply{Err: errSentTwice})
	g.hears("-a", errSentTwice)
	g.hears("+b", nil) // the node has answered
	g.batch("+b")
}

func TestLaneLateGrantIsCleanedUp(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("+a")
	g.batch("+a")
	g.push("-a") // its holder gave up
	g.settle(noAnswer)
	g.hears("-a", ErrNoAnswer)
	g.batch("-a")
	g.settle(done)
	g.hears("-a", ErrNoAnswer) // and hears no second time
	if g.l.Pending() != 0 {
		t.Fatal("still owed")
	}
}

func TestLaneNeverSentReleasesAreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("+a", "-b")
	g.batch("+a -b")
	g.push("-a")
	g.settle(notSent, done)
	g.batch("")
	g.hears("-a", Gone)

	g.push("+c")
	g.batch("+c")
	g.push("-c")
	g.settle(notSent)
	g.hears("-c", Gone)
	if g.l.Pending() != 0 || len(g.l.unsent) != 0 {
		t.Fatalf("still kept: %+v", g.l)
	}
}

func TestLaneOwedRideInFront(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("-a", "-b")
	g.batch("-a -b")
	g.settle(noAnswer, noAnswer)
	g.batch("-a -b")
	g.settle(g.l.Unanswered()...)
	if g.l.Ready() {
		t.Fatal("a third try by itself")
	}
	g.push("+c")
	g.batch("-a -b +c")
	g.settle(done, ownError, done)
	g.hears("+c", Done)
	g.batch("-b") // the node is back
	g.settle(ownError)
	if g.l.Ready() {
		t.Fatal("an error again and again keeps the lane busy")
	}
	g.now = time.Second // its key has expired
	g.push("+d")
	g.batch("+d")
	if g.l.Pending() != 1 {
		t.Fatal("an expired release is still owed")
	}
}

func TestLaneOwedMoreThanABatchHolds(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	sizes := func() (s []int) {
		for n := len(g.l.Take(g.now)); n > 0; n = len(g.l.Take(g.now)) {
			s = append(s, n)
			g.settle(slices.Repeat([]Reply{done}, n)...)
		}
		return s
	}
	for i := range 300 {
		g.push(fmt.Sprint("-", i))
	}
	g.l.Take(0)
	g.settle(g.l.Unanswered()...)
	g.l.Take(0)
	g.settle(g.l.Unanswered()...)
	if g.l.Ready() {
		t.Fatal("owed releases keep the lane busy")
	}
	for i := range 100 {
		g.push(fmt.Sprint("+", i))
	}
	if s := sizes(); !slices.Equal(s, []int{128, 128, 128, 16}) {
		t.Fatal("batches", s)
	}
	if len(g.heard["+99"]) != 1 {
		t.Fatal("what is owed starves what waits")
	}
}

func TestLaneOwedGoesOutByItselfOnce(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	for _, name := range []string{"-a", "-b"} { // the second time as the first
		g.push(name)
		g.batch(name)
		g.settle(noAnswer)
		g.batch(name) // by itself
		g.settle(noAnswer)
		g.batch("")
		g.push("+c")
		g.batch(name + " +c")
		g.settle(ownError, done) // that "+c" was answered pays nothing
		g.batch("")
		g.push("+d")
		g.batch(name + " +d")
		g.settle(done, done)
	}
}

func TestLaneSweepPassesOverTheBatchThatIsOut(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("+out")
	g.batch("+out")
	g.now = 100 * ms
	for i := range 10 * few {
		g.push(fmt.Sprint("+", i))
	}
	g.hears("+out", nil)
	g.settle(done)
	g.hears("+out", Done)
}

// A node that is dead for days does not fill the memory.
func TestLaneIsBounded(t *testing.T) {
	t.Parallel()
	for _, silent := range []Reply{noAnswer, notSent} {
		for _, stuck := range []bool{true, false} {
			var l Lane
			l.Push(0, laneRequest("+first", time.Second), 50*ms, nil)
			l.Take(0)
			most := 0
			for i := range 10_000 { // 1,000 a second
				now := time.Duration(i) * ms
				l.Push(now, laneRequest(fmt.Sprint("+", i), time.Second), 50*ms, nil)
				if i%3 != 0 { // others are abandoned
					l.Push(now+20*ms, laneRequest(fmt.Sprint("-", i-i%7), time.Second), 50*ms, nil)
				}
				if !stuck {
					l.Settle(slices.Repeat([]Reply{silent}, l.out))
					l.Take(now)
				}
				most = max(most, l.kept())
			}
			if most > 6000 {
				t.Errorf("%v, stuck %v: keeps up to %d things of 3,000 live", silent.Err, stuck, most)
			}
		}
	}
}

func TestLaneReset(t *testing.T) {
	t.Parallel()
	g := newLaneRig(t)
	g.push("+a", "-z")
	g.batch("+a -z")
	g.push("+b")
	g.settle(notSent, noAnswer)
	g.push("+c")
	g.l.Reset()
	if g.l.Ready() || g.l.Pending() != 0 || g.l.Node != 3 || len(g.l.unsent) != 0 {
		t.Fatalf("after Reset: %+v", g.l)
	}
	g.push("-a")
	g.batch("-a")
}

// What is over is let go, also what the lane's memory still has room for.
func TestLaneLetsGoOfWhatIsOver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var l Lane
		n := 0
		push := func(t *rapid.T) {
			name := rapid.SampledFrom([]string{"+", "~", "-"}).Draw(t, "op") + fmt.Sprint(n/2)
			n++
			l.Push(time.Duration(n)*ms, laneRequest(name, 20*ms), 10*ms, nil)
		}
		t.Repeat(map[string]func(*rapid.T){
			"push":  push,
			"again": push,
			"take":  func(*rapid.T) { l.Take(time.Duration(n) * ms) },
			"settle": func(t *rapid.T) {
				r := rapid.SampledFrom([]Reply{done, noAnswer, notSent, ownError}).Draw(t, "reply")
				l.Settle(slices.Repeat([]Reply{r}, l.out))
			},
			"": func(t *rapid.T) {
				for _, line := range [][]item{l.line, l.owed} {
					for _, it := range line[len(line):cap(line)] {
						if it != (item{}) {
							t.Fatalf("keeps %s", requestName(it.req))
						}
					}
				}
				for _, r := range l.reqs[l.out:cap(l.reqs)] {
					if r != nil {
						t.Fatalf("keeps %s of a batch that was settled", requestName(r))
					}
				}
			},
		})
	})
}

func TestLaneDoesNotAllocate(t *testing.T) {
	acquire, release := laneRequest("+a", time.Second), laneRequest("-a", time.Second)
	other, notOther := laneRequest("+b", time.Second), laneRequest("-b", time.Second)
	var l Lane
	answers := []Reply{done, done, done}
	cycle := func() {
		l.Push(0, acquire, ms, nil)
		b := l.Take(0)
		l.Push(0, other, ms, nil)
		l.Push(0, release, ms, nil)
		l.Settle(answers[:len(b)])
		l.Take(0)
		l.Settle(l.Unanswered())
		l.Take(0) // the release again
		l.Settle(answers[:1])
		l.Push(0, other, 0, nil)
		l.Take(0) // too late
		l.Push(0, notOther, 0, nil)
	}
	cycle()
	if n := testing.AllocsPerRun(100, cycle); n != 0 {
		t.Errorf("%v allocations a cycle", n)
	}
}

// TestLaneContract drives a lane at random before a node of which it knows what was
// really executed, and holds the lane to each sentence of its contract.
func TestLaneContract(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &laneModel{t: t, keys: map[string]bool{}, names: map[*Request]*sentence{}}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": m.acquire,
			"extend":  func(t *rapid.T) { m.follow(t, OpExtend) },
			"release": func(t *rapid.T) { m.follow(t, OpRelease) },
			"wait":    func(t *rapid.T) { m.now += time.Duration(rapid.IntRange(1, 40).Draw(t, "ms")) * ms },
			"take":    func(*rapid.T) { m.take() },
			"settle":  m.settle,
			"":        func(*rapid.T) { m.check() },
		})
		m.end()
	})
}

// A sentence is a request and what became of it.
type sentence struct {
	m        *laneModel
	req      *Request
	pushed   int // order
	until    time.Duration
	sent     int  // batches it was in
	executed bool // at the node, known to it alone
	told     bool // the node said so
	heard    []Reply
}

func (s *sentence) Receive(r Reply) { s.heard = append(s.heard, r) }

type laneModel struct {
	t      *rapid.T
	l      Lane
	now    time.Duration
	all    []*sentence
	names  map[*Request]*sentence
	batch  []*sentence
	keys   map[string]bool // owners whose key is at the node
	own    int             // batches of owed releases alone since the last push or paid debt
	silent bool            // the last batch got no answer
}

func (m *laneModel) push(op Op, owner string, wait, ttl time.Duration) {
	s := &sentence{m: m, pushed: len(m.all), req: &Request{Op: op, Key: "k", Owner: owner, TTL: ttl}, until: m.now + wait}
	if op == OpRelease {
		s.until = m.now + max(wait, ttl)
	}
	m.all = append(m.all, s)
	m.names[s.req] = s
	m.own = 0
	m.l.Push(m.now, s.req, wait, s)
}

func (m *laneModel) acquire(t *rapid.T) {
	m.push(OpAcquire, fmt.Sprint(len(m.all)), time.Duration(rapid.IntRange(0, 50).Draw(t, "wait"))*ms, 200*ms)
}

// follow pushes an extend or a release of an owner that was not released yet.
func (m *laneModel) follow(t *rapid.T, op Op) {
	var owners []string
	for _, s := range m.all {
		if s.req.Op == OpAcquire && m.find(OpRelease, s.req.Owner) == nil {
			owners = append(owners, s.req.Owner)
		}
	}
	if len(owners) == 0 {
		t.Skip("nobody to follow")
	}
	m.push(op, rapid.SampledFrom(owners).Draw(t, "owner"), time.Duration(rapid.IntRange(0, 50).Draw(t, "wait"))*ms, 200*ms)
}

func (m *laneModel) find(op Op, owner string) *sentence {
	for _, s := range m.all {
		if s.req.Op == op && s.req.Owner == owner {
			return s
		}
	}
	return nil
}

// owes says whether the node has yet to be told of s, though it was tried.
func (s *sentence) owes() bool {
	return s.req.Op == OpRelease && len(s.heard) == 1 && s.heard[0].Err != nil && !s.told && s.until > s.m.now
}

func (m *laneModel) take() {
	if m.batch != nil {
		if m.l.Take(m.now) != nil {
			m.t.Fatal("two batches are out")
		}
		return
	}
	ready := m.l.Ready()
	line := 0
	for _, s := range m.all {
		if len(s.heard) == 0 {
			line++
		}
	}
	reqs := m.l.Take(m.now)
	switch {
	case !ready && (line > 0 || reqs != nil):
		m.t.Fatalf("not ready with %d in line and a batch of %d", line, len(reqs))
	case m.l.Ready():
		m.t.Fatal("ready after a take")
	case len(reqs) > batchMax:
		m.t.Fatalf("a batch of %d", len(reqs))
	case reqs == nil:
		return
	}
	alone := true
	for i, r := range reqs {
		s := m.names[r]
		owed := len(s.heard) > 0
		alone = alone && owed
		if s.until <= m.now {
			m.t.Fatalf("%s is sent %v after its time", requestName(r), m.now-s.until)
		}
		if s.told || owed && !s.owes() {
			m.t.Fatalf("%s is sent again", requestName(r))
		}
		if i > 0 {
			p := m.names[reqs[i-1]]
			if owed && len(p.heard) == 0 {
				m.t.Fatalf("%s is owed and does not ride in front", requestName(r))
			}
			if !owed && len(p.heard) == 0 && p.pushed > s.pushed {
				m.t.Fatalf("%s overtakes %s", requestName(r), requestName(p.req))
			}
		}
		if r.Op == OpRelease {
			a := m.find(OpAcquire, r.Owner)
			if a.sent == 0 && m.now < a.until+a.req.TTL { // later it may be forgotten
				m.t.Fatalf("%s is sent, its acquire never was", requestName(r))
			}
		}
		s.sent++
		m.batch = append(m.batch, s)
	}
	for _, s := range m.all { // few: all that is owed fits
		if s.owes() && !slices.Contains(m.batch, s) {
			m.t.Fatalf("%s is owed and not in the batch", requestName(s.req))
		}
		if len(s.heard) == 0 && !slices.Contains(m.batch, s) {
			m.t.Fatalf("%s waits and is not in the batch", requestName(s.req))
		}
	}
	if alone {
		if m.own++; m.own > 1 {
			m.t.Fatal("what is owed went out by itself more than once")
		}
	}
}

// settle draws how the batch went: prefix answered, then perhaps executed without an
// answer, or certainly not sent.
func (m *laneModel) settle(t *rapid.T) {
	if m.batch == nil {
		t.Skip("no batch")
	}
	answered := len(m.batch)
	if rapid.Bool().Draw(t, "broken") {
		answered = rapid.IntRange(0, len(m.batch)).Draw(t, "answered")
	}
	executed := rapid.IntRange(answered, len(m.batch)).Draw(t, "executed")
	unsent := rapid.Bool().Draw(t, "unsent")
	m.finish(answered, executed, unsent, rapid.IntRange(0, 3).Draw(t, "own error") == 0)
}

func (m *laneModel) finish(answered, executed int, unsent, ownErr bool) {
	var waiting []*sentence
	for _, s := range m.all {
		if len(s.heard) == 0 && !slices.Contains(m.batch, s) {
			waiting = append(waiting, s)
		}
	}
	replies := make([]Reply, len(m.batch))
	first := make([]bool, len(m.batch))
	for i, s := range m.batch {
		r := m.execute(s, i < executed && !(ownErr && i == 0))
		first[i] = len(s.heard) == 0
		switch {
		case i < answered && ownErr && i == 0:
			r = Reply{Err: errOwn}
		case i < answered:
		case unsent && i >= executed && executed == answered:
			r = Reply{Err: ErrUnsent}
		default:
			r = Reply{Err: ErrNoAnswer}
		}
		replies[i], s.told = r, r.Err == nil
		if !first[i] && r.Err == nil {
			m.own = 0
		}
	}
	batch := m.batch
	m.batch = nil
	m.l.Settle(replies)
	for i, s := range batch {
		if len(s.heard) != 1 {
			m.t.Fatalf("%s heard %d times after its batch", requestName(s.req), len(s.heard))
		}
		if r := s.heard[0]; first[i] && (r.Status != replies[i].Status || r.Err != replies[i].Err) && !m.honestGone(s) {
			m.t.Fatalf("%s heard %v, the node said %v", requestName(s.req), r, replies[i])
		}
		if first[i] && s.owes() {
			m.own = 0
		}
	}
	m.silent = answered == 0
	for _, s := range waiting {
		if m.silent != (len(s.heard) == 1) {
			m.t.Fatalf("batch answered by %d: %s behind it heard %v", answered, requestName(s.req), s.heard)
		}
		if s.owes() {
			m.own = 0
		}
	}
}

func (m *laneModel) execute(s *sentence, really bool) Reply {
	if !really {
		return Reply{Err: ErrNoAnswer}
	}
	s.executed = true
	switch o := s.req.Owner; {
	case s.req.Op == OpAcquire:
		m.keys[o] = true
	case !m.keys[o]:
		return Reply{Status: Gone}
	case s.req.Op == OpRelease:
		delete(m.keys, o)
	}
	return Reply{Status: Done}
}

// honestGone: Gone without asking the node is said only where nothing can be.
func (m *laneModel) honestGone(s *sentence) bool {
	return s.req.Op == OpRelease && s.heard[0].Status == Gone && !m.find(OpAcquire, s.req.Owner).executed
}

func (m *laneModel) check() {
	for _, s := range m.all {
		switch {
		case len(s.heard) > 1:
			m.t.Fatalf("%s heard %v", requestName(s.req), s.heard)
		case len(s.heard) == 0:
			continue
		case errors.Is(s.heard[0].Err, ErrUnsent) && s.executed && s.req.Op != OpRelease:
			m.t.Fatalf("%s heard that it was not sent, and was executed", requestName(s.req))
		case s.sent == 0 && s.heard[0].Err == nil && !m.honestGone(s):
			m.t.Fatalf("%s was never sent and heard %v", requestName(s.req), s.heard)
		}
	}
}

// end lets the node answer again: one request more, and nothing is left behind that
// was released and whose time has not passed.
func (m *laneModel) end() {
	if m.batch != nil {
		m.finish(0, 0, false, false)
	}
	m.push(OpExtend, "last", time.Second, time.Second)
	for m.l.Ready() {
		m.take()
		if m.batch != nil {
			m.finish(len(m.batch), len(m.batch), false, false)
		}
	}
	m.check()
	for _, s := range m.all {
		if len(s.heard) != 1 {
			m.t.Fatalf("%s heard %d times in all", requestName(s.req), len(s.heard))
		}
		if s.req.Op == OpRelease && s.until > m.now && m.keys[s.req.Owner] {
			m.t.Fatalf("%s was kept, the node is back, the key is still there", requestName(s.req))
		}
	}
	if m.l.Pending() != 0 {
		m.t.Fatalf("%d still pending", m.l.Pending())
	}
}
