package sqlnode

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/redlock/dialect"

	"github.com/jonboulle/clockwork"
)

// A session is one connection during one batch.
type session struct {
	*Node
	conn   *sql.Conn
	sent   bool  // a statement of the request was executed
	broken error // a statement got no answer; nothing more is sent
}

// answer carries out one request.
func (s *session) answer(ctx context.Context, r *redlock.Request) redlock.Reply {
	if err := check(r); err != nil {
		return redlock.Reply{Err: err}
	}
	s.sent = false
	var reply redlock.Reply
	err := s.again(ctx, func() (err error) {
		switch r.Op {
		case redlock.OpAcquire:
			reply, err = s.acquire(ctx, r)
		case redlock.OpExtend:
			reply, err = s.extend(ctx, r)
		case redlock.OpRelease:
			reply, err = s.release(ctx, r)
		}
		return err
	})
	if err != nil {
		return redlock.Reply{Err: err}
	}
	return reply
}

// again tries f until the database does not take it back because of others. An error of
// f's becomes one that a lane understands.
func (s *session) again(ctx context.Context, f func() error) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := f()
		switch {
		case err == nil:
			return nil
		case !s.sent && errors.Is(err, driver.ErrBadConn): // a driver says so only if it has sent nothing
			s.broken = err
			return fmt.Errorf("%w: %w", redlock.ErrUnsent, err)
		}
		switch s.dialect.FaultOf(err) {
		case dialect.Answered:
			return err
		case dialect.Unknown:
			s.broken = err
			return fmt.Errorf("%w: %w", redlock.ErrNoAnswer, err)
		}
		if clock.Sleep(ctx, clockwork.NewRealClock(), pause) != nil {
			s.broken = err
			return fmt.Errorf("%w: %w", redlock.ErrNoAnswer, err)
		}
	}
}

// acquire sets the key if it is free and the number, if there is one, is high enough.
func (s *session) acquire(ctx context.Context, r *redlock.Request) (redlock.Reply, error) {
	s.fenced.Store(r.Fence > 0)
	changed, err := s.exec(ctx, s.say.acquire, dialect.Key(r.Key), []byte(r.Owner), r.TTL.Milliseconds(), int64(r.Fence))
	if err != nil {
		return redlock.Reply{}, err
	}
	if changed == s.say.granted {
		return redlock.Reply{Status: redlock.Done, Fence: r.Fence}, nil
	}
	row, err := s.look(ctx, r)
	reply := redlock.Reply{Status: redlock.Others, Fence: row.fence}
	if r.Fence == 0 {
		reply.Fence = 0
	}
	switch {
	case err != nil:
		return redlock.Reply{}, err
	case row.mine && row.alive && changed > 0: // inserted
		reply.Status = redlock.Done
	case row.mine && row.alive:
		reply.Status = redlock.Ours
	case !row.alive && r.Fence > 0 && r.Fence <= row.fence:
		reply.Status = redlock.Gone
	}
	return reply, nil // it may be another's no more, but was
}

// extend lets the key live for at least the TTL from now.
func (s *session) extend(ctx context.Context, r *redlock.Request) (redlock.Reply, error) {
	changed, err := s.exec(ctx, s.say.extend, dialect.Key(r.Key), []byte(r.Owner), r.TTL.Milliseconds())
	if err != nil || changed > 0 {
		return redlock.Reply{Status: redlock.Done}, err
	}
	row, err := s.look(ctx, r)
	return refused(row), err
}

// release frees the key: without a number by deleting the row, with one by ending it.
func (s *session) release(ctx context.Context, r *redlock.Request) (redlock.Reply, error) {
	ways := [...]dialect.Statement{s.say.delete, s.say.end}
	if s.fenced.Load() {
		ways[0], ways[1] = ways[1], ways[0]
	}
	for _, way := range ways {
		changed, err := s.exec(ctx, way, dialect.Key(r.Key), []byte(r.Owner))
		if err != nil || changed > 0 {
			return redlock.Reply{Status: redlock.Done}, err
		}
		if row, err := s.look(ctx, r); err != nil || !row.mine || !row.alive {
			return refused(row), err
		}
	}
	return redlock.Reply{Status: redlock.Gone}, nil // it was just about to expire
}

// refused is the answer about a key that its owner does not hold. It was looked at
// after the statement that did not find it.
func refused(row row) redlock.Reply {
	if row.alive && !row.mine {
		return redlock.Reply{Status: redlock.Others}
	}
	return redlock.Reply{Status: redlock.Gone}
}

// A row is what is seen of a key; the zero row is that of a key that is not there.
type row struct {
	mine, alive bool
	fence       uint64
}

func (s *session) look(ctx context.Context, r *redlock.Request) (row, error) {
	var owner []byte
	var alive, fence int64
	err := s.conn.QueryRowContext(ctx, s.say.look.Text, s.say.look.Args(dialect.Key(r.Key))...).Scan(&owner, &alive, &fence)
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, nil
	}
	s.sent = s.sent || err == nil
	return row{string(owner) == r.Owner, alive == 1, uint64(fence)}, err
}

// exec says how many rows a statement changed.
func (s *session) exec(ctx context.Context, st dialect.Statement, args ...any) (int64, error) {
	res, err := s.conn.ExecContext(ctx, st.Text, st.Args(args...)...)
	if err != nil {
		return 0, err
	}
	s.sent = true
	return res.RowsAffected()
}
