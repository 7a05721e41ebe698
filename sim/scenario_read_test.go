package sim

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"driftlock/sim/network"
)

// good is a scenario with a bit of everything; the tests break it in one place.
const good = `{
  "version": 1,
  "name": "good",
  "seed": 7,
  "until": "30s",
  "lock": {"ttl": "10s", "factor": "0.01", "buffer": "2ms", "node_timeout": "50ms", "give_up": "5s", "retry": {"tries": 3, "max": "1s", "outage": "3s"}},
  "nodes": [
    {"name": "A", "clock": {"rate": "200/199", "offset": "-3.000001ms"}, "expiry": "non-strict"},
    {"name": "B", "persistence": "everysec"},
    {"name": "C", "quarantine": "10s", "quarantine_on": "wall"}
  ],
  "clients": [
    {"name": "c1", "clock": {"rate": "-200ppm"}, "lives": "wall", "repeat": 2, "steps": [
      {"do": "acquire", "key": "k"},
      {"do": "hold", "key": "k", "percent": 100},
      {"do": "extend", "key": "k", "ttl": "20s"},
      {"do": "release", "key": "k"},
      {"do": "sleep", "for": "1s"}
    ]},
    {"name": "c2"}
  ],
  "resources": [{"name": "S", "fenced": true}],
  "network": {
    "request": {"delay": {"min": "1ms"}},
    "reply": {"delay": {"law": "uniform", "min": "1ms", "max": "2ms"}, "loss_ppm": 10, "slow_ppm": 20, "slow_by": "1s", "slow_for": "2s"},
    "paths": {"c1>A": {"delay": {"min": "3ms"}}},
    "cuts": [{"from": ["c1"], "to": ["C"]}],
    "rules": [{"from": "c1", "to": "B", "nth": 3, "late": "700ms"}, {"to": "S", "drop": true}],
    "quiet_from": "20s"
  },
  "faults": [
    {"kind": "rate", "on": "A", "at": "1s", "for": "1s", "rate": "13/12"},
    {"kind": "crash", "on": "B", "at": "1s", "for": "1s", "by": "1.5s", "refuse": true},
    {"kind": "step", "on": "c1", "at": "2s", "by": "-1s"}
  ],
  "expect": {"ok": false, "breaks": ["I1", "I2"], "margin": "-1.000001ms"}
}`

