package sim

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// hashOfSeeds folds the hashes of the first seeds of every space, each run twice;
// of the space of one class of faults, a few.
func hashOfSeeds(t *testing.T, seeds uint64) string {
	t.Helper()
	a, b := NewRunner(), NewRunner()
	defer a.Close()
	defer b.Close()
	var all hasher
	for _, sp := range Spaces() {
		some := seeds
		if sp.sure != 0 {
			some /= 50
		}
		for seed := uint64(1); seed <= some; seed++ {
			sc := Generate(sp, seed)
			x, err := a.Run(sc)
			if err != nil {
				t.Fatalf("%s %d: %v", sp.Name(), seed, err)
			}
			y, err := b.Run(sc)
			if err != nil {
				t.Fatalf("%s %d: %v", sp.Name(), seed, err)
			}
			if x.Hash() != y.Hash() {
				step, _ := FirstDifference(x, y)
				t.Fatalf("%s %d: run twice, it differs from step %d on:\n%+v\n%+v", sp.Name(), seed, step, x.Event(step), y.Event(step))
			}
			all.word(uint64(x.Hash()))
		}
	}
	return Hash(all.sum).String()
}

// TestHashesAnywhere: the same seeds have the same hashes twice in a row, and in
// processes with one processor and without a garbage collector.
func TestHashesAnywhere(t *testing.T) {
	const seeds = 1000
	const child = "DRIFTLOCK_HASHES"
	if os.Getenv(child) != "" {
		os.Stdout.WriteString("hash " + hashOfSeeds(t, seeds) + "\n")
		return
	}
	t.Parallel()
	if testing.Short() {
		t.Skip("short")
	}
	want := hashOfSeeds(t, seeds)
	for _, env := range []string{"GOMAXPROCS=1", "GOMAXPROCS=2", "GOGC=off"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHashesAnywhere$")
		cmd.Env = append(os.Environ(), child+"=1", env)
		out, err := cmd.CombinedOutput()
		if _, got, _ := strings.Cut(string(out), "hash "); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %v, %s; here %s", env, err, out, want)
		}
	}
}
