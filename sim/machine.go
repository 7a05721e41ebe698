package sim

import (
	"cmp"
	"math"
	"slices"

	"driftlock/clock"
	"driftlock/sim/flawed"
	"driftlock/sim/node"
)

// Every clock of a run is known before it starts: a scenario says all rates,
// steps, freezes and suspends. So a clock is a function of true time that can be
// solved in both directions, and no timer ever has to be armed anew.

// never is an instant that no run reaches.
const never = math.MaxInt64

// line is one clock of a machine: its reading, in nanoseconds, as a function of
// true time. Within a span the reading is rounded down.
type line struct{ spans []span }

type span struct {
	course
	of      ratio // the clock's time to true time
	until   int64 // true time
	rate    clock.Rate
	stopped bool
}

// course is how a clock goes on in a span.
type course struct {
	from    int64 // true time
	reading int64 // at from
	to      ratio // true time to the clock's
}

// newSpan is one without an end.
func newSpan(from, reading int64, rate clock.Rate, stopped bool) (s span) {
	s.from, s.until, s.reading, s.rate, s.stopped = from, never, reading, rate, stopped
	if stopped {
		s.to.most = never // and counts nothing
		return s
	}
	num, den := rate.Fraction()
	s.to, s.of = newRatio(uint64(num), 0, uint64(den)), newRatio(uint64(den-1), math.MaxUint64, uint64(num))
	return s
}

func (s *span) at(t int64) int64 {
	if q, ok := s.to.floor(t - s.from); ok {
		return s.reading + q
	}
	return s.reading + s.rate.Elapsed(t-s.from)
}

// at is the reading at true time t >= 0.
func (l *line) at(t int64) int64 { return l.in(t).at(t) }

// in is the span that true time t >= 0 is in.
func (l *line) in(t int64) *span {
	i := len(l.spans) - 1
	for ; i > 0 && t < l.spans[i].from; i-- {
	}
	return &l.spans[i]
}

// reach is the first true nanosecond from the true time from on at which the
// clock reads at least reading, or never.
func (l *line) reach(from, reading int64) int64 {
	spans := l.spans
	for i := range spans {
		s := &spans[i]
		if s.until <= from {
			continue
		}
		first := max(from, s.from)
		if s.reading >= reading {
			return first
		}
		left := reading - s.reading
		d, ok := s.of.ceil(left)
		if !ok {
			if s.stopped {
				continue
			}
			if left < 0 { // beyond int64: the clock has yet to reach reading
				left = never
			}
			d = s.rate.Reached(left)
		}
		if d < s.until-s.from {
			return max(first, s.from+d)
		}
	}
	return never
}

// dial is a clock that the world reads often: much happens at one instant, so the
// last reading is kept, and the course of the span that it was in.
type dial struct {
	course
	asked int64 // the true time of the last reading
	read  int64 // it
	line  *line
}

func (l *line) dial() dial { return dial{line: l, course: l.spans[0].course, asked: -1} }

func (d *dial) at(t int64) int64 {
	if d.asked != t {
		d.turn(t)
	}
	return d.read
}

func (d *dial) turn(t int64) {
	q, ok := d.to.floor(t - d.from)
	if !ok {
		d.find(t)
		return
	}
	d.asked, d.read = t, d.reading+q
}

// find is turn where the span may be another.
func (d *dial) find(t int64) {
	s := d.line.in(t)
	d.course, d.asked, d.read = s.course, t, s.at(t)
}

// interval is a stretch of true time, without its end.
type interval struct{ from, to int64 }

// past moves t out of the intervals, which are in the order of their starts.
func past(away []interval, t int64) int64 {
	for _, a := range away {
		if a.from <= t && t < a.to {
			t = a.to
		}
	}
	return t
}

func within(away []interval, t int64) bool { return past(away, t) != t }

// machine is what nodes and clients have in common: three clocks, and the times
// at which nothing runs.
type machine struct {
	wall, mono, boot line
	paused           []interval // pauses and suspends: what arrives waits
	down             []interval // crashes, until it serves again: what arrives is lost
	refusing         []interval // those in which what arrives is refused
	away             []interval // both
	edges            []edge
}

// edge is the begin or the end of a fault.
type edge struct {
	at    int64
	fault int
	end   bool
}

// set makes the clocks of a machine from its faults. Name is the machine's; a
// node has its configuration, a client nil.
func (m *machine) set(c Clock, faults []Fault, name string, conf *node.Config) {
	m.edges, m.paused, m.down, m.refusing, m.away = m.edges[:0], m.paused[:0], m.down[:0], m.refusing[:0], m.away[:0]
	for i := range faults {
		f := &faults[i]
		if f.On != name {
			continue
		}
		m.edges = append(m.edges, edge{int64(f.At), i, false})
		if end := f.end(); end != never {
			m.edges = append(m.edges, edge{end, i, true})
		}
	}
	first := newSpan(0, 0, c.Rate, false)
	for _, l := range []*line{&m.wall, &m.mono, &m.boot} {
		l.spans = append(l.spans[:0], first)
	}
	m.wall.spans[0].reading = int64(c.Offset)
	if len(m.edges) > 0 {
		m.bend(c, faults)
		m.stops(faults, conf)
	}
}

