// Package dialect is where SQL databases differ, as far as locks and fences need it:
// placeholders, the server's clock, and what an error of a driver means. It imports no
// driver.
package dialect

import (
	"fmt"
	"regexp"
)

// A Dialect is a family of SQL databases.
type Dialect uint8

const (
	PostgreSQL Dialect = iota + 1 // 12 or later
	MySQL                         // MySQL 5.7 or later, MariaDB 10.4 or later
	SQLite                        // 3.24 or later
)

// String is the name of d.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case MySQL:
		return "MySQL"
	case SQLite:
		return "SQLite"
	}
	return fmt.Sprintf("dialect %d", uint8(d))
}

// Check refuses what is none of the constants.
func (d Dialect) Check() error {
	if d < PostgreSQL || d > SQLite {
		return fmt.Errorf("%v: allowed are dialect.PostgreSQL, dialect.MySQL and dialect.SQLite", d)
	}
	return nil
}

// Now is an expression for the wall clock of the server: whole milliseconds since 1970
// in UTC, rounded down. It depends on no time zone, so that no change to winter time
// sets it back. PostgreSQL reads it when it is evaluated, the others when the statement
// begins.
func (d Dialect) Now() string {
	switch d {
	case PostgreSQL:
		return "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
	case MySQL:
		return "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000)"
	}
	// No float in it: strftime's parts are exact, and 'now' is one instant in a statement.
	return "(CAST(strftime('%s', 'now') AS INTEGER) * 1000 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER))"
}

// Bytes is the type of a column for a short string of any bytes that can be a primary
// key and is compared byte by byte.
func (d Dialect) Bytes() string {
	switch d {
	case PostgreSQL:
		return "BYTEA"
	case MySQL:
		return "VARBINARY(255)"
	}
	return "BLOB"
}

// Engine ends a CREATE TABLE: MySQL is told to use a table that survives a crash.
func (d Dialect) Engine() string {
	if d == MySQL {
		return " ENGINE=InnoDB"
	}
	return ""
}

var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$`)

// CheckName refuses what is not a plain name of a table or column, possibly with its
// schema before it: names become part of a statement as they are.
func CheckName(what, s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf("%s %q: allowed are letters, digits and _, up to 63, and a schema before it with a dot", what, shorten(s))
	}
	return nil
}

func shorten(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
