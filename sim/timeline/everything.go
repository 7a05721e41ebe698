package timeline

import (
	"fmt"
	"time"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
)

// everything is the line of an event at the level of every event.
func (s *story) everything(e sim.Event) string {
	switch e.Kind {
	case sim.Started:
		return "starts"
	case sim.Ended:
		if e.Note == 0 {
			return "ends"
		}
		return "ends: " + s.text(e.Note)
	case sim.Wanted:
		return "calls acquire of " + s.key(e.Key)
	case sim.Read:
		return "reads its clock"
	case sim.Slept:
		return "sleeps " + length(time.Duration(e.Value))
	case sim.Asked:
		return fmt.Sprintf("asks all: %s %s as %s, waiting %s", opWord(e.Op), s.key(e.Key), s.short(e.Owner), length(time.Duration(e.Value)))
	case sim.Sent:
		text := fmt.Sprintf("→ %s #%d: %s as %s, ", s.cast.node(int(e.Node)), e.Nth, opWord(e.Op), s.short(e.Owner))
		switch e.Value {
		case sim.LostOnWay:
			return text + "lost on the way"
		case sim.RefusedByHost:
			return text + "refused"
		}
		return text + "arrives at " + instant(e.Value, 9)
	case sim.Executed:
		text := fmt.Sprintf("%s of %s #%d: %s", opWord(e.Op), s.cast.client(int(e.Client), 0), e.Nth, statusWord(e.Op, e.Status))
		if e.Value > 0 {
			text += ", key until " + instant(e.Value*1e6, 3)
		}
		return text
	case sim.Dropped:
		if e.Value > 0 {
			return fmt.Sprintf("is down: its host refuses %s #%d, which hears of it at %s", s.cast.client(int(e.Client), 0), e.Nth, instant(e.Value, 9))
		}
		return fmt.Sprintf("is down: drops %s #%d", s.cast.client(int(e.Client), 0), e.Nth)
	case sim.Answered:
		if e.Value == sim.LostOnWay {
			return fmt.Sprintf("→ %s #%d: answer lost on the way", s.cast.client(int(e.Client), 0), e.Nth)
		}
		return fmt.Sprintf("→ %s #%d: answers, arrives at %s", s.cast.client(int(e.Client), 0), e.Nth, instant(e.Value, 9))
	case sim.Heard:
		return fmt.Sprintf("← %s #%d: %s: %s", s.cast.node(int(e.Node)), e.Nth, opWord(e.Op), statusWord(e.Op, e.Status))
	case sim.GaveUp:
		return fmt.Sprintf("gives up waiting for %s #%d", s.cast.node(int(e.Node)), e.Nth)
	case sim.Granted:
		return fmt.Sprintf("holds %s as %s until its clock reads %s", s.key(e.Key), s.short(e.Owner), instant(e.Value, 9))
	case sim.Releasing:
		return "calls release of " + s.key(e.Key)
	}
	if text := s.told(e, nil); text != "" {
		return text
	}
	return e.Kind.String()
}

// short is the beginning of an owner value.
func (s *story) short(t sim.Text) string {
	owner := []rune(s.text(t))
	if len(owner) > 8 {
		return string(owner[:8]) + "…"
	}
	return string(owner)
}

// statusWord says what an answer means.
func statusWord(op redlock.Op, status redlock.Status) string {
	switch status {
	case redlock.Done:
		switch node.Usual(op) {
		case redlock.OpAcquire:
			return "granted"
		case redlock.OpExtend:
			return "extended"
		}
		return "freed"
	case redlock.Gone:
		if op == redlock.OpAcquire {
			return "free, but the fence number is too low"
		}
		return "no such key"
	case redlock.Others:
		return "another has it"
	case redlock.Ours:
		return "granted already"
	}
	return "failed"
}
