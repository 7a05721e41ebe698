package sim

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"driftlock/clock"
	"driftlock/sim/node"
)

// Assumption is what the lock's promise rests on (docs/design.md, section 6):
// while A1 to A5 hold, I1, I2, I5, I6 and I7 do.
type Assumption uint8

const (
	A1 Assumption = iota + 1 // clock rates are within what the drift factor and buffer cover
	A2                       // no node loses what it has answered, or it stays away for the longest TTL
	A3                       // no clock steps beyond what is left of that budget
	A4                       // no client's clock stops or goes back
	A5                       // all clients of a key name the same nodes
	A6                       // fence numbers persist, and the resource looks at them (for I3)
)

// String is "A1" to "A6".
func (a Assumption) String() string { return fmt.Sprintf("A%d", uint8(a)) }

// Unmet is an assumption that a scenario does not keep.
type Unmet struct {
	Assumption Assumption
	Text       string // "C stepped by 1s, the budget was 100ms"
	// Options says that the scenario's drift factor and buffer keep it, and those of a
	// lock that code made with options of its own do not.
	Options bool
}

// Assumptions says which assumptions a scenario does not keep, decided from the
// scenario alone, with the budget arithmetic of docs/drift-math.md:
//
//	f ≥ 1 − (rc⁻/rn⁺)(1 − (g+J)/T) − b/T
//
// for the slowest client's rate rc⁻, each node's fastest rn⁺, the node's forward
// steps J, its rounding g (1 ms if its expiry is non-strict), and every TTL T of
// the scenario. A1 and A3 share that one budget: steps are blamed for what rates
// alone would not have used up. An assumption that is not kept need not break
// anything: more nodes than a bare quorum are slack.
func Assumptions(sc *Scenario) []Unmet { return assumptions(sc, nil, nil) }

// assumptions is Assumptions where keys were also set for other TTLs than those that
// stand in the scenario, by code or by a lock of a test's own, and where locks with
// options of their own trusted them for so long.
func assumptions(sc *Scenario, asked []time.Duration, trusts []trust) []Unmet {
	a := assumer{sc: sc, asked: asked, trusts: trusts}
	a.clocks()
	a.losses()
	a.stops()
	a.aliases()
	return a.unmet
}

// Explained says whether an assumption that was not kept can explain a break of
// the invariant. A break that none explains is a bug.
func Explained(inv Invariant, unmet []Unmet) bool {
	for _, u := range unmet {
		switch inv {
		case I1, I2, I5, I6, I7:
			if u.Assumption <= A5 {
				return true
			}
		case I3: // two quorums share a node, and it remembers
			if u.Assumption == A5 || u.Assumption == A6 {
				return true
			}
		}
	}
	return false
}

type assumer struct {
	sc     *Scenario
	asked  []time.Duration
	trusts []trust
	unmet  []Unmet
}

func (a *assumer) say(what Assumption, format string, args ...any) {
	a.unmet = append(a.unmet, Unmet{Assumption: what, Text: fmt.Sprintf(format, args...)})
}

// ttls are all that anybody acquires or extends with, cut to whole milliseconds.
func (a *assumer) ttls() (all []time.Duration, longest time.Duration) {
	add := func(d clock.Duration) {
		t := time.Duration(d).Truncate(time.Millisecond)
		if t <= 0 {
			return
		}
		longest = max(longest, t)
		for _, have := range all {
			if have == t {
				return
			}
		}
		all = append(all, t)
	}
	add(a.sc.Lock.TTL)
	for i := range a.sc.Clients {
		for _, s := range a.sc.Clients[i].Steps {
			add(s.TTL)
		}
	}
	for _, t := range a.asked {
		add(clock.Duration(t))
	}
	return all, longest
}

// rates are the slowest and the fastest of a machine, faults included.
func (a *assumer) rates(name string, usual clock.Rate) (slowest, fastest clock.Rate) {
	slowest, fastest = usual, usual
	for i := range a.sc.Faults {
		if f := &a.sc.Faults[i]; f.On == name && f.Kind == "rate" {
			if f.Rate.Cmp(slowest) < 0 {
				slowest = f.Rate
			}
			if f.Rate.Cmp(fastest) > 0 {
				fastest = f.Rate
			}
		}
	}
	return slowest, fastest
}

func rat(r clock.Rate) *big.Rat { return big.NewRat(r.Fraction()) }

