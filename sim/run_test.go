package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/network"
)

const (
	ms  = clock.Duration(time.Millisecond)
	sec = clock.Duration(time.Second)
)

// plain is a world without faults: clients of one process on nodes A, B, C, ….
func plain(clients, nodes int) Scenario {
	sc := Scenario{Version: Version, Seed: 1, Until: 60 * sec, Lock: Lock{TTL: 10 * sec, Factor: "0.01", Buffer: 2 * ms, NodeTimeout: 50 * ms, GiveUp: 500 * ms,
		Retry: Retry{Min: 5 * ms, Max: 50 * ms}}}
	d := network.Path{Delay: network.Delay{Law: network.Exponential, Min: ms / 5, Mean: 3 * ms / 10, Max: 100 * ms}}
	sc.Network.Request, sc.Network.Reply = d, d
	for i := range nodes {
		sc.Nodes = append(sc.Nodes, Node{Name: string(rune('A' + i))})
	}
	for i := range clients {
		sc.Clients = append(sc.Clients, Client{Name: fmt.Sprintf("c%d", i+1), Repeat: 3, Steps: []Step{
			{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", For: 300 * ms}, {Do: "release", Key: "k"}, {Do: "sleep", For: 10 * ms}}})
	}
	return sc
}

func mustRun(t testing.TB, sc Scenario, opts ...Option) *History {
	t.Helper()
	h, err := Run(sc, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestThreeClientsTakeTurns(t *testing.T) {
	t.Parallel()
	v, err := Test(plain(3, 5))
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Leases) != 9 || !v.OK() {
		t.Errorf("%d leases, want 9; %v", len(v.Leases), v.Err())
	}
}

func TestRunnerRepeatsItself(t *testing.T) {
	t.Parallel()
	r := NewRunner()
	defer r.Close()
	want := mustRun(t, plain(3, 5)).Hash()
	for _, sc := range []Scenario{plain(3, 5), plain(1, 3), plain(4, 7), plain(3, 5)} {
		h, err := r.Run(sc)
		if err != nil {
			t.Fatal(err)
		}
		if fresh := mustRun(t, sc).Hash(); h.Hash() != fresh {
			t.Errorf("a used Runner gives %v, a new one %v", h.Hash(), fresh)
		}
		if len(sc.Clients) == 3 && h.Hash() != want {
			t.Errorf("%v, first %v", h.Hash(), want)
		}
	}
}

// TestStuck: a process that blocks on anything but the world is reported with
// its stack.
func TestStuck(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	mu.Lock()
	for _, c := range []struct {
		name string
		line string // of the stack
		do   Workload
	}{
		{"channel", "chan receive", func(p *Process) { <-make(chan int) }},
		{"mutex", "sync.(*Mutex).Lock", func(p *Process) { mu.Lock() }},
		{"real time", "time.Sleep", func(p *Process) { time.Sleep(time.Hour) }},
		{"channel in a timer", "TestStuck.func4.1", func(p *Process) {
			p.Clock().AfterFunc(time.Second, func() { <-make(chan int) })
			p.Sleep(time.Minute)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := Run(plain(1, 3), Do(c.do))
			if !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), c.line) {
				t.Errorf("%v", err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("told after %v", took)
			}
		})
	}
}

func TestPanicIsPassedOn(t *testing.T) {
	t.Parallel()
	type mine struct{ int }
	for where, do := range map[string]Workload{
		"c1":         func(p *Process) { p.Sleep(time.Second); panic(mine{7}) },
		"c1/2":       func(p *Process) { p.Go(func(p *Process) { panic(mine{7}) }); p.Sleep(time.Hour) },
		"c1 (timer)": func(p *Process) { p.Clock().AfterFunc(time.Second, func() { panic(mine{7}) }); p.Sleep(time.Hour) },
		"c1 (deferred)": func(p *Process) {
			defer func() { panic(mine{7}) }()
			for {
				p.Sleep(time.Hour)
			}
		},
	} {
		var told Panic
		r := NewRunner(DoAs("c1", do), Do(func(p *Process) { p.Sleep(time.Hour) }), OnPanic(func(p Panic) { told = p }))
		func() {
			defer r.Close()
			defer func() {
				if v := recover(); v != (mine{7}) {
					t.Errorf("%s: recovered %v", where, v)
				}
				who, _, _ := strings.Cut(where, " ")
				at := sec
				if where == "c1/2" {
					at = 0
				} else if where == "c1 (deferred)" {
					at = 60 * sec // the run's end
				}
				if told.Process != who || told.At != int64(at) || told.Value != (mine{7}) || !strings.Contains(told.Stack, "TestPanicIsPassedOn") ||
					told.Step < 3 || !strings.HasPrefix(told.String(), fmt.Sprintf("%s panicked at step %d, true time %v: {7}\n", who, told.Step, at)) || strings.Contains(told.String(), "Replay") {
					t.Errorf("%s: told of %+v:\n%v", where, told, told)
				}
			}()
			r.Run(plain(2, 3))
		}()
	}
}

// TestPanicTellsItsReplay: of a scenario that a seed stands for, and of no other.
func TestPanicTellsItsReplay(t *testing.T) {
	t.Parallel()
	generated := Generate(DriftWide(), 7)
	changed := Generate(DriftWide(), 7)
	changed.Until++
	for _, c := range []struct {
		name string
		p    Panic
		want string
	}{
		{"a seed", Panic{Scenario: generated, steps: true}, "replay run --space drift-wide --seed 7"},
		{"a seed's scenario, changed", Panic{Scenario: changed, steps: true}, ""},
		{"of a narrower space", Panic{Scenario: Generate(DriftWide().Nodes(64, 64), 7), steps: true}, ""},
		{"with a workload of code", Panic{Scenario: generated}, ""},
		{"a file", Panic{Scenario: plain(1, 3), steps: true}, ""},
	} {
		if got := c.p.replay(); got != c.want || strings.Contains(c.p.String(), "\nReplay: "+c.want+"\n") != (c.want != "") {
			t.Errorf("%s: %q, want %q; told as\n%v", c.name, got, c.want, c.p)
		}
	}
}

// TestAnothersClock: a machine's clock and transport are for its own processes.
func TestAnothersClock(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(p *Process){
		"Now":       func(p *Process) { p.Clock().Now() },
		"Sleep":     func(p *Process) { p.Sleep(time.Second) },
		"AfterFunc": func(p *Process) { p.Clock().AfterFunc(time.Second, func() {}) },
		"Broadcast": func(p *Process) { p.Lock().TryAcquire(p.Context(), "k", time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got, want := fmt.Sprint(recover()), "another client: c1's, by a process of c2"; !strings.Contains(got, want) {
					t.Errorf("recovered %q, want %q", got, want)
				}
			}()
			var first *Process
			Run(plain(2, 3), DoAs("c1", func(p *Process) { first = p; p.Sleep(time.Minute) }), DoAs("c2", func(p *Process) { p.Sleep(time.Second); use(first) }))
			t.Error("nothing was said")
		})
	}
}

// TestGoexitIsPassedOn: t.FailNow in a process ends the test.
func TestGoexitIsPassedOn(t *testing.T) {
	t.Parallel()
	after, deferred := false, 0
	done := make(chan bool)
	go func() {
		defer close(done)
		Run(plain(3, 3), Do(func(p *Process) {
			defer func() { deferred++ }()
			p.Sleep(time.Second)
			if p.Client() == "c2" {
				runtime.Goexit()
			}
			p.Sleep(time.Hour)
		}))
		after = true
	}()
	<-done
	if after || deferred != 3 {
		t.Errorf("returned %v, %d deferred calls ran, want 3", after, deferred)
	}
}

func TestContextsEndTheRun(t *testing.T) {
	t.Parallel()
	var why error
	var at int64
	v, err := Test(plain(1, 3), Do(func(p *Process) {
		l := p.Lock()
		tok, err := l.Acquire(p.Context(), "k", time.Minute)
		if err != nil {
			t.Error(err)
			return
		}
		defer l.Release(p.Context(), "k", tok)
		why = p.Sleep(time.Hour)
		at = p.c.w.now
	}))
	if err != nil || !errors.Is(why, ErrEnded) || at != int64(60*sec) {
		t.Errorf("%v; slept until %v: %v", err, time.Duration(at), why)
	}
	for _, b := range v.Blocks {
		if b.Ends != Freed {
			t.Errorf("the deferred release did not reach node %d: %v", b.Node, b.Ends)
		}
	}
}

func TestTimersLiveOnTheClientsClock(t *testing.T) {
	t.Parallel()
	sc := plain(1, 3)
	sc.Clients[0].Clock.Rate = clock.Ratio(1, 2)
	var order []string
	at := map[string]int64{}
	mark := func(p *Process, s string) { order = append(order, s); at[s] = p.c.w.now }
	mustRun(t, sc, Do(func(p *Process) {
		p.Clock().AfterFunc(3*time.Second, func() { mark(p, "timer") })
		stopped := p.Clock().AfterFunc(time.Second, func() { mark(p, "stopped") })
		if !stopped.Stop() || stopped.Stop() {
			t.Error("Stop tells wrongly whether it stopped")
		}
		again := p.Clock().AfterFunc(time.Second, func() { mark(p, "again") })
		again.Reset(4 * time.Second)
		ctx, cancel := clock.WithTimeout(p.Context(), p.Clock(), 2*time.Second)
		defer cancel()
		if err := clock.Sleep(ctx, p.Clock(), time.Hour); err != context.DeadlineExceeded {
			t.Error(err)
		}
		mark(p, "timeout")
		p.Go(func(p *Process) { p.Sleep(500 * time.Millisecond); mark(p, "child") })
		p.Sleep(3 * time.Second)
		mark(p, "main")
	}))
	want := []string{"timeout", "child", "timer", "again", "main"}
	if strings.Join(order, " ") != strings.Join(want, " ") {
		t.Errorf("%v, want %v", order, want)
	}
	for s, d := range map[string]clock.Duration{"timeout": 4 * sec, "child": 5 * sec, "timer": 6 * sec, "again": 8 * sec, "main": 10 * sec} {
		if at[s] != int64(d) {
			t.Errorf("%s at %v, want %v of true time on a clock of half speed", s, time.Duration(at[s]), d)
		}
	}
}

// TestPauseAndSuspend: what came due while a client slept happens when it wakes;
// a monotonic clock has not counted a suspend, a boot-time clock has.
func TestPauseAndSuspend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault string
		lives Lives
		wakes clock.Duration
	}{
		{"pause", Boot, 9 * sec}, {"pause", Monotonic, 9 * sec},
		{"suspend", Boot, 9 * sec}, {"suspend", Monotonic, 13 * sec}, {"suspend", Wall, 9 * sec},
	} {
		sc := plain(1, 3)
		sc.Clients[0].Lives = c.lives
		sc.Faults = []Fault{{Kind: c.fault, On: "c1", At: sec, For: 8 * sec}}
		var woke int64
		mustRun(t, sc, Do(func(p *Process) { p.Sleep(5 * time.Second); woke = p.c.w.now }))
		if woke != int64(c.wakes) {
			t.Errorf("%s on the %s clock: woke at %v, want %v", c.fault, c.lives, time.Duration(woke), c.wakes)
		}
	}
}

// TestEveryNanosecondCounts: whatever message is 1 ns later, the hash differs.
func TestEveryNanosecondCounts(t *testing.T) {
	t.Parallel()
	base := plain(2, 3)
	h := mustRun(t, base)
	seen := map[Hash]string{h.Hash(): "the base"}
	for _, e := range h.Events() {
		if e.Kind != Sent && e.Kind != Answered {
			continue
		}
		rule := network.Rule{From: base.Clients[e.Client].Name, To: base.Nodes[e.Node].Name, Nth: int(e.Nth), Late: 1}
		if e.Kind == Answered {
			rule.From, rule.To = rule.To, rule.From
		}
		sc := base
		sc.Network.Rules = []network.Rule{rule}
		if got := mustRun(t, sc).Hash(); seen[got] == "the base" {
			t.Errorf("%+v changes nothing", rule)
		}
	}
	off := base
	off.Nodes = append([]Node(nil), base.Nodes...)
	off.Nodes[2].Clock.Offset = 1
	if mustRun(t, off).Hash() == h.Hash() {
		t.Error("a node's clock 1 ns ahead changes nothing")
	}
}

// TestHashTellsEveryField: an event that differs in one field, anywhere in a
// history, gives another hash.
func TestHashTellsEveryField(t *testing.T) {
	t.Parallel()
	h := mustRun(t, plain(2, 3))
	sum := func(step int, change func(*Event)) Hash {
		hs := hasher{}
		for i := range h.events {
			e := h.events[i]
			if i == step {
				change(&e)
			}
			hs.event(&e)
		}
		return Hash(hs.sum)
	}
	want := sum(-1, nil)
	for step := range h.events {
		for name, change := range map[string]func(*Event){
			"at": func(e *Event) { e.At++ }, "reading": func(e *Event) { e.Local++ }, "value": func(e *Event) { e.Value-- },
			"kind": func(e *Event) { e.Kind++ }, "op": func(e *Event) { e.Op++ }, "status": func(e *Event) { e.Status++ },
			"client": func(e *Event) { e.Client++ }, "node": func(e *Event) { e.Node++ }, "process": func(e *Event) { e.Proc++ },
			"nth": func(e *Event) { e.Nth++ }, "key": func(e *Event) { e.Key++ }, "owner": func(e *Event) { e.Owner++ }, "note": func(e *Event) { e.Note++ },
		} {
			if sum(step, change) == want {
				t.Fatalf("step %d: another %s, the same hash", step+1, name)
			}
		}
	}
}

func TestNoGoroutineIsLeft(t *testing.T) {
	// Those of the simulator: the runtime, and tests beside this, have their own.
	running := func() int {
		all := string(allStacks())
		return strings.Count(all, "sim.(*routine).loop(") + strings.Count(all, "created by driftlock/sim.(*Runner).Run ")
	}
	before := running()
	for range 20 {
		mustRun(t, plain(3, 5))
		mustRun(t, plain(2, 3), Do(func(p *Process) {
			for { // does not heed the end of its context
				p.Sleep(time.Hour)
			}
		}))
	}
	for deadline := time.Now().Add(10 * time.Second); running() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", running(), before)
		}
	}
}

