package sim

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"driftlock/redlock"
)

// recordedRun is a run with everything in it, and its file.
func recordedRun(t *testing.T, sc Scenario, opts ...Option) (*History, []byte) {
	t.Helper()
	h, err := Run(sc, opts...)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := h.Record(&b); err != nil {
		t.Fatal(err)
	}
	return h, b.Bytes()
}

// A history that was written and read is the same, and is judged the same.
func TestRecordedHistoryReadsBack(t *testing.T) {
	t.Parallel()
	var runs []Scenario
	files, _ := filepath.Glob("../testdata/scenarios/*.json")
	for _, file := range files {
		sc, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, sc)
	}
	if len(runs) < 100 {
		t.Fatalf("only %d scenarios", len(runs))
	}
	for seed := range uint64(40) {
		runs = append(runs, Generate(Faulty(), seed))
	}
	for _, sc := range runs {
		h, text := recordedRun(t, sc)
		back, err := ReadHistory("x", bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", sc.Name, err)
		}
		if step, same := FirstDifference(h, back); !same || h.Hash() != back.Hash() || h.End() != back.End() {
			t.Errorf("%s: differs from step %d on; hashes %v and %v", sc.Name, step, h.Hash(), back.Hash())
		}
		if one, two := Check(h), Check(back); !reflect.DeepEqual(one, two) {
			t.Errorf("%s: judged as\n%+v\nand then as\n%+v", sc.Name, one, two)
		}
		var again bytes.Buffer
		if err := back.Record(&again); err != nil || !bytes.Equal(again.Bytes(), text) {
			t.Errorf("%s: written again it is another text (%v)", sc.Name, err)
		}
	}
}

// Whatever a workload logs comes back.
func TestRecordedTextsReadBack(t *testing.T) {
	t.Parallel()
	odd := []string{"\xff\xfe", armour + "x", "line\nbreak", "é\x00", ""}
	h, text := recordedRun(t, Generate(DriftCovered(), 1), Do(func(p *Process) {
		for _, s := range odd {
			p.Logf("%s", s)
		}
	}))
	back, err := ReadHistory("x", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if step, same := FirstDifference(h, back); !same {
		t.Errorf("differs from step %d on", step)
	}
}

// What is not as it was written is refused with the line.
func TestBadRecordsAreRefused(t *testing.T) {
	t.Parallel()
	_, good := recordedRun(t, Generate(Canary(), 1))
	lines := bytes.SplitAfter(good, []byte("\n"))
	lines = lines[:len(lines)-1]
	replaced := func(pattern, by string) string {
		re := regexp.MustCompile(pattern)
		done := false
		text := re.ReplaceAllStringFunc(string(good), func(s string) string {
			if done {
				return s
			}
			done = true
			return re.ReplaceAllString(s, by)
		})
		if text == string(good) {
			t.Fatalf("%s is not in it", pattern)
		}
		return text
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1: the history is cut off"},
		{"a scenario", `{"version": 1}` + "\n", ErrNoHistory.Error()},
		{"no JSON at first", `{"history":1` + "\n", "line 1: no line of a history"},
		{"another version", replaced(`"history":1`, `"history":7`), "version 7 of the format, and this program reads version 1"},
		{"a bad scenario", replaced(`"ttl":"[^"]*"`, `"ttl":"-1s"`), "lock.ttl"},
		{"cut off", string(bytes.Join(lines[:len(lines)-1], nil)), "cut off"},
		{"cut off in a line", string(good[:len(good)-5]), "cut off"},
		{"a line less", string(bytes.Join(append(lines[:3:3], lines[4:]...), nil)), "line 4: step 4, where step 3 should be"},
		{"a number changed", replaced(`"local":\d`, `"local":9`), "not as it was written"},
		{"a field that is none", replaced(`"step":1,`, `"step":1,"foo":2,`), `line 2: foo: no such field`},
		{"a kind that is none", replaced(`"kind":"started"`, `"kind":"begun"`), `no kind of event is called "begun"`},
		{"a client that is none", replaced(`"client":"c1"`, `"client":"zz"`), `no client is called "zz"`},
		{"no client", replaced(`"client":"c1",`, ``), `without a client`},
		{"an operation that is none", replaced(`"op":"acquire"`, `"op":"get"`), `no operation is called "get"`},
		{"back in time", replaced(`"step":2,"at":\d+`, `"step":2,"at":-1`), `step 2 lies before`},
		{"no JSON", replaced(`"step":2,`, `"step":2,,`), `line 3`},
		{"more", string(good) + "x", "text after the end"},
		{"a long line", strings.Repeat("x", maxLineBytes+1), "longer than any line"},
	} {
		_, err := ReadHistory("x", strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := LoadHistory("nowhere"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for text, want := range map[string]bool{string(good): true, `{"version": 1}`: false, "": false} {
		if got := IsHistory(bufio.NewReader(strings.NewReader(text))); got != want {
			t.Errorf("%.20q is a history: %v", text, got)
		}
	}
}

// A reader of what somebody has made up neither panics nor goes on for ever.
func FuzzReadHistory(f *testing.F) {
	for seed := range uint64(4) {
		h, err := Run(Generate(Faulty(), seed))
		if err != nil {
			f.Fatal(err)
		}
		var b bytes.Buffer
		if err := h.Record(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ReadHistory("x", bytes.NewReader(text))
	})
}

// The words of a record are those of package redlock.
func TestWordsOfRecords(t *testing.T) {
	t.Parallel()
	for op := redlock.OpAcquire; op <= redlock.OpRelease; op++ {
		if got, ok := opOf(op.String()); !ok || got != op {
			t.Errorf("%v reads as %v", op, got)
		}
	}
	for s := redlock.Failed; s <= redlock.Ours; s++ {
		if got, ok := statusOf(s.String()); !ok || got != s {
			t.Errorf("%v reads as %v", s, got)
		}
	}
}
