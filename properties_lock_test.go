package driftlock_test

// Properties of the lock's API: extending, watching, handing over, the single lock
// beside the distributed one, and sequences of calls against a model of the lock.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/network"
)

var bg = context.Background()

// lost says that an error is the end of a lease.
func lost(err error) bool {
	return errors.Is(err, redlock.ErrLockExpired) || errors.Is(err, redlock.ErrLockNotHeld)
}

// withCode draws a tame scenario and runs code of a client's in it, which says what
// is wrong; nothing must break that hangs on A1 to A5.
func withCode(t *rapid.T, work func(p *sim.Process, lock *sim.Witness, key string, ttl time.Duration) (wrong string)) (sim.Scenario, sim.Verdict) {
	sc := sim.Draw(sim.Tame(), drawer{t, map[string]int64{"live": 0}})
	for i := range sc.Clients {
		sc.Clients[i].Steps = nil
	}
	bad := ""
	v := judged(t, sc, sim.Do(func(p *sim.Process) {
		lock := p.Lock()
		for range 3 {
			if text := work(p, lock, "k", time.Duration(sc.Lock.TTL)); text != "" && bad == "" {
				bad = p.Name() + ": " + text
			}
		}
	}))
	if bad != "" {
		t.Fatalf("%s\n%s", bad, sc.AppendJSON(nil))
	}
	for _, x := range v.Violations {
		if x.Invariant != sim.I3 {
			t.Fatalf("%v: %s\n%s", x.Invariant, x.Text, sc.AppendJSON(nil))
		}
	}
	return sc, v
}

// Extension: a success moves the deadline, never back, and comes before the old one
// and the new; after a loss the token is not valid; any other failure leaves the
// deadline where it was.
func extension(t *rapid.T, r *reached) {
	percent := rapid.SliceOfN(rapid.IntRange(1, 120), 3, 3).Draw(t, "sleeps, in % of what remains")
	extended, failed, late := false, false, false
	_, v := withCode(t, func(p *sim.Process, lock *sim.Witness, key string, ttl time.Duration) string {
		token, err := lock.Acquire(p.Context(), key, ttl)
		if err != nil {
			return ""
		}
		for _, n := range percent {
			if p.Sleep(token.Remaining() / 100 * time.Duration(n)); p.Context().Err() != nil {
				return ""
			}
			was := token.ValidUntil()
			err := lock.TryExtend(p.Context(), key, token, ttl)
			is, now := token.ValidUntil(), p.Clock().Now()
			switch {
			case err == nil && (is.Before(was) || !now.Before(was) || !now.Before(is)):
				return fmt.Sprintf("extended at %v from %v to %v", now, was, is)
			case lost(err) && token.Valid():
				return fmt.Sprintf("%v, and the token is valid", err)
			case err != nil && !lost(err) && !is.Equal(was):
				return fmt.Sprintf("%v, and the deadline went from %v to %v", err, was, is)
			}
			extended, failed, late = extended || err == nil, failed || err != nil && !lost(err), late || lost(err)
			if lost(err) {
				return ""
			}
		}
		lock.Release(p.Context(), key, token)
		return ""
	})
	r.run()
	r.probes(&v)
	r.saw("extended", extended)
	r.saw("an extension failed, and the lease went on", failed)
	r.saw("extended too late", late)
}

func TestExtension(t *testing.T) {
	t.Parallel()
	holds(t, danger("extended", "an extension failed, and the lease went on", "extended too late", sim.ProbeHeld.String()), extension)
}

func FuzzExtension(f *testing.F) { fuzzed(f, extension) }

