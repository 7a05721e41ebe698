package redlock

import (
	crand "crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"sync"
	"time"

	"driftlock/clock"

	"github.com/jonboulle/clockwork"
)

// An Option sets up a lock. Of options that set the same thing the last counts,
// except for WithObserver, which adds up. A nil Option is passed over; an
// argument that is not allowed is what the constructor returns or, where it has
// no error to return, what Err and every later call return.
type Option func(*config)

type config struct {
	factor      int64 // the drift factor, in parts per billion
	buffer      time.Duration
	timeout     time.Duration // 0: by the TTL
	minValidity time.Duration
	retry       RetryPolicy
	outage      time.Duration // negative: by the node timeout
	renew       time.Duration // 0: a third of the TTL
	maxHold     time.Duration // 0: no bound
	fencing     bool
	runIDs      bool
	observers   []Observer
	clock       clockwork.Clock
	next        func() uint64 // nil: crypto/rand
	drawing     sync.Mutex    // over next
	bad         []error
}

const billion = 1_000_000_000

func (c *config) apply(opts []Option) error {
	c.factor, c.buffer = billion/100, 2*time.Millisecond
	c.retry, c.outage = defaultRetry, -1
	for _, o := range opts {
		if o != nil {
			o(c)
		}
	}
	if c.clock == nil {
		c.clock = clock.Boottime()
	}
	return errors.Join(c.bad...)
}

var defaultRetry = Backoff(10*time.Millisecond, time.Second)

func (c *config) refuse(format string, args ...any) {
	c.bad = append(c.bad, badArgument(format, args...))
}

// WithClockDriftFactor sets f, the part of a TTL that is not trusted because the
// clocks of holder and nodes may run at different rates; 0.01 if not set. It is
// at least 0 and less than 1. It is taken as the decimal that it is written as,
// and becomes parts per billion once, rounded up.
//
// f covers both sides: 0.01 is enough if holder and nodes are each within
// 5,025 ppm of true time (quartz is within 100), or the nodes alone within
// 10,101 ppm. It does not cover a node whose clock steps, nor one that chrony
// slews at its default of 83,333 ppm: that needs 0.0768.
func WithClockDriftFactor(f float64) Option {
	return func(c *config) {
		if !(f >= 0 && f < 1) { // so that NaN is refused too
			c.refuse("drift factor %v: allowed is 0 <= f < 1", f)
			return
		}
		c.factor = perBillion(f)
	}
}

