package sim

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The rules of determinism, policed: in the simulator and in the sequential part
// of the lock nothing reads real time or a global source of randomness, starts a
// goroutine, waits on a channel, ranges over a map or computes with floats.
//
// A file may be exempt from a rule; the reason stands beside it.
var exempt = map[string]map[string]string{
	"sim/run.go": {
		"goroutine": "drives the world, with a watchdog in real time",
		"time":      "the watchdog",
		"channel":   "waits for the world",
		"map":       "stacks of blocked goroutines",
	},
	"sim/bubble.go":        {"channel": "the second engine: processes are goroutines", "time": "that of the bubble, which is true time"},
	"sim/bubble_gather.go": {"channel": "the second engine"},
	"sim/bubble_strand.go": {"goroutine": "the second engine", "channel": "as above", "time": "that of the bubble"},
	"sim/bubble_conn.go":   {"goroutine": "the second engine", "channel": "as above", "time": "that of the bubble"},
	"sim/bubble_client.go": {"goroutine": "the second engine", "channel": "as above", "time": "that of the bubble"},
	"sim/client_clock.go":  {"channel": "signatures that clockwork demands; they panic, or are nil"},
	"sim/lifetime.go":      {"channel": "a signature that context demands; the channel is the standard context's"},
	"sim/search.go":        {"goroutine": "one runner a core; what they find is put in order", "channel": "as above"},
	"sim/locker.go":        {"float": "hands the factor to the option, which takes it as the decimal that it is"},
	"redlock/lane.go":      {"map": "forgets what time has made pointless, in any order"},
	"redlock/options.go":   {"float": "the option; it becomes parts per billion once", "rand": "crypto/rand, for production"},
	"redlock/transport.go": {
		"goroutine": "the production transport",
		"channel":   "the production transport",
	},
	"redlock/linger.go":  {"time": "for how long the production transport keeps an idle goroutine"},
	"redlock/goredis.go": {"time": "the production node", "channel": "the production node", "goroutine": "the production node"},
}

var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// breaches are the rules that a file breaks.
func breaches(fset *token.FileSet, files []*ast.File) (found []string) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Error: func(error) {}, Importer: nothing{}} // types of other packages stay unknown
	conf.Check("p", fset, files, info)
	for _, f := range files {
		say := func(n ast.Node, rule string, what string) {
			p := fset.Position(n.Pos())
			found = append(found, fmt.Sprintf("%s:%d: %s: %s", p.Filename, p.Line, rule, what))
		}
		names := map[string]string{} // of imports
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			names[filepath.Base(path)] = path
			if strings.HasSuffix(path, "/rand") || strings.Contains(path, "/rand/") {
				say(i, "rand", "imports "+path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				say(n, "goroutine", "a go statement")
			case *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				say(n, "channel", "a channel")
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					say(n, "channel", "a channel")
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && names["time"] == "time" && slices.Contains(clockCalls, n.Sel.Name) {
					say(n, "time", "time."+n.Sel.Name)
				}
			case *ast.RangeStmt:
				if t := info.Types[n.X].Type; t != nil {
					if _, ok := t.Underlying().(*types.Map); ok {
						say(n, "map", "a range over a map")
					}
				}
			case *ast.Ident:
				if n.Name == "float64" || n.Name == "float32" {
					say(n, "float", n.Name)
				}
			case *ast.BasicLit:
				if v := constant.MakeFromLiteral(n.Value, n.Kind, 0); n.Kind == token.FLOAT && constant.ToInt(v).Kind() != constant.Int {
					say(n, "float", n.Value)
				}
			}
			if x, ok := n.(ast.Expr); ok {
				if b, ok := info.Types[x].Type.(*types.Basic); ok && (b.Kind() == types.Float64 || b.Kind() == types.Float32) {
					say(n, "float", "an expression of type "+b.Name())
				}
			}
			return true
		})
	}
	return found
}

type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

func parsed(t *testing.T, fset *token.FileSet, name string, src any) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRulesOfDeterminism(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"sim", "sim/draw", "sim/flawed", "sim/network", "sim/node", "sim/queue", "redlock"} {
		names, _ := filepath.Glob(filepath.Join("..", dir, "*.go"))
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") {
				files = append(files, parsed(t, fset, name, nil))
			}
		}
		if len(files) == 0 {
			t.Errorf("no files in %s", dir)
		}
		for _, b := range breaches(fset, files) {
			at, what, _ := strings.Cut(strings.TrimPrefix(filepath.ToSlash(b), "../"), ": ")
			file, _, _ := strings.Cut(at, ":")
			rule, _, _ := strings.Cut(what, ":")
			if exempt[file][rule] == "" {
				t.Errorf("%s: %s", at, what)
			}
		}
	}
}

// TestRulesCatch plants each leak.
func TestRulesCatch(t *testing.T) {
	t.Parallel()
	for rule, body := range map[string]string{
		"time":      `var x = time.Now()`,
		"rand":      `import "math/rand/v2"; var x = rand.Int()`,
		"goroutine": `func f() { go f() }`,
		"channel":   `func f(c chan int) { <-c }`,
		"map":       `type m map[string]int; type s struct{ m m }; func f(x *s) { for range x.m { } }`,
		"float":     `func g() (f float64); func f(x int64) int64 { return x * int64(g()) }`,
	} {
		src := "package p\n"
		if rule == "time" {
			src += "import \"time\"\n"
		}
		fset := token.NewFileSet()
		found := breaches(fset, []*ast.File{parsed(t, fset, "p.go", src+body)})
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, ": "+rule+":") }) {
			t.Errorf("%s is not caught in %q: %v", rule, body, found)
		}
	}
	fset := token.NewFileSet()
	if found := breaches(fset, []*ast.File{parsed(t, fset, "p.go", "package p\nfunc f(x []int) int64 { for range x { }; return int64(len(x)) * 1e9 }")}); len(found) > 0 {
		t.Errorf("false alarm: %v", found)
	}
}