// TestSleepInBroadcast: who sleeps between two replies still hears those that
// come in time.
func TestSleepInBroadcast(t *testing.T) {
	t.Parallel()
	sc := plain(1, 3)
	slow := func(d clock.Duration) network.Path { return network.Path{Delay: network.Delay{Min: d}} }
	sc.Network = network.Config{Request: slow(10 * ms), Reply: slow(10 * ms), Paths: map[string]network.Path{"C>c1": slow(30 * ms)}}
	mustRun(t, sc, Do(func(p *Process) {
		for r := range p.Transport().Broadcast(p.Context(), redlock.Request{Op: redlock.OpAcquire, Key: "k", Owner: "o", TTL: time.Second}, time.Second) {
			if r.Err != nil {
				t.Errorf("node %d: %v", r.Node, r.Err)
			}
			p.Sleep(time.Millisecond)
		}
	}))
}

// TestPanicOutlivesTheRun: a panic is passed on although a deferred call still
// waits when the run is over, or never stops to.
func TestPanicOutlivesTheRun(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]func(p *Process){
		"waits": func(p *Process) { clock.Sleep(context.Background(), p.Clock(), time.Hour) },
		"waits for ever": func(p *Process) {
			for clock.Sleep(context.Background(), p.Clock(), time.Hour) == nil {
			}
		},
		"asks when it waits": func(p *Process) { p.Lock().Acquire(context.Background(), "k", time.Second); p.Clock().Sleep(time.Hour) },
	} {
		func() {
			defer func() {
				if v := recover(); v != "boom" {
					t.Errorf("%s: %v", name, v)
				}
			}()
			Run(plain(1, 3), Do(func(p *Process) { defer last(p); panic("boom") }))
		}()
	}
}

