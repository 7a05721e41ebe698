package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
)

// An explanation says why exclusion ended before trust, from what the run shows:
// what the nodes did that stopped to block, and what the holder's clock did.
type explanation struct {
	nodes  []string // what made nodes stop to block
	holder []string // what made the holder believe for so long
	not    []string // what has an alibi
	held   string   // what would have held
	sorts
}

// sorts are the sorts of causes that were found, on which it hangs what helps.
type sorts struct{ forgot, taken, stepped, stopped, rounded, beyond bool }

func (e explanation) sentences() []Sentence {
	var s []Sentence
	if cause := strings.Join(append(e.nodes, e.holder...), " "); cause != "" {
		s = append(s, Sentence{"Cause: ", cause})
	}
	if len(e.not) > 0 {
		s = append(s, Sentence{"Not the cause: ", strings.Join(e.not, " ")})
	}
	if e.held != "" {
		s = append(s, Sentence{"Would have held: ", e.held})
	}
	return s
}

// inquiry is about one lease: the facts of the run that bear on it.
type inquiry struct {
	h      *sim.History
	cast   cast
	lease  sim.Lease
	client int
	asked  int64 // true time at which the winning attempt began
	groups []blocker
	faults []episode // that touched its holder or its nodes while it mattered
	others []episode // those that touched other machines then
	belief belief
	wrote  bool // it is about a write that came too late
}

// episode is a fault that happened, from begin to end; a momentary one has none.
type episode struct {
	sim.Fault
	index        int // in the scenario
	client, node int // -1: the other kind of machine
	span
}

func explain(h *sim.History, c cast, v sim.Verdict, x sim.Violation, l sim.Lease, tried sim.Factor) explanation {
	q := inquiry{h: h, cast: c, lease: l, client: c.clientIndex(l.Client), groups: blockers(c, v, l)}
	q.asked = q.firstAsked()
	q.faults, q.others = q.episodes()
	q.belief = q.believed()
	var e explanation
	right := e.nodesEnded(&q)
	e.holderBelieved(&q)
	if x.Invariant == sim.I3 {
		if late := q.wroteLate(x); late != "" {
			e.holder, q.wrote = append(e.holder, late), true
		}
	}
	e.nodesInTime(&q, right)
	e.not = append(e.not, q.didNotHappen()...)
	e.held = q.wouldHaveHeld(v, tried, e.sorts)
	return e
}

// nodesEnded says why nodes stopped to block before trust ended. It returns
// those whose clocks did not run fast: there the key simply ran out.
func (e *explanation) nodesEnded(q *inquiry) (right runOut) {
	if l := q.lease; l.Nodes < q.cast.needed {
		e.taken = true
		e.nodes = append(e.nodes, fmt.Sprintf("%d of the %d nodes had the key when %s was granted the lock: too few from the start.", l.Nodes, len(q.cast.Nodes), clean(l.Client)))
	}
	var fast runOut
	for _, g := range q.groups {
		if g.end() >= q.lease.TrustEnds {
			continue
		}
		text, kind := q.nodeEnded(g)
		switch kind {
		case ranOut:
			if away := q.ranOutAway(g); away != "" {
				e.not = append(e.not, away)
				continue
			}
			if g.off.fast {
				fast.add(q, g)
			} else {
				right.add(q, g)
			}
			continue
		case lostKey:
			e.forgot = true
		case gaveAway:
			e.taken = true
		case wallStepped:
			e.stepped = true
		}
		e.nodes = append(e.nodes, text)
	}
	if fast.nodes != nil {
		e.nodes = append(e.nodes, fast.tooSoon(q.cast))
	}
	return right
}

// holderBelieved says what made the holder trust its lease for so long.
func (e *explanation) holderBelieved(q *inquiry) {
	if q.lease.Late {
		e.holder = append(e.holder, fmt.Sprintf("%s was told that it held the lock after its trust had ended already: the lock broke a rule, whatever the clocks did.", clean(q.lease.Client)))
	}
	if q.client < 0 {
		return
	}
	slow, stopped := q.holderSlow()
	e.holder, e.stopped = append(e.holder, slow...), stopped
	if beyond := q.wentBeyond(); beyond != "" {
		e.holder, e.beyond = append(e.holder, beyond), true
	}
	if len(slow) == 0 {
		e.not = append(e.not, holderAlibi(q.cast.Clients[q.client]))
	}
}

