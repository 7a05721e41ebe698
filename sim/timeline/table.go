package timeline

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// head says who takes part, and what the columns are.
func (s *story) head() {
	sc := s.cast.Scenario
	name := "the run"
	if sc.Name != "" {
		name = clean(sc.Name)
	}
	var clients []string
	for i := range sc.Clients {
		clients = append(clients, s.cast.client(i, 0))
	}
	nodes := fmt.Sprintf("nodes %s, of which %d make a lock", s.cast.nodes(all(len(sc.Nodes))), s.cast.quorum)
	if len(sc.Nodes) == 1 {
		nodes = "node " + s.cast.node(0)
	}
	s.para("", fmt.Sprintf("%s: clients %s; %s; TTL %s, drift factor %s, buffer %s.", name,
		strings.Join(clients, ", "), nodes, length(time.Duration(sc.Lock.TTL)), clean(sc.Lock.Factor), length(time.Duration(sc.Lock.Buffer))))
	if about := clean(sc.About); about != "" {
		s.para("", about)
	}
	s.line("")
}

// table writes all lines in columns that are as wide as they must be.
func (s *story) table() {
	decimals := 6
	if s.level == Everything {
		decimals = 9
	}
	width := func(t string) int { return utf8.RuneCountInString(t) }
	stepW, atW, localW, whoW := width("step"), width("true time"), width("own clock"), width("who")
	tagW := 0
	for _, l := range s.lines {
		tagW = max(tagW, width(l.tag)+min(width(l.tag), 1))
		stepW = max(stepW, width(fmt.Sprint("#", l.step)))
		atW = max(atW, width(instant(l.at, decimals)))
		if l.reads {
			localW = max(localW, width(instant(l.local, decimals)))
		}
		whoW = max(whoW, min(width(l.who), 10))
	}
	s.line(s.paint(faint, fmt.Sprintf("%-*s%-*s  %*s  %*s  %s", tagW, "", stepW, "step", atW, "true time", localW, "own clock", "who")))
	for _, l := range s.lines {
		step, local := "", ""
		if l.step > 0 {
			step = fmt.Sprint("#", l.step)
		}
		if l.reads {
			local = instant(l.local, decimals)
		}
		who := l.who
		if width(who) > whoW {
			who = string([]rune(who)[:whoW-1]) + "…"
		}
		if l.step == 0 {
			who = "──"
		}
		head := fmt.Sprintf("%-*s%-*s  %*s  %*s  %-*s  ", tagW, l.tag, stepW, step, atW, instant(l.at, decimals), localW, local, whoW, who)
		for i, t := range wrap(l.text, columns-width(head)) {
			if i > 0 {
				head = strings.Repeat(" ", width(head))
			}
			s.line(head + s.paint(l.tint, t))
		}
	}
}
