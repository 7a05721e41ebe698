package sim

import (
	"fmt"
	"slices"
	"time"

	"driftlock/clock"
	"driftlock/sim/network"
)

// tidiness is I7: after a failed attempt or a release has returned, no node that
// can be reached keeps the owner's key longer than the node timeout (or the
// longest one-way delay, if that is more) and twice the longest one-way delay.
// Its margin is what was left of that bound.
//
// Three delays, since the release waits in line for the answer to its acquire:
// there, back, and there again. An acquire that was not sent by the time the
// attempt returned is not sent at all.
//
// A node can be reached if, from the attempt on until the bound, it served, the
// client ran, no message between the two was lost, refused or doubled (a copy of an
// acquire that comes after its release sets the key again), and the client's
// connection did not give up. What a fault has brought back nobody kept. Where a
// delay has no bound there is none to break, and what has until after the run's end
// is not judged. No bound is less than the node timeout, so what is gone by then is not
// compared with it.
func (c *checker) tidiness() {
	sc := &c.h.scenario
	bound, known := int64(0), false
	timeout := int64(sc.Lock.NodeTimeout)
	for i := range c.attempts {
		a := &c.attempts[i]
		if a.returned == never {
			continue
		}
		for b := c.block(c.owners[a.owner].first); b != nil; b = c.block(b.next) {
			if b.To-a.returned <= timeout || b.key != a.key || b.restored || c.ofLater(b, a, i) {
				continue
			}
			if !known {
				var ok bool
				if bound, ok = c.tidyBound(); !ok {
					return
				}
				known = true
			}
			left := a.returned + bound - b.To
			if left >= 0 || a.returned+bound > sc.last() || !c.reachable(a, b.Node, a.returned+bound) {
				continue
			}
			client := sc.Clients[a.client].Name
			c.broke(Violation{
				Invariant: I7, At: a.returned + bound, Client: client, Key: c.h.Text(a.key), Lease: -1, Other: -1, Margin: time.Duration(left), HasMargin: true,
				Text: fmt.Sprintf("%s was done with %q at %v, but %s kept its key until %v, %v longer than it had to", client, c.h.Text(a.key), clock.Duration(a.returned), sc.Nodes[b.Node].Name, clock.Duration(b.To), clock.Duration(-left)),
			})
		}
	}
}

// ofLater says that a block is of a later attempt than a, the i-th, which has the
// same owner value.
func (c *checker) ofLater(b *block, a *attempt, i int) bool {
	switch {
	case b.nth == 0 || int(c.owners[a.owner].attempt) == i+1: // none is later
		return false
	case b.client != a.client:
		return true
	}
	later := int64(never)
	for j := i + 1; j < len(c.attempts); j++ {
		if o := &c.attempts[j]; o.owner == a.owner && o.client == a.client {
			later = o.asked
			break
		}
	}
	return slices.ContainsFunc(c.h.events, func(e Event) bool {
		return e.Kind == Sent && e.At >= later && e.Client == b.client && int(e.Node) == b.Node && e.Nth == b.nth
	})
}

// tidyBound is the bound of I7 in true time; false if a delay has none. The node
// timeout is on a client's clock: the slowest one's counts.
func (c *checker) tidyBound() (int64, bool) {
	sc := &c.h.scenario
	timeout := int64(sc.Lock.NodeTimeout)
	slowest := timeout
	c.names = c.names[:0]
	for i := range sc.Clients {
		c.names = append(c.names, sc.Clients[i].Name)
		slowest = max(slowest, c.clock(i).reach(0, c.clock(i).at(0)+timeout))
	}
	for i := range sc.Nodes {
		c.names = append(c.names, sc.Nodes[i].Name)
	}
	c.net.Reset(sc.Network, sc.Seed, c.names[:len(sc.Clients)], c.names[len(sc.Clients):])
	longest, ok := c.net.LongestDelay()
	if !ok || longest > never/4 || slowest > never/4 {
		return 0, false
	}
	return max(slowest, longest) + 2*longest, true
}

// reachable says whether an attempt's client and a node could speak until then.
func (c *checker) reachable(a *attempt, node int, until int64) bool {
	if overlaps(c.nodes[node].away, a.asked, until) || overlaps(c.clients[a.client].away, a.asked, until) {
		return false
	}
	for i := range c.h.events {
		e := &c.h.events[i]
		if e.At > until {
			break
		}
		if e.At < a.asked || int(e.Node) != node || e.Client != a.client {
			continue
		}
		if e.Kind == GaveUp || (e.Kind == Sent || e.Kind == Answered) && e.Value < 0 || e.Kind == Sent && c.doubled(e) {
			return false
		}
	}
	return true
}

// doubled says that a request arrives twice.
func (c *checker) doubled(e *Event) bool {
	sc := &c.h.scenario
	return slices.ContainsFunc(sc.Network.Rules, func(r network.Rule) bool {
		return r.Twice && (r.From == "" || r.From == sc.Clients[e.Client].Name) && (r.To == "" || r.To == sc.Nodes[e.Node].Name) && (r.Nth == 0 || r.Nth == int(e.Nth))
	})
}

func overlaps(away []interval, from, to int64) bool {
	for _, a := range away {
		if a.from < to && from < a.to {
			return true
		}
	}
	return false
}
