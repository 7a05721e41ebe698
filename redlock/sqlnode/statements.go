package sqlnode

import "driftlock/redlock/dialect"

// statements are what a node says to its database. The arguments are {1} key, {2}
// owner, {3} TTL in milliseconds, {4} number.
type statements struct {
	acquire, extend, delete, end, look dialect.Statement
	granted                            int64 // rows that acquire changes if and only if it set the key; others are to be looked at
}

// A key is free when the clock has passed its expiry, and not yet at the very
// millisecond: both readings are rounded down, so it lives at least its TTL.
const (
	upsert = `INSERT INTO {table} AS held (lock_key, owner, expires, fence)
VALUES ({1}, {2}, {now} + {3}, {4})
ON CONFLICT (lock_key) DO UPDATE SET owner = excluded.owner, expires = excluded.expires,
	fence = CASE WHEN excluded.fence > held.fence THEN excluded.fence ELSE held.fence END
WHERE held.expires < {now} AND (excluded.fence = 0 OR excluded.fence > held.fence)`

	// MySQL's knows no condition, and assigns from left to right: expires and fence are
	// the old ones until they are assigned themselves. A row that was there and is
	// changed counts as two. One is a new row, or with clientFoundRows=true also one
	// that stays as it is.
	upsertMySQL = `INSERT INTO {table} (lock_key, owner, expires, fence)
VALUES ({1}, {2}, {now} + {3}, {4})
ON DUPLICATE KEY UPDATE
	owner = IF(expires < {now} AND (VALUES(fence) = 0 OR fence < VALUES(fence)), VALUES(owner), owner),
	expires = IF(expires < {now} AND (VALUES(fence) = 0 OR fence < VALUES(fence)), VALUES(expires), expires),
	fence = IF(owner = VALUES(owner) AND expires = VALUES(expires), GREATEST(fence, VALUES(fence)), fence)`

	// Never shorten a key. One that would live longer anyway gets a millisecond more,
	// because MySQL does not count a row that stays as it is.
	extend = `UPDATE {table} SET expires = CASE WHEN expires < {now} + {3} THEN {now} + {3} ELSE expires + 1 END
WHERE lock_key = {1} AND owner = {2} AND expires >= {now}`

	del  = `DELETE FROM {table} WHERE lock_key = {1} AND owner = {2} AND expires >= {now} AND fence = 0`
	end  = `UPDATE {table} SET expires = 0 WHERE lock_key = {1} AND owner = {2} AND expires >= {now} AND fence > 0`
	look = `SELECT owner, CASE WHEN expires >= {now} THEN 1 ELSE 0 END, fence FROM {table} WHERE lock_key = {1}`
	tidy = `DELETE FROM {table} WHERE fence = 0 AND expires < {now}`

	exists = `SELECT 1 FROM {table} WHERE 1 = 0`

	schema = `CREATE TABLE IF NOT EXISTS {table} (
	lock_key {bytes} NOT NULL PRIMARY KEY,
	owner    {bytes} NOT NULL,
	expires  BIGINT NOT NULL, -- milliseconds since 1970 by the server's clock; 0: released
	fence    BIGINT NOT NULL  -- the highest number accepted; 0: none
){engine}`
)

func statementsOf(d dialect.Dialect, table string) statements {
	say := func(text string) dialect.Statement { return d.Statement(text, "{table}", table) }
	s := statements{acquire: say(upsert), extend: say(extend), delete: say(del), end: say(end), look: say(look), granted: 1}
	if d == dialect.MySQL {
		s.acquire, s.granted = say(upsertMySQL), 2
	}
	return s
}
