package sim

import (
	"fmt"
	"slices"
	"time"

	"driftlock/clock"
)

// Mismatch says how a verdict is not the expected one: what should break and did
// not, what broke and should not, and another margin. None: it is. A nil Expect
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
	var broke []Invariant
	for _, x := range v.Violations {
		if !slices.Contains(broke, x.Invariant) {
			broke = append(broke, x.Invariant)
		}
	}
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
	return how
}
