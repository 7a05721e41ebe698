package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"driftlock/redlock"
)

const ms = time.Millisecond

var bg = context.Background()

// every answer is late by so much.
func slow(d time.Duration) func(*modelNode) { return func(n *modelNode) { n.delay = d } }

func (m *model) all(f func(*modelNode)) *model {
	for _, n := range m.nodes {
		f(n)
	}
	return m
}

// wantIs fails the test unless err is want; a nil want is no error.
func wantIs(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// acquired is a token of key "k", or the end of the test.
func acquired(t *testing.T, l redlock.Locker, ttl time.Duration) redlock.Token {
	t.Helper()
	token, err := l.TryAcquire(bg, "k", ttl)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// Rule 1, and the golden numbers of drift-math.md: what remains is
// T - elapsed - T·f - b, on the nanosecond.
func TestValidity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		ttl     time.Duration
		elapsed time.Duration
		opts    []redlock.Option
		want    time.Duration
	}{
		{"D1", 30 * time.Second, 500 * ms, nil, 29_198 * ms},
		{"G1", 10 * time.Second, 0, nil, 9_898 * ms},
		{"G1 after 137 ms", 10 * time.Second, 137 * ms, nil, 9_761 * ms},
		{"G6 cut to whole ms, b = 0", 5_900 * time.Microsecond, 0, []redlock.Option{redlock.WithClockDriftBuffer(0)}, 4_950 * time.Microsecond},
		{"G6 cut to whole ms, b = 2", 5_900 * time.Microsecond, 0, nil, 2_950 * time.Microsecond},
		{"f = 0.5", 10 * time.Second, 0, []redlock.Option{redlock.WithClockDriftFactor(0.5)}, 4_998 * ms},
		{"f = 0", 10 * time.Second, 0, []redlock.Option{redlock.WithClockDriftFactor(0)}, 9_998 * ms},
		{"f of 1 ppb of 1 s, rounded up", time.Second, 0, []redlock.Option{redlock.WithClockDriftFactor(1e-10)}, 998*ms - 1},
		{"product rounded up to the nanosecond", 3 * ms, 0, []redlock.Option{redlock.WithClockDriftFactor(1e-9), redlock.WithClockDriftBuffer(0)}, 3*ms - 1},
		{"the longest ttl", 365 * 24 * time.Hour, 0, nil, 365*24*time.Hour/100*99 - 2*ms},
		{"a nil option is passed over", time.Minute, 0, []redlock.Option{nil}, 59_398 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(5).all(slow(c.elapsed))
			token, err := m.lock(t, append(c.opts, redlock.WithNodeTimeout(time.Second))...).TryAcquire(bg, "k", c.ttl)
			if err != nil {
				t.Fatal(err)
			}
			if got := token.Remaining(); got != c.want {
				t.Errorf("remaining %v, want %v", got, c.want)
			}
			if got := token.ValidUntil(); !got.Equal(epoch.Add(c.want + c.elapsed)) {
				t.Errorf("valid until %v", got)
			}
			if sent := m.sent[0].TTL; sent != c.ttl.Truncate(ms) {
				t.Errorf("the nodes got a ttl of %v", sent)
			}
			m.clock.pass(c.want - 1)
			if !token.Valid() || token.Remaining() != 1 {
				t.Errorf("a nanosecond before the deadline: valid %v, remaining %v", token.Valid(), token.Remaining())
			}
			m.clock.pass(1)
			if token.Valid() || token.Remaining() != 0 {
				t.Errorf("at the deadline: valid %v, remaining %v", token.Valid(), token.Remaining())
			}
		})
	}
}

// D3 of drift-math.md: of three nodes the second answers after 12 s of a TTL of
// 10 s. The lock is refused and all three nodes are told.
func TestTooLate(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	m.each(slow(12*time.Second), 1)
	m.each(slow(15*time.Second), 2)
	l := m.lock(t, redlock.WithNodeTimeout(time.Minute))
	token, err := l.TryAcquire(bg, "k", 10*time.Second)
	wantIs(t, err, redlock.ErrValidityExpired)
	if token != (redlock.Token{}) || token.Valid() {
		t.Errorf("a token all the same: %v", token)
	}
	if got := m.asked(redlock.OpRelease); got != 1 {
		t.Errorf("%d releases were broadcast", got)
	}
	m.clock.pass(time.Minute)
	if m.ours() > 0 {
		t.Error("keys were left")
	}
}

