package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"driftlock/clock"
)

// A Space is a family of scenarios, of which a seed (Generate) or another Drawer
// (Draw) picks one. It is a value: each method returns a changed copy. An
// argument that makes no sense is told by Check; Draw panics with it.
type Space struct {
	name, about string

	nodes, clients [2]int           // fewest, most
	ttl            clock.Duration   // 0: drawn
	asked          []clock.Duration // TTLs that code asks for, in whole milliseconds
	factor         string           // empty: drawn

	bound   clock.Drift // of every rate; used unless covered
	covered bool        // rates by what factor and buffer cover
	beyond  int64       // how much more drift than that at most, in ppm
	brink   bool        // every rate within the same ±δ; beyond is how much that is more than δ*
	certain bool        // nothing that could save a lease: every draw breaks

	sampling Sampling

	off   faults  // classes of faults that do not occur
	sure  faults  // classes that always do
	tame  bool    // none goes beyond what the lock assumes
	wild  bool    // a space of machines' faults
	reach []Probe // states that its runs get to
	err   error
}

// Drift is the space of clocks within ±bound of true time, whatever the lock
// covers.
func Drift(bound clock.Drift) Space {
	sp := newSpace("drift"+bound.String(), fmt.Sprintf("every clock within ±%s of true time", strings.TrimPrefix(bound.String(), "+")))
	sp.bound = bound
	if bound < 0 || bound > 900_000*clock.PPM {
		sp.err = fmt.Errorf("a drift of %v: must be from 0 to 900000ppm", bound)
	}
	return sp
}

// DriftCovered is the space "drift": clocks within what the drift factor and the
// buffer cover, exactly (f_min of docs/drift-math.md), and often just so. No promise
// of the lock breaks in it.
func DriftCovered() Space {
	sp := newSpace("drift", "clocks drift as far as factor and buffer cover, and no further")
	sp.covered = true
	return sp
}

// DriftWide is the space "drift-wide": clocks drift up to 20 % more than the
// drift factor and the buffer cover. Breaks are to be found, but not everywhere.
func DriftWide() Space {
	sp := newSpace("drift-wide", "clocks drift up to 20 % more than factor and buffer cover")
	sp.covered, sp.beyond = true, 200_000
	return sp
}

// Brink is the space of clocks on both sides within ±δ, where δ is beyond ppm more
// than δ* = (1−s)/(1+s), s = (T(1−f) − b) / (T − g): the symmetric drift that factor
// and buffer just cover (docs/drift-math.md; f/(2−f) where b and g are 0). At 0
// nothing breaks in it.
func Brink(beyond int) Space {
	sp := newSpace("brink", fmt.Sprintf("every clock within ±δ, %d ppm more than the δ* that factor and buffer cover", beyond))
	sp.covered, sp.brink, sp.beyond = true, true, int64(beyond)
	if beyond < 0 || beyond > 1_000_000 {
		sp.err = fmt.Errorf("%d ppm beyond the bound: must be from 0 to 1000000", beyond)
	}
	return sp
}

// Canary is the space "canary": clocks drift twice as far as the drift factor
// and the buffer cover, each lease is granted by a bare quorum of fast nodes and
// trusted to its end. With the factor and the TTLs that it draws every one of its
// scenarios breaks I2: it proves that the alarm works.
func Canary() Space {
	sp := newSpace("canary", "clocks drift twice as far as factor and buffer cover: every lease breaks")
	sp.covered, sp.beyond, sp.certain = true, 1_000_000, true
	return sp.Without("loss").Without("delay")
}

// Faulty is the space "faulty": every class of faults, each off in a random part
// of the seeds. In half of them none goes beyond what the lock assumes; in most
// others one class does.
func Faulty() Space {
	sp := wild("faulty", "every class of faults, each off in a random part of the seeds")
	sp.off = 0
	for p := range probes {
		sp.reach = append(sp.reach, p)
	}
	return sp
}