// TestEndlessDeferred: a deferred call that waits again and again, on a context
// that has ended, is ended too.
func TestEndlessDeferred(t *testing.T) {
	t.Parallel()
	mustRun(t, plain(1, 3), Do(func(p *Process) {
		defer func() {
			for {
				p.Sleep(time.Second)
			}
		}()
		clock.Sleep(context.Background(), p.Clock(), time.Hour)
	}))
}

// TestProcessAfterTheEnd: one that is started when the contexts have ended finds
// its own ended.
func TestProcessAfterTheEnd(t *testing.T) {
	t.Parallel()
	ran := false
	mustRun(t, plain(1, 3), Do(func(p *Process) {
		p.Sleep(time.Hour)
		p.Go(func(q *Process) {
			if ran = true; context.Cause(q.Context()) != ErrEnded {
				t.Errorf("%v, want %v", context.Cause(q.Context()), ErrEnded)
			}
		})
	}))
	if !ran {
		t.Error("it never ran")
	}
}

// TestRunnerDoesNotGrow: coroutines of processes that did not return make room
// for others.
func TestRunnerDoesNotGrow(t *testing.T) {
	t.Parallel()
	r := NewRunner(Do(func(p *Process) { p.Clock().Sleep(time.Hour) }))
	defer r.Close()
	for range 20 {
		if _, err := r.Run(plain(4, 3)); err != nil {
			t.Fatal(err)
		}
	}
	if n, known := len(r.w.routines), len(r.w.crew.address); n > 4 || known > 4 {
		t.Errorf("%d routines, %d known: there were never more than 4 processes", n, known)
	}
}

