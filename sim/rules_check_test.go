package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A breach is a place in the code where two runs may come to differ.
type breach struct {
	file string
	line int
	in   string // the declaration: "sim.Runner.watch"
	what string // a rule, or what is used and not allowed: "time.Now"
}

func (b breach) String() string { return fmt.Sprintf("%s:%d: %s: %s", b.file, b.line, b.in, b.what) }

// module is what import paths of this module begin with.
const module = "driftlock/"

// short is an import path as the tables have it.
func short(path string) string { return strings.TrimPrefix(path, module) }

// listedPackage is what the go command knows of a package.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string // without those for other platforms, or with cgo
}

// compiled has the go command compile the policed packages and what the planted
// breaches import: all of it is in its cache already, or soon needed by other tests.
var compiled = sync.OnceValues(func() (map[string]listedPackage, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	for dir := range policed {
		args = append(args, module+dir)
	}
	cmd := exec.Command("go", append(args, planted...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", cmd.Args, err, stderr.Bytes())
	}
	all := map[string]listedPackage{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all[p.ImportPath] = p
	}
})

// rules are applied to packages that the compiler knows.
type rules struct {
	packages map[string]listedPackage
	fset     *token.FileSet
	from     types.Importer
}

func newRules(t *testing.T) *rules {
	t.Helper()
	if raced() {
		t.Skip("the code that is read is the same without the race detector")
	}
	all, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	return &rules{all, fset, importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if f := all[path].Export; f != "" {
			return os.Open(f)
		}
		return nil, fmt.Errorf("%s is not known here", path)
	})}
}

// parsed reads a file.
func (r *rules) parsed(t *testing.T, name string, src any) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(r.fset, name, src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// files are those of a package that are compiled here, with one of them replaced.
func (r *rules) files(t *testing.T, dir, replaced, by string) (files []*ast.File) {
	t.Helper()
	p := r.packages[module+dir]
	for _, name := range p.GoFiles {
		var src any
		if name == replaced {
			src = by
		}
		files = append(files, r.parsed(t, filepath.Join(p.Dir, name), src))
	}
	return files
}

// breaches are those of a package, in the order of the files.
func (r *rules) breaches(path string, files []*ast.File) []breach {
	c := &inspection{
		rules: r, path: path,
		info:    &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}},
		excused: map[*ast.Ident]bool{},
		seen:    map[breach]bool{},
	}
	conf := types.Config{Importer: r.from, Error: func(err error) {
		var at types.Error
		errors.As(err, &at)
		c.say(at.Pos, "does not compile: "+at.Msg)
	}}
	conf.Check(path, r.fset, files, c.info)
	for _, f := range files {
		c.file(f)
	}
	return c.found
}

// An inspection is that of one package.
type inspection struct {
	*rules
	path    string
	info    *types.Info
	in      string // the declaration that is looked at
	excused map[*ast.Ident]bool
	seen    map[breach]bool
	found   []breach
}

func (c *inspection) say(at token.Pos, what string) {
	p := c.fset.Position(at)
	b := breach{filepath.Base(p.Filename), p.Line, short(c.path) + "." + c.in, what}
	if !c.seen[b] {
		c.seen[b] = true
		c.found = append(c.found, b)
	}
}

func (c *inspection) file(f *ast.File) {
	for _, i := range f.Imports {
		if i.Name != nil && i.Name.Name == "_" { // what it does it does unasked
			c.in = "import"
			c.say(i.Pos(), strings.Trim(i.Path.Value, `"`))
		}
	}
	for _, group := range f.Comments {
		for _, line := range group.List {
			if strings.HasPrefix(line.Text, "//go:linkname") || strings.HasPrefix(line.Text, "//go:cgo") {
				c.in = "comment"
				c.say(line.Pos(), "linkname")
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			c.in = declared(d)
			if d.Body == nil {
				c.say(d.Pos(), "body elsewhere")
			}
			ast.Inspect(d, c.node)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					c.in = s.Name.Name
				case *ast.ValueSpec:
					c.in = s.Names[0].Name
				case *ast.ImportSpec:
					continue
				}
				ast.Inspect(s, c.node)
			}
		}
	}
}

// declared is a function's name, behind that of its receiver's type.
func declared(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// pointerVerb is one of fmt that shows an address.
var pointerVerb = regexp.MustCompile(`%[-+# 0-9.*\[\]]*p`)

// node judges what is written.
func (c *inspection) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.say(n.Pos(), "go")
	case *ast.SelectStmt:
		c.say(n.Pos(), "channel")
	case *ast.RangeStmt:
		if some(c.info.Types[n.X].Type, isMap) {
			c.say(n.Pos(), "map")
		}
	case *ast.CallExpr:
		c.call(n)
	case *ast.Ident:
		if o := c.info.Uses[n]; o != nil && !c.excused[n] {
			c.use(n, o)
		}
	}
	if x, ok := n.(ast.Expr); ok {
		c.expression(x)
	}
	return true
}

// expression judges the type of what is computed, and the text of what is constant.
func (c *inspection) expression(x ast.Expr) {
	t, ok := c.info.Types[x]
	switch {
	case !ok || t.Type == nil:
	case t.Value != nil:
		if t.Value.Kind() == constant.String && pointerVerb.MatchString(constant.StringVal(t.Value)) {
			c.say(x.Pos(), "address")
		}
	case t.IsType():
		if some(t.Type, isChannel) {
			c.say(x.Pos(), "channel")
		}
	default:
		results, ok := t.Type.(*types.Tuple)
		if !ok {
			results = types.NewTuple(types.NewVar(0, nil, "", t.Type))
		}
		for v := range results.Variables() {
			if some(v.Type(), isFloat) {
				c.say(x.Pos(), "float")
			}
			if some(v.Type(), isChannel) {
				c.say(x.Pos(), "channel")
			}
		}
	}
}

