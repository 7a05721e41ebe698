package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"driftlock/redlock"
)

// What users of other locks reported, as far as it can be shown on the model of
// nodes and clock. Each test names the threads. Some of the tests beside this
// file prove a report too; they are listed at the end.

// go-redsync/redsync#37 (2 ms added to the expiry), SPSCommerce/redlock-py#3
// (drift added), brainix/pottery#644: on perfect clocks validity is never more
// than the TTL less the drift.
func TestReportDriftIsSubtractedOnce(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{100 * ms, time.Second, 10 * time.Second, time.Hour} {
		m := newModel(3)
		token := acquired(t, m.lock(t), ttl)
		if got, want := token.Remaining(), ttl-ttl/100-2*ms; got != want {
			t.Errorf("ttl %v: %v", ttl, got)
		}
	}
}

// go-redsync/redsync#147, #149 and leandromoreira/redlock-rb#36: three nodes are
// restarted empty, one after the other, between extends. The third extend has no
// quorum that still held the key, says so, and makes no key anew.
func TestReportExtendMakesNoKeys(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	m.flush(0)
	wantIs(t, l.Extend(bg, "k", token, 10*time.Second), nil)
	m.flush(1)
	wantIs(t, l.Extend(bg, "k", token, 10*time.Second), redlock.ErrLockNotHeld)
	if n := m.holders("k", token.String()); n != 0 || token.Valid() {
		t.Errorf("%d nodes hold the key, valid %v", n, token.Valid())
	}
}

// go-redsync/redsync#149, leandromoreira/redlock-rb#36, samcook/RedLock.net#48
// and #93: the lock expires, another holds it and releases it; the first holder's
// extend must not succeed, neither then nor later.
func TestReportExtendAfterAnotherTenure(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	first := acquired(t, l, 10*time.Second)
	held, stop := redlock.Watch(bg, l, "k", first, 10*time.Second)
	defer stop()
	timers := m.clock.timers
	m.clock.timers = nil // its process is starved
	m.clock.pass(10_050 * ms)
	second := acquired(t, l, 10*time.Second)
	wantIs(t, l.Release(bg, "k", second), nil)
	m.clock.timers = timers
	for range 3 {
		wantIs(t, l.Extend(bg, "k", first, 10*time.Second), redlock.ErrLockExpired)
	}
	m.clock.pass(time.Minute)
	wantIs(t, context.Cause(held), redlock.ErrLockExpired)
	if m.ours() > 0 {
		t.Error("a key was made anew")
	}
}

// go-redsync/redsync#140, #133, #80, #72, madelson/DistributedLock#191,
// redisson/redisson#1636, #5220 and #1175: one node hangs. Nothing waits for it.
func TestReportOneNodeHangs(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 5} {
		for hung := range n {
			m := newModel(n).all(slow(2 * ms))
			m.each(hang, hung)
			l := m.lock(t)
			token := acquired(t, l, 10*time.Second)
			wantIs(t, l.Extend(bg, "k", token, 10*time.Second), nil)
			wantIs(t, l.Release(bg, "k", token), nil)
			if took := m.clock.Since(epoch); took != 6*ms {
				t.Errorf("node %d of %d hangs: acquire, extend and release took %v", hung, n, took)
			}
		}
	}
}

// leandromoreira/redlock-rb#60, #129, #75, #134, #108, glasslion/redlock#11,
// redisson/redisson#533, mike-marcacci/node-redlock#262, symfony/symfony#39470:
// a node that is down is counted, not raised; an outage is not "held".
func TestReportNodesDown(t *testing.T) {
	t.Parallel()
	for down := range 6 {
		m := newModel(5)
		for i := range down {
			m.each(die, i)
		}
		l := m.lock(t, redlock.WithRetry(redlock.NoRetry()))
		token, err := l.Acquire(bg, "k", time.Second)
		if down <= 2 {
			wantIs(t, err, nil)
			wantIs(t, l.Release(bg, "k", token), nil)
			continue
		}
		wantIs(t, err, redlock.ErrNoQuorum)
		if errors.Is(err, redlock.ErrLockAlreadyHeld) {
			t.Errorf("%d of 5 down: %v", down, err)
		}
	}
}

