package picture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"driftlock/sim"
)

// traceEvent is one object of the trace event format.
type traceEvent struct {
	Ph, Name, Cat string
	TS, Dur       json.Number
	PID, TID      int
	BindID        string `json:"bind_id"`
	FlowIn        bool   `json:"flow_in"`
	FlowOut       bool   `json:"flow_out"`
	Args          map[string]any
}

func traceOf(t *testing.T, h *sim.History, v sim.Verdict) []traceEvent {
	t.Helper()
	var b bytes.Buffer
	if err := Perfetto(&b, h, v); err != nil {
		t.Fatal(err)
	}
	var file struct{ TraceEvents []traceEvent }
	d := json.NewDecoder(&b)
	d.UseNumber()
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	return file.TraceEvents
}

// nanos reads microseconds with three decimals.
func nanos(t *testing.T, ts json.Number) int64 {
	t.Helper()
	var whole, part int64
	if n, err := fmt.Sscanf(ts.String(), "%d.%03d", &whole, &part); n != 2 {
		t.Fatalf("ts %s: %v", ts, err)
	}
	return whole*1000 + part
}

// The trace holds every event of the history once, on the track of its machine, at
// its true time and with its fields.
func TestTraceHoldsEveryEventOnce(t *testing.T) {
	t.Parallel()
	catalogue(t, func(t *testing.T, h *sim.History, v sim.Verdict) {
		c := castOf(h.Scenario())
		names := map[int]string{}
		seen := map[int]bool{}
		for _, e := range traceOf(t, h, v) {
			if e.Ph == "M" && e.Name == "thread_name" {
				if names[e.TID] != "" {
					t.Errorf("track %d has two names", e.TID)
				}
				names[e.TID] = e.Args["name"].(string)
			}
			if e.Cat != "event" {
				continue
			}
			step64, err := e.Args["step"].(json.Number).Int64()
			step := int(step64)
			if err != nil || step < 1 || step > h.Len() || seen[step] {
				t.Fatalf("step %v is no step, or is there twice", e.Args["step"])
			}
			seen[step] = true
			want := h.Event(step)
			if e.Ph != "X" || nanos(t, e.TS) != want.At || e.Args["kind"] != want.Kind.String() || e.Args["at_ns"].(json.Number).String() != fmt.Sprint(want.At) {
				t.Errorf("step %d, %v at %d, is in the trace %+v", step, want.Kind, want.At, e)
			}
			machine := "the run"
			if lane := c.lane(want); lane >= 0 {
				machine = c.machines[lane].name
			}
			if !strings.Contains(names[e.TID], machine) {
				t.Errorf("step %d is on track %q, and not on that of %s", step, names[e.TID], machine)
			}
			for field, text := range map[string]sim.Text{"key": want.Key, "owner": want.Owner, "note": want.Note} {
				if got, _ := e.Args[field].(string); got != h.Text(text) {
					t.Errorf("step %d has %s %q, and in the trace %q", step, field, h.Text(text), got)
				}
			}
		}
		if len(seen) != h.Len() {
			t.Errorf("%d of %d events are in the trace", len(seen), h.Len())
		}
	})
}

// Every flow begins where its message was sent, and goes on where it arrived.
func TestFlows(t *testing.T) {
	t.Parallel()
	catalogue(t, func(t *testing.T, h *sim.History, v sim.Verdict) {
		c := castOf(h.Scenario())
		begun, ended := map[string]string{}, 0
		arrived := 0
		for _, a := range arrows(h, &c) {
			if a.to != 0 {
				arrived++
			}
		}
		for _, e := range traceOf(t, h, v) {
			message := fmt.Sprint(e.Args["client"], " ", e.Args["nth"])
			switch {
			case e.FlowIn:
				ended++
				if begun[e.BindID] != message {
					t.Errorf("flow %s goes from %q to %q", e.BindID, begun[e.BindID], message)
				}
			case e.FlowOut:
				if begun[e.BindID] != "" {
					t.Errorf("flow %s begins twice", e.BindID)
				}
				begun[e.BindID] = message
			case e.BindID != "":
				t.Errorf("%+v has a flow that goes nowhere", e)
			}
		}
		if ended == 0 && arrived > 0 || ended > arrived {
			t.Errorf("%d messages arrived, and %d flows", arrived, ended)
		}
	})
}

// Believing what is not so, faults and violations have tracks of their own.
func TestTraceShowsTheBreak(t *testing.T) {
	t.Parallel()
	h, v := run(t, load(t, "chrony-slew"))
	var what []string
	for _, e := range traceOf(t, h, v) {
		if e.Cat == "belief" && e.Name != "believes" || e.Cat == "violation" || e.Cat == "fault" && e.Name != "cut" {
			what = append(what, fmt.Sprintf("%s %d %s", e.Cat, nanos(t, e.TS), e.Name[:4]))
		}
	}
	want := "belief 9230769231 beli, fault 0 rate, violation 9230769231 I2 (, violation 9240000000 I1 ("
	if got := strings.Join(what, ", "); got != want {
		t.Errorf("the trace shows %s, and not %s", got, want)
	}
}