// Watch: while the holder's context has not ended the token is valid, or the process
// has just stood still past its deadline; when it ends by itself its cause is the
// loss, and the token is not valid any more.
func watching(t *rapid.T, r *reached) {
	works := rapid.IntRange(1, 5).Draw(t, "TTLs of work")
	renewed, gone := false, false
	_, v := withCode(t, func(p *sim.Process, lock *sim.Witness, key string, ttl time.Duration) string {
		token, err := lock.Acquire(p.Context(), key, ttl)
		if err != nil {
			return ""
		}
		was := token.ValidUntil()
		held, stop := redlock.Watch(p.Context(), lock, key, token, ttl)
		defer stop()
		for range works {
			if clock.Sleep(held, p.Clock(), ttl) != nil {
				break
			}
		}
		if p.Context().Err() != nil {
			return ""
		}
		if renewed = renewed || token.ValidUntil().After(was); held.Err() != nil {
			gone = true
			if cause := context.Cause(held); !lost(cause) || token.Valid() {
				return fmt.Sprintf("the context ended for %v, and %v is left", cause, token.Remaining())
			}
			return ""
		}
		if stop(); held.Err() == nil {
			return "stopped, and the context goes on"
		}
		lock.Release(p.Context(), key, token)
		if token.Valid() {
			return "released, and the token is valid"
		}
		return ""
	})
	r.run()
	r.probes(&v)
	r.saw("renewed", renewed)
	r.saw("the lock was lost under watch", gone)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	holds(t, danger("renewed", "the lock was lost under watch", sim.ProbeExtended.String(), sim.ProbeStoodStill.String()), watching)
}

func FuzzWatch(f *testing.F) { fuzzed(f, watching) }

// Hand-over: who waits is granted the lock soon after its holder has released it,
// long before the keys would have expired, and never before.
func handover(t *rapid.T, r *reached) {
	n := rapid.IntRange(1, 7).Draw(t, "nodes")
	delay := clock.Duration(rapid.Int64Range(0, 2_000_000).Draw(t, "delay in ns"))
	pause := clock.Duration(rapid.Int64Range(1_000_000, 50_000_000).Draw(t, "pause in ns"))
	hold := time.Duration(rapid.Int64Range(0, 2_000_000_000).Draw(t, "hold in ns"))
	sc := sim.Scenario{Version: sim.Version, Name: "handover", Seed: rapid.Uint64().Draw(t, "seed"), Until: 60e9,
		Lock:    sim.Lock{TTL: 30e9, Factor: "0.01", Buffer: 2e6, NodeTimeout: 20e6, GiveUp: 20e6, Retry: sim.Retry{Min: pause / 2, Max: pause}},
		Clients: []sim.Client{{Name: "c1"}, {Name: "c2"}},
		Network: network.Config{
			Request: network.Path{Delay: network.Delay{Law: network.Uniform, Min: delay / 2, Max: delay}},
			Reply:   network.Path{Delay: network.Delay{Law: network.Uniform, Min: delay / 2, Max: delay}},
		}}
	for i := range n {
		sc.Nodes = append(sc.Nodes, sim.Node{Name: string(rune('A' + i))})
	}
	var released, granted time.Time // both clocks are right
	refused, bad := false, ""
	v := judged(t, sc, sim.DoAs("c1", func(p *sim.Process) {
		lock := p.Lock()
		token, err := lock.TryAcquire(p.Context(), "k", 30*time.Second)
		if err != nil {
			return // the vote was split
		}
		p.Sleep(hold)
		released = p.Clock().Now()
		if err := lock.Release(p.Context(), "k", token); err != nil {
			bad = fmt.Sprintf("released: %v", err)
		}
	}), sim.DoAs("c2", func(p *sim.Process) {
		p.Sleep(time.Duration(2 * delay))
		lock := p.Lock()
		if token, err := lock.TryAcquire(p.Context(), "k", 30*time.Second); err == nil {
			lock.Release(p.Context(), "k", token) // the vote was split, and both give back
		} else {
			refused = true
		}
		if _, err := lock.Acquire(p.Context(), "k", 30*time.Second); err != nil {
			bad = fmt.Sprintf("waited: %v", err)
		}
		granted = p.Clock().Now()
	}))
	// There; an attempt and its clean-up that were under way; a pause; an attempt.
	bound := time.Duration(7*delay + pause + 1)
	if bad != "" || !v.OK() || !released.IsZero() && (granted.Before(released) || granted.Sub(released) > bound) {
		t.Fatalf("%s, %v: released at %v, granted %v later, at most %v is right\n%s", bad, v.Err(), released, granted.Sub(released), bound, sc.AppendJSON(nil))
	}
	r.run()
	r.probes(&v)
	r.saw("who waited was refused first", refused)
}

