package flawed

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim/node"

	"github.com/jonboulle/clockwork"
)

// Nodes are the ways to the nodes of a lock.
type Nodes interface {
	redlock.Transport // in order, as package redlock uses it

	// To reaches only the nodes whose bit is set. Loose is a connection of its
	// own for each request: one may overtake another.
	To(which uint64, loose bool) redlock.Transport
}

// A Believer is told what the user of the lock is told: its tokens have no
// deadline that package redlock would know of.
type Believer interface {
	// Holds says that the lock on key is held until the client's clock reads
	// until; the zero Time is until it is released.
	Holds(key string, until time.Time)
	// Fence is the fence number of what is held.
	Fence(key string, n uint64)
}

// Config is a lock's. All of it but Flaws and MinValidity must be set.
type Config struct {
	Flaws       []Flaw
	Nodes       Nodes
	Clock       clockwork.Clock
	Rand        func() uint64
	Tell        Believer
	Factor      int64 // the drift factor in parts per billion
	Buffer      time.Duration
	NodeTimeout time.Duration
	MinValidity time.Duration
	Retry       redlock.RetryPolicy
	Fencing     bool
}

// A Lock is a redlock.Locker. It is for one client of a simulated world, in which
// one strand of code runs at a time.
type Lock struct {
	Config
	n, q   int
	all    uint64 // a bit a node
	leases []*lease
	seen   map[string]uint64 // the highest fence number of a key
	taken  map[string]bool   // of the mutex in the process
}

var _ redlock.Locker = (*Lock)(nil)

// New makes a lock with the faults of c.
func New(c Config) *Lock {
	n := c.Nodes.Len()
	l := &Lock{Config: c, n: n, q: n/2 + 1, all: 1<<n - 1, seen: map[string]uint64{}, taken: map[string]bool{}}
	if l.has(HalfQuorum) {
		l.q = max(1, n/2)
	}
	return l
}

func (l *Lock) has(f Flaw) bool { return slices.Contains(l.Flaws, f) }

// lease is one grant.
type lease struct {
	key, owner string
	until      time.Time     // the deadline; zero: it is over
	longest    time.Duration // none of its keys lives longer
	fence      uint64
}

func (s *lease) held(now time.Time) bool { return now.Before(s.until) }

// of finds the lease of a token; a new one for a token from elsewhere.
func (l *Lock) of(key string, token redlock.Token) *lease {
	for i := len(l.leases) - 1; i >= 0; i-- {
		if s := l.leases[i]; s.key == key && s.owner == token.String() {
			return s
		}
	}
	return &lease{key: key, owner: token.String(), longest: 10 * time.Minute}
}

// owner is a fresh owner value, or what the fault makes of it.
func (l *Lock) owner() string {
	var raw [16]byte
	if !l.has(ConstantToken) {
		binary.BigEndian.PutUint64(raw[:8], l.Rand())
		binary.BigEndian.PutUint64(raw[8:], l.Rand())
	}
	return hex.EncodeToString(raw[:])
}

// terms are what a TTL comes to.
type terms struct {
	ttl   time.Duration // of the keys
	trust time.Duration // from the anchor to the deadline
}

// terms: T − ⌈T·f⌉ − b, of T in whole milliseconds. (Rules 1 and 2)
func (l *Lock) terms(ttl time.Duration) (terms, error) {
	t := terms{ttl: ttl.Truncate(time.Millisecond)}
	counted := t.ttl
	if l.has(NoTruncation) {
		counted = ttl
	}
	drift, buffer := product(counted, l.Factor), l.Buffer
	switch {
	case l.has(DriftAdded):
		drift, buffer = -drift, -buffer
	case l.has(ConstantAdded):
		buffer = -buffer
	case l.has(NoBuffer):
		buffer = 0
	}
	t.trust = counted - drift - buffer
	if t.ttl <= 0 || t.trust <= 0 || t.trust < l.MinValidity {
		return t, fmt.Errorf("flawed: %w: a ttl of %v leaves no validity", redlock.ErrBadArgument, ttl)
	}
	return t, nil
}