// The deadline itself is too late, and so is less than the minimum validity.
func TestLastInstantThatCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		elapsed time.Duration
		min     time.Duration
		want    error
	}{
		{9_898*ms - 1, 0, nil},
		{9_898 * ms, 0, redlock.ErrValidityExpired},
		{1_898 * ms, 8 * time.Second, nil},
		{1_898*ms + 1, 8 * time.Second, redlock.ErrValidityExpired},
	} {
		m := newModel(5).all(slow(c.elapsed))
		l := m.lock(t, redlock.WithNodeTimeout(time.Minute), redlock.WithMinValidity(c.min))
		_, err := l.TryAcquire(bg, "k", 10*time.Second)
		if c.want == nil && err != nil || !errors.Is(err, c.want) {
			t.Errorf("after %v, minimum %v: %v", c.elapsed, c.min, err)
		}
	}
}

// Issue 3, acceptance 4: all 3⁵ combinations of granted, held and failed over
// five nodes, each with its answers in several orders. What comes out depends
// on the answers alone.
func TestMixedAnswers(t *testing.T) {
	t.Parallel()
	what := [3]redlock.Reply{{Status: redlock.Done}, {Status: redlock.Others}, {Err: errRefused}}
	orders := [][5]int{{0, 0, 0, 0, 0}, {1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}, {3, 1, 5, 2, 4}, {2, 5, 1, 4, 3}}
	for combo := range 243 {
		var answers [5]redlock.Reply
		var granted, held int
		for i, c := 0, combo; i < 5; i, c = i+1, c/3 {
			answers[i] = what[c%3]
			switch c % 3 {
			case 0:
				granted++
			case 1:
				held++
			}
		}
		want := redlock.ErrNoQuorum
		switch {
		case granted >= 3:
			want = nil
		case granted+held >= 3:
			want = redlock.ErrLockAlreadyHeld
		}
		for _, order := range orders {
			m := newModel(5)
			for i, n := range m.nodes {
				n.says, n.delay = &answers[i], time.Duration(order[i])*ms
			}
			_, err := m.lock(t).TryAcquire(bg, "k", 10*time.Second)
			if !errors.Is(err, want) || (want == nil) != (err == nil) {
				t.Errorf("%d granted, %d held of 5, in order %v: %v, want %v", granted, held, order, err, want)
			}
			for _, other := range []error{redlock.ErrLockAlreadyHeld, redlock.ErrNoQuorum, redlock.ErrValidityExpired} {
				if other != want && errors.Is(err, other) {
					t.Errorf("%d granted, %d held of 5: %v is also %v", granted, held, err, other)
				}
			}
			if got := m.asked(redlock.OpRelease); (got == 1) != (want != nil) {
				t.Errorf("%d granted, %d held of 5: %d releases", granted, held, got)
			}
		}
	}
}

// A quorum for every number of nodes, and the case of an even one split in two.
func TestQuorums(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, free int
		want    error
	}{
		{1, 1, nil}, {1, 0, redlock.ErrLockAlreadyHeld},
		{2, 2, nil}, {2, 1, redlock.ErrLockAlreadyHeld},
		{3, 2, nil}, {3, 1, redlock.ErrLockAlreadyHeld},
		{4, 3, nil}, {4, 2, redlock.ErrLockAlreadyHeld},
		{5, 3, nil}, {5, 2, redlock.ErrLockAlreadyHeld},
		{64, 33, nil}, {64, 32, redlock.ErrLockAlreadyHeld},
	} {
		m := newModel(c.n)
		for i := range c.n - c.free {
			m.take("k", i)
		}
		_, err := m.lock(t).TryAcquire(bg, "k", time.Second)
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%d of %d free: %v, want %v", c.free, c.n, err, c.want)
		}
	}
}

// Rule 4: it returns when a quorum has granted; the late grants are kept.
func TestReturnsAtQuorum(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	for i, n := range m.nodes {
		n.delay = time.Duration(i+1) * 10 * ms
	}
	token := acquired(t, m.lock(t), 10*time.Second)
	if took := m.clock.Since(epoch); took != 30*ms {
		t.Errorf("took %v", took)
	}
	m.clock.pass(time.Second)
	if got := m.holders("k", token.String()); got != 5 {
		t.Errorf("%d nodes hold the key", got)
	}
}

