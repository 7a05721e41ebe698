package sim

import (
	"math"
	"math/bits"
)

// Parts per billion of a time, over 128 bits: a product of two int64 would not
// always fit. And the fraction of a time where it does, without a division.

// ratio is a fraction that is often multiplied by. The zero one is none.
type ratio struct {
	num, den uint64 // den is not 1
	inverse  uint64 // of den: 2⁶⁴/den, rounded up
}

func newRatio(num, den int64) ratio {
	r := ratio{num: uint64(num), den: uint64(den)}
	if r.den == 1 { // 2⁶⁴ would not fit
		if num > math.MaxInt64/3 {
			return ratio{}
		}
		r.num, r.den = 3*r.num, 3
	}
	r.inverse = math.MaxUint64/r.den + 1
	return r
}

// times is t·num/den rounded down, and whether it was; it is not ok if t is below 0
// or t·num does not fit in 64 bits. What the inverse gives is at most 1 too high.
func (r *ratio) times(t int64) (q int64, rest, ok bool) {
	hi, lo := bits.Mul64(uint64(t), r.num)
	if t < 0 || hi != 0 || r.den == 0 {
		return 0, false, false
	}
	n, _ := bits.Mul64(lo, r.inverse)
	left := int64(lo - n*r.den)
	if left < 0 {
		n, left = n-1, left+int64(r.den)
	}
	return int64(n), left > 0, n <= math.MaxInt64
}

// mulUp is t·ppb/10⁹ rounded up; 0 if t is below 0.
func mulUp(t, ppb int64) int64 {
	hi, lo := bits.Mul64(uint64(max(0, t)), uint64(ppb))
	lo, carry := bits.Add64(lo, 1e9-1, 0)
	q, _ := bits.Div64(hi+carry, lo, 1e9)
	return int64(q)
}

// divUp is t·10⁹/of rounded up, for of above 0: 0 if t is below 0, and never where
// it does not fit.
func divUp(t, of int64) int64 {
	if t <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(t), 1e9)
	lo, carry := bits.Add64(lo, uint64(of)-1, 0)
	if hi+carry >= uint64(of) {
		return never
	}
	q, _ := bits.Div64(hi+carry, lo, uint64(of))
	return int64(q)
}
