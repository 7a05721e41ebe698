package timeline

import (
	"fmt"
	"time"

	"driftlock/redlock"
	"driftlock/sim"
)

// wroteLate says of an I3 how a resource came to take a write after the holder's lock
// had ended; "" if that is not so, or not what happened.
func (q *inquiry) wroteLate(x sim.Violation) string {
	sent, ok := q.writeStoredAt(x.At)
	ends := q.lease.TrustEnds
	if !ok || x.At < ends {
		return ""
	}
	name := clean(q.lease.Client)
	if sent.At < ends {
		return fmt.Sprintf("The write that %s sent at %s was on its way for %s; its lock ended at %s.",
			name, shortest(sent.At), length(time.Duration(x.At-sent.At)), shortest(ends))
	}
	for _, f := range q.faults {
		if f.client == q.client && (f.Kind == "pause" || f.Kind == "suspend") && f.to > ends {
			return fmt.Sprintf("%s stood still at %s for %s, and did not see that its lock ended at %s; when it went on, it wrote.",
				name, shortest(f.from), length(time.Duration(f.For)), shortest(ends))
		}
	}
	return fmt.Sprintf("%s wrote at %s, after its lock had ended at %s.", name, shortest(sent.At), shortest(ends))
}

// writeStoredAt is the write of the holder that a resource carried out at an instant.
func (q *inquiry) writeStoredAt(at int64) (sent sim.Event, ok bool) {
	for _, e := range q.h.Events() {
		if e.Kind != sim.Stored || e.At != at || int(e.Client) != q.client || e.Status != redlock.Done {
			continue
		}
		for _, w := range q.h.Events() {
			if w.Kind == sim.Wrote && w.Client == e.Client && w.Node == e.Node && w.Nth == e.Nth {
				return w, true
			}
		}
	}
	return sent, false
}