func TestParseGood(t *testing.T) {
	t.Parallel()
	sc, err := Parse("good.json", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if sc.Nodes[0].Clock.Rate.String() != "200/199" || sc.Clients[0].Steps[1].Percent != 100 || sc.Network.Rules[0].Nth != 3 ||
		time.Duration(*sc.Expect.Margin) != -1_000_001 {
		t.Errorf("%+v", sc)
	}
	once := sc.AppendJSON(nil)
	again, err := Parse("again.json", once)
	if err != nil {
		t.Fatal(err)
	}
	if twice := again.AppendJSON(nil); string(twice) != string(once) {
		t.Errorf("printed, read and printed again:\n%s\n%s", once, twice)
	}
	if bare := strings.Join(strings.Fields(good), ""); bare != strings.Join(strings.Fields(string(once)), "") {
		t.Errorf("something was lost or added:\n%s", once)
	}
}

// TestPrintIsCanonical: however often it is printed, and in whatever order its
// paths were put in, a scenario has one text.
func TestPrintIsCanonical(t *testing.T) {
	t.Parallel()
	sc, err := Parse("good.json", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for range 10 {
		sc.Network.Paths = map[string]network.Path{}
		for _, name := range []string{"c1>A", "A>c1", "c1>B", "B>c1", "c2>A", "A>c2", "c2>B", "B>c2", "c1>C", "C>c1"} {
			sc.Network.Paths[name] = network.Path{Delay: network.Delay{Min: 1}}
		}
		got := sc.AppendJSON(nil)
		if want != nil && !bytes.Equal(got, want) {
			t.Fatalf("printed as\n%s\nand as\n%s", want, got)
		}
		want = got
	}
	if rest := sc.AppendJSON([]byte("before\n")); !bytes.Equal(rest, append([]byte("before\n"), want...)) {
		t.Error("what was there before is not left as it was")
	}
}

// TestParseBad says for each broken text what the message must name: the file,
// the path in it, and what is allowed.
func TestParseBad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, old, new string
		want           []string // beside the file's name
	}{
		{"wrong field", `"clock": {"rate": "-200ppm"}`, `"clcok": {"rate": "-200ppm"}`, []string{"clients[0].clcok: no such field", `did you mean "clock"?`, "name, clock, lives, repeat, steps are allowed"}},
		{"wrong field of an embedded struct", `"expiry"`, `"expires"`, []string{"nodes[0].expires: no such field", `"expiry"`, "persistence, quarantine"}},
		{"wrong case", `"nodes"`, `"Nodes"`, []string{"Nodes: no such field", `"nodes"`}},
		{"twice", `"seed": 7`, `"seed": 7, "seed": 8`, []string{"seed: line 4", "twice"}},
		{"null", `"seed": 7`, `"seed": null`, []string{"seed: null: leave the field out"}},
		{"negative duration", `"until": "30s"`, `"until": "-30s"`, []string{"until: -30s: must be above 0"}},
		{"no unit", `"until": "30s"`, `"until": "30"`, []string{"until: duration", "no unit"}},
		{"number for a duration", `"until": "30s"`, `"until": 30`, []string{"until: a number, but a duration in quotes"}},
		{"half a nanosecond", `"until": "30s"`, `"until": "0.5ns"`, []string{"until: ", "whole number of nanoseconds"}},
		{"no end", `"until": "30s",`, ``, []string{"until: 0s: must be above 0"}},
		{"end too late", `"until": "30s"`, `"until": "2000000h"`, []string{"until: 2000000h0m0s: must be from 1ns to 720h0m0s"}},
		{"negative seed", `"seed": 7`, `"seed": -7`, []string{"seed: -7: a whole number from 0"}},
		{"seed too large", `"seed": 7`, `"seed": 18446744073709551616`, []string{"seed: 18446744073709551616: a whole number"}},
		{"text for a number", `"seed": 7`, `"seed": "7"`, []string{"seed: a text, but a whole number"}},
		{"list for an object", `"lock": {`, `"lock": [{}], "x": {`, []string{"lock: a list, but an object {…} is expected"}},
		{"object for a list", `"faults": [`, `"faults": {}, "x": [`, []string{"faults: an object, but a list […] is expected"}},
		{"fraction", `"repeat": 2`, `"repeat": 2.5`, []string{"clients[0].repeat: 2.5: a whole number"}},
		{"negative repeat", `"repeat": 2`, `"repeat": -2`, []string{"clients[0].repeat: -2: must be from 0"}},
		{"rate below 0", `"-200ppm"`, `"-2000000ppm"`, []string{`clients[0].clock.rate: rate "-2000000ppm": must be above 0`}},
		{"rate of 0", `"-200ppm"`, `"-1000000ppm"`, []string{"clients[0].clock.rate: ", "must be above 0"}},
		{"rate too high", `"-200ppm"`, `"101"`, []string{"clients[0].clock.rate: 101: must be from 1/100 to 100"}},
		{"no rate at all", `"-200ppm"`, `"fast"`, []string{`clients[0].clock.rate: rate "fast"`, `"200/199"`}},
		{"offset", `"-3.000001ms"`, `"100000h"`, []string{"nodes[0].clock.offset: 100000h0m0s: must be from -87600h0m0s to 87600h0m0s"}},
		{"no version", `"version": 1,`, ``, []string{"version: missing: this program writes and reads version 1"}},
		{"newer version", `"version": 1,`, `"version": 2, "new": {},`, []string{"version: 2 is newer than this program, which reads version 1"}},
		{"older version", `"version": 1,`, `"version": -1,`, []string{"version: -1 is older"}},
		{"no buffer", `"buffer": "2ms", `, ``, []string{"lock.buffer: missing", "2ms"}},
		{"unknown node in a cut", `"to": ["C"]`, `"to": ["D"]`, []string{`network.cuts[0].to[0]: no machine "D"`, "have c1, c2, A, B, C, S"}},
		{"unknown client in a rule", `"from": "c1", "to": "B"`, `"from": "c3", "to": "B"`, []string{`network.rules[0].from: no machine "c3" (did you mean "c1"?)`}},
		{"unknown path", `"c1>A"`, `"c1>a"`, []string{`network.paths["c1>a"]: no node "a" (did you mean "A"?)`}},
		{"no path", `"c1>A"`, `"c1-A"`, []string{`network.paths["c1-A"]: a path is written "client>node"`}},
		{"law", `"uniform"`, `"unifrom"`, []string{`network.reply.delay.law: no law "unifrom" (did you mean "uniform"?); there are constant, uniform, exponential and pareto`}},
		{"negative delay", `"min": "3ms"`, `"min": "-3ms"`, []string{`network.paths["c1>A"].delay.min: -3ms is negative`}},
		{"endless delay", `"min": "3ms"`, `"min": "2000h"`, []string{`network.paths["c1>A"].delay.min: 2000h0m0s: must be at most 720h0m0s`}},
		{"more lost than sent", `"loss_ppm": 10`, `"loss_ppm": 1000001`, []string{"network.reply.loss_ppm: 1000001 of a million"}},
		{"rule that does nothing", `, "late": "700ms"`, ``, []string{"network.rules[0]: does nothing"}},
		{"no network at all", `"network": {`, `"expect": {"ok": true}}`, []string{"network: missing"}},
		{"lock kind", `"lock": {`, `"lock": {"kind": "redloc", `, []string{"lock.kind: \"redloc\" is none of redlock", "did you mean"}},
		{"factor of 1", `"0.01"`, `"1"`, []string{`lock.factor: "1": must be from 0 to below 1`}},
		{"factor below 0", `"0.01"`, `"-0.01"`, []string{`lock.factor: "-0.01": a decimal number`}},
		{"factor as a number", `"0.01"`, `0.01`, []string{"lock.factor: a number, but a text in quotes is expected"}},
		{"ttl of 0", `"ttl": "10s"`, `"ttl": "0s"`, []string{"lock.ttl: 0s: must be above 0"}},
		{"ttl of 999 µs", `"ttl": "10s"`, `"ttl": "999us"`, []string{"lock.ttl: 999µs: must be at least 1ms"}},
		{"nothing left of the ttl", `"ttl": "10s"`, `"ttl": "2.9ms"`, []string{"lock.ttl: 2.9ms: nothing is left", "0.01", "2ms"}},
		{"no node timeout", `"node_timeout": "50ms", `, ``, []string{"lock.node_timeout: 0s: must be above 0"}},
		{"endless attempts", `"retry": {"tries": 3, "max": "1s", "outage": "3s"}`, `"retry": {}`, []string{"lock.retry.max: missing: the longest pause between two attempts"}},
		{"attempts that hardly end", `"tries": 3, "max": "1s"`, `"max": "3us"`, []string{"lock.retry.max: 3µs: must be more than 3µs, a part in 10000000 of until"}},
		{"steps that hardly end", `"repeat": 2,`, `"repeat": 2000001,`, []string{"clients[0].repeat: 2000001: must be from 0 to 1000000 for so many steps"}},
		{"retry the wrong way round", `"max": "1s", "outage"`, `"min": "2s", "max": "1s", "outage"`, []string{"lock.retry.max: 1s: must be at least min, 2s"}},
		{"0 clients", `"clients": [`, `"clients": [], "x": [`, []string{"x: no such field"}},
		{"a text that moves the cursor", `"name": "good"`, `"name": "\u001b[2J"`, []string{"name: a control character"}},
		{"no name", `"name": "B"`, `"name": ""`, []string{"nodes[1].name: missing"}},
		{"name twice", `"name": "c2"`, `"name": "A"`, []string{`clients[1].name: "A" is the name of another machine`}},
		{"strange name", `"name": "B"`, `"name": "B>C"`, []string{`nodes[1].name: "B>C"`, "letters, digits"}},
		{"expiry", `"non-strict"`, `"nonstrict"`, []string{`nodes[0].expiry: "nonstrict" is none of strict, non-strict (did you mean "non-strict"?)`}},
		{"persistence", `"everysec"`, `"sometimes"`, []string{`nodes[1].persistence: "sometimes" is none of none, everysec, always, snapshot`}},
		{"lives", `"lives": "wall"`, `"lives": "walls"`, []string{`clients[0].lives: "walls" is none of boot, monotonic, wall (did you mean "wall"?)`}},
		{"step kind", `"do": "extend"`, `"do": "exten"`, []string{`clients[0].steps[2].do: "exten" is none of acquire, hold, watch, extend, release, write, sleep, delete (did you mean "extend"?)`}},
		{"step without a key", `"do": "acquire", "key": "k"`, `"do": "acquire"`, []string{"clients[0].steps[0].key: missing"}},
		{"step on a key never acquired", `"do": "release", "key": "k"`, `"do": "release", "key": "j"`, []string{`clients[0].steps[3].key: no step before this one acquires "j"`}},
		{"hold of nothing", `, "percent": 100`, ``, []string{"clients[0].steps[1].for: missing: a hold takes for or percent"}},
		{"hold of both", `"percent": 100`, `"percent": 100, "for": "1s"`, []string{"clients[0].steps[1].percent: a hold takes either"}},
		{"hold beyond the validity", `"percent": 100`, `"percent": 101`, []string{"clients[0].steps[1].percent: 101: must be from 1 to 100"}},
		{"negative sleep", `"do": "sleep", "for": "1s"`, `"do": "sleep", "for": "-1s"`, []string{"clients[0].steps[4].for: -1s: must be above 0"}},
		{"acquire for a time", `"do": "acquire", "key": "k"`, `"do": "acquire", "key": "k", "for": "1s"`, []string{"clients[0].steps[0].for: acquire takes none"}},
		{"release with a ttl", `"do": "release", "key": "k"`, `"do": "release", "key": "k", "ttl": "1s"`, []string{"clients[0].steps[3].ttl: release takes none"}},
		{"extend by nothing", `"ttl": "20s"`, `"ttl": "1ms"`, []string{"clients[0].steps[2].ttl: 1ms: nothing is left"}},
		{"fault kind", `"kind": "step"`, `"kind": "stpe"`, []string{`faults[2].kind: "stpe" is none of pause, suspend, crash`, `did you mean "step"?`}},
		{"fault on nobody", `"on": "A"`, `"on": "a"`, []string{`faults[0].on: no machine is called "a" (did you mean "A"?): there are A, B, C, c1, c2`}},
		{"flush of a client", `"kind": "step", "on": "c1", "at": "2s", "by": "-1s"`, `"kind": "flush", "on": "c1", "at": "2s"`, []string{`faults[2].on: "c1" is a client: flush is a fault of nodes`}},
		{"suspend of a node", `"kind": "step", "on": "c1", "at": "2s", "by": "-1s"`, `"kind": "suspend", "on": "B", "at": "2s", "for": "1s"`, []string{`faults[2].on: "B" is a node: suspend is a fault of clients`}},
		{"fault after the end", `"at": "2s"`, `"at": "31.1s"`, []string{"faults[2].at: 31.1s: the run is over at 31s"}},
		{"fault before the start", `"at": "2s"`, `"at": "-2s"`, []string{"faults[2].at: -2s: must not be negative"}},
		{"fault for no time", `"for": "1s", "rate"`, `"rate"`, []string{"faults[0].for: 0s: must be above 0"}},
		{"step for a time", `"by": "-1s"`, `"by": "-1s", "for": "1s"`, []string{"faults[2].for: step takes none"}},
		{"step by nothing", `, "by": "-1s"`, ``, []string{"faults[2].by: missing"}},
		{"step too far", `"by": "-1s"`, `"by": "-90000h"`, []string{"faults[2].by: -90000h0m0s: must be from -87600h0m0s"}},
		{"no rate", `, "rate": "13/12"`, `, "rate": "200/199"`, []string{`faults[0].rate: 200/199: the clocks of "A" run at that rate anyway`}},
		{"loses too much", `"by": "1.5s"`, `"by": "2.5s"`, []string{"faults[1].by: 2.5s: must be from 0s to 2s"}},
		{"loses a part of nothing", `"persistence": "everysec"`, `"persistence": "always"`, []string{"faults[1].by: only a node with persistence everysec or snapshot"}},
		{"refusal of what is no crash", `"by": "-1s"`, `"by": "-1s", "refuse": true`, []string{"faults[2].refuse: step takes none"}},
		{"refusal of a client", `"kind": "step", "on": "c1", "at": "2s", "by": "-1s"`, `"kind": "crash", "on": "c1", "at": "2s", "refuse": true`, []string{"faults[2].refuse: a client's crash takes none"}},
		{"quarantine on no clock", `"wall"}`, `"mono"}`, []string{`nodes[2].quarantine_on: "mono" is none of boot, wall`}},
		{"quarantine for no time", `"quarantine": "10s", `, ``, []string{"nodes[2].quarantine_on: a node without a quarantine takes none"}},
		{"late by nothing", `"slow_by": "1s", `, ``, []string{"network.reply.slow_by: missing"}},
		{"late for too long", `"slow_by": "1s"`, `"slow_by": "1000h"`, []string{"network.reply.slow_by: 1000h0m0s: must be at most 720h0m0s"}},
		{"quiet too late", `"quiet_from": "20s"`, `"quiet_from": "2000h"`, []string{"network.quiet_from: 2000h0m0s: must be at most 720h0m0s"}},
		{"unknown resource in a rule", `"to": "S"`, `"to": "T"`, []string{`network.rules[1].to: no machine "T"`}},
		{"key of a step", `"by": "-1s"`, `"by": "-1s", "key": "k"`, []string{"faults[2].key: step takes none"}},
		{"eviction of nothing", `"kind": "step", "on": "c1", "at": "2s", "by": "-1s"`, `"kind": "evict", "on": "B", "at": "2s"`, []string{"faults[2].key: missing"}},
		{"overlap", `"kind": "step", "on": "c1", "at": "2s", "by": "-1s"`, `"kind": "crash", "on": "B", "at": "1.5s", "for": "1s"`, []string{`faults[2].at: 1.5s: the crash of faults[1] on "B" is not over then`}},
		{"ok and broken", `"ok": false`, `"ok": true`, []string{"expect.breaks: none breaks in a run that is ok"}},
		{"broken, but how", `"breaks": ["I1", "I2"], `, ``, []string{"expect.breaks: missing"}},
		{"no invariant", `["I1", "I2"]`, `["I8"]`, []string{`expect.breaks[0]: "I8" is no invariant: I1 to I7 are`}},
		{"invariants out of order", `["I1", "I2"]`, `["I2", "I1"]`, []string{"expect.breaks[1]: I1: they stand in their order"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before, after, _ := strings.Cut(good, c.old)
			text := before + c.new + after
			if c.name == "no network at all" {
				text = before + c.new
			}
			if text == good {
				t.Fatalf("%q does not occur", c.old)
			}
			wantRefused(t, text, c.want...)
		})
	}
}

