package clock

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is written "10s" in JSON and in flags.
type Duration time.Duration

// String is that of a time.Duration: "10s", "1.5ms".
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText is String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is ParseDuration.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := ParseDuration(string(b))
	if err == nil {
		*d = v
	}
	return err
}

// ParseDuration reads what time.ParseDuration reads, but refuses what is no
// whole number of nanoseconds instead of cutting it.
func ParseDuration(s string) (Duration, error) {
	rest, negative := strings.CutPrefix(s, "-")
	if !negative {
		rest = strings.TrimPrefix(rest, "+")
	}
	if rest == "0" {
		return 0, nil
	}
	var sum uint64
	for first := true; first || rest != ""; first = false {
		var number string
		number, rest = span(rest, func(c byte) bool { return c == '.' || '0' <= c && c <= '9' })
		var unit string
		unit, rest = span(rest, func(c byte) bool { return c != '.' && (c < '0' || c > '9') })
		if number != "" && unit == "" {
			return 0, fmt.Errorf("duration %q: has no unit: ns, us, ms, s, m or h", clip(s))
		}
		ns, ok := unitNs[unit]
		whole, part, point := strings.Cut(number, ".")
		part = strings.TrimRight(part, "0")
		if !ok || !digits(whole+part) && (whole != "" || !point) || strings.Contains(part, ".") || number == "." {
			return 0, fmt.Errorf(`duration %q: a duration is written "10s", "1.5ms" or "1m30s" (ns, us, ms, s, m, h)`, clip(s))
		}
		v, whole64, fits := exact(whole, part, ns)
		if !whole64 {
			return 0, fmt.Errorf("duration %q: no whole number of nanoseconds", clip(s))
		}
		var carry uint64
		sum, carry = bits.Add64(sum, v, 0)
		if !fits || carry != 0 || sum > 1<<63 || sum == 1<<63 && !negative {
			return 0, fmt.Errorf("duration %q: out of range: at most about 292 years (2562047h)", clip(s))
		}
	}
	if negative {
		return Duration(-sum), nil
	}
	return Duration(sum), nil
}

var unitNs = map[string]uint64{
	"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, // U+00B5 and U+03BC
	"ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9,
}

// span cuts s after its first bytes that are all in set.
func span(s string, set func(byte) bool) (head, tail string) {
	i := 0
	for i < len(s) && set(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// exact is whole.part × unit; whether that is a whole number, and whether it fits.
func exact(whole, part string, unit uint64) (v uint64, isWhole, fits bool) {
	if len(part) > 13 { // an hour is 2¹³·… ns: more digits than that never come out whole
		return 0, false, true
	}
	if whole != "" {
		n, err := strconv.ParseUint(whole, 10, 64)
		hi, lo := bits.Mul64(n, unit)
		if err != nil || hi != 0 {
			return 0, true, false
		}
		v = lo
	}
	if part != "" {
		n, _ := strconv.ParseUint(part, 10, 64)
		scale := uint64(1)
		for range part {
			scale *= 10
		}
		hi, lo := bits.Mul64(n, unit)
		q, r := bits.Div64(hi, lo, scale) // n < scale, so the quotient is below unit
		if r != 0 {
			return 0, false, true
		}
		var carry uint64
		if v, carry = bits.Add64(v, q, 0); carry != 0 {
			return 0, true, false
		}
	}
	return v, true, true
}
