package sqlnode

import (
	"context"
	"fmt"
	"strings"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/redlock/dialect"

	"github.com/jonboulle/clockwork"
)

// Schema is the statement that makes the table of nodes with the same options, for a
// migration. It does nothing where there is one already.
func Schema(d dialect.Dialect, table string) (string, error) {
	if err := d.Check(); err != nil {
		return "", fmt.Errorf("sqlnode: %w: %w", redlock.ErrBadArgument, err)
	}
	if err := dialect.CheckName("table", table); err != nil {
		return "", fmt.Errorf("sqlnode: %w: %w", redlock.ErrBadArgument, err)
	}
	return d.Statement(schema, "{table}", table, "{bytes}", d.Bytes(), "{engine}", d.Engine()).Text, nil
}

// Create makes the node's table if there is none. Several processes may do so at once,
// and where there is one it needs no right to make one. A table that is there is left as
// it is, whatever it looks like. A database that is busy is tried again until the node's
// timeout (WithTimeout) is over.
func (n *Node) Create(ctx context.Context) error {
	text, err := Schema(n.dialect, n.table)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		// What it says if another makes the table just now depends on the database and
		// on how far the other has come.
		if _, err = n.db.ExecContext(ctx, text); err == nil || n.exists(ctx) {
			return nil
		}
		if n.dialect.FaultOf(err) != dialect.Again || clock.Sleep(bounded, clockwork.NewRealClock(), pause) != nil {
			return fmt.Errorf("sqlnode: create table %s on %s: %w", n.table, n.name, err)
		}
	}
}

// exists says whether the table can be read.
func (n *Node) exists(ctx context.Context) bool {
	rows, err := n.db.QueryContext(ctx, n.dialect.Statement(exists, "{table}", n.table).Text)
	if err != nil {
		return false
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err() == nil
}

// Tidy deletes the rows of keys that expired without a release, and says how many. Such
// a row does no harm, and is used again when the key is. Rows with a fence number stay:
// a number that was deleted might come again.
func (n *Node) Tidy(ctx context.Context) (int64, error) {
	res, err := n.db.ExecContext(ctx, n.dialect.Statement(tidy, "{table}", n.table).Text)
	if err != nil {
		return 0, fmt.Errorf("sqlnode: tidy %s on %s: %w", n.table, n.name, err)
	}
	return res.RowsAffected()
}

// RunID says which server it is, for redlock.WithRunIDCheck: what PostgreSQL calls its
// system identifier (a replica has the same), MySQL server_uuid, MariaDB server_uid,
// and the file of SQLite. It is empty for a database in memory, and for a MariaDB that
// has no such thing.
func (n *Node) RunID(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	var id string
	switch n.dialect {
	case dialect.PostgreSQL:
		err := n.db.QueryRowContext(ctx, "SELECT system_identifier::text FROM pg_control_system()").Scan(&id)
		return id, err
	case dialect.SQLite:
		err := n.db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&id)
		return id, err
	}
	var name string // of a variable whose name depends on the product
	rows, err := n.db.QueryContext(ctx, "SHOW VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid')")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&name, &id); err != nil {
			return "", err
		}
	}
	return strings.TrimSpace(id), rows.Err()
}
