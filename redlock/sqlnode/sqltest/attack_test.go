package sqltest

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"driftlock/internal/servers"
	"driftlock/redlock"
	"driftlock/redlock/dialect"
	"driftlock/redlock/sqlnode"
	"driftlock/redlock/sqlnode/sqltest/databases"
)

// What happens to databases and their connections.

func do(n redlock.Node, reqs ...*redlock.Request) []redlock.Reply {
	replies := make([]redlock.Reply, len(reqs))
	for i := range replies {
		replies[i] = redlock.Reply{Err: redlock.ErrNoAnswer}
	}
	n.Do(reqs, replies)
	return replies
}

func acquire(key, owner string, fence uint64) *redlock.Request {
	return &redlock.Request{Op: redlock.OpAcquire, Key: key, Owner: owner, TTL: time.Minute, Fence: fence}
}

func release(key, owner string) *redlock.Request {
	return &redlock.Request{Op: redlock.OpRelease, Key: key, Owner: owner}
}

// A wall clock that steps by J is the same as expiries that step by -J: forward frees a
// key early by just that, back keeps it longer (A3), and numbers do not care.
func TestServerClockSteps(t *testing.T) {
	everywhere(t, func(t *testing.T, db *databases.Database) {
		n := nodeIn(t, db)
		want := func(r redlock.Reply, s redlock.Status, fence uint64) {
			t.Helper()
			if r.Err != nil || r.Status != s || r.Fence != fence {
				t.Errorf("%v, number %d, %v; want %v and %d", r.Status, r.Fence, r.Err, s, fence)
			}
		}
		step := func(by time.Duration) {
			exec(t, db, fmt.Sprint("UPDATE redlock SET expires = expires - (", by.Milliseconds(), ") WHERE expires > 0"))
		}
		want(do(n, acquire("k", "a", 1))[0], redlock.Done, 1)
		step(50 * time.Second)
		want(do(n, acquire("k", "b", 2))[0], redlock.Others, 1)
		step(-time.Hour)
		want(do(n, acquire("k", "b", 2))[0], redlock.Others, 1)
		step(time.Hour + 20*time.Second)
		want(do(n, release("k", "a"))[0], redlock.Gone, 0)
		want(do(n, acquire("k", "b", 1))[0], redlock.Gone, 1)
		want(do(n, acquire("k", "b", 2))[0], redlock.Done, 2)
		want(do(n, release("k", "b"))[0], redlock.Done, 0)
	})
}

// The server's clock is in whole milliseconds of UTC, in any time zone, and is read at
// the server.
func TestClock(t *testing.T) {
	everywhere(t, func(t *testing.T, db *databases.Database) {
		if db.Dialect != dialect.SQLite {
			conn, err := db.Conn(bg)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			zone := map[dialect.Dialect]string{dialect.PostgreSQL: "SET TIME ZONE '+09:30'", dialect.MySQL: "SET time_zone = '+09:30'"}
			if _, err := conn.ExecContext(bg, zone[db.Dialect]); err != nil {
				t.Fatal(err)
			}
		}
		for range 50 {
			var now int64
			before := time.Now().UnixMilli()
			if err := db.QueryRow("SELECT " + db.Dialect.Now()).Scan(&now); err != nil {
				t.Fatal(err)
			}
			if after := time.Now().UnixMilli(); now < before || now > after {
				t.Fatalf("the server says %d, here it is %d to %d", now, before, after)
			}
		}
	})
}

// A server ends and comes back: nothing is lost, requests meanwhile are not said to be
// refused, and the pool's dead connections are used up. (pgx finds out that one is dead
// by using it, if that was last done less than a second ago: such a request has no
// answer.)
func TestDeadConnections(t *testing.T) {
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Postgres, servers.MariaDB} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := servers.New(t, kind)
			db := databases.In(t, s)
			n := nodeIn(t, db)
			if r := do(n, acquire("k", "a", 41))[0]; r.Status != redlock.Done {
				t.Fatal(r.Err)
			}
			var wg sync.WaitGroup // fill the pool
			for i := range 8 {
				wg.Go(func() { do(n, acquire(fmt.Sprint(i), "x", 0)) })
			}
			wg.Wait()
			s.Kill()
			r := do(n, acquire("l", "a", 1))[0]
			if r.Err == nil || !errors.Is(r.Err, redlock.ErrUnsent) && !errors.Is(r.Err, redlock.ErrNoAnswer) {
				t.Errorf("without a server: %v", r.Err)
			}
			if r := do(n, acquire("l", "b", 1))[0]; !errors.Is(r.Err, redlock.ErrUnsent) {
				t.Errorf("nobody listens, so it was certainly not sent: %v", r.Err)
			}
			if err := s.Run(); err != nil {
				t.Fatal(err)
			}
			for try := 0; ; try++ {
				r := do(n, release("nobody's", "a"))[0]
				if r.Err == nil {
					break
				}
				if !errors.Is(r.Err, redlock.ErrNoAnswer) && !errors.Is(r.Err, redlock.ErrUnsent) || try > 8 {
					t.Fatalf("try %d after the restart: %v", try, r.Err)
				}
			}
			// Keys and numbers have survived: A2 holds through a restart.
			replies := do(n, acquire("k", "b", 99), release("k", "a"), acquire("k", "b", 41), acquire("k", "b", 42))
			for i, want := range []redlock.Status{redlock.Others, redlock.Done, redlock.Gone, redlock.Done} {
				if replies[i].Err != nil || replies[i].Status != want {
					t.Errorf("request %d after the restart: %v %v, want %v", i, replies[i].Status, replies[i].Err, want)
				}
			}
		})
	}
}

