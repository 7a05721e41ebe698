package redlock_test

import (
	"math"
	"testing"
	"time"

	"driftlock/redlock"
)

// Rule 12: every grant of a key has a higher number than all before it, whoever
// gets it and whichever quorum grants.
func TestFencesGrow(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	locks := []*redlock.DistributedLock{m.lock(t, redlock.WithFencing()), m.lock(t, redlock.WithFencing()), m.lock(t, redlock.WithFencing())}
	draw := numbers(7)
	last := uint64(0)
	for i := range 2000 {
		m.all(heal)
		down := int(draw() % 5)
		m.each(die, down, (down+1+int(draw()%4))%5)
		l := locks[draw()%3]
		token, err := l.TryAcquire(bg, "k", time.Second)
		if err != nil {
			t.Fatalf("grant %d: %v", i, err)
		}
		n, ok := token.Fence()
		if !ok || n <= last {
			t.Fatalf("grant %d has fence %d, %v; the one before had %d", i, n, ok, last)
		}
		last = n
		if draw()%2 == 0 {
			l.Release(bg, "k", token)
		}
		m.clock.pass(time.Minute) // what dead nodes kept expires
	}
}

// A healthy acquire costs one round, once the number of the key has been seen;
// a number that is too low costs one more, and no pause.
func TestFenceHint(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	for _, n := range m.nodes {
		n.fence["k"] = 41
	}
	l := m.lock(t, redlock.WithFencing())
	for i, want := range []struct {
		fence  uint64
		rounds int
	}{{42, 2}, {43, 3}, {44, 4}} {
		token := acquired(t, l, time.Second)
		if n, _ := token.Fence(); n != want.fence || m.asked(redlock.OpAcquire) != want.rounds {
			t.Errorf("grant %d: fence %d after %d rounds, want %d after %d", i, n, m.asked(redlock.OpAcquire), want.fence, want.rounds)
		}
		l.Release(bg, "k", token)
	}
	if took := m.clock.Since(epoch); took != 0 {
		t.Errorf("took %v", took)
	}
}

// All keys of a grant carry its one number.
func TestFenceIsOne(t *testing.T) {
	t.Parallel()
	m := newModel(5)
	for i, n := range m.nodes {
		n.fence["k"] = uint64(i * 10)
	}
	token := acquired(t, m.lock(t, redlock.WithFencing()), time.Second)
	n, _ := token.Fence()
	agree := 0
	for _, node := range m.nodes {
		if node.keys["k"].owner == token.String() {
			if agree++; node.fence["k"] != n {
				t.Errorf("node %s granted fence %d, the token has %d", node.name, node.fence["k"], n)
			}
		}
	}
	if agree < 3 {
		t.Errorf("%d nodes", agree)
	}
}

// Numbers that cannot be surpassed are an answer too, and no loop.
func TestFenceAtItsEnd(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	for _, n := range m.nodes {
		n.fence["k"] = math.MaxUint64
	}
	_, err := m.lock(t, redlock.WithFencing()).TryAcquire(bg, "k", time.Second)
	wantIs(t, err, redlock.ErrLockAlreadyHeld)
	if got := m.asked(redlock.OpAcquire); got != 3 {
		t.Errorf("%d rounds", got)
	}
}

func TestNoFence(t *testing.T) {
	t.Parallel()
	m := newModel(3)
	if n, ok := acquired(t, m.lock(t), time.Second).Fence(); n != 0 || ok || m.sent[0].Fence != 0 {
		t.Errorf("fence %d, %v without WithFencing", n, ok)
	}
}
