package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func found(s Search, opts ...Option) (all []Break) {
	return slices.Collect(s.Run(context.Background(), opts...))
}

// TestSearchIsTheSameWithAnyJobs: which breaks are found, in which order, and
// what is counted does not hang on how many jobs there are.
func TestSearchIsTheSameWithAnyJobs(t *testing.T) {
	t.Parallel()
	type outcome struct {
		breaks []Break
		told   []Progress
	}
	of := func(s Search) (o outcome) {
		s.On = func(p Progress) { o.told = append(o.told, p) }
		o.breaks = found(s)
		return o
	}
	for name, s := range map[string]Search{
		"all":         {Space: DriftWide(), Seeds: 250, Stop: -1},
		"from":        {Space: DriftWide(), First: 1000, Seeds: 33, Stop: -1},
		"three":       {Space: DriftWide(), Stop: 3},
		"one":         {Space: DriftWide()},
		"to the end":  {Space: Canary(), First: 1<<64 - 20, Stop: -1},
		"beyond that": {Space: Canary(), First: 1<<64 - 20, Seeds: 1000, Stop: -1},
		"guided":      {Space: brink(10_000), Seeds: 1500, Stop: -1, Guided: true},
		"guided, one": {Space: brink(10_000), First: 77, Guided: true},
		"flawed":      {Space: Tame(), Seeds: 300, Stop: -1, Flaws: []string{"release-always-ok"}},
		"bugs":        {Space: FaultsOf("crash"), Seeds: 300, Stop: -1, Flaws: []string{"no-buffer"}, Bugs: true},
		"a shard":     {Space: DriftWide(), Seeds: 250, Stop: -1, Shard: 2, Shards: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.Jobs = 1
			want := of(s)
			if len(want.breaks) == 0 {
				t.Fatal("nothing found")
			}
			for _, jobs := range []int{0, 2, 7} {
				s.Jobs = jobs
				got := of(s)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%d jobs find %d breaks and tell %v, one finds %d and tells %v", jobs, len(got.breaks), got.told, len(want.breaks), want.told)
				}
			}
			if !slices.IsSortedFunc(want.breaks, func(a, b Break) int { return int(a.Seed - b.Seed) }) {
				t.Error("not in the order of seeds")
			}
		})
	}
}

// TestShardsAreTheWhole: the shards of a search find together what it finds, each
// in order, and count all of its runs.
func TestShardsAreTheWhole(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Search{
		"sampling": {Space: DriftWide(), First: 5, Seeds: 250, Stop: -1},
		"guided":   {Space: brink(10_000), Seeds: 1500, Stop: -1, Guided: true},
		"few":      {Space: Canary(), Seeds: 20, Stop: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var whole Progress
			s.On = func(p Progress) { whole = p }
			want := found(s)
			var got []Break
			var sum Progress
			for s.Shard, s.Shards = 1, 4; s.Shard <= 4; s.Shard++ {
				var part Progress
				s.On = func(p Progress) { part = p }
				got = append(got, found(s)...)
				sum.add(&part)
			}
			slices.SortFunc(got, func(a, b Break) int { return cmp.Compare(a.Seed, b.Seed) })
			if sum.Of = whole.Of; len(want) == 0 || !reflect.DeepEqual(got, want) || sum != whole {
				t.Errorf("%d breaks and %+v, want %d and %+v", len(got), sum, len(want), whole)
			}
		})
	}
}