// go-redsync/redsync#81, #107, #125, #144, #168, mike-marcacci/node-redlock#65,
// #131, #153, #168, #313, #362: a release after the lock expired, or was taken
// over, says so by its own error, at once, and deletes nothing of another's.
func TestReportReleaseOfWhatIsOver(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	for _, c := range []struct {
		name string
		over func(redlock.Token)
		want error
		text string
	}{
		{"the work took longer than the TTL", func(redlock.Token) { m.clock.pass(5 * time.Second) }, redlock.ErrLockExpired, "the deadline passed 4.012s ago"},
		{"expired and taken over", func(redlock.Token) { m.clock.pass(5 * time.Second); m.take("k", 0, 1, 2, 3, 4) }, redlock.ErrLockExpired, "3 hold another's key"},
		{"its keys were deleted", func(redlock.Token) { m.flush(0, 1, 2, 3, 4) }, redlock.ErrLockNotHeld, "3 have no such key"},
	} {
		token := acquired(t, l, time.Second)
		c.over(token)
		before := m.clock.Now()
		err := l.Release(bg, "k", token)
		wantIs(t, err, c.want)
		if errors.Is(err, redlock.ErrLockAlreadyHeld) || !strings.Contains(fmt.Sprint(err), c.text) || !strings.Contains(fmt.Sprint(err), `release "k"`) {
			t.Errorf("%s: %v", c.name, err)
		}
		if took := m.clock.Since(before); took != 0 {
			t.Errorf("%s: took %v", c.name, took)
		}
		m.flush(0, 1, 2, 3, 4)
	}
}

// laravel/framework#26213, #20709, twentyhq/twenty#25661, sibson/redbeat#127,
// ybrs/single-beat#55: neither release nor extend touches another's key.
func TestReportAnothersKeyIsLeftAlone(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	first := acquired(t, l, time.Second)
	m.clock.pass(2 * time.Second)
	second := acquired(t, l, time.Minute)
	until := m.nodes[0].keys["k"].until
	there, err := redlock.ParseToken(first.String()) // it knows no deadline that would stop it
	if err != nil {
		t.Fatal(err)
	}
	wantIs(t, l.Extend(bg, "k", there, time.Hour), redlock.ErrLockNotHeld)
	wantIs(t, l.Release(bg, "k", first), redlock.ErrLockExpired)
	if m.holders("k", second.String()) != 5 || !m.nodes[0].keys["k"].until.Equal(until) {
		t.Error("the second holder's key was touched")
	}
}

// go-redsync/redsync#168: two acquisitions with one context's values are two
// acquisitions; their owners differ, and the handle is explicit.
func TestReportOwnerIsOfTheAcquisition(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	type id struct{}
	ctx := context.WithValue(bg, id{}, "the same")
	a, b := m.lock(t, redlock.WithRetry(redlock.NoRetry())), m.lock(t, redlock.WithRetry(redlock.NoRetry()), redlock.WithRand(numbers(99)))
	first, err := a.Acquire(ctx, "k", time.Second)
	wantIs(t, err, nil)
	_, err = b.Acquire(ctx, "k", time.Second)
	wantIs(t, err, redlock.ErrLockAlreadyHeld)
	wantIs(t, a.Release(ctx, "k", first), nil)
	second, err := b.Acquire(ctx, "k", time.Second)
	if err != nil || second.String() == first.String() {
		t.Errorf("owners %v and %v, %v", first, second, err)
	}
}

// go-redsync/redsync#158, #144, samcook/RedLock.net#64: a renewal races the
// release. Extend after release is an error of its own, not "taken", and no key
// is left.
func TestReportRenewalRacesRelease(t *testing.T) {
	t.Parallel()
	for after := time.Duration(0); after <= 25*ms; after += ms {
		m := newModel(5).all(slow(10 * ms))
		l := m.lock(t)
		token := acquired(t, l, 10*time.Second)
		m.clock.AfterFunc(after, func() { wantIs(t, l.Release(bg, "k", token), nil) })
		err := l.TryExtend(bg, "k", token, time.Minute)
		if err != nil {
			wantIs(t, err, redlock.ErrLockNotHeld)
		}
		m.clock.pass(time.Second)
		if m.ours() > 0 || token.Valid() {
			t.Errorf("released %v after the extend began: %d keys, valid %v", after, m.ours(), token.Valid())
		}
	}
}

