package sqltest

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"driftlock/internal/servers"
	"driftlock/redlock"
	"driftlock/redlock/dialect"
	"driftlock/redlock/locktest"
	"driftlock/redlock/sqlnode"
	"driftlock/redlock/sqlnode/sqltest/databases"

	"github.com/redis/go-redis/v9"
)

var (
	shared servers.Shared
	serial atomic.Int64
)

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Stop()
	os.Exit(code)
}

// node is a node over a fresh database, with its table.
func node(t testing.TB, d dialect.Dialect, opts ...sqlnode.Option) (*sqlnode.Node, *databases.Database) {
	t.Helper()
	db := databases.Fresh(t, &shared, d)
	return nodeIn(t, db, opts...), db
}

func nodeIn(t testing.TB, db *databases.Database, opts ...sqlnode.Option) *sqlnode.Node {
	t.Helper()
	n, err := sqlnode.New(db.Dialect.String()+" "+strconv.FormatInt(serial.Add(1), 10), db.DB, db.Dialect, opts...)
	if err == nil {
		err = n.Create(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func overDialect(d dialect.Dialect) func(t testing.TB) redlock.Node {
	return func(t testing.TB) redlock.Node {
		n, _ := node(t, d)
		return n
	}
}

// overRedis starts a Redis of the node's own.
func overRedis(t testing.TB) redlock.Node {
	s := servers.New(t, servers.Redis)
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	t.Cleanup(func() { c.Close() })
	return redlock.RedisNode(c)
}

// The suite that Redis passes, on each database, and on a quorum of different stores.
func TestNode(t *testing.T) {
	for _, d := range databases.All {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			locktest.Node(t, overDialect(d))
		})
	}
}

func TestLock(t *testing.T) {
	pg, maria, lite := overDialect(dialect.PostgreSQL), overDialect(dialect.MySQL), overDialect(dialect.SQLite)
	for _, c := range []struct {
		name  string
		nodes [3]func(t testing.TB) redlock.Node
	}{
		{"PostgreSQL", [3]func(t testing.TB) redlock.Node{pg, pg, pg}},
		{"MariaDB", [3]func(t testing.TB) redlock.Node{maria, maria, maria}},
		{"SQLite", [3]func(t testing.TB) redlock.Node{lite, lite, lite}},
		{"databases", [3]func(t testing.TB) redlock.Node{maria, pg, lite}},
		{"mix", [3]func(t testing.TB) redlock.Node{overRedis, pg, maria}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			locktest.Lock(t, func(t testing.TB, n int) []redlock.Node {
				var nodes []redlock.Node
				for i := range n {
					nodes = append(nodes, c.nodes[i](t))
				}
				return nodes
			})
		})
	}
}
