package sim

// Fewer parts. Of a list, large pieces are tried before small ones. Of machines,
// while there are few, every choice is tried, the smallest first: where an even
// number of nodes needs another share for its majority, two may go though neither
// can alone.

import (
	"context"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"driftlock/sim/network"
)

// mostSteps is how many scenarios a shrinking runs at most.
const mostSteps = 20_000

// reducer is a shrinking under way.
type reducer struct {
	ctx   context.Context
	least floor
	run   func(Scenario) (events int, fails bool)
	best  Scenario
	few   int // events that the shortest run had
	steps int
}

// reduce edits sc for as long as something helps.
func reduce(ctx context.Context, sc Scenario, least floor, run func(Scenario) (events int, fails bool)) (Scenario, int) {
	r := &reducer{ctx: ctx, least: least, run: run, few: math.MaxInt / 2}
	r.best = sc
	r.try(func(s *Scenario) bool { s.Claim, s.Expect, s.Remedies = "", nil, nil; return true }) // are about sc
	for again := true; again; {
		again = r.parts()
		again = r.defaults() || again
		again = r.rounder() || again
		again = again || r.redrawn()
	}
	return r.best, r.steps
}

// otherSeeds is how many seeds are tried in the place of a scenario's own.
const otherSeeds = 8

// redrawn takes machines out where other draws help. Those are keyed by a machine's
// number: without the first client, the second gets the delays of the first.
func (r *reducer) redrawn() bool {
	for seed := range uint64(otherSeeds) {
		if r.choose(clientsOf, r.least.clients, &seed) || r.choose(nodesOf, r.least.nodes, &seed) {
			return true
		}
	}
	return false
}

// try makes an edit of the best scenario the best, if that can be run, fails and is
// no longer story. An edit says whether it changed anything.
func (r *reducer) try(edit func(*Scenario) bool) bool {
	if r.steps >= mostSteps || r.ctx.Err() != nil {
		return false
	}
	c := copied(r.best)
	if !edit(&c) || c.Check() != nil {
		return false
	}
	r.steps++
	events, fails := r.run(c)
	if !fails || events > r.few+r.few/4+8 {
		return false
	}
	r.best, r.few = c, min(r.few, events)
	return true
}

// parts takes away what is not needed.
func (r *reducer) parts() bool {
	less := r.fewest(clientsOf, r.least.clients) // first, since they make a run long
	less = thin(r, func(s *Scenario) *[]Fault { return &s.Faults }) || less
	less = r.fewest(nodesOf, r.least.nodes) || less
	less = r.fewest(resourcesOf, 0) || less
	less = thin(r, func(s *Scenario) *[]network.Cut { return &s.Network.Cuts }) || less
	less = thin(r, func(s *Scenario) *[]network.Rule { return &s.Network.Rules }) || less
	less = thin(r, func(s *Scenario) *[]string { return &s.Lock.Flaws }) || less
	for i := range r.best.Network.Cuts {
		less = thin(r, func(s *Scenario) *[]string { return &s.Network.Cuts[i].From }) || less
		less = thin(r, func(s *Scenario) *[]string { return &s.Network.Cuts[i].To }) || less
	}
	for i := range r.best.Clients {
		less = thin(r, func(s *Scenario) *[]Step { return &s.Clients[i].Steps }) || less
	}
	for _, name := range slices.Sorted(maps.Keys(r.best.Network.Paths)) {
		less = r.try(func(s *Scenario) bool { s.unpath(name); return true }) || less
	}
	return less
}

// thin takes elements off a list, in pieces of half its length, of a quarter, and
// so on down to single ones.
func thin[T any](r *reducer, list func(*Scenario) *[]T) (less bool) {
	for size := len(*list(&r.best)); size > 0; size /= 2 {
		for from := 0; from < len(*list(&r.best)); {
			if r.try(func(s *Scenario) bool { take(list(s), from, size); return true }) {
				less = true
			} else {
				from += size
			}
		}
	}
	return less
}

// take takes size elements off a list, or as many as there are.
func take[T any](list *[]T, from, size int) {
	*list = slices.Delete(*list, from, min(from+size, len(*list)))
	if len(*list) == 0 {
		*list = nil // as it is read from a file
	}
}

// fewChoices is of how many machines every choice is tried.
const fewChoices = 8

