package sim

// What makes a scenario one that can be run. Nothing is ignored in silence: a
// field that its kind of step or fault does not take is refused, as is a fault
// that could not happen. The limits keep every instant and every reading within
// int64 nanoseconds: a run of 60 days on a clock that is 100 times too fast, 10
// years of steps and 10 of offset are 37 years, and the simulator's epoch leaves
// 162.

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"driftlock/clock"
	"driftlock/sim/flawed"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

const (
	maxMachines = 64     // of each sort: nodes, clients
	maxFaults   = 10_000 // in a scenario
	maxSteps    = 10_000 // of all clients together
	maxRepeat   = 1_000_000
	maxWork     = 10_000_000 // steps of one client, its repeats counted; pauses between attempts
	maxName     = 64         // bytes of a name or a key
	maxText     = 4096       // bytes of a text for people
	maxProblems = 20         // told in one go

	day       = 24 * clock.Duration(time.Hour)
	maxSpan   = 30 * day       // of true time, or of a clock's
	maxOffset = 10 * 365 * day // of a wall clock, and of all its steps together
	maxSpeed  = 100            // a clock runs at 1/100 to 100

	everySecondLoss = clock.Duration(2 * time.Second) // the most that an AOF synced every second loses
)

// Check says everything that is wrong with the scenario, in the order of its
// fields: each is a *FieldError, and all are joined. Nil: it can be run.
//
// A scenario has 1 to 64 nodes and as many clients, at most 10,000 steps, faults,
// cuts and rules each, durations of up to 30 days, wall clocks that are offset
// and stepped by up to 10 years, and rates from 1/100 to 100.
func (s *Scenario) Check() error {
	c := scenarioCheck{s: s}
	c.head()
	c.lock()
	c.nodes()
	c.clients()
	c.resources()
	c.network()
	c.faults()
	c.live()
	c.expect()
	c.remedies()
	if len(c.problems) > maxProblems {
		more := len(c.problems) - maxProblems
		c.problems = append(c.problems[:maxProblems], &FieldError{Text: fmt.Sprintf("… and %d more", more)})
	}
	return errors.Join(c.problems...)
}

// scenarioCheck collects what is wrong. Runs check their scenario, so a good one
// must cost next to nothing: places are written out only for a problem.
type scenarioCheck struct {
	s        *Scenario
	ppb      int64 // the drift factor; below 0: TTLs cannot be judged
	problems []error
}

// place is where something is wrong: field, list[i].field or list[i].sub[j].field.
type place struct {
	list  string
	i     int
	sub   string
	j     int
	field string
}

func (p place) String() string {
	var b strings.Builder
	if p.list != "" {
		fmt.Fprintf(&b, "%s[%d]", p.list, p.i)
	}
	if p.sub != "" {
		fmt.Fprintf(&b, ".%s[%d]", p.sub, p.j)
	}
	if p.field != "" && b.Len() > 0 {
		b.WriteByte('.')
	}
	return b.String() + p.field
}

// in is the place of a field in p.
func (p place) in(field string) place {
	p.field = field
	return p
}

func at(field string) place { return place{field: field} }

func (c *scenarioCheck) say(p place, format string, a ...any) {
	c.problems = append(c.problems, &FieldError{Path: p.String(), Text: fmt.Sprintf(format, a...)})
}

// within refuses a duration that is not in [low, high].
func (c *scenarioCheck) within(p place, d, low, high clock.Duration) bool {
	switch {
	case low <= d && d <= high:
		return true
	case low == 1 && d <= 0:
		c.say(p, "%v: must be above 0", d)
	case low == 0 && d < 0:
		c.say(p, "%v: must not be negative", d)
	default:
		c.say(p, "%v: must be from %v to %v", d, low, high)
	}
	return false
}

// none refuses a field that the kind of its step or fault does not take.
func (c *scenarioCheck) none(p place, is bool, what string) {
	if is {
		c.say(p, "%s takes none", what)
	}
}

func (c *scenarioCheck) text(p place, s string) {
	switch {
	case !utf8.ValidString(s):
		c.say(p, "no valid UTF-8")
	case len(s) > maxText:
		c.say(p, "%d bytes: at most %d are allowed", len(s), maxText)
	}
}

