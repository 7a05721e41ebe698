package simtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"driftlock/sim"
	"driftlock/sim/node"
)

// Check draws scenarios of sp, runs w in each as the code of every client, and
// fails t at the first promise that breaks, at the first panic or t.FailNow in w,
// and at code that blocks outside of the simulator. Without w the clients run the
// steps that were drawn: with sim.LockedBy, that is a test of a lock of your own.
//
// What fails is made as small as it can be (sim.Shrink, within the space's fewest
// nodes and clients) and kept in testdata/driftlock, a file a test, under the
// test's name. Check tells what broke, by how much and why, and prints the command
// that runs just that scenario again and tells its whole story:
//
//	DRIFTLOCK_SCENARIO=testdata/driftlock/TestMyWorker.json go test -run '^TestMyWorker$' .
//
// The next Check of that test begins with the file, until it holds. What t.Errorf
// or t.FailNow in w fail is kept as it was drawn, since trying anything smaller
// would write to t's log again and again. With the flag -driftlock.html=FILE of the
// test's program the run in which it fails is drawn there, as a page for the browser.
//
// There are as many scenarios as -rapid.checks says, 100 by default; a fifth of
// that with -short, and again under the race detector. They are others each time,
// unless -rapid.seed says which. A scenario is judged if it was drawn for the TTLs that
// w asks for in it; else it is drawn once more, for those. Where the space draws the
// TTL, it is fixed to the longest. It is an error if no lock is ever granted.
//
// Options are those of sim.Run. Check panics if the Check of sp fails.
func Check(t *testing.T, sp sim.Space, w sim.Workload, opts ...sim.Option) {
	t.Helper()
	if file := os.Getenv(scenarioVariable); file != "" {
		retell(t, file, w, opts)
		return
	}
	c := &check{trials: newTrials(t, w, opts), t: t, base: sp, sp: sp, code: w != nil, file: fileOf(t.Name())}
	defer c.close()
	c.kept()
	c.search()
}

// check is one Check under way.
type check struct {
	*trials
	t    *testing.T
	base sim.Space       // as it was given
	sp   sim.Space       // for the TTLs of the code
	ttls []time.Duration // which these are
	code bool            // the clients run code, not steps
	file string

	unfit int // scenarios that were not judged

	leases   int
	commands int           // that nodes were sent over connections: a service of which nothing is known
	spare    time.Duration // by which keys outlived a deadline at least; means something if some is true
	some     bool
	seen     sim.Probes
}

// kept begins with the scenario that an earlier Check of this test has kept.
func (c *check) kept() {
	c.t.Helper()
	sc, err := load(c.file)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		c.t.Logf("%s was kept by an earlier run and does not fit this version of the code. It is left alone:\n%v", c.file, err)
	default:
		f := c.try(sc)
		switch {
		case f != nil && c.code && f.misfits(&sc):
			c.t.Logf("%s was kept by an earlier run, for other TTLs than those that the code asks for now: %v. It is left alone.", c.file, f.verdict.TTLs)
			return
		case f != nil:
			c.t.Fatal(f.tell("in the scenario that an earlier run has kept") + f.footer(c.t.Name(), c.file, sc.Size()))
		}
		c.t.Logf("%s, in which an earlier run failed, holds now: delete it, or leave it to be tried first.", c.file)
	}
}

// search draws scenarios until one fails.
func (c *check) search() {
	c.t.Helper()
	first, most := firstSeed(), howMany()
	n := 0
	for ; n < most && !c.late(); n++ {
		switch sc, f := c.fitting(first + n); {
		case f == nil:
			c.count()
		case c.code && f.misfits(&sc):
			c.unfit++
		default:
			c.found(sc, f, c.place(n+1, first))
		}
	}
	if c.unfit > 0 {
		c.t.Logf("%d scenarios were not judged: however they were drawn, the code asked for another TTL there", c.unfit)
	}
	switch {
	case c.leases == 0 && c.commands == 0:
		c.t.Fatalf("no lock was granted in %d scenarios of %s, so nothing was at stake. A lock counts if p.Lock made it, p.Witness wraps it, or p.Holds tells of it.", n, c.sp.Name())
	case n < most:
		c.t.Logf("the test's time is nearly up: %d scenarios of %d tried", n, most)
	}
	c.t.Logf("%d scenarios of %s held (-rapid.seed=%d): %d leases%s%s", n-c.unfit, c.sp.Name(), first, c.leases, c.closest(), c.unseen())
}

// drawings is how often a scenario is drawn at most.
const drawings = 8

// fitting draws the scenario of a seed and tries it: once more, until it was drawn for
// the TTLs that the code asks for in it. What goes wrong before may do so because those
// were others. The keys of a service that sends commands of its own, of which nobody
// tells, are no leases: it finds itself what goes wrong with them, and not in scenarios
// of one TTL only.
func (c *check) fitting(seed int) (sc sim.Scenario, f *failure) {
	var asked []time.Duration // in this scenario, however it was drawn
	for range drawings {
		sc = c.draw(seed)
		f = c.try(sc)
		h := c.runner.History()
		if !c.code || h == nil || f != nil && (f.err != nil || f.exited || f.marked) {
			break
		}
		ttls := append(h.Wanted(), c.verdict.TTLs...)
		if len(h.Wanted())+len(c.verdict.Leases) == 0 || !slices.ContainsFunc(ttls, func(d time.Duration) bool { return !slices.Contains(c.ttls, d) }) {
			break
		}
		asked = slices.Compact(slices.Sorted(slices.Values(append(asked, ttls...))))
		c.ttls, c.sp = asked, c.base.Fit(asked...)
	}
	return sc, f
}

