package yours

import (
	"context"
	"math/rand"
	"os"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/simtest"
)

// worker holds the lock for half of the time that it may.
func worker(p *sim.Process) {
	l := p.Lock()
	token, err := l.Acquire(p.Context(), "orders", 10*time.Second)
	if err != nil {
		return
	}
	defer l.Release(context.WithoutCancel(p.Context()), "orders", token)
	p.Sleep(token.Remaining() / 2)
}

func TestHolds(t *testing.T) { simtest.Check(t, sim.Drift(200*clock.PPM).Nodes(3, 7), worker) }

// A TTL that no space draws.
func TestOddTTL(t *testing.T) {
	simtest.Check(t, sim.Drift(100_000*clock.PPM), func(p *sim.Process) {
		if token, err := p.Lock().Acquire(p.Context(), "orders", 7*time.Second); err == nil {
			p.Sleep(token.Remaining())
		}
	})
}

// The lock of this package, as it is called here: with Holds and Drops.
func TestOwnLock(t *testing.T) {
	simtest.Check(t, sim.DriftCovered().Clients(1, 3), func(p *sim.Process) {
		l := Lock{p.Transport(), p.Clock(), func() uint64 { return uint64(p.Rand("owner", 1<<62)) }, 50 * time.Millisecond}
		for range 3 {
			held, err := l.Lock(p.Context(), "orders", 10*time.Second)
			if err != nil {
				p.Sleep(time.Second)
				continue
			}
			p.Holds("orders", held.Until)
			p.Sleep(held.Until.Sub(p.Clock().Now()))
			p.Drops("orders")
			l.Unlock(p.Context(), held)
		}
	})
}

// The same through redlock.Locker, in the workloads that the space draws.
func TestOwnLocker(t *testing.T) {
	simtest.Check(t, sim.DriftCovered(), nil, sim.LockedBy(NewLocker))
}

func TestOwnLockReport(t *testing.T) { simtest.Report(t, "yours", NewLocker) }

func TestSub(t *testing.T) {
	t.Run("a name/with $pecial 'characters'", func(t *testing.T) {
		simtest.Check(t, sim.Canary(), nil)
	})
}

func TestPanic(t *testing.T) {
	simtest.Check(t, sim.Drift(0), func(p *sim.Process) {
		worker(p)
		if p.Transport().Len() > 4 {
			var none map[string]int
			none["orders"]++
		}
	})
}

func TestFatal(t *testing.T) {
	simtest.Check(t, sim.Drift(0), func(p *sim.Process) {
		worker(p)
		if p.Transport().Len() > 4 {
			t.Fatal("too many nodes")
		}
	})
}

func TestError(t *testing.T) {
	simtest.Check(t, sim.Drift(0), func(p *sim.Process) {
		worker(p)
		if p.Transport().Len() > 4 && p.Name() == "c1" {
			t.Error("too many nodes")
		}
	})
}

func TestSkip(t *testing.T) {
	simtest.Check(t, sim.Drift(0), func(p *sim.Process) { t.Skip("not today") })
}

func TestStuck(t *testing.T) {
	simtest.Check(t, sim.Drift(0), func(p *sim.Process) {
		worker(p)
		<-make(chan int)
	})
}

func TestUnsteady(t *testing.T) {
	simtest.Check(t, sim.Canary(), func(p *sim.Process) {
		l := p.Lock()
		p.Sleep(time.Duration(rand.Intn(1e9)))
		if token, err := l.Acquire(p.Context(), "orders", 10*time.Second); err == nil {
			p.Sleep(token.Remaining())
		}
	})
}

func TestNothingGranted(t *testing.T) {
	simtest.Check(t, sim.Drift(0), func(p *sim.Process) { p.Sleep(time.Second) })
}

func TestAway(t *testing.T) {
	t.Chdir(t.TempDir())
	simtest.Check(t, sim.Canary(), nil)
}

func TestReplay(t *testing.T) {
	v := simtest.Replay(t, os.Getenv("YOURS_REPLAY"), nil)
	t.Logf("replayed: %v, %d leases", v.Hash, len(v.Leases))
}

func TestReplayOwn(t *testing.T) {
	v := simtest.Replay(t, os.Getenv("YOURS_REPLAY"), nil, sim.LockedBy(NewLocker))
	t.Logf("replayed: %v, %d leases", v.Hash, len(v.Leases))
}