// oneOf refuses a word that is none of the known.
func (c *scenarioCheck) oneOf(p place, word string, known []string) bool {
	if slices.Contains(known, word) {
		return true
	}
	c.say(p, "%s is none of %s%s", shown(word), strings.Join(known, ", "), didYouMean(word, known))
	return false
}

// oneOfOr is oneOf where the empty word stands for a default.
func (c *scenarioCheck) oneOfOr(p place, word string, known []string) {
	if word != "" {
		c.oneOf(p, word, known)
	}
}

func (c *scenarioCheck) head() {
	switch s := c.s; {
	case s.Version == 0:
		c.say(at("version"), "missing: this program writes and reads version %d", Version)
	case s.Version != Version:
		c.say(at("version"), "%s", wrongVersion(s.Version))
	}
	c.text(at("name"), c.s.Name)
	c.text(at("about"), c.s.About)
	c.text(at("source"), c.s.Source)
	c.oneOfOr(at("claim"), c.s.Claim, claims)
	c.within(at("until"), c.s.Until, 1, maxSpan)
	c.within(at("grace"), c.s.Grace, 0, maxSpan)
}

var (
	claims           = []string{"clocks", "pauses", "forgetting", "network", "extension", "ownership"}
	lockKinds        = []string{"redlock", kindFlawed}
	flaws            = names(flawed.Flaws())
	expiries         = names([]node.Expiry{node.Strict, node.NonStrict})
	persistences     = names([]node.Persistence{node.Forgets, node.EverySecond, node.Always, node.Snapshot})
	quarantineClocks = names([]node.QuarantineOn{node.OnBoot, node.OnWall})
	lives            = names([]Lives{Boot, Monotonic, Wall})
	stepKinds        = []string{"acquire", "hold", "watch", "extend", "release", "write", "sleep", "delete"}
	slowest          = clock.Ratio(1, maxSpeed)
	fastest          = clock.Ratio(maxSpeed, 1)
)

// kindFlawed is the lock of package flawed.
const kindFlawed = "flawed"

func names[S ~string](list []S) []string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = string(s)
	}
	return names
}

// flaws are the faults of a flawed lock; with none it keeps all rules.
func (c *scenarioCheck) flaws(l *Lock) {
	c.none(at("lock.flaws"), l.Kind != kindFlawed && len(l.Flaws) > 0, "a lock of another kind than flawed")
	if len(l.Flaws) > 2*len(flaws) {
		c.say(at("lock.flaws"), "%d of them: there are %d", len(l.Flaws), len(flaws))
		return
	}
	for i, f := range l.Flaws {
		p := place{list: "lock.flaws", i: i}
		if c.oneOf(p, f, flaws) && slices.Contains(l.Flaws[:i], f) {
			c.say(p, "%s is there twice", shown(f))
		}
	}
}

func (c *scenarioCheck) lock() {
	l := &c.s.Lock
	c.oneOfOr(at("lock.kind"), l.Kind, lockKinds)
	c.flaws(l)
	var err error
	if c.ppb, err = factorPPB(l.Factor); err != nil {
		c.say(at("lock.factor"), "%v", err)
		c.ppb = -1
	}
	if !c.within(at("lock.buffer"), l.Buffer, 0, maxSpan) {
		c.ppb = -1
	}
	if !c.within(at("lock.min_validity"), l.MinValidity, 0, maxSpan) {
		c.ppb = -1
	}
	c.ttl(at("lock.ttl"), l.TTL)
	c.within(at("lock.node_timeout"), l.NodeTimeout, 1, maxSpan)
	c.within(at("lock.give_up"), l.GiveUp, 1, maxSpan)
	c.retry(&l.Retry)
}