// mike-marcacci/node-redlock#296, redisson/redisson#624 and #2172: waiting takes
// longer than the TTL. The lease counts from the attempt that won.
func TestReportWaitLongerThanTheLease(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t, redlock.WithRetry(redlock.Every(200*ms).Times(10)))
	m.take("k", 0, 1)
	m.clock.AfterFunc(1100*ms, func() { m.flush(0, 1) })
	token, err := l.Acquire(bg, "k", time.Second)
	if err != nil || token.Remaining() != 988*ms {
		t.Errorf("remaining %v, %v", token.Remaining(), err)
	}
}

// mike-marcacci/node-redlock#167, #169, #273, #274, #276: the lease is anchored
// before the first send, not at the last answer.
func TestReportAnchor(t *testing.T) {
	t.Parallel()
	m := newModel(5).all(slow(950 * ms))
	l := m.lock(t, redlock.WithNodeTimeout(time.Second))
	token := acquired(t, l, 10*time.Second)
	if got := token.ValidUntil(); !got.Equal(epoch.Add(9_898 * ms)) {
		t.Errorf("acquired, valid until %v", got)
	}
	wantIs(t, l.TryExtend(bg, "k", token, 10*time.Second), nil)
	if got := token.ValidUntil(); !got.Equal(epoch.Add(950*ms + 9_898*ms)) {
		t.Errorf("extended, valid until %v", got)
	}
}

// mike-marcacci/node-redlock#369, symfony/symfony#31426, #32071,
// go-redsync/redsync#71: nodes answer after the validity is over. That is no
// lock; the keys are given back, and the next attempt is not blocked by them.
func TestReportTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	m := newModel(3).all(slow(1500 * ms))
	m.clock.AfterFunc(1499*ms, func() { m.all(slow(2 * ms)) })
	l := m.lock(t, redlock.WithNodeTimeout(2*time.Second))
	token, err := l.Acquire(bg, "k", time.Second)
	if err != nil || m.asked(redlock.OpAcquire) != 2 {
		t.Fatalf("%d attempts: %v", m.asked(redlock.OpAcquire), err)
	}
	if m.sent[1].Op != redlock.OpRelease || m.ours() != 3 || m.holders("k", token.String()) != 3 {
		t.Errorf("sent %v, %d keys", m.sent, m.ours())
	}
}

// mike-marcacci/node-redlock#313, #309: all nodes have gone while the lock is
// held. Release does not try for ever.
func TestReportReleaseReturns(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	token := acquired(t, l, time.Second)
	m.all(hang)
	m.clock.pass(5 * time.Second)
	before := m.clock.Now()
	wantIs(t, l.Release(bg, "k", token), redlock.ErrLockExpired)
	if took := m.clock.Since(before); took != 50*ms {
		t.Errorf("took %v", took)
	}
}

// mike-marcacci/node-redlock#82, common-voice/common-voice#2476: the holder is
// dead, and a waiter asks for ten minutes. It does not hammer the nodes.
func TestReportNoRetryStorm(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	m.take("k", 0, 1, 2, 3, 4)
	ctx, cancel := context.WithCancel(bg)
	m.clock.AfterFunc(10*time.Minute, cancel)
	_, err := m.lock(t).Acquire(ctx, "k", time.Second)
	wantIs(t, err, context.Canceled)
	if n := m.asked(redlock.OpAcquire); n > 1400 { // half a second between two, in the mean
		t.Errorf("%d attempts in ten minutes", n)
	}
}

