package sim

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestPlantedLeaks plants each leak in the simulator's own loop, where the static check
// must see it, and (but for the float, which differs only between machines) in a
// workload, where running twice must.
func TestPlantedLeaks(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("world.go")
	if err != nil {
		t.Fatal(err)
	}
	const place = "func (w *world) deliver() (wakes bool) {\n"
	for _, leak := range []struct {
		what, code, imports string
		work                Workload
	}{
		{"map", "for i := range map[int]bool{1: true, 2: true} { w.seq += uint64(i) * w.seq }", "", func(p *Process) {
			for name := range map[string]bool{"a": true, "b": true, "c": true, "d": true} {
				p.Logf("%s", name)
			}
		}},
		{"time.Now", "w.seq += uint64(time.Now().UnixNano())", "time", func(p *Process) { p.Logf("%v", time.Now().UnixNano()) }},
		{"go", "go w.push(w.now, evPoll, 0, 0, 0, 0)", "", func(p *Process) {
			var n atomic.Int64
			done := make(chan struct{})
			go func() {
				for n.Add(1); ; n.Add(1) {
					select {
					case <-done:
						return
					default:
					}
				}
			}()
			time.Sleep(50 * time.Microsecond)
			p.Logf("%d", n.Load())
			close(done)
		}},
		{"float", "w.now = int64(float64(w.now) * 1.0000001)", "", nil},
	} {
		t.Run(leak.what, func(t *testing.T) {
			planted := strings.Replace(string(source), place, place+leak.code+"\n", 1)
			if planted == string(source) {
				t.Fatalf("%q is not there any more", place)
			}
			if leak.imports != "" {
				planted = strings.Replace(planted, "import (\n", fmt.Sprintf("import (\n\t%q\n", leak.imports), 1)
			}
			if !raced() && !caught(t, planted, leak.what) {
				t.Error("the static check misses it")
			}
			if leak.work != nil && !differs(t, leak.work) {
				t.Error("a workload with this leak was run 200 times, and always alike")
			}
		})
	}
}

// caught says that the static check sees what a planted leak does in this world.go.
func caught(t *testing.T, text, what string) bool {
	t.Helper()
	r := newRules(t)
	return slices.ContainsFunc(r.breaches(module+"sim", r.files(t, "sim", "world.go", text)), func(b breach) bool {
		return b.in == "sim.world.deliver" && b.what == what
	})
}

// differs runs a workload until two runs are not alike.
func differs(t *testing.T, work Workload) bool {
	t.Helper()
	a, b := NewRunner(Do(work)), NewRunner(Do(work))
	defer a.Close()
	defer b.Close()
	for range 200 {
		x, err := a.Run(Reference(1))
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Run(Reference(1))
		if err != nil {
			t.Fatal(err)
		}
		if step, same := FirstDifference(x, y); !same {
			return step > 0
		}
	}
	return false
}
