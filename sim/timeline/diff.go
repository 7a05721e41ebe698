package timeline

import (
	"fmt"
	"io"

	"driftlock/sim"
)

// Lines around the step at which two runs part.
const (
	sharedLines = 4
	ownLines    = 8
)

// Course is the first step at which two runs, which differ, take another course:
// something else happens, or somebody else does it. Instants, readings of clocks
// and owner values do not count. 0: the course is the same.
func Course(a, b *sim.History) int {
	for step := 1; step <= max(a.Len(), b.Len()); step++ {
		if step > a.Len() || step > b.Len() {
			return step
		}
		x, y := a.Event(step), b.Event(step)
		if x.Kind != y.Kind || x.Op != y.Op || x.Status != y.Status || x.Client != y.Client || x.Node != y.Node || x.Proc != y.Proc ||
			a.Text(x.Key) != b.Text(y.Key) || (x.Value < 0) != (y.Value < 0) {
			return step
		}
	}
	return 0
}

// Around writes what two runs did around a step: a few lines of both that are the
// same, then those of the one (A) and of the other (B), each event with its step.
func Around(w io.Writer, a, b *sim.History, step int, st Style) error {
	sa, sb := near(a, step), near(b, step)
	s := &story{page: page{Style: st}, h: a, cast: sa.cast, level: Everything}
	for _, l := range sa.lines {
		if l.step < step {
			l.tag = " "
			s.lines = append(s.lines, l)
		}
	}
	for _, side := range []struct {
		tag string
		of  *story
	}{{"A", sa}, {"B", sb}} {
		for _, l := range side.of.lines {
			if l.step >= step {
				l.tag = side.tag
				s.lines = append(s.lines, l)
			}
		}
		if side.of.h.Len() < step {
			s.lines = append(s.lines, line{at: side.of.h.End(), tag: side.tag, text: fmt.Sprintf("had ended after step #%d", side.of.h.Len()), tint: warn})
		}
	}
	s.table()
	return s.page.writeTo(w)
}

// near is the lines of every event near a step.
func near(h *sim.History, step int) *story {
	return storyOf(h, sim.Verdict{}, View{Level: Everything, From: max(1, step-sharedLines), Until: min(h.Len(), step+ownLines-1)})
}
