package instead

import (
	"database/sql"
	"os"
	"testing"
	"time"

	"driftlock/internal/servers"
	"driftlock/redlock/dialect"
	"driftlock/redlock/sqlnode/sqltest/databases"
)

var shared servers.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Stop()
	os.Exit(code)
}

// take has the database hand out a job that nobody else has, and does it in the same
// transaction: a worker whose connection ends has done nothing.
func take(db *sql.DB, work func(id int) error) (found bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	// The server ends the transaction of a worker that stands still.
	if _, err := tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = '300ms'"); err != nil {
		return false, err
	}
	var id int
	err = tx.QueryRowContext(ctx, "SELECT id FROM job WHERE result IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED").Scan(&id)
	if err == sql.ErrNoRows {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := work(id); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE job SET result = 'done' WHERE id = $1", id); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// A worker that stands still for longer than the server lets it: its job goes to
// another, and its own end comes to nothing.
func TestSkipLocked(t *testing.T) {
	t.Parallel()
	db := databases.Fresh(t, &shared, dialect.PostgreSQL)
	for _, s := range []string{"CREATE TABLE job (id INT PRIMARY KEY, result TEXT)", "INSERT INTO job (id) VALUES (1), (2)"} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	none := func(int) error { t.Error("a job too many"); return nil }
	var late, prompt []int
	found, err := take(db.DB, func(id int) error {
		late = append(late, id)
		if found, err := take(db.DB, func(id int) error { prompt = append(prompt, id); return nil }); !found || err != nil {
			t.Errorf("beside a worker: %v %v", found, err)
		}
		if found, err := take(db.DB, none); found || err != nil { // the other is taken
			t.Errorf("no job is free: %v %v", found, err)
		}
		time.Sleep(time.Second) // late stands still
		if found, err := take(db.DB, func(id int) error { prompt = append(prompt, id); return nil }); !found || err != nil {
			t.Errorf("the job of one that stood still: %v %v", found, err)
		}
		return nil
	})
	if found || err == nil {
		t.Errorf("late finished its job: %v", err)
	}
	if len(late) != 1 || len(prompt) != 2 || late[0] != 1 || prompt[0] != 2 || prompt[1] != 1 {
		t.Errorf("late had %v and prompt %v", late, prompt)
	}
	if found, err := take(db.DB, none); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
}
