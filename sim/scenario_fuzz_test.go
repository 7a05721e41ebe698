package sim

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzParse: whatever the text is, Parse answers with a scenario that can be
// run, printed and read back as the same, or with a message of a few lines that
// names the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	for seed := range uint64(4) {
		f.Add(Generate(DriftWide(), seed).AppendJSON(nil))
	}
	files, err := filepath.Glob("../testdata/scenarios/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sc, err := Parse("x.json", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.json: ") || len(err.Error()) > 20_000 {
				t.Fatalf("no message that helps: %.1000s", err)
			}
			return
		}
		if err := sc.Check(); err != nil {
			t.Fatalf("read, but it cannot be run: %v", err)
		}
		again, err := Parse("again.json", sc.AppendJSON(nil))
		if err != nil {
			t.Fatalf("printed, but it cannot be read: %v\n%s", err, sc.AppendJSON(nil))
		}
		if string(again.AppendJSON(nil)) != string(sc.AppendJSON(nil)) || !same(again, sc) {
			t.Fatalf("read back as another scenario:\n%+v\n%+v", sc, again)
		}
	})
}

// same compares two scenarios; an empty list is none.
func same(a, b Scenario) bool {
	for _, sc := range []*Scenario{&a, &b} {
		if len(sc.Faults) == 0 {
			sc.Faults = nil
		}
		if len(sc.Network.Paths) == 0 {
			sc.Network.Paths = nil
		}
		if len(sc.Network.Cuts) == 0 {
			sc.Network.Cuts = nil
		}
		if len(sc.Network.Rules) == 0 {
			sc.Network.Rules = nil
		}
		clients := append([]Client(nil), sc.Clients...)
		for i := range clients {
			if len(clients[i].Steps) == 0 {
				clients[i].Steps = nil
			}
		}
		sc.Clients = clients
		if sc.Expect != nil && len(sc.Expect.Breaks) == 0 {
			e := *sc.Expect
			e.Breaks = nil
			sc.Expect = &e
		}
	}
	return reflect.DeepEqual(a, b)
}