// TestAllStacks: none is left out.
func TestAllStacks(t *testing.T) {
	const many = 10_000
	stop := make(chan struct{})
	defer close(stop)
	for range many {
		go func() { <-stop }()
	}
	if n := bytes.Count(allStacks(), []byte("TestAllStacks.func")); n < many {
		t.Errorf("%d of %d goroutines", n, many)
	}
}

// TestLockAroundTheScenarios: a lock of one's own may be built around that of the
// scenario. What is around it alone tells what is believed, so the same happens.
func TestLockAroundTheScenarios(t *testing.T) {
	t.Parallel()
	type around struct{ redlock.Locker }
	sc := plain(3, 5)
	want := mustRun(t, sc)
	got := mustRun(t, sc, LockedBy(func(p *Process) redlock.Locker { return around{p.Lock()} }))
	if step, same := FirstDifference(want, got); !same {
		t.Errorf("differs at step %d: %+v, want %+v", step, got.Event(step), want.Event(step))
	}
}

// TestTooLong: code that never waits, and timers that set each other, are told of
// before they fill the memory.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]Workload{
		"reads the clock": func(p *Process) {
			for until := p.Clock().Now().Add(time.Second); p.Clock().Now().Before(until); {
			}
		},
		"sets a timer in a timer": func(p *Process) {
			var again func()
			again = func() { clock.Go(p.Clock(), again) }
			again()
			p.Sleep(time.Second)
		},
		"works long": func(p *Process) {
			for p.Context().Err() == nil {
				p.Sleep(time.Microsecond)
			}
		},
	} {
		r := NewRunner(Do(w))
		r.opts.most = 100_000
		if _, err := r.Run(plain(1, 3)); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v, want %v", name, err, ErrTooLong)
		}
		r.Close()
	}
}