func TestHandover(t *testing.T) {
	t.Parallel()
	holds(t, danger("who waited was refused first", sim.ProbeHandover.String()), handover)
}

func FuzzHandover(f *testing.F) { fuzzed(f, handover) }

// ---- the single lock

// alone is one lock over a server of its own, on a clock of the test's.
type alone struct {
	lock   redlock.Locker
	server *miniredis.Miniredis
	tokens []redlock.Token
}

// call is one of a sequence of calls, or a pause.
type call struct {
	op    string
	key   string
	token int // which of those granted so far, from the newest
	for_  time.Duration
}

func (c call) String() string { return fmt.Sprintf("%s %s token %d, %v", c.op, c.key, c.token, c.for_) }

// drawCall: TTLs and pauses in whole milliseconds, often such as just end a lease.
func drawCall(t *rapid.T) call {
	return call{
		op:    rapid.SampledFrom([]string{"acquire", "sleep", "extend", "release"}).Draw(t, "op"),
		key:   rapid.SampledFrom([]string{"k", "j"}).Draw(t, "key"),
		token: rapid.IntRange(0, 2).Draw(t, "token"),
		for_:  time.Millisecond * time.Duration(rapid.SampledFrom([]int{1, 98, 1000, 988, 500, 1001, 100, 2000, 1978}).Draw(t, "ms")),
	}
}

// pick is the token that a call is about.
func (c call) pick(tokens []redlock.Token) (redlock.Token, bool) {
	if c.token >= len(tokens) {
		return redlock.Token{}, false
	}
	return tokens[len(tokens)-1-c.token], true
}

// classes are those that an error is of.
func classes(err error) (list []string) {
	for _, class := range []error{redlock.ErrLockAlreadyHeld, redlock.ErrNoQuorum, redlock.ErrValidityExpired, redlock.ErrLockExpired, redlock.ErrLockNotHeld, redlock.ErrReleaseUnknown, redlock.ErrBadArgument} {
		if errors.Is(err, class) {
			list = append(list, class.Error())
		}
	}
	if err != nil && list == nil {
		list = []string{err.Error()}
	}
	return list
}

// do makes a call, and says what its user sees.
func (a *alone) do(c call) string {
	ttl := max(c.for_, 5*time.Millisecond)
	token, ok := c.pick(a.tokens)
	var err error
	switch {
	case c.op == "acquire":
		if token, err = a.lock.TryAcquire(bg, c.key, ttl); err == nil {
			a.tokens = append(a.tokens, token)
		}
	case c.op == "sleep":
		a.server.FastForward(c.for_)
	case !ok:
	case c.op == "extend":
		err = a.lock.TryExtend(bg, c.key, token, ttl)
	case c.op == "release":
		err = a.lock.Release(bg, c.key, token)
	}
	text := fmt.Sprintf("%v; ", classes(err))
	for _, t := range a.tokens {
		text += fmt.Sprintf("%v, ", t.Remaining())
	}
	for _, key := range []string{"k", "j"} {
		text += fmt.Sprintf("%s lives %v, ", key, a.server.TTL(key))
	}
	return text
}

