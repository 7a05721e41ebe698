package redlock

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// A Locker is what Lock and DistributedLock both do. All methods are safe for
// concurrent use, also on one token.
//
// A key is any text but the empty one. A TTL is cut to whole milliseconds; less
// than one, more than a year, or so little that drift factor and buffer leave
// no validity, is ErrBadArgument. So is a nil context. After Close every method
// returns ErrClosed.
type Locker interface {
	// Acquire tries until it holds the lock on key, ctx ends or the retry
	// policy says stop. By default it waits for as long as another holds the
	// lock, but an outage only for its own budget (WithOutageBudget).
	//
	// Errors: ErrLockAlreadyHeld, ErrNoQuorum or ErrValidityExpired if it gave
	// up; the cause of ctx if that ended, together with what the last whole
	// attempt came to. After any error it holds nothing: what an attempt left
	// is released on all nodes.
	Acquire(ctx context.Context, key string, ttl time.Duration) (Token, error)

	// TryAcquire is Acquire with one attempt.
	TryAcquire(ctx context.Context, key string, ttl time.Duration) (Token, error)

	// Extend moves the deadline of token to ttl from now, less what is not
	// trusted of it; it never shortens. It tries again as the retry policy
	// says, at most until the deadline.
	//
	// Errors: ErrLockExpired after the deadline and ErrLockNotHeld when so
	// many nodes lost the key that a rival could have it, or the token was
	// released. Both are for good: the token is not valid any more, and its
	// keys are released on all nodes. ErrNoQuorum if the policy gave up,
	// ErrValidityExpired if the new deadline would have passed already, or the
	// cause of ctx: the old deadline stands, the lock is held until then, and
	// Release takes back also what was extended in part.
	Extend(ctx context.Context, key string, token Token, ttl time.Duration) error

	// TryExtend is Extend with one attempt.
	TryExtend(ctx context.Context, key string, token Token, ttl time.Duration) error

	// AcquireOrExtend extends token, or acquires the lock anew if token is lost
	// or the zero Token. Then again is true: others may have held the lock in
	// between, and whoever relied on unbroken exclusion must look again. On an
	// error t is token, which may still be valid.
	AcquireOrExtend(ctx context.Context, key string, token Token, ttl time.Duration) (t Token, again bool, err error)

	// Release ends the validity of token at once and for good, deletes its
	// keys on all nodes, and tells the truth about it:
	//
	//	nil                a quorum deleted them: the lock was held until now
	//	ErrLockExpired     its deadline had passed before
	//	ErrLockNotHeld     so many nodes have no such key, or another's, that it was lost before
	//	ErrReleaseUnknown  too few nodes answered to know, or it was released before
	//
	// It works on, for at most the node timeout, although ctx has ended; a
	// node that does not answer in time is told when it answers again.
	Release(ctx context.Context, key string, token Token) error
}

// A DistributedLock locks keys over N independent nodes.
type DistributedLock struct{ core }

// A Lock locks keys over one node. It is the same code as a DistributedLock
// over one.
type Lock struct {
	core
	node Node
}

var (
	_ Locker    = (*Lock)(nil)
	_ Locker    = (*DistributedLock)(nil)
	_ io.Closer = (*DistributedLock)(nil)
	_ io.Closer = (*Lock)(nil)
)

// Over returns a lock over a transport of the caller's, such as a simulator's.
// Close of the lock closes it. A transport that also has a method
// NodeName(i int) string gives errors the names of its nodes.
func Over(t Transport, opts ...Option) (*DistributedLock, error) {
	l := new(DistributedLock)
	err := l.apply(opts)
	if t == nil {
		err = errors.Join(err, badArgument("transport nil"))
	} else {
		err = errors.Join(err, l.over(t))
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// core is the lock: ordinary sequential code over a transport and a clock.
type core struct {
	config
	transport Transport
	n, q      int
	bad       error // what every call returns
	closed    atomic.Bool
	hints     *fenceHints // nil without fencing
	idle      atomic.Pointer[poll]
	first     poll // the first that was idle
}

// over gives the lock its transport.
func (l *core) over(t Transport) error {
	l.transport, l.n = t, t.Len()
	if t, ok := t.(*transport); ok && len(l.observers) > 0 {
		l.transport = observed{t, l.missed}
	}
	l.idle.Store(l.first.begin())
	if l.fencing {
		l.hints = new(fenceHints)
	}
	l.q = quorum(l.n)
	return checkLen(l.n)
}

func checkLen(n int) error {
	if n < 1 || n > maxNodes {
		return badArgument("%d nodes: allowed is 1 to %d", n, maxNodes)
	}
	return nil
}

// Err is the bad argument that the lock was made with; nil if there was none.
func (l *core) Err() error {
	if l.bad == nil && l.transport == nil {
		return badArgument("a lock that no constructor made")
	}
	return l.bad
}

// Close closes the connections that the lock made for itself, never a client
// that it was given. Calls under way end with an error; keys that are held
// expire.
func (l *core) Close() error {
	if l.closed.Swap(true) || l.transport == nil {
		return nil
	}
	return l.transport.Close()
}

// check is the first of every call: what makes no sense is not begun.
func (l *core) check(ctx context.Context, key string) error {
	switch {
	case l.Err() != nil:
		return l.Err()
	case ctx == nil:
		return badArgument("context nil")
	case key == "":
		return badArgument("key empty")
	}
	return nil
}

// running says that a call may go on, or why not.
func (l *core) running(op Op, key string) error {
	if l.closed.Load() {
		return &failure{op: op.String(), key: key, class: ErrClosed}
	}
	return nil
}

// ask sends one request to all nodes and counts answers until it has enough.
func (l *core) ask(ctx context.Context, req Request, timeout time.Duration, enough func(*tally) bool) tally {
	p := l.idle.Swap(nil)
	if p == nil {
		p = new(poll).begin()
	}
	p.tally, p.ctx, p.key, p.enough = tally{op: req.Op, lock: l}, ctx, req.Key, enough
	l.transport.Broadcast(ctx, req, timeout)(p.hear) // a range would allocate each time
	v := p.tally
	*p = poll{hear: p.hear}
	l.idle.Store(p)
	return v
}

// poll is a tally under way. The lock keeps one for its next request.
type poll struct {
	tally
	ctx    context.Context
	key    string
	enough func(*tally) bool // nil: nobody listens
	hear   func(Reply) bool  // counts an answer, and says whether it wants more
}

// begin makes p ready for its first use.
func (p *poll) begin() *poll {
	p.hear = func(r Reply) bool {
		if p.enough == nil { // the answer could be taken for one to the next request
			panic("redlock: a transport goes on after the loop over its replies has ended")
		}
		if e := p.count(&r); e != nil && !p.gaveUp(r.Err) {
			p.lock.observe(p.ctx, Event{Kind: NodeFailed, Key: p.key, Node: e.Node, Err: e})
		}
		if p.enough(&p.tally) {
			p.enough = nil
			return false
		}
		return true
	}
	return p
}

// gaveUp says that why is no failure of a node: the caller's context has ended.
func (p *poll) gaveUp(why error) bool {
	return p.ctx.Err() != nil && errors.Is(why, context.Cause(p.ctx))
}

// missed tells the observers of a failure that came when no call waited for it any more.
func (l *core) missed(m miss) {
	l.observe(m.ctx, Event{Kind: NodeFailed, Key: m.key, Node: m.reply.Node, Err: l.nodeError(m.op, &m.reply)})
}

func (l *core) nodeName(i int) string {
	if t, ok := l.transport.(interface{ NodeName(int) string }); ok {
		return t.NodeName(i)
	}
	return ""
}
