package sim

// How long progress may take once a scenario's faults are over or there to stay:
// the default of Live.Within. Among several waiters there is no bound that holds
// for certain, since each round of attempts may split the vote; but the pauses
// between them are drawn, and a split that goes on for liveTries rounds does not
// come about by chance. Without jitter it may, and there is no bound.
//
// From Live.From on somebody who waits is held up by
//
//   - keys that were left behind, on as many nodes as a quorum cannot do without,
//     until they expire on those nodes' wall clocks;
//   - what it had begun by then: an attempt, a pause, a connection that waits for
//     an answer which was lost;
//   - rounds in which its vote was split.

import (
	"fmt"
	"slices"
	"time"

	"driftlock/clock"
	"driftlock/sim/network"
)

// liveTries is how many rounds of retrying the bound allows.
const liveTries = 200

// liveBound is the bound that a scenario implies or, with why, that there is none.
// Asked are TTLs beside those that stand in it.
func liveBound(sc *Scenario, asked []time.Duration) (bound int64, why string) {
	s := newStayers(sc, asked)
	quorum := len(sc.Nodes)/2 + 1
	var free []int64 // for how long the keys of each node that stays live at most
	for i := range sc.Nodes {
		if d := s.keysLive(i); s.stays(i) && d != never {
			free = append(free, d)
		}
	}
	if len(free) < quorum {
		return 0, fmt.Sprintf("%d of %d nodes are there to stay, and a quorum is %d", len(free), len(sc.Nodes), quorum)
	}
	slices.Sort(free)
	rounds, waiters := s.rounds()
	least, most := sc.Lock.Retry.pauses()
	switch {
	case waiters > 1 && least == most:
		return 0, fmt.Sprintf("%d clients pause for %v each time: a split vote may recur for ever", waiters, most)
	case rounds == never:
		return 0, "a client's clock stands still"
	}
	return free[quorum-1] + rounds, ""
}

// stayers knows the machines of a scenario from Live.From on.
type stayers struct {
	sc      *Scenario
	from    int64
	nodes   []machine
	clients []machine
	net     network.Network
	ttls    []time.Duration
	longest time.Duration
}

func newStayers(sc *Scenario, asked []time.Duration) *stayers {
	s := &stayers{sc: sc, from: int64(sc.Live.From), nodes: make([]machine, len(sc.Nodes)), clients: make([]machine, len(sc.Clients))}
	var clients, places []string
	for i := range sc.Nodes {
		n := &sc.Nodes[i]
		s.nodes[i].set(n.Clock, sc.Faults, n.Name, &n.Config)
		places = append(places, n.Name)
	}
	for i := range sc.Clients {
		c := &sc.Clients[i]
		s.clients[i].set(c.Clock, sc.Faults, c.Name, nil)
		clients = append(clients, c.Name)
	}
	s.net.Reset(sc.Network, sc.Seed, clients, places)
	a := assumer{sc: sc, asked: asked}
	s.ttls, s.longest = a.ttls()
	return s
}

// alive says that a client runs from Live.From on.
func (s *stayers) alive(client int) bool {
	return !overlaps(s.clients[client].away, s.from, s.sc.last())
}

// stays says that a node serves from Live.From on, and that every client which
// runs can speak to it in the time that an attempt has.
func (s *stayers) stays(node int) bool {
	if overlaps(s.nodes[s.sc.server(node)].away, s.from, s.sc.last()) {
		return false
	}
	for i := range s.sc.Clients {
		if s.alive(i) && !s.hears(i, node) {
			return false
		}
	}
	return true
}

// hears says that no cut parts a client from a node, and that an answer comes
// before the client stops to wait, with enough validity left.
func (s *stayers) hears(client, node int) bool {
	trip, ok := s.net.RoundTrip(client, node, s.from, s.sc.last())
	if !ok || trip > int64(maxSpan) {
		return false
	}
	l, c := &s.sc.Lock, s.clock(client)
	counted := c.at(s.from+trip) - c.at(s.from) + 1
	ppb, err := factorPPB(l.Factor)
	if err != nil || counted >= int64(l.NodeTimeout) {
		return false
	}
	for _, ttl := range s.ttls {
		if counted > trustNs(clock.Duration(ttl), ppb, l.Buffer)-int64(l.MinValidity) {
			return false
		}
	}
	return true
}

func (s *stayers) clock(client int) *line { return s.clients[client].lives(s.sc.lives(client)) }

// keysLive is the longest that a key which a node has may yet live.
func (s *stayers) keysLive(node int) int64 {
	return s.nodes[s.sc.server(node)].wall.atMost(s.from, int64(s.longest)+2e6)
}

// rounds is how long the slowest client may take for what it had begun, and for
// its attempts; and how many clients there are to make some.
func (s *stayers) rounds() (longest int64, clients int) {
	l := &s.sc.Lock
	_, pause := l.Retry.pauses()
	begun := int64(l.GiveUp + l.NodeTimeout)
	round := int64(pause) + 2*int64(l.NodeTimeout) + 2e6
	for i := range s.clients {
		if s.alive(i) {
			longest = max(longest, s.clock(i).atMost(s.from, begun+liveTries*round))
			clients++
		}
	}
	return longest, clients
}

// atMost is how long it may take from a true instant on until d has passed on the
// clock since a reading that it has had by then, or has from then on; never if it
// stands still for good.
func (l *line) atMost(from, d int64) int64 {
	highest := l.at(from)
	for i := 1; i < len(l.spans) && l.spans[i].from <= from; i++ {
		highest = max(highest, l.at(l.spans[i].from-1))
	}
	end := l.reach(from, later(highest, time.Duration(d)))
	if end == never {
		return never
	}
	// Later on it takes as long as its rate is then.
	last := &l.spans[len(l.spans)-1]
	if last.stopped {
		return never
	}
	return max(end-from, last.rate.Reached(d))
}
