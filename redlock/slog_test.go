package redlock_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"driftlock/redlock"
)

// logger writes lines without a time.
func logger(w *bytes.Buffer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// Each event is one line, as loud as it matters, with what it has.
func TestSlog(t *testing.T) {
	t.Parallel()
	var all, quiet bytes.Buffer
	m := newModel(3).all(slow(10 * ms))
	l := m.lock(t, redlock.WithObserver(redlock.Slog(logger(&all, slog.LevelDebug))), redlock.WithObserver(redlock.Slog(logger(&quiet, slog.LevelError))))
	eventful(t, m, l)
	for _, want := range []string{
		`level=DEBUG msg="lock attempted" key=k attempt=1 took=10ms`,
		`level=DEBUG msg="lock granted" key=k attempt=1 took=10ms remaining=978ms`,
		`level=WARN msg="lock node failed" key=k node=2 err=`,
		`level=DEBUG msg="lock renewed" key=k attempt=1 took=10ms remaining=978ms`,
		`level=DEBUG msg="lock released" key=k took=10ms`,
		`level=ERROR msg="lock lost" key=k err=`,
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no line %s in\n%s", want, all.String())
		}
	}
	if lines := strings.Count(quiet.String(), "\n"); lines != 1 || !strings.Contains(quiet.String(), "lock lost") {
		t.Errorf("at level ERROR: %s", quiet.String())
	}
}

// What is not wanted costs no allocation.
func TestSlogThatNobodyReads(t *testing.T) {
	o := redlock.Slog(slog.New(slog.DiscardHandler))
	e := redlock.Event{Kind: redlock.Granted, Key: "k", Node: -1, Attempt: 1, Took: time.Second}
	if n := testing.AllocsPerRun(100, func() { o.Observe(context.Background(), e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	redlock.Slog(nil).Observe(context.Background(), e)
}

func ExampleSlog() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "took" || a.Key == "remaining" {
			return slog.Attr{}
		}
		return a
	}}))
	clients, stop := servers(1)
	defer stop()
	l := redlock.NewLock(clients[0], redlock.WithObserver(redlock.Slog(log)))
	token, err := l.Acquire(context.Background(), "orders", 10*time.Second)
	if err != nil {
		return
	}
	l.Release(context.Background(), "orders", token)
	// Output:
	// level=DEBUG msg="lock attempted" key=orders attempt=1
	// level=DEBUG msg="lock granted" key=orders attempt=1
	// level=DEBUG msg="lock released" key=orders
}