// A statement that is killed in the middle has no answer; what waits behind it is not
// sent; the node goes on.
func TestKilledStatement(t *testing.T) {
	t.Parallel()
	for _, d := range []dialect.Dialect{dialect.PostgreSQL, dialect.MySQL} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			n, db := node(t, d)
			do(n, acquire("k", "a", 1))
			tx, err := db.Begin() // somebody holds the row
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			var number int64
			if err := tx.QueryRow("SELECT fence FROM redlock FOR UPDATE").Scan(&number); err != nil {
				t.Fatal(err)
			}
			replies := make(chan []redlock.Reply)
			go func() { replies <- do(n, release("k", "a"), acquire("l", "a", 1)) }()
			killed := false
			for end := time.Now().Add(10 * time.Second); !killed && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				killed = kill(t, db)
			}
			rs := <-replies
			if !killed || !errors.Is(rs[0].Err, redlock.ErrNoAnswer) || !errors.Is(rs[1].Err, redlock.ErrUnsent) {
				t.Errorf("killed %v: %v, and what waits behind: %v", killed, rs[0].Err, rs[1].Err)
			}
			tx.Rollback()
			if r := do(n, release("k", "a"))[0]; r.Status != redlock.Done {
				t.Errorf("afterwards: %v %v", r.Status, r.Err)
			}
		})
	}
}

// kill ends the connections that wait for a lock in this database.
func kill(t *testing.T, db *databases.Database) bool {
	if db.Dialect == dialect.PostgreSQL {
		res, err := db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
		if err != nil {
			t.Fatal(err)
		}
		n, _ := res.RowsAffected()
		return n > 0
	}
	var id int64
	if err := db.QueryRow("SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'UPDATE redlock%'").Scan(&id); err != nil {
		return false
	}
	_, err := db.Exec(fmt.Sprint("KILL ", id))
	return err == nil
}

// A database that does not answer ends a batch when the node's own bound is over.
func TestStuckDatabase(t *testing.T) {
	everywhere(t, func(t *testing.T, db *databases.Database) {
		n := nodeIn(t, db, sqlnode.WithTimeout(300*time.Millisecond))
		do(n, acquire("k", "a", 1))
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("UPDATE redlock SET owner = owner"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		rs := do(n, release("k", "a"), acquire("l", "a", 1))
		most := 2 * time.Second
		if db.Dialect == dialect.SQLite {
			most += 2 * time.Second // its busy_timeout
		}
		if took := time.Since(begin); took > most {
			t.Errorf("took %v", took)
		}
		if !errors.Is(rs[0].Err, redlock.ErrNoAnswer) || !errors.Is(rs[1].Err, redlock.ErrUnsent) {
			t.Errorf("%v; behind it: %v", rs[0].Err, rs[1].Err)
		}
		tx.Rollback()
		if r := do(n, acquire("l", "b", 2))[0]; r.Status != redlock.Done && r.Status != redlock.Others {
			t.Errorf("afterwards: %v", r.Err)
		}
	})
}

// The database's own no is an answer, and nothing else in the batch suffers.
func TestServersOwnErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, db *databases.Database) {
		none, err := sqlnode.New("none", db.DB, db.Dialect, sqlnode.WithTable("no_such_table"))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range do(none, acquire("k", "a", 0), release("k", "a")) {
			if r.Err == nil || errors.Is(r.Err, redlock.ErrNoAnswer) || errors.Is(r.Err, redlock.ErrUnsent) || !strings.Contains(r.Err.Error(), "no_such_table") {
				t.Errorf("request %d: %v", i, r.Err)
			}
		}
		n := nodeIn(t, db)
		long := strings.Repeat("o", 300)
		rs := do(n, acquire("k", long, 0), acquire("k", "a", 1<<63), &redlock.Request{Op: 9, Key: "k"}, &redlock.Request{Op: redlock.OpAcquire, Key: "k", Owner: "a"}, acquire("k", "a", 1))
		for i, want := range []string{"300 bytes", "9223372036854775808", "op 9", "ttl 0s"} {
			if rs[i].Err == nil || !strings.Contains(rs[i].Err.Error(), want) || errors.Is(rs[i].Err, redlock.ErrUnsent) {
				t.Errorf("request %d: %v, want %q", i, rs[i].Err, want)
			}
		}
		if rs[4].Status != redlock.Done {
			t.Errorf("a good request after bad ones: %v", rs[4].Err)
		}
		db.Close()
		for i, r := range do(n, acquire("k", "a", 0), release("k", "a")) {
			if !errors.Is(r.Err, redlock.ErrUnsent) {
				t.Errorf("closed, request %d: %v", i, r.Err)
			}
		}
	})
}