// ttl refuses a TTL that the lock itself would refuse (docs/design.md, section
// 4, rule 2).
func (c *scenarioCheck) ttl(p place, ttl clock.Duration) {
	if !c.within(p, ttl, 1, maxSpan) {
		return
	}
	if ttl < clock.Duration(time.Millisecond) {
		c.say(p, "%v: must be at least 1ms, the unit of a key's life", ttl)
		return
	}
	if c.ppb < 0 {
		return
	}
	l := &c.s.Lock
	switch left := trustNs(ttl, c.ppb, l.Buffer); {
	case left <= 0:
		c.say(p, "%v: nothing is left of it after the factor %s and the buffer %v", ttl, l.Factor, l.Buffer)
	case left < int64(l.MinValidity):
		c.say(p, "%v: %v is left of it after the factor and the buffer, less than the min_validity of %v", ttl, time.Duration(left), l.MinValidity)
	}
}

// trustNs is how long trust lasts from its anchor on the client's clock, in
// nanoseconds: T − ⌈T·f⌉ − b, T in whole milliseconds (docs/design.md, section
// 4, rules 1 and 2).
func trustNs(ttl clock.Duration, ppb int64, buffer clock.Duration) int64 {
	whole := int64(time.Duration(ttl).Truncate(time.Millisecond))
	return whole - mulUp(whole, ppb) - int64(buffer)
}

func (c *scenarioCheck) retry(r *Retry) {
	if r.Tries < 0 || r.Tries > maxRepeat {
		c.say(at("lock.retry.tries"), "%d: must be from 0 (until the run ends) to %d", r.Tries, maxRepeat)
	}
	c.within(at("lock.retry.min"), r.Min, 0, maxSpan)
	if !c.within(at("lock.retry.max"), r.Max, 0, maxSpan) {
		return
	}
	switch {
	case r.Max < r.Min:
		c.say(at("lock.retry.max"), "%v: must be at least min, %v", r.Max, r.Min)
	case r.Tries == 0 && r.Max == 0:
		c.say(at("lock.retry.max"), `missing: the longest pause between two attempts, such as "100ms"; or give tries a limit`)
	case r.Tries == 0 && c.s.Until/maxWork >= r.Max:
		c.say(at("lock.retry.max"), "%v: must be more than %v, a part in %d of until: otherwise the attempts hardly end; or give tries a limit", r.Max, c.s.Until/maxWork, maxWork)
	}
}