// nodesInTime is about the nodes on which the key simply ran out. Where nothing
// else is to blame, it is that they count in whole milliseconds or, if they kept the
// key for as long as it was set for, that its holder went on for longer.
func (e *explanation) nodesInTime(q *inquiry, right runOut) {
	if right.nodes == nil {
		return
	}
	names := q.cast.nodes(right.nodes)
	if right.lived < right.ttl && len(e.nodes)+len(e.holder) == 0 {
		e.rounded = true
		e.nodes = append(e.nodes, fmt.Sprintf("Nodes keep time in whole milliseconds: %s let go of the key, which was set for %s, after %s.", names, length(right.ttl), length(right.lived)))
		return
	}
	if by := q.relied(); by > right.ttl && len(e.nodes)+len(e.holder) == 0 {
		text := fmt.Sprintf("%s went on for %s by its own clock, and had set the key for %s.", clean(q.lease.Client), length(by), length(right.ttl))
		if q.belief.extended {
			text = fmt.Sprintf("%s went on for %s by its own clock since it last extended the key, and had set it for %s.", clean(q.lease.Client), length(by), length(right.ttl))
		}
		e.holder = append(e.holder, text)
	}
	since := ""
	if q.belief.extended && right.set >= q.belief.set {
		since = " after the extension"
	}
	e.not = append(e.not, fmt.Sprintf("%s kept the key for %s%s, as asked.", names, length(right.lived), since))
}

// relied is how long the holder relied on its lease, from the request on by which the
// keys were set last, by its own clock.
func (q *inquiry) relied() time.Duration {
	if q.client < 0 || q.lease.TrustEnds == never {
		return 0
	}
	return time.Duration(q.h.ClientReading(q.client, q.lease.TrustEnds) - q.h.ClientReading(q.client, q.belief.set))
}

// firstAsked is when the attempt began that became the lease.
func (q *inquiry) firstAsked() int64 {
	for step := 1; step <= q.h.Len(); step++ {
		e := q.h.Event(step)
		if e.Kind == sim.Asked && node.Usual(e.Op) == redlock.OpAcquire && int(e.Client) == q.client && q.h.Text(e.Owner) == q.lease.Owner {
			return e.At
		}
	}
	return q.lease.Granted
}

// episodes are the faults on the holder and on the nodes that blocked for it, and
// those on other machines, from the first send to the end of trust.
func (q *inquiry) episodes() (mine, others []episode) {
	var list []episode
	for step := 1; step <= q.h.Len(); step++ {
		e := q.h.Event(step)
		switch e.Kind {
		case sim.Faulted:
			f := q.cast.Faults[e.Value]
			until := e.At
			if f.For > 0 || f.Kind == "crash" { // for good unless a Healed says otherwise
				until = never
			}
			list = append(list, episode{f, int(e.Value), int(e.Client), int(e.Node), span{e.At, until}})
		case sim.Healed:
			for i := range list {
				if int64(list[i].index) == e.Value {
					list[i].to = e.At
				}
			}
		}
	}
	for _, x := range list {
		if x.from >= q.lease.TrustEnds || x.to < q.asked {
			continue
		}
		if x.client == q.client && x.client >= 0 || x.node >= 0 && q.blocked(x.node) {
			mine = append(mine, x)
		} else {
			others = append(others, x)
		}
	}
	return mine, others
}

func (q *inquiry) blocked(node int) bool {
	for _, g := range q.groups {
		for _, n := range g.nodes {
			if n == node {
				return true
			}
		}
	}
	return false
}

// on is the episodes of one node that began in a stretch of time, or reached into it.
func (q *inquiry) on(node int, s span, kinds ...string) []episode {
	var list []episode
	for _, x := range q.faults {
		if x.node != node || x.from > s.to || x.to < s.from {
			continue
		}
		for _, k := range kinds {
			if x.Kind == k {
				list = append(list, x)
			}
		}
	}
	return list
}