// bend adds the spans that faults make.
func (m *machine) bend(c Clock, faults []Fault) {
	slices.SortStableFunc(m.edges, func(a, b edge) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.end == b.end:
			return cmp.Compare(a.fault, b.fault)
		case a.end:
			return -1
		}
		return 1
	})
	frozen, suspended := 0, 0
	var rates []int // faults that rule the rate, the latest last
	for _, e := range m.edges {
		f, by := &faults[e.fault], int64(0)
		n := 1
		if e.end {
			n = -1
		}
		switch f.Kind {
		case "freeze":
			frozen += n
		case "suspend":
			suspended += n
		case "step":
			by = int64(f.By)
		case "rate":
			if e.end {
				rates = slices.DeleteFunc(rates, func(i int) bool { return i == e.fault })
			} else {
				rates = append(rates, e.fault)
			}
		default:
			continue
		}
		rate := c.Rate
		if len(rates) > 0 {
			rate = faults[rates[len(rates)-1]].Rate
		}
		m.wall.turn(e.at, by, rate, frozen > 0)
		m.mono.turn(e.at, 0, rate, suspended > 0)
		m.boot.turn(e.at, 0, rate, false)
	}
}

// turn begins a span at true time t. A clock that goes on as before keeps the
// span it has, and with it the fraction of a nanosecond that it has counted.
func (l *line) turn(t, by int64, rate clock.Rate, stopped bool) {
	last := &l.spans[len(l.spans)-1]
	if by == 0 && stopped == last.stopped && rate == last.rate {
		return
	}
	next := newSpan(t, last.at(t)+by, rate, stopped)
	if last.from == t {
		*last = next
		return
	}
	last.until, last.to.most = t, min(last.to.most, uint64(t-last.from-1)) // a dial must not go on in it
	l.spans = append(l.spans, next)
}

// stops gathers when the machine does not run.
func (m *machine) stops(faults []Fault, conf *node.Config) {
	for _, e := range m.edges {
		f := &faults[e.fault]
		if e.end {
			continue
		}
		switch f.Kind {
		case "pause", "suspend":
			m.paused = append(m.paused, interval{e.at, f.end()})
		case "crash":
			d := interval{e.at, m.back(f, conf)}
			m.down = append(m.down, d)
			if f.Refuse {
				m.refusing = append(m.refusing, d)
			}
		}
	}
	m.away = append(append(m.away, m.paused...), m.down...)
	slices.SortFunc(m.away, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
}

// back is when a node that crashed serves again: it is up, and its quarantine,
// counted by one of its clocks from the crash on, is over.
func (m *machine) back(crash *Fault, conf *node.Config) int64 {
	up, from := crash.end(), int64(crash.At)
	if conf == nil || conf.Quarantine == 0 || up == never {
		return up
	}
	counts := &m.boot
	if conf.QuarantineOn == node.OnWall {
		counts = &m.wall
	}
	return max(up, counts.reach(from, counts.at(from)+int64(conf.Quarantine)))
}

// crashes is the first instant from one on, but before another, at which the
// machine crashes; if there is none, the other.
func (m *machine) crashes(from, to int64) int64 {
	for _, d := range m.down {
		if from <= d.from && d.from < to {
			return d.from
		}
	}
	return to
}

// serves is when the machine serves again after a crash at true time t.
func (m *machine) serves(t int64) int64 {
	for _, d := range m.down {
		if d.from == t {
			return d.to
		}
	}
	return t
}

// ClientReading is what a client's clock, the one that it lives on, says at a
// true instant, in nanoseconds since the start.
func (h *History) ClientReading(client int, at int64) int64 {
	var m machine
	c := &h.scenario.Clients[client]
	m.set(c.Clock, h.scenario.Faults, c.Name, nil)
	return m.lives(h.scenario.lives(client)).at(at)
}

// NodeReading is what a node's wall clock says at a true instant, in nanoseconds
// since the start of a clock without an offset.
func (h *History) NodeReading(node int, at int64) int64 {
	var m machine
	n := &h.scenario.Nodes[node]
	m.set(n.Clock, h.scenario.Faults, n.Name, &n.Config)
	return m.wall.at(at)
}

// lives is the clock that a client's code goes by.
func (s *Scenario) lives(client int) Lives {
	if s.Lock.Kind == kindFlawed && slices.Contains(s.Lock.Flaws, string(flawed.WallClockLease)) {
		return Wall
	}
	return s.Clients[client].Lives
}

// lives is the clock of that name.
func (m *machine) lives(l Lives) *line {
	switch l {
	case Wall:
		return &m.wall
	case Monotonic:
		return &m.mono
	}
	return &m.boot
}
