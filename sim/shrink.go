package sim

// Shrinking a scenario that breaks a promise to the smallest that still does. It
// edits the scenario and never draws it anew: since every draw of a run is keyed,
// what an edit does not touch goes on as before. Three sorts of edits, over and
// over until none is left that helps: fewer parts (shrink_lists.go), fields back
// to their defaults and rounder numbers (shrink_values.go). A run of many more
// events is no smaller, though its scenario is: a client that does not sleep first
// may ask in vain a thousand times.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"driftlock/clock"
)

// ErrNotBroken says that a scenario does not break what it was to be shrunk for.
var ErrNotBroken = errors.New("sim: the scenario does not break it")

// ErrDiffers says that two runs of one scenario were not the same: something in
// the workload hangs on more than its Process.
var ErrDiffers = errors.New("sim: two runs of one scenario differ")

// Shrink returns the smallest scenario found that still breaks keep, and how many
// it ran to find it: fewer clients, nodes, faults, cuts, rules and steps, then
// rounder numbers. What is left of sc is edited, never drawn anew, and the same sc
// gives the same result. Nothing more can be taken away from it alone, unless ctx
// ended or a limit of 20,000 runs was reached: then it is the best so far.
//
// The result breaks no assumption that sc keeps, so a bug stays one, and expects
// its own verdict. Options are those of Run: with a workload of code the clients'
// steps are left alone, and so is a TTL that the code asks for. A panic of a process in a
// smaller scenario counts as another failure; runtime.Goexit, which t.FailNow calls, is
// passed on.
//
// The error is Run's, ErrNotBroken or ErrDiffers, and sc is then returned as it is.
func Shrink(ctx context.Context, sc Scenario, keep Invariant, opts ...Option) (Scenario, int, error) {
	return shrink(ctx, sc, keep, floor{1, 1}, opts)
}

// Shrink is the function Shrink, but keeps at least as many nodes and clients as
// the scenarios of the space have.
func (sp Space) Shrink(ctx context.Context, sc Scenario, keep Invariant, opts ...Option) (Scenario, int, error) {
	return shrink(ctx, sc, keep, sp.floor(), opts)
}

// ShrinkWhile is Shrink for another sort of failure: run runs a scenario and says
// whether it fails, which it must of sc, and how many events it had.
func (sp Space) ShrinkWhile(ctx context.Context, sc Scenario, run func(Scenario) (events int, fails bool)) (Scenario, int) {
	return reduce(ctx, sc, sp.floor(), run)
}

// floor is how many machines must be left.
type floor struct{ nodes, clients int }

func (sp Space) floor() floor { return floor{max(1, sp.nodes[0]), max(1, sp.clients[0])} }

func shrink(ctx context.Context, sc Scenario, keep Invariant, least floor, opts []Option) (Scenario, int, error) {
	r := NewRunner(opts...)
	defer r.Close()
	goal, err := goalOf(r, sc, keep)
	if err != nil {
		return sc, 0, err
	}
	small, steps := reduce(ctx, sc, least, func(c Scenario) (events int, fails bool) {
		defer func() { _ = recover() }() // the process's panic; the Runner is as new
		h, err := r.Run(c)
		if err != nil {
			return 0, false
		}
		return h.Len(), goal.reached(&c, r.Check())
	})
	if _, err := r.Run(small); err != nil {
		return sc, steps, err
	}
	label(&small, &sc, keep, r.Check())
	return small, steps, nil
}

// goal is what a smaller scenario must have in common with the first.
type goal struct {
	keep   Invariant
	unmet  uint // assumptions that need not be kept, a bit each: those that options of the code break have others
	inTime bool // the break is over before the run is
	heals  bool // a quorum of nodes is well when progress is demanded
	asked  bool // code asks for the scenario's TTL
}