// ending is the sort of thing that made a node stop to block.
type ending int

const (
	ranOut      ending = iota // of itself, on a clock that ran the same all the time
	rateChanged               // the same, on one that did not
	wallStepped
	lostKey
	gaveAway
)

// runOut is the nodes on which the key ran out of itself.
type runOut struct {
	nodes       []int
	least, most deviation
	ttl, lived  time.Duration // lived: the shortest life of a key
	set         int64         // true time at which the key of that life got it
}

func (r *runOut) add(q *inquiry, g blocker) {
	set, ttl := q.lastSet(g.nodes[0], g.blocks[len(g.blocks)-1])
	lived := time.Duration(g.end() - set)
	if r.nodes == nil {
		r.least, r.most, r.ttl, r.lived, r.set = g.off, g.off, ttl, lived, set
	}
	if g.off.rate.Cmp(r.least.rate) < 0 {
		r.least = g.off
	}
	if g.off.rate.Cmp(r.most.rate) > 0 {
		r.most = g.off
	}
	if lived < r.lived {
		r.ttl, r.lived, r.set = ttl, lived, set
	}
	r.nodes = append(r.nodes, g.nodes...)
	slices.Sort(r.nodes)
}

// tooSoon is the sentence about nodes with fast clocks.
func (r *runOut) tooSoon(c cast) string {
	by := r.most.words()
	if r.least != r.most {
		by = "up to " + by
	}
	clocks, they := "The clock of "+c.nodes(r.nodes)+" runs", "it"
	if len(r.nodes) > 1 {
		clocks, they = "The clocks of "+c.nodes(r.nodes)+" run", "they"
	}
	return fmt.Sprintf("%s %s, so the %s for which %s had set the key were over after %s.", clocks, by, length(r.ttl), they, length(r.lived))
}

// nodeEnded says why the nodes of a group, which fared alike, stopped to block;
// nothing of a key that ran out of itself.
func (q *inquiry) nodeEnded(g blocker) (string, ending) {
	b := g.blocks[len(g.blocks)-1]
	names, many := q.cast.nodes(g.nodes), len(g.nodes) > 1
	switch b.Ends {
	case sim.Forgotten:
		return q.nodeForgot(g, b), lostKey
	case sim.Deleted:
		return fmt.Sprintf("At %s the key of %s was deleted on %s, and not by %s.", shortest(b.To), clean(q.lease.Client), names, clean(q.lease.Client)), gaveAway
	case sim.Freed:
		return fmt.Sprintf("At %s %s freed the key, as %s itself had asked.", shortest(b.To), names, clean(q.lease.Client)), gaveAway
	}
	set, ttl := q.lastSet(g.nodes[0], b)
	lived := time.Duration(b.To - set)
	if steps := q.on(g.nodes[0], span{set, b.To}, "step"); len(steps) > 0 {
		return fmt.Sprintf("The wall clock of %s jumped by %s at %s, so %s let go of the key, which was set for %s, after %s.",
			names, signed(steps[0].By), shortest(steps[0].from), pronoun(many), length(ttl), length(lived)), wallStepped
	}
	if rates := q.on(g.nodes[0], span{set, b.To}, "rate"); len(rates) > 0 {
		return fmt.Sprintf("From %s on the clock of %s ran %s, so %s let go of the key, which was set for %s, after %s.",
			shortest(rates[0].from), names, deviationOf(rates[0].Rate).words(), pronoun(many), length(ttl), length(lived)), rateChanged
	}
	return "", ranOut
}

func (q *inquiry) nodeForgot(g blocker, b sim.Block) string {
	names := q.cast.nodes(g.nodes)
	for _, x := range q.on(g.nodes[0], span{q.asked, b.To}, "crash", "evict", "flush", "failover") {
		if x.from != b.To && x.to != b.To {
			continue
		}
		switch x.Kind {
		case "crash":
			return fmt.Sprintf("%s crashed at %s and %s back at %s without the key.", names, shortest(x.from), was(g), shortest(b.To))
		case "evict":
			return fmt.Sprintf("%s evicted the key at %s.", names, shortest(b.To))
		case "flush":
			return fmt.Sprintf("%s %s flushed at %s.", names, was(g), shortest(b.To))
		case "failover":
			return fmt.Sprintf("%s failed over at %s to a replica that was %s behind and did not have the key.", names, shortest(b.To), length(time.Duration(x.By)))
		}
	}
	return fmt.Sprintf("%s lost the key at %s.", names, shortest(b.To))
}