// TestTheSingleLock: Lock and a DistributedLock over one node do the same. The
// servers and their connections are real ones, so it runs fewer times.
func TestTheSingleLock(t *testing.T) {
	t.Parallel()
	fake := clockwork.NewFakeClock()
	numbers := func() func() uint64 {
		n := uint64(0)
		return func() uint64 { n++; return n * 0x9e3779b97f4a7c15 }
	}
	var both []*alone
	for i := range 2 {
		server := miniredis.RunT(t)
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { client.Close() })
		opts := []redlock.Option{redlock.WithClock(fake), redlock.WithRand(numbers()), redlock.WithClockDriftFactor(0.01), redlock.WithRetry(redlock.NoRetry())}
		single := redlock.NewLock(client, opts...)
		a := &alone{lock: single, server: server}
		if i == 1 {
			a.lock = redlock.NewDistributedLock([]*redlock.Lock{redlock.NewLock(client)}, opts...)
		}
		both = append(both, a)
	}
	holds(t, danger("acquired", "held", "extended", "extended too late", "released", "released too late"), func(t *rapid.T, r *reached) {
		calls := rapid.SliceOfN(rapid.Custom(drawCall), 5, 30).Draw(t, "calls")
		for _, a := range both {
			a.server.FlushAll()
			a.tokens = nil
		}
		r.run()
		seen := map[string]bool{}
		for i, c := range calls {
			if c.op == "sleep" {
				fake.Advance(c.for_)
			}
			one, other := both[0].do(c), both[1].do(c)
			if one != other {
				t.Fatalf("call %d, %v\nsingle:      %s\ndistributed: %s", i, c, one, other)
			}
			ok := one[:2] == "[]"
			_, picks := c.pick(both[0].tokens)
			seen["acquired"] = seen["acquired"] || c.op == "acquire" && ok
			seen["held"] = seen["held"] || c.op == "acquire" && !ok
			seen["extended"] = seen["extended"] || c.op == "extend" && ok && picks
			seen["extended too late"] = seen["extended too late"] || c.op == "extend" && !ok
			seen["released"] = seen["released"] || c.op == "release" && ok && picks
			seen["released too late"] = seen["released too late"] || c.op == "release" && !ok
		}
		for state, is := range seen {
			r.saw(state, is)
		}
	})
}

// ---- a model of the lock

// modelled is a lease as its holder and the nodes should see it: instants are since
// the start.
type modelled struct {
	key      string
	deadline time.Duration // trust ends
	gone     time.Duration // the first instant at which its keys are not there
	over     bool          // it was released, or found lost
}

// machine is the model of a lock with the default factor and buffer, in a world in
// which all clocks are right and nothing takes time.
type machine struct {
	now    time.Duration
	leases []*modelled
}

const (
	factor = 0.01
	buffer = 2 * time.Millisecond
)

// trust is T − ⌈T·f⌉ − b, for T in whole tenths of a second exact.
func trust(ttl time.Duration) time.Duration { return ttl - ttl/100 - buffer }

// holder is who keeps others from a key.
func (m *machine) holder(key string) *modelled {
	for _, l := range m.leases {
		if l.key == key && m.now < l.gone {
			return l
		}
	}
	return nil
}

// do makes a call of the model, and says which classes of errors it may return.
func (m *machine) do(c call, l *modelled) (allowed []error) {
	ttl := max(c.for_, 5*time.Millisecond)
	switch {
	case c.op == "acquire":
		if m.holder(c.key) != nil {
			return []error{redlock.ErrLockAlreadyHeld}
		}
		m.leases = append(m.leases, &modelled{key: c.key, deadline: m.now + trust(ttl), gone: m.now + ttl + time.Millisecond})
	case c.op == "sleep":
		m.now += c.for_
	case c.op == "extend":
		switch {
		case l.over:
			return []error{redlock.ErrLockNotHeld, redlock.ErrLockExpired}
		case m.now >= l.deadline: // it finds the lease over, and gives back
			m.end(l)
			return []error{redlock.ErrLockExpired}
		}
		l.deadline, l.gone = max(l.deadline, m.now+trust(ttl)), max(l.gone, m.now+ttl+time.Millisecond)
	case c.op == "release":
		was, late := l.over, m.now >= l.deadline
		m.end(l)
		switch {
		case was:
			return []error{redlock.ErrReleaseUnknown, redlock.ErrLockExpired, redlock.ErrLockNotHeld}
		case late:
			return []error{redlock.ErrLockExpired}
		}
	}
	return nil
}