// Tame is the space "tame": every class of faults, none beyond what the lock
// assumes. No promise of the lock breaks in it, I3 excepted where fence numbers
// get lost.
func Tame() Space {
	sp := Faulty()
	sp.name, sp.about, sp.tame = "tame", "every class of faults, and none beyond A1 to A5 (fence numbers may get lost: A6)", true
	sp.reach = slices.DeleteFunc(slices.Clone(sp.reach), func(p Probe) bool { return p == ProbeClockStopped || p == ProbeGhost })
	return sp
}

// FaultsOf is the space of one class of faults, which has its name, "crash" say:
// every seed has it, and half of them beyond what the lock assumes.
func FaultsOf(class string) Space {
	i := slices.Index(faultNames, class)
	if i < 0 || ofAnySpace&(1<<i) != 0 {
		return Space{name: class, err: fmt.Errorf("no class of machines' faults is called %s%s", shown(class), didYouMean(class, faultNames))}
	}
	c := faultClasses[i]
	sp := wild(c.name, c.about)
	sp.sure = 1 << i
	if sp.sure == faultFence { // what a fence is for
		sp.sure |= faultPause
	}
	sp.off = allFaults &^ (ofAnySpace | sp.sure)
	sp.reach = append(sp.reach, c.reach...)
	return sp
}

// wild is a space of faults of machines.
func wild(name, about string) Space {
	sp := newSpace(name, about)
	sp.covered, sp.wild = true, true
	return sp
}

func newSpace(name, about string) Space {
	return Space{name: name, about: about, nodes: [2]int{3, 7}, clients: [2]int{1, 4}, off: allFaults &^ ofAnySpace,
		reach: []Probe{ProbeGrant, ProbeRanOut, ProbeMinimalQuorum, ProbeHeld, ProbeHandover}}
}

// Spaces are those that have a name on the command line.
func Spaces() []Space {
	all := []Space{DriftCovered(), DriftWide(), Brink(10_000), Canary(), Faulty(), Tame()}
	for i, name := range faultNames {
		if ofAnySpace&(1<<i) == 0 {
			all = append(all, FaultsOf(name))
		}
	}
	return all
}

// FindSpace returns the space of that name.
func FindSpace(name string) (Space, error) {
	var names []string
	for _, sp := range Spaces() {
		if sp.name == name {
			return sp, nil
		}
		names = append(names, sp.name)
	}
	return Space{}, fmt.Errorf("no space is called %s%s: there are %s", shown(name), didYouMean(name, names), strings.Join(names, ", "))
}

// Name is "drift-wide", say.
func (sp Space) Name() string { return sp.name }

// Nodes sets the fewest and the most nodes; 3 and 7 unless set.
func (sp Space) Nodes(low, high int) Space {
	sp.nodes = sp.between("nodes", low, high)
	return sp
}

// Clients sets the fewest and the most clients; 1 and 4 unless set.
func (sp Space) Clients(low, high int) Space {
	sp.clients = sp.between("clients", low, high)
	return sp
}

func (sp *Space) between(what string, low, high int) [2]int {
	if low < 1 || low > high || high > maxMachines {
		sp.err = cmp.Or(sp.err, fmt.Errorf("%d to %d %s: must be within 1 to %d", low, high, what, maxMachines))
	}
	return [2]int{low, high}
}

// TTL fixes the TTL; otherwise it is drawn from 1 ms to 60 s.
func (sp Space) TTL(d time.Duration) Space {
	sp.ttl = clock.Duration(d)
	if sp.ttl < clock.Duration(time.Millisecond) || sp.ttl > maxSpan/100 {
		sp.err = cmp.Or(sp.err, fmt.Errorf("a ttl of %v: must be from 1ms to %v", d, maxSpan/100))
	}
	return sp
}

// Fit makes the space one of scenarios for code that asks for these TTLs (see
// History.Wanted and Verdict.TTLs): drift, steps, quarantines and the validity that a
// grant must have are drawn so that what is covered of one TTL is of all. If the space
// draws the TTL, it is fixed to the longest: delays, timeouts and the length of the run
// go with that. Without any nothing changes.
func (sp Space) Fit(ttls ...time.Duration) Space {
	sp.asked = nil
	for _, d := range ttls {
		d = min(max(d.Truncate(time.Millisecond), time.Millisecond), time.Duration(maxSpan/100))
		sp.asked = append(sp.asked, clock.Duration(d))
	}
	if sp.ttl == 0 && len(sp.asked) > 0 {
		sp.ttl = slices.Max(sp.asked)
	}
	return sp
}

