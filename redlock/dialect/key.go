package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Key is what a key of any length is stored as in a column of type Bytes: itself, or if
// it has more than 255 bytes its SHA-256. What looks like such a hash is hashed too, so
// that no two keys share a row.
func Key(key string) []byte {
	const mark = "sha256:"
	if len(key) <= 255 && !strings.HasPrefix(key, mark) {
		return []byte(key)
	}
	sum := sha256.Sum256([]byte(key))
	return []byte(mark + hex.EncodeToString(sum[:]))
}
