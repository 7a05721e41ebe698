package sim

// Reading a scenario. A file is read strictly: a field that nobody knows, a
// name that is there twice or a null is refused, because a scenario in which a
// misspelt line counts for nothing tells a lie about the lock. Two passes: the
// first sees to the text (syntax, depth, version), so that no text, however
// long or deep, costs more than a scan; the second fills in the Scenario.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"driftlock/clock"
)

const (
	maxFileBytes = 8 << 20
	maxDepth     = 16 // of brackets; a scenario needs 6
)

// A FieldError is one thing that is wrong with a scenario.
type FieldError struct {
	File string // empty if the scenario is from no file
	Path string // "nodes[2].clock.rate"; empty: the whole
	Text string // what is wrong, and what is allowed
}

func (e *FieldError) Error() string {
	var b strings.Builder
	for _, part := range []string{e.File, e.Path} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	return b.String() + e.Text
}

// Load reads the scenario file. Each thing that is wrong with it is a
// *FieldError; a file that cannot be read is the error of package os.
func Load(file string) (Scenario, error) {
	f, err := os.Open(file)
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	return ParseFrom(file, f)
}

// ParseFrom is Load for what is no file; name is what the errors call it. It reads no
// more than a scenario may have.
func ParseFrom(name string, r io.Reader) (Scenario, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario: %w", err)
	}
	return Parse(name, text)
}

// Parse reads the text of a scenario file, and checks it as Check does. Name
// is what the errors call it. A text has at most 8 MiB.
func Parse(name string, text []byte) (Scenario, error) {
	sc, err := parse(text)
	if err != nil {
		return Scenario{}, inFile(name, err)
	}
	return sc, nil
}

func parse(text []byte) (sc Scenario, err error) {
	if len(text) > maxFileBytes {
		return sc, &FieldError{Text: fmt.Sprintf("more than %d bytes: a scenario has at most %d MiB", maxFileBytes, maxFileBytes>>20)}
	}
	if encoding := otherEncoding(text); encoding != "" {
		return sc, &FieldError{Text: fmt.Sprintf("this is %s: a scenario is UTF-8 without a byte order mark", encoding)}
	}
	has, err := survey(text)
	if err != nil {
		return sc, err
	}
	if err := json.Unmarshal(text, &sc, json.RejectUnknownMembers(true)); err != nil {
		return sc, misfit(err)
	}
	return sc, errors.Join(has.missing(), sc.Check())
}

// otherEncoding is the encoding of a text that says by its first bytes that it is not
// plain UTF-8; empty if it does not.
func otherEncoding(text []byte) string {
	for _, x := range []struct{ head, encoding string }{
		{"\xef\xbb\xbf", "UTF-8 with a byte order mark"},
		{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"},
		{"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"}, {"{\x00", "UTF-16"}, {"\x00{", "UTF-16"},
	} {
		if bytes.HasPrefix(text, []byte(x.head)) {
			return x.encoding
		}
	}
	return ""
}

// inFile says of every FieldError in err that it is in the file.
func inFile(name string, err error) error {
	switch e := err.(type) {
	case *FieldError:
		e.File = name
	case interface{ Unwrap() []error }:
		for _, e := range e.Unwrap() {
			inFile(name, e)
		}
	}
	return err
}

// fields are those of which a text must be known to have them: left out they
// would read as 0, which is a good value but not what anybody meant.
type fields struct{ buffer, network bool }

func (has fields) missing() error {
	var all []error
	if !has.buffer {
		all = append(all, &FieldError{Path: "lock.buffer", Text: `missing: it is taken off every lease; "2ms" is usual, "0s" is none`})
	}
	if !has.network {
		all = append(all, &FieldError{Path: "network", Text: `missing: how long messages take, such as {"request": {"delay": {"min": "1ms"}}, "reply": {"delay": {"min": "1ms"}}}`})
	}
	return errors.Join(all...)
}

// survey reads the text to its end without looking at what it means, except
// for its version, since another has other fields.
func survey(text []byte) (has fields, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	version := ""
	for first := true; first || d.StackDepth() > 0; first = false {
		t, err := d.ReadToken()
		if err != nil {
			return has, garbled(text, d, err)
		}
		kind := t.Kind()
		switch depth := d.StackDepth(); {
		case first && kind != '{':
			return has, &FieldError{Text: fmt.Sprintf("a scenario is an object {…}, and this is %s", kindName(kind))}
		case depth > maxDepth:
			return has, &FieldError{Path: pathOf(d.StackPointer()), Text: fmt.Sprintf("nested more than %d deep: nothing in a scenario is", maxDepth)}
		case kind == 'n':
			return has, &FieldError{Path: pathOf(d.StackPointer()), Text: "null: leave the field out instead"}
		case depth > 2:
			continue
		}
		switch d.StackPointer() {
		case "/version":
			if kind == '0' {
				version = t.String()
			}
		case "/lock/buffer":
			has.buffer = true
		case "/network":
			has.network = true
		}
	}
	if _, err := d.ReadToken(); err != io.EOF {
		line, column := position(text, d.InputOffset())
		return has, &FieldError{Text: fmt.Sprintf("line %d, column %d: there is text after the end of the scenario", line, column)}
	}
	if v, err := strconv.Atoi(version); err == nil && v != 0 && v != Version {
		return has, &FieldError{Path: "version", Text: wrongVersion(v)}
	}
	return has, nil
}

func wrongVersion(v int) string {
	age := "older"
	if v > Version {
		age = "newer"
	}
	return fmt.Sprintf("%d is %s than this program, which reads version %d", v, age, Version)
}

// garbled says where and why the text is no JSON.
func garbled(text []byte, d *jsontext.Decoder, err error) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return &FieldError{Text: "empty: a scenario is an object {…}"}
	}
	e := &FieldError{Path: pathOf(d.StackPointer())}
	offset := d.InputOffset()
	why := err
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		e.Path, offset, why = pathOf(syntax.JSONPointer), syntax.ByteOffset, syntax.Err
	}
	line, column := position(text, offset)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		e.Text = fmt.Sprintf("line %d: this field is there twice", line)
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Text = fmt.Sprintf("line %d: the text ends in the middle of the scenario", line)
	default:
		e.Text = fmt.Sprintf("line %d, column %d: no JSON: %v", line, column, why)
	}
	return e
}

