package instead

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"driftlock/redlock/dialect"
	"driftlock/redlock/fence"
)

// Each example is two clients, of whom the first stands still in the middle of its work
// for longer than any lease, as in the scenario doc-pause-30s, and then goes on as if
// nothing had been. They are called late and prompt.

var ctx = context.Background()

// Conditional update: whoever read the row before somebody else wrote it, writes nothing.
func Example_conditionalUpdate() {
	db := database("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, version INTEGER NOT NULL)",
		"INSERT INTO account VALUES (1, 100, 7)")
	defer db.Close()

	read := func() (balance, version int) {
		check(db.QueryRowContext(ctx, "SELECT balance, version FROM account WHERE id = 1").Scan(&balance, &version))
		return balance, version
	}
	write := func(balance, version int) (done bool) {
		res, err := db.ExecContext(ctx, "UPDATE account SET balance = ?, version = version + 1 WHERE id = 1 AND version = ?", balance, version)
		return changed(res, err) == 1
	}

	late, lateVersion := read() // and stands still
	prompt, promptVersion := read()
	fmt.Println("prompt writes:", write(prompt-30, promptVersion))
	fmt.Println("late writes:", write(late-50, lateVersion)) // it has to read again

	balance, _ := read()
	fmt.Println("balance:", balance)
	// Output:
	// prompt writes: true
	// late writes: false
	// balance: 70
}

// Unconditional in form, but complete in itself: the database does the arithmetic, and
// its condition is the rule.
func Example_oneStatement() {
	db := database("CREATE TABLE stock (item TEXT PRIMARY KEY, n INTEGER NOT NULL)", "INSERT INTO stock VALUES ('seat', 1)")
	defer db.Close()

	take := func() (done bool) {
		res, err := db.ExecContext(ctx, "UPDATE stock SET n = n - 1 WHERE item = 'seat' AND n >= 1")
		return changed(res, err) == 1
	}

	// late has seen that there is a seat, and stands still
	fmt.Println("prompt takes it:", take())
	fmt.Println("late takes it:", take())
	// Output:
	// prompt takes it: true
	// late takes it: false
}

// Unique constraint: of two who make the same thing one makes it.
func Example_uniqueConstraint() {
	db := database("CREATE TABLE username (name TEXT PRIMARY KEY, owner TEXT NOT NULL)")
	defer db.Close()

	claim := func(name, owner string) (done bool) {
		res, err := db.ExecContext(ctx, "INSERT INTO username VALUES (?, ?) ON CONFLICT (name) DO NOTHING", name, owner)
		return changed(res, err) == 1
	}

	// late has looked, and the name was free; it stands still
	fmt.Println("prompt gets it:", claim("ada", "prompt"))
	fmt.Println("late gets it:", claim("ada", "late"))
	// Output:
	// prompt gets it: true
	// late gets it: false
}

// A claimed job row: a worker takes a job for some time, by the database's clock, and
// finishes it only if it is still the one who has it. The attempt is the fence number.
func Example_claimedJob() {
	db := database("CREATE TABLE job (id INTEGER PRIMARY KEY, until INTEGER NOT NULL DEFAULT 0, attempt INTEGER NOT NULL DEFAULT 0, result TEXT)",
		"INSERT INTO job (id) VALUES (1)")
	defer db.Close()

	claim := func(lease time.Duration) (id, attempt int, ok bool) {
		claim := dialect.SQLite.Statement(`UPDATE job SET until = {now} + {1}, attempt = attempt + 1
			WHERE id = (SELECT id FROM job WHERE result IS NULL AND until < {now} ORDER BY id LIMIT 1) RETURNING id, attempt`)
		err := db.QueryRowContext(ctx, claim.Text, claim.Args(lease.Milliseconds())...).Scan(&id, &attempt)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, 0, false
		}
		check(err)
		return id, attempt, true
	}
	finish := func(id, attempt int, result string) (done bool) {
		res, err := db.ExecContext(ctx, "UPDATE job SET result = ? WHERE id = ? AND attempt = ? AND result IS NULL", result, id, attempt)
		return changed(res, err) == 1
	}

	id, late, _ := claim(50 * time.Millisecond)
	_, _, ok := claim(time.Minute)
	fmt.Println("prompt gets it while late has it:", ok)
	time.Sleep(100 * time.Millisecond) // late stands still
	_, prompt, ok := claim(time.Minute)
	fmt.Println("and afterwards:", ok)
	fmt.Println("late finishes:", finish(id, late, "late"))
	fmt.Println("prompt finishes:", finish(id, prompt, "prompt"))
	// Output:
	// prompt gets it while late has it: false
	// and afterwards: true
	// late finishes: false
	// prompt finishes: true
}

