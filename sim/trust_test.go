package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/flawed"

	"github.com/jonboulle/clockwork"
)

// TestOptionsOfCode: what a lock trusts by options of its own for longer than the
// scenario's factor and buffer allow is told as that, and not as a bug. Nothing else is
// excused by it: not a lock that trusts no more, not what its holder believes beyond the
// deadline, and not a flawed lock.
func TestOptionsOfCode(t *testing.T) {
	t.Parallel()
	const ttl = 10 * time.Second
	slow := func(sc *Scenario) { sc.Clients[0].Clock.Rate = clock.Ratio(991, 1000) } // 1 % covers it
	slower := func(sc *Scenario) { sc.Clients[0].Clock.Rate = clock.Ratio(98, 100) }
	steps := func(sc *Scenario) {
		for _, on := range []string{"A", "B"} {
			sc.Faults = append(sc.Faults, Fault{Kind: "step", On: on, At: sec, By: 95 * ms})
		}
	}
	hold := func(p *Process, l redlock.Locker) {
		if token, err := l.Acquire(p.Context(), "k", ttl); err != nil {
			t.Error(err)
		} else {
			p.Sleep(token.Remaining())
		}
	}
	goOn := func(p *Process, l redlock.Locker) {
		if token, err := l.Acquire(p.Context(), "k", ttl); err != nil {
			t.Error(err)
		} else {
			p.Holds("k", token.ValidUntil().Add(time.Second))
			p.Sleep(token.Remaining() + time.Second)
		}
	}
	extend := func(again time.Duration, after func(*Process, redlock.Token)) func(*Process, redlock.Locker) {
		return func(p *Process, l redlock.Locker) {
			token, err := l.Acquire(p.Context(), "k", ttl)
			if err != nil {
				t.Error(err)
			}
			p.Sleep(time.Second)
			if err := l.Extend(p.Context(), "k", token, again); err != nil {
				t.Error(err)
			}
			after(p, token)
			p.Sleep(token.Remaining())
		}
	}
	little := redlock.WithClockDriftFactor(0.0001)
	with := func(opts ...redlock.Option) func(*Process) redlock.Locker {
		return func(p *Process) redlock.Locker { return p.Lock(opts...) }
	}
	for name, c := range map[string]struct {
		lock  func(*Process) redlock.Locker
		code  func(*Process, redlock.Locker)
		edits []func(*Scenario)
		opts  []Option
		want  []string // in the text of the assumption that is broken by options; none: it is a bug
		unmet Assumption
	}{
		"a small factor": {lock: with(little), code: hold, edits: []func(*Scenario){slow}, unmet: A1,
			want: []string{"c1 at down to -9000ppm", "trusted a TTL of 10s for 9.997s, where the scenario's factor of 0.01 and buffer of 2ms allow 9.898s"}},
		"no buffer": {lock: with(redlock.WithClockDriftBuffer(0), little), code: hold, edits: []func(*Scenario){slow}, unmet: A1,
			want: []string{"a TTL of 10s for 9.999s, where"}},
		"nodes that step": {lock: with(little), code: hold, edits: []func(*Scenario){steps}, unmet: A3,
			want: []string{"stepped by 95ms, the budget was 3ms: a lock", "10s for 9.997s, where"}},
		"an extension": {lock: with(), edits: []func(*Scenario){slow}, unmet: A1, want: []string{"a TTL of 20s for 19.996s, where", "allow 19.798s"},
			code: extend(time.Second, func(p *Process, token redlock.Token) { // by another lock than has acquired it
				if err := p.Lock(little).Extend(p.Context(), "k", token, 20*time.Second); err != nil {
					t.Error(err)
				}
			})},
		"with the scenario's own beside it": {code: hold, edits: []func(*Scenario){slow}, unmet: A1,
			lock: func(p *Process) redlock.Locker { p.Lock(); return p.Lock(little) }, want: []string{"for 9.997s"}},
		"made by hand": {code: hold, edits: []func(*Scenario){slow}, unmet: A1, want: []string{"for 9.997s"},
			lock: func(p *Process) redlock.Locker {
				l, err := redlock.Over(p.Transport(), redlock.WithClock(p.Clock()), redlock.WithRand(p.rand), little)
				if err != nil {
					t.Error(err)
				}
				return p.Witness(l)
			}},
		"within a lock of its own": {lock: with(), code: hold, edits: []func(*Scenario){slow}, unmet: A1, want: []string{"for 9.997s"},
			opts: []Option{LockedBy(func(p *Process) redlock.Locker { return p.Lock(little) })}},

		"beyond the scenario's too": {lock: with(little), code: hold, edits: []func(*Scenario){slower}, unmet: A1},

		"no option":          {lock: with(), code: goOn},
		"one that trusts so": {lock: with(redlock.WithRenewInterval(time.Second)), code: goOn, edits: []func(*Scenario){slow}},
		"one that is kept":   {lock: with(redlock.WithClockDriftFactor(0.0095)), code: goOn, edits: []func(*Scenario){slow}},
		"one that trusts less": {lock: with(redlock.WithClockDriftFactor(0.2)), code: func(p *Process, l redlock.Locker) { goOn(p, l); p.Holds("k", p.Clock().Now().Add(2*ttl)) },
			edits: []func(*Scenario){slow}},
		"an extension that leaves the deadline": {lock: with(redlock.WithClockDriftFactor(0.015)), edits: []func(*Scenario){slow},
			code: extend(8860*time.Millisecond, func(p *Process, _ redlock.Token) { p.Holds("k", p.Clock().Now().Add(ttl)); p.Sleep(ttl) })},
		"what the holder says": {lock: with(redlock.WithClockDriftFactor(0.02)), edits: []func(*Scenario){slow},
			code: func(p *Process, l redlock.Locker) {
				if _, err := l.Acquire(p.Context(), "k", ttl); err == nil {
					until := p.Clock().Now().Add(ttl - 10*time.Millisecond)
					p.Holds("k", until)
					p.Sleep(ttl)
				}
			}},
		"a clock that is ahead": {code: hold, edits: []func(*Scenario){slow}, // it has the lock trust more than the TTL, which no factor does
			lock: func(p *Process) redlock.Locker { return p.Lock(redlock.WithClock(ahead{p.Clock()})) }},
		"a flawed lock": {lock: with(little), edits: []func(*Scenario){slow, func(sc *Scenario) {
			sc.Lock.Kind, sc.Lock.Flaws = kindFlawed, []string{string(flawed.DriftAdded)}
		}}, code: func(p *Process, l redlock.Locker) {
			if _, err := l.Acquire(p.Context(), "k", ttl); err == nil {
				p.Sleep(ttl)
			}
		}},
	} {
		sc := plain(1, 3)
		for _, edit := range c.edits {
			edit(&sc)
		}
		if name == "beyond the scenario's too" {
			v, err := Test(sc, Do(func(p *Process) { c.code(p, c.lock(p)) }))
			if err != nil || v.OK() || len(v.Bugs()) > 0 || slices.ContainsFunc(v.Unmet, func(u Unmet) bool { return u.Options }) {
				t.Errorf("%s: %v, unmet %v, bugs %v", name, err, v.Unmet, v.Bugs())
			}
			continue
		}
		if unmet := Assumptions(&sc); len(unmet) > 0 {
			t.Fatalf("%s: %v", name, unmet)
		}
		v, err := Test(sc, append(c.opts, Do(func(p *Process) { c.code(p, c.lock(p)) }))...)
		if err != nil || !slices.Contains(v.Broken(), I2) {
			t.Errorf("%s: %v, %v broke", name, err, v.Broken())
			continue
		}
		if len(c.want) == 0 {
			if len(v.Bugs()) == 0 || len(v.Unmet) > 0 {
				t.Errorf("%s: unmet %v, bugs %v", name, v.Unmet, v.Bugs())
			}
			continue
		}
		if len(v.Bugs()) > 0 || len(v.Unmet) == 0 {
			t.Errorf("%s: unmet %v, bugs %v", name, v.Unmet, v.Bugs())
			continue
		}
		for _, u := range v.Unmet {
			if !u.Options || u.Assumption != c.unmet {
				t.Errorf("%s: %+v", name, u)
			}
		}
		for _, want := range c.want {
			if !strings.Contains(v.Unmet[0].Text, want) {
				t.Errorf("%s: %q, want %q in it", name, v.Unmet[0].Text, want)
			}
		}
	}
}

