package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"driftlock/redlock/dialect"
)

// A Ledger is a table with the highest number of each resource, for writes that are more
// than a row: whatever a transaction does. Its statement is the first of the
// transaction, and keeps the resource's row locked until the end, so that a writer with
// a higher number waits, and one with a lower number is refused.
//
// A transaction that stays open keeps the others waiting: its writer may stand still in
// the middle. Bound it at the server (PostgreSQL: idle_in_transaction_session_timeout and
// transaction_timeout; MySQL: wait_timeout). Where the data are one row, Column needs no
// such thing.
type Ledger struct {
	Dialect dialect.Dialect
	Table   string // "fence", say
}

const (
	ledgerSchema = `CREATE TABLE IF NOT EXISTS {table} (
	resource {bytes} NOT NULL PRIMARY KEY,
	fence    BIGINT NOT NULL -- the highest number seen
){engine}`

	ledgerAdmit = `INSERT INTO {table} AS seen (resource, fence) VALUES ({1}, {2})
ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence WHERE seen.fence <= excluded.fence`
	ledgerLook = `SELECT fence FROM {table} WHERE resource = {1}`

	ledgerAdmitMySQL = `INSERT INTO {table} (resource, fence) VALUES ({1}, {2})
ON DUPLICATE KEY UPDATE fence = GREATEST(fence, VALUES(fence))`
	ledgerLookMySQL = ledgerLook + ` FOR UPDATE` // what is there now, not at the transaction's begin
)

func (l Ledger) say(text string) dialect.Statement {
	return l.Dialect.Statement(text, "{table}", l.Table, "{bytes}", l.Dialect.Bytes(), "{engine}", l.Dialect.Engine())
}

func (l Ledger) check() error {
	if err := errors.Join(l.Dialect.Check(), dialect.CheckName("table", l.Table)); err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	return nil
}

// Schema is the statement that makes the table, for a migration. It does nothing where
// there is one already.
func (l Ledger) Schema() (string, error) {
	if err := l.check(); err != nil {
		return "", err
	}
	return l.say(ledgerSchema).Text, nil
}

// Admit says whether a transaction may write: nil, a *Stale, ErrMissing, what the
// database said, or what is wrong with an argument. After an error roll back.
func (l Ledger) Admit(ctx context.Context, tx *sql.Tx, resource string, fence uint64) error {
	if err := errors.Join(l.check(), storable(resource, fence)); err != nil {
		return err
	}
	admit, look := l.say(ledgerAdmit), l.say(ledgerLook)
	if l.Dialect == dialect.MySQL {
		admit, look = l.say(ledgerAdmitMySQL), l.say(ledgerLookMySQL)
	}
	res, err := tx.ExecContext(ctx, admit.Text, admit.Args(dialect.Key(resource), int64(fence))...)
	if err != nil {
		return fmt.Errorf("fence: %s: %w", quoted(resource), err)
	}
	if rows, err := res.RowsAffected(); l.Dialect != dialect.MySQL && (err != nil || rows > 0) {
		return err
	}
	var highest int64
	if err := tx.QueryRowContext(ctx, look.Text, look.Args(dialect.Key(resource))...).Scan(&highest); err != nil {
		return fmt.Errorf("fence: %s: %w", quoted(resource), err)
	}
	if uint64(highest) > fence {
		return &Stale{resource, fence, uint64(highest)}
	}
	return nil
}

// Do is a whole transaction: Admit, then write, and a commit if both went well. Write
// may not commit or roll back by itself.
func (l Ledger) Do(ctx context.Context, db *sql.DB, resource string, fence uint64, write func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("fence: %s: %w", quoted(resource), err)
	}
	defer tx.Rollback() // after a commit it does nothing
	if err := l.Admit(ctx, tx, resource, fence); err != nil {
		return err
	}
	if err := write(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("fence: %s: %w", quoted(resource), err)
	}
	return nil
}
