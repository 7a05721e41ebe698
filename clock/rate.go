package clock

// The speed of a clock, and the two questions asked of it: what has it counted
// after so much true time, and when will it have counted so much. Both are
// answered in whole nanoseconds, over 128 bits and without floats, so that the
// answers are the same on every machine.

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// A Rate is how many of its own nanoseconds a clock counts in one true
// nanosecond, as an exact fraction above 0. The zero Rate is 1, a perfect clock.
// It is kept in lowest terms, so == compares by value.
//
// Fractions, not parts per billion: the break-even clocks of a drift factor of
// 1 % run at 198/199 and 200/199, which no number of ppb hits.
type Rate struct{ num, den int64 } // both 0, or in lowest terms and not 1/1

// Ratio returns the rate num/den. It panics unless both are above 0: it is for
// numbers that stand in code. Numbers from outside go through ParseRate.
func Ratio(num, den int64) Rate {
	if num <= 0 || den <= 0 {
		panic(fmt.Sprintf("clock: the rate %d/%d: both must be above 0", num, den))
	}
	return reduced(num, den)
}

// reduced is num/den in lowest terms, for num and den above 0.
func reduced(num, den int64) Rate {
	if num == den {
		return Rate{}
	}
	g := gcd(num, den)
	return Rate{num / g, den / g}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Fraction returns the rate as a fraction in lowest terms: 1, 1 of the zero Rate.
func (r Rate) Fraction() (num, den int64) {
	if r.IsZero() {
		return 1, 1
	}
	return r.num, r.den
}

// IsZero says whether the rate is 1, so that omitzero leaves a perfect clock out.
func (r Rate) IsZero() bool { return r.num == 0 }

// Cmp is below 0 if r is slower than s, 0 if they are the same, above 0 if r is faster.
func (r Rate) Cmp(s Rate) int {
	rn, rd := r.Fraction()
	sn, sd := s.Fraction()
	ahi, alo := bits.Mul64(uint64(rn), uint64(sd))
	bhi, blo := bits.Mul64(uint64(sn), uint64(rd))
	switch {
	case ahi < bhi || ahi == bhi && alo < blo:
		return -1
	case ahi > bhi || alo > blo:
		return 1
	}
	return 0
}

// Elapsed returns what the clock has counted after trueNs true nanoseconds,
// rounded down (also below 0). A result beyond int64 is its nearest end.
func (r Rate) Elapsed(trueNs int64) int64 {
	if r.num == 0 {
		return trueNs
	}
	return scale(trueNs, uint64(r.num), uint64(r.den), 0)
}

// Reached returns the first true nanosecond at which the clock has counted ns:
// Elapsed(Reached(ns)) ≥ ns and Elapsed(Reached(ns)−1) < ns. A result beyond
// int64 is its nearest end, and then the first of these does not hold.
func (r Rate) Reached(ns int64) int64 {
	if r.num == 0 {
		return ns
	}
	return scale(ns, uint64(r.den), uint64(r.num), 1)
}

// scale is a·b/c for b, c > 0, rounded down (up = 0) or up (up = 1), and kept
// within int64.
func scale(a int64, b, c uint64, up uint64) int64 {
	sign := uint64(a) >> 63 // 1 below 0
	size := (uint64(a) ^ -sign) + sign
	hi, lo := bits.Mul64(size, b)
	if hi >= c { // the quotient needs more than 64 bits
		return end(sign)
	}
	q, rest := bits.Div64(hi, lo, c)
	if rest != 0 && sign != up { // down is away from 0 below it, up is so above it
		q++
		if q == 0 {
			return end(sign)
		}
	}
	if q > math.MaxInt64 {
		return end(sign)
	}
	return int64((q ^ -sign) + sign)
}

// end is the end of int64 on that side of 0.
func end(sign uint64) int64 {
	if sign == 1 {
		return math.MinInt64
	}
	return math.MaxInt64
}

const rateForms = `a rate is written "1", "200/199", "0.9998", "+200ppm", "-5ppb" or "+1/12" (13/12)`

// ParseRate reads a rate: a number or fraction ("1", "0.9998", "200/199"), or
// with a sign the deviation from 1 ("+200ppm", "-5ppb", "+1/12" for 13/12). It
// must be above 0, and its fraction in lowest terms must fit in two int64.
func ParseRate(s string) (Rate, error) {
	body, sign := s, 0
	switch {
	case strings.HasPrefix(s, "+"):
		body, sign = s[1:], 1
	case strings.HasPrefix(s, "-"):
		body, sign = s[1:], -1
	}
	unit := int64(1)
	if b, ok := strings.CutSuffix(body, "ppm"); ok {
		body, unit = b, 1e6
	} else if b, ok := strings.CutSuffix(body, "ppb"); ok {
		body, unit = b, 1e9
	}
	if unit > 1 && sign == 0 {
		return Rate{}, fmt.Errorf("rate %q: has no sign: write +%s or -%s", clip(s), clip(s), clip(s))
	}
	num, den, err := parseFraction(body)
	if err != nil {
		return Rate{}, fmt.Errorf("rate %q: %w", clip(s), err)
	}
	den, ok := times(den, unit)
	if sign != 0 && ok { // a deviation: 1 ± num/den
		if sign < 0 {
			num = -num
		}
		num, ok = plus(den, num)
	}
	switch {
	case !ok:
		return Rate{}, fmt.Errorf("rate %q: its fraction does not fit in 64 bits", clip(s))
	case num <= 0:
		return Rate{}, fmt.Errorf("rate %q: must be above 0 (more than -1000000ppm)", clip(s))
	}
	return reduced(num, den), nil
}

// parseFraction reads "12", "0.25" or "3/4", in lowest terms: num ≥ 0, den > 0.
func parseFraction(s string) (num, den int64, err error) {
	above, below, isFraction := strings.Cut(s, "/")
	whole, part, _ := strings.Cut(above, ".")
	if isFraction && strings.Contains(s, ".") || !digits(whole) || part == "" && strings.Contains(s, ".") ||
		part != "" && !digits(part) || isFraction && !digits(below) {
		return 0, 0, fmt.Errorf("%s", rateForms)
	}
	part = strings.TrimRight(part, "0")
	if num, err = strconv.ParseInt(whole+part, 10, 64); err != nil || len(part) > 18 {
		return 0, 0, fmt.Errorf("its fraction does not fit in 64 bits")
	}
	den = 1
	for range part {
		den *= 10
	}
	if isFraction {
		if den, err = strconv.ParseInt(below, 10, 64); err != nil {
			return 0, 0, fmt.Errorf("its fraction does not fit in 64 bits")
		}
		if den == 0 {
			return 0, 0, fmt.Errorf("divides by 0")
		}
	}
	g := gcd(num, den)
	return num / g, den / g, nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// times is a·b for a, b > 0, and whether it fits.
func times(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo <= math.MaxInt64
}

// plus is a+b for a > 0, and whether it fits.
func plus(a, b int64) (int64, bool) {
	return a + b, b <= math.MaxInt64-a
}

// clip keeps a message readable whatever was written.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// String is the rate as ParseRate reads it, one form for each rate: "1",
// "+200ppm" or "-5ppb" where that is exact and the clock is less than a tenth
// off, otherwise the fraction, "200/199" or "2".
func (r Rate) String() string {
	num, den := r.Fraction()
	switch {
	case den == 1:
		return strconv.FormatInt(num, 10)
	case inUnits(num, den, 1e6):
		return fmt.Sprintf("%+dppm", units(num, den, 1e6))
	case inUnits(num, den, 1e9):
		return fmt.Sprintf("%+dppb", units(num, den, 1e9))
	}
	return strconv.FormatInt(num, 10) + "/" + strconv.FormatInt(den, 10)
}

// inUnits says whether num/den is 1 and a whole number of units of 1/unit, fewer
// than a tenth of it.
func inUnits(num, den, unit int64) bool {
	if unit%den != 0 { // lowest terms: den must divide unit
		return false
	}
	off := units(num, den, unit)
	return -unit/10 < off && off < unit/10
}

// units is (num/den − 1)·unit, for den that divides unit.
func units(num, den, unit int64) int64 {
	if num/den > 1 {
		return math.MaxInt64 // more than a tenth anyway; the product might not fit
	}
	return (num - den) * (unit / den)
}

// MarshalText is String.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseRate.
func (r *Rate) UnmarshalText(b []byte) error {
	v, err := ParseRate(string(b))
	if err == nil {
		*r = v
	}
	return err
}

// A Drift is a deviation from rate 1 in parts per billion: -200*PPM loses 200 µs
// a second. The zero Drift is a perfect clock.
type Drift int64

// The deviation of a clock that gains one nanosecond in 10⁹, or in 10⁶.
const (
	PPB Drift = 1
	PPM Drift = 1000
)

// Rate returns 1 + d. It panics if that is not above 0, or beyond int64.
func (d Drift) Rate() Rate {
	num, ok := plus(1e9, int64(d))
	if !ok || num <= 0 {
		panic(fmt.Sprintf("clock: the drift %v: must be above -1000000ppm", d))
	}
	return reduced(num, 1e9)
}

// String is "-200ppm", or "+5ppb" where it is no whole number of ppm.
func (d Drift) String() string {
	if d%PPM == 0 {
		return fmt.Sprintf("%+dppm", int64(d/PPM))
	}
	return fmt.Sprintf("%+dppb", int64(d))
}
