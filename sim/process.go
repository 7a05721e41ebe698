package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/draw"
	"driftlock/sim/flawed"

	"github.com/jonboulle/clockwork"
)

// A Workload is ordinary blocking code of one process. It may sleep, lock, read
// its clock and start other processes through p, and must block on nothing else.
type Workload func(p *Process)

// A Process is one strand of a client's code. Its methods are for that strand.
type Process struct {
	c       *client
	n       int // of its client, from 0
	name    string
	work    Workload
	ctx     context.Context
	end     context.CancelCauseFunc
	stream  draw.Stream
	drawn   map[string]uint64
	beliefs []belief
	held    int           // how often it has said that it holds a lock
	ttl     time.Duration // of the acquire or extend under way, or the last
	counted bool          // among those that have not returned
}

func newProcess(c *client, name string, work Workload) *Process {
	p := &Process{c: c, n: len(c.procs), name: name, work: work, counted: true}
	p.ctx, p.end = context.WithCancelCause(context.Background())
	p.stream = draw.NewStream(draw.Key(c.w.sc.Seed, draw.ProcessRand, uint64(c.id), uint64(p.n), 0))
	return p
}

func (p *Process) run() {
	defer p.leave()
	p.note(Event{Kind: Started})
	p.work(p)
	p.note(Event{Kind: Ended})
}

// leave takes the process out of the count of those that have not returned.
func (p *Process) leave() {
	if p.counted {
		p.counted = false
		p.c.w.mains--
	}
}

func (p *Process) note(e Event) {
	e.Client, e.Node, e.Proc = int16(p.c.id), -1, int16(p.n)
	p.c.w.note(e)
}

func (p *Process) text(s string) Text { return p.c.w.history.text(s) }

// Context ends, with ErrEnded as its cause, when the run does.
func (p *Process) Context() context.Context { return p.ctx }

// Name is the client's, and a number for the processes it started with Go.
func (p *Process) Name() string { return p.name }

// Client is the name of the machine it runs on.
func (p *Process) Client() string { return p.c.conf.Name }

// Clock is the one that the client lives on. Its After, NewTimer and NewTicker
// panic: a process cannot wait on a channel.
func (p *Process) Clock() clockwork.Clock { return clientClock{p.c} }

// Transport reaches the nodes over the client's connections.
func (p *Process) Transport() redlock.Transport { return p.c }

// Sleep waits for d on the client's clock. It ends early, with the cause, when
// the run does.
func (p *Process) Sleep(d time.Duration) error { return clock.Sleep(p.ctx, p.Clock(), d) }

// Go starts another process on the same client.
func (p *Process) Go(f Workload) {
	p.c.w.process(p.c, fmt.Sprintf("%s/%d", p.c.conf.Name, len(p.c.procs)+1), f)
}

// Rand is a draw from [0, below) of the process's own: the nth draw with one
// label hangs on nothing but the scenario's seed, the process, the label and n.
func (p *Process) Rand(label string, below int64) int64 {
	if p.drawn == nil {
		p.drawn = make(map[string]uint64)
	}
	p.drawn[label]++
	return draw.Below(draw.Key(p.c.w.sc.Seed, draw.ProcessRand, uint64(p.c.id)<<16|uint64(p.n), textKey(label), p.drawn[label]), below)
}

// Logf writes a line into the history.
func (p *Process) Logf(format string, args ...any) {
	p.note(Event{Kind: Noted, Note: p.text(fmt.Sprintf(format, args...))})
}

// Lock makes the lock under test on the client's clock, transport and
// randomness, with the scenario's options and then opts. What it tells its user
// is what the simulator judges.
func (p *Process) Lock(opts ...redlock.Option) *Witness {
	switch own := p.c.w.locker; {
	case own != nil:
		return p.Witness(own(p))
	case p.c.w.sc.Lock.Kind == kindFlawed:
		return p.Witness(p.flawed())
	}
	own := []redlock.Option{redlock.WithClock(p.Clock()), redlock.WithRand(p.stream.Next)}
	own = append(own, p.c.w.sc.Lock.options()...)
	l, err := redlock.Over(p.Transport(), append(own, opts...)...)
	if err != nil {
		panic(fmt.Sprintf("sim: the lock of %s: %v", p.name, err))
	}
	return p.Witness(l)
}

