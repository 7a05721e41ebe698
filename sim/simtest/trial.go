package simtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"driftlock/sim"
)

// trials runs scenarios, one after the other, and says of each how it fails.
type trials struct {
	t        testing.TB
	opts     []sim.Option
	runner   *sim.Runner
	verdict  sim.Verdict // of the last run
	panicked *sim.Panic  // by it
}

func newTrials(t testing.TB, w sim.Workload, opts []sim.Option) *trials {
	x := &trials{t: t, opts: slices.Clone(opts)}
	if w != nil {
		x.opts = append(x.opts, sim.Do(w))
	}
	x.open()
	return x
}

func (x *trials) open() {
	x.runner = sim.NewRunner(append(slices.Clip(x.opts), sim.OnPanic(func(p sim.Panic) { x.panicked = &p }))...)
}

func (x *trials) close() { x.runner.Close() }

// failure is how a run failed: exactly one of the first five, and what there is of
// the run and its verdict.
type failure struct {
	broken   *sim.Violation // a promise broke
	panicked *sim.Panic     // a process panicked
	exited   bool           // a process called t.FailNow, or runtime.Goexit
	marked   bool           // a process called t.Errorf, or t.Fail
	err      error          // the scenario could not be run to its end

	history *sim.History
	verdict sim.Verdict
}

// try runs a scenario, and returns nil if nothing fails. What it returns is good
// until the next try.
func (x *trials) try(sc sim.Scenario) *failure {
	x.panicked = nil
	failed := x.t.Failed()
	f := &failure{}
	returned := aside(func() { _, f.err = x.runner.Run(sc) })
	if f.history = x.runner.History(); f.history != nil {
		x.verdict = *x.runner.Check()
		f.verdict = x.verdict
	}
	f.panicked = x.panicked
	switch {
	case f.panicked != nil, f.err != nil:
	case !returned && x.t.Skipped():
		x.t.SkipNow()
	case !returned:
		f.exited = true
	case !failed && x.t.Failed():
		f.marked = true
	case f.verdict.OK():
		return nil
	default:
		f.broken = first(&f.verdict)
	}
	return f
}

// first is the first violation, but one that no assumption explains before others.
func first(v *sim.Verdict) *sim.Violation {
	if bugs := v.Bugs(); len(bugs) > 0 {
		return &bugs[0]
	}
	return &v.Violations[0]
}

// misfits says that what broke in a scenario is beyond what the lock promises by TTLs
// alone that the scenario was not drawn for: a node that stays away for 10 s after a
// crash does not for one of 30 s. What the code's options of the lock alone break is its
// own fault.
func (f *failure) misfits(sc *sim.Scenario) bool {
	unmet := slices.DeleteFunc(slices.Clone(f.verdict.Unmet), func(u sim.Unmet) bool { return u.Options })
	return f.broken != nil && sim.Explained(f.broken.Invariant, unmet) && !sim.Explained(f.broken.Invariant, sim.Assumptions(sc))
}

// difference is the first step at which another run of the scenario is not the
// same as that of f; 0: there is none.
func (x *trials) difference(sc sim.Scenario, f *failure) (step int) {
	y := &trials{t: x.t, opts: x.opts}
	y.open()
	defer y.close()
	y.try(sc)
	other := y.runner.History()
	if f.history == nil || other == nil {
		return 1
	}
	step, _ = sim.FirstDifference(f.history, other)
	return step
}

// aside runs f on a goroutine of its own, and says whether it returned: it may end
// with runtime.Goexit. A panic is one of a process, which OnPanic has told.
func aside(f func()) (returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
		returned = true
	}()
	<-done
	return returned
}

// smaller shrinks a scenario that fails in the way of f. It returns how many it ran.
func (x *trials) smaller(ctx context.Context, sp sim.Space, sc sim.Scenario, f *failure) (small sim.Scenario, steps int, err error) {
	small = sc
	switch {
	case f.broken != nil:
		keep := f.broken.Invariant
		aside(func() { small, steps, err = sp.Shrink(ctx, sc, keep, x.opts...) })
	case f.panicked != nil:
		want := origin(f.panicked)
		small, steps = sp.ShrinkWhile(ctx, sc, func(c sim.Scenario) (events int, fails bool) {
			is := x.try(c)
			if is == nil || is.panicked == nil {
				return 0, false
			}
			return is.panicked.Step, origin(is.panicked) == want
		})
		small.About = fmt.Sprintf("%s panics. Shrunk from %s.", f.panicked.Process, sc.Size())
	}
	return small, steps, err
}

// origin is where a panic came from: what it was, and the line of code.
func origin(p *sim.Panic) string {
	place := ""
	if frames := own(p.Stack); len(frames) > 1 {
		place, _, _ = strings.Cut(strings.TrimSpace(frames[1]), " ") // "file.go:12 +0x2c"
	}
	return fmt.Sprintf("%T %s", p.Value, place)
}

// own are the lines of a stack that are of the workload, two a frame: from the one
// that panicked up to the simulator.
func own(stack string) []string {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") {
			lines = lines[i:]
			break
		}
		if strings.HasPrefix(l, "driftlock/sim.(*Process).Fatalf(") && len(lines) > i+2 { // it is no panic
			lines = lines[i+2:]
			break
		}
	}
	for len(lines) > 2 && (strings.HasPrefix(lines[0], "panic(") || strings.HasPrefix(lines[0], "runtime.")) {
		lines = lines[2:]
	}
	for i, l := range lines {
		if strings.HasPrefix(l, "driftlock/sim.(*Process).run(") || strings.HasPrefix(l, "driftlock/sim.(*routine).") {
			return lines[:i]
		}
	}
	return lines
}
