package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"driftlock/internal/servers"
)

// One object a row, with the fields by which a program reads it. What driftlock promises
// whatever the machine is busy with holds in it.
func TestLockJSON(t *testing.T) {
	servers.New(t, servers.Redis) // skips the test if there is none
	var out bytes.Buffer
	if err := lockTo(&out, []string{"--json", "--rounds", "1"}); err != nil {
		t.Fatal(err)
	}
	all := []string{"driftlock", "lower-bound", "redsync", "redsync-failfast", "redislock"}
	names := map[string][]string{}
	for line := range strings.Lines(out.String()) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		table, name := r["table"].(string), r["name"].(string)
		names[table] = append(names[table], name)
		number := func(field string) float64 {
			x, ok := r[field].(float64)
			if !ok {
				t.Errorf("%s, %s: %s is %v", table, name, field, r[field])
			}
			return x
		}
		if number("p50_us") <= 0 || number("p99_us") < number("p50_us") {
			t.Errorf("times: %s", line)
		}
		for _, field := range []string{"cycles_s_1", "cycles_s_8", "cycles_s_64", "allocs"} {
			if x, ok := r[field]; !ok || x != nil && number(field) <= 0 {
				t.Errorf("%s: %s", field, line)
			}
			if table == "lock" && !(name == "sockets" && field == "allocs") {
				number(field)
			}
		}
		if name != "driftlock" {
			continue
		}
		if number("orphans") != 0 || table == "lock" && number("failed") != 0 {
			t.Errorf("orphans or failures: %s", line)
		}
		if stuck, _ := r["stuck_goroutines"].(float64); stuck > 1 {
			t.Errorf("stuck: %s", line)
		}
		if table == "lock" && number("allocs") > 105 {
			t.Errorf("allocations: %s", line)
		}
	}
	for table, want := range map[string][]string{
		"lock":                  append(slices.Clone(all), "sockets"),
		"lock-contended":        all,
		"lock-one-node-stopped": all,
	} {
		if !slices.Equal(names[table], want) {
			t.Errorf("%s has the rows %q, want %q", table, names[table], want)
		}
	}
}

// TestArguments: what makes no sense is refused by both commands before anything is
// measured, with status 2; to ask for help is no mistake.
func TestArguments(t *testing.T) {
	lock := func(args []string) error { return lockTo(&bytes.Buffer{}, args) }
	for name, command := range map[string]func([]string) error{"lock": lock, "sim": simMain} {
		for _, args := range [][]string{{"--rounds", "0"}, {"--no-such"}, {"--rounds", "x"}, {"extra"}, {"extra", "--rounds", "0"}, {"--rounds", "1", "extra"}} {
			if err := command(args); err == nil || status(err) != 2 {
				t.Errorf("%s %q: %v, status %d", name, args, err, status(err))
			}
		}
		if err := command([]string{"-h"}); err == nil || status(err) != 0 {
			t.Errorf("%s -h: %v, status %d", name, err, status(err))
		}
	}
	if status(errors.New("no server")) != 1 || status(nil) != 0 {
		t.Error("another error is no misuse, and none is none")
	}
}