// flawed is a lock with the scenario's faults.
func (p *Process) flawed() *flawed.Lock {
	l := &p.c.w.sc.Lock
	c := flawed.Config{
		Nodes: p.c, Clock: p.Clock(), Rand: p.stream.Next, Tell: p,
		Buffer: time.Duration(l.Buffer), NodeTimeout: time.Duration(l.NodeTimeout), MinValidity: time.Duration(l.MinValidity),
		Retry: l.Retry.policy(), Fencing: l.Fencing,
	}
	c.Factor, _ = factorPPB(l.Factor) // Check has read it
	for _, f := range l.Flaws {
		c.Flaws = append(c.Flaws, flawed.Flaw(f))
	}
	return flawed.New(c)
}

// options are the lock's, from the scenario.
func (l *Lock) options() []redlock.Option {
	factor, _ := strconv.ParseFloat(l.Factor, 64) // Check has read it; the option takes it as the decimal that it is
	var fencing redlock.Option
	if l.Fencing {
		fencing = redlock.WithFencing()
	}
	return []redlock.Option{
		fencing,
		redlock.WithClockDriftFactor(factor),
		redlock.WithClockDriftBuffer(time.Duration(l.Buffer)),
		redlock.WithNodeTimeout(time.Duration(l.NodeTimeout)),
		redlock.WithMinValidity(time.Duration(l.MinValidity)),
		redlock.WithRetry(l.Retry.policy()),
	}
}

// policy draws each pause from [Min, Max], but waits a millisecond at least:
// true time would stand still for ever.
func (r Retry) policy() redlock.RetryPolicy {
	least := max(r.Min, clock.Duration(time.Millisecond))
	p := redlock.Between(time.Duration(least), time.Duration(max(r.Max, least)))
	if r.Tries > 0 {
		p = p.Times(r.Tries)
	}
	return p
}

// A Witness is a redlock.Locker that tells the simulator what its user is told:
// when trust in a lease begins, moves and ends. It wraps any Locker. Of one whose
// tokens have no deadline (Token.ValidUntil) and which does not say itself what
// is believed (Process.Holds), trust is taken to last until Release is called or
// the TTL has passed on the client's clock.
type Witness struct {
	inner redlock.Locker
	p     *Process
}

// Witness wraps a lock of your own.
func (p *Process) Witness(l redlock.Locker) *Witness { return &Witness{l, p} }

var _ redlock.Locker = (*Witness)(nil)

// owner is the owner value of a token, 0 for none: the one of which the lock has
// said that it is believed, if it has.
func (w *Witness) owner(key string, t redlock.Token) Text {
	switch b := w.p.believed(key); {
	case b != nil:
		return b.owner
	case t != redlock.Token{}:
		return w.p.text(t.String())
	}
	return 0
}

func (w *Witness) note(k EventKind, key string, owner Text, value int64, ttl time.Duration, err error) {
	e := Event{Kind: k, Key: w.p.text(key), Owner: owner, Value: value, Nth: milliseconds(ttl)}
	if err != nil {
		e.Note = w.p.text(err.Error())
	}
	w.p.note(e)
}

func (w *Witness) acquired(ctx context.Context, key string, t redlock.Token, ttl time.Duration, err error) (redlock.Token, error) {
	if err != nil {
		why := classify(err)
		if ctx.Err() != nil {
			why = refusedOther // what it says beside that is about the attempt before
		}
		w.note(Refused, key, w.owner(key, t), int64(why), 0, err)
		return t, err
	}
	if !w.spoken(key, t) {
		w.note(Granted, key, w.owner(key, t), w.until(t, ttl), ttl, nil)
		if fence, ok := t.Fence(); ok {
			w.note(Fenced, key, w.owner(key, t), int64(fence), 0, nil)
		}
	}
	return t, err
}

