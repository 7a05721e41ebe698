package simtest_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/network"
	"driftlock/sim/simtest"
)

// hashesVariable has TestBubbleHashes print its hashes: it is the same test in
// another binary.
const hashesVariable = "DRIFTLOCK_PRINT_HASHES"

// racing is the code of a client that does much at one instant: two processes that
// want several keys, each with goroutines, timers of both clocks and contexts.
func racing(p *sim.Process) {
	work := func(p *sim.Process) {
		l := p.Lock()
		for i := range 4 {
			key := fmt.Sprint("k", i%2)
			token, err := l.Acquire(p.Context(), key, 300*ms)
			if err != nil {
				return
			}
			p.Go(func(p *sim.Process) {
				p.Sleep(ms)
				p.Logf("beside %s", key)
			})
			ready := make(chan struct{})
			go func() {
				defer close(ready)
				p.Clock().Sleep(2 * ms)
			}()
			<-ready
			l.Release(p.Context(), key, token)
		}
	}
	p.Go(work)
	work(p)
}

const ms = 1_000_000

// hashes are those of n scenarios with the steps that were drawn, of as many with
// racing, and of as many with faults.
func hashes(t *testing.T, n uint64) (list []string) {
	plain, racers := sim.NewRunner(simtest.InBubble(t)), sim.NewRunner(simtest.InBubble(t), sim.Do(racing))
	defer plain.Close()
	defer racers.Close()
	for seed := range n {
		for i, run := range []struct {
			r  *sim.Runner
			sp sim.Space
		}{{plain, sim.Drift(5_000 * clock.PPM)}, {plain, sim.Faulty()}, {racers, sim.Drift(5_000 * clock.PPM)}} {
			h, err := run.r.Run(sim.Generate(run.sp, seed))
			if err != nil {
				t.Fatal(seed, err)
			}
			list = append(list, fmt.Sprint(seed, "/", i, " ", h.Hash()))
		}
	}
	return list
}

// TestBubbleHashes: a scenario has one hash in a bubble, whatever the number of
// processors, with the race detector and without. DRIFTLOCK_LONG=1: 1,000 seeds, and
// both binaries.
func TestBubbleHashes(t *testing.T) {
	n := uint64(20)
	long := os.Getenv("DRIFTLOCK_LONG") != ""
	if long {
		n = 1000
	}
	var want []string
	for _, procs := range []int{1, 2} {
		old := runtime.GOMAXPROCS(procs)
		got := hashes(t, n)
		runtime.GOMAXPROCS(old)
		if want == nil {
			want = got
		}
		same(t, fmt.Sprintf("GOMAXPROCS=%d", procs), want, got)
	}
	if os.Getenv(hashesVariable) != "" {
		for _, h := range want {
			fmt.Println("hash", h)
		}
		return
	}
	if !long {
		return
	}
	for _, flag := range []string{"-race=true", "-race=false"} {
		cmd := exec.Command("go", "test", flag, "-v", "-count=1", "-run", "^TestBubbleHashes$", ".")
		cmd.Env = append(os.Environ(), hashesVariable+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
		var got []string
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			if h, ok := strings.CutPrefix(lines.Text(), "hash "); ok {
				got = append(got, h)
			}
		}
		same(t, flag, want, got)
	}
	t.Logf("%d runs, each with 1 and 2 processors, with -race and without", len(want))
}

func same(t *testing.T, how string, want, got []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d hashes, want %d", how, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: %s, want %s", how, got[i], want[i])
		}
	}
}

// TestTiesInBubble: whom one of several timers of an instant woke runs while the others
// are delivered, so that they come without anything in between. The race detector tells.
func TestTiesInBubble(t *testing.T) {
	_, err := sim.Run(sim.Reference(1), simtest.InBubble(t), sim.TimeStandsStill(), sim.Do(func(p *sim.Process) {
		for range 3 {
			p.Go(func(p *sim.Process) {
				for range 20 {
					p.Sleep(ms)
					p.Clock().Now()
				}
			})
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
}

// TestBytesUnderWay: what was on its way over a connection when a run ended is none of
// the next run of the same Runner.
func TestBytesUnderWay(t *testing.T) {
	r := sim.NewRunner(simtest.InBubble(t), sim.Do(func(p *sim.Process) {
		for _, addr := range p.Addrs() {
			go func() {
				ctx, cancel := context.WithCancel(p.Context())
				defer cancel()
				if c, err := p.Dial(ctx, "tcp", addr); err == nil {
					c.Close()
				}
			}()
		}
		p.Lock().Acquire(p.Context(), "k", 1000*ms)
	}))
	defer r.Close()
	slow, quick := sim.Reference(5), sim.Reference(5)
	slow.Until, slow.Grace, quick.Until = 20*ms, ms, 200*ms
	slow.Network.Request.Delay = network.Delay{Min: 500 * ms}
	var first []sim.Hash
	for range 2 {
		for i, sc := range []sim.Scenario{slow, quick} {
			h, err := r.Run(sc)
			if err != nil {
				t.Fatal(err)
			}
			if first = append(first, h.Hash()); first[i] != h.Hash() {
				t.Errorf("scenario %d: hash %v, and then %v", i, first[i], h.Hash())
			}
		}
	}
}
