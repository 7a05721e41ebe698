package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"driftlock/redlock/dialect"
)

// A DB is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// A Column is where a table keeps, in each row, the highest number that has written it:
// a column of whole numbers (BIGINT NOT NULL DEFAULT 0). The comparison is part of the
// statement that writes, so there is no gap between them, no transaction to hold open,
// and nothing that a writer who stands still could block.
type Column struct {
	Dialect dialect.Dialect
	Table   string // names may have their schema before them
	Key     string // the column that tells rows apart
	Fence   string // the column of the number
}

// Update writes the row whose key is key, if fence is not lower than the row's number,
// which it becomes. Set is what comes after SET, with its arguments written as {1}, {2}
// and so on in every dialect:
//
//	err := column.Update(ctx, db, "alice", fence, "balance = {1}", 90)
//
// It returns nil if the row was written; a *Stale; ErrMissing without a number;
// sql.ErrNoRows if there is no such row; what the database said; or what is wrong with
// an argument. If the database did not answer, the write may have been made: with the
// same number it can be made again, if that does no harm. A number is at most 2⁶³-1.
func (c Column) Update(ctx context.Context, db DB, key any, fence uint64, set string, args ...any) error {
	name := fmt.Sprint(c.Table, " ", key)
	if err := errors.Join(c.Dialect.Check(), dialect.CheckName("table", c.Table), dialect.CheckName("column", c.Key), dialect.CheckName("column", c.Fence)); err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	if err := storable(name, fence); err != nil {
		return err
	}
	n := len(args)
	if highest := dialect.Arguments(set); highest != n {
		return fmt.Errorf("fence: %s: SET %s has arguments up to {%d}, and %d were given", quoted(name), set, highest, n)
	}
	words := []string{"{table}", c.Table, "{key}", c.Key, "{fence}", c.Fence, "{set}", set}
	update := c.Dialect.Statement(fmt.Sprintf("UPDATE {table} SET {set}, {fence} = {%d} WHERE {key} = {%d} AND COALESCE({fence}, 0) <= {%d}", n+1, n+2, n+1), words...)
	look := c.Dialect.Statement("SELECT COALESCE({fence}, 0) FROM {table} WHERE {key} = {1}", words...)
	for range 3 {
		res, err := db.ExecContext(ctx, update.Text, update.Args(append(args[:n:n], int64(fence), key)...)...)
		if err != nil {
			return fmt.Errorf("fence: %s: %w", quoted(name), err)
		}
		if rows, err := res.RowsAffected(); err != nil || rows > 0 {
			return err
		}
		var highest int64
		switch err := db.QueryRowContext(ctx, look.Text, look.Args(key)...).Scan(&highest); {
		case err != nil:
			return fmt.Errorf("fence: %s: %w", quoted(name), err)
		case uint64(highest) > fence:
			return &Stale{name, fence, uint64(highest)}
		case uint64(highest) == fence:
			return nil // MySQL does not count a row that stays as it is
		}
		// The row has only just come to be.
	}
	return fmt.Errorf("fence: %s: %w when it was to be written", quoted(name), sql.ErrNoRows)
}

// storable refuses a number that a column cannot hold.
func storable(key string, fence uint64) error {
	switch {
	case fence == 0:
		return missing(key)
	case fence > math.MaxInt64:
		return fmt.Errorf("fence: %s: number %d: a column holds at most %d", quoted(key), fence, int64(math.MaxInt64))
	}
	return nil
}
