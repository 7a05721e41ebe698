package redlock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The lock's logic is ordinary sequential code: whatever waits or runs in the
// background does so through the clock and the transport. That is why a
// simulator can run it. Only the production transport may do otherwise.
func TestLogicIsSequential(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range files {
		if name == "transport.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, what := range concurrent(t, name, nil) {
			t.Error(what)
		}
		checked++
	}
	if checked < 8 {
		t.Errorf("only %d files were checked", checked)
	}
}

// The check itself finds each of what it looks for.
func TestConcurrencyIsFound(t *testing.T) {
	t.Parallel()
	const src = `package p
		func f(c chan int) { // 1: a channel
			go f(nil)        // 2: a goroutine
			c <- 1           // 3
			<-c              // 4
			select {}        // 5
			for range c {    // found by its type, at 1
			}
		}`
	var lines []string
	for _, what := range concurrent(t, "p.go", src) {
		lines = append(lines, strings.Split(what, ":")[1])
	}
	if want := []string{"2", "3", "4", "5", "6"}; !slices.Equal(lines, want) {
		t.Errorf("found in lines %v, want %v", lines, want)
	}
}

// concurrent lists the places of a file that start, or talk to, other goroutines.
func concurrent(t *testing.T, name string, src any) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		what := ""
		switch n := n.(type) {
		case *ast.GoStmt:
			what = "go statement"
		case *ast.SelectStmt:
			what = "select"
		case *ast.ChanType:
			what = "channel"
		case *ast.SendStmt:
			what = "send"
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				what = "receive"
			}
		}
		if what != "" {
			found = append(found, set.Position(n.Pos()).String()+": "+what)
		}
		return true
	})
	return found
}