// factorPPB reads a drift factor, a decimal from 0 to below 1 such as "0.01",
// in parts per billion and rounded up (docs/design.md, section 4, rule 1).
func factorPPB(s string) (int64, error) {
	whole, part, point := strings.Cut(s, ".")
	number := whole != "" && strings.Trim(whole, digits) == "" && strings.Trim(part, digits) == "" && (part != "" || !point)
	switch {
	case s == "":
		return 0, errors.New(`missing: the share of the TTL that is not trusted, such as "0.01"`)
	case !number || len(s) > maxName:
		return 0, fmt.Errorf(`%s: a decimal number such as "0.01" is expected`, shown(s))
	}
	ppb := int64(0)
	for i := range 9 {
		ppb *= 10
		if i < len(part) {
			ppb += int64(part[i] - '0')
		}
	}
	if len(part) > 9 && strings.Trim(part[9:], "0") != "" {
		ppb++
	}
	if strings.Trim(whole, "0") != "" || ppb >= 1e9 {
		return 0, fmt.Errorf("%s: must be from 0 to below 1", shown(s))
	}
	return ppb, nil
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// count refuses a list of machines that is too short or too long.
func (c *scenarioCheck) count(list string, n int) bool {
	if n < 1 || n > maxMachines {
		c.say(at(list), "%d %s: must be 1 to %d", n, list, maxMachines)
	}
	return n <= maxMachines
}

func (c *scenarioCheck) nodes() {
	if !c.count("nodes", len(c.s.Nodes)) {
		return
	}
	for i := range c.s.Nodes {
		n, p := &c.s.Nodes[i], place{list: "nodes", i: i}
		c.name(p.in("name"), n.Name, i)
		if n.Alias != "" {
			c.alias(p, n)
			continue
		}
		c.clock(p, n.Clock)
		c.oneOfOr(p.in("expiry"), string(n.Expiry), expiries)
		c.oneOfOr(p.in("persistence"), string(n.Persistence), persistences)
		c.within(p.in("quarantine"), n.Quarantine, 0, maxSpan)
		c.oneOfOr(p.in("quarantine_on"), string(n.QuarantineOn), quarantineClocks)
		c.none(p.in("quarantine_on"), n.QuarantineOn != "" && n.Quarantine == 0, "a node without a quarantine")
	}
}

// alias checks another address of a node.
func (c *scenarioCheck) alias(p place, n *Node) {
	var names []string
	for i := range c.s.Nodes {
		if o := &c.s.Nodes[i]; o.Alias == "" {
			names = append(names, o.Name)
		}
	}
	if c.oneOf(p.in("alias"), n.Alias, names) {
		c.none(p, n.Clock != Clock{} || n.Config != node.Config{}, "another address of a node, besides its name,")
	}
}

func (c *scenarioCheck) clients() {
	if !c.count("clients", len(c.s.Clients)) {
		return
	}
	steps, acquired := 0, map[string]bool{}
	for i := range c.s.Clients {
		cl, p := &c.s.Clients[i], place{list: "clients", i: i}
		c.name(p.in("name"), cl.Name, len(c.s.Nodes)+i)
		c.clock(p, cl.Clock)
		c.oneOfOr(p.in("lives"), string(cl.Lives), lives)
		if most := min(maxRepeat, maxWork/max(1, len(cl.Steps))); cl.Repeat < 0 || cl.Repeat > max(1, most) {
			c.say(p.in("repeat"), "%d: must be from 0 to %d for so many steps", cl.Repeat, max(1, most))
		}
		if steps += len(cl.Steps); steps > maxSteps {
			c.say(p.in("steps"), "%d steps so far: all clients together may have %d", steps, maxSteps)
			return
		}
		clear(acquired)
		for j := range cl.Steps {
			c.step(place{list: "clients", i: i, sub: "steps", j: j}, &cl.Steps[j], acquired)
		}
	}
}

// machine returns the number and the clock of a machine: nodes come first, then
// clients. Below 0: there is none of that name.
func (s *Scenario) machine(name string) (number int, c *Clock) {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return i, &s.Nodes[i].Clock
		}
	}
	for i := range s.Clients {
		if s.Clients[i].Name == name {
			return len(s.Nodes) + i, &s.Clients[i].Clock
		}
	}
	return -1, nil
}

// name refuses a name that faults, cuts and rules could not use.
func (c *scenarioCheck) name(p place, name string, number int) {
	switch {
	case name == "":
		c.say(p, `missing: each machine has a name, such as "A" or "c1"`)
	case len(name) > maxName || strings.Trim(name, letters+digits+"-_.") != "":
		c.say(p, "%s: a name has up to %d letters, digits, '-', '_' and '.'", shown(name), maxName)
	default:
		if c.s.numberOf(name) != number {
			c.say(p, "%s is the name of another machine already", shown(name))
		}
	}
}

func (c *scenarioCheck) clock(p place, k Clock) {
	c.rate(p.in("clock.rate"), k.Rate)
	c.within(p.in("clock.offset"), k.Offset, -maxOffset, maxOffset)
}

func (c *scenarioCheck) rate(p place, r clock.Rate) {
	if r.Cmp(slowest) < 0 || r.Cmp(fastest) > 0 {
		c.say(p, "%v: must be from %v to %v", r, slowest, fastest)
	}
}

// key refuses what is no key of the lock.
func (c *scenarioCheck) key(p place, key string) {
	switch {
	case key == "":
		c.say(p, `missing: the lock's key, such as "k"`)
	case len(key) > maxText || !utf8.ValidString(key):
		c.say(p, "%s: a key has up to %d bytes of UTF-8", shown(key), maxText)
	}
}