// lastSet is when the key of a block got its last expiry, and for how long on
// the node's clock.
func (q *inquiry) lastSet(n int, b sim.Block) (at int64, ttl time.Duration) {
	at, ttl = b.From, time.Duration(q.cast.Lock.TTL).Truncate(time.Millisecond)
	for step := 1; step <= q.h.Len(); step++ {
		e := q.h.Event(step)
		if e.At > b.To {
			break
		}
		if e.Kind == sim.Executed && int(e.Node) == n && e.Status == redlock.Done && node.Usual(e.Op) != redlock.OpRelease && q.h.Text(e.Owner) == b.Owner {
			at, ttl = e.At, time.Duration(e.Value-e.Local/1e6)*time.Millisecond
		}
	}
	return at, ttl
}

// holderSlow says how the holder's clock fell behind. Stopped: it stood still or
// went back.
func (q *inquiry) holderSlow() (text []string, stopped bool) {
	me := q.cast.Clients[q.client]
	name := clean(me.Name)
	for _, x := range q.faults {
		if x.client != q.client {
			continue
		}
		switch {
		case x.Kind == "suspend" && me.Lives == sim.Monotonic:
			text = append(text, fmt.Sprintf("%s was suspended at %s for %s, and its clock, a monotonic one, stood still meanwhile.", name, shortest(x.from), length(time.Duration(x.For))))
			stopped = true
		case (x.Kind == "step" && x.By < 0 || x.Kind == "freeze") && me.Lives == sim.Wall:
			what := "went back by " + length(time.Duration(x.By))
			if x.Kind == "freeze" {
				what = "stood still for " + length(time.Duration(x.For))
			}
			text = append(text, fmt.Sprintf("%s lives on its wall clock, which %s at %s.", name, what, shortest(x.from)))
			stopped = true
		case x.Kind == "rate" && deviationOf(x.Rate).slow:
			text = append(text, fmt.Sprintf("From %s on the clock of %s ran %s.", shortest(x.from), name, deviationOf(x.Rate).words()))
		}
	}
	if off := deviationOf(me.Clock.Rate); off.slow {
		counted := q.h.ClientReading(q.client, q.lease.TrustEnds) - q.h.ClientReading(q.client, q.asked)
		text = append(text, fmt.Sprintf("The clock of %s runs %s: it counted %s in the %s from its first request to the end of its trust.",
			name, off.words(), length(time.Duration(counted)), length(time.Duration(q.lease.TrustEnds-q.asked))))
	}
	return text, stopped
}

// holderAlibi is about a holder whose clock did nothing to prolong its trust.
func holderAlibi(me sim.Client) string {
	if off := deviationOf(me.Clock.Rate); off.fast {
		return fmt.Sprintf("The clock of %s runs %s, which only makes it careful.", clean(me.Name), off.words())
	}
	return fmt.Sprintf("The clock of %s was right.", clean(me.Name))
}

// didNotHappen names the usual suspects that have an alibi.
func (q *inquiry) didNotHappen() []string {
	var no []string
	absent := func(text string, kinds ...string) {
		for _, x := range slices.Concat(q.faults, q.others) {
			if slices.Contains(kinds, x.Kind) {
				return
			}
		}
		no = append(no, text)
	}
	absent("no clock was stepped", "step", "freeze")
	absent("nothing crashed or paused", "crash", "pause", "suspend")
	if !q.lost() {
		absent("no node lost a key", "crash", "evict", "flush", "failover")
	}
	var text []string
	if len(no) > 0 {
		text = append(text, strings.ToUpper(no[0][:1])+join(no)[1:]+".")
	}
	if q.delays() && !q.wrote {
		text = append(text, "Slow messages cannot do this: trust counts from before the first request was sent.")
	}
	return text
}

