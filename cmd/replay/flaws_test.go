package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// TestFlawsTable: docs/search.md shows what flaws prints. Of the whole table with
// DRIFTLOCK_LONG=1, which takes minutes; else of the flaws that are found at once.
func TestFlawsTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range flawNames() {
		if !strings.Contains(string(text), "\n| "+name+" | ") {
			t.Errorf("docs/search.md says nothing of %s", name)
		}
	}
	args := []string{"flaws"}
	if os.Getenv("DRIFTLOCK_LONG") != "1" {
		args = append(args, "drift-added", "no-buffer", "anchor-at-reply", "half-quorum", "constant-token", "no-ttl", "release-always-ok", "extend-without-quorum")
	}
	var out bytes.Buffer
	a := &app{out: &stream{w: &out}, err: &stream{w: os.Stderr}}
	if status := a.execute(context.Background(), args); status != statusHeld {
		t.Errorf("flaws ends with status %d", status)
	}
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/search.md does not show this (replay flaws):\n%s", line)
		}
	}
}
