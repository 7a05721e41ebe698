package tune

// One lease of a plan, as a scenario. Every draw is keyed by what it is for, so
// that a change to a plan leaves the other draws as they were.

import (
	"math"
	"slices"
	"strconv"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/draw"
	"driftlock/sim/network"
)

// What a draw is for.
const (
	drawPhase = iota + 1
	drawLow
	drawRate
	drawSlews
	drawSlewSize
	drawSlewSide
	drawSlewStart
	drawSteps
	drawStepSize
	drawStepSide
	drawStepStart
	drawDown
)

// dice are the draws of one run.
type dice uint64

func (d dice) between(what uint64, machine int, low, high int64) int64 {
	return draw.Between(draw.Key(uint64(d), draw.Choice, what, uint64(machine), 0), low, high)
}

// happens is true in a share of the runs.
func (d dice) happens(what uint64, machine int, share float64) bool {
	return d.between(what, machine, 0, 999_999_999) < int64(share*1e9)
}

// rate draws by how much a clock is off.
func (d dice) rate(s Spread, machine int) clock.Drift {
	low, high := int64(s.Low), int64(s.High)
	switch s.Law {
	case Ends:
		if d.between(drawLow, machine, 0, 1) == 0 {
			return s.Low
		}
		return s.High
	case Normal: // 12 uniform draws have a variance of one of them squared, and end at 6 σ
		sum := int64(0)
		for i := range 12 {
			sum += draw.Between(draw.Key(uint64(d), draw.Choice, drawRate, uint64(machine), uint64(i)), low, high)
		}
		return clock.Drift(sum / 12)
	}
	return clock.Drift(d.between(drawRate, machine, low, high))
}

// size draws evenly over the decades.
func (d dice) size(what uint64, machine int, low, high clock.Duration) clock.Duration {
	if low >= high {
		return high
	}
	part := float64(d.between(what, machine, 0, 1e9)) / 1e9
	size := float64(low) * math.Pow(float64(high)/float64(low), part)
	return min(max(clock.Duration(size), low), high)
}

// Scenario is the run of that seed with a factor, a decimal such as "0.01". (Where
// the plan has a renew interval, Run carries it out in code, which no file holds.)
func (p Plan) Scenario(seed uint64, factor string) sim.Scenario {
	p = p.Filled()
	return p.scenario(seed, factor)
}

// scenario is Scenario of a plan with its defaults filled in.
func (p *Plan) scenario(seed uint64, factor string) sim.Scenario {
	d := dice(seed)
	path := network.Path{Delay: p.Delay, LossPPM: p.LossPPM}
	sc := sim.Scenario{
		Version: sim.Version,
		Name:    "tune-" + strconv.FormatUint(seed, 10),
		Seed:    seed,
		Lock: sim.Lock{
			TTL: p.TTL, Factor: factor, Buffer: p.Buffer, NodeTimeout: p.Timeout, GiveUp: 4 * p.Timeout,
			Retry: sim.Retry{Min: p.TTL / 16, Max: p.TTL / 4},
		},
		Nodes:   make([]sim.Node, p.Nodes),
		Clients: make([]sim.Client, p.Clients),
		Network: network.Config{Request: path, Reply: path},
	}
	if p.Clients == 1 {
		sc.Lock.Retry.Tries = 1
	}
	sc.Until = p.until()
	for i := range sc.Clients {
		c := &sc.Clients[i]
		c.Name = "c" + strconv.Itoa(i+1)
		c.Clock.Rate, sc.Faults = d.clock(p.Client, c.Name, 100+i, p.TTL, sc.Faults)
		c.Steps = p.steps()
	}
	for i, m := range p.machines() {
		n := &sc.Nodes[i]
		n.Name, n.Expiry = nodeName(i), p.Expiry
		n.Clock.Offset = clock.Duration(d.between(drawPhase, i, 0, 999_999))
		n.Clock.Rate, sc.Faults = d.clock(m, n.Name, i, p.TTL, sc.Faults)
	}
	if p.Down > 0 {
		sc.Network.Cuts = p.cuts(d)
	}
	return sc
}

func nodeName(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return "n" + strconv.Itoa(i+1)
}

// longest is how long a fault of a scenario may last, and longer than any run here.
const longest = clock.Duration(30 * 24 * time.Hour)

