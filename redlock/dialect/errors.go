package dialect

import (
	"context"
	"errors"
	"reflect"
	"strings"
)

// A Fault is what an error of a statement says about the statement.
type Fault uint8

const (
	// Unknown: there was no answer, so it may have been executed, or be executed
	// yet.
	Unknown Fault = iota
	// Answered: the server said no, and nothing was changed.
	Answered
	// Again: the server took it back because of others (a deadlock, a
	// serialization failure, a locked database). It may be tried again.
	Again
)

// FaultOf says what err, of a statement outside a transaction, means. It knows the
// drivers pgx, lib/pq, go-sql-driver/mysql, modernc.org/sqlite and mattn/go-sqlite3 by
// the shape of their errors. What it does not know is Unknown, which is always safe.
func (d Dialect) FaultOf(err error) Fault {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return Unknown
	}
	if d == SQLite {
		return ofSQLite(err)
	}
	state := State(err)
	switch {
	case len(state) != 5:
		return Unknown
	case state == "40001" || state == "40P01":
		return Again
	}
	switch state[:2] {
	case "08", "57", "58", "70", "XX":
		// The connection failed, an operator ended the statement or the server, the
		// system below did, or the server does not know itself.
		return Unknown
	}
	return Answered
}

// ofSQLite goes by the texts of the library itself, which both drivers show. There is no
// network: whatever it says, it has said.
func ofSQLite(err error) Fault {
	text := err.Error()
	for _, s := range []string{"database is locked", "table is locked", "database schema has changed"} {
		if strings.Contains(text, s) {
			return Again
		}
	}
	for _, s := range []string{"interrupted", "disk I/O error", "bad connection", "is closed", "already closed"} {
		if strings.Contains(text, s) {
			return Unknown
		}
	}
	return Answered
}

// State is the SQLSTATE of a server's error, five characters; empty if err has none. It
// is what a method SQLState says, or the field of that name in the error of
// go-sql-driver/mysql, which has no method for it.
func State(err error) string {
	var teller interface{ SQLState() string }
	if errors.As(err, &teller) {
		return teller.SQLState()
	}
	for ; err != nil; err = errors.Unwrap(err) {
		v := reflect.ValueOf(err)
		if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
			continue
		}
		f := v.Elem().FieldByName("SQLState")
		if !f.IsValid() || !f.CanInterface() {
			continue
		}
		if state, ok := f.Interface().([5]byte); ok {
			return string(state[:])
		}
	}
	return ""
}
