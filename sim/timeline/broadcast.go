package timeline

import (
	"math"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
)

// A broadcast is one question of one process to all nodes, with what came of it.
type broadcast struct {
	step         int // of the Asked
	ends         int // the step at which its process had stopped waiting
	client, proc int
	op           redlock.Op
	key, owner   sim.Text
	heard        []answer // in order of arrival, while it was waited for
	cleanUp      bool     // the release of what was never granted: a failed attempt takes back what it got
	got, kept    uint64   // nodes that granted to an attempt, and those that have not been freed again
	vain         bool     // of an attempt and its clean-up: nothing came of it and nothing is left
}

type answer struct {
	node   int
	status redlock.Status
}

// granted is the nodes that answered what was hoped for.
func (b *broadcast) granted() (nodes []int) {
	for _, a := range b.heard {
		if a.status == redlock.Done || a.status == redlock.Ours {
			nodes = append(nodes, a.node)
		}
	}
	return nodes
}

// late says that nobody waited for the broadcast any more at that step.
func (b *broadcast) late(step int) bool { return step > b.ends }

// question, message and process are what events are found by.
type (
	question struct {
		client int16
		op     redlock.Op
		owner  sim.Text
	}
	message struct {
		client, node int16
		nth          uint32
	}
	process struct{ client, proc int16 }
)

// threads follows the messages of a run from question to answer.
type threads struct {
	list     []*broadcast
	latest   map[question]*broadcast
	carried  map[message][]*broadcast // what a message carries: a batch can hold several
	waiting  map[process]*broadcast
	attempts map[sim.Text]*broadcast // by owner
	held     map[sim.Text]bool       // owners that were granted, or whose release was called
}

// broadcasts finds all questions of a run, and to which each step belongs (nil:
// to none).
func broadcasts(h *sim.History) (list []*broadcast, of []*broadcast) {
	t := threads{latest: map[question]*broadcast{}, carried: map[message][]*broadcast{}, waiting: map[process]*broadcast{},
		attempts: map[sim.Text]*broadcast{}, held: map[sim.Text]bool{}}
	of = make([]*broadcast, h.Len()+1)
	for step := 1; step <= h.Len(); step++ {
		of[step] = t.follow(step, h.Event(step))
	}
	t.findVain()
	return t.list, of
}

// follow takes in one event and says to which broadcast it belongs.
func (t *threads) follow(step int, e sim.Event) *broadcast {
	who, m := process{e.Client, e.Proc}, message{e.Client, e.Node, e.Nth}
	switch e.Kind {
	case sim.Releasing:
		t.held[e.Owner] = true
	case sim.Asked:
		return t.ask(step, e, who)
	case sim.Sent:
		b := t.latest[question{e.Client, e.Op, e.Owner}]
		if b != nil {
			t.carried[m] = append(t.carried[m], b)
		}
		return b
	case sim.Executed:
		b := t.find(m, e)
		if b != nil && e.Status == redlock.Done {
			t.executed(b, 1<<e.Node)
		}
		return b
	case sim.Dropped, sim.Answered, sim.GaveUp:
		return t.find(m, e)
	case sim.Heard:
		b := t.find(m, e)
		if b != nil && !b.late(step) {
			b.heard = append(b.heard, answer{int(e.Node), e.Status})
		}
		return b
	case sim.Granted:
		t.held[e.Owner] = true
		return t.stop(step, who)
	case sim.Refused, sim.Extended, sim.Unextended, sim.Released, sim.Lost:
		return t.stop(step, who)
	}
	return nil
}

func (t *threads) ask(step int, e sim.Event, who process) *broadcast {
	t.stop(step, who)
	b := &broadcast{step: step, ends: math.MaxInt, client: int(e.Client), proc: int(e.Proc), op: e.Op, key: e.Key, owner: e.Owner,
		cleanUp: node.Usual(e.Op) == redlock.OpRelease && !t.held[e.Owner]}
	t.list = append(t.list, b)
	if node.Usual(e.Op) == redlock.OpAcquire {
		t.attempts[e.Owner] = b
	}
	t.waiting[who], t.latest[question{e.Client, e.Op, e.Owner}] = b, b
	return b
}

// stop ends what a process waits for.
func (t *threads) stop(step int, who process) *broadcast {
	b := t.waiting[who]
	if b != nil {
		b.ends = step
		delete(t.waiting, who)
	}
	return b
}

// find is the broadcast of an event about a message.
func (t *threads) find(m message, e sim.Event) *broadcast {
	for _, b := range t.carried[m] {
		if (e.Op == 0 || b.op == e.Op) && (e.Owner == 0 || b.owner == e.Owner) {
			return b
		}
	}
	return nil
}

// executed keeps who has granted to an attempt, and whether it still counts.
func (t *threads) executed(b *broadcast, bit uint64) {
	a := t.attempts[b.owner]
	switch {
	case a == nil:
	case node.Usual(b.op) == redlock.OpAcquire:
		a.got, a.kept = a.got|bit, a.kept|bit
	case node.Usual(b.op) == redlock.OpRelease:
		a.kept &^= bit
	}
}

// findVain settles which attempts, with their clean-ups, were in vain.
func (t *threads) findVain() {
	for _, b := range t.list {
		if a := t.attempts[b.owner]; b.cleanUp && a != nil && a.kept == 0 {
			a.vain, b.vain = true, true
		}
	}
}
