package sim

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// A second oracle for I1: a history of acquisitions is the history of a mutex if
// and only if it is linearizable. What porcupine, which knows nothing of leases,
// says of the trust in each key must be what the check of I1 says.

// A turn is what somebody does to a mutex, in one instant of true time.
type turn struct {
	grant int // the acquisition
	locks bool
}

const nobody = -1

// mutexModel is a mutex of which the holder is told.
var mutexModel = porcupine.Model{
	Init: func() any { return nobody },
	Step: func(holder, input, _ any) (bool, any) {
		in := input.(turn)
		if in.locks {
			return holder == nobody, in.grant
		}
		return holder == in.grant, nobody
	},
}

// turns are what the clients did to one key, as they believed: each trust is a
// lock and an unlock. One that is over when it begins is nothing.
func (c *checker) turns(key Text) (all []porcupine.Operation) {
	for i := range c.leases {
		l := &c.leases[i]
		if l.key != key || l.TrustEnds <= l.Granted {
			continue
		}
		all = append(all,
			porcupine.Operation{ClientId: i, Input: turn{l.grant, true}, Call: l.Granted, Return: l.Granted},
			porcupine.Operation{ClientId: i, Input: turn{l.grant, false}, Call: l.TrustEnds, Return: l.TrustEnds})
	}
	return all
}

// agree compares the two oracles on every key of a run.
func (c *checker) agree(t *testing.T, name string) (broken int) {
	t.Helper()
	var keys []Text
	for i := range c.leases {
		if k := c.leases[i].key; !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, key := range keys {
		breaks := slices.ContainsFunc(c.verdict.Violations, func(v Violation) bool { return v.Invariant == I1 && v.Key == c.h.Text(key) })
		if breaks {
			broken++
		}
		if is := porcupine.CheckOperations(mutexModel, c.turns(key)); is == breaks {
			t.Errorf("%s, key %q: I1 broken: %v, history of a mutex: %v", name, c.h.Text(key), breaks, is)
		}
	}
	return broken
}

// TestMutexIsLinearizable compares the oracles on runs that hold and that break.
func TestMutexIsLinearizable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		space  Space
		flaws  []string
		breaks bool
	}{
		{"within the bound", DriftCovered(), nil, false},
		{"beyond it", Drift(200_000_000), nil, true},
		{"half a quorum", DriftCovered(), []string{"half-quorum"}, true},
		{"extended after the deadline, whoever's it is", DriftCovered(), []string{"extend-after-deadline", "extend-without-owner"}, false},
		{"one owner value for all", DriftCovered(), []string{"constant-token"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := NewRunner()
			defer r.Close()
			broken := 0
			for seed := range max(runs(t, 500), 50) {
				sc := Generate(c.space, seed)
				if c.flaws != nil {
					sc.Lock.Kind, sc.Lock.Flaws = kindFlawed, c.flaws
				}
				if _, err := r.Run(sc); err != nil {
					t.Fatal(err)
				}
				r.Check()
				broken += r.judge.agree(t, sc.Name)
			}
			if (broken > 0) != c.breaks {
				t.Errorf("I1 broke in %d keys", broken)
			}
		})
	}
	files, err := filepath.Glob("../testdata/scenarios/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		sc, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		var k checker
		k.check(mustRun(t, sc))
		k.agree(t, sc.Name)
	}
}

// TestTieIsNoOverlap: who begins to trust in the instant in which another ends is
// alone, for both oracles; a nanosecond earlier for neither.
func TestTieIsNoOverlap(t *testing.T) {
	t.Parallel()
	for at, want := range map[int64]int{100 * milli: 0, 100*milli - 1: 1} {
		h := told(2, 5)
		h.grants(0, 0, "x", 1000, 100*milli, 0, 1, 2)
		h.grants(at, 1, "y", 1000, at+100*milli, 2, 3, 4)
		var c checker
		c.check(h.History)
		if got := c.agree(t, "tie"); got != want {
			t.Errorf("second grant at %d: broken %d times, want %d", at, got, want)
		}
	}
}
