package picture

import (
	"slices"
	"strconv"

	"driftlock/sim"
	"driftlock/sim/node"
)

// hasStatus are the kinds of which the status means something.
var hasStatus = []sim.EventKind{sim.Executed, sim.Heard, sim.Stored}

// appendEvent appends an event as a JSON object, with the fields that mean something
// (jsonOf on the page writes the same).
func (c *cast) appendEvent(b []byte, h *sim.History, step int, e sim.Event) []byte {
	number := func(name string, n int64) {
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = strconv.AppendInt(b, n, 10)
	}
	b = strconv.AppendInt(append(b, `{"step":`...), int64(step), 10)
	b = appendField(b, "kind", e.Kind.String())
	number("at_ns", e.At)
	if lane := c.lane(e); lane >= 0 && c.machines[lane].clock != "" {
		number("local_ns", e.Local)
	}
	if e.Client >= 0 {
		b = appendField(b, "client", c.machines[e.Client].name)
	}
	if e.Proc > 0 {
		number("proc", int64(e.Proc))
	}
	if e.Node >= 0 {
		b = appendField(b, "node", c.machines[len(c.Clients)+int(e.Node)].name)
	}
	if e.Op != 0 {
		b = appendField(b, "op", node.Word(e.Op))
	}
	if slices.Contains(hasStatus, e.Kind) {
		b = appendField(b, "status", e.Status.String())
	}
	if e.Nth != 0 {
		number("nth", int64(e.Nth))
	}
	for _, x := range []struct {
		name string
		text sim.Text
	}{{"key", e.Key}, {"owner", e.Owner}, {"note", e.Note}} {
		if x.text != 0 {
			b = appendField(b, x.name, h.Text(x.text))
		}
	}
	if e.Value != 0 {
		number("value", e.Value)
	}
	return append(b, '}')
}
