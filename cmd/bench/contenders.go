package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"driftlock/clock"
	"driftlock/redlock"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// poll is how often those who wait for a key ask again. It is the same for all, so
// that the table compares the locks and not their defaults.
const poll = 10 * time.Millisecond

var background = context.Background()

// A contender is a way to lock over the servers.
type contender struct {
	name string
	// open makes what goroutines share, and session what each has.
	open func(cs []*redis.Client, ttl time.Duration) (session func() (session, error), err error)
	// retries says that acquire waits for a held key.
	retries bool
}

// A session acquires and releases one lock at a time.
type session interface {
	acquire(key string) error
	release() error
}

var contenders = []contender{
	{"driftlock", openDriftlock, true},
	{"lower-bound", openLowerBound, true},
	{"redsync", openRedsync(), true},
	{"redsync-failfast", openRedsync(redsync.WithFailFast(true)), true},
	{"redislock", openRedislock, true},
	{"sockets", openSockets, false},
}

// ---- driftlock

type driftlockSession struct {
	lock  redlock.Locker
	ttl   time.Duration
	key   string
	token redlock.Token
}

func openDriftlock(cs []*redis.Client, ttl time.Duration) (func() (session, error), error) {
	var nodes []redlock.Node
	for _, c := range cs {
		nodes = append(nodes, redlock.RedisNode(c))
	}
	l, err := redlock.Over(redlock.NewTransport(nodes, clock.Boottime()), redlock.WithRetry(redlock.Every(poll)))
	return func() (session, error) { return &driftlockSession{lock: l, ttl: ttl}, nil }, err
}

func (s *driftlockSession) acquire(key string) (err error) {
	s.key = key
	s.token, err = s.lock.Acquire(background, key, s.ttl)
	return err
}

func (s *driftlockSession) release() error { return s.lock.Release(background, s.key, s.token) }

// ---- the lower bound: what one would write by hand, with a goroutine a node and an
// early return, and without any of the care

