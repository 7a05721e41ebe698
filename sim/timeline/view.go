package timeline

import (
	"fmt"
	"slices"
	"strings"

	"driftlock/sim"
	"driftlock/sim/spell"
)

// Level is how much of a run is told.
type Level int

const (
	Lanes      Level = iota - 1 // no step by itself: the picture alone, see Timeline
	Story                       // who asked whom, what came of it, and what went wrong
	Messages                    // and every message on its way
	Everything                  // every event
)

// levels are their names, from Lanes on.
var levels = []string{"lanes", "story", "messages", "all"}

// Levels are the names that ParseLevel reads.
func Levels() []string { return slices.Clone(levels) }

// ParseLevel reads "lanes", "story", "messages" or "all".
func ParseLevel(s string) (Level, error) {
	if i := slices.Index(levels, s); i >= 0 {
		return Lanes + Level(i), nil
	}
	return 0, fmt.Errorf("there is no level %q%s: lanes, story, messages and all are", s, spell.Hint(s, levels))
}

// A View is which part of a run is told. The zero View is its whole story.
type View struct {
	Level Level
	Only  []string // clients, nodes, resources and keys; "key:A" is a key of that name
	From  int      // the first step; 0: that of the run
	Until int      // the last step; 0: that of the run

	window Window // of the lanes; zero: from the steps, or what the verdict is about
}

// Check says what of a view the run does not have.
func (v View) Check(h *sim.History) error {
	keys := keysOf(h)
	machines := machinesOf(h)
	for _, name := range v.Only {
		key, forced := strings.CutPrefix(name, "key:")
		if !forced && slices.Contains(machines, name) || slices.Contains(keys, key) {
			continue
		}
		known := append(machines, keys...)
		return fmt.Errorf("no client, node or key is called %q%s: there are %s", name, spell.Hint(name, known), strings.Join(known, ", "))
	}
	switch {
	case v.From < 0 || v.From > h.Len():
		return fmt.Errorf("there is no step %d: the run has %d, from 1 on", v.From, h.Len())
	case v.Until < 0 || v.Until > h.Len():
		return fmt.Errorf("there is no step %d: the run has %d, from 1 on", v.Until, h.Len())
	case v.Until > 0 && v.Until < v.From:
		return fmt.Errorf("nothing lies from step %d until step %d", v.From, v.Until)
	}
	return nil
}

func machinesOf(h *sim.History) (names []string) {
	sc := h.Scenario()
	for i := range sc.Clients {
		names = append(names, sc.Clients[i].Name)
	}
	for i := range len(sc.Nodes) + len(sc.Resources) {
		names = append(names, sc.Place(i))
	}
	return names
}

// keysOf are the keys of a run, in the order in which they come up.
func keysOf(h *sim.History) (keys []string) {
	seen := map[sim.Text]bool{0: true}
	for _, e := range h.Events() {
		if !seen[e.Key] {
			seen[e.Key] = true
			keys = append(keys, h.Text(e.Key))
		}
	}
	return keys
}

// steps is the first and the last step.
func (v View) steps(h *sim.History) (from, until int) {
	if until = v.Until; until == 0 {
		until = h.Len()
	}
	return max(v.From, 1), until
}

// selection is what a view picks, for one run.
type selection struct {
	everything  bool
	client      []bool
	node        []bool // and resources after them
	key         map[string]bool
	from, until int
}

func (v View) of(h *sim.History) selection {
	sc := h.Scenario()
	s := selection{everything: len(v.Only) == 0, client: make([]bool, len(sc.Clients)), node: make([]bool, len(sc.Nodes)+len(sc.Resources)), key: map[string]bool{}}
	s.from, s.until = v.steps(h)
	for i := range s.client {
		s.client[i] = slices.Contains(v.Only, sc.Clients[i].Name)
	}
	for i := range s.node {
		s.node[i] = slices.Contains(v.Only, sc.Place(i))
	}
	machines := machinesOf(h)
	for _, name := range v.Only {
		key, forced := strings.CutPrefix(name, "key:")
		if forced || !slices.Contains(machines, name) {
			s.key[key] = true
		}
	}
	return s
}

// has says whether a step is told.
func (s *selection) has(h *sim.History, step int, e sim.Event) bool {
	return step >= s.from && step <= s.until && (s.everything ||
		e.Client >= 0 && s.client[e.Client] || e.Node >= 0 && s.node[e.Node] || e.Key != 0 && s.key[h.Text(e.Key)])
}

// marks says whether an instant about a client and a key is told.
func (s *selection) marks(client int, key string) bool {
	return s.everything || client >= 0 && s.client[client] || s.key[key] || slices.Contains(s.node, true)
}
