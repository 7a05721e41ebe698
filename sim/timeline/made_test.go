package timeline

import (
	"driftlock/clock"
	"driftlock/sim"
)

// made is a run made by hand, for what no real run shows.
type made struct {
	sc     sim.Scenario
	events []sim.Event
	texts  []string
}

func (m *made) Scenario() sim.Scenario   { return m.sc }
func (m *made) Len() int                 { return len(m.events) }
func (m *made) Event(step int) sim.Event { return m.events[step-1] }
func (m *made) Text(t sim.Text) string   { return m.texts[t] }

func (m *made) ClientReading(client int, at int64) int64 {
	return m.sc.Clients[client].Clock.Rate.Elapsed(at)
}

func (m *made) NodeReading(node int, at int64) int64 { return m.sc.Nodes[node].Clock.Rate.Elapsed(at) }

func (m *made) text(s string) sim.Text {
	if len(m.texts) == 0 {
		m.texts = []string{""}
	}
	for i, t := range m.texts {
		if t == s {
			return sim.Text(i)
		}
	}
	m.texts = append(m.texts, s)
	return sim.Text(len(m.texts) - 1)
}

const (
	ms  = int64(1e6)
	sec = int64(1e9)
)

func five(rate clock.Rate) []sim.Node {
	var nodes []sim.Node
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		nodes = append(nodes, sim.Node{Name: name, Clock: sim.Clock{Rate: rate}})
	}
	return nodes
}