// step is one line of a client's workload; acquired are the keys of those before
// it that acquire.
func (c *scenarioCheck) step(p place, st *Step, acquired map[string]bool) {
	if !c.oneOf(p.in("do"), st.Do, stepKinds) {
		return
	}
	switch st.Do {
	case "sleep":
		c.none(p.in("key"), st.Key != "", st.Do)
	case "acquire":
		c.key(p.in("key"), st.Key)
		acquired[st.Key] = true
	case "delete":
		c.key(p.in("key"), st.Key)
	default:
		if st.Do == "write" {
			c.target(p.in("to"), st.To)
		}
		c.key(p.in("key"), st.Key)
		if st.Key != "" && !acquired[st.Key] {
			c.say(p.in("key"), "no step before this one acquires %s", shown(st.Key))
		}
	}
	c.length(p, st)
	if st.Do != "write" {
		c.none(p.in("to"), st.To != "", st.Do)
	}
	if st.Do != "acquire" && st.Do != "extend" && st.Do != "watch" {
		c.none(p.in("ttl"), st.TTL != 0, st.Do)
	} else if st.TTL != 0 {
		c.ttl(p.in("ttl"), st.TTL)
	}
}

// length is how long a step lasts: for a time or, of a hold, for a share of the
// validity.
func (c *scenarioCheck) length(p place, st *Step) {
	isHold := st.Do == "hold"
	switch {
	case isHold && st.For != 0 && st.Percent != 0:
		c.say(p.in("percent"), "a hold takes either for or percent")
	case isHold && st.Percent != 0:
		if st.Percent < 1 || st.Percent > 100 {
			c.say(p.in("percent"), "%d: must be from 1 to 100, of the validity that remains", st.Percent)
		}
	case isHold && st.For == 0:
		c.say(p.in("for"), "missing: a hold takes for or percent")
	case st.Do == "watch" && st.For == 0:
	case isHold || st.Do == "sleep" || st.Do == "watch":
		c.within(p.in("for"), st.For, 1, maxSpan)
	default:
		c.none(p.in("for"), st.For != 0, st.Do)
	}
	if !isHold {
		c.none(p.in("percent"), st.Percent != 0, st.Do)
	}
}

// network holds delays and lists to limits; the rest package network knows.
func (c *scenarioCheck) network() {
	n := &c.s.Network
	c.path("network.request", &n.Request)
	c.path("network.reply", &n.Reply)
	if len(n.Paths) > 2*maxMachines*maxMachines || len(n.Cuts) > maxFaults || len(n.Rules) > maxFaults {
		c.say(at("network"), "%d paths, %d cuts, %d rules: at most %d, %d and %d are allowed",
			len(n.Paths), len(n.Cuts), len(n.Rules), 2*maxMachines*maxMachines, maxFaults, maxFaults)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.Paths)) {
		p := n.Paths[name]
		c.path("network.paths["+shown(name)+"]", &p)
	}
	for i := range n.Cuts {
		cut, p := &n.Cuts[i], place{list: "network.cuts", i: i}
		if len(cut.From) > 2*maxMachines || len(cut.To) > 2*maxMachines {
			c.say(p, "more machines than there can be: at most %d", 2*maxMachines)
			return
		}
		c.notTooLong(p.in("at"), cut.At)
		c.notTooLong(p.in("for"), cut.For)
	}
	for i := range n.Rules {
		c.notTooLong(place{list: "network.rules", i: i, field: "late"}, n.Rules[i].Late)
	}
	c.notTooLong(at("network.quiet_from"), n.QuietFrom)
	names := c.names()
	clients, places := names[len(c.s.Nodes):], names[:len(c.s.Nodes):len(c.s.Nodes)]
	for i := range c.s.Resources {
		places = append(places, c.s.Resources[i].Name)
	}
	if err := n.Check(clients, places); err != nil {
		path, text, _ := strings.Cut(err.Error(), ": ")
		c.say(at(path), "%s", text)
	}
}

func (c *scenarioCheck) path(where string, p *network.Path) {
	if d := &p.Delay; max(d.Min, d.Mean, d.Max, p.LossFor, p.SlowBy, p.SlowFor) > maxSpan {
		c.notTooLong(at(where+".delay.min"), d.Min)
		c.notTooLong(at(where+".delay.mean"), d.Mean)
		c.notTooLong(at(where+".delay.max"), d.Max)
		c.notTooLong(at(where+".loss_for"), p.LossFor)
		c.notTooLong(at(where+".slow_by"), p.SlowBy)
		c.notTooLong(at(where+".slow_for"), p.SlowFor)
	}
}

