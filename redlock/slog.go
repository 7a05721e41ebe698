package redlock

import (
	"context"
	"log/slog"
)

// Slog returns an Observer that writes what happens to a logger: what is lost as an
// error, a node that failed, and an Acquire that gave up, as a warning, the rest for
// debugging. Attributes are key, node, attempt, took, remaining and err, those that
// the event has. A nil logger is slog.Default, as it is then. A handler that blocks
// holds up the lock.
func Slog(l *slog.Logger) Observer { return slogger{l} }

type slogger struct{ l *slog.Logger }

// levelOf is how loud an event is.
func levelOf(e Event) slog.Level {
	switch {
	case e.Kind == Lost:
		return slog.LevelError
	case e.Kind == NodeFailed, e.Kind == Refused, e.Kind == Released && e.Err != nil:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// Observe is Observer's.
func (s slogger) Observe(ctx context.Context, e Event) {
	l := s.l
	if l == nil {
		l = slog.Default()
	}
	level := levelOf(e)
	if !l.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 6)
	attrs = append(attrs, slog.String("key", e.Key))
	if e.Node >= 0 {
		attrs = append(attrs, slog.Int("node", e.Node))
	}
	if e.Attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", e.Attempt))
	}
	if e.Kind != NodeFailed && e.Kind != Lost {
		attrs = append(attrs, slog.Duration("took", e.Took))
	}
	if e.Kind == Granted || e.Kind == Renewed {
		attrs = append(attrs, slog.Duration("remaining", e.Remaining))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("err", e.Err))
	}
	l.LogAttrs(ctx, level, "lock "+e.Kind.String(), attrs...)
}