// clock draws a machine's rate and what happens to its clock during a lease.
func (d dice) clock(m Machine, name string, machine int, ttl clock.Duration, faults []sim.Fault) (clock.Rate, []sim.Fault) {
	steady := d.rate(m.Rate, machine)
	if s := m.Slew; s.Rate > 0 && d.happens(drawSlews, machine, s.Share) {
		size := d.size(drawSlewSize, machine, s.Min, s.most())
		lasts := clock.Duration(min(float64(size)/float64(s.Rate)*1e9, 1e18))
		rate := steady + s.Rate
		if d.between(drawSlewSide, machine, 0, 1) == 0 {
			rate = steady - s.Rate
		}
		from := clock.Duration(d.between(drawSlewStart, machine, -int64(lasts), int64(ttl)))
		if from < 0 { // it began before the lease
			lasts, from = lasts+from, 0
		}
		if lasts = min(lasts, longest); lasts > 0 {
			faults = append(faults, sim.Fault{Kind: "rate", On: name, At: from, For: lasts, Rate: rate.Rate()})
		}
	}
	if s := m.Step; s.Share > 0 && d.happens(drawSteps, machine, s.Share) {
		by := d.size(drawStepSize, machine, s.Min, s.Max)
		if d.between(drawStepSide, machine, 0, 1) == 0 {
			by = -by
		}
		at := clock.Duration(d.between(drawStepStart, machine, 0, int64(ttl)))
		faults = append(faults, sim.Fault{Kind: "step", On: name, At: at, By: by})
	}
	return steady.Rate(), faults
}

// cuts part all clients from as many nodes as are down.
func (p *Plan) cuts(d dice) []network.Cut {
	var clients, nodes []string
	for i := range p.Clients {
		clients = append(clients, "c"+strconv.Itoa(i+1))
	}
	order := make([]int, p.Nodes)
	for i := range order {
		order[i] = i
	}
	for i := range p.Down { // the first of a shuffle
		j := int(d.between(drawDown, i, int64(i), int64(p.Nodes-1)))
		order[i], order[j] = order[j], order[i]
		nodes = append(nodes, nodeName(order[i]))
	}
	slices.Sort(nodes)
	return []network.Cut{{From: clients, To: nodes}}
}

const key = "k"

// steps are what each client does.
func (p *Plan) steps() []sim.Step {
	acquire, release := sim.Step{Do: "acquire", Key: key}, sim.Step{Do: "release", Key: key}
	switch p.Hold.Kind {
	case For:
		return []sim.Step{acquire, {Do: "hold", Key: key, For: p.Hold.For}, release}
	case Percent:
		return []sim.Step{acquire, {Do: "hold", Key: key, Percent: p.Hold.Percent}, release}
	case Watched:
		return []sim.Step{acquire, {Do: "watch", Key: key, For: p.Hold.For}, release}
	}
	toTheEnd := []sim.Step{acquire, {Do: "hold", Key: key, Percent: 100}}
	if p.Clients > 1 { // the next one need not wait until the keys expire
		toTheEnd = append(toTheEnd, release)
	}
	return toTheEnd
}

// until is long enough for every client to have its turn, however slow its clock.
func (p *Plan) until() clock.Duration {
	each := p.TTL + p.TTL/2
	if p.Hold.For > 0 {
		each += p.Hold.For
	}
	slow := 1 + float64(p.Client.Rate.Low-p.Client.Slew.Rate)/1e9
	return clock.Duration(float64(each) * float64(p.Clients) / slow)
}

// options are those of a Runner: where there is a renew interval, steps are not
// enough.
func (p *Plan) options() []sim.Option {
	if p.Renew == 0 {
		return nil
	}
	plan := *p
	return []sim.Option{sim.Do(plan.watched)}
}

// watched is the steps of Hold Watched with a renew interval.
func (p *Plan) watched(proc *sim.Process) {
	ttl := time.Duration(p.TTL)
	lock := proc.Lock(redlock.WithRenewInterval(time.Duration(p.Renew)))
	token, err := lock.Acquire(proc.Context(), key, ttl)
	if err != nil {
		return
	}
	held, stop := redlock.Watch(proc.Context(), lock, key, token, ttl)
	err = clock.Sleep(held, proc.Clock(), time.Duration(p.Hold.For))
	stop()
	if err != nil {
		proc.Logf("%s", lostNote)
		return
	}
	lock.Release(proc.Context(), key, token) // what comes of it the history tells
}

// lostNote is what watched writes down when the lock was lost.
const lostNote = "lost"
