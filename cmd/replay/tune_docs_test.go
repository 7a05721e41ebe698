package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"driftlock/sim/tune"
)

const choosing = "../../docs/choosing.md"

// raced says whether the race detector makes everything slow.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Each line that docs/choosing.md shows under a command is one that the command
// prints, in that order.
func TestChoosingShowsWhatTheProgramPrints(t *testing.T) {
	t.Parallel()
	if raced() {
		t.Skip("many runs, and no goroutine that other tests do not have")
	}
	text, err := os.ReadFile(choosing)
	if err != nil {
		t.Fatal(err)
	}
	const call = "```\n$ go run ./cmd/replay "
	commands := strings.Split(string(text), call)[1:]
	if len(commands) < 10 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, block := range commands {
		block, _, _ = strings.Cut(block, "```")
		line, shown, _ := strings.Cut(block, "\n")
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			a := &app{out: &stream{w: &out}, err: &stream{w: &errs}, self: []string{"replay"}}
			if status := a.execute(context.Background(), strings.Fields(line)); status != statusHeld {
				t.Fatalf("status %d: %s", status, errs.String())
			}
			rest := out.String()
			for want := range strings.Lines(shown) {
				_, after, found := strings.Cut("\n"+rest, "\n"+want)
				if !found {
					t.Fatalf("does not print %q, or not there:\n%s", want, out.String())
				}
				rest = "\n" + after
			}
			if strings.TrimSpace(shown) == "" {
				t.Error("nothing is shown of it")
			}
		})
	}
}

// Its table is that of the code.
func TestChoosingHasThePresets(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(choosing)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range tune.PresetRows() {
		if line := "| " + strings.Join(row[:], " | ") + " |\n"; !strings.Contains(string(text), line) {
			t.Errorf("has no line %s", line)
		}
	}
}

// Its plots are there; with -update they are made anew, and the PNGs beside them.
func TestChoosingPlots(t *testing.T) {
	folder := filepath.Join(filepath.Dir(choosing), "plots")
	if *update {
		for _, args := range [][]string{{"--clocks", "chrony-default", "--slew-max", "1s"}, {"--sweep", "factor,drift"}} {
			made := filepath.Join(t.TempDir(), "out")
			a := &app{out: &stream{w: new(bytes.Buffer)}, err: &stream{w: os.Stderr}, self: []string{"replay"}}
			if status := a.execute(context.Background(), append([]string{"tune", "--out", made}, args...)); status != statusHeld {
				t.Fatalf("%v: status %d", args, status)
			}
			for _, ext := range []string{"*.svg", "*.png"} {
				files, _ := filepath.Glob(filepath.Join(made, ext))
				for _, file := range files {
					text, err := os.ReadFile(file)
					if err == nil {
						err = os.WriteFile(filepath.Join(folder, filepath.Base(file)), text, 0o644)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	text, err := os.ReadFile(choosing)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"curve", "price", "sweep"} {
		if !strings.Contains(string(text), "](plots/"+name+".svg)") {
			t.Errorf("does not show %s", name)
		}
		for _, ext := range []string{".svg", ".png", "-dark.png"} {
			if info, err := os.Stat(filepath.Join(folder, name+ext)); err != nil || info.Size() < 1000 {
				t.Errorf("%s%s: %v", name, ext, err)
			}
		}
	}
}