// call judges how a function is called, where its use alone says too little.
func (c *inspection) call(n *ast.CallExpr) {
	c.together(n)
	f, ok := c.info.Types[n.Fun].Type.(*types.Signature)
	if !ok || !f.Variadic() || n.Ellipsis.IsValid() {
		return
	}
	last := f.Params().At(f.Params().Len() - 1).Type().(*types.Slice).Elem()
	if i, ok := last.Underlying().(*types.Interface); !ok || !i.Empty() {
		return
	}
	for _, arg := range n.Args[min(f.Params().Len()-1, len(n.Args)):] {
		if t := c.info.Types[arg].Type; t != nil && showsAddress(t, 0) {
			c.say(arg.Pos(), "address")
		}
	}
}

// together excuses what is right only as part of a call around it: a map's keys that
// are sorted, an instant that is turned to UTC.
func (c *inspection) together(n *ast.CallExpr) {
	outer, inner := c.callee(n), ast.Expr(nil)
	if outer == nil {
		return
	}
	var of []string
	switch c.name(outer) {
	case "slices.Sorted":
		inner, of = n.Args[0], []string{"maps.Keys", "maps.Values"}
	case "time.Time.UTC":
		inner, of = n.Fun.(*ast.SelectorExpr).X, []string{"time.Unix"}
	}
	if call, ok := inner.(*ast.CallExpr); ok {
		if id := c.callee(call); id != nil && slices.Contains(of, c.name(id)) {
			c.excused[id] = true
		}
	}
}

// callee is the name of the function that is called.
func (c *inspection) callee(n *ast.CallExpr) *ast.Ident {
	switch f := ast.Unparen(n.Fun).(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}

// name is what an identifier stands for, if it is another package's.
func (c *inspection) name(id *ast.Ident) string {
	o := c.info.Uses[id]
	if o == nil || o.Pkg() == nil {
		return ""
	}
	return short(o.Pkg().Path()) + "." + inPackage(o)
}

// inPackage is an object's name in its package.
func inPackage(o types.Object) string {
	f, ok := o.(*types.Func)
	if !ok {
		return o.Name()
	}
	f = f.Origin()
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	t := recv.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name() + "." + f.Name()
	}
	return f.Name()
}

// use judges an identifier by whose it is.
func (c *inspection) use(at *ast.Ident, o types.Object) {
	if o.Pkg() == nil || o.Pkg().Path() == c.path {
		return
	}
	if _, ok := o.(*types.PkgName); ok {
		return
	}
	path, name := short(o.Pkg().Path()), inPackage(o)
	if policed[path] != "" {
		if production[path+"."+name] != "" {
			c.say(at.Pos(), path+"."+name)
		}
		return
	}
	names, ok := allowed[path]
	if v, field := o.(*types.Var); field && v.IsField() && ok {
		return // whoever may have the struct
	}
	kind, _, method := strings.Cut(name, ".")
	if !slices.Contains(names, name) && !slices.Contains(names, "*") && !(method && slices.Contains(names, kind+".*")) {
		c.say(at.Pos(), path+"."+name)
	}
}

// some says that a type, or one of those that a type parameter stands for, is such.
func some(t types.Type, is func(types.Type) bool) bool {
	if t == nil {
		return false
	}
	p, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return is(t.Underlying())
	}
	return permits(p.Constraint(), is)
}

func permits(constraint types.Type, is func(types.Type) bool) bool {
	i, ok := constraint.Underlying().(*types.Interface)
	if !ok {
		return some(constraint, is)
	}
	for e := range i.EmbeddedTypes() {
		switch e := types.Unalias(e).(type) {
		case *types.Union:
			for term := range e.Terms() {
				if permits(term.Type(), is) {
					return true
				}
			}
		default:
			if permits(e, is) {
				return true
			}
		}
	}
	return false
}

func isMap(t types.Type) bool     { _, ok := t.(*types.Map); return ok }
func isChannel(t types.Type) bool { _, ok := t.(*types.Chan); return ok }
func isFloat(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
}

// showsAddress says that fmt writes such a value, or part of it, as an address.
func showsAddress(t types.Type, depth int) bool {
	if texts(t) || depth > 4 {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Chan, *types.Signature:
		return true
	case *types.Basic:
		return u.Kind() == types.UnsafePointer || u.Kind() == types.Uintptr
	case *types.Pointer:
		switch u.Elem().Underlying().(type) {
		case *types.Struct, *types.Slice, *types.Array, *types.Map:
			return depth > 0 || showsAddress(u.Elem(), depth+1)
		}
		return true
	case *types.Struct:
		for f := range u.Fields() {
			if showsAddress(f.Type(), depth+1) {
				return true
			}
		}
	case *types.Slice:
		return showsAddress(u.Elem(), depth+1)
	case *types.Array:
		return showsAddress(u.Elem(), depth+1)
	case *types.Map:
		return showsAddress(u.Key(), depth+1) || showsAddress(u.Elem(), depth+1)
	}
	return false
}

// texts says that a type knows how it is written.
func texts(t types.Type) bool {
	for _, name := range []string{"Error", "String", "Format"} {
		if o, _, _ := types.LookupFieldOrMethod(t, false, nil, name); o != nil {
			if _, ok := o.(*types.Func); ok {
				return true
			}
		}
	}
	return false
}
