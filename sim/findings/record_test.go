package findings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlock/sim"
)

func of(shard string, held uint64) Sum {
	return Sum{Search: Search{Code: "c", Space: "drift", First: 1, Seeds: 100}, Shard: shard, Held: held, Broke: 1, Leases: 2 * held,
		Closest: &Closest{Seed: held, Left: int64(100 - held)}, Probes: map[string]int{sim.ProbeGrant.String(): int(held)}}
}

// TestMerge: what becomes of sums that are there twice, in part, or as a whole.
func TestMerge(t *testing.T) {
	t.Parallel()
	stopped := of("1/2", 5)
	stopped.Stopped = true
	whole := of("", 30)
	whole.Broke, whole.Closest, whole.Leases = 2, &Closest{20, 80}, 60
	later := of("1/2", 10)
	later.Code = "d"
	for name, c := range map[string]struct{ in, want []Sum }{
		"both shards":          {[]Sum{of("2/2", 20), of("1/2", 10)}, []Sum{whole}},
		"one twice":            {[]Sum{of("1/2", 10), of("2/2", 20), of("1/2", 10)}, []Sum{whole}},
		"one is missing":       {[]Sum{of("2/2", 20)}, []Sum{of("2/2", 20)}},
		"one was stopped":      {[]Sum{of("2/2", 20), stopped}, []Sum{stopped, of("2/2", 20)}},
		"it was then finished": {[]Sum{stopped, of("2/2", 20), of("1/2", 10)}, []Sum{whole}},
		"a part and the whole": {[]Sum{of("1/2", 10), whole}, []Sum{whole}},
		"other code":           {[]Sum{later, of("2/2", 20)}, []Sum{of("2/2", 20), later}},
		"two ways to split":    {[]Sum{of("1/2", 10), of("2/2", 20), of("1/3", 7)}, []Sum{whole}},
	} {
		if want, got := c.want, Merge(&Records{Sums: c.in}).Sums; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestMergeBreaks: each once, in order, the first that is there of it.
func TestMergeBreaks(t *testing.T) {
	t.Parallel()
	b := func(space string, seed uint64, hash string) Break {
		return Break{Search: Search{Space: space}, Seed: seed, Invariant: sim.I2, Hash: hash, File: "x.json"}
	}
	guided := func(first uint64) Break {
		x := b("tame", 9, "g")
		x.Guided, x.First = true, first
		return x
	}
	got := Merge(&Records{Breaks: []Break{b("tame", 10, "a"), b("tame", 9, "b")}}, &Records{Breaks: []Break{guided(2), b("drift", 9, "c"), b("tame", 9, "d"), guided(1)}}).Breaks
	if want, got := []Break{b("drift", 9, "c"), b("tame", 9, "b"), b("tame", 10, "a"), guided(1), guided(2)}, got; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestMissing names what is not there.
func TestMissing(t *testing.T) {
	t.Parallel()
	stopped := of("3/4", 5)
	stopped.Stopped = true
	got := (&Records{Sums: []Sum{of("2/4", 1), stopped}}).Missing()
	want := []string{"shard 1/4 of 100 seeds of drift from 1 on", "shard 4/4 of 100 seeds of drift from 1 on", "shard 3/4 of 100 seeds of drift from 1 on: it was stopped after 6 runs"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (&Records{Sums: []Sum{of("", 1)}}).Missing(); got != nil {
		t.Errorf("of the whole: %q", got)
	}
}

// TestReadsWhatItWrites, and passes over a last line that was cut off.
func TestReadsWhatItWrites(t *testing.T) {
	t.Parallel()
	b := Break{Search: Search{Code: "c", Space: "tame", Sampling: sim.Bounds, Guided: true, Flaws: "no-ttl", Bugs: true, First: 7, Seeds: 1 << 63}, Seed: 1<<64 - 1, Invariant: sim.I4, Unmet: []string{"A1", "A3"}, Hash: "h", File: "f.json"}
	x := b
	x.Margin, x.Seed = new(int64(-5)), 3
	want := &Records{Breaks: []Break{x, b}, Sums: []Sum{of("", 3), of("1/2", 4)}}
	text := want.Text()
	for _, cut := range []int{0, 1, 20} {
		got, err := Read(strings.NewReader(string(text)+string(text[:cut])), "f")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestReadsTheLastLine: a whole one counts without its end of line, and what was never
// a record is refused, since a search would write over it.
func TestReadsTheLastLine(t *testing.T) {
	t.Parallel()
	sum := strings.TrimSpace(string((&Records{Sums: []Sum{of("", 3)}}).Text()))
	for text, want := range map[string]string{
		"":                                "0 true",
		sum:                               "1 true",
		sum[:len(sum)-1]:                  "0 true",
		sum + "\n{":                       "1 true",
		"precious":                        "0 false",
		"{}":                              "0 false",
		"null":                            "0 false",
		`{"version":1`:                    "0 false",
		sum + "\nprecious":                "0 false",
		strings.Repeat("\x00", maxLine+1): "0 false",
	} {
		r, err := Read(strings.NewReader(text), "f")
		n := 0
		if err == nil {
			n = len(r.Sums)
		}
		if got := fmt.Sprint(n, err == nil); got != want {
			t.Errorf("%.40q: %s (%v), want %s", text, got, err, want)
		}
	}
}

// TestReadEnds: of a device that never ends it reads no more than a line.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	if _, err := Read(zeros{}, "/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero, line 1: longer than") {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestShard(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1/1": "1 1 true", "2/4": "2 4 true", "10/10": "10 10 true",
		"": "0 0 false", "0/4": "0 0 false", "5/4": "0 0 false", "1/4x": "0 0 false", "1/": "0 0 false", "-1/4": "0 0 false", " 1/4": "0 0 false", "01/4": "0 0 false", "1/4 ": "0 0 false", "1/4/2": "0 0 false",
		"9/10000": "9 10000 true", "1/9000000000000000000": "0 0 false",
	} {
		i, n, err := Shard(text)
		if got := fmt.Sprint(i, n, err == nil); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add((&Records{Sums: []Sum{of("1/2", 4)}}).Text())
	f.Add([]byte(`{"break":{"file":"a.json"}}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := Read(strings.NewReader(string(text)), "f"); err == nil {
			again, err := Read(strings.NewReader(string(r.Text())), "f")
			if err != nil {
				t.Fatal(err)
			}
			Merge(r, again)
		}
	})
}