// A MySQL connection that counts the rows that were found, not those that were changed,
// makes no difference; nor does one that prepares each statement.
func TestMySQLSettings(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"clientFoundRows=true", "interpolateParams=true&clientFoundRows=true", "multiStatements=true", "parseTime=true&collation=utf8mb4_general_ci"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			db := databases.Fresh(t, &shared, dialect.MySQL)
			source, _, _ := strings.Cut(db.Source, "?")
			n := nodeIn(t, databases.Open(t, dialect.MySQL, db.Driver, source+"?"+setting))
			for i, s := range []struct {
				req  *redlock.Request
				want redlock.Status
			}{
				{acquire("k", "a", 0), redlock.Done}, {acquire("k", "b", 0), redlock.Others}, {release("k", "b"), redlock.Others}, {release("k", "a"), redlock.Done},
				{acquire("k", "a", 7), redlock.Done}, {acquire("k", "b", 8), redlock.Others}, {release("k", "a"), redlock.Done}, {acquire("k", "b", 7), redlock.Gone},
				{acquire("k", "b", 8), redlock.Done}, {&redlock.Request{Op: redlock.OpExtend, Key: "k", Owner: "b", TTL: time.Second}, redlock.Done}, {release("k", "b"), redlock.Done},
			} {
				if r := do(n, s.req)[0]; r.Status != s.want {
					t.Errorf("step %d: %v %v, want %v", i, r.Status, r.Err, s.want)
				}
			}
		})
	}
}

// Without fencing nothing is left of a key; what nobody released is tidied away, and
// numbers are not.
func TestWhatIsLeft(t *testing.T) {
	everywhere(t, func(t *testing.T, db *databases.Database) {
		n := nodeIn(t, db)
		do(n, acquire("released", "a", 0), acquire("left", "a", 0), acquire("held", "a", 0), acquire("numbered", "a", 1))
		do(n, release("released", "a"), release("numbered", "a"))
		exec(t, db, "UPDATE redlock SET expires = 1 WHERE lock_key = (SELECT k FROM (SELECT lock_key AS k FROM redlock ORDER BY lock_key DESC LIMIT 1 OFFSET 1) x)") // left
		rows := func() (n int) {
			if err := db.QueryRow("SELECT COUNT(*) FROM redlock").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := rows()
		deleted, err := n.Tidy(bg)
		if before != 3 || deleted != 1 || err != nil || rows() != 2 {
			t.Errorf("%d rows, then %d deleted, %v, and %d left", before, deleted, err, rows())
		}
	})
}

// Whatever isolation connections have by default, and whether or not they wait for each
// other, of many who ask one gets the key.
func TestIsolation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		d       dialect.Dialect
		setting string
	}{
		{"serializable PostgreSQL", dialect.PostgreSQL, "&default_transaction_isolation=serializable"},
		{"repeatable read PostgreSQL", dialect.PostgreSQL, "&default_transaction_isolation=repeatable%20read"},
		{"serializable MariaDB", dialect.MySQL, "&tx_isolation=%27SERIALIZABLE%27"},
		{"read committed MariaDB", dialect.MySQL, "&tx_isolation=%27READ-COMMITTED%27"},
		{"SQLite that does not wait", dialect.SQLite, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := databases.Fresh(t, &shared, c.d)
			source := db.Source + c.setting
			if c.d == dialect.SQLite {
				source, _, _ = strings.Cut(db.Source, "?") // no busy_timeout, no WAL
			}
			n := nodeIn(t, databases.Open(t, c.d, db.Driver, source))
			for round := range 15 {
				var won, others atomic.Int32
				var wg sync.WaitGroup
				for g := range 8 {
					wg.Go(func() {
						owner := fmt.Sprint(g)
						switch r := do(n, acquire("k", owner, uint64(round%2*(round+1))))[0]; r.Status {
						case redlock.Done:
							won.Add(1)
							if r := do(n, release("k", "x"), release("k", owner)); r[1].Status != redlock.Done {
								t.Errorf("release: %v", r[1].Err)
							}
						case redlock.Others, redlock.Gone:
							others.Add(1)
						default:
							t.Errorf("%v", r.Err)
						}
					})
				}
				wg.Wait()
				if won.Load() < 1 || round%2 == 1 && won.Load() != 1 || won.Load()+others.Load() != 8 {
					t.Fatalf("round %d: %d got the key, %d did not", round, won.Load(), others.Load())
				}
			}
		})
	}
}