// goalOf runs sc twice, since what is shrunk must repeat itself.
func goalOf(r *Runner, sc Scenario, keep Invariant) (goal, error) {
	h, err := r.Run(sc)
	if err != nil {
		return goal{}, err
	}
	hash, v := h.Hash(), r.Check()
	g := goal{keep: keep, unmet: unmetSet(v.Unmet), heals: sc.heals(), asked: !r.opts.steps() && v.asked(&sc), inTime: true}
	if !g.reached(&sc, v) {
		g.inTime = false
	}
	if !g.reached(&sc, v) {
		return g, fmt.Errorf("%w: %v (%s)", ErrNotBroken, keep, keep.Word())
	}
	if h, err = r.Run(sc); err != nil {
		return g, err
	}
	if h.Hash() != hash {
		return g, fmt.Errorf("%w: hashes %v and %v", ErrDiffers, hash, h.Hash())
	}
	return g, nil
}

func unmetSet(unmet []Unmet) (set uint) {
	for _, u := range unmet {
		bit := uint(u.Assumption)
		if u.Options {
			bit += uint(A6)
		}
		set |= 1 << bit
	}
	return set
}

// reached says whether a run broke what it should.
func (g *goal) reached(sc *Scenario, v *Verdict) bool {
	if unmetSet(v.Unmet)&^g.unmet != 0 || g.keep == I4 && g.heals && !sc.heals() || g.asked && !v.asked(sc) {
		return false
	}
	for i := range v.Violations {
		if x := &v.Violations[i]; x.Invariant == g.keep && (!g.inTime || v.over(x) <= int64(sc.Until)) {
			return true
		}
	}
	return false
}

// asked says whether keys were set for the scenario's TTL.
func (v *Verdict) asked(sc *Scenario) bool {
	return slices.Contains(v.TTLs, time.Duration(sc.Lock.TTL).Truncate(time.Millisecond))
}

// over is when there is nothing left to see of a violation: the trust in its lease
// has ended, or in one of the two.
func (v *Verdict) over(x *Violation) int64 {
	end := int64(never)
	for _, i := range []int{x.Lease, x.Other} {
		if i >= 0 {
			end = min(end, v.Leases[i].TrustEnds)
		}
	}
	if end == never {
		return x.At
	}
	return max(x.At, end)
}

// heals says whether, once progress is demanded, a quorum of nodes has no fault
// any more and is cut off from nobody. Without one no lock could go on.
func (s *Scenario) heals() bool {
	if s.Live == nil {
		return false
	}
	well := 0
	for i := range s.Nodes {
		if s.well(s.Nodes[i].Name, s.Live.From) {
			well++
		}
	}
	return well > len(s.Nodes)/2
}

func (s *Scenario) well(node string, from clock.Duration) bool {
	for i := range s.Faults {
		if f := &s.Faults[i]; f.On == node && (f.At+f.For > from || f.Kind == "crash" && f.For == 0) {
			return false
		}
	}
	for i := range s.Network.Cuts {
		c := &s.Network.Cuts[i]
		if (c.For == 0 || c.At+c.For > from) && (slices.Contains(c.From, node) || slices.Contains(c.To, node)) {
			return false
		}
	}
	return true
}

// label says of a shrunk scenario what it is and what it comes to.
func label(sc, was *Scenario, keep Invariant, v *Verdict) {
	name := "a scenario"
	if was.Name != "" {
		name = clipped(was.Name)
		if !strings.HasSuffix(was.Name, shrunk) && len(was.Name)+len(shrunk) <= maxText {
			sc.Name += shrunk
		}
	}
	sc.About = fmt.Sprintf("%v (%s) breaks. Shrunk from %s: %s.", keep, keep.Word(), name, was.Size())
	sc.Expect = &Expect{Breaks: v.Broken()}
	if m, ok := v.Margin(); ok && max(m, -m) < time.Duration(maxSpan) { // else an end that no run reaches
		sc.Expect.Margin = new(clock.Duration(m))
	}
}

const shrunk = "-shrunk"

// Size is what there is of a scenario: "3 nodes, 2 clients, 1 fault".
func (s *Scenario) Size() string {
	parts := []string{counted(len(s.Nodes), "node"), counted(len(s.Clients), "client")}
	for _, more := range []struct {
		n    int
		what string
	}{{len(s.Faults), "fault"}, {len(s.Network.Cuts), "cut"}, {len(s.Network.Rules), "rule"}} {
		if more.n > 0 {
			parts = append(parts, counted(more.n, more.what))
		}
	}
	return strings.Join(parts, ", ")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
