package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"driftlock/sim"
)

// A mark is an instant that the world knows and no machine notices.
type mark struct {
	at    int64
	local int64 // what the holder's clock says then
	reads bool  // local means something
	after bool  // it comes of what happens at that instant
	text  string
	tint
	client, key string // whom it is about
}

// marksOf finds the instants to mark, in order: where trust ran to its deadline
// the ends of trust and of exclusion, and every break of a promise.
func marksOf(h *sim.History, c cast, v sim.Verdict) []mark {
	var marks []mark
	for _, l := range v.Leases {
		if l.RanOut() || l.Margin() < 0 {
			m := mark{at: l.TrustEnds, client: l.Client, key: l.Key, text: fmt.Sprintf("%s no longer trusts its lock on %q (%s)", clean(l.Client), l.Key, shortest(l.TrustEnds)), tint: strong}
			if client := c.clientIndex(l.Client); client >= 0 {
				m.local, m.reads = h.ClientReading(client, l.TrustEnds), true
			}
			marks = append(marks, m)
		}
		if l.RanOut() && l.Margin() >= 0 && l.ExclusionEnds != never {
			marks = append(marks, mark{at: l.ExclusionEnds, tint: strong, client: l.Client, key: l.Key,
				text: fmt.Sprintf("%s for %s on %q: a rival could get it (%s)", c.tooFewBlock(), clean(l.Client), l.Key, shortest(l.ExclusionEnds))})
		}
	}
	for i, x := range v.Violations {
		alike := func(o sim.Violation) bool {
			return o.Invariant == x.Invariant && o.At == x.At && o.Client == x.Client && o.Key == x.Key && !o.HasMargin && !x.HasMargin
		}
		if slices.ContainsFunc(v.Violations[:i], alike) {
			continue
		}
		more := 0
		for _, o := range v.Violations[i+1:] {
			if alike(o) {
				more++
			}
		}
		text := strings.TrimSuffix(Headline(v, x), ".")
		if x.Invariant == sim.I2 && x.HasMargin {
			text = fmt.Sprintf("I2 (sound): from here on (%s) %s for %s on %q, and it trusts that for another %s",
				shortest(x.At), c.tooFewBlock(), clean(x.Client), x.Key, length(x.Margin))
		}
		if more > 0 {
			text += fmt.Sprintf("; and %s more then", times(more))
		}
		marks = append(marks, mark{at: x.At, after: x.Invariant != sim.I2, text: "BROKEN " + text, tint: bad, client: x.Client, key: x.Key})
	}
	slices.SortStableFunc(marks, func(a, b mark) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.after == b.after:
			return 0
		case b.after:
			return -1
		}
		return 1
	})
	return marks
}

// skipUntil passes over the marks that markUntil would write.
func (s *story) skipUntil(at int64) {
	for len(s.marks) > 0 && (s.marks[0].at < at || s.marks[0].at == at && !s.marks[0].after) {
		s.marks = s.marks[1:]
	}
}

// markUntil writes the marks that come before what happens at an instant.
func (s *story) markUntil(at int64) {
	for len(s.marks) > 0 && (s.marks[0].at < at || s.marks[0].at == at && !s.marks[0].after) {
		m := s.marks[0]
		s.marks = s.marks[1:]
		s.add(line{at: m.at, local: m.local, reads: m.reads, text: m.text, tint: m.tint})
	}
}