// spoken says that the lock itself has said what its user believes.
func (w *Witness) spoken(key string, t redlock.Token) bool {
	return t.ValidUntil().IsZero() && w.p.believed(key) != nil
}

// until is the reading of the client's clock at which trust in a token ends that
// the lock has just granted or extended.
func (w *Witness) until(t redlock.Token, ttl time.Duration) int64 {
	until := t.ValidUntil()
	if _, tells := w.inner.(*redlock.DistributedLock); tells || !until.IsZero() {
		return reading(until)
	}
	return later(w.p.c.local(), ttl)
}

// wants begins an Acquire.
func (w *Witness) wants(key string, ttl time.Duration) {
	w.p.forget(key)
	w.p.ttl = ttl
	w.note(Wanted, key, 0, 0, 0, nil)
}

// Acquire is redlock.Locker's.
func (w *Witness) Acquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	w.wants(key, ttl)
	t, err := w.inner.Acquire(ctx, key, ttl)
	return w.acquired(ctx, key, t, ttl, err)
}

// TryAcquire is redlock.Locker's.
func (w *Witness) TryAcquire(ctx context.Context, key string, ttl time.Duration) (redlock.Token, error) {
	w.wants(key, ttl)
	t, err := w.inner.TryAcquire(ctx, key, ttl)
	return w.acquired(ctx, key, t, ttl, err)
}

func (w *Witness) extended(key string, t redlock.Token, ttl time.Duration, err error) error {
	switch {
	case err == nil && w.spoken(key, t):
	case err == nil:
		w.note(Extended, key, w.owner(key, t), w.until(t, ttl), ttl, nil)
	case errors.Is(err, redlock.ErrLockNotHeld), errors.Is(err, redlock.ErrLockExpired):
		w.note(Unextended, key, w.owner(key, t), 1, 0, err)
		w.p.forget(key)
	default:
		w.note(Unextended, key, w.owner(key, t), 0, 0, err)
	}
	return err
}

// Extend is redlock.Locker's.
func (w *Witness) Extend(ctx context.Context, key string, t redlock.Token, ttl time.Duration) error {
	w.p.ttl = ttl
	return w.extended(key, t, ttl, w.inner.Extend(ctx, key, t, ttl))
}

// TryExtend is redlock.Locker's.
func (w *Witness) TryExtend(ctx context.Context, key string, t redlock.Token, ttl time.Duration) error {
	w.p.ttl = ttl
	return w.extended(key, t, ttl, w.inner.TryExtend(ctx, key, t, ttl))
}

// AcquireOrExtend is redlock.Locker's.
func (w *Witness) AcquireOrExtend(ctx context.Context, key string, t redlock.Token, ttl time.Duration) (redlock.Token, bool, error) {
	got, again, err := w.inner.AcquireOrExtend(ctx, key, t, ttl)
	switch {
	case err != nil || again:
		w.acquired(ctx, key, got, ttl, err)
	default:
		w.extended(key, got, ttl, nil)
	}
	return got, again, err
}

// Release is redlock.Locker's.
func (w *Witness) Release(ctx context.Context, key string, t redlock.Token) error {
	owner := w.owner(key, t)
	w.p.forget(key)
	w.note(Releasing, key, owner, 0, 0, nil)
	err := w.inner.Release(ctx, key, t)
	w.note(Released, key, owner, 0, 0, err)
	return err
}

// A refusal is why an acquire failed, as the Value of a Refused event.
type refusal int64

const (
	refusedOther refusal = iota
	refusedHeld
	refusedOutage
	refusedTooLate
)

func classify(err error) refusal {
	switch {
	case errors.Is(err, redlock.ErrLockAlreadyHeld):
		return refusedHeld
	case errors.Is(err, redlock.ErrNoQuorum):
		return refusedOutage
	case errors.Is(err, redlock.ErrValidityExpired):
		return refusedTooLate
	}
	return refusedOther
}

// textKey folds a string for a keyed draw.
func textKey(s string) uint64 {
	var h hasher
	h.text(s)
	return h.sum
}
