package simtest_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestYourOwnService goes the way of docs/your-own-service.md, from an empty folder.
func TestYourOwnService(t *testing.T) {
	t.Parallel()
	m := &module{T: t, dir: t.TempDir()}
	m.begin("example.com/orders")
	blocks := regexp.MustCompile("(?s)```go\n(package .*?)```").FindAllStringSubmatch(m.read(abs(t, "../../docs/your-own-service.md")), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d programs in the page, want 2", len(blocks))
	}
	m.write("orders.go", blocks[0][1])
	m.write("orders_test.go", blocks[1][1])
	if out, err := m.command("go", "test", "-c", "-o", "yours.test", ".").CombinedOutput(); err != nil {
		t.Fatalf("the page's module does not build: %v\n%s", err, out)
	}
	out := m.test("TestOneAtATime", false)
	for _, want := range []string{"two at a time", "DRIFTLOCK_SCENARIO=testdata/driftlock/TestOneAtATime.json go test"} {
		if !strings.Contains(out, want) {
			t.Errorf("the test does not say %q:\n%s", want, out)
		}
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