// mike-marcacci/node-redlock#312: memory grows while waiting, because attempts
// are kept.
func TestReportWaitingKeepsNothing(t *testing.T) {
	var first, last runtime.MemStats
	p := &parrot{n: 3, say: []redlock.Reply{{Node: 0, Err: errRefused}, {Node: 1, Status: redlock.Others}, {Node: 2, Status: redlock.Others}}}
	l, err := redlock.Over(p, redlock.WithRetry(func(n int, _ error) (least, most time.Duration, again bool) {
		switch n {
		case 100:
			runtime.GC()
			runtime.ReadMemStats(&first)
		case 20_100:
			runtime.GC()
			runtime.ReadMemStats(&last)
			return 0, 0, false
		}
		return 0, 0, true
	}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Acquire(bg, "k", time.Second)
	wantIs(t, err, redlock.ErrLockAlreadyHeld)
	if grown := int64(last.HeapAlloc) - int64(first.HeapAlloc); grown > 100_000 {
		t.Errorf("20,000 attempts keep %d bytes", grown)
	}
}

// glasslion/redlock#14: a retry count of zero still tries once.
func TestReportZeroRetriesTryOnce(t *testing.T) {
	t.Parallel()
	for _, p := range []redlock.RetryPolicy{redlock.NoRetry(), redlock.Every(ms).Times(0), redlock.Every(ms).Times(1)} {
		m := newModel(3)
		_, err := m.lock(t, redlock.WithRetry(p)).Acquire(bg, "k", time.Second)
		wantIs(t, err, nil)
	}
}

// redisson/redisson#3730, #3004: the lock is free and its waiters hang on. Here
// every waiter looks for itself.
func TestReportFreeLockIsTaken(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	first := acquired(t, l, time.Hour)
	m.clock.AfterFunc(10*time.Minute, func() { m.flush(0, 1, 2) }) // the holder never says a word
	_, err := l.Acquire(bg, "k", time.Second)
	wantIs(t, err, nil)
	if waited := m.clock.Since(epoch) - 10*time.Minute; waited > time.Second {
		t.Errorf("free for %v", waited)
	}
	runtime.KeepAlive(first)
}

// joanvila/aioredlock#46, #23, mike-marcacci/node-redlock#103: validity is read
// off the clock, and copies of a token are one.
func TestReportValidIsComputed(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	token := acquired(t, l, time.Second)
	copied := token
	m.clock.pass(900 * ms)
	wantIs(t, l.TryExtend(bg, "k", token, time.Second), nil)
	m.clock.pass(900 * ms)
	if !copied.Valid() {
		t.Error("an extend did not reach the copy")
	}
	m.clock.pass(88 * ms)
	if copied.Valid() || token.Valid() {
		t.Error("valid after the deadline")
	}
}

// redisson/redisson#3636, sibson/redbeat#230, mike-marcacci/node-redlock#283:
// only the holder is cut off. It stops at its own deadline, before the keys are
// gone; that is a context that ends, and no crash of a background task.
func TestReportHolderIsCutOff(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	held, stop := redlock.Watch(bg, l, "k", token, 10*time.Second)
	defer stop()
	m.all(hang) // for this client
	m.clock.wait(time.Minute, func() bool { return held.Err() != nil })
	if now := m.clock.Since(epoch); now != 9_898*ms {
		t.Errorf("ended at %v", now)
	}
	if n := m.holders("k", token.String()); n != 5 {
		t.Errorf("trust ended when %d nodes held the key", n)
	}
}

// redisson/redisson#1966, #1626, #2714, #7272: nothing goes on renewing once its
// holder is done, by whatever way it left.
func TestReportRenewalEnds(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(m *model, held context.Context) error{
		"returns": func(*model, context.Context) error { return nil },
		"fails":   func(*model, context.Context) error { return errWork },
		"panics":  func(*model, context.Context) error { panic("boom") },
		"leaves while renewals fail": func(m *model, _ context.Context) error {
			m.all(hang)
			m.clock.pass(5 * time.Second)
			return nil
		},
		"leaves after a loss": func(m *model, _ context.Context) error { m.flush(0, 1, 2); m.clock.pass(time.Minute); return nil },
	} {
		m := newModel(3)
		func() {
			defer func() { _ = recover() }()
			redlock.Do(bg, m.lock(t), "k", 10*time.Second, func(held context.Context, _ redlock.Token) error { return leave(m, held) })
		}()
		m.clock.pass(time.Second) // for what is still out
		extends := m.asked(redlock.OpExtend)
		m.clock.pass(time.Hour)
		if got := m.asked(redlock.OpExtend); got > extends || len(m.clock.timers) > 0 {
			t.Errorf("%s: %d extends afterwards, %d timers", name, got-extends, len(m.clock.timers))
		}
	}
}

// blnkfinance/blnk#354, authgear/authgear-server#5721, kalbasit/ncps#913: the
// request is cancelled, and its deferred release must still free the lock.
// redisson/redisson#4456: so must an interrupted acquire.
func TestReportReleaseOnCancelledContext(t *testing.T) {
	t.Parallel()
	m := newModel(5).all(slow(10 * ms))
	l := m.lock(t)
	ctx, cancel := context.WithCancel(bg)
	token, err := l.Acquire(ctx, "k", time.Minute)
	wantIs(t, err, nil)
	cancel()
	wantIs(t, l.Release(ctx, "k", token), nil)
	m.clock.pass(time.Second)
	if m.ours() > 0 {
		t.Error("the lock stays after its request was cancelled")
	}
}

// bsm/redislock#88, samcook/RedLock.net#92, redisson/redisson#4698, #3854: a lost
// lock is told to its holder, with what the nodes said.
func TestReportLossIsTold(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	err := redlock.Do(bg, m.lock(t), "k", 9*time.Second, func(held context.Context, _ redlock.Token) error {
		m.flush(1, 2)
		m.clock.wait(time.Minute, func() bool { return held.Err() != nil })
		return context.Cause(held)
	})
	wantIs(t, err, redlock.ErrLockNotHeld)
	if now := m.clock.Since(epoch); now != 3*time.Second {
		t.Errorf("told after %v", now)
	}
}

// spring-projects/spring-integration#11044: a held lock is dropped from a cache of
// locks. There is none: ten thousand others do not disturb it.
func TestReportHeldLocksArePinned(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	l := m.lock(t)
	token := acquired(t, l, 10*time.Second)
	held, stop := redlock.Watch(bg, l, "k", token, 10*time.Second)
	defer stop()
	for i := range 10_000 {
		if _, err := l.TryAcquire(bg, fmt.Sprint("other", i), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	m.clock.pass(time.Minute)
	if held.Err() != nil || !token.Valid() {
		t.Error(context.Cause(held))
	}
}

// lukas-krecan/ShedLock#231, #132: nodes get a TTL relative to their own clock,
// so it does not matter that the client's is three minutes, or years, away.
// laravel/framework#31166, redis/redis-py#554, #818: and there is no acquire
// without one.
func TestReportTTLIsRelative(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	m.clock.now = epoch.AddDate(-40, 0, 0) // it is what the nodes' clocks are in the model, too
	token := acquired(t, m.lock(t), 1500*ms+999*time.Microsecond)
	for _, r := range m.sent {
		if r.TTL != 1500*ms {
			t.Errorf("%v", r)
		}
	}
	if token.Remaining() != 1500*ms-15*ms-2*ms {
		t.Errorf("remaining %v", token.Remaining())
	}
}

// hjr265/redsync.go#1: making a lock needs no node; they may come later.
func TestReportNoNodeAtStart(t *testing.T) {
	t.Parallel()
	m := newModel(3).all(die)
	l := m.lock(t)
	if len(m.sent) > 0 {
		t.Error("the constructor asked the nodes")
	}
	m.all(heal)
	acquired(t, l, time.Second)
}

// Proven beside this file:
//
//	go-redsync/redsync#186            TestReturnsAtQuorum: late grants are kept
//	go-redsync/redsync#190            TestNodesAreDistinct
//	redis/go-redis#2985, #2124        TestOwnKeySeenAgain
//	redisson/redisson#1606, leandromoreira/redlock-rb#5    TestFailedAttemptCleansUp
//	mike-marcacci/node-redlock#149    TestAcquireWaits: by default for ever
//	samcook/RedLock.net#68            TestMaxHold
//	redisson/redisson#5698, #3194, #3919    TestWatchRetries
//	sibson/redbeat#218                TestWatchTellsTheLoss, paused past the deadline
