// Package clock has clocks on exact integer arithmetic, and the few ways in
// which code may wait on an injected clock.
package clock

import "time"

// A Rate is how many of its own nanoseconds a clock counts in one true
// nanosecond, as an exact fraction. The zero Rate is 1, a perfect clock.
type Rate struct{ num, den int64 }

// Duration is a time.Duration that is written "10s" in JSON and in flags.
type Duration time.Duration
