package sim

import (
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"
)

// For how long locks trusted their leases, where code made them with options of its own:
// their drift factor and buffer need not be the scenario's.

// trust is the longest that such locks trusted a TTL, on their clocks: from the reading
// before the first request to the deadline.
type trust struct {
	ttl     time.Duration
	longest int64 // ns
}

// deadline is one that such a lock told.
type deadline struct {
	owner string
	until int64 // reading of the holder's clock
}

// options notes a deadline of a lock with options of its own.
func (p *Process) options(owner string, until int64) {
	if b := p.c.w.bubble; b != nil { // a watch renews on a goroutine of its own
		b.mu.Lock()
		defer b.mu.Unlock()
	}
	h := &p.c.w.history
	h.options = append(h.options, deadline{owner, until})
}

// trusts are the longest trusts of locks with options of their own, a TTL each. What the
// holder has said with Holds is none, and neither is a deadline beyond the TTL: no factor
// and no buffer makes that.
func (h *History) trusts() (longest []trust) {
	if len(h.options) == 0 {
		return nil
	}
	told := make(map[deadline]bool, len(h.options))
	for _, d := range h.options {
		told[d] = true
	}
	type request struct { // the newest that should set an owner's key
		client int16
		asked  bool
		local  int64 // the reading that validity counts from
		until  int64 // the deadline before
	}
	newest := make([]request, len(h.texts))
	for i := range h.events {
		e := &h.events[i]
		r := &newest[e.Owner]
		switch e.Kind {
		case Asked:
			if op := node.Usual(e.Op); op == redlock.OpAcquire || op == redlock.OpExtend {
				r.client, r.asked, r.local = e.Client, true, e.Local
			}
		case Granted, Extended:
			if !told[deadline{h.Text(e.Owner), e.Value}] {
				continue
			}
			ttl, trusted := time.Duration(e.Nth)*time.Millisecond, e.Value-r.local
			if r.asked && r.client == e.Client && r.until != e.Value && trusted <= int64(ttl) { // an extension may leave the deadline as it was
				longest = longer(longest, trust{ttl, trusted})
			}
			r.until = e.Value
		}
	}
	return longest
}

// longer adds a trust to the longest.
func longer(all []trust, t trust) []trust {
	for i := range all {
		if all[i].ttl == t.ttl {
			all[i].longest = max(all[i].longest, t.longest)
			return all
		}
	}
	return append(all, t)
}
