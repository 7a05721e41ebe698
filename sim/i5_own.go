package sim

import (
	"fmt"
	"slices"

	"driftlock/clock"
	"driftlock/sim/node"
)

// owned is I5: a release or an extend touches only keys of its own acquisition. B
// is the key that the node had, unexpired, when it carried out the release or
// extend e. An owner value of several acquisitions does not make them one.
func (c *checker) owned(e *Event, b *block) {
	if b.owner == e.Owner && !c.ofAnother(e, b) {
		return
	}
	sc := &c.h.scenario
	c.broke(Violation{
		Invariant: I5, At: e.At, Client: sc.Clients[e.Client].Name, Key: c.h.Text(e.Key), Lease: -1, Other: -1,
		Text: fmt.Sprintf("%s's %s of %q on %s, carried out at %v, touched a key of another acquisition", sc.Clients[e.Client].Name, node.Word(e.Op), c.h.Text(e.Key), sc.Nodes[e.Node].Name, clock.Duration(e.At)),
	})
}

// ofAnother says that a key which has the owner value of e is of another attempt
// all the same: the client sent e before it asked for that key, or another client
// asked for it though this one has made an attempt with that value.
func (c *checker) ofAnother(e *Event, b *block) bool {
	if b.nth == 0 || b.client == e.Client {
		return e.Nth < b.nth
	}
	return c.tried(e.Client, e.Owner)
}

// tried says that a client has made an attempt with an owner value.
func (c *checker) tried(client int16, owner Text) bool {
	return slices.ContainsFunc(c.attempts, func(a attempt) bool { return a.owner == owner && a.client == client })
}