func (q *inquiry) lost() bool {
	for _, g := range q.groups {
		if g.blocks[len(g.blocks)-1].Ends == sim.Forgotten {
			return true
		}
	}
	return false
}

// delays says that message delays have an alibi: every key that ended early ran
// out by itself, and the lease was no late one.
func (q *inquiry) delays() bool {
	for _, g := range q.groups {
		if g.end() < q.lease.TrustEnds && g.blocks[len(g.blocks)-1].Ends != sim.Expired {
			return false
		}
	}
	return len(q.groups) > 0 && !q.lease.Late
}

// wouldHaveHeld names the drift factor with which this run would have kept its
// promise, or says that none is of use, and what is.
func (q *inquiry) wouldHaveHeld(v sim.Verdict, tried sim.Factor, found sorts) string {
	if q.lease.Late || q.lease.Margin() >= 0 || len(v.Unmet) == 0 { // a lock at fault is not mended by its options
		return ""
	}
	var advice []string
	if found.forgot {
		advice = append(advice, "No drift factor helps against a node that forgets: let it stay away after a restart for as long as the longest TTL, keep its writes (appendfsync always, noeviction, no failover), or hold more nodes than the bare quorum.")
	}
	if found.stopped {
		advice = append(advice, "No drift factor helps against a clock that stops: let the lock live on one that goes on, redlock.WithClock(clock.Boottime()), its default.")
	}
	if found.taken {
		advice = append(advice, "No drift factor helps against keys that are taken away or were never there.")
	}
	if found.beyond {
		advice = append(advice, "No drift factor helps code that goes on beyond the deadline of its lock: let it stop there, or when it cannot extend.")
	}
	if len(advice) > 0 {
		return strings.Join(advice, " ")
	}
	switch mine, all := byOptions(v.Unmet); {
	case all:
		return fmt.Sprintf("the lock of the scenario, with its factor of %s and buffer of %s: p.Lock() without options that set others.",
			clean(q.cast.Lock.Factor), length(time.Duration(q.cast.Lock.Buffer)))
	case mine: // the scenario's factor is not the one that did not hold
		return ""
	}
	if found.rounded {
		buffer := time.Duration(q.cast.Lock.Buffer) - q.lease.Margin()
		return fmt.Sprintf("redlock.WithClockDriftBuffer(%d * time.Millisecond); it was %s. The default is 2 ms.",
			(buffer+time.Millisecond-1)/time.Millisecond, length(time.Duration(q.cast.Lock.Buffer)))
	}
	factor, known := tried, "tried"
	if tried == 0 {
		factor, known = Needed(v), "by the margins of this run"
	}
	ttl := time.Duration(q.cast.Lock.TTL).Truncate(time.Millisecond)
	left := ttl - share(factor, ttl) - time.Duration(q.cast.Lock.Buffer)
	if factor <= 0 || factor >= 1e9 || left <= 0 {
		return "No drift factor would have, with these clocks and this TTL."
	}
	text := fmt.Sprintf("redlock.WithClockDriftFactor(%s), %s; it was %s. That leaves %s of each %s to work in.",
		decimal(factor), known, clean(q.cast.Lock.Factor), length(left), length(ttl))
	if found.stepped {
		text += " Better: let the nodes' clocks be slewed and never stepped."
	}
	return text
}

// byOptions says whether options of the code break an assumption that leases rest on,
// and whether nothing else does.
func byOptions(unmet []sim.Unmet) (some, all bool) {
	all = true
	for _, u := range unmet {
		if sim.Explained(sim.I2, []sim.Unmet{u}) {
			some, all = some || u.Options, all && u.Options
		}
	}
	return some, some && all
}

// decimal is a factor without trailing zeros: "0.0768".
func decimal(f sim.Factor) string {
	return strings.TrimRight(strings.TrimRight(f.String(), "0"), ".")
}

func signed(d clock.Duration) string {
	if d < 0 {
		return "−" + length(time.Duration(d))
	}
	return "+" + length(time.Duration(d))
}

func was(g blocker) string {
	if len(g.nodes) > 1 {
		return "were"
	}
	return "was"
}

func pronoun(many bool) string {
	if many {
		return "they"
	}
	return "it"
}
