package sim

import (
	"math"
	"math/bits"
)

// Parts per billion of a time, over 128 bits: a product of two int64 would not
// always fit. And the fraction of a time where it does, without a division.

// ratio is a fraction that is often multiplied by, of a clock's rate.
type ratio struct {
	num, den uint64
	inverse  uint64 // of den: 2⁶⁴/den, rounded up
	most     uint64 // that it can be multiplied by: the product fits in 63 bits
}

func newRatio(num, den int64) ratio {
	r := ratio{num: uint64(num), den: uint64(den)}
	if r.den == 1 { // 2⁶⁴ would not fit
		r.num, r.den = 3*r.num, 3
	}
	if num <= math.MaxInt64/3 {
		r.inverse, r.most = math.MaxUint64/r.den+1, math.MaxInt64/r.num
	}
	return r
}

// floor is t·num/den rounded down; not ok if t is below 0 or above most. What the
// inverse gives is at most 1 too high.
func (r *ratio) floor(t int64) (q int64, ok bool) {
	if uint64(t) > r.most {
		return 0, false
	}
	all := uint64(t) * r.num
	n, _ := bits.Mul64(all, r.inverse)
	if n*r.den > all {
		n--
	}
	return int64(n), true
}

// ceil is t·num/den rounded up, where floor is ok.
func (r *ratio) ceil(t int64) (q int64, ok bool) {
	q, ok = r.floor(t)
	if uint64(q)*r.den < uint64(t)*r.num {
		q++
	}
	return q, ok
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
