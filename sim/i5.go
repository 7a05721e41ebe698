package sim

import (
	"fmt"

	"driftlock/clock"
)

// owned is I5: a release or an extend touches only keys of its own acquisition.
// Holder is whose key the node had, unexpired, when it carried out the release
// or extend e.
func (c *checker) owned(e *Event, holder Text) {
	if holder == e.Owner {
		return
	}
	sc := &c.h.scenario
	c.verdict.Violations = append(c.verdict.Violations, Violation{
		Invariant: I5, At: e.At, Client: sc.Clients[e.Client].Name, Key: c.h.Text(e.Key), Lease: -1, Other: -1,
		Text: fmt.Sprintf("%s's %v of %q on %s, carried out at %v, touched a key of another acquisition", sc.Clients[e.Client].Name, e.Op, c.h.Text(e.Key), sc.Nodes[e.Node].Name, clock.Duration(e.At)),
	})
}
