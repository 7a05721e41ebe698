package timeline

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"driftlock/clock"
)

// instant writes nanoseconds as seconds with the given number of decimals (cut,
// not rounded, so that an instant never moves past another), in threes:
// "9.230 769 231".
func instant(ns int64, decimals int) string {
	u, sign := uint64(ns), ""
	if ns < 0 {
		u, sign = -u, "−"
	}
	digits := fmt.Sprintf("%09d", u%1e9)[:decimals]
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d.", sign, u/1e9)
	for i := 0; i < len(digits); i += 3 {
		if i > 0 {
			b.WriteString(hold)
		}
		b.WriteString(digits[i:min(i+3, len(digits))])
	}
	return b.String()
}

// never is an instant that no run reaches: the end of what does not end.
const never = math.MaxInt64

// shortest is an instant with as many decimals as it needs, at most to the
// nanosecond and at least to the millisecond, and its unit.
func shortest(ns int64) string {
	if ns == never {
		return "never"
	}
	decimals := 9
	if ns%1e3 == 0 {
		decimals = 6
		if ns%1e6 == 0 {
			decimals = 3
		}
	}
	return instant(ns, decimals) + hold + "s"
}

// length writes a duration in the unit that suits it, rounded to three
// decimals: "667.231 ms", "10 s". The sign is left out.
func length(d time.Duration) string {
	u := uint64(d)
	if d < 0 {
		u = -u
	}
	switch {
	case u < 1e3:
		return strconv.FormatUint(u, 10) + hold + "ns"
	case u < 1e6:
		return decimals(u) + hold + "µs"
	case u < 1e9:
		return decimals((u+500)/1e3) + hold + "ms"
	}
	return decimals((u+5e5)/1e6) + hold + "s"
}

// Margin writes a margin or another signed duration in the unit that suits it,
// rounded to three decimals: "−667.231 ms".
func Margin(d time.Duration) string {
	text := strings.ReplaceAll(length(d), hold, " ")
	if d < 0 {
		return "−" + text
	}
	return text
}

// decimals writes thousandths, without zeros at the end.
func decimals(u uint64) string {
	text := fmt.Sprintf("%d.%03d", u/1e3, u%1e3)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// deviation is by how much a clock is off: ppm is its size, fast its sense; a
// perfect clock has neither.
type deviation struct {
	ppm  int64 // rounded to the nearest, but never to 0
	fast bool
	slow bool
	rate clock.Rate
}

func deviationOf(r clock.Rate) deviation {
	num, den := r.Fraction()
	d := deviation{rate: r, fast: num > den, slow: num < den}
	if num == den {
		return d
	}
	off := new(big.Int).Sub(big.NewInt(num), big.NewInt(den))
	off.Abs(off).Mul(off, big.NewInt(2e6)).Add(off, big.NewInt(den)) // round to nearest
	off.Div(off, new(big.Int).Mul(big.NewInt(2), big.NewInt(den)))
	d.ppm = off.Int64()
	return d
}

// label is short: "+83,333 ppm"; "" for a perfect clock.
func (d deviation) label() string {
	switch {
	case !d.fast && !d.slow:
		return ""
	case d.ppm == 0:
		return d.rate.String()
	case d.fast:
		return "+" + thousands(d.ppm) + hold + "ppm"
	}
	return "−" + thousands(d.ppm) + hold + "ppm"
}

// words are for a sentence: "83,333 ppm (8.3 %) fast".
func (d deviation) words() string {
	sense := "fast"
	if d.slow {
		sense = "slow"
	}
	switch {
	case !d.fast && !d.slow:
		return "right"
	case d.ppm == 0:
		return "less than 1" + hold + "ppm " + sense
	case d.ppm < 1000:
		return fmt.Sprintf("%s%sppm %s", thousands(d.ppm), hold, sense)
	}
	return fmt.Sprintf("%s%sppm (%s%s%%) %s", thousands(d.ppm), hold, percent(d.ppm), hold, sense)
}

// percent writes parts per million in hundred, to one decimal (two below 1 %).
func percent(ppm int64) string {
	if ppm < 10000 {
		return fmt.Sprintf("%d.%02d", ppm/10000, ppm%10000/100)
	}
	return fmt.Sprintf("%d.%d", ppm/10000, ppm%10000/1000)
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// join lists words as a sentence does: "a", "a and b", "a, b and c".
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return strconv.Itoa(n) + " times"
}

// Deviation says by how much a clock is off, "+83,333 ppm"; "" of one that is right.
func Deviation(r clock.Rate) string {
	return strings.ReplaceAll(deviationOf(r).label(), hold, " ")
}
