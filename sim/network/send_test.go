package network

import (
	"fmt"
	"math"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/sim/draw"

	"pgregory.net/rapid"
)

var (
	clients = []string{"c1", "c2"}
	nodes   = []string{"A", "B", "C"}
)

const (
	c1, c2 = 0, 1
	nodeA  = 0
	nodeB  = 1
	nodeC  = 2
	ms     = int64(time.Millisecond)
)

// made returns the network c, which must be well.
func made(t testing.TB, c Config, seed uint64) *Network {
	t.Helper()
	if err := c.Check(clients, nodes); err != nil {
		t.Fatal(err)
	}
	n := new(Network)
	n.Reset(c, seed, clients, nodes)
	return n
}

func constantly(d int64) Path { return Path{Delay: Delay{Min: clock.Duration(d)}} }

func TestPaths(t *testing.T) {
	t.Parallel()
	n := made(t, Config{
		Request: constantly(1 * ms),
		Reply:   constantly(2 * ms),
		Paths:   map[string]Path{"c1>B": constantly(3 * ms), "B>c2": constantly(4 * ms)},
	}, 1)
	for _, c := range []struct {
		m    Message
		want int64
	}{
		{Message{Client: c1, Node: nodeA}, 1},
		{Message{Client: c1, Node: nodeA, Reply: true}, 2},
		{Message{Client: c1, Node: nodeB}, 3},
		{Message{Client: c1, Node: nodeB, Reply: true}, 2},
		{Message{Client: c2, Node: nodeB}, 1},
		{Message{Client: c2, Node: nodeB, Reply: true}, 4},
		{Message{Client: c2, Node: nodeC, Reply: true}, 2},
	} {
		if got := n.Send(100*ms, c.m); got != (Fate{At: (100 + c.want) * ms}) {
			t.Errorf("%+v: %+v, want to arrive after %d ms", c.m, got, c.want)
		}
	}
}

// TestLossOfOnePath: a path of its own loses what others do not, and the other way about.
func TestLossOfOnePath(t *testing.T) {
	t.Parallel()
	all := Path{LossPPM: 1_000_000}
	n := made(t, Config{Reply: all, Paths: map[string]Path{"c1>B": all, "B>c1": {}}}, 1)
	for _, node := range []int{nodeA, nodeB} {
		for _, reply := range []bool{false, true} {
			want := Fate{Lost: reply == (node == nodeA)}
			if got := n.Send(0, Message{Client: c1, Node: node, Reply: reply}); got != want {
				t.Errorf("node %d, reply %v: %+v, want %+v", node, reply, got, want)
			}
		}
	}
}