// notTooLong refuses a duration above the limit; package network refuses those
// below 0.
func (c *scenarioCheck) notTooLong(p place, d clock.Duration) {
	if d > maxSpan {
		c.say(p, "%v: must be at most %v", d, maxSpan)
	}
}

// faultKind is what a kind of fault takes.
type faultKind struct {
	name     string
	machines string // "node", "client"; empty: both
	lasts    bool   // takes for; two on one machine must not overlap
	takesKey bool
}

var faultKinds = []faultKind{
	{name: "pause", lasts: true},
	{name: "suspend", machines: "client", lasts: true},
	{name: "crash", lasts: true},
	{name: "step"},
	{name: "rate", lasts: true},
	{name: "freeze", lasts: true},
	{name: "evict", machines: "node", takesKey: true},
	{name: "flush", machines: "node"},
	{name: "failover", machines: "node"},
}

var faultKindNames = func() (names []string) {
	for _, k := range faultKinds {
		names = append(names, k.name)
	}
	return names
}()

func (c *scenarioCheck) faults() {
	if len(c.s.Faults) > maxFaults {
		c.say(at("faults"), "%d faults: at most %d are allowed", len(c.s.Faults), maxFaults)
		return
	}
	for i := range c.s.Faults {
		p, f := place{list: "faults", i: i}, &c.s.Faults[i]
		if c.oneOf(p.in("kind"), f.Kind, faultKindNames) {
			c.fault(p, f, &faultKinds[slices.Index(faultKindNames, f.Kind)])
		}
	}
	if len(c.s.Faults) > 0 {
		c.steppedTooFar()
		c.overlaps()
	}
}

func (c *scenarioCheck) fault(p place, f *Fault, k *faultKind) {
	number, on := c.s.machine(f.On)
	if on == nil {
		names := c.names()
		c.say(p.in("on"), "no machine is called %s%s: there are %s", shown(f.On), didYouMean(f.On, names), enumerated(names))
		return
	}
	is := "node"
	if number >= len(c.s.Nodes) {
		is = "client"
	}
	if is == "node" && c.s.Nodes[number].Alias != "" {
		c.say(p.in("on"), "%s is another address of %s: faults happen to that", shown(f.On), shown(c.s.Nodes[number].Alias))
	}
	if k.machines != "" && k.machines != is {
		c.say(p.in("on"), "%s is a %s: %s is a fault of %ss", shown(f.On), is, k.name, k.machines)
	}
	if end := clock.Duration(c.s.last()); c.within(p.in("at"), f.At, 0, 2*maxSpan) && f.At > end {
		c.say(p.in("at"), "%v: the run is over at %v", f.At, end)
	}
	switch {
	case !k.lasts:
		c.none(p.in("for"), f.For != 0, k.name)
	case k.name == "crash" && is == "client":
		c.none(p.in("for"), f.For != 0, "a client's crash")
	case k.name == "crash":
		c.within(p.in("for"), f.For, 0, maxSpan)
	default:
		c.within(p.in("for"), f.For, 1, maxSpan)
	}
	c.faultBy(p.in("by"), f, number)
	if f.Refuse {
		c.none(p.in("refuse"), k.name != "crash", k.name)
		c.none(p.in("refuse"), k.name == "crash" && is == "client", "a client's crash")
	}
	if k.takesKey {
		c.key(p.in("key"), f.Key)
	} else {
		c.none(p.in("key"), f.Key != "", k.name)
	}
	if k.name != "rate" {
		c.none(p.in("rate"), !f.Rate.IsZero(), k.name)
	} else if c.rate(p.in("rate"), f.Rate); f.Rate == on.Rate {
		c.say(p.in("rate"), "%v: the clocks of %s run at that rate anyway", f.Rate, shown(f.On))
	}
}