// Rule 4: as soon as it is clear, and not before it is clear, what the answers
// come to. What is still out does not matter.
func TestReturnsWhenOutOfReach(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		set  func(m *model)
		want error
		took time.Duration
	}{
		{"three hold another's", func(m *model) { m.take("k", 0, 1, 2) }, redlock.ErrLockAlreadyHeld, 30 * ms},
		{"three are dead", func(m *model) { m.each(die, 0, 1, 2) }, redlock.ErrNoQuorum, 30 * ms},
		{"two hold another's, one is dead, one grants", func(m *model) { m.take("k", 0, 1); m.each(die, 2) }, redlock.ErrLockAlreadyHeld, 40 * ms},
		{"one holds another's, two are dead, two hang", func(m *model) { m.take("k", 0); m.each(die, 1, 2); m.each(hang, 3, 4) }, redlock.ErrNoQuorum, 500 * ms},
	} {
		m := newModel(5)
		for i, n := range m.nodes {
			n.delay = time.Duration(i+1) * 10 * ms
		}
		c.set(m)
		_, err := m.lock(t).TryAcquire(bg, "k", 10*time.Second)
		wantIs(t, err, c.want)
		if took := m.sent[1].at; took != c.took { // when it gave back
			t.Errorf("%s: took %v, want %v", c.name, took, c.took)
		}
	}
}

type observer func(redlock.Event)

func (f observer) Observe(_ context.Context, e redlock.Event) { f(e) }

// Rule 5: a failed attempt gives back on all nodes, those that never answered
// too, before the lock sleeps.
func TestFailedAttemptCleansUp(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	m.take("k", 0, 1)
	m.each(mute, 2, 3) // they set the key, and nobody hears of it
	m.each(hang, 4)
	l := m.lock(t, redlock.WithRetry(redlock.Every(time.Minute)))
	ctx, cancel := context.WithCancel(bg)
	m.clock.AfterFunc(30*time.Second, cancel) // while it sleeps
	_, err := l.Acquire(ctx, "k", 10*time.Second)
	wantIs(t, err, context.Canceled)
	wantIs(t, err, redlock.ErrNoQuorum) // the last whole attempt
	if m.ours() > 0 {
		t.Errorf("%d keys were left", m.ours())
	}
	m.resume()
	if m.ours() > 0 {
		t.Error("the node that hung was left with a key")
	}
}

// A context that has ended costs nothing; one that ends in flight neither leaves
// keys behind nor delays its caller.
func TestCancelled(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	for _, at := range []time.Duration{0, 1, 5 * ms, 10 * ms, 15 * ms, 20 * ms, 49 * ms} {
		m := newModel(5).all(slow(20 * ms))
		m.each(hang, 0, 1, 2)
		l := m.lock(t)
		ctx, cancel := context.WithCancelCause(bg)
		if at == 0 {
			cancel(why)
		} else {
			m.clock.AfterFunc(at, func() { cancel(why) })
		}
		_, err := l.Acquire(ctx, "k", time.Second)
		wantIs(t, err, why)
		wantIs(t, err, context.Canceled)
		if errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("at %v: an attempt that was cut short is no outage: %v", at, err)
		}
		if took := m.clock.Since(epoch); took != at {
			t.Errorf("ended at %v, returned at %v", at, took)
		}
		if at == 0 && len(m.sent) > 0 {
			t.Errorf("sent %v though the context had ended", m.sent)
		}
		m.resume()
		m.clock.pass(100 * ms)
		if m.ours() > 0 {
			t.Errorf("cancelled at %v: %d keys were left", at, m.ours())
		}
	}
}

// Rule 3: no two attempts share an owner value, and it is the same on all nodes.
func TestFreshOwners(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	m.take("k", 0, 1, 2)
	l := m.lock(t, redlock.WithRetry(redlock.Every(ms).Times(50)))
	_, err := l.Acquire(bg, "k", time.Second)
	wantIs(t, err, redlock.ErrLockAlreadyHeld)
	owners := map[string]int{}
	for _, r := range m.sent {
		if owners[r.Owner]++; len(r.Owner) != 32 {
			t.Fatalf("owner %q", r.Owner)
		}
	}
	if len(owners) != 50 {
		t.Errorf("%d owner values in 50 attempts", len(owners))
	}
	for o, n := range owners {
		if n != 2 {
			t.Errorf("%d requests of %s, want its acquire and its release", n, o)
		}
	}
	// Without a source of its own the lock draws from crypto/rand.
	l, err = redlock.Over(m, redlock.WithClock(m.clock))
	if err != nil {
		t.Fatal(err)
	}
	l.TryAcquire(bg, "other", time.Second)
	l.TryAcquire(bg, "another", time.Second)
	if a, b := m.sent[len(m.sent)-2].Owner, m.sent[len(m.sent)-1].Owner; a == b || len(a) != 32 {
		t.Errorf("owners %q and %q", a, b)
	}
}

