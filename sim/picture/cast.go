package picture

import (
	"cmp"
	"slices"
	"strings"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/timeline"
)

// never is the end of what does not end.
const never = 1<<63 - 1

// A machine is one lane of a picture, or one track.
type machine struct {
	name  string
	sort  string // "client", "node" or "resource"
	clock string // which one its readings are of, "" if it has none
	off   string // by how much that is off, "+200 ppm"
}

// cast is who takes part in a run: clients, then nodes, then resources.
type cast struct {
	sim.Scenario
	machines []machine
	needed   int // nodes that must block to keep rivals out: N−q+1
}

func castOf(sc sim.Scenario) cast {
	c := cast{Scenario: sc, needed: len(sc.Nodes) - len(sc.Nodes)/2}
	for _, x := range sc.Clients {
		lives := x.Lives
		if lives == "" {
			lives = sim.Boot
		}
		c.machines = append(c.machines, machine{x.Name, "client", string(lives), timeline.Deviation(x.Clock.Rate)})
	}
	for _, x := range sc.Nodes {
		c.machines = append(c.machines, machine{x.Name, "node", "wall", timeline.Deviation(x.Clock.Rate)})
	}
	for _, x := range sc.Resources {
		c.machines = append(c.machines, machine{name: x.Name, sort: "resource"})
	}
	return c
}

// lane is the machine on which an event happened, -1 if on none.
func (c *cast) lane(e sim.Event) int {
	switch {
	case e.Client >= 0 && !timeline.AtNode(e.Kind):
		return int(e.Client)
	case e.Node >= 0:
		return len(c.Clients) + int(e.Node)
	}
	return -1
}

// named is the lane of a machine, -1 if there is none.
func (c *cast) named(name string) int {
	for i, m := range c.machines {
		if m.name == name {
			return i
		}
	}
	return -1
}

// serving is the node behind an address.
func (c *cast) serving(node int) int {
	if node < len(c.Nodes) && c.Nodes[node].Alias != "" {
		return c.named(c.Nodes[node].Alias) - len(c.Clients)
	}
	return node
}

// trouble is a stretch of true time in which something is wrong with a machine.
type trouble struct {
	lane     int
	from, to int64 // to: never, if it is there to stay; from, if it is momentary
	what     string
	text     string
	index    int // of the fault; -1: a cut
}

// troubles are the faults that happened and the cuts of the network. What a fault is
// called says its story, by step.
func (c *cast) troubles(h *sim.History, said []string) (list []trouble) {
	for step, e := range h.Events() {
		lane := c.lane(e)
		if lane < 0 || e.Kind != sim.Faulted && e.Kind != sim.Healed {
			continue
		}
		if e.Kind == sim.Healed {
			for i := range list {
				if int64(list[i].index) == e.Value && list[i].to == never {
					list[i].to = e.At
				}
			}
			continue
		}
		f := c.Faults[e.Value]
		to := e.At
		if f.For > 0 || f.Kind == "crash" { // for good unless a Healed says otherwise
			to = never
		}
		list = append(list, trouble{lane, e.At, to, f.Kind, said[step], int(e.Value)})
	}
	for _, cut := range c.Network.Cuts {
		to := int64(never)
		if cut.For > 0 {
			to = int64(cut.At + cut.For)
		}
		how := "cut off from "
		back := how
		if cut.OneWay {
			how, back = "nothing gets from here to ", "nothing gets here from "
		}
		list = append(list, c.cutOff(cut.From, how+strings.Join(cut.To, ", "), cut.At, to)...)
		list = append(list, c.cutOff(cut.To, back+strings.Join(cut.From, ", "), cut.At, to)...)
	}
	return list
}

func (c *cast) cutOff(names []string, text string, at clock.Duration, to int64) (list []trouble) {
	for _, name := range names {
		if lane := c.named(name); lane >= 0 {
			list = append(list, trouble{lane, int64(at), to, "cut", text, -1})
		}
	}
	return list
}

// acquisition names what nodes block for.
type acquisition struct{ key, owner string }

// stands says of each acquisition when enough nodes blocked for it: the last of those
// that it takes had the key. One that never had so many is missing.
func (c *cast) stands(v sim.Verdict) map[acquisition]int64 {
	type first struct {
		acquisition
		node int
	}
	firsts := map[first]bool{}
	count := map[acquisition]int{}
	since := map[acquisition]int64{}
	blocks := slices.Clone(v.Blocks)
	slices.SortStableFunc(blocks, func(a, b sim.Block) int { return cmp.Compare(a.From, b.From) })
	for _, b := range blocks {
		a := acquisition{b.Key, b.Owner}
		if firsts[first{a, b.Node}] {
			continue
		}
		firsts[first{a, b.Node}] = true
		if count[a]++; count[a] == c.needed {
			since[a] = b.From
		}
	}
	return since
}
