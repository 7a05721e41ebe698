package sim

// Drawing what goes wrong with machines: who is struck, when, for how long and by
// how much. Each class draws by labels of its own, so that leaving one out leaves
// the others as they were. Instants are biased to where a lease is in danger:
// right after it was granted, about its deadline; sizes to the bounds of what the
// lock assumes.

import (
	"strconv"
	"time"

	"driftlock/clock"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// struck is a machine that a fault may strike: a node or a client.
type struck struct {
	name   string
	node   *Node
	client *Client
}

func (m *struck) clock() *Clock {
	if m.node != nil {
		return &m.node.Clock
	}
	return &m.client.Clock
}

// endless is how long a fault lasts that is over after the end of the run.
const endless = maxSpan

// goWild adds what goes wrong with machines to a scenario that is complete without.
func (g *drafter) goWild() {
	g.busy = g.sc.Until
	g.sc.Until += 2 * g.ttl
	g.deadline = clock.Duration(g.sc.Clients[0].Clock.Rate.Reached(int64(g.trust)))
	g.machineFaults()
	if g.happens("live", 2) {
		g.liveness()
	}
	if g.on(faultAlias, "alias", 2) && g.may(faultAlias) && g.sc.Live == nil {
		g.alias()
	}
	// Everybody has time to give back what it holds.
	l := &g.sc.Lock
	g.sc.Grace = max(1e9, clock.Duration(leastRate.Reached(int64(2*l.NodeTimeout+l.GiveUp))))
	for i := range g.sc.Faults {
		if f := &g.sc.Faults[i]; f.For == endless {
			f.For = g.sc.Until + g.sc.Grace + 1 - f.At
		}
	}
}

var leastRate = clock.Ratio(1, 8)

// machineFaults draws the faults of all classes.
func (g *drafter) machineFaults() {
	if g.on(faultPause, "pause", 3) {
		g.strike("pause", g.anybody("pause"), g.pause)
	}
	if g.on(faultSuspend, "suspend", 3) {
		g.strike("suspend", g.allClients(), g.suspend)
	}
	g.crashes()
	if g.on(faultFailover, "failover", 2) {
		g.strike("failover", g.allNodes(), g.failover)
	}
	if g.on(faultEvict, "evict", 2) && g.may(faultEvict) {
		g.strike("evict", g.allNodes(), g.evict)
	}
	if g.on(faultFlush, "flush", 2) && g.may(faultFlush) {
		g.strike("flush", g.allNodes(), g.flush)
	}
	if g.on(faultStep, "step", 3) {
		g.strike("step", g.anybody("step"), g.step)
	}
	if g.on(faultRate, "rate", 3) {
		g.strike("rate", g.anybody("rate"), g.bend)
	}
	if g.on(faultFreeze, "freeze", 2) {
		g.strike("freeze", g.anybody("freeze"), g.freeze)
	}
	if g.on(faultDeath, "death", 2) {
		g.strike("death", g.allClients(), g.die)
	}
	if g.on(faultPartition, "partition", 3) {
		g.partitions()
	}
	if g.on(faultSlow, "slow", 2) {
		g.slowSpells()
	}
	if g.on(faultMessage, "message", 2) {
		g.messages()
	}
}

// recklessness draws which classes may go beyond what the lock assumes: none, one,
// which then occurs, or all.
func (g *drafter) recklessness() {
	one := reckless[g.Int("beyond.class", 0, int64(len(reckless)-1))]
	switch i := g.among("beyond", 4, 3, 1); {
	case g.sp.tame || i == 0:
	case g.sp.sure != 0:
		g.reckless = g.sp.sure
	case i == 1:
		g.reckless, g.sp.sure = one, one
	default:
		g.reckless = allFaults
	}
}

// reckless are the classes that may go beyond what the lock assumes.
var reckless = []faults{faultSuspend, faultCrash, faultAOF, faultSnapshot, faultQuarantine, faultFailover, faultEvict, faultFlush, faultStep, faultRate, faultFreeze, faultFence, faultAlias}

// may says whether a class may go beyond what the lock assumes.
func (g *drafter) may(class faults) bool { return g.reckless&class != 0 }

func (g *drafter) allNodes() (all []struck) {
	for i := range g.sc.Nodes {
		all = append(all, struck{name: g.sc.Nodes[i].Name, node: &g.sc.Nodes[i]})
	}
	return all
}

func (g *drafter) allClients() (all []struck) {
	for i := range g.sc.Clients {
		all = append(all, struck{name: g.sc.Clients[i].Name, client: &g.sc.Clients[i]})
	}
	return all
}

// anybody is either side.
func (g *drafter) anybody(class string) []struck {
	if g.happens(class+".clients", 3) {
		return g.allClients()
	}
	return g.allNodes()
}

// strike draws which of some machines are struck, and when. Hit adds the fault and
// returns when it is over.
func (g *drafter) strike(class string, who []struck, hit func(label string, m *struck, at clock.Duration) (over clock.Duration)) {
	first := int(g.Int(class+".first", 0, int64(len(who)-1)))
	count := []int{1, 2, 3, len(who)}[g.among(class+".count", 4, 2, 1, 1)]
	together := g.happens(class+".together", 4)
	at := g.instant(class)
	for i := range min(count, len(who)) {
		m := &who[(first+i)%len(who)]
		label := class + "." + m.name
		if alone := g.instant(label); !together {
			at = alone
		}
		for next, n := at, g.among(label+".again", 6, 1, 1); n >= 0 && next < g.sc.Until; n-- {
			again := label + "." + strconv.Itoa(n)
			next = hit(again, m, next) + 1 + g.length(again+".rest")
		}
	}
}

// instant draws when something happens: most that matters is right after the first
// grant, or about the first deadline.
func (g *drafter) instant(label string) clock.Duration {
	near := max(2*(g.ttl-g.trust), g.ttl/50)
	early := g.span(label+".early", 0, g.ttl/50)
	about := g.span(label+".about", 0, near)
	first := g.span(label+".within", 0, g.ttl)
	any := g.span(label+".at", 0, g.busy)
	switch g.among(label+".when", 3, 3, 2, 3) {
	case 0:
		return g.trip + early
	case 1:
		return max(0, g.deadline-near/2) + about
	case 2:
		return first
	}
	return any
}

// length draws how long something lasts, from a thousandth of the TTL to three of
// them.
func (g *drafter) length(label string) clock.Duration {
	least := g.ttl/1000 + 1
	short := g.span(label+".short", least, g.ttl/20+1)
	part := g.span(label+".part", g.ttl/20+1, g.ttl)
	long := g.span(label+".long", g.ttl, 3*g.ttl)
	return []clock.Duration{short, part, long}[g.among(label+".length", 3, 3, 2)]
}

// fault adds one, unless it comes after the end.
func (g *drafter) fault(f Fault) (over clock.Duration) {
	if f.At < g.sc.Until {
		g.sc.Faults = append(g.sc.Faults, f)
	}
	return f.At + f.For
}

func (g *drafter) pause(label string, m *struck, at clock.Duration) clock.Duration {
	return g.fault(Fault{Kind: "pause", On: m.name, At: at, For: g.length(label)})
}

func (g *drafter) suspend(label string, m *struck, at clock.Duration) clock.Duration {
	lasts := g.length(label)
	if m.client.Lives == Monotonic && !g.may(faultSuspend) {
		return at
	}
	return g.fault(Fault{Kind: "suspend", On: m.name, At: at, For: lasts})
}

// crashes draws what the nodes keep, and crashes of some.
func (g *drafter) crashes() {
	crash, aof, snapshot, quarantine := g.on(faultCrash, "crash", 3), g.on(faultAOF, "aof", 2), g.on(faultSnapshot, "snapshot", 2), g.on(faultQuarantine, "quarantine", 2)
	if !crash && !aof && !snapshot && !quarantine {
		return
	}
	for i := range g.sc.Nodes {
		n := &g.sc.Nodes[i]
		switch i := g.among(n.Name+".persistence", 3, 1, 2, 2); {
		case i == 0 && (crash || quarantine):
			n.Persistence = node.Forgets
		case aof && (i == 2 || !crash && !quarantine && !snapshot):
			n.Persistence = node.EverySecond
		case snapshot && (i == 3 || !crash && !quarantine && !aof):
			n.Persistence = node.Snapshot
		default:
			n.Persistence = node.Always
		}
		if quarantine {
			g.quarantine(n)
		}
	}
	g.strike("crash", g.allNodes(), g.crash)
}

// quarantine draws how long a node stays away after a crash: for all the TTLs, or
// for less than that.
func (g *drafter) quarantine(n *Node) {
	less := g.span(n.Name+".quarantine.less", 1, g.longest)
	i := g.among(n.Name+".quarantine", 3, 2, 1)
	wall := g.happens(n.Name+".quarantine.wall", 3)
	switch {
	case i == 0:
		n.Quarantine = g.longest
	case i == 1 && g.may(faultQuarantine):
		n.Quarantine = less
	default:
		return
	}
	if wall && g.may(faultQuarantine) {
		n.QuarantineOn = node.OnWall
	}
}

// crash draws how long a node is down and what it loses. A tame one loses nothing,
// or stays away until nothing of it matters.
func (g *drafter) crash(label string, m *struck, at clock.Duration) clock.Duration {
	f := Fault{Kind: "crash", On: m.name, At: at, For: g.length(label), Refuse: g.happens(label+".refuse", 4)}
	lost, part := g.length(label+".loses"), g.span(label+".lost", 0, everySecondLoss)
	keeps := g.happens(label+".synced", 2)
	switch m.node.Persistence {
	case node.EverySecond:
		if f.By = part; g.happens(label+".lost.most", 3) {
			f.By = everySecondLoss
		}
	case node.Snapshot:
		f.By = lost
	}
	if f.By > 0 && keeps {
		f.By = 0
	}
	forGood := g.happens(label+".for_good", 1)
	if f.For = g.longEnough(&f, m, f.For); forGood {
		f.For = 0
		g.fault(f)
		return endless
	}
	return max(g.fault(f), at+clock.Duration(m.node.Clock.Rate.Reached(int64(m.node.Quarantine))))
}

// longEnough is how long a node has to be down that is to be down for d: a tame
// crash keeps it away until nothing of what it lost matters.
func (g *drafter) longEnough(crash *Fault, m *struck, d clock.Duration) clock.Duration {
	class := faultCrash | faultQuarantine
	switch m.node.Persistence {
	case node.EverySecond:
		class = faultAOF
	case node.Snapshot:
		class = faultSnapshot
	}
	f := *crash
	if f.For = d; f.loses(m.node) != "" && !g.may(class) && m.node.Quarantine < g.longest {
		return max(d, clock.Duration(g.paceOf(m).low.Reached(int64(g.longest))))
	}
	return d
}

func (g *drafter) failover(label string, m *struck, at clock.Duration) clock.Duration {
	f := Fault{Kind: "failover", On: m.name, At: at, By: g.length(label)}
	if upToDate := g.happens(label+".synced", 2); upToDate || !g.may(faultFailover) {
		f.By = 0
	}
	return g.fault(f)
}

func (g *drafter) evict(label string, m *struck, at clock.Duration) clock.Duration {
	return g.fault(Fault{Kind: "evict", On: m.name, At: at, Key: g.keys[g.Int(label+".key", 0, int64(len(g.keys)-1))]})
}

func (g *drafter) flush(_ string, m *struck, at clock.Duration) clock.Duration {
	return g.fault(Fault{Kind: "flush", On: m.name, At: at})
}

// step draws how far a wall clock jumps: a node's forward by what is left of the
// budget or, beyond it, by a nanosecond more or by much; and back by anything. On
// a client that lives on its wall clock it is the other way round.
func (g *drafter) step(label string, m *struck, at clock.Duration) clock.Duration {
	budget := clock.Duration(0)
	if m.node != nil {
		budget = g.stepBudget(m.node) / 3 // so often may it be struck
	}
	some, far, back := g.span(label+".some", 0, budget), g.length(label+".far"), g.length(label+".back")
	by := []clock.Duration{budget, some, -back, far, 3*budget + 1, far}[g.among(label+".by", 3, 2, 3, 2, 2, 1)]
	beyond := m.node != nil && by > budget || m.client != nil && by < 0 && m.client.Lives == Wall
	if by == 0 || beyond && !g.may(faultStep) {
		return at
	}
	return g.fault(Fault{Kind: "step", On: m.name, At: at, By: by})
}

// bend draws another rate for a while: one that is covered or, beyond that, one
// that a slewing daemon makes.
func (g *drafter) bend(label string, m *struck, at clock.Duration) clock.Duration {
	p := g.paceOf(m)
	worst := p.high
	if m.client != nil {
		worst = p.low
	}
	f := Fault{Kind: "rate", On: m.name, At: at, For: g.length(label), Rate: g.rate(label, p, worst)}
	slew := []clock.Rate{clock.Ratio(13, 12), clock.Ratio(11, 12), clock.Ratio(11, 10), clock.Ratio(9, 10), clock.Ratio(2, 1), clock.Ratio(1, 2)}[g.Int(label+".slew", 0, 5)]
	if g.happens(label+".beyond", 5) && g.may(faultRate) {
		f.Rate = slew
	}
	if f.Rate.Cmp(m.clock().Rate) == 0 {
		return at
	}
	return g.fault(f)
}

func (g *drafter) freeze(label string, m *struck, at clock.Duration) clock.Duration {
	lasts := g.length(label)
	if m.client != nil && m.client.Lives == Wall && !g.may(faultFreeze) {
		return at
	}
	return g.fault(Fault{Kind: "freeze", On: m.name, At: at, For: lasts})
}

func (g *drafter) die(_ string, m *struck, at clock.Duration) clock.Duration {
	g.fault(Fault{Kind: "crash", On: m.name, At: at})
	return endless
}

// partitions parts some machines from others for a while: a client from some
// nodes, a node from everybody, or two halves of the world.
func (g *drafter) partitions() {
	nodes, clients := len(g.sc.Nodes), len(g.sc.Clients)
	for i := range 1 + g.among("partition.more", 4, 3, 1) {
		label := "partition." + strconv.Itoa(i)
		cut := network.Cut{At: g.instant(label), For: g.length(label), OneWay: g.happens(label+".one_way", 3), Refuse: g.happens(label+".refuse", 3)}
		first, client := int(g.Int(label+".node", 0, int64(nodes-1))), int(g.Int(label+".client", 0, int64(clients-1)))
		count := int(g.Int(label+".nodes", 1, int64(nodes)))
		back := g.happens(label+".back", 3)
		shape := g.among(label+".shape", 3, 2, 2)
		for j := range nodes {
			if (j-first+nodes)%nodes < count && (shape != 1 || j == first) {
				cut.To = append(cut.To, g.sc.Nodes[j].Name)
			} else if shape == 2 {
				cut.From = append(cut.From, g.sc.Nodes[j].Name)
			}
		}
		for j := range clients {
			switch {
			case j == client || shape == 1:
				cut.From = append(cut.From, g.sc.Clients[j].Name)
			case shape == 2:
				cut.To = append(cut.To, g.sc.Clients[j].Name)
			}
		}
		if back { // of one way, the replies
			cut.From, cut.To = cut.To, cut.From
		}
		if cut.At < g.sc.Until {
			g.sc.Network.Cuts = append(g.sc.Network.Cuts, cut)
		}
	}
}

// slowSpells makes requests or replies late for a while, now and then.
func (g *drafter) slowSpells() {
	for _, d := range []struct {
		name string
		path *network.Path
	}{{"request", &g.sc.Network.Request}, {"reply", &g.sc.Network.Reply}} {
		label := d.name + ".slow"
		ppm := []int{10_000, 100_000, 300_000}[g.among(label, 2, 2, 1)]
		by, lasts := g.length(label+".by"), g.length(label+".for")
		if g.happens(label+".on", 6) {
			d.path.SlowPPM, d.path.SlowBy, d.path.SlowFor = ppm, by, lasts
		}
	}
}

// messages draws rules for single messages.
func (g *drafter) messages() {
	for i := range 1 + g.among("message.more", 3, 2, 2) {
		label := "message." + strconv.Itoa(i)
		r := network.Rule{Nth: int(g.Int(label+".nth", 1, 6))}
		client := g.sc.Clients[g.Int(label+".client", 0, int64(len(g.sc.Clients)-1))].Name
		at := g.sc.Nodes[g.Int(label+".node", 0, int64(len(g.sc.Nodes)-1))].Name
		if r.From, r.To = client, at; g.happens(label+".reply", 3) {
			r.From, r.To = at, client
		}
		if all := g.happens(label+".all", 2); all && r.From == client {
			r.To = ""
		}
		late := g.length(label + ".late")
		switch g.among(label+".what", 4, 3, 2) {
		case 0:
			r.Late = late
		case 1:
			r.Drop = true
		case 2:
			r.Twice = true
		}
		g.sc.Network.Rules = append(g.sc.Network.Rules, r)
	}
}

// alias gives one node a second address, which clients take for another node. Only with
// fencing does a node that is asked twice grant twice.
func (g *drafter) alias() {
	if g.happens("alias.fencing", 4) {
		g.sc.Lock.Fencing = true
	}
	if of := g.sc.Nodes[g.Int("alias.of", 0, int64(len(g.sc.Nodes)-1))].Name; len(g.sc.Nodes) < maxMachines {
		g.sc.Nodes = append(g.sc.Nodes, Node{Name: of + "-again", Alias: of})
	}
}

// stepBudget is what of a node's forward steps the drift factor and the buffer
// cover, whatever rates are drawn for it and for the clients.
func (g *drafter) stepBudget(n *Node) clock.Duration {
	least := clock.Duration(never)
	for _, t := range g.terms {
		budget := budgetOf(n, time.Duration(t.ttl), int64(t.trust+g.slack()), g.paceOf(&struck{node: n}).high, g.paces.clients.low)
		least = min(least, clock.Duration(nanoseconds(budget)))
	}
	return max(least, 0)
}

// paceOf is the range of rates of a machine.
func (g *drafter) paceOf(m *struck) *pace {
	switch {
	case m.client != nil:
		return &g.paces.clients
	case m.node.Expiry == node.NonStrict:
		return &g.paces.nonStrict
	}
	return &g.paces.strict
}