// perBillion is the decimal that f is written as, in parts per billion, rounded
// up. Multiplying the float itself would make 0.01 either 10,000,000 or one
// more, by the accident of its last bit.
func perBillion(f float64) int64 {
	if n := math.Round(f * billion); n/billion == f { // up to 9 digits: no other decimal as short is nearer
		return int64(n)
	}
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	exact.Mul(exact, big.NewRat(billion, 1))
	whole, rest := new(big.Int).QuoRem(exact.Num(), exact.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return whole.Int64()
}

// WithClockDriftBuffer sets b, what is not trusted of a lease whatever its TTL,
// because clocks are read in whole units; 2 ms if not set. Redis counts whole
// milliseconds, so with less than 1 ms a lease may be trusted a little longer
// than its keys live; with 0 and f = 0 it is.
func WithClockDriftBuffer(d time.Duration) Option {
	return func(c *config) {
		if c.buffer = d; d < 0 {
			c.refuse("drift buffer %v: allowed is 0 or more", d)
		}
	}
}

// WithNodeTimeout sets how long a call waits for a node, on the lock's clock.
// If not set it is a twentieth of the TTL, but at least 10 ms and at most
// 500 ms. It bounds the wait only: what was sent stays sent, and the node's
// connection has a bound of its own.
func WithNodeTimeout(d time.Duration) Option {
	return func(c *config) {
		if c.timeout = d; d <= 0 {
			c.refuse("node timeout %v: allowed is more than 0", d)
		}
	}
}

// WithMinValidity sets how much validity must be left for an acquire to count;
// if not set, any. One that comes too late fails with ErrValidityExpired. It is
// for holders who know how long their work takes.
func WithMinValidity(d time.Duration) Option {
	return func(c *config) {
		if c.minValidity = d; d < 0 {
			c.refuse("minimum validity %v: allowed is 0 or more", d)
		}
	}
}

// WithRetry sets how Acquire and Extend try again; Backoff(10 ms, 1 s) if not set.
func WithRetry(p RetryPolicy) Option {
	return func(c *config) {
		if c.retry = p; p == nil {
			c.refuse("retry policy nil: NoRetry makes one attempt")
		}
	}
}

// WithOutageBudget sets for how long Acquire goes on while no quorum of nodes
// answers (ErrNoQuorum), or only too late (ErrValidityExpired); two node
// timeouts if not set. It is counted on the lock's clock from when the outage
// began. 0 gives up at the first.
func WithOutageBudget(d time.Duration) Option {
	return func(c *config) {
		if c.outage = d; d < 0 {
			c.refuse("outage budget %v: allowed is 0 or more", d)
		}
	}
}

// WithRenewInterval sets how often Watch renews; a third of the TTL if not set.
// It renews at the latest when half of the validity is over.
func WithRenewInterval(d time.Duration) Option {
	return func(c *config) {
		if c.renew = d; d <= 0 {
			c.refuse("renew interval %v: allowed is more than 0", d)
		}
	}
}

// WithMaxHold sets how long a lock may be watched, counted from when it was
// acquired; if not set, there is no bound. It stops work that hangs from being
// kept exclusive for ever.
func WithMaxHold(d time.Duration) Option {
	return func(c *config) {
		if c.maxHold = d; d <= 0 {
			c.refuse("maximum hold %v: allowed is more than 0", d)
		}
	}
}

// WithFencing gives every grant a number that is higher than that of any grant of
// the key before: Token.Fence. It is what keeps a holder that stood still for
// too long from doing harm, provided that the protected resource refuses lower
// numbers than it has seen. All clients of a key must use it. Each node keeps
// the highest number of each key for ever; one that loses it (a restart without
// persistence, an eviction) may let a number come again.
func WithFencing() Option { return func(c *config) { c.fencing = true } }

// WithObserver adds one who is told what happens.
func WithObserver(o Observer) Option {
	return func(c *config) {
		if o == nil {
			c.refuse("observer nil")
			return
		}
		c.observers = append(c.observers, o)
	}
}

// WithClock sets the clock that all readings and waits of the lock are on;
// clock.Boottime if not set, which goes on while the machine is suspended.
func WithClock(k clockwork.Clock) Option {
	return func(c *config) {
		if c.clock = k; k == nil {
			c.refuse("clock nil")
		}
	}
}

// WithRand sets the source of random numbers, of owner values and of jitter;
// crypto/rand if not set. Calls of next do not overlap. Two locks that draw the
// same numbers take each other's keys for their own.
func WithRand(next func() uint64) Option {
	return func(c *config) {
		if c.next = next; next == nil {
			c.refuse("random source nil")
		}
	}
}

// rand is 64 random bits.
func (c *config) rand() uint64 {
	if c.next == nil {
		var b [8]byte
		crand.Read(b[:])
		return binary.LittleEndian.Uint64(b[:])
	}
	c.drawing.Lock()
	defer c.drawing.Unlock()
	return c.next()
}

// owner is a fresh owner value: 128 random bits as 32 hexadecimal digits. Every
// attempt has its own: with one value for two, a late release of the first
// would free the second.
func (c *config) owner() string {
	var raw [16]byte
	var text [32]byte
	binary.BigEndian.PutUint64(raw[:8], c.rand())
	binary.BigEndian.PutUint64(raw[8:], c.rand())
	hex.Encode(text[:], raw[:])
	return string(text[:])
}

// terms are what a TTL comes to under the options of a lock.
type terms struct {
	ttl     time.Duration // in whole milliseconds, as the nodes get it
	trust   time.Duration // from the reading before the first send to the deadline
	timeout time.Duration // how long to wait for a node
}

// maxTTL is what a TTL may be at most: far more than makes sense, and far from
// where readings of a clock overflow.
const maxTTL = 365 * 24 * time.Hour

func (c *config) terms(ttl time.Duration) (terms, error) {
	if ttl < time.Millisecond || ttl > maxTTL {
		return terms{}, badArgument("ttl %v: allowed is %v to %v", ttl, time.Millisecond, maxTTL)
	}
	t := terms{ttl: ttl.Truncate(time.Millisecond), timeout: c.nodeTimeout(ttl)}
	if t.trust = c.trust(t.ttl); t.trust <= 0 || t.trust < c.minValidity {
		return terms{}, badArgument("ttl %v: too short, drift factor and buffer leave %v of validity, needed is %v",
			ttl, t.trust, max(c.minValidity, 1))
	}
	return t, nil
}

func (c *config) nodeTimeout(ttl time.Duration) time.Duration {
	if c.timeout > 0 {
		return c.timeout
	}
	return min(max(ttl/20, 10*time.Millisecond), 500*time.Millisecond)
}

// trust is how much of a lease of ttl is trusted: T - ⌈T·f⌉ - b, the product
// rounded up to the nanosecond. T is in whole milliseconds. (design.md, rule 1)
func (c *config) trust(ttl time.Duration) time.Duration {
	hi, lo := bits.Mul64(uint64(ttl), uint64(c.factor))
	drift, rest := bits.Div64(hi, lo, billion)
	if rest > 0 {
		drift++
	}
	return ttl - time.Duration(drift) - c.buffer
}

// outageBudget is how long an outage is waited out.
func (c *config) outageBudget(t terms) time.Duration {
	if c.outage < 0 {
		return 2 * t.timeout
	}
	return c.outage
}