const deleteText = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`

type lowerBound struct {
	cs  []*redis.Client
	ttl time.Duration
	sha string
}

type lowerBoundSession struct {
	*lowerBound
	key, token string
}

func openLowerBound(cs []*redis.Client, ttl time.Duration) (func() (session, error), error) {
	b := &lowerBound{cs: cs, ttl: ttl}
	for _, c := range cs {
		var err error
		if b.sha, err = c.ScriptLoad(background, deleteText).Result(); err != nil {
			return nil, err
		}
	}
	return func() (session, error) { return &lowerBoundSession{lowerBound: b}, nil }, nil
}

func randomToken() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

var errHeld = errors.New("held")

// ask asks all nodes and returns at the quorum.
func (b *lowerBound) ask(f func(c *redis.Client) bool) bool {
	q := len(b.cs)/2 + 1
	answers := make(chan bool, len(b.cs))
	for _, c := range b.cs {
		go func() { answers <- f(c) }()
	}
	yes, no := 0, 0
	for yes < q && no <= len(b.cs)-q {
		if <-answers {
			yes++
		} else {
			no++
		}
	}
	return yes >= q
}

func (s *lowerBoundSession) acquire(key string) error {
	for {
		s.key, s.token = key, randomToken()
		if s.ask(func(c *redis.Client) bool { return c.SetNX(background, key, s.token, s.ttl).Val() }) {
			return nil
		}
		s.release()
		time.Sleep(poll)
	}
}

func (s *lowerBoundSession) release() error {
	key, token := s.key, s.token
	if !s.ask(func(c *redis.Client) bool {
		return c.EvalSha(background, s.sha, []string{key}, token).Val() == int64(1)
	}) {
		return errHeld
	}
	return nil
}

// ---- redsync

type redsyncSession struct {
	rs    *redsync.Redsync
	opts  []redsync.Option
	mutex *redsync.Mutex
}

func openRedsync(opts ...redsync.Option) func([]*redis.Client, time.Duration) (func() (session, error), error) {
	return func(cs []*redis.Client, ttl time.Duration) (func() (session, error), error) {
		opts := append([]redsync.Option{redsync.WithExpiry(ttl), redsync.WithTries(1e6), redsync.WithRetryDelay(poll)}, opts...)
		var pools []redsyncredis.Pool
		for _, c := range cs {
			pools = append(pools, goredis.NewPool(c))
		}
		rs := redsync.New(pools...)
		return func() (session, error) { return &redsyncSession{rs: rs, opts: opts}, nil }, nil
	}
}

func (s *redsyncSession) acquire(key string) error {
	s.mutex = s.rs.NewMutex(key, s.opts...)
	return s.mutex.LockContext(background)
}

func (s *redsyncSession) release() error {
	ok, err := s.mutex.UnlockContext(background)
	if err == nil && !ok {
		err = errHeld
	}
	return err
}

// ---- redislock, which is for one server: as one would use it over several

type redislockSession struct {
	cs   []*redislock.Client
	ttl  time.Duration
	held []*redislock.Lock
	errs []error
}

func openRedislock(cs []*redis.Client, ttl time.Duration) (func() (session, error), error) {
	var ls []*redislock.Client
	for _, c := range cs {
		ls = append(ls, redislock.New(c))
	}
	return func() (session, error) {
		return &redislockSession{cs: ls, ttl: ttl, held: make([]*redislock.Lock, len(ls)), errs: make([]error, len(ls))}, nil
	}, nil
}

// all runs f for all nodes, and says whether a quorum went well.
func (s *redislockSession) all(f func(i int) error) bool {
	var wg sync.WaitGroup
	for i := range s.cs {
		wg.Go(func() { s.errs[i] = f(i) })
	}
	wg.Wait()
	well := 0
	for _, err := range s.errs {
		if err == nil {
			well++
		}
	}
	return well > len(s.cs)/2
}

func (s *redislockSession) acquire(key string) error {
	for {
		if s.all(func(i int) (err error) {
			s.held[i], err = s.cs[i].Obtain(background, key, s.ttl, nil)
			return err
		}) {
			return nil
		}
		s.release()
		time.Sleep(poll)
	}
}

func (s *redislockSession) release() error {
	if !s.all(func(i int) error {
		if s.held[i] == nil {
			return errHeld
		}
		return s.held[i].Release(background)
	}) {
		return errHeld
	}
	return nil
}

// ---- bare sockets: what the servers and the kernel cost

type socketSession struct {
	conns   []net.Conn
	readers []*bufio.Reader
	buf     []byte
	key     string
	token   [32]byte
	sha, px string
}

func openSockets(cs []*redis.Client, ttl time.Duration) (func() (session, error), error) {
	var sha string
	for _, c := range cs {
		var err error
		if sha, err = c.ScriptLoad(background, deleteText).Result(); err != nil {
			return nil, err
		}
	}
	return func() (session, error) {
		x := &socketSession{sha: sha, px: fmt.Sprint(ttl.Milliseconds())}
		for _, c := range cs {
			c, err := net.Dial("tcp", c.Options().Addr)
			if err != nil {
				return nil, err
			}
			x.conns, x.readers = append(x.conns, c), append(x.readers, bufio.NewReader(c))
		}
		return x, nil
	}, nil
}

func (s *socketSession) Close() error {
	for _, c := range s.conns {
		c.Close()
	}
	return nil
}

var _ io.Closer = (*socketSession)(nil)

// ask writes the command in s.buf to all and reads an answer of one line from each.
func (s *socketSession) ask(want byte) error {
	for _, c := range s.conns {
		if _, err := c.Write(s.buf); err != nil {
			return err
		}
	}
	for _, r := range s.readers {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line[0] != want {
			return fmt.Errorf("answer %q", line)
		}
	}
	return nil
}

func (s *socketSession) words(n int) {
	s.buf = append(strconv.AppendInt(append(s.buf[:0], '*'), int64(n), 10), "\r\n"...)
}

func word[T string | []byte](s *socketSession, w T) {
	s.buf = append(strconv.AppendInt(append(s.buf, '$'), int64(len(w)), 10), "\r\n"...)
	s.buf = append(append(s.buf, w...), "\r\n"...)
}

func (s *socketSession) acquire(key string) error {
	var b [16]byte
	rand.Read(b[:])
	hex.Encode(s.token[:], b[:])
	s.key = key
	s.words(6)
	word(s, "SET")
	word(s, key)
	word(s, s.token[:])
	word(s, "NX")
	word(s, "PX")
	word(s, s.px)
	return s.ask('+')
}

func (s *socketSession) release() error {
	s.words(5)
	word(s, "EVALSHA")
	word(s, s.sha)
	word(s, "1")
	word(s, s.key)
	word(s, s.token[:])
	return s.ask(':')
}
