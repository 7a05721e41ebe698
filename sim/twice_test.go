package sim

import (
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"driftlock/sim/flawed"
	"driftlock/testdata/scenarios"
)

// twiceBlock is how many seeds one Runner runs before another runs them the other
// way round: what a run leaves in the memory that the next one uses differs.
const twiceBlock = 64

// runTwice runs scenarios twice, each with a Runner that comes to it by another way,
// and reports whether all went alike.
func runTwice(t testing.TB, a, b *Runner, n int, scenario func(i int) Scenario) bool {
	t.Helper()
	hashes := make([]Hash, n)
	for i := range hashes {
		sc := scenario(i)
		h, err := a.Run(sc)
		if err != nil {
			t.Errorf("%s: %v", sc.Name, err)
			return false
		}
		hashes[i] = h.Hash()
	}
	for i := n - 1; i >= 0; i-- {
		sc := scenario(i)
		h, err := b.Run(sc)
		if err != nil || h.Hash() != hashes[i] {
			t.Errorf("%s: run twice, it differs (%v)", sc.Name, err)
			return false
		}
	}
	return true
}

// TestTwice runs seeds of all spaces twice, on all cores. With DRIFTLOCK_LONG=1 there
// are 1,000,000 of them, which takes half an hour; figures are in docs/measured.md.
func TestTwice(t *testing.T) {
	t.Parallel()
	seeds := uint64(5_000)
	switch {
	case long():
		seeds = 1_000_000
	case raced():
		seeds /= 20
	}
	spaces := Spaces()
	var block atomic.Uint64
	var failed atomic.Bool
	var workers sync.WaitGroup
	start := time.Now()
	blocks := (seeds + twiceBlock - 1) / twiceBlock
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			a, b := NewRunner(), NewRunner()
			defer a.Close()
			defer b.Close()
			for {
				n := block.Add(1) - 1
				if n >= blocks || failed.Load() {
					return
				}
				sp, first := spaces[n%uint64(len(spaces))], 1+n*twiceBlock
				if !runTwice(t, a, b, twiceBlock, func(i int) Scenario { return Generate(sp, first+uint64(i)) }) {
					failed.Store(true)
					return
				}
				if n%1000 == 999 {
					t.Logf("%d seeds after %v", (n+1)*twiceBlock, time.Since(start).Round(time.Second))
				}
			}
		})
	}
	workers.Wait()
	if failed.Load() {
		return
	}
	t.Logf("%d seeds of %d spaces, each run twice, in %v", blocks*twiceBlock, len(spaces), time.Since(start).Round(time.Second))
}

// TestTwiceFlawed runs the catalogue twice, in which each fault of a lock has its
// scenario, and each fault over some seeds besides.
func TestTwiceFlawed(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(scenarios.Files, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []Scenario
	shown := map[string]bool{}
	for _, file := range files {
		text, err := scenarios.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sc, err := Parse(file, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sc)
		for _, f := range sc.Lock.Flaws {
			shown[f] = true
		}
	}
	few := 10
	if raced() {
		few = 1
	}
	seed, spaces := uint64(0), Spaces()
	for _, f := range flawed.Flaws() {
		if !shown[string(f)] {
			t.Errorf("no scenario of the catalogue has %s", f)
		}
		for range few {
			seed++
			sc := Generate(spaces[seed%uint64(len(spaces))], seed)
			sc.Name += ", with " + string(f)
			sc.Lock.Kind, sc.Lock.Flaws = kindFlawed, []string{string(f)}
			all = append(all, sc)
		}
	}
	a, b := NewRunner(), NewRunner()
	defer a.Close()
	defer b.Close()
	if runTwice(t, a, b, len(all), func(i int) Scenario { return all[i] }) {
		t.Logf("%d scenarios, each run twice", len(all))
	}
}