// product is ⌈d·ppb⌉, in nanoseconds.
func product(d time.Duration, ppb int64) time.Duration {
	hi, lo := bits.Mul64(uint64(d), uint64(ppb))
	cut, rest := bits.Div64(hi, lo, 1e9)
	if rest > 0 {
		cut++
	}
	return time.Duration(cut)
}

// ---- asking

// votes is what the nodes answered.
type votes struct {
	n, q                       int
	done, gone, others, failed uint64 // bits
	highest                    uint64 // fence number
}

func count(b uint64) int { return bits.OnesCount64(b) }

func (v *votes) heard() int    { return count(v.done | v.gone | v.others | v.failed) }
func (v *votes) answered() int { return count(v.done | v.gone | v.others) }
func (v *votes) refused() int  { return count(v.gone | v.others) }
func (v *votes) won() bool     { return count(v.done) >= v.q }
func (v *votes) lost() bool    { return v.refused() > v.n-v.q }

func (v *votes) take(r redlock.Reply, own bool) {
	bit := uint64(1) << r.Node
	v.highest = max(v.highest, r.Fence)
	v.failed &^= bit // what is asked again may get an answer
	switch {
	case r.Status == redlock.Done, r.Status == redlock.Ours && own:
		v.done |= bit
	case r.Status == redlock.Gone:
		v.gone |= bit
	case r.Status == redlock.Failed:
		v.failed |= bit
	default:
		v.others |= bit
	}
}

// settled says that an extend or a release has heard enough.
func (v *votes) settled() bool {
	open := v.n - v.heard()
	return v.won() || v.lost() || count(v.done)+open < v.q && v.refused()+open <= v.n-v.q
}

// attempted says it of an acquire.
func (v *votes) attempted() bool {
	outOfReach := v.refused()+count(v.failed) > v.n-v.q
	return v.won() || outOfReach && v.answered() >= v.q || count(v.failed) > v.n-v.q
}

func (l *Lock) votes() *votes { return &votes{n: l.n, q: l.q} }

// ask sends req to some nodes and counts until it has enough.
func (l *Lock) ask(ctx context.Context, v *votes, req redlock.Request, which uint64, timeout time.Duration, enough func(*votes) bool) {
	way := redlock.Transport(l.Nodes)
	if loose := l.has(ReleaseOvertakesSet) || l.has(OwnKeyRefused); loose || which != l.all {
		way = l.Nodes.To(which, loose)
	}
	for r := range way.Broadcast(ctx, req, timeout) {
		v.take(r, !l.has(OwnKeyRefused))
		if enough(v) {
			return
		}
	}
}

// ---- errors and waiting

// failed is an error of one of package redlock's classes.
func failed(op redlock.Op, class error, v *votes) error {
	if v == nil {
		return fmt.Errorf("flawed: %s: %w", node.Word(op), class)
	}
	return fmt.Errorf("flawed: %s: %w: of %d nodes %d did it, %d said no, %d failed", node.Word(op), class, v.n, count(v.done), v.refused(), count(v.failed))
}

func isLoss(err error) bool {
	return errors.Is(err, redlock.ErrLockExpired) || errors.Is(err, redlock.ErrLockNotHeld)
}

var once = redlock.NoRetry()

// pause is how long to wait after the n-th try, and whether there is another.
func (l *Lock) pause(policy redlock.RetryPolicy, n int, err error) (time.Duration, bool) {
	least, most, again := policy(n, err)
	if l.has(LockstepRetry) {
		least = most
	}
	if most > least {
		least += time.Duration(l.Rand() % uint64(most-least+1))
	}
	return least, again
}

func (l *Lock) sleep(ctx context.Context, d time.Duration) error { return clock.Sleep(ctx, l.Clock, d) }