// TestTooManySteps: a scenario's own steps run on the caller's goroutine, which goes on
// though their run is too long, and so does the Runner.
func TestTooManySteps(t *testing.T) {
	t.Parallel()
	for _, steps := range [][]Step{
		{{Do: "sleep", For: 1}},
		{{Do: "acquire", Key: "k"}, {Do: "release", Key: "k"}},
	} {
		r := NewRunner()
		r.opts.most = 10_000
		sc := plain(1, 3)
		sc.Clients[0].Repeat, sc.Clients[0].Steps, sc.Until = 1_000_000, steps, clock.Duration(time.Hour)
		if _, err := r.Run(sc); !errors.Is(err, ErrTooLong) {
			t.Errorf("%v: %v, want %v", steps, err, ErrTooLong)
		}
		if h, err := r.Run(Reference(1)); err != nil || h.Len() == 0 {
			t.Errorf("after %v: %v", steps, err)
		}
		r.Close()
	}
}

// TestGivesUpInTime: a connection gives a message up when its time is over on the client's
// clock, also if that has gone back since the alarm was set, for an earlier message.
func TestGivesUpInTime(t *testing.T) {
	t.Parallel()
	sc := plain(1, 1)
	sc.Lock.GiveUp = sec
	sc.Clients[0].Lives, sc.Clients[0].Repeat = Wall, 1
	sc.Clients[0].Steps = []Step{{Do: "acquire", Key: "k"}, {Do: "release", Key: "k"}}
	sc.Faults = []Fault{{Kind: "step", On: "c1", At: ms / 10, By: -100 * ms}} // before the first answer
	sc.Network.Rules = []network.Rule{{From: "c1", To: "A", Nth: 2, Drop: true}}
	h := mustRun(t, sc)
	var sent Event
	for _, e := range h.Events() {
		switch {
		case e.Kind == Sent && e.Nth == 2:
			sent = e
		case e.Kind == GaveUp:
			if e.Nth != 2 || e.Local-sent.Local != int64(sec) {
				t.Fatalf("message %d was given up at %d of the client's clock, and sent at %d", e.Nth, e.Local, sent.Local)
			}
			return
		}
	}
	t.Fatal("nothing was given up")
}

