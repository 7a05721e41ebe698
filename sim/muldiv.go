package sim

import "math/bits"

// Parts per billion of a time, over 128 bits: a product of two int64 would not
// always fit.

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
