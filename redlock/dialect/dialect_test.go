package dialect_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"driftlock/redlock/dialect"
)

// Arguments by their number, in each dialect's way.
func TestStatement(t *testing.T) {
	t.Parallel()
	for d, want := range map[dialect.Dialect]struct {
		text string
		args []any
	}{
		dialect.PostgreSQL: {"SET a = $2, b = $1 WHERE t = $2 AND c = $10", []any{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
		dialect.SQLite:     {"SET a = ?2, b = ?1 WHERE t = ?2 AND c = ?10", []any{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
		dialect.MySQL:      {"SET a = ?, b = ? WHERE t = ? AND c = ?", []any{"2", "1", "2", "10"}},
	} {
		s := d.Statement("SET a = {2}, b = {1} WHERE {column} = {2} AND c = {10}", "{column}", "t")
		args := s.Args("1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
		if s.Text != want.text || !slices.Equal(args, want.args) {
			t.Errorf("%v: %q %v, want %q %v", d, s.Text, args, want.text, want.args)
		}
	}
}

// No two keys are stored alike, and each fits.
func TestKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	seen := map[string]string{}
	for _, key := range []string{"", "a", "A", strings.Repeat("x", 255), strings.Repeat("x", 256), long, string(dialect.Key(long)), "sha256:", "sha256:abc"} {
		stored := string(dialect.Key(key))
		if other, ok := seen[stored]; ok || len(stored) > 255 {
			t.Errorf("%q and %q are stored as %q", key, other, stored)
		}
		seen[stored] = key
	}
	if k := dialect.Key(""); k == nil {
		t.Error("the empty key would be stored as NULL")
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"redlock": true, "_a1": true, "locks.redlock": true, strings.Repeat("a", 63): true,
		"": false, "1a": false, "a b": false, "a;": false, "a.b.c": false, "a.": false, `"a"`: false, "ä": false, "a-b": false, strings.Repeat("a", 64): false, "a\n": false,
	} {
		if err := dialect.CheckName("table", name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
	if dialect.Dialect(0).Check() == nil || dialect.Dialect(4).Check() == nil || dialect.SQLite.Check() != nil {
		t.Error("which dialects there are")
	}
}

// stated is an error as pgx and lib/pq have it; mysqlError one as go-sql-driver has.
type stated string

func (e stated) Error() string    { return "ERROR: " + string(e) }
func (e stated) SQLState() string { return string(e) }

type mysqlError struct {
	Number   uint16
	SQLState [5]byte
}

func (*mysqlError) Error() string { return "Error 1213" }

// What an error says about its statement.
func TestFaultOf(t *testing.T) {
	t.Parallel()
	pg, my, lite := dialect.PostgreSQL, dialect.MySQL, dialect.SQLite
	for _, c := range []struct {
		d    dialect.Dialect
		err  error
		want dialect.Fault
	}{
		{pg, stated("42P01"), dialect.Answered},
		{pg, stated("25006"), dialect.Answered},
		{pg, fmt.Errorf("wrapped: %w", stated("40001")), dialect.Again},
		{pg, stated("40P01"), dialect.Again},
		{pg, stated("57P01"), dialect.Unknown},
		{pg, stated("57014"), dialect.Unknown},
		{pg, stated("08006"), dialect.Unknown},
		{pg, stated("XX000"), dialect.Unknown},
		{pg, stated(""), dialect.Unknown},
		{my, &mysqlError{SQLState: [5]byte{'4', '0', '0', '0', '1'}}, dialect.Again},
		{my, fmt.Errorf("wrapped: %w", &mysqlError{SQLState: [5]byte{'4', '2', 'S', '0', '2'}}), dialect.Answered},
		{my, &mysqlError{SQLState: [5]byte{'7', '0', '1', '0', '0'}}, dialect.Unknown},
		{my, (*mysqlError)(nil), dialect.Unknown},
		{my, errors.New("invalid connection"), dialect.Unknown},
		{pg, io.EOF, dialect.Unknown},
		{pg, driver.ErrBadConn, dialect.Unknown},
		{pg, context.DeadlineExceeded, dialect.Unknown},
		{lite, fmt.Errorf("%w", context.Canceled), dialect.Unknown},
		{lite, errors.New("database is locked (5) (SQLITE_BUSY)"), dialect.Again},
		{lite, errors.New("database table is locked"), dialect.Again},
		{lite, errors.New("interrupted (9)"), dialect.Unknown},
		{lite, errors.New("no such table: redlock (1)"), dialect.Answered},
	} {
		if got := c.d.FaultOf(c.err); got != c.want {
			t.Errorf("%v, %v: %d, want %d", c.d, c.err, got, c.want)
		}
	}
}
