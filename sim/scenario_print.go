package sim

// The canonical text of a scenario: fields in the order of the struct, a line
// for whatever fits in one, except that each object of a list has a line of its
// own. The same scenario is always printed the same, and Parse reads it back.

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const printWidth = 110 // a value that fits in so many columns stays on its line

// AppendJSON appends the scenario's canonical text, with a newline at its end.
func (s Scenario) AppendJSON(b []byte) []byte {
	// Deterministic sorts the keys of paths. Check refuses what is no UTF-8, but
	// a scenario can be printed before it is checked.
	text, err := json.Marshal(s, json.Deterministic(true), jsontext.AllowInvalidUTF8(true),
		jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	if err != nil {
		panic(fmt.Sprintf("sim: a scenario that cannot be printed: %v", err)) // no field's type can fail
	}
	return append(appendBroken(b, text, 0), '\n')
}

// appendValue appends a value that begins at the given column on a line with
// the given indentation.
func appendValue(b []byte, v jsontext.Value, column, indent int) []byte {
	if column+len(v) <= printWidth && !listsObjects(v) {
		return append(b, v...)
	}
	return appendBroken(b, v, indent)
}

// listsObjects says whether v is a list of two objects or more, or has one.
func listsObjects(v jsontext.Value) bool {
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return false
		}
		depth := d.StackDepth()
		if t.Kind() == '{' && depth > 1 {
			if in, n := d.StackIndex(depth - 1); in == '[' && n == 2 {
				return true
			}
		}
	}
}

// appendBroken appends a value with a line for each of its members.
func appendBroken(b []byte, v jsontext.Value, indent int) []byte {
	if kind := v.Kind(); kind != '{' && kind != '[' || len(v) == 2 {
		return append(b, v...)
	}
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true))
	open, _ := d.ReadToken()
	b = append(b, v[0])
	for first := true; d.PeekKind() != '}' && d.PeekKind() != ']'; first = false {
		if !first {
			b = append(b, ',')
		}
		b = appendNewline(b, indent+2)
		start := len(b) - indent - 2
		if open.Kind() == '{' {
			name, _ := d.ReadValue()
			b = append(append(b, name...), ": "...)
		}
		member, _ := d.ReadValue()
		b = appendValue(b, member, len(b)-start, indent+2)
	}
	b = appendNewline(b, indent)
	return append(b, v[len(v)-1])
}

func appendNewline(b []byte, indent int) []byte {
	return append(append(b, '\n'), bytes.Repeat([]byte(" "), indent)...)
}