func (m *machine) end(l *modelled) { l.over, l.gone = true, min(l.gone, m.now) }

// remaining is what a token should say.
func (m *machine) remaining(l *modelled) time.Duration {
	if l.over {
		return 0
	}
	return max(0, l.deadline-m.now)
}

// Calls of two locks, in any order: each does what the model says, and every token
// says what is left of it.
func stateMachine(t *rapid.T, r *reached) {
	n := rapid.IntRange(1, 7).Draw(t, "nodes")
	calls := rapid.SliceOfN(rapid.Custom(drawCall), 10, 40).Draw(t, "calls")
	locks := rapid.SliceOfN(rapid.IntRange(0, 1), len(calls), len(calls)).Draw(t, "of lock")
	sc := sim.Scenario{Version: sim.Version, Name: "calls", Until: 200e9, Clients: []sim.Client{{Name: "c1"}},
		Lock: sim.Lock{TTL: 1e9, Factor: fmt.Sprint(factor), Buffer: clock.Duration(buffer), NodeTimeout: 20e6, GiveUp: 20e6, Retry: sim.Retry{Tries: 1}}}
	for i := range n {
		sc.Nodes = append(sc.Nodes, sim.Node{Name: string(rune('A' + i))})
	}
	bad := ""
	seen := map[string]bool{}
	judged(t, sc, sim.Do(func(p *sim.Process) {
		pair := []*sim.Witness{p.Lock(), p.Lock()}
		var tokens [2][]redlock.Token
		var leases [2][]*modelled
		m := &machine{}
		for i, c := range calls {
			which := locks[i]
			lock := pair[which]
			token, picks := c.pick(tokens[which])
			var l *modelled
			if picks {
				l = leases[which][len(leases[which])-1-c.token]
				c.key = l.key
			} else if c.op == "extend" || c.op == "release" {
				continue
			}
			ttl := max(c.for_, 5*time.Millisecond)
			before := len(m.leases)
			allowed := m.do(c, l)
			var err error
			switch c.op {
			case "acquire":
				token, err = lock.TryAcquire(p.Context(), c.key, ttl)
				if err == nil && len(m.leases) > before {
					tokens[which], leases[which] = append(tokens[which], token), append(leases[which], m.leases[before])
				}
			case "sleep":
				p.Sleep(c.for_)
			case "extend":
				err = lock.TryExtend(p.Context(), c.key, token, ttl)
			case "release":
				err = lock.Release(p.Context(), c.key, token)
			}
			if fits := slices.ContainsFunc(allowed, func(class error) bool { return errors.Is(err, class) }); (err != nil || allowed != nil) && !fits {
				bad = fmt.Sprintf("call %d of lock %d at %v, %v: %v, and the model says %v", i, which, m.now, c, err, allowed)
				return
			}
			for k := range tokens {
				for j, token := range tokens[k] {
					if got, want := token.Remaining(), m.remaining(leases[k][j]); got != want {
						bad = fmt.Sprintf("after call %d of lock %d, %v: token %d of lock %d has %v left, and the model says %v", i, which, c, j, k, got, want)
						return
					}
				}
			}
			outcome := c.op
			if err != nil {
				outcome += ": " + classes(err)[0]
			}
			seen[outcome] = true
		}
	}))
	if bad != "" {
		t.Fatal(bad)
	}
	r.run()
	for outcome := range seen {
		r.saw(outcome, true)
	}
}

func TestCallsDoWhatTheModelSays(t *testing.T) {
	t.Parallel()
	of := func(op string, class error) string { return op + ": " + class.Error() }
	holds(t, danger("acquire", "extend", "release", of("acquire", redlock.ErrLockAlreadyHeld), of("extend", redlock.ErrLockExpired), of("extend", redlock.ErrLockNotHeld),
		of("release", redlock.ErrLockExpired), of("release", redlock.ErrReleaseUnknown)), stateMachine)
}

func FuzzCallsDoWhatTheModelSays(f *testing.F) { fuzzed(f, stateMachine) }