// TestParseGarbled is about texts that are no JSON, or not of this kind.
func TestParseGarbled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"empty: a scenario is an object"}},
		{"blank", " \n\t", []string{"empty"}},
		{"a list", "[]", []string{"a scenario is an object {…}, and this is a list"}},
		{"null", "null", []string{"and this is null"}},
		{"garbage", "hello", []string{"line 1, column 1: no JSON"}},
		{"binary", "\x00\xff\xfe", []string{"line 1, column 1: no JSON"}},
		{"bad UTF-8", "{\"name\":\n\"\xff\"}", []string{"name: line 2", "UTF-8"}},
		{"trailing text", good + "\n{}", []string{"there is text after the end"}},
		{"trailing garbage", good + "\n}", []string{"there is text after the end"}},
		{"missing comma", strings.Replace(good, `"seed": 7,`, `"seed": 7`, 1), []string{"line 5, column 3: no JSON"}},
		{"deep, where nothing is known", `{"name": ` + strings.Repeat(`{"a":`, 100), []string{"name.a.a.a", "nested more than 16 deep"}},
		{"deep, where a list is known", `{"nodes": ` + strings.Repeat(`[`, 100), []string{"nodes[0][0]", "nested more than 16 deep"}},
		{"no clients", `{"version": 1, "until": "1s", "network": {}, "clients": [], "nodes": [{"name":"A"}], "lock":{"ttl":"1s","factor":"0","buffer":"0s","node_timeout":"1s","give_up":"1s","retry":{"tries":1}}}`,
			[]string{"clients: 0 clients: must be 1 to 64"}},
		{"no nodes", `{"version": 1, "until": "1s", "network": {}, "clients": [{"name":"A"}], "lock":{"ttl":"1s","factor":"0","buffer":"0s","node_timeout":"1s","give_up":"1s","retry":{"tries":1}}}`,
			[]string{"nodes: 0 nodes: must be 1 to 64"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, c.text, c.want...)
		})
	}
}

