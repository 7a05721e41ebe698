package otel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"driftlock/redlock"
	"driftlock/redlock/otel"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A node answers all requests alike.
type node struct {
	name   string
	mu     sync.Mutex
	answer redlock.Status
	err    error
}

func (n *node) Name() string { return n.name }

// answers changes what it answers from now on: a request may be under way to it.
func (n *node) answers(s redlock.Status, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer, n.err = s, err
}

func (n *node) Do(reqs []*redlock.Request, replies []redlock.Reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range reqs {
		replies[i] = redlock.Reply{Status: n.answer, Err: n.err}
	}
}

// told is what an Observer told.
type told struct {
	observer *otel.Observer
	reader   *metric.ManualReader
	spans    *tracetest.InMemoryExporter
	tracers  *trace.TracerProvider
}

func listen(t *testing.T) *told {
	t.Helper()
	w := &told{reader: metric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	w.tracers = trace.NewTracerProvider(trace.WithSyncer(w.spans))
	var err error
	w.observer, err = otel.New(otel.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(w.reader))), otel.WithTracerProvider(w.tracers))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// counts are how often each metric was told, by its attributes.
func (w *told) counts(t *testing.T) map[string]int {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := w.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			name := func(set attribute.Set) string {
				text := m.Name
				for _, a := range set.ToSlice() {
					text += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
				}
				return text
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					counts[name(p.Attributes)] = int(p.Value)
				}
			case metricdata.Histogram[float64]:
				if m.Unit != "s" {
					t.Errorf("%s is in %q", m.Name, m.Unit)
				}
				for _, p := range d.DataPoints {
					counts[name(p.Attributes)] = int(p.Count)
				}
			}
		}
	}
	return counts
}

func lockOver(t *testing.T, w *told, nodes []redlock.Node, opts ...redlock.Option) *redlock.DistributedLock {
	t.Helper()
	l, err := redlock.New(nodes, append(opts, redlock.WithObserver(w.observer), redlock.WithRetry(redlock.NoRetry()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestMetricsAndSpans(t *testing.T) {
	t.Parallel()
	w := listen(t)
	down := errors.New("down")
	nodes := []*node{{name: "a", answer: redlock.Done}, {name: "b", answer: redlock.Done}, {name: "c", answer: redlock.Failed, err: down}}
	l := lockOver(t, w, []redlock.Node{nodes[0], nodes[1], nodes[2]})
	ctx, caller := w.tracers.Tracer("test").Start(context.Background(), "caller")
	token, err := l.Acquire(ctx, "orders", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Extend(ctx, "orders", token, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(ctx, "orders", token); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.answers(redlock.Others, nil)
	}
	if _, err := l.TryAcquire(ctx, "orders", 10*time.Second); !errors.Is(err, redlock.ErrLockAlreadyHeld) {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.answers(redlock.Failed, down)
	}
	if _, err := l.TryAcquire(ctx, "orders", 10*time.Second); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Fatal(err)
	}
	caller.End()
	counts := w.counts(t)
	for name, want := range map[string]int{
		"redlock.acquire.attempts outcome=granted":   1,
		"redlock.acquire.attempts outcome=held":      1,
		"redlock.acquire.attempts outcome=no_quorum": 1,
		"redlock.acquire.duration outcome=granted":   1,
		"redlock.acquire.duration outcome=held":      1,
		"redlock.acquire.duration outcome=no_quorum": 1,
		"redlock.validity":                           1,
		"redlock.extend.duration":                    1,
		"redlock.release.duration outcome=released":  1,
	} {
		if counts[name] != want {
			t.Errorf("%s: %d, want %d, of %v", name, counts[name], want, counts)
		}
	}
	if n := counts["redlock.node.failures redlock.node=0"] + counts["redlock.node.failures redlock.node=1"]; n < 1 { // the lock returns at quorum
		t.Errorf("no failures of nodes: %v", counts)
	}
	var names []string
	for _, s := range w.spans.GetSpans() {
		names = append(names, s.Name+" "+s.Status.Code.String())
		if s.Name == "caller" {
			continue
		}
		if s.Parent.SpanID() != caller.SpanContext().SpanID() {
			t.Errorf("%s is not below its caller", s.Name)
		}
		if !slices.Contains(s.Attributes, attribute.String("redlock.key", "orders")) || s.EndTime.Before(s.StartTime) {
			t.Errorf("%s: %v, %v to %v", s.Name, s.Attributes, s.StartTime, s.EndTime)
		}
	}
	want := []string{"redlock.acquire Unset", "redlock.extend Unset", "redlock.release Unset", "redlock.acquire Unset", "redlock.acquire Error", "caller Unset"}
	if !slices.Equal(names, want) {
		t.Errorf("spans %v, want %v", names, want)
	}
	failed := 0
	for _, e := range w.spans.GetSpans()[len(want)-1].Events {
		if e.Name == "redlock.node_failed" {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no failed node among the events of the caller's span")
	}
}

// A lost lock is counted, and an event of the holder's span.
func TestLoss(t *testing.T) {
	t.Parallel()
	w := listen(t)
	n := &node{name: "a", answer: redlock.Done}
	l := lockOver(t, w, []redlock.Node{n})
	ctx, caller := w.tracers.Tracer("test").Start(context.Background(), "caller")
	token, err := l.Acquire(ctx, "orders", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	n.answers(redlock.Others, nil)
	if err := l.Extend(ctx, "orders", token, 10*time.Second); !errors.Is(err, redlock.ErrLockNotHeld) {
		t.Fatal(err)
	}
	caller.End()
	if counts := w.counts(t); counts["redlock.losses outcome=lost"] != 1 {
		t.Errorf("losses: %v", counts)
	}
	for _, s := range w.spans.GetSpans() {
		if s.Name == "caller" {
			if len(s.Events) == 0 || s.Events[len(s.Events)-1].Name != "redlock.lost" || s.Status.Code == codes.Error {
				t.Errorf("events %v", s.Events)
			}
		}
	}
}

func TestNilProviders(t *testing.T) {
	t.Parallel()
	if _, err := otel.New(otel.WithMeterProvider(nil)); err == nil {
		t.Error("a nil provider is taken")
	}
	if o, err := otel.New(nil); err != nil || o == nil { // the global ones, which do nothing
		t.Error(err)
	} else {
		o.Observe(context.Background(), redlock.Event{Kind: redlock.Granted, Took: time.Second})
	}
}