// fewest takes machines of a sort out, down to least.
func (r *reducer) fewest(sort func(*Scenario) []string, least int) (less bool) {
	for size := len(sort(&r.best)) / 2; size > 0 && len(sort(&r.best)) > fewChoices; size /= 2 {
		for from := 0; from < len(sort(&r.best)); {
			names := sort(&r.best)
			gone := names[from:min(from+size, len(names))]
			if len(names)-len(gone) >= least && r.try(func(s *Scenario) bool { s.remove(gone); return true }) {
				less = true
			} else {
				from += size
			}
		}
	}
	return r.choose(sort, least, nil) || less
}

// choose tries every choice of a few machines, the smallest first, with another seed
// if one is given.
func (r *reducer) choose(sort func(*Scenario) []string, least int, seed *uint64) bool {
	names := sort(&r.best)
	if len(names) > fewChoices {
		return false
	}
	for size := least; size < len(names); size++ {
		for choice := range uint(1) << len(names) {
			if bits.OnesCount(choice) == size && r.try(func(s *Scenario) bool {
				s.remove(unchosen(names, choice))
				if seed != nil {
					s.Seed = *seed
				}
				return true
			}) {
				return true
			}
		}
	}
	return false
}

// unchosen are the names whose bit is not set.
func unchosen(names []string, choice uint) (list []string) {
	for i, name := range names {
		if choice>>i&1 == 0 {
			list = append(list, name)
		}
	}
	return list
}

// unpath takes out what is special about a way.
func (s *Scenario) unpath(way string) {
	delete(s.Network.Paths, way)
	if len(s.Network.Paths) == 0 {
		s.Network.Paths = nil // as it is read from a file
	}
}

func clientsOf(s *Scenario) []string {
	return namesOf(s.Clients, func(c *Client) string { return c.Name })
}
func nodesOf(s *Scenario) []string { return namesOf(s.Nodes, func(n *Node) string { return n.Name }) }
func resourcesOf(s *Scenario) []string {
	return namesOf(s.Resources, func(r *ResourceConfig) string { return r.Name })
}

func namesOf[T any](list []T, name func(*T) string) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = name(&list[i])
	}
	return names
}

// remove takes machines out, by their names, and whatever is about them: their
// faults, their place in cuts, rules about them and ways to them, other addresses
// of a node, and writes to a resource.
func (s *Scenario) remove(names []string) {
	gone := map[string]bool{}
	for _, name := range names {
		gone[name] = true
	}
	for i := range s.Nodes {
		if gone[s.Nodes[i].Alias] {
			gone[s.Nodes[i].Name] = true
		}
	}
	drop(&s.Nodes, func(n Node) bool { return gone[n.Name] })
	drop(&s.Clients, func(c Client) bool { return gone[c.Name] })
	drop(&s.Resources, func(r ResourceConfig) bool { return gone[r.Name] })
	drop(&s.Faults, func(f Fault) bool { return gone[f.On] })
	for i := range s.Clients {
		drop(&s.Clients[i].Steps, func(st Step) bool { return gone[st.To] })
	}
	n := &s.Network
	drop(&n.Rules, func(r network.Rule) bool { return gone[r.From] || gone[r.To] })
	for i := range n.Cuts {
		drop(&n.Cuts[i].From, func(name string) bool { return gone[name] })
		drop(&n.Cuts[i].To, func(name string) bool { return gone[name] })
	}
	clients := clientsOf(s)
	parts := func(from, to []string) bool {
		client := func(name string) bool { return slices.Contains(clients, name) }
		other := func(name string) bool { return !client(name) }
		return slices.ContainsFunc(from, client) && slices.ContainsFunc(to, other)
	}
	drop(&n.Cuts, func(c network.Cut) bool { return !parts(c.From, c.To) && !parts(c.To, c.From) })
	for _, way := range slices.Sorted(maps.Keys(n.Paths)) {
		if from, to, _ := strings.Cut(way, ">"); gone[from] || gone[to] {
			s.unpath(way)
		}
	}
}

// drop takes elements off a list.
func drop[T any](list *[]T, gone func(T) bool) {
	*list = slices.DeleteFunc(*list, gone)
	if len(*list) == 0 {
		*list = nil // as it is read from a file
	}
}