// clocks decides A1 and A3.
func (a *assumer) clocks() {
	var slowest clock.Rate
	slow := ""
	for i := range a.sc.Clients {
		c := &a.sc.Clients[i]
		if r, _ := a.rates(c.Name, c.Clock.Rate); slow == "" || r.Cmp(slowest) < 0 {
			slowest, slow = r, c.Name
		}
	}
	ppb, err := factorPPB(a.sc.Lock.Factor)
	if err != nil || slow == "" {
		return
	}
	bends := a.bends()
	ttls, _ := a.ttls()
	for i := range a.sc.Nodes {
		n := &a.sc.Nodes[i]
		_, fastest := a.rates(n.Name, n.Clock.Rate)
		steps := a.steps(n.Name)
		kept := true
		for _, ttl := range ttls {
			what, left := spent(budgetOf(n, ttl, trustNs(clock.Duration(ttl), ppb, a.sc.Lock.Buffer)+bends, fastest, slowest), steps)
			switch what {
			case A1:
				a.say(A1, "%s runs at up to %v and %s at down to %v: with a TTL of %v that is %v more than a factor of %s and a buffer of %v cover", n.Name, fastest, slow, slowest, ttl, -left, a.sc.Lock.Factor, a.sc.Lock.Buffer)
			case A3:
				a.say(A3, "%s stepped by %v, the budget was %v (TTL %v, factor %s, buffer %v)", n.Name, steps, left, ttl, a.sc.Lock.Factor, a.sc.Lock.Buffer)
			default:
				continue
			}
			kept = false
			break
		}
		for i := 0; kept && i < len(a.trusts); i++ { // what is no longer than the scenario's is kept with that
			t := &a.trusts[i]
			what, left := spent(budgetOf(n, t.ttl, t.longest+bends, fastest, slowest), steps)
			switch what {
			case A1:
				a.say(A1, "%s runs at up to %v and %s at down to %v, and %s: that is %v too long", n.Name, fastest, slow, slowest, a.byOptions(t, ppb), -left)
			case A3:
				a.say(A3, "%s stepped by %v, the budget was %v: %s", n.Name, steps, left, a.byOptions(t, ppb))
			default:
				continue
			}
			a.unmet[len(a.unmet)-1].Options, kept = true, false
		}
	}
}

// spent says which assumption a budget does not keep, 0 if both, and what of it was
// left for steps.
func spent(budget *big.Rat, steps time.Duration) (what Assumption, left time.Duration) {
	switch {
	case budget.Sign() < 0:
		what = A1
	case budget.Cmp(big.NewRat(int64(steps), 1)) < 0:
		what = A3
	}
	return what, nanoseconds(budget)
}

// byOptions says that a lock trusted a TTL for longer than it may in the scenario.
func (a *assumer) byOptions(t *trust, ppb int64) string {
	allowed := trustNs(clock.Duration(t.ttl), ppb, a.sc.Lock.Buffer)
	return fmt.Sprintf("a lock that the code made with options of its own trusted a TTL of %v for %v, where the scenario's factor of %s and buffer of %v allow %v",
		t.ttl, time.Duration(t.longest), a.sc.Lock.Factor, a.sc.Lock.Buffer, time.Duration(allowed))
}

// budgetOf is what is left of a TTL, in nanoseconds of a node's clock, when the
// node has counted the trust of a client as it takes at the worst of rates: what
// may go into steps. Its keys live for T − g; trust is on the client's clock.
func budgetOf(n *Node, ttl time.Duration, trust int64, fastest, slowest clock.Rate) *big.Rat {
	lives := ttl
	if n.Expiry == node.NonStrict {
		lives -= time.Millisecond
	}
	counted := new(big.Rat).Quo(rat(fastest), rat(slowest))
	counted.Mul(counted, big.NewRat(trust, 1))
	return counted.Sub(big.NewRat(int64(lives), 1), counted)
}

