// Package otel tells OpenTelemetry what happens to a lock: metrics and spans. It is a
// module of its own, so that who does not use it does not depend on it.
//
//	observer, err := otel.New()
//	dl, err := redlock.New(nodes, redlock.WithObserver(observer))
//
// Metrics, none of which has the lock's key (there may be any number of those):
//
//	redlock.acquire.duration  s   histogram  of calls of Acquire and TryAcquire; outcome
//	redlock.acquire.attempts  1   counter    outcome
//	redlock.validity          s   histogram  that was left when a lock was granted
//	redlock.extend.duration   s   histogram  of extensions that succeeded
//	redlock.release.duration  s   histogram  outcome
//	redlock.losses            1   counter    outcome: of locks that ended other than by their release
//	redlock.node.failures     1   counter    redlock.node: its index
//
// Outcome is granted, held (by another), no_quorum, too_late, expired, lost, unknown,
// max_hold, closed, cancelled or error; of a release that went well, released.
//
// Spans are redlock.acquire, redlock.extend and redlock.release, below the span of the
// caller's context, with the key and the number of attempts. A lost lock and a node that
// failed are events of the caller's span. That the lock is held by another is no error
// of a span.
package otel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"driftlock/redlock"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// scope names the instrumentation.
const scope = "driftlock/redlock"

// An Option sets up an Observer.
type Option func(*config)

type config struct {
	meters  metric.MeterProvider
	tracers trace.TracerProvider
}

// WithMeterProvider sets where metrics go; the global provider if not set.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithTracerProvider sets where spans go; the global provider if not set.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// Observer is a redlock.Observer. Make one with New; one serves any number of locks.
type Observer struct {
	tracer trace.Tracer

	acquire, validity, extend, release metric.Float64Histogram
	attempts, losses, failures         metric.Int64Counter
}

// New makes an Observer. The error is one of the meter provider's.
func New(opts ...Option) (*Observer, error) {
	c := config{meters: api.GetMeterProvider(), tracers: api.GetTracerProvider()}
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	if c.meters == nil || c.tracers == nil {
		return nil, errors.New("otel: a provider is nil")
	}
	o := &Observer{tracer: c.tracers.Tracer(scope)}
	meter := c.meters.Meter(scope)
	var wrong []error
	histogram := func(name, about string, bounds ...float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(bounds...))
		wrong = append(wrong, err)
		return h
	}
	counter := func(name, about string) metric.Int64Counter {
		n, err := meter.Int64Counter(name, metric.WithUnit("1"), metric.WithDescription(about))
		wrong = append(wrong, err)
		return n
	}
	short := []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60}
	o.acquire = histogram("redlock.acquire.duration", "How long calls of Acquire and TryAcquire took.", short...)
	o.validity = histogram("redlock.validity", "How much validity was left when a lock was granted.", 0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 300, 3600)
	o.extend = histogram("redlock.extend.duration", "How long extensions that succeeded took.", short...)
	o.release = histogram("redlock.release.duration", "How long releases took.", short...)
	o.attempts = counter("redlock.acquire.attempts", "Attempts to acquire a lock.")
	o.losses = counter("redlock.losses", "Locks that ended other than by their release.")
	o.failures = counter("redlock.node.failures", "Requests that a node failed or did not answer.")
	return o, errors.Join(wrong...)
}

// outcomeOf is a result in one word.
func outcomeOf(err error, well string) string {
	switch {
	case err == nil:
		return well
	case errors.Is(err, redlock.ErrLockAlreadyHeld):
		return "held"
	case errors.Is(err, redlock.ErrMaxHold):
		return "max_hold"
	case errors.Is(err, redlock.ErrValidityExpired):
		return "too_late"
	case errors.Is(err, redlock.ErrLockExpired):
		return "expired"
	case errors.Is(err, redlock.ErrLockNotHeld):
		return "lost"
	case errors.Is(err, redlock.ErrReleaseUnknown):
		return "unknown"
	case errors.Is(err, redlock.ErrClosed):
		return "closed"
	case errors.Is(err, redlock.ErrNoQuorum):
		return "no_quorum"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "error"
}

// Observe is redlock.Observer's.
func (o *Observer) Observe(ctx context.Context, e redlock.Event) {
	took := e.Took.Seconds()
	switch e.Kind {
	case redlock.Attempted:
		o.attempts.Add(ctx, 1, outcome(e.Err, "granted"))
	case redlock.Granted, redlock.Refused:
		o.acquire.Record(ctx, took, outcome(e.Err, "granted"))
		if e.Kind == redlock.Granted {
			o.validity.Record(ctx, e.Remaining.Seconds())
		}
		o.span(ctx, "redlock.acquire", e, "granted")
	case redlock.Renewed:
		o.extend.Record(ctx, took)
		o.span(ctx, "redlock.extend", e, "granted")
	case redlock.Released:
		o.release.Record(ctx, took, outcome(e.Err, "released"))
		o.span(ctx, "redlock.release", e, "released")
	case redlock.Lost:
		o.losses.Add(ctx, 1, outcome(e.Err, "lost"))
		note(ctx, "redlock.lost", e)
	case redlock.NodeFailed:
		o.failures.Add(ctx, 1, metric.WithAttributes(attribute.Int("redlock.node", e.Node)))
		note(ctx, "redlock.node_failed", e, attribute.Int("redlock.node", e.Node))
	}
}

func outcome(err error, well string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("outcome", outcomeOf(err, well)))
}

// span is one that is over. It began as long ago as the lock's clock counted.
func (o *Observer) span(ctx context.Context, name string, e redlock.Event, well string) {
	end := time.Now()
	_, s := o.tracer.Start(ctx, name, trace.WithTimestamp(end.Add(-e.Took)), trace.WithSpanKind(trace.SpanKindClient))
	if s.IsRecording() {
		s.SetAttributes(attribute.String("redlock.key", e.Key), attribute.String("redlock.outcome", outcomeOf(e.Err, well)))
		if e.Attempt > 0 {
			s.SetAttributes(attribute.Int("redlock.attempts", e.Attempt))
		}
		if e.Remaining > 0 {
			s.SetAttributes(attribute.Float64("redlock.validity", e.Remaining.Seconds()))
		}
		if e.Err != nil && !errors.Is(e.Err, redlock.ErrLockAlreadyHeld) {
			s.RecordError(e.Err, trace.WithTimestamp(end))
			s.SetStatus(codes.Error, fmt.Sprint(e.Err))
		}
	}
	s.End(trace.WithTimestamp(end))
}

// note is an event of the caller's span.
func note(ctx context.Context, name string, e redlock.Event, attrs ...attribute.KeyValue) {
	s := trace.SpanFromContext(ctx)
	if !s.IsRecording() {
		return
	}
	attrs = append(attrs, attribute.String("redlock.key", e.Key))
	if e.Err != nil {
		attrs = append(attrs, attribute.String("error", e.Err.Error()))
	}
	s.AddEvent(name, trace.WithAttributes(attrs...))
}
