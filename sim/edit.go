package sim

// Edits of a scenario by the paths of its fields, as error messages name them:
// "lock.factor", "clients[0].steps[2].for". An element of a list that has a name
// may be called by it: "nodes.C.clock.rate".

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// With returns a copy of s in which each field of set, named by its path, has
// been given its value, which is JSON; what stood there is gone. A list takes an
// element more at the index after its last. Fields are set in the order of their
// paths. The copy is checked; s itself must be a scenario that can be run.
func (s Scenario) With(set map[string]jsontext.Value) (Scenario, error) {
	c, err := parse(s.AppendJSON(nil)) // shares nothing with s
	if err != nil {
		return Scenario{}, fmt.Errorf("before the edit: %w", err)
	}
	for _, path := range slices.Sorted(maps.Keys(set)) {
		if err := c.set(path, set[path]); err != nil {
			return Scenario{}, err
		}
	}
	if err := c.Check(); err != nil {
		return Scenario{}, err
	}
	return c, nil
}

// Value is the JSON value that the field of s with that path is given by a text
// without quotes, as it is typed in a shell: "10s", "+1/12", "3" or "[]". It says
// nothing of whether the field takes that value: With does.
func (s Scenario) Value(path, text string) (jsontext.Value, error) {
	c, err := parse(s.AppendJSON(nil)) // walk may lengthen a list
	if err != nil {
		return nil, fmt.Errorf("before the edit: %w", err)
	}
	field, err := walk(reflect.ValueOf(&c).Elem(), path)
	if err != nil {
		return nil, err
	}
	t := field.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	plain := jsontext.Value(text)
	if text != "" && plain.IsValid() && (text[0] == '"' || t.Kind() != reflect.String && !readsText(t)) {
		return plain, nil
	}
	return jsontext.AppendQuote(nil, text)
}

func (s *Scenario) set(path string, value jsontext.Value) error {
	field, err := walk(reflect.ValueOf(s).Elem(), path)
	if err != nil {
		return err
	}
	field.SetZero()
	if value.Kind() == 'n' {
		return &FieldError{Path: path, Text: `null: an empty value, such as [] or "", takes a field away`}
	}
	if err := json.Unmarshal(value, field.Addr().Interface(), json.RejectUnknownMembers(true)); err != nil {
		bad := misfit(err)
		if e, ok := errors.AsType[*FieldError](bad); ok {
			e.Path = strings.TrimSuffix(path+"."+e.Path, ".")
		}
		return bad
	}
	return nil
}

// walk finds the value that a path names in v.
func walk(v reflect.Value, path string) (reflect.Value, error) {
	rest, done := path, ""
	for rest != "" {
		var part string
		part, rest = cutPath(rest)
		next, text := step(v, part)
		if text != "" {
			return v, &FieldError{Path: path, Text: text}
		}
		v, done = next, strings.TrimSuffix(path, rest)
	}
	if done == "" {
		return v, &FieldError{Text: `no path: a field is called such as "lock.factor"`}
	}
	return v, nil
}

// cutPath takes the first part off a path: a name, or an index with its brackets.
func cutPath(path string) (part, rest string) {
	path = strings.TrimPrefix(path, ".")
	i := strings.IndexAny(path[min(1, len(path)):], ".[") + 1
	if i <= 0 {
		return path, ""
	}
	return path[:i], path[i:]
}

// step finds what part names in v, or says why it names nothing.
func step(v reflect.Value, part string) (_ reflect.Value, text string) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Slice:
		return element(v, part)
	case v.Kind() != reflect.Struct || readsText(v.Type()):
		return v, fmt.Sprintf("there is nothing in it that could be called %s", shown(part))
	}
	names := fieldNames(v.Type())
	if !slices.Contains(names, part) {
		return v, fmt.Sprintf("no field %s%s: there are %s", shown(part), didYouMean(part, names), strings.Join(names, ", "))
	}
	return named(v, part), ""
}

// named is the field of struct v that has that name in JSON.
func named(v reflect.Value, name string) reflect.Value {
	for f := range v.Type().Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && slices.Contains(fieldNames(f.Type), name):
			return named(v.FieldByIndex(f.Index), name)
		case tag == name:
			return v.FieldByIndex(f.Index)
		}
	}
	panic("sim: no field " + name) // the caller has looked
}

// element finds an element of a list by its index or its name.
func element(v reflect.Value, part string) (_ reflect.Value, text string) {
	if strings.HasPrefix(part, "[") {
		i, err := strconv.Atoi(strings.TrimSuffix(part[1:], "]"))
		if err != nil || !strings.HasSuffix(part, "]") || i < 0 || i > v.Len() {
			return v, fmt.Sprintf("no index %s: there are %d, from [0] on, and one more may be added", shown(part), v.Len())
		}
		if i == v.Len() {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		}
		return v.Index(i), ""
	}
	var names []string
	for i := range v.Len() {
		e := v.Index(i)
		if e.Kind() != reflect.Struct || !e.FieldByName("Name").IsValid() {
			break
		}
		if names = append(names, e.FieldByName("Name").String()); names[i] == part {
			return e, ""
		}
	}
	if len(names) == 0 {
		return v, fmt.Sprintf("%s: an element of this list is called by its index, such as [0]", shown(part))
	}
	return v, fmt.Sprintf("no %s%s: there are %s", shown(part), didYouMean(part, names), enumerated(names))
}
