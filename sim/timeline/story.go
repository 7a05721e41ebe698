package timeline

import (
	"cmp"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
)

// Level is how much of a run is told.
type Level int

const (
	Story      Level = iota // who asked whom, what came of it, and what went wrong
	Everything              // every event
)

// ParseLevel reads "story" or "all".
func ParseLevel(s string) (Level, error) {
	switch s {
	case "story":
		return Story, nil
	case "all":
		return Everything, nil
	}
	return 0, fmt.Errorf("there is no level %q: story and all are", s)
}

// Write tells a run step by step: when, in true time; what the machine's own
// clock said; who; and what happened. Steps are those of the history. Between
// them stand, without a step, the instants that no machine notices: the end of
// trust, the end of exclusion, the break of a promise.
func Write(w io.Writer, h *sim.History, v sim.Verdict, level Level, st Style) error {
	s := &story{page: page{Style: st}, h: h, cast: castOf(h.Scenario()), level: level,
		holds: map[process]sim.Text{}, owner: map[sim.Text]string{}, at: map[nodeKey]sim.Text{}}
	s.marks = marksOf(h, s.cast, v)
	_, s.of = broadcasts(h)
	for step := 1; step <= h.Len(); step++ {
		e := h.Event(step)
		s.markUntil(e.At)
		s.step(step, e)
	}
	s.markUntil(never)
	s.flush()
	s.head()
	s.table()
	return s.page.writeTo(w)
}

// A line is one row of the table.
type line struct {
	step      int // 0: a mark
	at, local int64
	reads     bool // local means something
	who, text string
	tint
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
		n.line.who = strings.Join(n.who, ", ")
		n.line.text = "asked in vain: "
		if n.count > 1 {
			n.line.text = fmt.Sprintf("asked %s in vain, last at %s: ", times(n.count), instant(n.until, 3))
		}
		n.line.text += "refused"
		if n.most > 0 {
			n.line.text = fmt.Sprintf("%sat most %d of %d granted, and were freed again", strings.TrimSuffix(n.line.text, "refused"), n.most, len(s.cast.Nodes))
		}
		s.lines = append(s.lines, n.line)
	}
}

func (s *story) text(t sim.Text) string { return clean(s.h.Text(t)) }

// key quotes a key.
func (s *story) key(t sim.Text) string { return fmt.Sprintf("%q", s.h.Text(t)) }

