package timeline

// The swim lanes: true time runs to the right, each machine has a lane. What a
// client believes stands above what the nodes do, faults are shaded below the
// machine that has them, and a clock that is not right is written out under it.

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
)

// Timeline writes what a verdict says, as Screen does, with the lanes of the run, or
// of the part of it that a view picks: of one key, the one that the view names or
// that the verdict is about.
func Timeline(w io.Writer, h *sim.History, v sim.Verdict, tried sim.Factor, view View, st Style) error {
	p := &page{Style: st}
	a := Tell(h, v, tried)
	p.verdict(v, a)
	p.line("")
	p.lanes(h, v, a, view)
	p.line("")
	p.sentences(a)
	return p.writeTo(w)
}

// Window is the stretch of true time that lanes show.
type Window struct{ From, To int64 }

// Draw writes the lanes of a run alone, in that window, and returns it; the zero
// Window is the one that the verdict is about. So two runs can be drawn above each
// other.
func Draw(w io.Writer, h *sim.History, v sim.Verdict, in Window, st Style) (Window, error) {
	p := &page{Style: st}
	a := Tell(h, v, 0)
	if in == (Window{}) {
		x := &picture{h: h, v: v, c: castOf(h.Scenario())}
		x.prepare(a, View{})
		in = Window{x.scale.from(), x.scale.to()}
	}
	p.lanes(h, v, a, View{window: in})
	return in, p.writeTo(w)
}

// picture is what lanes are drawn of.
type picture struct {
	page  *page
	h     *sim.History
	v     sim.Verdict
	c     cast
	part  selection
	key   string
	list  []*broadcast
	of    []*broadcast // by step
	scale scale
	ticks []tick
	used  map[rune]bool // marks that are somewhere
	owner map[string]int
}

func (p *page) lanes(h *sim.History, v sim.Verdict, a Account, view View) {
	x := &picture{page: p, h: h, v: v, c: castOf(h.Scenario())}
	x.prepare(a, view)
	x.axis()
	for i := range x.c.Clients {
		if x.part.everything || x.part.client[i] || len(x.part.key) > 0 {
			x.client(i)
		}
	}
	x.nodes()
	x.resources()
	x.network()
	x.breaks()
	x.legend()
}

// prepare finds out what there is to draw.
func (x *picture) prepare(a Account, view View) {
	x.part, x.used, x.owner = view.of(x.h), map[rune]bool{}, map[string]int{}
	x.list, x.of = broadcasts(x.h)
	x.key = x.focus(a)
	for _, b := range x.list {
		if node.Usual(b.op) == redlock.OpAcquire {
			x.owner[x.h.Text(b.owner)] = b.client
		}
	}
	for _, l := range x.v.Leases {
		if i := x.c.clientIndex(l.Client); i >= 0 {
			x.owner[l.Owner] = i
		}
	}
	x.scale = scaleOf(x.moments(a, view))
}

// focus is the key that is drawn.
func (x *picture) focus(a Account) string {
	keys := keysOf(x.h)
	for _, k := range keys {
		if x.part.key[k] {
			return k
		}
	}
	switch {
	case a.lease != nil:
		return a.lease.Key
	case len(x.v.Violations) > 0 && x.v.Violations[0].Key != "":
		return x.v.Violations[0].Key
	case len(keys) > 0:
		return keys[0]
	}
	return ""
}

// shows says whether a lease is one of the key that is drawn.
func (x *picture) shows(l *sim.Lease) bool { return l.Key == x.key }

// moments are the instants that the picture is to show.
func (x *picture) moments(a Account, view View) []moment {
	from, to := int64(0), x.h.End()
	if view.window != (Window{}) {
		from, to = view.window.From, view.window.To
	} else if view.From > 0 || view.Until > 0 {
		first, last := view.steps(x.h)
		from, to = x.h.Event(first).At, x.h.Event(last).At
		if view.Until == 0 {
			to = x.h.End()
		}
	} else if a.From < a.To {
		from, to = x.around(a)
	}
	to = max(to, from+1)
	list := []moment{{from, ruling, 0}, {to, ruling, 0}}
	add := func(at int64, weight, step int) {
		if at >= from && at <= to {
			list = append(list, moment{at, weight, step})
		}
	}
	for step, e := range x.h.Events() {
		if e.At < from || e.At > to {
			continue
		}
		switch e.Kind {
		case sim.Granted, sim.Extended, sim.Releasing, sim.Lost, sim.Unextended, sim.Refused:
			if x.h.Text(e.Key) == x.key {
				add(e.At, telling, step)
			}
		case sim.Faulted, sim.Healed, sim.Wrote, sim.Stored:
			add(e.At, telling, step)
		case sim.Asked, sim.Sent, sim.Executed:
			if x.h.Text(e.Key) == x.key {
				add(e.At, passing, step)
			}
		case sim.Dropped:
			add(e.At, passing, step)
		}
	}
	for i := range x.v.Leases {
		if l := &x.v.Leases[i]; x.shows(l) {
			add(l.Granted, telling, 0)
			add(l.TrustEnds, ruling, 0)
			add(l.ExclusionEnds, ruling, 0)
		}
	}
	for _, b := range x.v.Violations {
		add(b.At, ruling, 0)
	}
	return list
}

