package sim

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// twiceBlock is how many seeds one Runner runs before another runs them the other
// way round: what a run leaves in the memory that the next one uses differs.
const twiceBlock = 64

// runTwice runs a block of seeds of a space twice, each with a Runner that comes to it
// by another way, and reports whether all went alike.
func runTwice(t testing.TB, a, b *Runner, sp Space, first uint64) bool {
	t.Helper()
	var hashes [twiceBlock]Hash
	for i := range hashes {
		h, err := a.Run(Generate(sp, first+uint64(i)))
		if err != nil {
			t.Errorf("%s %d: %v", sp.Name(), first+uint64(i), err)
			return false
		}
		hashes[i] = h.Hash()
	}
	for i := len(hashes) - 1; i >= 0; i-- {
		h, err := b.Run(Generate(sp, first+uint64(i)))
		if err != nil || h.Hash() != hashes[i] {
			t.Errorf("%s %d: run twice, it differs (%v)", sp.Name(), first+uint64(i), err)
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
				if n >= blocks || !runTwice(t, a, b, spaces[n%uint64(len(spaces))], 1+n*twiceBlock) {
					return
				}
				if n%1000 == 999 {
					t.Logf("%d seeds after %v", (n+1)*twiceBlock, time.Since(start).Round(time.Second))
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d seeds of %d spaces, each run twice, in %v", blocks*twiceBlock, len(spaces), time.Since(start).Round(time.Second))
}
