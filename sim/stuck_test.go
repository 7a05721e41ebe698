package sim

import "testing"

// TestBlocks: what waits for the garbage collector does not block. With 256 jobs on two
// cores a search took an allocation that did for a process that waits for a mutex.
func TestBlocks(t *testing.T) {
	t.Parallel()
	const allocates = "goroutine 8775 [semacquire]:\ndriftlock/sim.(*Process).Witness(...)\n\t/sim/witness.go:23\ndriftlock/sim.steps(0x1)\n"
	for _, c := range []struct {
		state, stack string
		want         bool
	}{
		{"running", "", false},
		{"GC assist wait", "", false},
		{"GC assist marking", "", false},
		{"semacquire", allocates, false},
		{"semacquire", "goroutine 1 [semacquire]:\nsync.runtime_Semacquire(0x1)\n", true},
		{"semacquire", "goroutine 1 [semacquire]:\ninternal/poll.runtime_Semacquire(0x1)\n", true},
		{"sync.Mutex.Lock", "", true},
		{"chan receive", "", true},
	} {
		if got := blocks(c.state, []byte(c.stack)); got != c.want {
			t.Errorf("%s in %q: %v, want %v", c.state, c.stack, got, c.want)
		}
	}
}