// Rule 6: our own key there already is a grant: somebody resent our SET.
func TestOwnKeySeenAgain(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	ours := redlock.Reply{Status: redlock.Ours}
	m.each(func(n *modelNode) { n.says = &ours }, 0, 1, 2)
	m.take("k", 3, 4)
	token := acquired(t, m.lock(t), 10*time.Second)
	if got := token.Remaining(); got != 9_898*ms {
		t.Errorf("remaining %v", got)
	}
}

// What a broken transport says does not count twice, or for nodes that are not there.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for _, r := range []redlock.Reply{
		{Node: -1, Status: redlock.Done},
		{Node: 5, Status: redlock.Done},
		{Node: 1000, Status: redlock.Done},
		{Node: 0, Status: redlock.Status(17)},
		{Node: 0},
	} {
		l, err := redlock.Over(&parrot{n: 5, say: []redlock.Reply{r, r, r, r, r}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.TryAcquire(bg, "k", time.Second)
		wantIs(t, err, redlock.ErrNoQuorum)
	}
	l, err := redlock.Over(&parrot{n: 5, say: []redlock.Reply{ // nodes 0 and 1 take their refusals back
		{Node: 0, Status: redlock.Others}, {Node: 0, Status: redlock.Done}, {Node: 1, Status: redlock.Others},
		{Node: 1, Status: redlock.Done}, {Node: 2, Status: redlock.Done}, {Node: 3, Status: redlock.Others},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.TryAcquire(bg, "k", time.Second)
	wantIs(t, err, redlock.ErrLockAlreadyHeld)
}

// The text of an error is for whoever is woken by it.
func TestErrorText(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	m.take("jobs", 0)
	m.each(die, 1, 2)
	m.each(hang, 3)
	m.nodes[2].name = ""
	_, err := m.lock(t).TryAcquire(bg, "jobs", 10*time.Second)
	const want = `redlock: acquire "jobs": quorum unreachable: 1 of 5 nodes granted, 1 holds another's key, 3 failed; needed 3 ` +
		`(B: connection refused; node 2: connection refused; D: no answer)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	var node *redlock.NodeError
	if !errors.As(err, &node) || node.Name != "B" || node.Node != 1 || node.Op != redlock.OpAcquire {
		t.Errorf("first node error %+v", node)
	}
	if got, want := fmt.Sprint(node), "B: acquire: connection refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	wantIs(t, err, errRefused)
	wantIs(t, err, redlock.ErrNoAnswer)
	_, err = m.lock(t).TryAcquire(bg, strings.Repeat("x\n", 500_000), time.Second)
	if text := err.Error(); len(text) > 400 || !strings.Contains(text, "1000000 bytes") {
		t.Errorf("a key of 1 MB: a text of %d bytes", len(text))
	}
}

// An owner value is two random numbers, the first of them first.
func TestOwnerIsHexadecimal(t *testing.T) {
	t.Parallel()
	drawn := []uint64{0x0123456789abcdef, 0xfedcba9876543210, 0, 1<<64 - 1}
	l := newModel(3).lock(t, redlock.WithRand(func() (n uint64) { n, drawn = drawn[0], drawn[1:]; return n }))
	for _, want := range []string{"0123456789abcdeffedcba9876543210", "0000000000000000ffffffffffffffff"} {
		token, err := l.TryAcquire(bg, want, time.Second)
		wantIs(t, err, nil)
		if token.String() != want {
			t.Errorf("%v, want %s", token, want)
		}
	}
}

// A talker is a transport that yields after the loop has ended: once within its
// Broadcast, or whenever somebody calls late.
type talker struct {
	within bool
	late   func(redlock.Reply) bool
}

func (k *talker) Len() int     { return 1 }
func (k *talker) Close() error { return nil }

func (k *talker) Broadcast(context.Context, redlock.Request, time.Duration) iter.Seq[redlock.Reply] {
	return func(yield func(redlock.Reply) bool) {
		k.late = yield
		if !yield(redlock.Reply{Status: redlock.Done}) && k.within {
			yield(redlock.Reply{Status: redlock.Done})
		}
	}
}

// What a transport yields too late is counted for no other request.
func TestTransportThatGoesOnIsFound(t *testing.T) {
	t.Parallel()
	for _, within := range []bool{true, false} {
		k := &talker{within: within}
		l, err := redlock.Over(k)
		wantIs(t, err, nil)
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, "after the loop over its replies has ended") {
					t.Errorf("within %v: %s", within, text)
				}
			}()
			l.TryAcquire(bg, "k", time.Second)
			k.late(redlock.Reply{Status: redlock.Done})
		}()
		k.within = false
		_, err = l.TryAcquire(bg, "k", time.Second)
		wantIs(t, err, nil)
	}
}
