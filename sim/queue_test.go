package sim

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestQueueSorts holds the heap to a sorted list.
func TestQueueSorts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var model []event
		for seq := range rapid.IntRange(1, 200).Draw(t, "operations") {
			if len(model) == 0 || rapid.IntRange(0, 2).Draw(t, "op") > 0 {
				e := event{at: rapid.Int64Range(0, 20).Draw(t, "at"), rank: rank(kind(rapid.IntRange(0, 8).Draw(t, "kind")), rapid.IntRange(0, 3).Draw(t, "client"), 0, uint64(seq))}
				q.push(e)
				model = append(model, e)
				slices.SortFunc(model, func(a, b event) int {
					if a.before(&b) {
						return -1
					}
					return 1
				})
				continue
			}
			if got := q.pop(); got != model[0] {
				t.Fatalf("popped %+v, want %+v", got, model[0])
			}
			model = model[1:]
		}
	})
}

func TestEventParts(t *testing.T) {
	t.Parallel()
	e := event{rank: rank(evWake, 63, 62, 1<<40+5)}
	if e.kind() != evWake || e.client() != 63 || e.node() != 62 {
		t.Errorf("%v %d %d", e.kind(), e.client(), e.node())
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, depth := range []int{16, 256, 4096} {
		b.Run("depth="+strconv.Itoa(depth), func(b *testing.B) {
			var q queue
			x := uint64(1)
			next := func() int64 {
				x = x*6364136223846793005 + 1442695040888963407
				return int64(x >> 44)
			}
			for i := range depth {
				q.push(event{at: next(), rank: uint64(i)})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e := q.pop()
				e.at += next()
				q.push(e)
			}
		})
	}
}