// TestManyProcesses: those beyond what an event can number are refused, and each
// counts in the hash.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	hash := func(speaks int) Hash {
		return mustRun(t, plain(1, 3), Do(func(p *Process) {
			for i := range 300 {
				p.Go(func(q *Process) {
					if i == speaks {
						q.note(&Event{Kind: Noted})
					}
				})
			}
		})).Hash()
	}
	h, sc := &History{}, plain(1, 3)
	of := func(proc int16) Hash {
		h.reset(&sc)
		h.add(&Event{Kind: Noted, Proc: proc})
		return h.Hash()
	}
	if hash(3) == hash(3+256) || of(3) == of(3+256) {
		t.Error("process 3 and process 259 have the same hash")
	}
	defer func() {
		if v := fmt.Sprint(recover()); !strings.Contains(v, "32767 processes") {
			t.Errorf("panicked with %v", v)
		}
	}()
	Run(plain(1, 3), Do(func(p *Process) {
		for {
			p.Go(func(*Process) {})
		}
	}))
}

// TestFaultsAfterTheLastProcess: trust may outlive the process that had it, so a
// fault that comes later counts.
func TestFaultsAfterTheLastProcess(t *testing.T) {
	t.Parallel()
	sc := plain(1, 3)
	sc.Clients[0].Repeat, sc.Clients[0].Steps = 1, []Step{{Do: "acquire", Key: "k"}}
	for _, n := range []string{"A", "B", "C"} {
		sc.Faults = append(sc.Faults, Fault{Kind: "flush", On: n, At: 2 * sec})
	}
	v, err := Test(sc)
	if err != nil {
		t.Fatal(err)
	}
	if margins := broken(v, I2); len(margins) != 1 || margins[0] != -7_898*time.Millisecond {
		t.Errorf("I2 broken by %v, want by 7.898s", margins)
	}
}

// TestTiedSleeps: who wakes at one instant on one client asks in one batch.
func TestTiedSleeps(t *testing.T) {
	sc := Reference(1)
	sc.Clients = sc.Clients[:1]
	work := func(key string) Workload {
		return func(p *Process) {
			p.Sleep(time.Millisecond)
			p.Lock().Acquire(p.Context(), key, time.Second)
		}
	}
	h, err := Run(sc, Do(func(p *Process) {
		p.Go(work("a"))
		p.Go(work("b"))
	}))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range h.Events() {
		if e.Kind == Executed {
			if n++; e.Nth != 1 {
				t.Errorf("at %v: %q is asked for by a message of its own", e.At, h.Text(e.Key))
			}
		}
	}
	if n != 2*len(sc.Nodes) {
		t.Errorf("%d requests were carried out, want %d", n, 2*len(sc.Nodes))
	}
}

// TestPausedClientSeesThatAContextEnded: a client that stands still as a context ends
// sees it with the next event that reaches anybody after that, though it wakes nobody.
func TestPausedClientSeesThatAContextEnded(t *testing.T) {
	sc := Reference(1)
	sc.Clients = sc.Clients[:2]
	for i := range sc.Clients {
		sc.Clients[i].Clock = Clock{}
	}
	sc.Network = network.Config{Request: network.Path{Delay: network.Delay{Min: ms}}, Paths: map[string]network.Path{}}
	for i, n := range sc.Nodes {
		sc.Network.Paths[n.Name+">y"] = network.Path{Delay: network.Delay{Min: 60*ms + clock.Duration(i)*10*ms}}
	}
	sc.Lock.NodeTimeout = 200 * ms
	sc.Faults = []Fault{{Kind: "pause", On: "x", At: 10 * ms, For: 40 * ms}}
	var ctx context.Context
	var cancel context.CancelFunc
	h, err := Run(sc, DoAs("x", func(p *Process) {
		ctx, cancel = context.WithCancel(p.Context())
		clock.Sleep(ctx, p.Clock(), time.Second)
	}), DoAs("y", func(p *Process) {
		p.Go(func(p *Process) { p.Lock().Acquire(p.Context(), "k", time.Second) })
		p.Sleep(20 * time.Millisecond)
		cancel()
	}))
	if err != nil {
		t.Fatal(err)
	}
	first := int64(0)
	for _, e := range h.Events() {
		if e.Kind == Heard && first == 0 {
			first = e.At
		}
		if e.Kind == Ended && e.Client == 0 && e.At != first {
			t.Errorf("x went on at %v, and the first answer was heard at %v", clock.Duration(e.At), clock.Duration(first))
		}
	}
	if first != int64(61*ms) {
		t.Errorf("the first answer is heard at %v, want 61 ms", clock.Duration(first))
	}
}
