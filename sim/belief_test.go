package sim

import (
	"context"
	"testing"
	"time"

	"driftlock/redlock"
	"driftlock/sim/network"
)

// mute is a lock whose tokens tell nothing: of package redlock, but every token
// is parsed anew.
type mute struct {
	redlock.Locker
	say func(key string, until time.Time)
}

func (m mute) Acquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	t, err := m.Locker.Acquire(ctx, key, ttl)
	if err != nil {
		return t, err
	}
	if m.say != nil {
		m.say(key, t.ValidUntil())
	}
	return redlock.ParseToken(t.String())
}

func redlocked(p *Process) redlock.Locker { return p.locker(nil) }

// quiet is a world of one client without delays.
func quiet() Scenario {
	sc := plain(1, 3)
	sc.Network = network.Config{}
	return sc
}

// TestBelief: what a lock says with Holds counts; if it says nothing, trust lasts
// for the TTL.
func TestBelief(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		speak bool
		trust int64
	}{
		{"says nothing", false, 10_000 * milli},
		{"says its deadline", true, 9_898 * milli},
	} {
		v, err := Test(quiet(), LockedBy(func(p *Process) redlock.Locker {
			m := mute{Locker: redlocked(p)}
			if c.speak {
				m.say = p.Holds
			}
			return m
		}), Do(func(p *Process) { p.Lock().Acquire(p.Context(), "k", 10*time.Second); p.Sleep(20 * time.Second) }))
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Leases) != 1 || v.Leases[0].TrustEnds != c.trust || v.Leases[0].ExclusionEnds != 10_001*milli {
			t.Errorf("%s: %+v, want one lease that is trusted until %d", c.name, v.Leases, c.trust)
		}
	}
}

// TestHoldsWithoutLocker: code that uses no Locker at all says what it believes.
func TestHoldsWithoutLocker(t *testing.T) {
	t.Parallel()
	at := func(p *Process, ms int64) time.Time { return p.Clock().Now().Add(time.Duration(ms) * time.Millisecond) }
	v, err := Test(quiet(), Do(func(p *Process) {
		p.Drops("k") // nothing is held: nothing happens
		for r := range p.Transport().Broadcast(p.Context(), redlock.Request{Op: redlock.OpAcquire, Key: "k", Owner: "mine", TTL: time.Second}, time.Second) {
			_ = r
		}
		p.Holds("k", at(p, 500))
		p.Sleep(400 * time.Millisecond)
		p.Holds("k", at(p, 500)) // 900
		p.Sleep(100 * time.Millisecond)
		p.Drops("k")             // 500
		p.Holds("k", at(p, 550)) // of the same keys again: 1050, too long
	}))
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Leases) != 2 || v.Leases[0].TrustEnds != 500*milli || v.Leases[0].Deadline != 900*milli || v.Leases[1].Granted != 500*milli ||
		v.Leases[1].Margin() != -49*time.Millisecond || len(broken(v, I2)) != 1 {
		t.Errorf("%+v; %v", v.Leases, v.Err())
	}
}

// TestLockWithoutNodes: a lock that asks no node is judged by I1 alone.
func TestLockWithoutNodes(t *testing.T) {
	t.Parallel()
	sc := quiet()
	sc.Clients = plain(2, 3).Clients
	v, err := Test(sc, Do(func(p *Process) {
		p.Holds("k", time.Time{})
		p.Sleep(time.Second)
		p.Drops("k")
	}))
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Violations) != 1 || v.Violations[0].Invariant != I1 || v.Violations[0].Margin != -time.Second {
		t.Errorf("%+v, want I1 broken by 1s and nothing else", v.Violations)
	}
	if m, ok := v.Margin(); !ok || m != 0 {
		t.Errorf("margin %v, want 0: no node is held to anything", m)
	}
}

