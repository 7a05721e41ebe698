// Package timeline tells a run as text: what broke, in one screen, and what
// happened, step by step. It only reads what the run left behind and writes to
// an io.Writer; the same run gives the same text.
//
// Instants are seconds of true time since the start of the run, with their
// digits in threes (9.230 769 231); a reading of a machine's own clock is
// written the same way and always called so. Lines fit 80 columns.
package timeline

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/node"
)

// Style is how the text looks. The zero Style is plain.
type Style struct {
	Color bool // mark with ANSI colours too; nothing is told by colour alone
}

const columns = 80

// A tint is what a stretch of text is about.
type tint string

const (
	plain  tint = ""
	strong tint = "1"
	faint  tint = "2"
	bad    tint = "31;1"
	good   tint = "32"
	warn   tint = "33"
)

func (st Style) paint(t tint, s string) string {
	if !st.Color || t == plain || s == "" {
		return s
	}
	return "\x1b[" + string(t) + "m" + s + "\x1b[0m"
}

// page collects lines, so that a picture is written with one Write.
type page struct {
	bytes.Buffer
	Style
}

func (p *page) line(s string) {
	p.WriteString(strings.TrimRight(strings.ReplaceAll(s, hold, " "), " "))
	p.WriteByte('\n')
}

// para writes text in lines of at most the page's width, the first after head,
// the others indented by as much.
func (p *page) para(head, text string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	for i, l := range wrap(text, columns-len(indent)) {
		if i == 0 {
			p.line(head + l)
		} else {
			p.line(indent + l)
		}
	}
}

// Para writes text in lines of at most 80 columns, the first after head, the
// others indented by as much. Whatever in it is no text for people is left out.
func Para(w io.Writer, head, text string) error {
	var p page
	p.para(head, clean(text))
	return p.writeTo(w)
}

func (p *page) writeTo(w io.Writer) error {
	_, err := p.Buffer.WriteTo(w)
	return err
}

// wrap cuts text at spaces into lines of at most width runes; a longer word has
// a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	var l strings.Builder
	used := 0
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' }) {
		n := utf8.RuneCountInString(word)
		if used > 0 && used+1+n > width {
			lines = append(lines, l.String())
			l.Reset()
			used = 0
		}
		if used > 0 {
			l.WriteByte(' ')
			used++
		}
		l.WriteString(word)
		used += n
	}
	return append(lines, l.String())
}

// hold is a space within a number or before its unit, at which no line is
// broken; it is printed as an ordinary one.
const hold = "\u00a0"

// clean makes a text of the run safe to print: no line breaks, no escapes.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

// cast is who takes part in a run.
type cast struct {
	sim.Scenario
	quorum int // grants that make a lock
	needed int // nodes that must block to keep rivals out: N−q+1
}

func castOf(sc sim.Scenario) cast {
	q := len(sc.Nodes)/2 + 1
	return cast{sc, q, len(sc.Nodes) - q + 1}
}

// tooFewBlock says that not enough nodes block to keep rivals out.
func (c cast) tooFewBlock() string {
	if c.needed == 1 {
		return "no node blocks"
	}
	return fmt.Sprintf("fewer than %d nodes block", c.needed)
}

// client is the name of a client, and of its process if it is not the first.
func (c cast) client(i, proc int) string {
	if i < 0 || i >= len(c.Clients) {
		return "?"
	}
	name := clean(c.Clients[i].Name)
	if proc > 0 {
		return fmt.Sprintf("%s/%d", name, proc+1)
	}
	return name
}

func (c cast) clientIndex(name string) int {
	for i := range c.Clients {
		if c.Clients[i].Name == name {
			return i
		}
	}
	return -1
}

func (c cast) node(i int) string {
	if i < 0 || i >= len(c.Nodes)+len(c.Resources) {
		return "?"
	}
	return clean(c.Place(i))
}

// nodes names some nodes by their indices, which are in order: "A–C, E".
func (c cast) nodes(which []int) string {
	return ranges(which, c.node)
}

// ranges lists names in the order of their indices, and three or more of which each
// is the next name after the one before as "first–last": whoever reads that counts
// names, so there must be none between the two that is not meant.
func ranges(which []int, name func(int) string) string {
	var parts []string
	for i := 0; i < len(which); {
		j := i
		for j+1 < len(which) && follows(name(which[j+1]), name(which[j])) {
			j++
		}
		if j-i >= 2 {
			parts = append(parts, name(which[i])+"–"+name(which[j]))
			i = j + 1
			continue
		}
		parts = append(parts, name(which[i]))
		i++
	}
	return strings.Join(parts, ", ")
}

// follows says that a name is the next one after another: B after A, n10 after n9.
func follows(next, name string) bool {
	stem := strings.TrimRight(name, "0123456789")
	if digits := name[len(stem):]; digits != "" {
		n, err := strconv.ParseUint(digits, 10, 32)
		return err == nil && next == fmt.Sprintf("%s%0*d", stem, len(digits), n+1)
	}
	if name == "" {
		return false
	}
	last := name[len(name)-1]
	return 'A' <= last && last < 'Z' && next == name[:len(name)-1]+string(last+1) ||
		'a' <= last && last < 'z' && next == name[:len(name)-1]+string(last+1)
}

func all(n int) []int {
	which := make([]int, n)
	for i := range which {
		which[i] = i
	}
	return which
}

// opWord names what a node is asked.
func opWord(op redlock.Op) string { return node.Word(op) }
