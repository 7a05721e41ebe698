package instead

import (
	"database/sql"
	"log"

	_ "modernc.org/sqlite"
)

// database opens a database in memory that has what the statements make.
func database(statements ...string) *sql.DB {
	db, err := sql.Open("sqlite", ":memory:")
	check(err)
	db.SetMaxOpenConns(1) // a second connection would have a database of its own
	for _, s := range statements {
		_, err := db.Exec(s)
		check(err)
	}
	return db
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// changed is how many rows a statement changed.
func changed(res sql.Result, err error) int64 {
	check(err)
	n, err := res.RowsAffected()
	check(err)
	return n
}