// TestSearchRefuses what makes no sense.
func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Search{
		"shard 0 of 3":           {Shards: 3},
		"shard 5 of 4":           {Shard: 5, Shards: 4},
		"shard 1 of 0":           {Shard: 1},
		"shard -1 of 2":          {Shard: -1, Shards: 2},
		`(did you mean "no-ttl"`: {Flaws: []string{"no-tll"}},
		"no-ttl is there twice":  {Flaws: []string{"no-ttl", "no-ttl"}},
	} {
		s.Space = DriftWide()
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestSearchFinds: each break is that of its seed, nothing is passed over, and
// the counts are those of the runs.
func TestSearchFinds(t *testing.T) {
	t.Parallel()
	const seeds = 100
	var last Progress
	breaks := found(Search{Space: DriftWide(), Seeds: seeds, Stop: -1, On: func(p Progress) { last = p }})
	want := Progress{Seeds: seeds, Of: seeds}
	for seed := range uint64(seeds) {
		h, err := Run(Generate(DriftWide(), seed))
		if err != nil {
			t.Fatal(err)
		}
		v := Check(h)
		if margin, ok := v.Margin(); ok && (want.Leases == 0 || margin < want.Worst) {
			want.Worst, want.Seed = margin, seed
		}
		if slack, any := v.Slack(); any && v.OK() && (!want.close || slack < want.closest) {
			want.close, want.closest, want.closestSeed = true, slack, seed
		}
		want.Leases += len(v.Leases)
		for i, n := range v.Probes {
			want.Probes[i] += n
		}
		if v.OK() {
			continue
		}
		if want.Breaks >= len(breaks) || breaks[want.Breaks].Seed != seed {
			t.Fatalf("seed %d breaks, and the search says nothing", seed)
		}
		b := breaks[want.Breaks]
		if b.Hash != h.Hash() || !reflect.DeepEqual(b.Violation, v.Violations[0]) || !reflect.DeepEqual(b.Scenario, Generate(DriftWide(), seed)) || b.Err != nil {
			t.Errorf("seed %d: found %+v, want %+v", seed, b, v.Violations[0])
		}
		want.Breaks++
	}
	if want.Breaks != len(breaks) || last != want {
		t.Errorf("%d breaks and %+v, want %+v", len(breaks), last, want)
	}
}

// TestCanaryBreaks: every seed of the canary breaks I2.
func TestCanaryBreaks(t *testing.T) {
	t.Parallel()
	breaks := found(Search{Space: Canary(), Seeds: 500, Stop: -1})
	if len(breaks) != 500 {
		t.Errorf("%d of 500 break", len(breaks))
	}
	for _, b := range breaks {
		if b.Violation.Invariant != I2 {
			t.Errorf("seed %d breaks %v first", b.Seed, b.Violation.Invariant)
		}
	}
}

func TestSearchEnds(t *testing.T) {
	t.Parallel()
	t.Run("with its context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		told := 0
		s := Search{Space: DriftCovered(), Jobs: 3, On: func(Progress) {
			if told++; told == 5 {
				cancel()
			}
		}}
		for b := range s.Run(ctx) {
			t.Errorf("found %v", b)
		}
		if told != 5 {
			t.Errorf("told %d times", told)
		}
		for range s.Run(ctx) {
			t.Error("begun though its context had ended")
		}
	})
	t.Run("when its caller has enough", func(t *testing.T) {
		t.Parallel()
		n := 0
		for range (Search{Space: Canary(), Stop: -1}).Run(context.Background()) {
			if n++; n == 7 {
				break
			}
		}
		if n != 7 {
			t.Error(n)
		}
	})
	t.Run("with a panic of a workload", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if got := recover(); got != "of seed 40" {
				t.Errorf("passed on: %v", got)
			}
		}()
		found(Search{Space: DriftCovered(), Jobs: 2}, Do(func(p *Process) {
			if seed := p.c.w.sc.Seed; seed == 40 || seed == 60 {
				panic(fmt.Sprintf("of seed %d", seed))
			}
		}))
		t.Error("went on")
	})
	t.Run("with the goroutine of a workload", func(t *testing.T) {
		t.Parallel()
		ended := make(chan bool)
		go func() {
			wentOn := false
			defer func() { ended <- wentOn }()
			found(Search{Space: DriftCovered(), Jobs: 2}, Do(func(p *Process) { runtime.Goexit() }))
			wentOn = true
		}()
		if <-ended {
			t.Error("went on")
		}
	})
	t.Run("before it begins, if the space is wrong", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if got := recover(); !strings.Contains(fmt.Sprint(got), "0 to 3 nodes") {
				t.Errorf("%v", got)
			}
		}()
		found(Search{Space: DriftWide().Nodes(0, 3)})
	})
}

// TestSearchEndsAtARunThatIsStuck runs alone, and lets go of what is stuck: the
// watchdog looks at every goroutine, so that it could show the stack of another
// test's.
func TestSearchEndsAtARunThatIsStuck(t *testing.T) {
	never := make(chan int)
	defer close(never)
	breaks := found(Search{Space: DriftCovered(), Jobs: 2}, Do(func(p *Process) {
		if p.c.w.sc.Seed == 40 {
			<-never
		}
	}))
	if len(breaks) != 1 || breaks[0].Seed != 40 || !errors.Is(breaks[0].Err, ErrStuck) || !strings.Contains(breaks[0].Err.Error(), "search_test.go") {
		t.Errorf("%+v", breaks)
	}
}

// TestSearchLeavesNothing runs alone: it looks at every goroutine.
func TestSearchLeavesNothing(t *testing.T) {
	before, running := goleak.IgnoreCurrent(), runtime.NumGoroutine()
	found(Search{Space: DriftWide(), Seeds: 50, Jobs: 4, Stop: -1})
	found(Search{Space: Canary(), Jobs: 4})
	// A job's last word comes a moment before its goroutine is gone.
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > running; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), running)
		}
	}
	goleak.VerifyNone(t, before)
}

func BenchmarkSearch(b *testing.B) {
	for b.Loop() {
		found(Search{Space: DriftWide(), Seeds: 1000, Stop: -1})
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "seeds/s")
}

// TestSearchManyJobs: a search that is asked for a million jobs has fewer.
func TestSearchManyJobs(t *testing.T) {
	t.Parallel()
	for range (Search{Space: DriftCovered(), Seeds: 10, Jobs: 1 << 30}).Run(context.Background()) {
		t.Error("a break where none is")
	}
}
