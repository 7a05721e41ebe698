package picture

import (
	"cmp"
	"io"
	"strconv"

	"driftlock/sim"
	"driftlock/sim/node"
	"driftlock/sim/timeline"
)

// Processes of a trace, under which its tracks stand.
const (
	ofMachines = 1 + iota
	ofLeases
	ofFaults
)

// Perfetto writes a run as a trace in the JSON trace event format, which
// https://ui.perfetto.dev opens. Every event of the history is one slice without a
// length on the track of its machine, with all its fields as arguments, and every
// message that arrived a flow. Other tracks have what each client believed, when the
// nodes really blocked, and the faults; violations are global instants. The trace's
// time is true time. The error is the writer's.
func Perfetto(w io.Writer, h *sim.History, v sim.Verdict) error {
	c := castOf(h.Scenario())
	t := trace{cast: &c, h: h, end: h.End()}
	for _, e := range h.Events() {
		t.end = max(t.end, e.At)
	}
	said := sentences(h, v)
	t.b = append(t.b, traceHead...)
	t.b = appendText(t.b, c.Name)
	t.b = appendField(t.b, "hash", v.Hash.String())
	t.b = append(t.b, "},\"traceEvents\":["...)
	t.machines()
	t.events(said)
	t.leases(v)
	t.faults(c.troubles(h, said))
	for _, x := range v.Violations {
		t.begin("i", timeline.Headline(v, x), "violation", x.At, ofMachines, t.track(-1))
		t.b = append(t.b, `,"s":"g"}`...)
	}
	t.b = append(t.b, "\n]}\n"...)
	_, err := w.Write(t.b)
	return err
}

// trace is a trace being written.
type trace struct {
	*cast
	h     *sim.History
	end   int64
	b     []byte
	some  bool // something was written already
	other int  // tracks that are no machine's
}

// track is the number of a machine's track, or of the run's own for -1. No track has
// the number of a process, which would make it that one's main thread.
func (t *trace) track(lane int) int { return 101 + lane }

// begin begins an object of the trace; the caller ends it.
func (t *trace) begin(phase, name, category string, at int64, process, track int) {
	if t.some {
		t.b = append(t.b, ',')
	}
	t.some = true
	t.b = append(append(append(t.b, "\n{\"ph\":\""...), phase...), `","name":`...)
	t.b = appendText(t.b, name)
	t.b = appendField(t.b, "cat", category)
	t.b = append(t.b, `,"ts":`...)
	t.b = appendMicros(t.b, at)
	t.b = append(strconv.AppendInt(append(t.b, `,"pid":`...), int64(process), 10), `,"tid":`...)
	t.b = strconv.AppendInt(t.b, int64(track), 10)
}

// appendMicros appends nanoseconds as microseconds, exactly.
func appendMicros(b []byte, ns int64) []byte {
	if ns < 0 {
		b, ns = append(b, '-'), -ns
	}
	b = append(strconv.AppendInt(b, ns/1000, 10), '.')
	return append(b, byte('0'+ns/100%10), byte('0'+ns/10%10), byte('0'+ns%10))
}

// name names a process or a track.
func (t *trace) name(what string, process, track int, name string) {
	t.begin("M", what, "__metadata", 0, process, track)
	t.b = appendText(append(t.b, `,"args":{"name":`...), name)
	t.b = append(t.b, "}}"...)
}

func (t *trace) machines() {
	t.name("process_name", ofMachines, t.track(-1), "machines")
	t.name("process_name", ofLeases, 0, "belief and truth")
	t.name("process_name", ofFaults, 0, "faults")
	t.name("thread_name", ofMachines, t.track(-1), "the run")
	for i, m := range t.cast.machines {
		name := m.sort + " " + m.name
		if m.off != "" {
			name += " " + m.off
		}
		t.name("thread_name", ofMachines, t.track(i), name)
	}
}

// slice writes a stretch of time; what never ends, to the end of the trace.
func (t *trace) slice(name, category string, from, to int64, process, track int) {
	t.begin("X", name, category, from, process, track)
	t.b = append(t.b, `,"dur":`...)
	t.b = appendMicros(t.b, max(min(to, t.end)-from, 0))
}

// events writes the history. Perfetto takes the flows of a slice from bind_id, one a
// slice: a refusal goes on in the flow of the request.
func (t *trace) events(said []string) {
	in, out := make([]int, t.h.Len()+1), make([]bool, t.h.Len()+1)
	for _, a := range arrows(t.h, t.cast) {
		if a.to == 0 {
			continue
		}
		out[a.from], in[a.to] = true, a.from // a flow has the number of the step that sent it
		if in[a.from] != 0 {
			in[a.to] = in[a.from]
		}
	}
	for step, e := range t.h.Events() {
		name := e.Kind.String()
		if e.Op != 0 {
			name += " " + node.Word(e.Op)
		}
		t.slice(name, "event", e.At, e.At, ofMachines, t.track(t.lane(e)))
		if id := cmp.Or(in[step], step); in[step] != 0 || out[step] {
			t.b = append(strconv.AppendInt(append(t.b, `,"bind_id":"0x`...), int64(id), 16), '"')
		}
		if in[step] != 0 {
			t.b = append(t.b, `,"flow_in":true`...)
		}
		if out[step] {
			t.b = append(t.b, `,"flow_out":true`...)
		}
		t.b = t.appendEvent(append(t.b, `,"args":`...), t.h, step, e)
		t.b = appendField(t.b[:len(t.b)-1], "says", said[step])
		t.b = append(t.b, "}}"...)
	}
}

// own makes a track that is no machine's.
func (t *trace) own(process int, name string) int {
	t.other++
	track := t.track(len(t.cast.machines)) + t.other
	t.name("thread_name", process, track, name)
	return track
}

func (t *trace) leases(v sim.Verdict) {
	type pair struct{ trust, truth int }
	tracks := map[[2]string]pair{}
	since := t.stands(v)
	for _, l := range v.Leases {
		p, ok := tracks[[2]string{l.Key, l.Client}]
		if !ok {
			p.trust = t.own(ofLeases, l.Client+" believes it holds "+strconv.Quote(l.Key))
			p.truth = t.own(ofLeases, "the nodes really block for "+l.Client)
			tracks[[2]string{l.Key, l.Client}] = p
		}
		t.slice("believes", "belief", l.Granted, l.TrustEnds, ofLeases, p.trust)
		t.b = append(t.b, '}')
		if from, ok := since[acquisition{l.Key, l.Owner}]; ok && from < l.ExclusionEnds {
			t.slice("block", "truth", from, l.ExclusionEnds, ofLeases, p.truth)
			t.b = append(t.b, '}')
		}
		if from := max(l.ExclusionEnds, l.Granted); from < l.TrustEnds {
			t.slice("believes what is not so", "belief", from, l.TrustEnds, ofLeases, p.trust)
			t.b = append(t.b, '}')
		}
	}
}

func (t *trace) faults(list []trouble) {
	tracks := map[int]int{}
	for _, x := range list {
		if _, ok := tracks[x.lane]; !ok {
			tracks[x.lane] = t.own(ofFaults, t.cast.machines[x.lane].name)
		}
		t.slice(x.what, "fault", x.from, x.to, ofFaults, tracks[x.lane])
		t.b = appendText(append(t.b, `,"args":{"says":`...), x.text)
		t.b = append(t.b, "}}"...)
	}
}
