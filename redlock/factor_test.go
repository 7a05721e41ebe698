package redlock

import (
	"testing"

	"pgregory.net/rapid"
)

// The factor is taken as the decimal that it is written as: whatever has up to
// nine digits is a whole number of parts per billion, and the rest rounds up.
func TestFactorIsItsDecimal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, billion-1).Draw(t, "ppb")
		if got := perBillion(float64(n) / billion); got != n {
			t.Fatalf("%d parts per billion became %d", n, got)
		}
		if got := perBillion((float64(n) + 0.25) / billion); got != n+1 {
			t.Fatalf("a quarter above %d became %d", n, got)
		}
	})
}
