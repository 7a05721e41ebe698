package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
)

// trouble is a fault of a machine as it lasted.
type trouble struct {
	sim.Fault
	span
}

// troubles are the faults of a machine within the picture.
func (x *picture) troubles(name string) (list []trouble) {
	for _, e := range x.h.Events() {
		if e.Kind != sim.Faulted || x.c.Faults[e.Value].On != name {
			continue
		}
		t := trouble{x.c.Faults[e.Value], span{e.At, e.At + 1}}
		if t.For > 0 || t.Kind == "crash" || t.Kind == "pause" || t.Kind == "suspend" || t.Kind == "rate" || t.Kind == "freeze" {
			t.to = x.healed(e)
		}
		if t.to > x.scale.from() && t.from <= x.scale.to() {
			list = append(list, t)
		}
	}
	return list
}

// healed is when a fault that began ended.
func (x *picture) healed(began sim.Event) int64 {
	for _, e := range x.h.Events() {
		if e.Kind == sim.Healed && e.Value == began.Value && e.At >= began.At {
			return e.At
		}
	}
	return never
}

// stops says that nothing runs on the machine meanwhile.
func (t *trouble) stops() bool { return t.Kind == "pause" || t.Kind == "suspend" || t.Kind == "crash" }

// words say what a fault does, in as few as possible.
func (t *trouble) words() string {
	lasting := ""
	if t.For > 0 {
		lasting = " for " + length(time.Duration(t.For))
	}
	switch t.Kind {
	case "pause":
		return "stands still" + lasting
	case "suspend":
		return "suspended" + lasting
	case "crash":
		return "crashed"
	case "step":
		return "wall clock jumps " + signed(t.By)
	case "rate":
		return "clock " + deviationOf(t.Rate).words()
	case "freeze":
		return "wall clock stands still"
	case "evict":
		return fmt.Sprintf("evicts %q", clean(t.Key))
	case "flush":
		return "drops all keys"
	case "failover":
		return "fails over, " + length(time.Duration(t.By)) + " behind"
	}
	return t.Kind
}

// shade draws the faults of a machine: when, and what.
func (x *picture) shade(list []trouble) *strip {
	s := newStrip()
	for _, t := range list {
		from, to := x.scale.pos(t.from), laneWidth
		if t.to <= x.scale.to() {
			to = x.scale.pos(t.to)
		}
		if t.from < x.scale.from() {
			from = 0
		}
		s.fill(from, max(to, from+1), '▒', warn)
		s.text(from+1, t.words(), warn)
	}
	return s
}

// client draws a client: what it asks, what it believes, and how long the others
// were really kept out.
func (x *picture) client(i int) {
	s, out := newStrip(), newStrip()
	for _, b := range x.list {
		if b.client == i && node.Usual(b.op) == redlock.OpAcquire && x.h.Text(b.key) == x.key {
			end := x.h.End()
			if b.ends <= x.h.Len() {
				end = x.h.Event(b.ends).At
			}
			x.draw(s, span{x.h.Event(b.step).At, end}, '·', plain)
		}
	}
	for n := range x.v.Leases {
		if l := &x.v.Leases[n]; x.shows(l) && x.c.clientIndex(l.Client) == i {
			x.trust(s, out, n)
		}
	}
	x.acts(s, i)
	list := x.troubles(x.c.Clients[i].Name)
	for _, t := range list {
		if t.stops() {
			from, to := x.scale.pos(t.from), x.scale.pos(t.to)
			s.change(from, to, ' ', '░', warn)
			s.change(from, to, '█', '▓', warn)
		}
	}
	name := x.c.client(i, 0)
	x.row(name, s)
	if !out.empty() {
		x.row("  others out", out)
	}
	x.under(list, x.clock(func(at int64) int64 { return x.h.ClientReading(i, at) }, x.part.client[i]), deviationOf(x.c.Clients[i].Clock.Rate))
}

