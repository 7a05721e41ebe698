package sim

import (
	"driftlock/redlock"
	"driftlock/sim/node"
)

// Whose word an extension is: that of the lock, which has asked nodes to extend it, or
// that of the process alone, which has said so with Holds.

// wordOf says whether the extension e is the process's own word: nodes were asked for the
// lock, and since the process last heard or spoke of it not one to extend it. Over is the
// true time at which the lock was over by what it had said itself before; never if it had
// said nothing.
func (c *checker) wordOf(e *Event) (own bool, over int64) {
	over = never
	asked := 0                // the step of the last message that may have extended the lock
	spoken := map[int16]int{} // that at which each process last heard or spoke of it
	wants := map[int16]bool{} // the processes that wait for Acquire
	for i := range c.h.events {
		o := &c.h.events[i]
		switch {
		case o.Client != e.Client:
		case o.Kind == Sent:
			if mayExtend(o, e) {
				asked = i + 1
			}
		case o.Key != e.Key:
		case o.Kind == Wanted, o.Kind == Refused:
			wants[o.Proc] = o.Kind == Wanted
		case o.Kind == Granted, o.Kind == Extended, o.Kind == Unextended:
			wanted := o.Kind == Granted && wants[o.Proc]
			wants[o.Proc] = wants[o.Proc] && o.Kind != Granted
			if o.Owner != e.Owner {
				continue
			}
			own = asked <= spoken[o.Proc]
			if o == e {
				return own, over
			}
			if wanted || o.Kind == Extended && !own {
				over = c.clock(int(o.Client)).reach(o.At, o.Value)
			}
			spoken[o.Proc] = i + 1
		}
	}
	return own, over
}

// mayExtend says that a message may extend the lock of e: a script may that is not known
// here.
func mayExtend(sent, e *Event) bool {
	switch {
	case sent.Op == node.OpCommand && sent.Owner == 0:
		return true
	case sent.Owner != e.Owner:
		return false
	}
	return sent.Op == node.OpCommand || sent.Key == e.Key && node.Usual(sent.Op) == redlock.OpExtend
}
