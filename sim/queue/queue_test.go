package queue

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestQueueSorts holds the queue to a sorted list, empty and full in turns, so that
// events pass from its near part to the far one and back.
func TestQueueSorts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		var model []Event
		spread := rapid.SampledFrom([]int64{20, 2000}).Draw(t, "spread")
		for seq := range rapid.IntRange(1, 400).Draw(t, "operations") {
			grows := seq/100%2 == 0
			if op := rapid.IntRange(0, 3).Draw(t, "op"); len(model) == 0 || op == 0 || op < 3 && grows {
				e := Event{At: rapid.Int64Range(0, spread).Draw(t, "at"), Rank: Rank(uint8(rapid.IntRange(0, 8).Draw(t, "kind")), rapid.IntRange(0, 3).Draw(t, "client"), 0, uint64(seq))}
				q.Push(e)
				model = append(model, e)
				slices.SortFunc(model, func(a, b Event) int {
					if a.before(&b) {
						return -1
					}
					return 1
				})
				continue
			}
			if got := *q.First(); got != model[0] {
				t.Fatalf("first is %+v, want %+v", got, model[0])
			}
			if got := q.Pop(); got != model[0] {
				t.Fatalf("popped %+v, want %+v", got, model[0])
			}
			model = model[1:]
			if q.Len() != len(model) {
				t.Fatalf("%d left, want %d", q.Len(), len(model))
			}
		}
	})
}

func TestEventParts(t *testing.T) {
	t.Parallel()
	e := Event{Rank: Rank(9, 63, 62, 1<<40+5)}
	if e.Kind() != 9 || e.Client() != 63 || e.Node() != 62 {
		t.Errorf("%v %d %d", e.Kind(), e.Client(), e.Node())
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, depth := range []int{16, 256, 4096} {
		b.Run("depth="+strconv.Itoa(depth), func(b *testing.B) {
			var q Queue
			x := uint64(1)
			next := func() int64 {
				x = x*6364136223846793005 + 1442695040888963407
				return int64(x >> 44)
			}
			for i := range depth {
				q.Push(Event{At: next(), Rank: uint64(i)})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e := q.Pop()
				e.At += next()
				q.Push(e)
			}
		})
	}
}