// acts marks what a client does to others.
func (x *picture) acts(s *strip, client int) {
	for step, e := range x.h.Events() {
		if int(e.Client) != client || e.At < x.scale.from() || e.At > x.scale.to() || e.Key != 0 && x.h.Text(e.Key) != x.key {
			continue
		}
		switch column := min(x.scale.pos(e.At), laneWidth-1); {
		case e.Kind == sim.Wrote:
			s.put(column, 'w', plain)
		case e.Kind == sim.Asked && e.Op == node.OpDelete:
			s.put(column, 'd', plain)
		case s.cells[column] == 'w': // what matters more than what it does then
		case e.Kind == sim.Asked && node.Usual(e.Op) == redlock.OpRelease && !x.of[step].cleanUp:
			s.put(column, 'r', plain)
		}
	}
}

// trust draws one lease, and its exclusion.
func (x *picture) trust(s, out *strip, n int) {
	l := &x.v.Leases[n]
	x.draw(s, span{l.Granted, l.TrustEnds}, '█', good)
	if l.Margin() < 0 {
		x.draw(s, span{max(l.Granted, l.ExclusionEnds), l.TrustEnds}, '!', bad)
	}
	for m := range x.v.Leases {
		if o := &x.v.Leases[m]; m != n && x.shows(o) && o.Owner != l.Owner {
			x.draw(s, span{max(l.Granted, o.Granted), min(l.TrustEnds, o.TrustEnds)}, '!', bad)
		}
	}
	x.draw(out, span{l.Granted, l.ExclusionEnds}, '━', strong)
}

// draw fills the part of a stretch of true time that the picture has.
func (x *picture) draw(s *strip, t span, r rune, c tint) {
	if t.from >= t.to || t.to <= x.scale.from() || t.from > x.scale.to() {
		return
	}
	from, to := x.scale.pos(t.from), laneWidth
	if t.to <= x.scale.to() {
		to = x.scale.pos(t.to)
	}
	s.fill(from, to, r, c)
}

// under writes the faults and the clock of a machine below its lane.
func (x *picture) under(list []trouble, clock *strip, off deviation) {
	if s := x.shade(list); !s.empty() {
		x.used['▒'] = true
		x.plainRow("  fault", s)
	}
	if clock == nil {
		return
	}
	label := "  clock"
	if off := strings.TrimSuffix(off.label(), hold+"ppm"); off != "" {
		label += " " + off
	}
	if len([]rune(label)) >= columns-laneWidth-1 {
		label = "  its clock"
	}
	x.plainRow(label, clock)
}

// nodeLane is a node, or several that look alike.
type nodeLane struct {
	nodes     []int
	bar       *strip
	faults    []trouble
	fault     *strip
	clock     *strip
	deviation deviation
}

// nodes draws the nodes; those that look alike share a lane.
func (x *picture) nodes() {
	var lanes []nodeLane
	for n := range x.c.Nodes {
		if !(x.part.everything || x.part.node[n] || !slices.Contains(x.part.node, true)) {
			continue
		}
		l := nodeLane{nodes: []int{n}, bar: x.node(n), faults: x.troubles(x.c.Nodes[n].Name), deviation: deviationOf(x.c.Nodes[n].Clock.Rate)}
		l.fault = x.shade(l.faults)
		l.clock = x.clock(func(at int64) int64 { return x.h.NodeReading(n, at) }, x.part.node[n])
		for _, t := range l.faults {
			if t.stops() {
				l.bar.change(x.scale.pos(t.from), x.scale.pos(t.to), ' ', '░', warn)
			}
		}
		i := slices.IndexFunc(lanes, func(o nodeLane) bool {
			return o.bar.same(l.bar) && o.fault.same(l.fault) && (o.clock == nil) == (l.clock == nil) && (l.clock == nil || o.clock.same(l.clock))
		})
		if i >= 0 {
			lanes[i].nodes = append(lanes[i].nodes, n)
			continue
		}
		lanes = append(lanes, l)
	}
	for _, l := range lanes {
		x.row(x.c.nodes(l.nodes), l.bar)
		x.under(l.faults, l.clock, l.deviation)
	}
}

