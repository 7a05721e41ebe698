package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the program's output into README.md anew")

// took is a duration that every run measures anew.
var took = regexp.MustCompile(`(after|in) [0-9.]+(µs|ms|s)\b`)

// What README.md shows under a command is what the program prints, but for how
// long it took.
func TestReadmeShowsWhatTheProgramPrints(t *testing.T) {
	file, err := filepath.Abs("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // search writes a file
	for _, args := range [][]string{{"search"}, {"run", "s13", "--level", "lanes"}} {
		call := "$ go run ./cmd/replay " + strings.Join(args, " ") + "\n"
		before, rest, ok := strings.Cut(string(text), call)
		shown, after, end := strings.Cut(rest, "```\n")
		if !ok || !end {
			t.Fatalf("README.md shows no output of %q", strings.TrimSpace(call))
		}
		var out bytes.Buffer
		a := &app{out: &stream{w: &out}, err: &stream{w: os.Stderr}, self: []string{"go", "run", "./cmd/replay"}}
		if status := a.execute(context.Background(), args); status != statusBroke {
			t.Fatalf("%s ends with status %d", args[0], status)
		}
		if *update {
			text = []byte(before + call + out.String() + "```\n" + after)
			continue
		}
		if got, want := took.ReplaceAllString(out.String(), "$1 …"), took.ReplaceAllString(shown, "$1 …"); got != want {
			t.Errorf("README.md shows something else (go test ./cmd/replay -update):\n--- now\n%s\n--- README.md\n%s", got, want)
		}
	}
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
