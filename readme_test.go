package driftlock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"driftlock/testdata/scenarios"
)

// TestReadmeProgramRuns: the program that README.md shows for code of one's own
// is built as it stands there, and prints what stands below it.
func TestReadmeProgramRuns(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```go\npackage main\n")
	program, rest, ended := strings.Cut(rest, "```\n")
	_, rest, shown := strings.Cut(rest, "```\n")
	want, _, closed := strings.Cut(rest, "```\n")
	if !found || !ended || !shown || !closed {
		t.Fatal("README.md shows no program with its output")
	}
	scenario, err := scenarios.Files.ReadFile("chrony-slew.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	for file, text := range map[string]string{source: "package main\n" + program, filepath.Join(dir, "mine.json"): string(scenario)} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	built := filepath.Join(dir, "yours.exe")
	if out, err := exec.Command("go", "build", "-o", built, source).CombinedOutput(); err != nil {
		t.Fatalf("it does not build: %v\n%s", err, out)
	}
	run := exec.Command(built)
	run.Dir = dir
	got, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("it fails: %v\n%s", err, got)
	}
	if strings.Join(strings.Fields(string(got)), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("it prints\n%sREADME.md shows\n%s", got, want)
	}
}
