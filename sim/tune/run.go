package tune

// What is measured in one run.

import (
	"math"
	"slices"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim"
)

// Run is what one run came to. Times are nanoseconds of the client's clock.
type Run struct {
	// Short is how much of the TTL the deadline must stay away from, so that no
	// lease of the run is broken: ⌈T·f⌉ + b ≥ Short. At or below 0: nothing.
	Short int64
	// Bare is Short had each lease been granted by a bare quorum, with the node
	// whose key ended first among it.
	Bare    int64
	Took    int64 // of the first grant, from its start; -1: nothing was granted
	Leases  int32 // granted
	Tries   int32 // attempts to acquire
	Granted int32 // nodes that granted the first lease, the late ones too
	Lost    bool  // a hold that was watched ended before its time
}

const none = math.MinInt64

// lease is one grant as the events tell it.
type lease struct {
	owner    sim.Text
	client   int
	asked    int64 // true time of its first send
	deadline int64 // reading at which trust ends
	took     int64
}

// reader reads histories, one after the other.
type reader struct {
	leases []lease
	asked  map[sim.Text]int64
}

// read measures a run that was made with a factor of 0.
func (p *Plan) read(r *reader, h *sim.History, v *sim.Verdict) Run {
	run := Run{Short: none, Bare: none, Took: -1}
	r.follow(p, h, &run)
	for i := range v.Leases {
		l := &v.Leases[i]
		for j := range r.leases {
			if e := &r.leases[j]; h.Text(e.owner) == l.Owner {
				short, bare, blocks := p.short(h, v, l, e)
				run.Short, run.Bare = max(run.Short, short), max(run.Bare, bare)
				if run.Leases == 0 {
					run.Took, run.Granted = e.took, int32(blocks)
				}
				run.Leases++
				break
			}
		}
	}
	return run
}

// follow gathers the leases of a run.
func (r *reader) follow(p *Plan, h *sim.History, run *Run) {
	r.leases = r.leases[:0]
	if r.asked == nil {
		r.asked = make(map[sim.Text]int64)
	}
	clear(r.asked)
	for _, e := range h.Events() {
		switch e.Kind {
		case sim.Asked:
			if e.Op == redlock.OpAcquire {
				run.Tries++
				r.asked[e.Owner] = e.At
			}
		case sim.Granted:
			start := e.Value - int64(p.ttl()) + int64(p.Buffer)
			r.leases = append(r.leases, lease{e.Owner, int(e.Client), r.asked[e.Owner], e.Value, e.Local - start})
		case sim.Extended:
			for i := range r.leases {
				if l := &r.leases[i]; l.owner == e.Owner {
					l.deadline = max(l.deadline, e.Value)
				}
			}
		case sim.Lost:
			run.Lost = true
		case sim.Noted:
			run.Lost = run.Lost || h.Text(e.Note) == lostNote
		}
	}
}

// short is how much of the TTL a lease should not have trusted, as it was and with
// a bare quorum, and how many nodes granted it.
func (p *Plan) short(h *sim.History, v *sim.Verdict, l *sim.Lease, e *lease) (short, bare int64, blocks int) {
	first := int64(math.MaxInt64)
	for i := range v.Blocks {
		if b := &v.Blocks[i]; b.Owner == l.Owner && b.Key == l.Key {
			first = min(first, b.Lapse)
			blocks++
		}
	}
	if first = min(first, l.Lapse); p.Hold.Kind == Watched { // a node that missed a renewal says nothing
		first = l.Lapse
	}
	return p.shortOf(h, l, e, l.Lapse), p.shortOf(h, l, e, first), blocks
}

// shortOf is what it comes to where exclusion ends at a true instant.
func (p *Plan) shortOf(h *sim.History, l *sim.Lease, e *lease, ends int64) int64 {
	if ends == math.MaxInt64 {
		return none
	}
	reading := h.ClientReading(e.client, ends)
	whole := e.deadline + int64(p.Buffer) // the deadline, had nothing been taken off
	switch p.Hold.Kind {
	case For, Watched:
		if l.TrustEnds <= ends { // released before, or sound as it is
			return none
		}
	case Percent: // the hold is a share of what the deadline leaves
		granted := h.ClientReading(e.client, l.Granted)
		if reading <= granted {
			return whole - granted
		}
		reading = granted + int64(float64(reading-granted)*100/float64(p.Hold.Percent))
	}
	return whole - reading
}

// Parts say why a lease needed less than the worst that its clocks may do, as
// shares of the TTL. Together they are the difference.
type Parts struct {
	Slack  float64 // more nodes than a bare quorum granted: the first to expire do not count
	Way    float64 // the request's way to the node whose key ended first
	Phase  float64 // where in a millisecond the node's clock was
	Clocks float64 // rates, slews and steps that were not at their bounds, or not all of the time
	Hold   float64 // the holder released before its deadline
}

// Parts are those of the run of that seed.
func (p Plan) Parts(seed uint64) (Parts, error) {
	p = p.Filled()
	sc := p.scenario(seed, "0")
	h, err := sim.Run(sc, p.options()...)
	if err != nil {
		return Parts{}, err
	}
	v := sim.Check(h)
	var r reader
	run := p.read(&r, h, &v)
	i := slices.IndexFunc(v.Leases, func(l sim.Lease) bool {
		return slices.ContainsFunc(r.leases, func(e lease) bool {
			if h.Text(e.owner) != l.Owner {
				return false
			}
			short, _, _ := p.short(h, &v, &l, &e)
			return short == run.Short
		})
	})
	if i < 0 {
		return Parts{}, nil
	}
	l := &v.Leases[i]
	e := r.leases[slices.IndexFunc(r.leases, func(e lease) bool { return h.Text(e.owner) == l.Owner })]
	var block *sim.Block
	for i := range v.Blocks {
		if b := &v.Blocks[i]; b.Owner == l.Owner && b.Key == l.Key && (block == nil || b.Lapse < block.Lapse) {
			block = b
		}
	}
	if block == nil {
		return Parts{}, nil
	}
	ttl := float64(p.ttl())
	reading := func(at int64) int64 { return h.ClientReading(e.client, at) }
	whole := e.deadline + int64(p.Buffer)
	parts := Parts{
		Slack: float64(reading(l.Lapse)-reading(block.Lapse)) / ttl,
		Way:   float64(reading(block.From)-reading(e.asked)) / ttl,
		Phase: float64(p.life(h, block)-int64(p.ttl())+int64(p.gone())) / ttl,
	}
	needs := float64(whole - reading(l.Lapse))
	parts.Hold = (needs - float64(run.Short)) / ttl
	parts.Clocks = p.closed(0) - (needs-float64(p.Buffer))/ttl - parts.Slack - parts.Way - parts.Phase
	return parts, nil
}

// life is how long a key lived by its node's clock, had that not stepped.
func (p *Plan) life(h *sim.History, b *sim.Block) int64 {
	gone := b.When * 1e6
	if p.gone() == 0 {
		gone += 1e6
	}
	return gone - h.NodeReading(b.Node, b.From)
}

// ttl is the TTL in whole milliseconds, as the lock cuts it.
func (p *Plan) ttl() clock.Duration { return p.TTL / 1e6 * 1e6 }
