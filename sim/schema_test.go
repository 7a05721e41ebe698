package sim

import (
	"bytes"
	stdjson "encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlock/clock"
	"driftlock/sim/network"
	"driftlock/sim/node"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

var updateSchema = flag.Bool("update-schema", false, "write docs/scenario.schema.json anew")

const (
	formatPage = "../docs/scenario-format.md"
	schemaFile = "../docs/scenario.schema.json"
)

// words is a schema of texts that are one of a list.
func words[S ~string](list ...S) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range list {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

func pattern(p string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^" + p + "$"}
}

// typeSchemas are the types that are written as something else than they are.
func typeSchemas() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[clock.Duration]():    pattern(`[+-]?(0|([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))*)`),
		reflect.TypeFor[clock.Rate]():        pattern(`([+-]?[0-9]+([.][0-9]+)?(/[0-9]+)?|[+-][0-9]+([.][0-9]+)?(/[0-9]+)?pp[mb])`),
		reflect.TypeFor[Invariant]():         pattern(`I[1-7]`),
		reflect.TypeFor[Lives]():             words(lives...),
		reflect.TypeFor[node.Expiry]():       words(expiries...),
		reflect.TypeFor[node.Persistence]():  words(persistences...),
		reflect.TypeFor[node.QuarantineOn](): words(node.OnBoot, node.OnWall),
		reflect.TypeFor[network.Law]():       words(network.Constant, network.Uniform, network.Exponential, network.Pareto),
		reflect.TypeFor[jsontext.Value]():    {Types: []string{"array", "boolean", "number", "object", "string"}},
	}
}

// refined is what the reader knows of a field beyond its type.
var refined = map[string]*jsonschema.Schema{
	"claim":                words(claims...),
	"lock.kind":            words(lockKinds...),
	"lock.flaws[]":         words(flaws...),
	"lock.factor":          pattern(`0+([.][0-9]+)?`),
	"clients[].steps[].do": words(stepKinds...),
	"faults[].kind":        words(faultKindNames...),
}

// required are the fields that a scenario cannot do without.
var required = []string{
	"version", "until", "lock", "nodes", "clients", "network", "lock.ttl", "lock.factor", "lock.buffer", "lock.node_timeout", "lock.give_up",
	"nodes[].name", "clients[].name", "clients[].steps[].do", "resources[].name", "network.cuts[].from", "network.cuts[].to",
	"faults[].kind", "faults[].on", "remedies[].name", "remedies[].set",
}

// schema is the JSON Schema of scenarios, from the Go types and the page that
// documents them.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.For[Scenario](&jsonschema.ForOptions{TypeSchemas: typeSchemas()})
	if err != nil {
		t.Fatal(err)
	}
	one := any(Version)
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "Driftlock scenario"
	s.Description = "A run of a lock in the simulator of Driftlock; see scenario-format.md."
	s.Properties["version"].Const = &one
	meanings := documented(t)
	walkSchema(s, "", func(path string, s *jsonschema.Schema) {
		if s.Types != nil && s.Types[0] == "null" { // a null is refused
			s.Type, s.Types = s.Types[len(s.Types)-1], nil
		}
		if r := refined[path]; r != nil {
			s.Enum, s.Pattern = r.Enum, r.Pattern
		}
		s.Required = nil
		for _, name := range s.PropertyOrder {
			p := join(path, name)
			if slices.Contains(required, p) {
				s.Required = append(s.Required, name)
			}
			s.Properties[name].Description = meanings[commonPath(p)].meaning
		}
	})
	return s
}

// join is the path of a field.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// walkSchema visits a schema and what is in it, parents first.
func walkSchema(s *jsonschema.Schema, path string, visit func(path string, s *jsonschema.Schema)) {
	visit(path, s)
	for _, name := range s.PropertyOrder {
		walkSchema(s.Properties[name], join(path, name), visit)
	}
	if s.Items != nil {
		walkSchema(s.Items, path+"[]", visit)
	}
	if s.Type == "object" && s.Properties == nil && s.AdditionalProperties != nil {
		walkSchema(s.AdditionalProperties, path+"{}", visit)
	}
}

// commonPath is the path under which the page tells of a field: what holds of
// every path of messages stands there once.
func commonPath(path string) string {
	for _, same := range []string{"network.reply.", "network.paths{}."} {
		if rest, ok := strings.CutPrefix(path, same); ok {
			return "network.request." + rest
		}
	}
	return path
}

// A row of the page tells of a field.
type row struct{ kind, meaning string }