// place says which scenario failed, and the seed with which it comes again where
// the kept file is not: a build's log is often all that is left of it.
func (c *check) place(n, first int) string {
	return fmt.Sprintf("in scenario %d of %s (-rapid.seed=%d)", n, c.sp.Name(), first)
}

// draw is the scenario of a seed. Code takes the place of the steps.
func (c *check) draw(seed int) sim.Scenario {
	sc := rapid.Custom(func(t *rapid.T) sim.Scenario { return Draw(t, c.sp) }).Example(seed)
	if c.code {
		for i := range sc.Clients {
			sc.Clients[i].Steps, sc.Clients[i].Repeat = nil, 0
		}
		if len(c.ttls) == 0 { // the lock would refuse a TTL of which less than that is left
			sc.Lock.MinValidity = 0
		}
	}
	return sc
}

// found makes the scenario of a failure small, keeps it, and fails the test.
func (c *check) found(sc sim.Scenario, f *failure, where string) {
	c.t.Helper()
	sc.Name = strings.ToValidUTF8(c.t.Name(), "?")
	size := sc.Size()
	if f.broken != nil || f.panicked != nil { // what t.Errorf says it would say again and again
		if step := c.difference(sc, f); step > 0 {
			c.t.Fatal(unsteady(where, step))
		}
		ctx, cancel := context.WithTimeout(context.Background(), c.shrinkTime())
		small, steps, err := c.smaller(ctx, c.sp, sc, f)
		cancel()
		if f = c.try(small); f == nil || err != nil {
			c.t.Fatal(unsteady(where, 0))
		}
		size = fmt.Sprintf("%s; shrunk in %d steps from %s", small.Size(), steps, size)
		small.Name = sc.Name
		sc = small
	}
	told := f.tell(where)
	if err := keep(c.file, sc); err != nil {
		told += fmt.Sprintf("The scenario could not be kept: %v. This is it:\n%s", err, sc.AppendJSON(nil))
	} else {
		told += f.footer(c.t.Name(), c.file, size)
	}
	c.t.Fatal(told)
}

// endless is longer than any run and any TTL: an end so far off is none.
const endless = 365 * 24 * time.Hour

// count adds up what a run that held came to.
func (c *check) count() {
	v := &c.verdict
	c.leases += len(v.Leases)
	if c.leases == 0 {
		for _, e := range c.runner.History().Events() {
			if e.Kind == sim.Sent && e.Op == node.OpCommand {
				c.commands++
			}
		}
	}
	for _, l := range v.Leases { // the release ignored: it ends trust and exclusion at once
		if l.Slack().Abs() < endless && (!c.some || l.Slack() < c.spare) {
			c.spare, c.some = l.Slack(), true
		}
	}
	for i, n := range v.Probes {
		c.seen[i] += n
	}
}

// closest says by how much it did not break.
func (c *check) closest() string {
	if !c.some {
		return ""
	}
	return fmt.Sprintf(", the keys of each outlived its deadline by %v or more", c.spare)
}

// unseen names the dangerous states of the space that no run has reached: of them a
// test that held says nothing.
func (c *check) unseen() string {
	var list []string
	for _, p := range c.sp.Reaches() {
		if c.seen[p] == 0 {
			list = append(list, p.String())
		}
	}
	if len(list) == 0 {
		return ""
	}
	return ". Never seen: " + strings.Join(list, ", ")
}

// ---- how much

// flagOf is the value of a flag that rapid has.
func flagOf[T any](name string) (value T) {
	if f := flag.Lookup("rapid." + name); f != nil {
		value, _ = f.Value.(flag.Getter).Get().(T)
	}
	return value
}

// howMany scenarios are tried.
func howMany() int {
	n := flagOf[int]("checks")
	if testing.Short() {
		n /= 5
	}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		n /= 5
	}
	return max(n, 1)
}

// firstSeed is the seed of the first scenario.
func firstSeed() int {
	if seed := flagOf[uint64]("seed"); seed != 0 {
		return int(seed)
	}
	return int(time.Now().UnixNano() & math.MaxInt32)
}

// reserve is how long before the test's deadline nothing new is begun.
const reserve = 3 * time.Second

// late says that the test's time is nearly up.
func (c *check) late() bool {
	deadline, ok := c.t.Deadline()
	return ok && time.Until(deadline) < 2*reserve
}

// shrinkTime is how long shrinking may take.
func (c *check) shrinkTime() time.Duration {
	most := flagOf[time.Duration]("shrinktime")
	if deadline, ok := c.t.Deadline(); ok {
		most = min(most, time.Until(deadline)-reserve)
	}
	return most
}
