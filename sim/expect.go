package sim

import (
	"fmt"
	"slices"
	"time"

	"driftlock/clock"
)

// Mismatch says how a verdict is not the expected one: what should break and did
// not, what broke and should not, and another margin or gap. None: it is. A nil Expect
// expects that nothing breaks.
func (e *Expect) Mismatch(v Verdict) (how []string) {
	if e == nil {
		e = &Expect{OK: true}
	}
	say := func(format string, a ...any) { how = append(how, fmt.Sprintf(format, a...)) }
	switch {
	case e.OK && !v.OK():
		say("expected to hold, but it broke")
	case !e.OK && v.OK():
		say("expected to break, but it held")
	}
	broke := v.Broken()
	for _, i := range e.Breaks {
		if !slices.Contains(broke, i) {
			say("%v (%s) should break and did not", i, i.Word())
		}
	}
	for _, i := range broke {
		if !slices.Contains(e.Breaks, i) {
			say("%v (%s) broke and should not", i, i.Word())
		}
	}
	if e.Margin != nil {
		switch m, ok := v.Margin(); {
		case !ok:
			say("a margin of %v was expected, but no lease was granted", *e.Margin)
		case m != time.Duration(*e.Margin):
			say("the margin should be %v and is %v", *e.Margin, clock.Duration(m))
		}
	}
	if e.Gap != nil {
		switch gap, ok := v.Gap(); {
		case !ok:
			say("a gap of %v was expected, but no two leases overlap", *e.Gap)
		case gap != time.Duration(*e.Gap):
			say("the gap should be %v and is %v", *e.Gap, clock.Duration(gap))
		}
	}
	return how
}
