package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"driftlock/redlock"
)

var bg = context.Background()

func TestValidityIsExact(t *testing.T) {
	m := newModel(5)
	m.each(func(n *modelNode) { n.delay = 500 * time.Millisecond }, 0, 1, 2, 3, 4)
	l := m.lock(t)
	token, err := l.TryAcquire(bg, "k", 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got := token.Remaining(); got != 29_198*time.Millisecond {
		t.Errorf("remaining %v", got)
	}
	m.clock.pass(time.Second)
	if err := l.TryExtend(bg, "k", token, 10*time.Second); err != nil {
		t.Error(err)
	}
	if err := l.Release(bg, "k", token); err != nil {
		t.Error(err)
	}
	m.take("k", 0, 1)
	m.each(die, 2, 3)
	_, err = l.TryAcquire(bg, "k", time.Second)
	t.Log(err)
	if !errors.Is(err, redlock.ErrNoQuorum) {
		t.Error(err)
	}
	m.take("k", 4)
	_, err = l.TryAcquire(bg, "k", time.Second)
	t.Log(err)
	err = l.Release(bg, "k", token)
	t.Log(err)
}