// One database is one node, whatever it is called.
func TestSameDatabaseTwice(t *testing.T) {
	everywhere(t, func(t *testing.T, db *databases.Database) {
		a, b := nodeIn(t, db), nodeIn(t, db)
		if _, err := redlock.New([]redlock.Node{a, b}); !errors.Is(err, redlock.ErrBadArgument) {
			t.Errorf("the same db twice: %v", err)
		}
		other := nodeIn(t, databases.Open(t, db.Dialect, db.Driver, db.Source))
		l, err := redlock.New([]redlock.Node{a, other}, redlock.WithRunIDCheck(), redlock.WithNodeTimeout(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		id, err := a.RunID(bg)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("it calls itself %q", id)
		_, err = l.TryAcquire(bg, "k", time.Minute)
		if id != "" && !errors.Is(err, redlock.ErrBadArgument) {
			t.Errorf("the same server by two connections: %v", err)
		}
	})
}

// Many processes may make the table at once. What PostgreSQL says to those that come
// second depends on how far the first has come, so there are many tables.
func TestCreate(t *testing.T) {
	everywhere(t, func(t *testing.T, db *databases.Database) {
		for table := range 20 {
			createAtOnce(t, fmt.Sprint("locks_", table), db, db, db, db, db, db, db, db)
		}
	})
}

// createAtOnce has each make the table at the same time.
func createAtOnce(t *testing.T, table string, each ...*databases.Database) {
	t.Helper()
	var wg sync.WaitGroup
	for _, db := range each {
		n, err := sqlnode.New("n", db.DB, db.Dialect, sqlnode.WithTable(table))
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := n.Create(bg); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// SQLite that was not told to wait is tried again.
func TestCreateInABusyFile(t *testing.T) {
	t.Parallel()
	for range 10 {
		file := "file:" + url.PathEscape(filepath.Join(t.TempDir(), "busy.db"))
		var pools []*databases.Database
		for range 8 {
			pools = append(pools, databases.Open(t, dialect.SQLite, "sqlite", file))
		}
		createAtOnce(t, "locks", pools...)
	}
}

// Where the table is there, nobody needs the right to make it; where it is not, the
// database's own error is told.
func TestCreateWithoutTheRight(t *testing.T) {
	t.Parallel()
	made := databases.Fresh(t, &shared, dialect.PostgreSQL)
	nodeIn(t, made)
	for _, s := range []string{"CREATE ROLE clerk LOGIN", "GRANT SELECT, INSERT, UPDATE, DELETE ON redlock TO clerk"} {
		exec(t, made, s)
	}
	for name, source := range map[string]string{
		"no right to create":  strings.Replace(made.Source, "driftlock@", "clerk@", 1),
		"a read-only session": made.Source + "&default_transaction_read_only=on",
	} {
		db := databases.Open(t, dialect.PostgreSQL, made.Driver, source)
		for table, want := range map[string]bool{"redlock": true, "others": false} {
			n, err := sqlnode.New("n", db.DB, db.Dialect, sqlnode.WithTable(table))
			if err != nil {
				t.Fatal(err)
			}
			err = n.Create(bg)
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "create table others on n: ERROR") {
				t.Errorf("%s, %s: %v", name, table, err)
			}
		}
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	db := databases.Fresh(t, &shared, dialect.SQLite)
	for want, f := range map[string]func() (*sqlnode.Node, error){
		"name empty": func() (*sqlnode.Node, error) { return sqlnode.New("", db.DB, dialect.SQLite) },
		"db nil":     func() (*sqlnode.Node, error) { return sqlnode.New("a", nil, dialect.SQLite) },
		"dialect 0":  func() (*sqlnode.Node, error) { return sqlnode.New("a", db.DB, 0) },
		"table": func() (*sqlnode.Node, error) {
			return sqlnode.New("a", db.DB, dialect.SQLite, sqlnode.WithTable("a b"))
		},
		"timeout 0s": func() (*sqlnode.Node, error) {
			return sqlnode.New("a", db.DB, dialect.SQLite, nil, sqlnode.WithTimeout(0))
		},
	} {
		n, err := f()
		if n != nil || !errors.Is(err, redlock.ErrBadArgument) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