// position is the line and the column, both from 1, of a byte of the text.
func position(text []byte, offset int64) (line, column int) {
	before := text[:min(max(offset, 0), int64(len(text)))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// misfit says in what a text that is JSON is no scenario.
func misfit(err error) error {
	bad, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return &FieldError{Text: err.Error()}
	}
	e := &FieldError{Path: pathOf(bad.JSONPointer)}
	switch {
	case errors.Is(err, json.ErrUnknownName):
		known := fieldNames(bad.GoType)
		e.Text = fmt.Sprintf("no such field%s: %s are allowed here", didYouMean(bad.JSONPointer.LastToken(), known), strings.Join(known, ", "))
	case bad.JSONKind == '"' && readsText(bad.GoType) && bad.Err != nil:
		e.Text = bad.Err.Error()
	case bad.JSONKind == '0' && len(bad.JSONValue) > 0:
		e.Text = fmt.Sprintf("%s: %s is expected", clipped(string(bad.JSONValue)), wanted(bad.GoType))
	default:
		e.Text = fmt.Sprintf("%s, but %s is expected", kindName(bad.JSONKind), wanted(bad.GoType))
	}
	return e
}

// readsText says whether a value of type t is read from a JSON string by a
// method of its own, whose errors are ours.
func readsText(t reflect.Type) bool {
	_, ok := reflect.New(t).Interface().(interface{ UnmarshalText([]byte) error })
	return ok
}

// wanted is what a field of type t takes.
func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[clock.Duration]():
		return `a duration in quotes, such as "10s",`
	case reflect.TypeFor[clock.Rate]():
		return `a rate in quotes, such as "200/199" or "+200ppm",`
	case reflect.TypeFor[Invariant]():
		return `an invariant in quotes, "I1" to "I7",`
	}
	switch t.Kind() {
	case reflect.String:
		return "a text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number from 0 to 18446744073709551615"
	case reflect.Slice:
		return "a list […]"
	}
	return "an object {…}"
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	}
	return "null"
}

// fieldNames are the names of the fields of struct t in JSON, in their order.
func fieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if f.Anonymous {
			names = append(names, fieldNames(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// pathOf writes /nodes/2/clock as nodes[2].clock.
func pathOf(p jsontext.Pointer) string {
	var b strings.Builder
	parent := ""
	for token := range p.Tokens() {
		switch {
		case token != "" && strings.Trim(token, digits) == "" && parent != "paths":
			b.WriteString("[" + clipped(token) + "]")
		case !plainName(token):
			b.WriteString("[" + shown(token) + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
		parent = token
	}
	return b.String()
}

// plainName says whether a name needs no quotes in a path.
func plainName(s string) bool {
	return s != "" && len(s) <= 40 && strings.Trim(s, letters+"_") == ""
}

func clipped(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
