package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ciFile is one of docs/ci, read.
func ciFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "ci", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the scripts of a YAML file: what is indented under a line that ends in
// "|".
func blocks(text string) (scripts []string) {
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasSuffix(line, "|") {
			continue
		}
		var script []string
		for _, next := range lines[i+1:] {
			if strings.TrimSpace(next) != "" && indent(next) <= indent(line) {
				break
			}
			script = append(script, strings.TrimSpace(next))
		}
		scripts = append(scripts, strings.Join(script, "\n"))
	}
	return scripts
}

// ciCommand is a script and its environment.
type ciCommand struct {
	script string
	env    []string
}

// ciCommands are the commands that a file of docs/ci runs: one a shard, and then
// the one that merges.
func ciCommands(t *testing.T, name, records string) (list []ciCommand) {
	t.Helper()
	text := ciFile(t, name)
	switch name {
	case "slurm.sh":
		for i := range 4 {
			list = append(list, ciCommand{text, []string{"RECORDS=" + records, "SLURM_ARRAY_TASK_ID=" + fmt.Sprint(i+1), "SLURM_ARRAY_TASK_COUNT=4"}})
		}
		return append(list, ciCommand{text, []string{"RECORDS=" + records}})
	case "kubernetes.yaml":
		scripts := blocks(text)
		if len(scripts) != 2 || !strings.Contains(text, "completions: 4") || strings.Count(text, "value: /records") != 2 {
			t.Fatalf("%s: %d scripts, or another number of shards", name, len(scripts))
		}
		for i := range 4 {
			list = append(list, ciCommand{scripts[0], []string{"RECORDS=" + records, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i)}})
		}
		return append(list, ciCommand{scripts[1], []string{"RECORDS=" + records}})
	}
	scripts := blocks(text)
	m := regexp.MustCompile(`shard: \[(.*)\]`).FindStringSubmatch(text)
	if len(scripts) != 2 || m == nil {
		t.Fatalf("%s: %d scripts, matrix %q", name, len(scripts), m)
	}
	for _, shard := range strings.Split(m[1], ", ") {
		list = append(list, ciCommand{strings.ReplaceAll(scripts[0], "${{ matrix.shard }}", shard), nil})
	}
	return append(list, ciCommand{scripts[1], nil})
}

// runCI runs a script in a folder, with fewer seeds, and wants it to end with one of
// the statuses that a search has.
func runCI(t *testing.T, c ciCommand, dir string, edit *strings.Replacer) {
	t.Helper()
	cmd := exec.Command("sh", "-euc", edit.Replace(strings.ReplaceAll(c.script, "$HOME", dir)))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), c.env...)
	for _, name := range []string{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "RECORDS"} {
		if !strings.Contains(strings.Join(c.env, " "), name+"=") {
			cmd.Env = append(cmd.Env, name+"=")
		}
	}
	out, err := cmd.CombinedOutput()
	if status := cmd.ProcessState.ExitCode(); err != nil && status != statusBroke {
		t.Fatalf("%s\nends with status %d:\n%s", cmd.Args[2], status, out)
	}
}

// TestCI runs what the files of docs/ci say, as four shards here, and wants the
// records of the search that was not split.
func TestCI(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh: ", err)
	}
	for _, few := range []struct {
		name string
		edit *strings.Replacer
		args []string
	}{
		{"as it stands", strings.NewReplacer("--seeds 1M", "--seeds 200"), []string{"--bugs"}},
		{"with breaks", strings.NewReplacer("--bugs --seeds 1M", "--seeds 200"), nil},
	} {
		whole := filepath.Join(t.TempDir(), "all.jsonl")
		runCI(t, ciCommand{script: "replay search --space faulty --seeds 200 --records " + whole + " " + strings.Join(few.args, " ")}, t.TempDir(), few.edit)
		want, err := os.ReadFile(whole)
		if err != nil || bytes.Contains(want, []byte(`{"break":`)) == (few.args != nil) {
			t.Fatalf("%s: %v\n%s", few.name, err, want)
		}
		for _, name := range []string{"kubernetes.yaml", "slurm.sh", "github-actions.yml"} {
			t.Run(name+" "+few.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				records := filepath.Join(dir, "records")
				if name == "kubernetes.yaml" { // its volume is there
					if err := os.Mkdir(records, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				commands := ciCommands(t, name, records)
				if len(commands) != 5 {
					t.Fatalf("%d commands", len(commands))
				}
				for _, c := range commands {
					runCI(t, c, dir, few.edit)
				}
				if got, err := os.ReadFile(filepath.Join(records, "all.jsonl")); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%v, %d bytes; whole, it was %d:\n%s", err, len(got), len(want), got)
				}
			})
		}
	}
}