// around is the stretch of true time to show: what the account is about as a whole,
// the faults that came shortly before, and a little of what followed.
func (x *picture) around(a Account) (from, to int64) {
	from, to = a.From, a.To
	for _, l := range []*sim.Lease{a.lease, a.rival} {
		if l != nil {
			from = min(from, l.Granted)
			if l.TrustEnds != never {
				to = max(to, l.TrustEnds)
			}
			if l.ExclusionEnds < x.h.End() {
				to = max(to, l.ExclusionEnds)
			}
		}
	}
	for _, b := range x.v.Blocks {
		if a.lease != nil && b.Key == a.lease.Key && b.Owner == a.lease.Owner {
			from = min(from, b.From)
		}
	}
	if x.v.OK() {
		return from, to
	}
	for _, b := range x.v.Violations {
		if b.Key == x.key {
			to = max(to, min(b.At, to+3*(to-from)))
		}
	}
	first := x.v.Violations[0]
	for _, b := range x.list { // and what it asked to leave a key that is still there
		owner := x.h.Text(b.owner)
		if b.client == x.c.clientIndex(first.Client) && slices.ContainsFunc(x.v.Blocks, func(o sim.Block) bool {
			return o.Owner == owner && o.Key == first.Key && o.From <= first.At && first.At < o.To
		}) {
			from = min(from, x.h.Event(b.step).At)
		}
	}
	for i := len(x.v.Leases) - 1; i >= 0; i-- { // what whoever breaks it had before
		if l := &x.v.Leases[i]; x.shows(l) && l.Client == first.Client && l.Granted <= first.At {
			from = min(from, l.Granted)
			break
		}
	}
	for _, e := range x.h.Events() {
		if e.Kind == sim.Faulted && e.At < from && from-e.At <= to-from {
			from = e.At
		}
	}
	return from, min(to+(to-from)/20, max(to, x.h.End()))
}

// row writes a lane.
func (x *picture) row(label string, s *strip) {
	x.page.line(pad(label, columns-laneWidth-1) + s.paint(x.page.Style))
	for _, r := range s.cells {
		x.used[r] = true
	}
}

// plainRow writes a lane with texts, of which no letter is explained.
func (x *picture) plainRow(label string, s *strip) {
	x.page.line(pad(label, columns-laneWidth-1) + s.paint(x.page.Style))
}

// axis writes true time, and which steps come then.
func (x *picture) axis() {
	decimals := 3
	for decimals < 9 && x.confused(decimals) {
		decimals += 3
	}
	width := utf8.RuneCountInString(instant(x.scale.to(), decimals)) + 2
	x.ticks = x.scale.ticks(width)
	times, steps := newStrip(), newStrip()
	for i, t := range x.ticks {
		times.text(t.column, instant(t.at, decimals), faint)
		next := x.scale.to() + 1
		if i+1 < len(x.ticks) {
			next = x.ticks[i+1].at
		}
		if step := x.stepAt(t.at); step > 0 && x.h.Event(step).At < next {
			steps.text(t.column, fmt.Sprint("#", step), faint)
		}
	}
	x.plainRow("true time (s)", times)
	x.plainRow("from step", steps)
}

// confused says whether two ticks would read the same.
func (x *picture) confused(decimals int) bool {
	list := x.scale.ticks(utf8.RuneCountInString(instant(x.scale.to(), decimals)) + 2)
	for i := 1; i < len(list); i++ {
		if instant(list[i].at, decimals) == instant(list[i-1].at, decimals) {
			return true
		}
	}
	return false
}

// stepAt is the first step at an instant or after it; 0: none.
func (x *picture) stepAt(at int64) int {
	i := sort.Search(x.h.Len(), func(i int) bool { return x.h.Event(i+1).At >= at })
	if i == x.h.Len() {
		return 0
	}
	return i + 1
}