func TestCuts(t *testing.T) {
	t.Parallel()
	const arrives, lost, refused = "arrives", "lost", "refused"
	request := func(client, node int) Message { return Message{Client: client, Node: node, Nth: 1} }
	reply := func(client, node int) Message { return Message{Client: client, Node: node, Nth: 1, Reply: true} }
	both := Cut{From: []string{"c1", "A"}, To: []string{"c2", "B"}, At: clock.Duration(ms), For: clock.Duration(ms)}
	oneWay, refusing := both, both
	oneWay.OneWay = true
	refusing.Refuse = true
	for _, c := range []struct {
		name string
		cut  Cut
		at   int64
		m    Message
		want string
	}{
		{"before", both, ms - 1, request(c1, nodeB), arrives},
		{"from its first instant", both, ms, request(c1, nodeB), lost},
		{"to its last", both, 2*ms - 1, request(c1, nodeB), lost},
		{"after", both, 2 * ms, request(c1, nodeB), arrives},
		{"the reply", both, ms, reply(c1, nodeB), lost},
		{"node on the near side", both, ms, request(c2, nodeA), lost},
		{"its reply", both, ms, reply(c2, nodeA), lost},
		{"same side", both, ms, request(c1, nodeA), arrives},
		{"same far side", both, ms, reply(c2, nodeB), arrives},
		{"on no side", both, ms, request(c1, nodeC), arrives},
		{"one way: forth", oneWay, ms, request(c1, nodeB), lost},
		{"one way: back", oneWay, ms, reply(c1, nodeB), arrives},
		{"one way: a near node's reply", oneWay, ms, reply(c2, nodeA), lost},
		{"one way: to a near node", oneWay, ms, request(c2, nodeA), arrives},
		{"refused", refusing, ms, request(c1, nodeB), refused},
		{"refused: the reply has nobody to tell", refusing, ms, reply(c1, nodeB), lost},
		{"for good", Cut{From: []string{"A"}, To: []string{"c1"}}, math.MaxInt64 - 1, request(c1, nodeA), lost},
	} {
		n := made(t, Config{Request: constantly(10), Reply: constantly(20), Cuts: []Cut{c.cut}}, 1)
		want := map[string]Fate{arrives: {At: c.at + 10}, lost: {Lost: true}, refused: {Refused: true, At: c.at + 30}}[c.want]
		if c.want == arrives && c.m.Reply {
			want.At += 10
		}
		if got := n.Send(c.at, c.m); got != want {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	late := clock.Duration(700 * ms)
	for _, c := range []struct {
		name  string
		rules []Rule
		m     Message
		want  Fate
	}{
		{"fits", []Rule{{From: "c1", To: "C", Nth: 3, Late: late}}, Message{c1, nodeC, 3, false}, Fate{At: 710 * ms}},
		{"another one", []Rule{{From: "c1", To: "C", Nth: 3, Late: late}}, Message{c1, nodeC, 2, false}, Fate{At: 10 * ms}},
		{"another client", []Rule{{From: "c1", To: "C", Nth: 3, Late: late}}, Message{c2, nodeC, 3, false}, Fate{At: 10 * ms}},
		{"another node", []Rule{{From: "c1", To: "C", Nth: 3, Late: late}}, Message{c1, nodeA, 3, false}, Fate{At: 10 * ms}},
		{"the reply", []Rule{{From: "c1", To: "C", Nth: 3, Late: late}}, Message{c1, nodeC, 3, true}, Fate{At: 10 * ms}},
		{"of a reply", []Rule{{From: "C", To: "c1", Nth: 3, Late: late}}, Message{c1, nodeC, 3, true}, Fate{At: 710 * ms}},
		{"every one", []Rule{{From: "c1", Late: late}}, Message{c1, nodeC, 77, false}, Fate{At: 710 * ms}},
		{"to whomever", []Rule{{To: "c1", Late: late}}, Message{c1, nodeC, 77, true}, Fate{At: 710 * ms}},
		{"everything", []Rule{{Late: late}}, Message{c2, nodeA, 1, true}, Fate{At: 710 * ms}},
		{"delays add up", []Rule{{Late: late}, {Nth: 1, Late: late}}, Message{c2, nodeA, 1, true}, Fate{At: 1410 * ms}},
		{"dropped", []Rule{{Late: late}, {Nth: 1, Drop: true}, {Twice: true}}, Message{c2, nodeA, 1, true}, Fate{Lost: true}},
		{"twice", []Rule{{Nth: 1, Twice: true}}, Message{c2, nodeA, 1, false}, Fate{At: 10 * ms, Again: 20 * ms}},
		{"twice and late", []Rule{{Nth: 1, Twice: true, Late: late}}, Message{c2, nodeA, 1, false}, Fate{At: 710 * ms, Again: 720 * ms}},
		{"for ever late", []Rule{{Late: math.MaxInt64}, {Late: math.MaxInt64}, {Twice: true}}, Message{c2, nodeA, 1, false}, Fate{At: math.MaxInt64, Again: math.MaxInt64}},
	} {
		n := made(t, Config{Request: constantly(10 * ms), Reply: constantly(10 * ms), Rules: c.rules}, 1)
		if got := n.Send(0, c.m); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	n := made(t, Config{Rules: []Rule{{Twice: true}}}, 1)
	if got := n.Send(0, Message{Nth: 1}); got != (Fate{At: 0, Again: 1}) {
		t.Errorf("without delays: %+v; a copy must come later than the first", got)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	n := made(t, Config{
		Request: constantly(1 * ms), Reply: Path{Delay: Delay{Law: Exponential, Min: clock.Duration(2 * ms), Mean: clock.Duration(ms)}},
		Paths: map[string]Path{"c2>B": constantly(5 * ms)},
		Cuts:  []Cut{{From: []string{"A"}, To: []string{"c1"}, At: clock.Duration(10 * ms), For: clock.Duration(10 * ms), OneWay: true}},
	}, 1)
	for _, c := range []struct {
		client, node   int
		from, to, want int64 // -1: cut
	}{
		{c1, nodeB, 0, 100, 3}, {c2, nodeB, 0, 100, 7}, {c2, nodeA, 0, 100, 3},
		{c1, nodeA, 0, 10, 3}, {c1, nodeA, 0, 11, -1}, {c1, nodeA, 19, 30, -1}, {c1, nodeA, 20, 30, 3},
	} {
		got, open := n.RoundTrip(c.client, c.node, c.from*ms, c.to*ms)
		if open != (c.want >= 0) || open && got != c.want*ms {
			t.Errorf("%+v: %d, %v", c, got, open)
		}
	}
}

func TestLoss(t *testing.T) {
	t.Parallel()
	const sent = 100_000
	for _, ppm := range []int{0, 1000, 250_000, 1_000_000} {
		n := made(t, Config{Request: Path{LossPPM: ppm}}, 7)
		lost, replies := 0, 0
		for i := range uint32(sent) {
			if n.Send(int64(i), Message{Client: c1, Node: nodeB, Nth: i + 1}).Lost {
				lost++
			}
			if n.Send(int64(i), Message{Client: c1, Node: nodeB, Nth: i + 1, Reply: true}).Lost {
				replies++
			}
		}
		want := ppm / 10
		p := float64(ppm) / million
		if off := float64(lost - want); math.Abs(off) > 5*math.Sqrt(sent*p*(1-p)) || replies != 0 {
			t.Errorf("%d ppm: %d of %d lost, want about %d; and %d replies, want none", ppm, lost, sent, want, replies)
		}
	}
}

// Once one message is lost so is all on that path, and on no other.
func TestLossLasts(t *testing.T) {
	t.Parallel()
	const lasts = 5 * ms
	n := made(t, Config{Request: Path{LossPPM: 20_000, LossFor: clock.Duration(lasts)}}, 3)
	plain := made(t, Config{Request: Path{LossPPM: 20_000}}, 3)
	bursts, ends, apart := 0, int64(-1), false
	for i := range uint32(10_000) {
		now := int64(i) * ms
		m := Message{Client: c1, Node: nodeA, Nth: i + 1}
		began := plain.Send(now, m).Lost
		lost := n.Send(now, m).Lost
		if now >= ends && began {
			bursts++
			ends = now + lasts
		}
		if lost != (now < ends) {
			t.Fatalf("message %d: lost is %v", i+1, lost)
		}
		m.Node = nodeB
		apart = apart || n.Send(now, m).Lost != lost
	}
	if bursts < 50 || !apart {
		t.Errorf("%d bursts, and on two paths at different times: %v", bursts, apart)
	}
}

// Once one message is late so is all on that path, by as much, and on no other.
func TestSlownessLasts(t *testing.T) {
	t.Parallel()
	const lasts, by = 5 * ms, 700 * ms
	slow := Path{Delay: Delay{Min: clock.Duration(ms)}, SlowPPM: 20_000, SlowBy: clock.Duration(by)}
	plain := made(t, Config{Request: slow}, 3)
	slow.SlowFor = clock.Duration(lasts)
	n := made(t, Config{Request: slow}, 3)
	spells, ends, apart := 0, int64(-1), false
	for i := range uint32(10_000) {
		now := int64(i) * ms
		m := Message{Client: c1, Node: nodeA, Nth: i + 1}
		began := plain.Send(now, m).At == now+ms+by
		late := n.Send(now, m).At - now - ms
		if now >= ends && began {
			spells++
			ends = now + lasts
		}
		if late != 0 && late != by || (late != 0) != (now < ends) {
			t.Fatalf("message %d is late by %d ns", i+1, late)
		}
		m.Node = nodeB
		apart = apart || n.Send(now, m).At-now-ms != late
	}
	if spells < 50 || !apart {
		t.Errorf("%d slow spells, and on two paths at different times: %v", spells, apart)
	}
}

// In the quiet phase nothing happens by chance, also if it had begun before; cuts
// and rules go on. Before it all is as it would be without.
func TestQuiet(t *testing.T) {
	t.Parallel()
	const quiet = 100 * ms
	noisy := Path{
		Delay:   Delay{Law: Exponential, Min: clock.Duration(ms), Mean: clock.Duration(ms)},
		LossPPM: 100_000, LossFor: clock.Duration(8 * ms), SlowPPM: 200_000, SlowBy: clock.Duration(ms), SlowFor: clock.Duration(80 * ms),
	}
	c := Config{Request: noisy, Reply: noisy,
		Rules: []Rule{{From: "c1", To: "A", Nth: 150, Late: clock.Duration(7 * ms)}, {Nth: 160, Twice: true}},
		Cuts:  []Cut{{From: []string{"c1"}, To: []string{"A"}, At: clock.Duration(170 * ms), For: clock.Duration(ms)}}}
	always := made(t, c, 5)
	c.QuietFrom = clock.Duration(quiet)
	n := made(t, c, 5)
	lost, slow := 0, 0
	for i := range uint32(200) {
		for _, reply := range []bool{false, true} {
			now, m := int64(i)*ms, Message{Client: c1, Node: nodeA, Nth: i, Reply: reply}
			got, want := n.Send(now, m), always.Send(now, m)
			if now >= quiet {
				if want.Lost {
					lost++
				} else if want.At != now+ms {
					slow++
				}
				want = Fate{At: now + ms}
				switch {
				case i == 150 && !reply:
					want.At += 7 * ms
				case i == 160:
					want.Again = now + 2*ms
				case i == 170:
					want = Fate{Lost: true}
				}
			}
			if got != want {
				t.Errorf("message %d, reply %v: %+v, want %+v", i, reply, got, want)
			}
		}
	}
	if lost < 50 || slow < 20 {
		t.Errorf("without the quiet phase %d messages of it are lost and %d late: too few to tell", lost, slow)
	}
}

func TestDelaysKeepTheirLaw(t *testing.T) {
	t.Parallel()
	us := clock.Duration(time.Microsecond)
	for _, c := range []struct {
		delay     Delay
		min, max  int64
		low, high int64 // of the mean of many
		longest   int64 // -1: none
	}{
		{Delay{}, 0, 0, 0, 0, 0},
		{Delay{Law: Constant, Min: 7 * us}, 7000, 7000, 7000, 7000, 7000},
		{Delay{Law: Uniform, Min: 10 * us, Max: 20 * us}, 10_000, 20_000, 14_900, 15_100, 20_000},
		{Delay{Law: Uniform, Min: 10, Max: 10}, 10, 10, 10, 10, 10},
		{Delay{Law: Exponential, Min: 200 * us, Mean: 300 * us}, 200_000, 200_000 + 13_308_426, 490_000, 510_000, 200_000 + draw.Exponential(0, 300_000)},
		{Delay{Law: Exponential, Min: 200 * us, Mean: 300 * us, Max: 300 * us}, 200_000, 300_000, 250_000, 300_000, 300_000},
		{Delay{Law: Pareto, Min: 100 * us, Max: 100 * 1000 * us}, 100_000, 100_000_000, 280_000, 310_000, 100_000_000},
		{Delay{Law: Pareto, Min: 100 * us}, 100_000, math.MaxInt64, 200_000, 400_000, -1},
	} {
		n := made(t, Config{Request: Path{Delay: c.delay}, Reply: Path{Delay: c.delay}}, 5)
		const count = 100_000
		sum := 0.0
		for i := range uint32(count) {
			now := int64(i)
			d := n.Send(now, Message{Client: c2, Node: nodeC, Nth: i, Reply: i%2 == 0}).At - now
			if d < c.min || d > c.max {
				t.Fatalf("%+v: delay %d, outside of %d to %d", c.delay, d, c.min, c.max)
			}
			sum += float64(d) / count
		}
		if sum < float64(c.low)-0.5 || sum > float64(c.high)+0.5 {
			t.Errorf("%+v: mean %.0f, want %d to %d", c.delay, sum, c.low, c.high)
		}
		if got, bounded := n.LongestDelay(); bounded != (c.longest >= 0) || bounded && got != c.longest {
			t.Errorf("%+v: longest delay %d, %v, want %d", c.delay, got, bounded, c.longest)
		}
	}
}

// A request and its reply, and the same message of another seed, client or node,
// have delays of their own.
func TestDelaysAreApart(t *testing.T) {
	t.Parallel()
	p := Path{Delay: Delay{Law: Uniform, Max: math.MaxInt64}}
	c := Config{Request: p, Reply: p, Rules: []Rule{{Twice: true}}}
	seen := map[int64]string{}
	for seed := range uint64(3) {
		n := made(t, c, seed)
		for i := range 36 {
			m := Message{Client: i % 2, Node: i / 2 % 3, Nth: uint32(i / 6 % 3), Reply: i/18 == 1}
			f := n.Send(0, m)
			for _, d := range []int64{f.At, f.Again - f.At} {
				if d == math.MaxInt64-f.At { // the copy's instant is cut there
					continue
				}
				name := fmt.Sprintf("seed %d, %+v", seed, m)
				if other, ok := seen[d]; ok {
					t.Errorf("%s has the delay of %s", name, other)
				}
				seen[d] = name
			}
		}
	}
}

// configs draws a network of every kind of trouble.
func configs() *rapid.Generator[Config] {
	duration := func(t *rapid.T, what string, most int64) clock.Duration {
		return clock.Duration(rapid.Int64Range(0, most).Draw(t, what))
	}
	path := func(t *rapid.T, what string) Path {
		p := Path{LossPPM: rapid.SampledFrom([]int{0, 0, 100_000, million}).Draw(t, what+" loss")}
		if rapid.Bool().Draw(t, what+" bursts") {
			p.LossFor = duration(t, what+" loss for", 5*ms)
		}
		if p.SlowPPM = rapid.SampledFrom([]int{0, 0, 100_000, million}).Draw(t, what+" slow"); p.SlowPPM > 0 {
			p.SlowBy, p.SlowFor = 1+duration(t, what+" slow by", 5*ms), duration(t, what+" slow for", 5*ms)
		}
		p.Delay.Law = rapid.SampledFrom([]Law{"", Constant, Uniform, Exponential, Pareto}).Draw(t, what+" law")
		p.Delay.Min = 1 + duration(t, what+" min", ms)
		if p.Delay.Law == Exponential {
			p.Delay.Mean = duration(t, what+" mean", ms)
		}
		if p.Delay.Law == Uniform || p.Delay.Law == Exponential || p.Delay.Law == Pareto {
			p.Delay.Max = p.Delay.Min + duration(t, what+" max", 20*ms)
		}
		return p
	}
	some := func(t *rapid.T, what string, names []string) string {
		return rapid.SampledFrom(append([]string{""}, names...)).Draw(t, what)
	}
	return rapid.Custom(func(t *rapid.T) Config {
		c := Config{Request: path(t, "request"), Reply: path(t, "reply")}
		if rapid.Bool().Draw(t, "own paths") {
			c.Paths = map[string]Path{"c1>B": path(t, "c1>B"), "C>c2": path(t, "C>c2")}
		}
		if rapid.Bool().Draw(t, "quiet") {
			c.QuietFrom = duration(t, "quiet from", 20*ms)
		}
		for range rapid.IntRange(0, 2).Draw(t, "cuts") {
			c.Cuts = append(c.Cuts, Cut{
				From: []string{"c1"}, To: []string{rapid.SampledFrom(nodes).Draw(t, "to")},
				At: duration(t, "at", 10*ms), For: duration(t, "for", 10*ms),
				OneWay: rapid.Bool().Draw(t, "one way"), Refuse: rapid.Bool().Draw(t, "refuse"),
			})
		}
		for range rapid.IntRange(0, 2).Draw(t, "rules") {
			c.Rules = append(c.Rules, Rule{
				From: some(t, "from", clients), To: some(t, "to", nodes), Nth: rapid.IntRange(0, 3).Draw(t, "nth"),
				Late: 1 + duration(t, "late", 5*ms), Twice: rapid.Bool().Draw(t, "twice"), Drop: rapid.Bool().Draw(t, "drop"),
			})
		}
		return c
	})
}

// A message's fate does not hang on what is sent on other paths, nor does its
// delay on anything at all; a network that has been used before is as good as a
// new one, and the short cut of a plain path leads to what all questions lead to.
func TestFatesAreApart(t *testing.T) {
	t.Parallel()
	used := new(Network)
	rapid.Check(t, func(t *rapid.T) {
		c, seed := configs().Draw(t, "config"), rapid.Uint64().Draw(t, "seed")
		if err := c.Check(clients, nodes); err != nil {
			t.Fatal(err)
		}
		alone := new(Network)
		alone.Reset(c, seed, clients, nodes)
		used.Reset(c, seed, clients, nodes)
		longest, bounded := used.LongestDelay()
		if !bounded {
			t.Fatal("each of these laws is bounded")
		}
		m := Message{Client: rapid.IntRange(0, 1).Draw(t, "client"), Node: rapid.IntRange(0, 2).Draw(t, "node"), Reply: rapid.Bool().Draw(t, "reply")}
		now := int64(0)
		for m.Nth = 1; m.Nth < 20; m.Nth++ {
			now += rapid.Int64Range(0, 2*ms).Draw(t, "wait")
			for range rapid.IntRange(0, 3).Draw(t, "others") {
				o := Message{Client: rapid.IntRange(0, 1).Draw(t, "client"), Node: rapid.IntRange(0, 2).Draw(t, "node"), Reply: rapid.Bool().Draw(t, "reply"), Nth: rapid.Uint32().Draw(t, "nth")}
				if o.Client != m.Client || o.Node != m.Node || o.Reply != m.Reply {
					used.Send(now, o)
				}
			}
			i := alone.index(m.Client, m.Node)
			if m.Reply {
				i++
			}
			got, want := used.Send(now, m), alone.fate(now, m, i)
			if got != want {
				t.Fatalf("message %d: %+v, and alone %+v", m.Nth, got, want)
			}
			if got.At > now+longest && !got.Refused || got.Again > now+longest {
				t.Fatalf("message %d sent at %d: %+v, later than the longest delay %d", m.Nth, now, got, longest)
			}
			if !got.Lost && (got.At < now || got.Again != 0 && got.Again <= got.At) {
				t.Fatalf("message %d sent at %d: %+v", m.Nth, now, got)
			}
		}
	})
}

// A fault that is taken away leaves the fates of the other messages as they were.
func TestFaultsAreApart(t *testing.T) {
	t.Parallel()
	base := Config{Request: Path{Delay: Delay{Law: Exponential, Mean: clock.Duration(ms)}, LossPPM: 100_000, LossFor: clock.Duration(5 * ms), SlowPPM: 50_000, SlowBy: clock.Duration(ms), SlowFor: clock.Duration(5 * ms)}}
	faulty := base
	faulty.Rules = []Rule{{From: "c1", To: "A", Nth: 3, Drop: true}, {From: "c1", To: "A", Nth: 5, Late: 1}}
	faulty.Cuts = []Cut{{From: []string{"c1"}, To: []string{"A"}, At: clock.Duration(10 * ms), For: clock.Duration(10 * ms)}}
	differ := 0
	for seed := range uint64(100) {
		a, b := made(t, base, seed), made(t, faulty, seed)
		for i := range uint32(50) {
			m := Message{Client: c1, Node: nodeA, Nth: i + 1}
			now := int64(i) * ms
			concerned := i+1 == 3 || i+1 == 5 || i >= 10 && i < 20
			x, y := a.Send(now, m), b.Send(now, m)
			if x != y {
				differ++
				if !concerned {
					t.Fatalf("seed %d, message %d: %+v, and without the faults %+v", seed, i+1, y, x)
				}
			}
		}
	}
	if differ < 500 {
		t.Errorf("only %d fates differ: the faults do nothing", differ)
	}
}

func TestSendingAllocatesNothing(t *testing.T) {
	c := Config{
		Request: Path{Delay: Delay{Law: Exponential, Min: 1, Mean: 1000}, LossPPM: 1000, SlowPPM: 1000, SlowBy: 5},
		Reply:   Path{Delay: Delay{Law: Pareto, Min: 1000}},
		Paths:   map[string]Path{"c1>B": constantly(1)},
		Cuts:    []Cut{{From: []string{"c1"}, To: []string{"A"}, At: 10, For: 100}},
		Rules:   []Rule{{To: "A", Nth: 3, Twice: true}},
	}
	n := made(t, c, 1)
	seed := uint64(0)
	if a := testing.AllocsPerRun(100, func() {
		seed++
		n.Reset(c, seed, clients, nodes)
		for i := range uint32(100) {
			n.Send(int64(i), Message{Client: int(i % 2), Node: int(i % 3), Nth: i, Reply: i%4 > 1})
		}
	}); a != 0 {
		t.Errorf("a run of 100 messages allocates %v times, want 0", a)
	}
	if len(n.paths) != 12 || len(n.cuts) != 2 || len(n.rules) != 2 || len(n.sides) != 5 {
		t.Errorf("after 100 runs it keeps %d paths, %d cuts, %d rules, %d sides: more than one run's", len(n.paths), len(n.cuts), len(n.rules), len(n.sides))
	}
}

func BenchmarkSend(b *testing.B) {
	exponential := Config{Request: Path{Delay: Delay{Law: Exponential, Min: 200_000, Mean: 300_000}}}
	lossy := exponential
	lossy.Request.LossPPM, lossy.Request.SlowPPM, lossy.Request.SlowBy = 1000, 1000, 1
	lossy.Rules = []Rule{{From: "c1", To: "B", Nth: 3, Drop: true}, {To: "B", Nth: 4, Late: 1}}
	lossy.Cuts = []Cut{{From: []string{"c1"}, To: []string{"B"}, At: 10, For: 100}}
	for name, c := range map[string]Config{"exponential": exponential, "faults": lossy} {
		b.Run(name, func(b *testing.B) {
			n := made(b, c, 1)
			for i := range uint32(b.N) {
				n.Send(int64(i), Message{Client: c1, Node: nodeB, Nth: i})
			}
		})
	}
	for name, c := range map[string]Config{"Reset": exponential, "Reset faults": lossy} {
		b.Run(name, func(b *testing.B) {
			clients, nodes := []string{"c1", "c2", "c3"}, []string{"A", "B", "C", "D", "E"}
			var n Network
			for i := range uint64(b.N) {
				n.Reset(c, i, clients, nodes)
			}
		})
	}
}

func Example() {
	c := Config{
		Request: Path{Delay: Delay{Min: clock.Duration(time.Millisecond)}},
		Rules:   []Rule{{From: "c1", To: "C", Nth: 3, Late: clock.Duration(700 * time.Millisecond)}},
	}
	if err := c.Check([]string{"c1"}, []string{"A", "B", "C"}); err != nil {
		fmt.Println(err)
		return
	}
	var n Network
	n.Reset(c, 1, []string{"c1"}, []string{"A", "B", "C"})
	for nth := range uint32(4) {
		f := n.Send(0, Message{Client: 0, Node: 2, Nth: nth + 1})
		fmt.Println(time.Duration(f.At))
	}
	// Output:
	// 1ms
	// 1ms
	// 701ms
	// 1ms
}