// faultBy is how far a step goes, or how much a node loses.
func (c *scenarioCheck) faultBy(p place, f *Fault, number int) {
	switch f.Kind {
	case "step":
		if f.By == 0 {
			c.say(p, `missing: how far the wall clock jumps, such as "-1s"`)
		}
		c.within(p, f.By, -maxOffset, maxOffset)
	case "failover":
		c.within(p, f.By, 0, maxSpan)
	case "crash":
		switch {
		case f.By == 0:
		case number >= len(c.s.Nodes):
			c.none(p, true, "a client's crash")
		case c.s.Nodes[number].Persistence == node.EverySecond:
			c.within(p, f.By, 0, everySecondLoss)
		case c.s.Nodes[number].Persistence == node.Snapshot:
			c.within(p, f.By, 0, maxSpan)
		default:
			c.say(p, "only a node with persistence everysec or snapshot loses a part")
		}
	default:
		c.none(p, f.By != 0, f.Kind)
	}
}

// names are those of all machines, in their order.
func (c *scenarioCheck) names() []string {
	names := make([]string, 0, len(c.s.Nodes)+len(c.s.Clients))
	for i := range c.s.Nodes {
		names = append(names, c.s.Nodes[i].Name)
	}
	for i := range c.s.Clients {
		names = append(names, c.s.Clients[i].Name)
	}
	return names
}

func enumerated(names []string) string {
	if len(names) > 12 {
		return strings.Join(names[:12], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// steppedTooFar holds all the steps of a machine together to the bound of one.
func (c *scenarioCheck) steppedTooFar() {
	sum := map[string]clock.Duration{}
	for i := range c.s.Faults {
		f := &c.s.Faults[i]
		if f.Kind != "step" || f.By < -maxOffset || f.By > maxOffset || sum[f.On] > maxOffset {
			continue
		}
		if sum[f.On] += max(f.By, -f.By); sum[f.On] > maxOffset {
			c.say(place{list: "faults", i: i, field: "by"}, "%s has been stepped by %v in all: at most %v are allowed", shown(f.On), sum[f.On], maxOffset)
		}
	}
}

// overlaps refuses two faults of one kind on one machine at the same time: which
// of them counts, and which ends it, would be a guess.
func (c *scenarioCheck) overlaps() {
	var lasting []int
	for i := range c.s.Faults {
		k := slices.Index(faultKindNames, c.s.Faults[i].Kind)
		if f := &c.s.Faults[i]; k >= 0 && faultKinds[k].lasts && 0 <= f.At && f.At <= 2*maxSpan && 0 <= f.For && f.For <= maxSpan {
			lasting = append(lasting, i)
		}
	}
	slices.SortFunc(lasting, func(i, j int) int {
		a, b := &c.s.Faults[i], &c.s.Faults[j]
		return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.At, b.At), cmp.Compare(i, j))
	})
	ruling := 0 // the one of those before that ends last
	for n := 1; n < len(lasting); n++ {
		i := lasting[n]
		a, b := &c.s.Faults[lasting[ruling]], &c.s.Faults[i]
		if a.On != b.On || a.Kind != b.Kind || a.For > 0 && a.At+a.For <= b.At {
			ruling = n
			continue
		}
		c.say(place{list: "faults", i: i, field: "at"}, "%v: the %s of faults[%d] on %s is not over then", b.At, a.Kind, lasting[ruling], shown(b.On))
		if a.For > 0 && (b.For == 0 || b.At+b.For > a.At+a.For) {
			ruling = n
		}
	}
}

func (c *scenarioCheck) expect() {
	e := c.s.Expect
	if e == nil {
		return
	}
	switch {
	case e.OK && len(e.Breaks) > 0:
		c.say(at("expect.breaks"), "none breaks in a run that is ok")
	case e.OK && e.Gap != nil:
		c.say(at("expect.gap"), "I1 holds in a run that is ok: there is no gap below 0")
	case !e.OK && len(e.Breaks) == 0:
		c.say(at("expect.breaks"), `missing: which invariants break, such as ["I2"]; or say that it is ok`)
	}
	for i, inv := range e.Breaks {
		p := place{list: "expect.breaks", i: i}
		switch {
		case inv < I1 || inv > I7:
			c.say(p, "%v is no invariant: I1 to I7 are", inv)
		case i > 0 && inv <= e.Breaks[i-1]:
			c.say(p, "%v: they stand in their order, each once", inv)
		}
	}
	c.text(at("expect.text"), e.Text)
}
