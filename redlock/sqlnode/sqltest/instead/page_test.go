package instead

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page shows each example as it is, and nothing that is not run.
func TestPageShowsTheExamples(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	page, source := read("../../../../docs/instead-of-a-lock.md"), read("examples_test.go")+read("queue_test.go")
	shown := map[string]bool{}
	for _, b := range strings.Split(page, "```go\n")[1:] {
		code, _, _ := strings.Cut(b, "```")
		shown[unindented(code)] = true
		if !strings.Contains(unindented(source), unindented(code)) {
			t.Errorf("the page shows code that no test runs:\n%s", code)
		}
	}
	examples := regexp.MustCompile(`(?s)\nfunc (?:Example_\w+\(\) \{|take\()(.*?)\n\}\n`).FindAllStringSubmatch(source, -1)
	if len(examples) != 8 {
		t.Errorf("%d examples", len(examples))
	}
	for _, e := range examples {
		found := false
		for code := range shown {
			found = found || strings.Contains(code, unindented(e[1]))
		}
		if !found {
			t.Errorf("the page does not show this example:\n%s", e[1])
		}
	}
}

// unindented is code without what is before and after each line.
func unindented(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
