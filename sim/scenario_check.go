package sim

// What makes a scenario one that can be run. Nothing is ignored in silence: a
// field that its kind of step or fault does not take is refused, as is a fault
// that could not happen. The limits keep every instant and every reading within
// int64 nanoseconds: a run of 60 days on a clock that is 100 times too fast, 10
// years of steps and 10 of offset are 37 years, and the simulator's epoch leaves
// 162.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"driftlock/clock"
	"driftlock/sim/flawed"
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

// place is what has a field that may be wrong: list[i] or list[i].sub[j].
type place struct {
	list string
	i    int
	sub  string
	j    int
}

// top is the scenario itself.
var top *place

// path is that of a field in p, or of p.
func (p *place) path(field string) string {
	if p == top {
		return field
	}
	path := fmt.Sprintf("%s[%d]", p.list, p.i)
	if p.sub != "" {
		path += fmt.Sprintf(".%s[%d]", p.sub, p.j)
	}
	if field != "" {
		path += "." + field
	}
	return path
}

// say says what is wrong with a field in p, or, if that is empty, with p.
func (c *scenarioCheck) say(p *place, field, format string, a ...any) {
	c.problems = append(c.problems, &FieldError{Path: p.path(field), Text: fmt.Sprintf(format, a...)})
}

// within refuses a duration that is not in [low, high].
func (c *scenarioCheck) within(p *place, field string, d, low, high clock.Duration) bool {
	switch {
	case low <= d && d <= high:
		return true
	case low == 1 && d <= 0:
		c.say(p, field, "%v: must be above 0", d)
	case low == 0 && d < 0:
		c.say(p, field, "%v: must not be negative", d)
	default:
		c.say(p, field, "%v: must be from %v to %v", d, low, high)
	}
	return false
}

// none refuses a field that the kind of its step or fault does not take.
func (c *scenarioCheck) none(p *place, field string, is bool, what string) {
	if is {
		c.say(p, field, "%s takes none", what)
	}
}

func (c *scenarioCheck) text(p *place, field, s string) {
	switch {
	case !utf8.ValidString(s):
		c.say(p, field, "no valid UTF-8")
	case len(s) > maxText:
		c.say(p, field, "%d bytes: at most %d are allowed", len(s), maxText)
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		c.say(p, field, "a control character: of those only a line break and a tab are allowed")
	}
}

// oneOf refuses a word that is none of the known.
func (c *scenarioCheck) oneOf(p *place, field, word string, known []string) bool {
	if slices.Contains(known, word) {
		return true
	}
	c.say(p, field, "%s is none of %s%s", shown(word), strings.Join(known, ", "), didYouMean(word, known))
	return false
}

// oneOfOr is oneOf where the empty word stands for a default.
func (c *scenarioCheck) oneOfOr(p *place, field, word string, known []string) {
	if word != "" {
		c.oneOf(p, field, word, known)
	}
}

func (c *scenarioCheck) head() {
	switch s := c.s; {
	case s.Version == 0:
		c.say(top, "version", "missing: this program writes and reads version %d", Version)
	case s.Version != Version:
		c.say(top, "version", "%s", wrongVersion(s.Version))
	}
	c.text(top, "name", c.s.Name)
	c.text(top, "about", c.s.About)
	c.text(top, "source", c.s.Source)
	c.oneOfOr(top, "claim", c.s.Claim, claims)
	c.within(top, "until", c.s.Until, 1, maxSpan)
	c.within(top, "grace", c.s.Grace, 0, maxSpan)
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
	minRate          = clock.Ratio(1, maxSpeed)
	maxRate          = clock.Ratio(maxSpeed, 1)
)

func names[S ~string](list []S) []string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = string(s)
	}
	return names
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// only says that a text has no other bytes than those.
func only(text, bytes string) bool {
	for i := range len(text) {
		if strings.IndexByte(bytes, text[i]) < 0 {
			return false
		}
	}
	return true
}

func (c *scenarioCheck) expect() {
	e := c.s.Expect
	if e == nil {
		return
	}
	switch {
	case e.OK && len(e.Breaks) > 0:
		c.say(top, "expect.breaks", "none breaks in a run that is ok")
	case e.OK && e.Gap != nil:
		c.say(top, "expect.gap", "I1 holds in a run that is ok: there is no gap below 0")
	case !e.OK && len(e.Breaks) == 0:
		c.say(top, "expect.breaks", `missing: which invariants break, such as ["I2"]; or say that it is ok`)
	}
	for i, inv := range e.Breaks {
		p := &place{list: "expect.breaks", i: i}
		switch {
		case inv < I1 || inv > I7:
			c.say(p, "", "%v is no invariant: I1 to I7 are", inv)
		case i > 0 && inv <= e.Breaks[i-1]:
			c.say(p, "", "%v: they stand in their order, each once", inv)
		}
	}
	c.text(top, "expect.text", e.Text)
}

// live checks when progress is demanded.
func (c *scenarioCheck) live() {
	if l := c.s.Live; l != nil {
		c.within(top, "live.from", l.From, 0, maxSpan)
		c.within(top, "live.within", l.Within, 0, maxSpan)
	}
}