// step tells one event.
func (s *story) step(step int, e sim.Event) {
	s.remember(e)
	l := line{step: step, at: e.At, local: e.Local, reads: true}
	switch {
	case e.Client >= 0 && !atNode(e.Kind):
		l.who = s.cast.client(int(e.Client), int(e.Proc))
	case e.Node >= 0:
		l.who = s.cast.node(int(e.Node))
		l.reads = e.Kind != sim.Stored // resources have no clock
	default:
		l.reads = false
	}
	if s.level == Everything {
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
	if text := s.told(e, b, step); text != "" {
		l.text, l.tint = text, tintOf(e.Kind)
		s.add(l)
	}
}

// atNode says that an event with a client happened on the node.
func atNode(k sim.EventKind) bool {
	return k == sim.Executed || k == sim.Dropped || k == sim.Answered || k == sim.Holds || k == sim.Stored
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

// executed says what nodes did that are told together.
func (s *story) executed(g group) string {
	who := s.cast.client(g.of.client, g.of.proc)
	until := s.until(g.when, len(g.nodes))
	var text string
	switch {
	case node.Usual(g.of.op) == redlock.OpAcquire && g.status == redlock.Done:
		text = "granted to " + who + until
	case node.Usual(g.of.op) == redlock.OpAcquire && g.status == redlock.Ours:
		text = "granted to " + who + " already" + until
	case node.Usual(g.of.op) == redlock.OpAcquire:
		text = "refused to " + who + ": " + g.holder + " has it" + until
	case node.Usual(g.of.op) == redlock.OpExtend && g.status == redlock.Done:
		text = "extended for " + who + until
	case g.of.op == node.OpDelete && g.status == redlock.Done:
		text = "deleted by " + who
	case node.Usual(g.of.op) == redlock.OpRelease && g.status == redlock.Done:
		text = "freed by " + who
	case g.status == redlock.Others:
		text = "not " + who + "'s: " + g.holder + " has it"
	default:
		text = "gone: no such key"
	}
	if g.late {
		text += fmt.Sprintf("; late, %s no longer waits for that", who)
	}
	return text
}

// until tells the expiry readings of keys, which are in ms of the nodes' clocks.
func (s *story) until(when []int64, nodes int) string {
	low, high := slices.Min(when), slices.Max(when)
	switch {
	case high <= 0:
		return ""
	case low >= node.Forever:
		return " for good"
	}
	clock := "its clock reads "
	if nodes > 1 {
		clock = "their clocks read "
	}
	text := " until " + clock + instant(low*1e6, 3)
	if low != high {
		text += "–" + instant(high*1e6, 3)
	}
	return text
}

// told is the line of an event at the level of a story, "" for none.
func (s *story) told(e sim.Event, b *broadcast, step int) string {
	switch e.Kind {
	case sim.Ended:
		if e.Note != 0 {
			return "ends: " + s.text(e.Note)
		}
	case sim.Slept:
		if owner, ok := s.holds[process{e.Client, e.Proc}]; ok && owner != 0 {
			return "works for " + length(time.Duration(e.Value))
		}
	case sim.Asked:
		return s.asked(e, b)
	case sim.Sent:
		return s.sent(e)
	case sim.Executed:
		return opWord(e.Op) + ": " + statusWord(e.Op, e.Status)
	case sim.Dropped:
		if e.Value > 0 {
			return fmt.Sprintf("is down: its host refuses %s", s.cast.client(int(e.Client), 0))
		}
		return fmt.Sprintf("is down: does not hear %s", s.cast.client(int(e.Client), 0))
	case sim.Answered:
		if e.Value == -1 {
			return fmt.Sprintf("its answer to %s is lost on the way", s.cast.client(int(e.Client), 0))
		}
	case sim.GaveUp:
		return fmt.Sprintf("its connection to %s gives up waiting", s.cast.node(int(e.Node)))
	case sim.Granted:
		return s.granted(e, b)
	case sim.Refused:
		return fmt.Sprintf("gives up on %s: %s", s.key(e.Key), s.text(e.Note))
	case sim.Fenced:
		return fmt.Sprintf("has fence number %d for %s", e.Value, s.key(e.Key))
	case sim.Wrote:
		return s.wrote(e)
	case sim.Stored:
		return s.stored(e)
	case sim.Extended:
		return fmt.Sprintf("has extended %s%s; trusts it until %s", s.key(e.Key), s.votes(b), s.deadline(e.Value))
	case sim.Unextended:
		text := fmt.Sprintf("could not extend %s: %s", s.key(e.Key), s.text(e.Note))
		if e.Value == 1 {
			text += "; told that the lock is lost"
		}
		return text
	case sim.Released:
		if e.Note != 0 {
			return fmt.Sprintf("release of %s: %s", s.key(e.Key), s.text(e.Note))
		}
		return fmt.Sprintf("has released %s%s", s.key(e.Key), s.votes(b))
	case sim.Lost:
		return fmt.Sprintf("is told that it lost %s: %s", s.key(e.Key), s.text(e.Note))
	case sim.Faulted, sim.Healed:
		return s.fault(e)
	case sim.Holds:
		return s.left(e)
	case sim.Noted:
		return "logs: " + s.text(e.Note)
	case sim.Over:
		return "the run ends: every context ends"
	}
	return ""
}

// asked tells a question; of a clean-up it says what the attempt had got.
func (s *story) asked(e sim.Event, b *broadcast) string {
	everybody := s.cast.nodes(all(len(s.cast.Nodes)))
	switch {
	case e.Op == node.OpDelete:
		return fmt.Sprintf("deletes %s on %s, whoever has it", s.key(e.Key), everybody)
	case node.Usual(e.Op) == redlock.OpAcquire:
		return fmt.Sprintf("asks %s for %s", everybody, s.key(e.Key))
	case node.Usual(e.Op) == redlock.OpExtend:
		return fmt.Sprintf("asks %s to extend %s", everybody, s.key(e.Key))
	case b != nil && b.cleanUp:
		return fmt.Sprintf("did not get %s: takes it back from %s", s.key(e.Key), everybody)
	}
	return fmt.Sprintf("releases %s on %s", s.key(e.Key), everybody)
}

// deadline is when a holder's trust ends by itself.
func (s *story) deadline(reading int64) string {
	if reading == never {
		return "it lets go"
	}
	return "its clock reads " + instant(reading, 6)
}

func (s *story) sent(e sim.Event) string {
	switch e.Value {
	case -1:
		return fmt.Sprintf("its %s to %s is lost on the way", opWord(e.Op), s.cast.node(int(e.Node)))
	case -2:
		return fmt.Sprintf("cannot reach %s: refused at once", s.cast.node(int(e.Node)))
	}
	return ""
}

// wrote tells a write that goes to a resource.
func (s *story) wrote(e sim.Event) string {
	text := "writes to " + s.cast.node(int(e.Node))
	switch e.Value {
	case -1:
		return text + "; lost on the way"
	case -2:
		return text + "; refused at once"
	}
	return text
}

// stored tells what a resource made of a write.
func (s *story) stored(e sim.Event) string {
	whose := s.cast.client(int(e.Client), 0) + "'s write"
	if e.Value > 0 {
		whose += fmt.Sprintf(" with fence number %d", e.Value)
	}
	if e.Status == redlock.Done {
		return "takes " + whose
	}
	return "refuses " + whose + ": it has seen a higher one"
}

func (s *story) granted(e sim.Event, b *broadcast) string {
	return fmt.Sprintf("holds %s%s; trusts it until %s", s.key(e.Key), s.votes(b), s.deadline(e.Value))
}

// votes is whose yes a process had heard when it stopped waiting.
func (s *story) votes(b *broadcast) string {
	if b == nil {
		return ""
	}
	yes := b.granted()
	slices.Sort(yes)
	return fmt.Sprintf(" by %s (%d of %d)", s.cast.nodes(yes), len(yes), len(s.cast.Nodes))
}

// fault tells a fault that begins or ends.
func (s *story) fault(e sim.Event) string {
	if e.Value < 0 || int(e.Value) >= len(s.cast.Faults) {
		return ""
	}
	f := s.cast.Faults[e.Value]
	lasting := ""
	if f.For > 0 {
		lasting = " for " + length(time.Duration(f.For))
	}
	if e.Kind == sim.Healed {
		switch f.Kind {
		case "crash":
			return "is back"
		case "pause", "suspend":
			return "goes on"
		}
		return "its clocks run as before"
	}
	switch f.Kind {
	case "pause":
		return "stands still" + lasting + "; its clocks go on"
	case "suspend":
		return "is suspended" + lasting + "; its monotonic clock stops"
	case "crash":
		if e.Node >= 0 {
			switch quarantine := s.cast.Nodes[e.Node].Quarantine; {
			case f.For == 0:
				lasting = " for good"
			case quarantine > 0:
				lasting += "; it serves again " + length(time.Duration(quarantine)) + " after the crash"
			}
		}
		return "crashes" + lasting
	case "step":
		return "its wall clock jumps by " + signed(f.By)
	case "rate":
		return "its clocks now run " + deviationOf(f.Rate).words() + lasting
	case "freeze":
		return "its wall clock stands still" + lasting
	case "evict":
		return fmt.Sprintf("evicts %q", f.Key)
	case "flush":
		return "drops all keys"
	case "failover":
		return "fails over to a replica that is " + length(time.Duration(f.By)) + " behind"
	}
	return f.Kind
}

// left tells what a node has of a key after a fault.
func (s *story) left(e sim.Event) string {
	if e.Owner == 0 {
		return fmt.Sprintf("has no %s any more", s.key(e.Key))
	}
	who := s.owner[e.Owner]
	if who == "" {
		who = "another"
	}
	return fmt.Sprintf("still has %s for %s until its clock reads %s", s.key(e.Key), who, instant(e.Value*1e6, 3))
}

// A mark is an instant that the world knows and no machine notices.
type mark struct {
	at    int64
	local int64 // what the holder's clock says then
	reads bool  // local means something
	after bool  // it comes of what happens at that instant
	text  string
	tint
}

// marksOf finds the instants to mark, in order: where trust ran to its deadline
// the ends of trust and of exclusion, and every break of a promise.
func marksOf(h *sim.History, c cast, v sim.Verdict) []mark {
	var marks []mark
	for _, l := range v.Leases {
		if l.RanOut() || l.Margin() < 0 {
			m := mark{at: l.TrustEnds, text: fmt.Sprintf("%s no longer trusts its lock on %q (%s)", clean(l.Client), l.Key, shortest(l.TrustEnds)), tint: strong}
			if client := c.clientIndex(l.Client); client >= 0 {
				m.local, m.reads = h.ClientReading(client, l.TrustEnds), true
			}
			marks = append(marks, m)
		}
		if l.RanOut() && l.Margin() >= 0 && l.ExclusionEnds != never {
			marks = append(marks, mark{at: l.ExclusionEnds, tint: strong,
				text: fmt.Sprintf("fewer than %d nodes block for %s on %q: a rival could get it (%s)", c.needed, clean(l.Client), l.Key, shortest(l.ExclusionEnds))})
		}
	}
	for _, x := range v.Violations {
		text := strings.TrimSuffix(headline(v, x), ".")
		if x.Invariant == sim.I2 && x.HasMargin {
			text = fmt.Sprintf("I2 (sound): from here on (%s) fewer than %d nodes block for %s on %q, and it trusts that for another %s",
				shortest(x.At), c.needed, clean(x.Client), x.Key, length(x.Margin))
		}
		marks = append(marks, mark{at: x.At, after: x.Invariant != sim.I2, text: "BROKEN " + text, tint: bad})
	}
	slices.SortStableFunc(marks, func(a, b mark) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.after == b.after:
			return 0
		case b.after:
			return -1
		}
		return 1
	})
	return marks
}