// Idempotency key: the same request has one effect, however often it is carried out and
// by whomever. The key is written in the transaction that has the effect.
func Example_idempotencyKey() {
	db := database("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)", "INSERT INTO account VALUES (1, 100)",
		"CREATE TABLE done (request TEXT PRIMARY KEY)")
	defer db.Close()

	pay := func(request string, amount int) (paid bool) {
		tx, err := db.BeginTx(ctx, nil)
		check(err)
		defer tx.Rollback()
		res, err := tx.ExecContext(ctx, "INSERT INTO done VALUES (?) ON CONFLICT (request) DO NOTHING", request)
		if changed(res, err) == 0 {
			return false // it was carried out already
		}
		res, err = tx.ExecContext(ctx, "UPDATE account SET balance = balance - ? WHERE id = 1", amount)
		changed(res, err)
		check(tx.Commit())
		return true
	}

	// late has taken the request from the queue and stands still; it comes again
	fmt.Println("prompt pays:", pay("order-17", 30))
	fmt.Println("late pays:", pay("order-17", 30))
	var balance int
	check(db.QueryRowContext(ctx, "SELECT balance FROM account WHERE id = 1").Scan(&balance))
	fmt.Println("balance:", balance)
	// Output:
	// prompt pays: true
	// late pays: false
	// balance: 70
}

// Cache lock: it only saves work, so that it may fail. What keeps an old value from
// replacing a newer one is the version of what it was computed from.
func Example_cacheLock() {
	db := database("CREATE TABLE cache (key TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL)")
	defer db.Close()

	put := func(value string, version int) (done bool) {
		res, err := db.ExecContext(ctx, `INSERT INTO cache VALUES ('front page', ?, ?)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version WHERE excluded.version > cache.version`, value, version)
		return changed(res, err) == 1
	}

	// late holds the cache lock, has read version 7 of the articles, and stands still;
	// the lock expires, and prompt does the work that late was to save it
	fmt.Println("prompt stores:", put("page of version 8", 8))
	fmt.Println("late stores:", put("page of version 7", 7))
	// Output:
	// prompt stores: true
	// late stores: false
}

// Leader with a fence: who leads is a row with an end and a term. The term grows with
// each election, and goes with whatever the leader writes.
func Example_leaderWithFence() {
	db := database("CREATE TABLE leader (role TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL, term INTEGER NOT NULL)",
		"INSERT INTO leader VALUES ('scheduler', '', 0, 40)",
		"CREATE TABLE plan (id INTEGER PRIMARY KEY, next TEXT NOT NULL, fence INTEGER NOT NULL DEFAULT 0)", "INSERT INTO plan (id, next) VALUES (1, 'none')")
	defer db.Close()

	lead := func(holder string, lease time.Duration) (term uint64, ok bool) {
		elect := dialect.SQLite.Statement(`UPDATE leader SET holder = {1}, until = {now} + {2}, term = term + 1
			WHERE role = 'scheduler' AND until < {now} RETURNING term`)
		err := db.QueryRowContext(ctx, elect.Text, elect.Args(holder, lease.Milliseconds())...).Scan(&term)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, false
		}
		check(err)
		return term, true
	}
	plan := fence.Column{Dialect: dialect.SQLite, Table: "plan", Key: "id", Fence: "fence"}

	late, _ := lead("late", 50*time.Millisecond)
	time.Sleep(100 * time.Millisecond) // late stands still
	prompt, _ := lead("prompt", time.Minute)
	fmt.Println("prompt leads in term", prompt, plan.Update(ctx, db, 1, prompt, "next = {1}", "backup"))
	fmt.Println("late led in term", late, plan.Update(ctx, db, 1, late, "next = {1}", "restore"))
	// Output:
	// prompt leads in term 42 <nil>
	// late led in term 41 fence: "plan 1": stale fence number: 41, and 42 was seen
}