// node draws for whom a node blocks, and what it was asked.
func (x *picture) node(n int) *strip {
	s := newStrip()
	for _, b := range x.v.Blocks {
		if b.Node == n && b.Key == x.key {
			if i, ok := x.owner[b.Owner]; ok {
				x.draw(s, span{b.From, b.To}, x.mark(i), plain)
			} else {
				x.draw(s, span{b.From, b.To}, '?', plain)
			}
		}
	}
	for step, e := range x.h.Events() {
		if int(e.Node) != n || e.At < x.scale.from() || e.At > x.scale.to() || e.Key != 0 && x.h.Text(e.Key) != x.key {
			continue
		}
		column := min(x.scale.pos(e.At), laneWidth-1)
		switch e.Kind {
		case sim.Sent:
			to := x.scale.pos(e.Value)
			if e.Value > x.scale.to() {
				to = laneWidth
			}
			switch {
			case e.Value < 0:
				s.put(column, '×', warn)
			case to > column+1:
				s.change(column, to, ' ', '╌', faint)
			}
		case sim.Executed:
			if b := x.of[step]; b == nil || !b.vain || e.Status == redlock.Others {
				x.executed(s, column, e)
			}
		case sim.Dropped:
			s.put(column, '×', warn)
		case sim.Answered:
			if e.Value == sim.LostOnWay {
				s.put(min(column+1, laneWidth-1), '×', warn)
			}
		}
	}
	return s
}

// executed marks what a node did with a request.
func (x *picture) executed(s *strip, column int, e sim.Event) {
	r, t := '-', plain
	switch {
	case e.Status == redlock.Done && node.Usual(e.Op) == redlock.OpAcquire:
		r, t = '+', good
	case e.Status == redlock.Done && node.Usual(e.Op) == redlock.OpExtend:
		r, t = '~', good
	case e.Status == redlock.Done && node.Usual(e.Op) == redlock.OpRelease:
		r = 'o'
	case node.Usual(e.Op) == redlock.OpRelease:
		return // there was nothing to free
	}
	switch {
	case s.cells[column] == '+' && r != '+': // of two in one column the grant counts
		return
	case r == '-' && slices.Contains(s.cells[max(0, column-4):column], '-'): // who asks again and again would hide the holder
		return
	}
	s.put(column, r, t)
}

// resources draws whose writes the resources take, and refuse.
func (x *picture) resources() {
	for i := range x.c.Resources {
		n := len(x.c.Nodes) + i
		s := newStrip()
		for _, e := range x.h.Events() {
			if e.Kind != sim.Stored || int(e.Node) != n || e.At < x.scale.from() || e.At > x.scale.to() || e.Key != 0 && x.h.Text(e.Key) != x.key {
				continue
			}
			r, t := x.mark(int(e.Client)), plain
			if e.Status != redlock.Done {
				r, t = '-', warn
			}
			s.put(min(x.scale.pos(e.At), laneWidth-1), r, t)
		}
		if !s.empty() && (x.part.everything || x.part.node[n] || !slices.Contains(x.part.node, true)) {
			x.row(x.c.node(n)+" takes", s)
		}
	}
}

// mostCuts is how many cuts of the network are drawn.
const mostCuts = 3

// network draws when who was cut off from whom.
func (x *picture) network() {
	drawn := 0
	for _, c := range x.c.Network.Cuts {
		t := span{int64(c.At), never}
		if c.For > 0 {
			t.to = int64(c.At + c.For)
		}
		if t.to <= x.scale.from() || t.from > x.scale.to() {
			continue
		}
		if drawn++; drawn > mostCuts {
			return
		}
		s := newStrip()
		x.draw(s, t, '▒', warn)
		arrow := " | "
		if c.OneWay {
			arrow = " |→ "
		}
		s.text(x.scale.pos(t.from)+1, clean(strings.Join(c.From, ", ")+arrow+strings.Join(c.To, ", ")), warn)
		x.used['▒'] = true
		x.plainRow("cut", s)
	}
}
