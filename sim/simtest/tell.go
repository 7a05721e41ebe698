package simtest

import (
	"fmt"
	"slices"
	"strings"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/picture"
	"driftlock/sim/timeline"
)

// tell says how a run failed, in a line, and what of the lock's promise broke, in
// about a screen.
func (f *failure) tell(where string) string {
	var b strings.Builder
	switch {
	case f.broken != nil:
		fmt.Fprintf(&b, "%v (%s) broke %s%s\n\n", f.broken.Invariant, f.broken.Invariant.Word(), where, margin(f.broken))
	case f.panicked != nil:
		p := f.panicked
		fmt.Fprintf(&b, "%s panicked %s, at step %d, true time %v: %v\n%s\n\n", p.Process, where, p.Step, clock.Duration(p.At), p.Value, strings.Join(own(p.Stack), "\n"))
	case f.exited:
		fmt.Fprintf(&b, "the code ended the test %s, at step %d, true time %v (t.FailNow, t.Fatal or runtime.Goexit)\n\n", where, f.history.Len(), clock.Duration(f.history.End()))
	case f.marked:
		fmt.Fprintf(&b, "the code failed the test %s (t.Errorf, t.Error or t.Fail)\n\n", where)
	case f.err != nil:
		fmt.Fprintf(&b, "%s came to no end: %v\n\n", where, f.err)
	}
	if !f.verdict.OK() {
		b.WriteString(f.screen())
		b.WriteByte('\n')
	}
	return b.String()
}

// margin is that of a violation, if it has one.
func margin(x *sim.Violation) string {
	if !x.HasMargin {
		return ""
	}
	return fmt.Sprintf(", margin %v", x.Margin)
}

// screen is what broke and why, beginning with what is to be told first.
func (f *failure) screen() string {
	var b strings.Builder
	timeline.Screen(&b, f.history, f.told(), 0, timeline.Style{}) // a Builder takes everything
	return b.String()
}

// told is the verdict with what is to be told first in front.
func (f *failure) told() sim.Verdict {
	v := f.verdict
	if f.broken != nil {
		rest := slices.DeleteFunc(slices.Clone(v.Violations), func(x sim.Violation) bool { return x == *f.broken })
		v.Violations = slices.Insert(rest, 0, *f.broken)
	}
	return v
}

// story tells a run step by step, as far as it went.
func story(h *sim.History, v sim.Verdict) string {
	if h == nil {
		return ""
	}
	var b strings.Builder
	timeline.Write(&b, h, v, timeline.View{}, timeline.Style{})
	return b.String()
}

// unsteady says that a failure did not come again.
func unsteady(where string, step int) string {
	text := "something broke " + where + ", and another run of it was not the same"
	if step > 0 {
		text += fmt.Sprintf(" from step %d on", step)
	}
	return text + ". The code hangs on more than its Process: on real time, a random source of its own, the order of a map, a goroutine, or on what an earlier run has left behind. Use p.Clock, p.Rand and p.Go, and begin each run with nothing."
}

// footer says where the scenario is kept, how to come back to it, and where its
// picture is.
func (f *failure) footer(test, file, size string) string {
	text := fmt.Sprintf("Scenario: %s (%s)\nRerun:    %s\n", file, size, rerun(test, file))
	if f.history != nil {
		text += fmt.Sprintf("Hash:     %v\n", f.history.Hash())
		text += draw(test, f.history, f.told(), f.options(test, file))
	}
	return text
}

// options are what the picture of a failure says.
func (f *failure) options(test, file string) picture.Options {
	o := picture.Options{Title: test, Command: rerun(test, file)}
	if f.broken == nil {
		o.Failure, _, _ = strings.Cut(f.tell("in this run"), "\n")
	}
	return o
}