// documented are the meanings of the fields, by their paths, from the tables of
// the page: rows of a path, a type and a meaning.
func documented(t *testing.T) map[string]row {
	t.Helper()
	text, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	meanings, table := map[string]row{}, false
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		switch {
		case strings.HasPrefix(line, "| field "):
			table = true
		case !strings.HasPrefix(line, "|"):
			table = false
		case table && len(cells) >= 2 && strings.HasPrefix(line, "| `"):
			path := strings.Trim(cells[0], " `")
			if _, twice := meanings[path]; twice {
				t.Errorf("%s tells of %s twice", formatPage, path)
			}
			meanings[path] = row{cells[1], strings.TrimSpace(strings.Join(cells[2:], " | "))}
		}
	}
	return meanings
}

// TestFormatIsDocumented: every field has its row, and no row is about nothing.
func TestFormatIsDocumented(t *testing.T) {
	t.Parallel()
	meanings, fields := documented(t), map[string]bool{}
	walkSchema(schema(t), "", func(path string, s *jsonschema.Schema) {
		for _, name := range s.PropertyOrder {
			fields[commonPath(join(path, name))] = true
		}
	})
	for path := range fields {
		if _, ok := meanings[path]; !ok {
			t.Errorf("%s says nothing of %s", formatPage, path)
		}
	}
	for path, row := range meanings {
		if !fields[path] {
			t.Errorf("%s tells of %s, which is no field", formatPage, path)
		}
		if must := strings.HasSuffix(strings.TrimSpace(row.kind), "required"); must != slices.Contains(required, path) {
			t.Errorf("%s says that %s is required: %v, which is not so", formatPage, path, must)
		}
	}
	page, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]string{flaws, stepKinds, faultKindNames, claims, lockKinds, lives, expiries, persistences} {
		for _, word := range list {
			if !bytes.Contains(page, []byte("`"+word+"`")) {
				t.Errorf("%s does not know the word %q", formatPage, word)
			}
		}
	}
}

// TestSchemaFile: the file is what the types and the page make.
func TestSchemaFile(t *testing.T) {
	want, err := stdjson.MarshalIndent(schema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *updateSchema {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(schemaFile); err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is old (%v): go test ./sim -run TestSchemaFile -update-schema", schemaFile, err)
	}
}

// TestSchemaAgrees: the schema takes what the reader takes, and neither takes a
// field that nobody knows, a value of another type or a word that is none.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	resolved, err := schema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(v any) error { return resolved.Validate(v) }
	files, err := filepath.Glob("../testdata/scenarios/*.json")
	if err != nil || len(files) < 80 {
		t.Fatalf("%d scenario files, %v", len(files), err)
	}
	refused := 0
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := stdjson.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		if err := valid(v); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if i%10 != 0 || raced() && i > 20 {
			continue
		}
		changes(v, "", func(what string, structural bool) {
			changed, err := stdjson.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			_, reads := Parse(file, changed)
			switch fits := valid(v); {
			case fits != nil && reads == nil:
				t.Errorf("%s: %s: the schema refuses what the reader takes: %v", file, what, fits)
			case structural && fits == nil:
				t.Errorf("%s: %s: the schema takes it", file, what)
			case structural && reads == nil:
				t.Errorf("%s: %s: the reader takes it", file, what)
			case fits != nil:
				refused++
			}
		})
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// changes makes every change to v, one at a time: it leaves each field out, makes
// each value one of another type, adds a field to each object. Structural ones no
// reader may take. After each it calls try, and takes the change back.
func changes(v any, path string, try func(what string, structural bool)) {
	switch v := v.(type) {
	case map[string]any:
		open := strings.HasSuffix(path, "paths") || strings.Contains(path, ".set")
		if !open {
			v["fild"] = 1
			try(path+": a field that nobody knows", true)
			delete(v, "fild")
		}
		for _, name := range sortedKeys(v) {
			was, at := v[name], join(path, name)
			delete(v, name)
			try("without "+at, false)
			for _, other := range []any{nil, 1.5, "no such word", true, []any{1.0}, map[string]any{"fild": 1.0}} {
				if fitsAnyway(at, was, other) {
					continue
				}
				v[name] = other
				try(fmt.Sprintf("%s: %v", at, other), true)
			}
			v[name] = was
			changes(was, at, try)
		}
	case []any:
		for i := range v {
			if i < 2 {
				changes(v[i], fmt.Sprintf("%s[%d]", path, i), try)
			}
		}
	}
}

// fitsAnyway says that a field may well have the other value.
func fitsAnyway(path string, was, other any) bool {
	_, text := was.(string)
	free := text && slices.ContainsFunc([]string{"name", "about", "source", "text", "key", "on", "from", "to", "alias"}, func(f string) bool {
		return path == f || strings.HasSuffix(path, "."+f)
	})
	_, isText := other.(string)
	return strings.Contains(path, ".set.") || free && isText || reflect.TypeOf(was) == reflect.TypeOf(other) && (!text || free)
}

func sortedKeys(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
