package sim

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
)

// TestTexts compares the numbers of texts with those of a map, from run to run.
func TestTexts(t *testing.T) {
	sc, h := Reference(1), &History{}
	long := strings.Repeat("x", 4000)
	for _, texts := range []int{3, 40, 5000, 0, 7, 200} {
		h.reset(&sc)
		numbers, list := map[string]Text{"": 0}, []string{""}
		ask := func(s string) {
			t.Helper()
			want, there := numbers[s]
			if !there {
				want = Text(len(numbers))
				numbers[s], list = want, append(list, s)
			}
			if got := h.text(s); got != want || h.Text(got) != s {
				t.Fatalf("of %d: %q is %d, which is %q; want %d", texts, s, got, h.Text(got), want)
			}
		}
		for i := range texts {
			ask(fmt.Sprint(texts, "-", i, "-", texts))
			ask(list[i*7919%len(list)])
			ask(list[len(list)-1-i%3%len(list)])
			if i%50 == 0 {
				ask(long + fmt.Sprint(i))
			}
		}
		for i := range list {
			ask(list[i])
		}
		before := h.Hash()
		h.close()
		for range 2 {
			if h.text("too late") != 0 || h.Hash() != before {
				t.Errorf("of %d: there is a text more after the end", texts)
			}
		}
		ask(list[len(list)/2])
	}
}

// TestManyTexts: each is near the place that its hash says, however many there are.
func TestManyTexts(t *testing.T) {
	sc, h := Reference(1), &History{}
	h.reset(&sc)
	const n = 100_000
	for i := range n {
		h.text(fmt.Sprintf("a note that ends and begins as all others: %d.", i))
	}
	if len(h.texts) != n+1 || len(h.slots) > 4*n {
		t.Errorf("%d texts in %d slots, want %d", len(h.texts)-1, len(h.slots), n)
	}
	last, off := len(h.slots)-1, 0
	for _, s := range h.texts[1:] {
		off += (h.slot(s) - int(maphash.String(textSeed, s))) & last
	}
	if off > 2*n {
		t.Errorf("%d texts are %d slots from their places in all", n, off)
	}
}
