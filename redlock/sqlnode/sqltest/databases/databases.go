// Package databases opens databases for tests: SQLite in a file, and PostgreSQL and
// MariaDB servers that it starts. The drivers are imported here, and nowhere else.
package databases

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"driftlock/internal/servers"
	"driftlock/redlock/dialect"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// A Database is one that is open.
type Database struct {
	*sql.DB
	Dialect dialect.Dialect
	Source  string // what it was opened with
	Driver  string
}

// All are the dialects.
var All = []dialect.Dialect{dialect.PostgreSQL, dialect.MySQL, dialect.SQLite}

var serial atomic.Int64

// Fresh opens an empty database that is closed when the test ends: a file of SQLite, or
// a database in the shared server.
func Fresh(t testing.TB, shared *servers.Shared, d dialect.Dialect) *Database {
	t.Helper()
	if d == dialect.SQLite {
		return SQLite(t, filepath.Join(t.TempDir(), "test.db"))
	}
	kind := servers.Postgres
	if d == dialect.MySQL {
		kind = servers.MariaDB
	}
	return In(t, shared.Server(t, kind))
}

// In opens a new database in a server.
func In(t testing.TB, s *servers.Server) *Database {
	t.Helper()
	name := fmt.Sprint("t", serial.Add(1))
	if s.Kind == servers.MariaDB {
		// One round trip a statement, and not three.
		all := Open(t, dialect.MySQL, "mysql", "root@tcp("+s.Addr+")/?interpolateParams=true")
		create(t, all, name)
		return Open(t, dialect.MySQL, "mysql", "root@tcp("+s.Addr+")/"+name+"?interpolateParams=true")
	}
	all := Open(t, dialect.PostgreSQL, "pgx", "postgres://driftlock@"+s.Addr+"/postgres?sslmode=disable")
	create(t, all, name)
	return Open(t, dialect.PostgreSQL, "pgx", "postgres://driftlock@"+s.Addr+"/"+name+"?sslmode=disable")
}

func create(t testing.TB, db *Database, name string) {
	t.Helper()
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
}

// SQLite opens a file. Writers wait for each other.
func SQLite(t testing.TB, file string) *Database {
	t.Helper()
	return Open(t, dialect.SQLite, "sqlite", "file:"+url.PathEscape(file)+"?_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_txlock=immediate")
}

// Open opens what source says, with a pool that is large enough to be of interest.
func Open(t testing.TB, d dialect.Dialect, driver, source string) *Database {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(8)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		t.Fatal(err)
	}
	return &Database{DB: db, Dialect: d, Driver: driver, Source: source}
}
