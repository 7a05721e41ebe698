package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"driftlock/redlock/dialect"
	"driftlock/redlock/fence"
	"driftlock/redlock/sqlnode/sqltest/databases"
)

var bg = context.Background()

// everywhere runs a test on each kind of database.
func everywhere(t *testing.T, f func(t *testing.T, db *databases.Database)) {
	t.Helper()
	t.Parallel()
	for _, d := range databases.All {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			f(t, databases.Fresh(t, &shared, d))
		})
	}
}

func exec(t testing.TB, db fence.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(bg, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// account makes a table with one row whose number is 40.
func account(t testing.TB, db *databases.Database) fence.Column {
	t.Helper()
	exec(t, db, "CREATE TABLE account (id INT NOT NULL PRIMARY KEY, balance INT NOT NULL, fence BIGINT)")
	exec(t, db, "INSERT INTO account VALUES (1, 100, 40), (2, 100, NULL)")
	return fence.Column{Dialect: db.Dialect, Table: "account", Key: "id", Fence: "fence"}
}

func balance(t testing.TB, db *databases.Database, id int) (balance, number int64) {
	t.Helper()
	if err := db.QueryRow(fmt.Sprint("SELECT balance, COALESCE(fence, 0) FROM account WHERE id = ", id)).Scan(&balance, &number); err != nil {
		t.Fatal(err)
	}
	return balance, number
}

// A row is written by the same and by higher numbers, and not by lower ones.
func TestColumn(t *testing.T) {
	everywhere(t, func(t *testing.T, db *databases.Database) {
		c := account(t, db)
		for i, s := range []struct {
			id      int
			fence   uint64
			balance int
			want    error
		}{
			{1, 0, 1, fence.ErrMissing},
			{1, 39, 1, fence.ErrStale},
			{1, 41, 90, nil},
			{1, 41, 80, nil}, // the same holder's next write
			{1, 41, 80, nil}, // and the same write again: MySQL counts no row
			{1, 42, 70, nil},
			{1, 41, 1, fence.ErrStale},
			{1, 42, 60, nil},
			{1, math.MaxInt64, 50, nil},
			{1, math.MaxInt64 - 1, 1, fence.ErrStale},
			{2, 1, 90, nil}, // NULL is no number yet
			{3, 1, 1, sql.ErrNoRows},
		} {
			err := c.Update(bg, db, s.id, s.fence, "balance = {1}", s.balance)
			if !errors.Is(err, s.want) || s.want == nil && err != nil {
				t.Errorf("step %d: %v, want %v", i, err, s.want)
			}
			if s.want == nil {
				if b, n := balance(t, db, s.id); b != int64(s.balance) || n != int64(s.fence) {
					t.Errorf("step %d: the row has %d with %d", i, b, n)
				}
			}
		}
		if b, _ := balance(t, db, 1); b != 50 {
			t.Errorf("balance %d", b)
		}
		err := c.Update(bg, db, 1, math.MaxInt64+1, "balance = {1}", 1)
		if err == nil || !strings.Contains(err.Error(), "9223372036854775807") {
			t.Errorf("a number that no column holds: %v", err)
		}
		for _, set := range []string{"balance = {2}", "balance = 1", "balance = {99999999999999999999}"} {
			if err := c.Update(bg, db, 1, math.MaxInt64, set, 1); err == nil || !strings.Contains(err.Error(), "1 were given") {
				t.Errorf("arguments that do not match: %v", err)
			}
		}
		c.Table = "account; DROP TABLE account"
		if err := c.Update(bg, db, 1, 50, "balance = {1}", 1); err == nil || !strings.Contains(err.Error(), "table") {
			t.Errorf("a name that is none: %v", err)
		}
	})
}

// Many writers at once, on one row: the numbers of what was written never fall.
func TestColumnConcurrent(t *testing.T) {
	everywhere(t, func(t *testing.T, db *databases.Database) {
		c := account(t, db)
		exec(t, db, "CREATE TABLE log (fence BIGINT NOT NULL)")
		var wg sync.WaitGroup
		accepted := make([]int, 8)
		for w := range 8 {
			wg.Go(func() {
				for i := range 15 {
					n := uint64(41 + i*2 + w%2)
					err := c.Update(bg, db, 1, n, "balance = balance + {1}", 1)
					switch {
					case err == nil:
						accepted[w]++
					case !errors.Is(err, fence.ErrStale):
						t.Errorf("%v", err)
					}
				}
			})
		}
		wg.Wait()
		sum := 0
		for _, a := range accepted {
			sum += a
		}
		if b, n := balance(t, db, 1); b != int64(100+sum) || n != 70 || sum == 0 {
			t.Errorf("%d writes were accepted; the balance is %d and the number %d", sum, b, n)
		}
	})
}

// A transaction is let in by the same rule, and keeps others out until its end: a write
// that stands still between the comparison and its end lands before the next one's.
func TestLedger(t *testing.T) {
	everywhere(t, func(t *testing.T, db *databases.Database) {
		account(t, db)
		l := fence.Ledger{Dialect: db.Dialect, Table: "fences"}
		schema, err := l.Schema()
		if err != nil {
			t.Fatal(err)
		}
		exec(t, db, schema)
		exec(t, db, schema) // it is there already
		write := func(number uint64, balance string) error {
			return l.Do(bg, db.DB, "account 1", number, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(bg, "UPDATE account SET balance = "+balance+" WHERE id = 1")
				return err
			})
		}
		for i, s := range []struct {
			fence uint64
			want  error
		}{{0, fence.ErrMissing}, {41, nil}, {41, nil}, {42, nil}, {41, fence.ErrStale}, {42, nil}, {math.MaxInt32 + 1, nil}, {43, fence.ErrStale}} {
			if err := write(s.fence, "balance + 1"); !errors.Is(err, s.want) || s.want == nil && err != nil {
				t.Errorf("step %d, number %d: %v, want %v", i, s.fence, err, s.want)
			}
		}
		if b, _ := balance(t, db, 1); b != 105 {
			t.Errorf("balance %d after five writes", b)
		}

		// What fails is taken back, with its number.
		boom := errors.New("boom")
		err = l.Do(bg, db.DB, "r", 50, func(*sql.Tx) error { return boom })
		if again := l.Do(bg, db.DB, "r", 49, func(*sql.Tx) error { return nil }); err != boom || again != nil {
			t.Errorf("%v, then %v", err, again)
		}

		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if err := l.Admit(bg, tx, "r", 60); err != nil {
			t.Fatal(err)
		}
		second := make(chan error)
		go func() {
			for { // SQLite lets a second writer wait for a while only
				err := l.Do(bg, db.DB, "r", 61, func(tx *sql.Tx) error {
					_, err := tx.ExecContext(bg, "UPDATE account SET balance = 61 WHERE id = 1")
					return err
				})
				if err == nil || dialect.SQLite.FaultOf(err) != dialect.Again {
					second <- err
					return
				}
			}
		}()
		select {
		case err := <-second:
			t.Fatalf("the second writer did not wait: %v", err)
		case <-time.After(300 * time.Millisecond):
		}
		if _, err := tx.ExecContext(bg, "UPDATE account SET balance = 60 WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-second; err != nil {
			t.Fatal(err)
		}
		if b, _ := balance(t, db, 1); b != 61 {
			t.Errorf("the balance is %d, and 61 wrote last", b)
		}
	})
}
