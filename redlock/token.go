package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A Token is one grant of a lock: a handle, whose copies share one deadline
// that Extend and Watch move. The zero Token is none. It is safe for concurrent
// use, and two tokens are equal (==) if they are the same grant in the same
// process.
type Token struct{ l *lease }

// ParseToken takes a token over from another process, by its String. Such a
// token has no deadline, because a reading of another machine's clock means
// nothing here: Valid is false until an Extend has succeeded. It can be
// released at once; but the acquire may still be on its way to a slow node, beyond
// the quorum that has answered. Only the lock that acquired sends its release
// behind it. Another's may overtake it there, and that node then has the key until
// its TTL is over.
func ParseToken(s string) (Token, error) {
	if len(s) != 32 || strings.Trim(s, "0123456789abcdef") != "" {
		return Token{}, badArgument("token %s: allowed are 32 digits of 0-9 and a-f", quoted(s))
	}
	return Token{&lease{owner: strings.Clone(s)}}, nil
}

// String is the owner value in the store: 32 hexadecimal digits. It is empty
// for the zero Token.
func (t Token) String() string {
	if t.l == nil {
		return ""
	}
	return t.l.owner
}

// Valid says whether the lock is held now, on the lock's clock. It is true only
// before the deadline, and never again after Release was called or a loss was
// found.
func (t Token) Valid() bool { return t.Remaining() > 0 }

// Remaining is for how long the lock is still held, on the lock's clock; 0 if
// it is not. It is T - elapsed - T·f - b of the TTL, drift factor and drift
// buffer, where elapsed counts from before the first node was asked.
func (t Token) Remaining() time.Duration {
	if t.l == nil {
		return 0
	}
	return t.l.remaining()
}

// ValidUntil is the deadline, as a reading of the lock's clock, which is not
// comparable with time.Now. It is the zero Time if the token never had one, was
// released or was found lost.
func (t Token) ValidUntil() time.Time {
	if t.l == nil {
		return time.Time{}
	}
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	return t.l.until
}

// A lease is what the copies of a token share.
type lease struct {
	owner string
	fence uint64 // 0: none

	mu       sync.Mutex    // over what follows; never held over a call that blocks
	lock     *core         // whose clock its readings are of; nil: parsed, and never extended
	key      string        // "": parsed, and never extended
	since    time.Time     // anchor of its first grant here
	until    time.Time     // the deadline D; zero: none yet, or over
	longest  time.Duration // none of its keys lives longer than this; 0: unknown
	releases int           // calls of Release
	lost     error         // why its validity has ended, other than by Release
}

// unknownTTL is for how long the release of a parsed token is kept for a node
// that does not answer: what its keys' TTL may be.
const unknownTTL = 10 * time.Minute

// of returns the lease of token if a call about key may use it.
func (l *core) of(ctx context.Context, key string, token Token) (*lease, error) {
	if err := l.check(ctx, key); err != nil {
		return nil, err
	}
	s := token.l
	if s == nil {
		return nil, badArgument("the zero Token: nothing was acquired")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != "" && s.key != key {
		return nil, badArgument("key %s: the token is of key %s", quoted(key), quoted(s.key))
	}
	return s, nil
}

// remaining is how much validity is left.
func (s *lease) remaining() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until.IsZero() {
		return 0
	}
	return max(0, s.until.Sub(s.lock.clock.Now()))
}

// granter is the lock whose clock and options the lease goes by; nil if it was
// parsed and never extended.
func (s *lease) granter() *core {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lock
}

// give is the request that frees the keys of s.
func (s *lease) give(key string) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	ttl := s.longest
	if ttl == 0 {
		ttl = unknownTTL
	}
	return Request{Op: OpRelease, Key: key, Owner: s.owner, TTL: ttl}
}

// lose ends the validity of s because of why. Who finds the loss first gives
// the keys back on all nodes, so that none that an extend prolonged in part
// outlives it.
func (l *core) lose(ctx context.Context, key string, s *lease, why error) {
	if s.end(why) {
		l.report(ctx, l.began(), Event{Kind: Lost, Key: key, Err: why})
		l.giveBack(ctx, s.give(key))
	}
}

// end ends the validity of s because of why; false if it had ended before.
func (s *lease) end(why error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.releases > 0 || s.lost != nil {
		return false
	}
	s.lost, s.until = why, time.Time{}
	return true
}

// lostBefore is the error of a call that comes after the loss was found. The
// mutex of s is held.
func (s *lease) lostBefore(op, key string) *failure {
	class := ErrLockNotHeld
	if errors.Is(s.lost, ErrLockExpired) {
		class = ErrLockExpired
	}
	return &failure{op: op, key: key, class: class, note: "found earlier", also: []error{s.lost}}
}

// expired is the error of a call that comes so long after the deadline.
func expired(op, key string, ago time.Duration) *failure {
	note := "the deadline passed just now"
	if ago > 0 {
		note = fmt.Sprintf("the deadline passed %v ago", ago)
	}
	return &failure{op: op, key: key, class: ErrLockExpired, note: note}
}
