package timeline

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
)

// Write tells a run step by step: when, in true time; what the machine's own
// clock said; who; and what happened. Steps are those of the history. Between
// them stand, without a step, the instants that no machine notices: the end of
// trust, the end of exclusion, the break of a promise. The view must be one of
// this run, see View.Check.
func Write(w io.Writer, h *sim.History, v sim.Verdict, view View, st Style) error {
	s := storyOf(h, v, view)
	s.page.Style = st
	s.head()
	s.table()
	return s.page.writeTo(w)
}

func storyOf(h *sim.History, v sim.Verdict, view View) *story {
	s := &story{h: h, cast: castOf(h.Scenario()), level: view.Level, part: view.of(h),
		holds: map[process]sim.Text{}, owner: map[sim.Text]string{},
		at: map[nodeKey]sim.Text{}}
	_, s.of = broadcasts(h)
	s.marks = slices.DeleteFunc(marksOf(h, s.cast, v), func(m mark) bool { return !s.part.marks(s.cast.clientIndex(m.client), m.key) })
	for step := 1; step <= s.part.until; step++ {
		e := h.Event(step)
		if step > s.part.from || step == 1 {
			s.markUntil(e.At)
		} else {
			s.skipUntil(e.At)
		}
		s.step(step, e)
	}
	if s.part.until == h.Len() {
		s.markUntil(never)
	}
	s.flush()
	return s
}

// A Line is one row of a story. Its instants are as the table has them.
type Line struct {
	Step      int   // 0: an instant that no machine notices
	At, Local int64 // true time and the machine's own clock, in nanoseconds
	Reads     bool  // Local means something
	Who, Text string
	Bad       bool // a promise breaks here
}

// Lines are the rows of the story that Write writes.
func Lines(h *sim.History, v sim.Verdict, level Level) []Line {
	s := storyOf(h, v, View{Level: level})
	lines := make([]Line, len(s.lines))
	for i, l := range s.lines {
		lines[i] = Line{l.step, l.at, l.local, l.reads, strings.ReplaceAll(l.who, hold, " "), l.text, l.tint == bad}
	}
	return lines
}

// A line is one row of the table.
type line struct {
	step      int // 0: a mark
	at, local int64
	reads     bool // local means something
	who, text string
	tint
	tag string // of two runs beside each other: which
}

type nodeKey struct {
	node int
	key  sim.Text
}

// story turns events into lines, in the order of the run. Executions of one
// broadcast with one outcome that follow each other become one line (together),
// and so do attempts that got nothing (vain).
type story struct {
	page
	h     *sim.History
	cast  cast
	level Level
	part  selection
	of    []*broadcast // by step
	lines []line
	marks []mark

	together group
	vain     vain
	holds    map[process]sim.Text // the owner of the lock that a process holds
	owner    map[sim.Text]string  // who made an owner value
	at       map[nodeKey]sim.Text // whose a key was last on a node
}

// group is executions that make one line.
type group struct {
	line
	of     *broadcast
	status redlock.Status
	late   bool
	nodes  []int
	when   []int64
	holder string
}

// vain is a stretch of attempts that got nothing.
type vain struct {
	line
	until int64
	who   []string
	count int
	most  int // nodes that granted to one of them
}

func (s *story) add(l line) {
	s.flush()
	s.lines = append(s.lines, l)
}

// flush writes what was held back to be told in one line.
func (s *story) flush() {
	if g := s.together; g.of != nil {
		s.together = group{}
		g.line.who, g.line.text = s.cast.nodes(g.nodes), s.executed(g)
		s.lines = append(s.lines, g.line)
	}
	if n := s.vain; n.count > 0 {
		s.vain = vain{}
		n.line.who, n.line.text = strings.Join(n.who, ", "), s.askedInVain(n)
		s.lines = append(s.lines, n.line)
	}
}

func (s *story) text(t sim.Text) string { return clean(s.h.Text(t)) }

// key quotes a key.
func (s *story) key(t sim.Text) string { return fmt.Sprintf("%q", s.h.Text(t)) }