// Factor fixes the drift factor, a decimal such as "0.01"; otherwise it is that
// or one of a few others.
func (sp Space) Factor(f string) Space {
	sp.factor = f
	if _, err := factorPPB(f); err != nil {
		sp.err = cmp.Or(sp.err, fmt.Errorf("the drift factor %w", err))
	}
	return sp
}

// Without leaves a class of faults out: "loss", "delay", "crash" and so on.
func (sp Space) Without(fault string) Space {
	i := slices.Index(faultNames, fault)
	if i < 0 {
		sp.err = cmp.Or(sp.err, fmt.Errorf("no class of faults is called %s%s: there are %s", shown(fault), didYouMean(fault, faultNames), strings.Join(faultNames, ", ")))
		return sp
	}
	sp.off |= 1 << i
	sp.sure &^= 1 << i
	return sp
}

// Check says what is wrong with the arguments that the space was made with.
func (sp Space) Check() error {
	switch {
	case sp.err != nil:
		return fmt.Errorf("space %s: %w", sp.name, sp.err)
	case sp.name == "":
		return errors.New("a space is made by Drift, DriftWide and the like: this one is empty")
	}
	return nil
}

// Reaches are the dangerous states that the runs of the space get to: where a
// search never saw one of them, it has not looked far enough.
func (sp Space) Reaches() []Probe { return slices.Clone(sp.reach) }

// String is the space in one line: "drift-wide: clocks drift …".
func (sp Space) String() string { return sp.name + ": " + sp.about }

// Describe writes the space and its bounds for people, a line each.
func (sp Space) Describe() string {
	var b strings.Builder
	line := func(what, format string, a ...any) {
		fmt.Fprintf(&b, "  %-8s %s\n", what, fmt.Sprintf(format, a...))
	}
	b.WriteString(sp.String() + "\n")
	line("nodes", "%s", fromTo(sp.nodes))
	line("clients", "%s", fromTo(sp.clients))
	if sp.ttl != 0 {
		line("ttl", "%v", sp.ttl)
	} else {
		line("ttl", "%s", map[bool]string{false: "1ms to 1m0s, mostly 10s, 1s, 30s or 100ms", true: "10s, 1s, 30s or 100ms"}[sp.certain])
	}
	if sp.certain && sp.factor == "" {
		sp.factor = factors[0]
	}
	if sp.factor != "" {
		line("factor", "%s", sp.factor)
	} else {
		line("factor", "mostly 0.01, else %s", strings.Join(factors[1:], ", "))
	}
	switch {
	case !sp.covered:
		line("rates", "%v to %v", -sp.bound, sp.bound)
	case sp.brink:
		line("rates", "1 ± δ, δ %d ppm more than (1 − s)/(1 + s), s = (T(1−f) − b) / (T − g)", sp.beyond)
	case sp.beyond == 0:
		line("rates", "slowest client / fastest node ≥ (T(1−f) − b) / (T − g)")
	default:
		line("rates", "1 − slowest client / fastest node ≤ %d.%d × (1 − (T(1−f) − b) / (T − g))", 1+sp.beyond/1e6, sp.beyond/1e5%10)
	}
	if sp.sampling != Informed {
		line("draws", "%v: %s", sp.sampling, sp.sampling.about())
	}
	var on []string
	for i, name := range faultNames {
		if sp.off&(1<<i) == 0 {
			on = append(on, name)
		}
	}
	switch {
	case sp.tame:
		line("besides", "%s; each in a random part of the seeds, and none beyond A1 to A5", strings.Join(on, ", "))
	case sp.sure != 0:
		line("besides", "%s; each but the last in a random part of the seeds", strings.Join(on, ", "))
	default:
		line("besides", "%s; each in a random part of the seeds", strings.Join(on, ", "))
	}
	return b.String()
}

func fromTo(r [2]int) string {
	if r[0] == r[1] {
		return fmt.Sprint(r[0])
	}
	return fmt.Sprintf("%d to %d", r[0], r[1])
}
