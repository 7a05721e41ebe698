// Command pause shows what a fence number is for. Two workers change one row under a
// lock over three databases; the first stands still for longer than the lease, between
// reading the row and writing it. Its number is 41, and that of the other, who gets the
// lock meanwhile, is 42. It needs nothing but Go:
//
//	go run ./pause
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"driftlock/redlock"
	"driftlock/redlock/dialect"
	"driftlock/redlock/fence"
	"driftlock/redlock/sqlnode"

	_ "modernc.org/sqlite"
)

const (
	ttl   = time.Second
	pause = 1200 * time.Millisecond // longer than the lease
)

func main() {
	dir, err := os.MkdirTemp("", "driftlock-pause-")
	if err != nil {
		log.Fatal(err)
	}
	err = run(context.Background(), os.Stdout, dir)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
}

// run plays the story twice, over databases in dir.
func run(ctx context.Context, w io.Writer, dir string) error {
	lock, closeAll, err := threeDatabases(ctx, dir)
	if err != nil {
		return err
	}
	defer closeAll()
	bank, err := open(filepath.Join(dir, "bank.db"))
	if err != nil {
		return err
	}
	defer bank.Close()
	if _, err := bank.ExecContext(ctx, "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0)"); err != nil {
		return err
	}
	for i, fenced := range []bool{false, true} {
		id := i + 1
		if _, err := bank.ExecContext(ctx, "INSERT INTO account (id, balance) VALUES (?, 100)", id); err != nil {
			return err
		}
		fmt.Fprintf(w, "Account %d has 100. ", id)
		if fenced {
			fmt.Fprintln(w, "The row compares fence numbers.")
		} else {
			fmt.Fprintln(w, "The row takes what comes.")
		}
		s := story{w: w, bank: bank, lock: lock, id: id, key: fmt.Sprint("account ", id), fenced: fenced}
		if err := s.tell(ctx); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

// A story is two workers and an account.
type story struct {
	w      io.Writer
	bank   *sql.DB
	lock   redlock.Locker
	id     int
	key    string
	fenced bool
}

func (s *story) tell(ctx context.Context) error {
	for range 40 { // what went before: forty grants of this lock
		token, err := s.lock.Acquire(ctx, s.key, time.Minute)
		if err != nil {
			return err
		}
		if err := s.lock.Release(ctx, s.key, token); err != nil {
			return err
		}
	}
	first, err := s.lock.Acquire(ctx, s.key, ttl)
	if err != nil {
		return err
	}
	seen, err := s.read(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.w, "  worker 1 holds the lock with fence %d, reads %d, and stands still\n", number(first), seen)
	time.Sleep(pause)

	second, err := s.lock.Acquire(ctx, s.key, time.Minute) // the lease of worker 1 is over
	if err != nil {
		return err
	}
	other, err := s.read(ctx)
	if err != nil {
		return err
	}
	err = s.write(ctx, other-30, number(second))
	fmt.Fprintf(s.w, "  worker 2 holds it with fence %d, reads %d, writes %d: %s\n", number(second), other, other-30, outcome(err))
	if err := s.lock.Release(ctx, s.key, second); err != nil {
		return err
	}

	err = s.write(ctx, seen+10, number(first)) // without a look at its token
	fmt.Fprintf(s.w, "  worker 1 goes on and writes %d: %s\n", seen+10, outcome(err))
	s.lock.Release(ctx, s.key, first) // says that it had expired
	left, err := s.read(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.w, "  the account has %d", left)
	if left != other-30 {
		fmt.Fprintf(s.w, ": what worker 2 wrote is lost")
	}
	fmt.Fprintln(s.w)
	return nil
}

func (s *story) read(ctx context.Context) (balance int, err error) {
	err = s.bank.QueryRowContext(ctx, "SELECT balance FROM account WHERE id = ?", s.id).Scan(&balance)
	return balance, err
}

// write is the last step of a worker; it compares numbers or not.
func (s *story) write(ctx context.Context, balance int, n uint64) error {
	if s.fenced {
		row := fence.Column{Dialect: dialect.SQLite, Table: "account", Key: "id", Fence: "fence"}
		return row.Update(ctx, s.bank, s.id, n, "balance = {1}", balance)
	}
	_, err := s.bank.ExecContext(ctx, "UPDATE account SET balance = ? WHERE id = ?", balance, s.id)
	return err
}

func number(t redlock.Token) uint64 {
	n, _ := t.Fence()
	return n
}

func outcome(err error) string {
	var stale *fence.Stale
	switch {
	case err == nil:
		return "accepted"
	case errors.As(err, &stale):
		return fmt.Sprintf("refused, fence %d is lower than %d", stale.Fence, stale.Highest)
	}
	return err.Error()
}

// threeDatabases is a lock over three SQLite files. They stand for three servers.
func threeDatabases(ctx context.Context, dir string) (_ *redlock.DistributedLock, done func(), err error) {
	var nodes []redlock.Node
	var dbs []*sql.DB
	closeAll := func() {
		for _, db := range dbs {
			db.Close()
		}
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	for _, name := range []string{"a", "b", "c"} {
		db, err := open(filepath.Join(dir, name+".db"))
		if err != nil {
			return nil, nil, err
		}
		dbs = append(dbs, db)
		node, err := sqlnode.New(name, db, dialect.SQLite)
		if err != nil {
			return nil, nil, err
		}
		if err := node.Create(ctx); err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, node)
	}
	lock, err := redlock.New(nodes, redlock.WithFencing(), redlock.WithNodeTimeout(5*time.Second))
	return lock, func() { lock.Close(); closeAll() }, err
}

func open(file string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
}
