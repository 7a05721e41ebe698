package sim

import (
	"slices"
	"strings"
	"testing"
)

// TestFlawedWithoutFlaws: with no fault switched on the flawed lock keeps its
// promises wherever the real one does. What breaks with a fault, the fault breaks.
func TestFlawedWithoutFlaws(t *testing.T) {
	t.Parallel()
	for _, sp := range Spaces() {
		t.Run(sp.Name(), func(t *testing.T) {
			t.Parallel()
			r := NewRunner()
			defer r.Close()
			leases := 0
			few := uint64(200)
			if slices.Contains([]string{"drift", "tame", "faulty"}, sp.Name()) {
				few = 2000
			}
			n := runs(t, few)
			for seed := range n {
				sc := Generate(sp, seed)
				sc.Lock.Kind = kindFlawed
				if _, err := r.Run(sc); err != nil {
					t.Fatal(err)
				}
				v := r.Check()
				leases += len(v.Leases)
				if bugs := v.Bugs(); len(bugs) > 0 {
					t.Errorf("seed %d: %v: %s", seed, bugs[0].Invariant, bugs[0].Text)
				}
			}
			if uint64(leases) < n {
				t.Errorf("%d leases", leases)
			}
		})
	}
}

// TestFlawsChecked: a scenario's flaws are known ones, each once, of a lock that
// has some.
func TestFlawsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  string
		flaws []string
		want  string // in the error; empty: none
	}{
		{"flawed", nil, ""},
		{"flawed", []string{"no-ttl", "drift-added"}, ""},
		{"flawed", []string{"drift-add"}, `lock.flaws[0]: "drift-add" is none of drift-added, `},
		{"flawed", []string{"drift-add"}, `(did you mean "drift-added"?)`},
		{"flawed", []string{"no-ttl", "no-buffer", "no-ttl"}, `lock.flaws[2]: "no-ttl" is there twice`},
		{"", []string{"no-ttl"}, "lock.flaws: a lock of another kind than flawed takes none"},
		{"redlock", []string{"no-ttl"}, "lock.flaws: a lock of another kind than flawed takes none"},
		{"flaw", nil, `lock.kind: "flaw" is none of redlock, flawed (did you mean "flawed"?)`},
	} {
		sc := plain(1, 3)
		sc.Lock.Kind, sc.Lock.Flaws = c.kind, c.flaws
		if err := sc.Check(); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v, want %q", c.kind, c.flaws, err, c.want)
		}
	}
}