// markUntil writes the marks that come before what happens at an instant.
func (s *story) markUntil(at int64) {
	for len(s.marks) > 0 && (s.marks[0].at < at || s.marks[0].at == at && !s.marks[0].after) {
		m := s.marks[0]
		s.marks = s.marks[1:]
		s.add(line{at: m.at, local: m.local, reads: m.reads, text: m.text, tint: m.tint})
	}
}

// head says who takes part, and what the columns are.
func (s *story) head() {
	sc := s.cast.Scenario
	name := "the run"
	if sc.Name != "" {
		name = clean(sc.Name)
	}
	var clients []string
	for i := range sc.Clients {
		clients = append(clients, s.cast.client(i, 0))
	}
	s.para("", fmt.Sprintf("%s: clients %s; nodes %s, of which %d make a lock; TTL %s, drift factor %s, buffer %s.", name,
		strings.Join(clients, ", "), s.cast.nodes(all(len(sc.Nodes))), s.cast.quorum, length(time.Duration(sc.Lock.TTL)), clean(sc.Lock.Factor), length(time.Duration(sc.Lock.Buffer))))
	if about := clean(sc.About); about != "" {
		s.para("", about)
	}
	s.line("")
}

// table writes all lines in columns that are as wide as they must be.
func (s *story) table() {
	decimals := 6
	if s.level == Everything {
		decimals = 9
	}
	width := func(t string) int { return utf8.RuneCountInString(t) }
	stepW, atW, localW, whoW := width("step"), width("true time"), width("own clock"), width("who")
	for _, l := range s.lines {
		stepW = max(stepW, width(fmt.Sprint("#", l.step)))
		atW = max(atW, width(instant(l.at, decimals)))
		if l.reads {
			localW = max(localW, width(instant(l.local, decimals)))
		}
		whoW = max(whoW, min(width(l.who), 10))
	}
	s.line(s.paint(faint, fmt.Sprintf("%-*s  %*s  %*s  %s", stepW, "step", atW, "true time", localW, "own clock", "who")))
	for _, l := range s.lines {
		step, local := "", ""
		if l.step > 0 {
			step = fmt.Sprint("#", l.step)
		}
		if l.reads {
			local = instant(l.local, decimals)
		}
		who := l.who
		if width(who) > whoW {
			who = string([]rune(who)[:whoW-1]) + "…"
		}
		if l.step == 0 {
			who = "──"
		}
		head := fmt.Sprintf("%-*s  %*s  %*s  %-*s  ", stepW, step, atW, instant(l.at, decimals), localW, local, whoW, who)
		for i, t := range wrap(l.text, columns-width(head)) {
			if i > 0 {
				head = strings.Repeat(" ", width(head))
			}
			s.line(head + s.paint(l.tint, t))
		}
	}
}