// ahead is a clock that is ahead of another.
type ahead struct{ clockwork.Clock }

func (a ahead) Now() time.Time { return a.Clock.Now().Add(time.Second) }

// TestOwnTrustIsOfOptions: what a lock without options of its own trusts is the
// scenario's, or its fault.
func TestOwnTrustIsOfOptions(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]redlock.Option{nil, {redlock.WithClockDriftFactor(0.02)}} {
		h := mustRun(t, plain(1, 3), Do(func(p *Process) {
			if _, err := p.Lock(opts...).Acquire(p.Context(), "k", time.Second); err != nil {
				t.Error(err)
			}
		}))
		trusts := h.trusts()
		if opts == nil && len(trusts) > 0 || opts != nil && !slices.Equal(trusts, []trust{{time.Second, 978e6}}) {
			t.Errorf("%d options: %v", len(opts), trusts)
		}
	}
}

// TestShrinkLeavesTheOptionsOfCode: what options of the code break is shrunk to what they
// alone break.
func TestShrinkLeavesTheOptionsOfCode(t *testing.T) {
	t.Parallel()
	var bits [2]uint
	for i, options := range []bool{false, true} {
		for a := A1; a <= A6; a++ {
			bits[i] |= unmetSet([]Unmet{{Assumption: a, Options: options}})
		}
	}
	if bits[0]&bits[1] != 0 {
		t.Error("an assumption that options break counts as one that the scenario does not keep")
	}
	work := Do(func(p *Process) {
		l := p.Lock(redlock.WithClockDriftFactor(0.0001))
		if token, err := l.Acquire(p.Context(), "k", 10*time.Second); err == nil {
			p.Sleep(token.Remaining())
		}
	})
	sc := plain(2, 5)
	sc.Clients[0].Clock.Rate = clock.Ratio(991, 1000)
	small, _, err := Shrink(t.Context(), sc, I2, work)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Test(small, work)
	if err != nil || len(Assumptions(&small)) > 0 || len(v.Unmet) == 0 || !v.Unmet[0].Options {
		t.Errorf("%v: unmet %v, of the scenario alone %v", err, v.Unmet, Assumptions(&small))
	}
}
