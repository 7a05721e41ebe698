package sim

import (
	"math"
	"math/bits"
)

// Parts per billion of a time, over 128 bits: a product of two int64 would not
// always fit. And a clock's time, without a division.

// ratio is a clock's rate, or its inverse, cut behind 64 binary places. What it is
// multiplied by times the last of them is all that a product can lack: where adding
// that carries nothing over to the whole nanoseconds, these are right.
type ratio struct {
	whole, part uint64
	most        uint64 // that it can be multiplied by: the product fits in 63 bits
}

// newRatio is (num + part/2⁶⁴)/den.
func newRatio(num, part, den uint64) ratio {
	whole := num / den
	part, _ = bits.Div64(num%den, part, den)
	return ratio{whole, part, math.MaxInt64 >> bits.Len64(whole)}
}

// floor is the product, rounded down; not ok if t is below 0 or above most, or where the
// cut may be felt.
func (r *ratio) floor(t int64) (q int64, ok bool) {
	u := uint64(t)
	hi, lo := bits.Mul64(u, r.part)
	if u > r.most || lo+u < lo {
		return 0, false
	}
	return int64(u*r.whole + hi), true
}

// ceil is the product rounded up, for t above 0 and a ratio that is cut even if it is a
// whole number: whatever is left is above 0 then.
func (r *ratio) ceil(t int64) (q int64, ok bool) {
	u := uint64(t)
	hi, lo := bits.Mul64(u, r.part)
	if u > r.most || lo+(u-1) < lo {
		return 0, false
	}
	return int64(u*r.whole + hi + 1), true
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