// wantRefused parses the text and wants an error that names the file and has
// all of the given in one line.
func wantRefused(t *testing.T, text string, want ...string) {
	t.Helper()
	sc, err := Parse("some/x.json", []byte(text))
	if err == nil {
		t.Fatalf("not refused: %s", sc.AppendJSON(nil))
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.HasPrefix(line, "some/x.json: ") {
			t.Errorf("does not name the file: %s", line)
		}
	}
	if bad, ok := errors.AsType[*FieldError](err); !ok || bad.File != "some/x.json" {
		t.Errorf("no FieldError of the file: %#v", err)
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		has := true
		for _, w := range want {
			has = has && strings.Contains(line, w)
		}
		if has {
			return
		}
	}
	t.Errorf("no line of\n%v\nhas all of %q", err, want)
}

// TestParseTruncated cuts a scenario everywhere: each piece is refused, and none
// of them as if it were whole.
func TestParseTruncated(t *testing.T) {
	t.Parallel()
	for n := range len(good) {
		if _, err := Parse("x.json", []byte(good[:n])); err == nil {
			t.Fatalf("the first %d bytes were taken for a scenario", n)
		} else if n > 0 && !strings.Contains(err.Error(), "ends in the middle") {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

// TestParseHuge: what is far too long, deep or wide is refused at once.
func TestParseHuge(t *testing.T) {
	t.Parallel()
	wide := func(old, one string, n int) string {
		return strings.Replace(good, old, old+strings.Repeat(one, n), 1)
	}
	for name, text := range map[string]string{
		"10 MB of [":            strings.Repeat("[", 10_000_000),
		"8 MB of [":             strings.Repeat("[", 8_000_000),
		"8 MB of [ in a field":  `{"nodes":` + strings.Repeat("[", 8_000_000),
		"8 MB of objects":       strings.Repeat(`{"a":`, 1_600_000),
		"a name of 1 MB":        strings.Replace(good, `"good"`, `"`+strings.Repeat("g", 1_000_000)+`"`, 1),
		"a field of 1 MB":       strings.Replace(good, `"name"`, `"`+strings.Repeat("g", 1_000_000)+`"`, 1),
		"a number of 1 MB":      strings.Replace(good, `7`, strings.Repeat("7", 1_000_000), 1),
		"a rate of 1 MB":        strings.Replace(good, `-200ppm`, `-200`+strings.Repeat("0", 1_000_000)+`ppm`, 1),
		"a factor of 1 MB":      strings.Replace(good, `0.01`, `0.01`+strings.Repeat("0", 1_000_000), 1),
		"65 nodes":              wide(`"nodes": [`, `{"name": "x"},`, 62),
		"20,000 nodes":          wide(`"nodes": [`, `{"name": "x"},`, 20_000),
		"20,000 clients":        wide(`"clients": [`, `{"name": "x"},`, 20_000),
		"20,000 faults":         wide(`"faults": [`, `{"kind":"pause"},`, 20_000),
		"20,000 wrong steps":    wide(`"steps": [`, `{"do":"release","key":"j"},`, 20_000),
		"10,000 wrong steps":    wide(`"steps": [`, `{"do":"release","key":"j"},`, 9_900),
		"10,000 faults at once": wide(`"faults": [`, `{"kind":"pause","on":"C","at":"1s","for":"1s"},`, 9_900),
		"20,000 names in a cut": strings.Replace(wide(`"from": [`, `"c1",`, 20_000), `"to": [`, `"to": [`+strings.Repeat(`"A",`, 20_000), 1),
		"a machine of 1 MB":     strings.Replace(good, `"from": "c1"`, `"from": "`+strings.Repeat("g", 1_000_000)+`"`, 1),
		"a path of 1 MB":        strings.Replace(good, `c1>A`, strings.Repeat("g", 1_000_000), 1),
		"a law of 1 MB":         strings.Replace(good, `uniform`, strings.Repeat("g", 1_000_000), 1),
		"10,000 steps of years": wide(`"faults": [`, `{"kind":"step","on":"C","at":"1s","by":"87600h"},`, 9_900),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse("x.json", []byte(text))
			took := time.Since(start)
			if err == nil {
				t.Fatal("not refused")
			}
			if len(err.Error()) > 20_000 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
			if took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			t.Logf("%.200s", err)
		})
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.json")
	if _, err := Load(file); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), file) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Load(filepath.Dir(file)); err == nil || !strings.Contains(err.Error(), filepath.Dir(file)) {
		t.Errorf("a folder: %v", err)
	}
	if err := os.WriteFile(file, []byte(good), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err != nil {
		t.Error(err)
	}
}

// TestFactorPPB: exact, rounded up, without floats.
func TestFactorPPB(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "0.0": 0, "00.01": 10_000_000, "0.01": 10_000_000, "0.010000000": 10_000_000,
		"0.0000000001": 1, "0.000000001": 1, "0.0000000010000": 1, "0.00000000100001": 2,
		"0.3333333333": 333_333_334, "0.238095239": 238_095_239, "0.999999999": 999_999_999,
	} {
		if got, err := factorPPB(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", "1.", ".5", "1", "1.0", "0.9999999991", "-0.1", "+0.1", "1e-2", "0x1", "0.1.2", " 0.1", "٠.١", "1%", "NaN"} {
		if got, err := factorPPB(text); err == nil {
			t.Errorf("%q was taken for %d ppb", text, got)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	sc, err := Parse("good.json", []byte(good))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if sc.Check() != nil {
			b.Fatal("refused")
		}
	}
}

// A text in another encoding is told by the name of that.
func TestOtherEncodings(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"\xef\xbb\xbf{": "UTF-8 with a byte order mark", "\xff\xfe{\x00": "UTF-16", "\xfe\xff\x00{": "UTF-16",
		"{\x00\"\x00": "UTF-16", "\x00{\x00": "UTF-16", "\xff\xfe\x00\x00{": "UTF-32",
	} {
		_, err := Parse("x.json", []byte(head))
		if want := "x.json: this is " + want + ": a scenario is UTF-8 without a byte order mark"; err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", head, err, want)
		}
	}
}