// bends are the most changes in the course of a client's clock. At each it may
// lose a part of a nanosecond, since what it has counted is rounded down.
func (a *assumer) bends() (most int64) {
	for i := range a.sc.Clients {
		n := int64(0)
		for j := range a.sc.Faults {
			switch f := &a.sc.Faults[j]; {
			case f.On != a.sc.Clients[i].Name:
			case f.Kind == "rate":
				n += 2
			case f.Kind == "step":
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// nanoseconds cuts a number of them to whole ones.
func nanoseconds(r *big.Rat) time.Duration {
	q := new(big.Int).Quo(r.Num(), r.Denom())
	if !q.IsInt64() {
		return time.Duration(int64(q.Sign()) * never)
	}
	return time.Duration(q.Int64())
}

// steps are all forward steps of a wall clock together.
func (a *assumer) steps(name string) (sum time.Duration) {
	for i := range a.sc.Faults {
		if f := &a.sc.Faults[i]; f.On == name && f.Kind == "step" && f.By > 0 {
			sum += time.Duration(f.By)
		}
	}
	return sum
}

// losses decides A2, and A6 with fencing.
func (a *assumer) losses() {
	for i := range a.sc.Clients {
		c := &a.sc.Clients[i]
		if j := slices.IndexFunc(c.Steps, func(s Step) bool { return s.Do == "delete" }); j >= 0 {
			a.say(A2, "%s deletes %q, whoever holds it", c.Name, c.Steps[j].Key)
		}
	}
	_, longest := a.ttls()
	for i := range a.sc.Faults {
		f := &a.sc.Faults[i]
		n := a.node(f.On)
		if n == nil {
			continue
		}
		lost := f.loses(n)
		if lost == "" {
			continue
		}
		if f.Kind == "crash" {
			away := a.away(n, f)
			lost += fmt.Sprintf(", %v after it had gone down", away)
			if away < longest {
				a.say(A2, "%s; it should have stayed away for the longest TTL, %v", lost, longest)
			}
		} else {
			a.say(A2, "%s", lost)
		}
		if a.sc.Lock.Fencing && f.Kind != "evict" { // numbers are not evicted, and no TTL ends them
			a.say(A6, "%s; fence numbers are lost too", lost)
		}
	}
	for i := range a.sc.Resources {
		if r := &a.sc.Resources[i]; !r.Fenced {
			a.say(A6, "%s does not look at fence numbers", r.Name)
		}
	}
}

// loses says what a node lost by a fault, empty if nothing.
func (f *Fault) loses(n *Node) string {
	switch {
	case f.Kind == "evict", f.Kind == "flush":
		return fmt.Sprintf("%s lost keys at %v (%s)", n.Name, f.At, f.Kind)
	case f.Kind == "failover" && f.By > 0:
		return fmt.Sprintf("%s failed over at %v to a replica that was %v behind", n.Name, f.At, f.By)
	case f.Kind != "crash" || f.For == 0 || n.Persistence == node.Always:
		return ""
	case n.Persistence == node.EverySecond, n.Persistence == node.Snapshot:
		if f.By == 0 {
			return ""
		}
		return fmt.Sprintf("%s was back from its crash at %v without the last %v", n.Name, f.At, f.By)
	}
	return fmt.Sprintf("%s was back from its crash at %v without its keys", n.Name, f.At)
}

// away is how long a node that crashed did not serve, on its boot clock.
func (a *assumer) away(n *Node, crash *Fault) time.Duration {
	var m machine
	m.set(n.Clock, a.sc.Faults, n.Name, &n.Config)
	serves := m.serves(int64(crash.At))
	if serves == never {
		return never
	}
	return time.Duration(m.boot.at(serves) - m.boot.at(int64(crash.At)))
}

func (a *assumer) node(name string) *Node {
	for i := range a.sc.Nodes {
		if a.sc.Nodes[i].Name == name {
			return &a.sc.Nodes[i]
		}
	}
	return nil
}

// stops decides A4.
func (a *assumer) stops() {
	for i := range a.sc.Faults {
		f := &a.sc.Faults[i]
		for j := range a.sc.Clients {
			c := &a.sc.Clients[j]
			switch {
			case c.Name != f.On:
			case f.Kind == "suspend" && a.sc.lives(j) == Monotonic:
				a.say(A4, "%s was suspended for %v, and the clock it lives on stood still", c.Name, f.For)
			case f.Kind == "freeze" && a.sc.lives(j) == Wall:
				a.say(A4, "the wall clock that %s lives on stood still for %v", c.Name, f.For)
			case f.Kind == "step" && f.By < 0 && a.sc.lives(j) == Wall:
				a.say(A4, "the wall clock that %s lives on was set back by %v", c.Name, -f.By)
			}
		}
	}
}

// aliases decides A5.
func (a *assumer) aliases() {
	for i := range a.sc.Nodes {
		if n := &a.sc.Nodes[i]; n.Alias != "" {
			a.say(A5, "%s is another address of %s: it counts twice", n.Name, n.Alias)
		}
	}
}
