// Package sqlnode makes a database a node of a lock: PostgreSQL, MySQL or MariaDB, and
// SQLite, over database/sql. A quorum may be three databases, or Redis servers and
// databases together.
//
//	a, err := sqlnode.New("db1:5432", db1, dialect.PostgreSQL)
//	b, err := sqlnode.New("db2:5432", db2, dialect.PostgreSQL)
//	lock, err := redlock.New([]redlock.Node{a, b, redlock.RedisNode(client)}, redlock.WithFencing())
//
// Before that Create has made the table, once for each database; or what Schema says
// was part of a migration. Import a driver; this package imports none.
//
// # One table
//
// A key is a row: who holds it, until when on the server's own clock, and the highest
// fence number that was accepted. A key of more than 255 bytes is stored as its
// SHA-256. Without fencing a release deletes the row, so that nothing is left of a key;
// with fencing the row stays, for ever, because of its number: see Tidy.
//
// # What it promises
//
// Every write is one conditional statement, which commits by itself: there is no
// transaction that could stay open, and no lock in the database that outlives its
// statement. Expiry is by the server's wall clock in whole milliseconds; a key lives at
// least its TTL and is free a millisecond after. So the lock's arithmetic holds with
// g = 0 (see package redlock).
//
// What the lock needs of a node is that it forgets nothing that it has granted
// (A2). A database with its defaults does so through a crash and a restart, unlike most
// Redis servers. It does not with an asynchronous replica that takes over, with
// synchronous_commit=off, innodb_flush_log_at_trx_commit=0 or 2, an UNLOGGED table, or
// PRAGMA synchronous below FULL.
//
// Connections must commit each statement by themselves (MySQL: autocommit=1, the
// default). Where each statement is prepared first, an acquire costs three round trips
// instead of one: with go-sql-driver/mysql use interpolateParams=true.
//
// It was tested on PostgreSQL 15, MariaDB 10.11 and SQLite 3. To MySQL it says nothing
// that MariaDB does not know.
package sqlnode

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"driftlock/redlock"
	"driftlock/redlock/dialect"
)

// An Option sets up a node. A nil Option is passed over.
type Option func(*Node)

// Table is the node's table if WithTable does not say otherwise.
const Table = "redlock"

// WithTable sets the name of the table, if need be with its schema: "locks.redlock".
func WithTable(name string) Option { return func(n *Node) { n.table = name } }

// WithTimeout sets how long a batch of requests may take; 5 s if not set. It is the
// connection's own bound, in real time, and not how long a caller of the lock waits
// (redlock.WithNodeTimeout): a statement that was cut off may yet be executed.
//
// SQLite may wait longer, by what PRAGMA busy_timeout says.
func WithTimeout(d time.Duration) Option { return func(n *Node) { n.timeout = d } }

// A Node is a table in a database. It is safe for concurrent use.
type Node struct {
	name    string
	db      *sql.DB
	dialect dialect.Dialect
	table   string
	timeout time.Duration
	say     statements
	fenced  atomic.Bool // the last acquire had a number: which release to try first
}

// New returns a node over db. Name stands for the database in errors and must tell it
// from the other nodes of a lock: its address, say. The db stays the caller's to close;
// several locks may share the node.
//
// It is an error if something is missing or makes no sense (redlock.ErrBadArgument). It
// asks the database nothing.
func New(name string, db *sql.DB, d dialect.Dialect, opts ...Option) (*Node, error) {
	n := &Node{name: name, db: db, dialect: d, table: Table, timeout: 5 * time.Second}
	for _, o := range opts {
		if o != nil {
			o(n)
		}
	}
	err := errors.Join(d.Check(), dialect.CheckName("table", n.table))
	switch {
	case name == "":
		err = errors.Join(err, errors.New("name empty: it tells the node from others"))
	case db == nil:
		err = errors.Join(err, errors.New("db nil"))
	case n.timeout <= 0:
		err = errors.Join(err, fmt.Errorf("timeout %v: allowed is more than 0", n.timeout))
	}
	if err != nil {
		return nil, fmt.Errorf("sqlnode: %w: %w", redlock.ErrBadArgument, err)
	}
	n.say = statementsOf(d, n.table)
	return n, nil
}

// Name implements redlock.Node.
func (n *Node) Name() string { return n.name }

// Store is the database: two nodes of a lock must not have the same, in two tables
// neither.
func (n *Node) Store() any { return n.db }

// Do implements redlock.Node. A batch is one statement after the other, on one
// connection. Where there was no answer the rest of the batch is not sent.
func (n *Node) Do(reqs []*redlock.Request, replies []redlock.Reply) {
	ctx, cancel := context.WithTimeout(context.Background(), n.timeout)
	defer cancel()
	conn, err := n.db.Conn(ctx)
	if err != nil {
		unsent(replies, err)
		return
	}
	defer conn.Close()
	s := session{Node: n, conn: conn}
	for i, r := range reqs {
		replies[i] = s.answer(ctx, r)
		if s.broken != nil {
			unsent(replies[i+1:], s.broken)
			return
		}
	}
}

// unsent fills the replies to what was certainly not executed.
func unsent(replies []redlock.Reply, why error) {
	for i := range replies {
		replies[i] = redlock.Reply{Err: fmt.Errorf("%w: %w", redlock.ErrUnsent, why)}
	}
}

// check refuses what the table cannot hold.
func check(r *redlock.Request) error {
	switch {
	case r.Op < redlock.OpAcquire || r.Op > redlock.OpRelease:
		return fmt.Errorf("unknown %v", r.Op)
	case len(r.Owner) > 255:
		return fmt.Errorf("owner of %d bytes: allowed are 255", len(r.Owner))
	case r.Fence > math.MaxInt64:
		return fmt.Errorf("fence %d: a database keeps numbers up to %d", r.Fence, int64(math.MaxInt64))
	case r.Op != redlock.OpRelease && r.TTL < time.Millisecond:
		return fmt.Errorf("ttl %v: allowed is 1ms or more", r.TTL)
	}
	return nil
}
