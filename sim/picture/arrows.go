package picture

import "driftlock/sim"

// An arrow is one message's way from one step to another.
type arrow struct {
	from, to int // steps; to is 0 if it did not come to anything
}

// way is the messages of one client to one node, or back, under one number.
type way struct {
	client, node int16
	nth          uint32
	back         bool
}

// arrows finds the way of every message: from the step that sent it to the step, or
// the steps if it came twice or was a batch, that it led to.
func arrows(h *sim.History, c *cast) []arrow {
	sent := make(map[way][]int, h.Len()/3)
	var list []arrow
	came := make([]bool, h.Len()+1)
	for step, e := range h.Events() {
		there, back := way{e.Client, e.Node, e.Nth, false}, way{e.Client, e.Node, e.Nth, true}
		var by []int
		switch e.Kind {
		case sim.Sent, sim.Wrote:
			sent[there] = append(sent[there], step)
		case sim.Answered:
			sent[back] = append(sent[back], step)
		case sim.Executed:
			by = match(h, sent[there], e)
			for n := 0; by == nil && n < len(c.Nodes); n++ { // by another of its addresses
				if int(e.Node) != n && c.serving(n) == int(e.Node) {
					there.node = int16(n)
					by = match(h, sent[there], e)
				}
			}
		case sim.Dropped:
			by = sent[there]
			if e.Value > 0 { // its host refuses, and the client hears of it
				sent[back] = append(sent[back], step)
			}
		case sim.Stored:
			by = sent[there]
			sent[back] = append(sent[back], step)
		case sim.Heard:
			by = sent[back]
		}
		for _, from := range by {
			list = append(list, arrow{from, step})
			came[from] = true
		}
	}
	for step, e := range h.Events() {
		if (e.Kind == sim.Sent || e.Kind == sim.Wrote || e.Kind == sim.Answered) && !came[step] {
			list = append(list, arrow{step, 0})
		}
	}
	return list
}

// match is the one of a batch that an event is about.
func match(h *sim.History, sent []int, e sim.Event) []int {
	for i, step := range sent {
		if s := h.Event(step); s.Op == e.Op && s.Owner == e.Owner && s.Key == e.Key {
			return sent[i : i+1]
		}
	}
	return nil
}