// step tells one event.
func (s *story) step(step int, e sim.Event) {
	s.remember(e)
	if !s.part.has(s.h, step, e) {
		return
	}
	l := line{step: step, at: e.At, local: e.Local, reads: true}
	switch {
	case e.Client >= 0 && !AtNode(e.Kind):
		l.who = s.cast.client(int(e.Client), int(e.Proc))
	case e.Node >= 0:
		l.who = s.cast.node(int(e.Node))
		l.reads = e.Kind != sim.Stored // resources have no clock
	default:
		l.reads = false
	}
	if s.level > Story {
		if s.level == Messages && inside(e.Kind) {
			return
		}
		l.text = s.everything(e)
		l.tint = tintOf(e.Kind)
		s.add(l)
		return
	}
	b := s.of[step]
	if b != nil && b.vain && e.Kind != sim.Refused {
		if e.Kind == sim.Asked && node.Usual(b.op) == redlock.OpAcquire {
			s.inVain(l, b)
		}
		return
	}
	if e.Kind == sim.Executed && b != nil {
		s.execution(l, e, b)
		return
	}
	if text := s.told(e, b); text != "" {
		l.text, l.tint = text, tintOf(e.Kind)
		s.add(l)
	}
}

// AtNode says that an event with a client happened on the node.
func AtNode(k sim.EventKind) bool {
	return k == sim.Executed || k == sim.Dropped || k == sim.Answered || k == sim.Holds || k == sim.Stored
}

// inside says that an event is of a process alone, and no message comes of it.
func inside(k sim.EventKind) bool {
	switch k {
	case sim.Started, sim.Ended, sim.Read, sim.Slept, sim.Wanted:
		return true
	}
	return false
}

func tintOf(k sim.EventKind) tint {
	switch k {
	case sim.Granted, sim.Extended:
		return good
	case sim.Faulted, sim.Healed, sim.Holds, sim.Lost, sim.Unextended, sim.Dropped, sim.GaveUp:
		return warn
	case sim.Read, sim.Slept, sim.Started, sim.Ended, sim.Over:
		return faint
	}
	return plain
}

// remember keeps what later lines refer to: who holds what.
func (s *story) remember(e sim.Event) {
	who := process{e.Client, e.Proc}
	switch e.Kind {
	case sim.Asked:
		if node.Usual(e.Op) == redlock.OpAcquire {
			s.owner[e.Owner] = s.cast.client(int(e.Client), int(e.Proc))
		}
	case sim.Granted:
		s.holds[who] = e.Owner
	case sim.Releasing, sim.Lost:
		delete(s.holds, who)
	case sim.Executed:
		if e.Status == redlock.Done {
			if node.Usual(e.Op) == redlock.OpRelease {
				delete(s.at, nodeKey{int(e.Node), e.Key})
			} else {
				s.at[nodeKey{int(e.Node), e.Key}] = e.Owner
			}
		}
	case sim.Holds:
		s.at[nodeKey{int(e.Node), e.Key}] = e.Owner
	}
}

// holder is whose the key of an event is on its node.
func (s *story) holder(e sim.Event) string {
	if who := s.owner[s.at[nodeKey{int(e.Node), e.Key}]]; who != "" {
		return who
	}
	return "another"
}

// inVain holds back an attempt of which nothing comes.
func (s *story) inVain(l line, b *broadcast) {
	if s.vain.count == 0 {
		s.flush()
		s.vain.line = l
		s.vain.reads = false
	}
	s.vain.until = l.at
	s.vain.count++
	s.vain.most = max(s.vain.most, bits.OnesCount64(b.got))
	if !slices.Contains(s.vain.who, l.who) {
		s.vain.who = append(s.vain.who, l.who)
	}
}

// execution holds back what a node did, to be told with its neighbours.
func (s *story) execution(l line, e sim.Event, b *broadcast) {
	step := l.step
	g := &s.together
	holder := ""
	if e.Status == redlock.Others {
		holder = s.holder(e)
	}
	if g.of != b || g.status != e.Status || g.late != b.late(step) || g.holder != holder {
		s.flush()
		s.together = group{line: l, of: b, status: e.Status, late: b.late(step), holder: holder}
		g = &s.together
	}
	g.reads = len(g.nodes) == 0
	i, _ := slices.BinarySearch(g.nodes, int(e.Node))
	g.nodes = slices.Insert(g.nodes, i, int(e.Node))
	g.when = append(g.when, e.Value)
}