// clock writes what a machine's own clock says at the ticks, unless it says what
// true time is there.
func (x *picture) clock(reading func(at int64) int64, asked bool) *strip {
	decimals := 3
	s, off := newStrip(), false
	first := reading(x.scale.from()) - x.scale.from()
	for _, t := range x.ticks {
		r := reading(t.at)
		off = off || r-t.at != first
		s.text(t.column, instant(r, decimals), warn)
	}
	off = off || reading(x.scale.to()-1)-(x.scale.to()-1) != first
	if !off && !(asked && first != 0) {
		return nil
	}
	return s
}

// breaks writes where promises break.
func (x *picture) breaks() {
	var rows []*strip
	var ends []int
	for i, b := range x.v.Violations {
		if b.At < x.scale.from() || b.At > x.scale.to() || b.Key != "" && b.Key != x.key {
			continue
		}
		alike := func(o sim.Violation) bool { return o.Invariant == b.Invariant && o.At == b.At }
		if slices.ContainsFunc(x.v.Violations[:i], alike) {
			continue
		}
		column := min(x.scale.pos(b.At), laneWidth-1)
		text := fmt.Sprintf("▲ %v %s %s", b.Invariant, b.Invariant.Word(), shortest(b.At))
		n := 1
		for _, o := range x.v.Violations[i+1:] {
			if alike(o) {
				n++
			}
		}
		if n > 1 {
			text += ", " + times(n)
		}
		start := max(0, min(column, laneWidth-utf8.RuneCountInString(text)))
		i := 0
		for i < len(rows) && ends[i] > start-1 {
			i++
		}
		switch {
		case i == 3:
			continue // the rest is in the sentences
		case i == len(rows):
			rows, ends = append(rows, newStrip()), append(ends, 0)
		}
		if start < column { // the text lies to the left of its mark
			text = strings.TrimPrefix(text, "▲ ") + " ▲"
			start = max(0, column-utf8.RuneCountInString(text)+1)
		}
		rows[i].text(start, text, bad)
		ends[i] = start + utf8.RuneCountInString(text)
	}
	for _, s := range rows {
		x.plainRow(x.page.paint(bad, "BROKEN"), s)
	}
}

// marks are what stands in the lanes, in the order in which they are explained.
var marks = []struct {
	mark  rune
	means string
}{
	{'·', "asks for the lock"},
	{'█', "trusts it"},
	{'!', "trusts what is no longer so"},
	{'▓', "trusts it while it stands still"},
	{'░', "stands still or is down"},
	{'━', "others are kept out"},
	{'╌', "a request under way"},
	{'+', "granted"},
	{'~', "extended"},
	{'-', "refused"},
	{'×', "lost or dropped"},
	{'o', "freed"},
	{'w', "writes"},
	{'r', "releases"},
	{'d', "deletes"},
	{'▒', "fault"},
}

// legend explains what is in the lanes.
func (x *picture) legend() {
	var words []string
	for _, m := range marks {
		if x.used[m.mark] {
			words = append(words, string(m.mark)+hold+strings.ReplaceAll(m.means, " ", hold))
		}
	}
	for i := range x.c.Clients {
		if r := x.mark(i); x.used[r] {
			means := "blocks" + hold + "for" + hold + x.c.client(i, 0)
			if len(x.c.Resources) > 0 {
				means += " or takes its" + hold + "write"
			}
			words = append(words, string(r)+hold+means)
		}
	}
	what := "Time is not to scale."
	if x.key != "" {
		what = fmt.Sprintf("Key %q; %d of %d nodes must block; time is not to scale.", x.key, x.c.needed, len(x.c.Nodes))
	}
	if len(words) > 0 {
		what = strings.Join(words, ", ") + ". " + what
	}
	x.page.para("", what+" Clocks that are not written out are right.")
}

// mark is what stands for a client in the lanes of nodes.
func (x *picture) mark(client int) rune {
	last := func(i int) rune {
		r, _ := utf8.DecodeLastRuneInString(x.c.Clients[i].Name)
		return r
	}
	r := last(client)
	for i := range x.c.Clients {
		if i != client && last(i) == r || slices.ContainsFunc(marks, func(m struct {
			mark  rune
			means string
		}) bool {
			return m.mark == r
		}) {
			return rune("123456789ABCDEFGHIJKLMNPQRSTUVWXYZabcdefghijklmnpqrstuvxyz@$%&"[client%62])
		}
	}
	return r
}
