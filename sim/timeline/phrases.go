package timeline

// What an event is called at the level of a story. Everything else about it (the
// step, the time, the clock, who) stands in the columns.

import (
	"fmt"
	"slices"
	"time"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
)

// askedInVain says how often was asked in vain.
func (s *story) askedInVain(n vain) string {
	text := "asked in vain: "
	if n.count > 1 {
		text = fmt.Sprintf("asked %s in vain, last at %s: ", times(n.count), instant(n.until, 3))
	}
	if n.most == 0 {
		return text + "refused"
	}
	return text + fmt.Sprintf("at most %d of %d granted, and were freed again", n.most, len(s.cast.Nodes))
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
	case node.Usual(g.of.op) == redlock.OpAcquire && g.status == redlock.Gone:
		text = "free, but refused to " + who + ": its fence number is too low"
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
func (s *story) told(e sim.Event, b *broadcast) string {
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
		if e.Value == sim.LostOnWay {
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
		if !lockSaid(b, e) { // Process.Holds
			return fmt.Sprintf("believes that it holds %s until %s", s.key(e.Key), s.deadline(e.Value))
		}
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
		if e.Note == 0 { // Process.Drops
			return fmt.Sprintf("believes no more that it holds %s", s.key(e.Key))
		}
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
	case sim.LostOnWay:
		return fmt.Sprintf("its %s to %s is lost on the way", opWord(e.Op), s.cast.node(int(e.Node)))
	case sim.RefusedByHost:
		return fmt.Sprintf("cannot reach %s: refused at once", s.cast.node(int(e.Node)))
	}
	return ""
}

// wrote tells a write that goes to a resource.
func (s *story) wrote(e sim.Event) string {
	text := "writes to " + s.cast.node(int(e.Node))
	switch e.Value {
	case sim.LostOnWay:
		return text + "; lost on the way"
	case sim.RefusedByHost:
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
	if len(yes) == 0 { // it was asked over a connection, of which this knows nothing
		return ""
	}
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
		return "crashes" + lasting + s.down(e, &f)
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

// down is how a crash of a node is to those who ask it.
func (s *story) down(e sim.Event, f *sim.Fault) (text string) {
	if e.Node < 0 {
		return ""
	}
	switch n := s.cast.Nodes[e.Node]; {
	case f.For == 0:
		text = " for good"
	case n.Quarantine > 0 && n.QuarantineOn == node.OnWall:
		text = "; it stays away until its wall clock has gone on by " + length(time.Duration(n.Quarantine))
	case n.Quarantine > 0:
		text = "; it stays away for " + length(time.Duration(n.Quarantine)) + " from the crash on"
	}
	if f.Refuse {
		text += "; refuses at once what it is asked"
	}
	return text
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
