package dialect

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Statement is a text in which each argument has its number: {1} is the first, and
// may be there more than once. Every dialect has a way of its own to write that.
type Statement struct {
	Text  string
	order []int // of arguments, by their place; nil where numbers say it
}

var argument = regexp.MustCompile(`\{[1-9][0-9]*\}`)

// Statement makes a statement of text. {now} in it is the server's clock; words are
// replaced too, in pairs of old and new.
func (d Dialect) Statement(text string, words ...string) Statement {
	text = strings.NewReplacer(append(words, "{now}", d.Now())...).Replace(text)
	var s Statement
	s.Text = argument.ReplaceAllStringFunc(text, func(a string) string {
		n, _ := strconv.Atoi(a[1 : len(a)-1])
		switch d {
		case PostgreSQL:
			return fmt.Sprintf("$%d", n)
		case SQLite:
			return fmt.Sprintf("?%d", n)
		}
		s.order = append(s.order, n-1)
		return "?"
	})
	return s
}

// Arguments is the highest number of an argument in a text: 2 of "a = {2}, b = {1}".
func Arguments(text string) (highest int) {
	for _, a := range argument.FindAllString(text, -1) {
		n, err := strconv.Atoi(a[1 : len(a)-1])
		if err != nil {
			n = 1 << 30 // more than there can be
		}
		highest = max(highest, n)
	}
	return highest
}

// Args puts the arguments {1}, {2} and so on in the order in which the driver wants
// them.
func (s Statement) Args(args ...any) []any {
	if s.order == nil {
		return args
	}
	out := make([]any, len(s.order))
	for i, n := range s.order {
		out[i] = args[n]
	}
	return out
}