// TestHoldsToTheEnd: who keeps a lock alive for as long as the run lasts, and
// believes it for as long, has broken nothing when the world stops.
func TestHoldsToTheEnd(t *testing.T) {
	t.Parallel()
	v, err := Test(quiet(), Do(func(p *Process) {
		ask := func(op redlock.Op) {
			for range p.Transport().Broadcast(p.Context(), redlock.Request{Op: op, Key: "k", Owner: "mine", TTL: time.Second}, time.Second) {
			}
		}
		ask(redlock.OpAcquire)
		p.Holds("k", time.Time{})
		for p.Sleep(300*time.Millisecond) == nil {
			ask(redlock.OpExtend)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !v.OK() || len(v.Leases) != 1 || v.Leases[0].TrustEnds != int64(60*sec) {
		t.Errorf("%v; %+v", v.Err(), v.Leases)
	}
}

// TestHoldsBeyondTheToken: code that works on after its token's deadline says so,
// and is judged by that: it is one lease, which outlives its keys.
func TestHoldsBeyondTheToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		work time.Duration
		ends int64
		ok   bool
	}{
		{"in time", 9 * time.Second, 9000 * milli, true},
		{"between the deadline and the end of the keys", 9950 * time.Millisecond, 9950 * milli, true},
		{"too long", 11 * time.Second, 11_000 * milli, false},
	} {
		v, err := Test(quiet(), Do(func(p *Process) {
			l := p.Lock()
			token, err := l.Acquire(p.Context(), "k", 10*time.Second)
			if err != nil {
				return
			}
			p.Holds("k", time.Time{})
			p.Sleep(c.work)
			l.Release(p.Context(), "k", token)
		}))
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Leases) != 1 || v.Leases[0].TrustEnds != c.ends || (len(v.Broken()) == 0) != c.ok || !c.ok && (len(broken(v, I2)) != 1 || len(v.Violations) != 1) {
			t.Errorf("%s: %+v; %v", c.name, v.Leases, v.Violations)
		}
	}
}

// TestWhoseWordIsBroken: what the process says with Holds after its lock was over is
// told as its own word, with the instant by which the lock's word was over; what the
// lock says is told as that.
func TestWhoseWordIsBroken(t *testing.T) {
	t.Parallel()
	v, err := Test(quiet(), Do(func(p *Process) {
		l := p.Lock()
		token, err := l.Acquire(p.Context(), "k", 5*time.Second)
		if err != nil {
			panic(err)
		}
		p.Holds("k", p.Clock().Now().Add(7*time.Second))
		p.Sleep(7200 * time.Millisecond)
		p.Holds("k", p.Clock().Now().Add(time.Second)) // over for 200 ms, and for 2.252 s
		l.Release(p.Context(), "k", token)
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := `c1 said with Holds at 7.2s, of "k", that it goes on with its lock, which by what it had said and heard before had been over for 200ms, and by its token for 2.252s`
	if got := textsOf(v, I6); len(got) != 1 || got[0] != want {
		t.Errorf("I6 %q, want %s", got, want)
	}
	late, err := Test(quiet(), Do(func(p *Process) {
		ask := func(op redlock.Op) {
			for r := range p.Transport().Broadcast(p.Context(), redlock.Request{Op: op, Key: "k", Owner: "mine", TTL: time.Second}, time.Second) {
				_ = r
			}
		}
		ask(redlock.OpAcquire)
		p.Holds("k", p.Clock().Now().Add(500*time.Millisecond))
		p.Sleep(700 * time.Millisecond)
		ask(redlock.OpExtend) // a lock that does not look at its clock
		p.Holds("k", p.Clock().Now().Add(500*time.Millisecond))
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got := textsOf(late, I6); len(got) != 1 || got[0] != `c1 was told at 700ms, of "k", that its lock goes on, which had been over for 200ms` {
		t.Errorf("I6 %q, want what it was told", got)
	}
}

func textsOf(v Verdict, inv Invariant) (texts []string) {
	for _, x := range v.Violations {
		if x.Invariant == inv {
			texts = append(texts, x.Text)
		}
	}
	return texts
}
