package timeline

import (
	"strings"
	"unicode/utf8"

	"driftlock/sim"
)

// Widths of a line with a bar: label, bar, and 18 columns for where it ends.
const (
	labelWidth = 23
	barWidth   = 38
)

// span is a stretch of true time, without its end.
type span struct{ from, to int64 }

func (s span) has(at int64) bool { return s.from <= at && at < s.to }

// axis is the stretch of true time that all bars of a picture share.
type axis struct{ span }

// axisOver shows all spans from the first to the last instant, or, where what
// counts (gap) would be too small to be seen, only the end of it.
func axisOver(spans []span, gap span) axis {
	a := axis{span{spans[0].from, spans[0].from}}
	for _, s := range spans {
		a.from = min(a.from, s.from)
		if s.to != never {
			a.to = max(a.to, s.to)
		}
	}
	if size := gap.to - gap.from; gap.to != never && size > 0 && size < 2*(a.to-a.from)/barWidth {
		a.from = max(a.from, gap.from-9*size)
		a.to = min(a.to, gap.to+2*size)
	}
	a.to = max(a.to, a.from+1)
	return a
}

// instant is the true time in the middle of a column.
func (a axis) instant(column int) int64 {
	width := a.to - a.from
	step := width / barWidth
	return a.from + step*int64(column) + (width-step*barWidth)*int64(column)/barWidth + step/2
}

// bar draws where the spans are, and marks what of them lies in danger.
func (a axis) bar(st Style, spans []span, danger span, t tint) string {
	var b strings.Builder
	var run strings.Builder
	now := plain
	flush := func() {
		b.WriteString(st.paint(now, run.String()))
		run.Reset()
	}
	for i := range barWidth {
		at := a.instant(i)
		cell, want := " ", plain
		for _, s := range spans {
			if s.has(at) {
				cell, want = "█", t
				if i == 0 && s.from < a.from {
					cell = "«"
				}
				if danger.has(at) {
					cell, want = "!", bad
				}
			}
		}
		if want != now {
			flush()
			now = want
		}
		run.WriteString(cell)
	}
	flush()
	return b.String()
}

// row is a line with a bar.
func (p *page) row(label, bar, end string) {
	p.line(pad(label, labelWidth) + bar + " " + end)
}

// scale is the line above the bars: where the axis begins and ends.
func (p *page) scale(a axis) {
	from, to := shortest(a.from), shortest(a.to)
	gap := barWidth - utf8.RuneCountInString(from) - utf8.RuneCountInString(to)
	p.line(p.paint(faint, pad("true time", labelWidth)+from+strings.Repeat(" ", max(gap, 1))+to))
}

// pad fills s up, or cuts it, to width.
func pad(s string, width int) string {
	n := utf8.RuneCountInString(s)
	if n >= width {
		return string([]rune(s)[:width-2]) + "… "
	}
	return s + strings.Repeat(" ", width-n)
}

// blocker is the nodes that blocked at the same times, with clocks that ran alike.
type blocker struct {
	nodes  []int
	off    deviation
	blocks []sim.Block // of each
}

// end is when the last of its blocks ended.
func (b blocker) end() int64 { return b.blocks[len(b.blocks)-1].To }

func (b blocker) spans() []span {
	var s []span
	for _, x := range b.blocks {
		s = append(s, span{x.From, x.To})
	}
	return s
}

// blockers groups the nodes that blocked for an acquisition, in the order of nodes.
func blockers(c cast, v sim.Verdict, l sim.Lease) []blocker {
	var groups []blocker
	for n := range c.Nodes {
		var own []sim.Block
		for _, b := range v.Blocks {
			if b.Node == n && b.Key == l.Key && b.Owner == l.Owner {
				own = append(own, b)
			}
		}
		if own == nil {
			continue
		}
		off := deviationOf(c.Nodes[n].Clock.Rate)
		i := 0
		for i < len(groups) && !(groups[i].off == off && alike(groups[i].blocks, own)) {
			i++
		}
		if i == len(groups) {
			groups = append(groups, blocker{off: off, blocks: own})
		}
		groups[i].nodes = append(groups[i].nodes, n)
	}
	return groups
}

// alike says that two nodes blocked until the same instants.
func alike(a, b []sim.Block) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].To != b[i].To || a[i].Ends != b[i].Ends {
			return false
		}
	}
	return true
}
