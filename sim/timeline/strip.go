package timeline

import (
	"strings"
	"unicode/utf8"
)

// A strip is one line of a picture: a cell a column, with its tint.
type strip struct {
	cells [laneWidth]rune
	tints [laneWidth]tint
}

func newStrip() *strip {
	var s strip
	for i := range s.cells {
		s.cells[i] = ' '
	}
	return &s
}

// put sets a cell.
func (s *strip) put(column int, r rune, t tint) {
	if column >= 0 && column < laneWidth {
		s.cells[column], s.tints[column] = r, t
	}
}

// fill sets the cells from one column up to another, one at least.
func (s *strip) fill(from, to int, r rune, t tint) {
	if from >= laneWidth {
		return
	}
	for i := max(from, 0); i < max(to, from+1); i++ {
		s.put(i, r, t)
	}
}

// change sets, in the cells from one column up to another, what is was to r.
func (s *strip) change(from, to int, was, r rune, t tint) {
	for i := max(from, 0); i < min(to, laneWidth); i++ {
		if s.cells[i] == was {
			s.put(i, r, t)
		}
	}
}

// text writes a text at a column, or where that is too far to the right so that it
// ends with the strip. A cell is left free before it.
func (s *strip) text(column int, text string, t tint) {
	text = strings.ReplaceAll(text, hold, " ")
	n := utf8.RuneCountInString(text)
	if n > laneWidth {
		text = string([]rune(text)[:laneWidth-1]) + "…"
		n = laneWidth
	}
	column = max(0, min(column, laneWidth-n))
	for i, r := range []rune(text) {
		s.put(column+i, r, t)
	}
}

// empty says that nothing is on it.
func (s *strip) empty() bool {
	for _, r := range s.cells {
		if r != ' ' {
			return false
		}
	}
	return true
}

// same says that two strips look alike.
func (s *strip) same(o *strip) bool { return s.cells == o.cells }

// paint is the text of the strip.
func (s *strip) paint(st Style) string {
	var b strings.Builder
	for i := 0; i < laneWidth; {
		j := i + 1
		for j < laneWidth && s.tints[j] == s.tints[i] {
			j++
		}
		b.WriteString(st.paint(s.tints[i], string(s.cells[i:j])))
		i = j
	}
	return b.String()
}
