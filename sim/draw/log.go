package draw

// Logarithms and powers of two in fixed point, by tables of 1,024 steps that are
// built at start in integers, and straight lines between: package math may round
// differently from one architecture to the next.

import (
	"math/big"
	"math/bits"
)

const (
	fraction     = 40 // bits behind the point of a logarithm
	exp2Fraction = 62 // and of a power
	steps        = 10 // bits of a table's index
	rest         = 32 // bits used below it
)

// ln2 is ln 2 with 64 bits behind the point.
const ln2 = 0xb17217f7d1cf79ab

var (
	log2Table [1<<steps + 1]uint64 // log2(1 + i/1024)
	exp2Table [1<<steps + 1]uint64 // 2^(i/1024)
)

func init() {
	for i := range log2Table {
		log2Table[i] = log2(uint64(i))
	}
	// roots[k] is 2^(1/2^k): the square root of the one before.
	var roots [steps + 1]uint64
	root := new(big.Int).Lsh(big.NewInt(2), exp2Fraction)
	for k := range roots {
		roots[k] = root.Uint64()
		root.Sqrt(root.Lsh(root, exp2Fraction))
	}
	for i := range exp2Table {
		x := uint64(1) << exp2Fraction
		for k, r := range roots {
			if i>>(steps-k)&1 == 1 {
				hi, lo := bits.Mul64(x, r)
				x = hi<<(64-exp2Fraction) | lo>>exp2Fraction
			}
		}
		exp2Table[i] = x
	}
}

// log2 is log2(1 + i/1024), cut to its fraction: squaring x doubles its
// logarithm, and whether x then passes 2 is the next digit.
func log2(i uint64) (l uint64) {
	if i == 1<<steps {
		return 1 << fraction
	}
	x := uint64(1)<<63 + i<<(63-steps) // 63 bits behind the point
	for range fraction {
		hi, lo := bits.Mul64(x, x) // 126
		l <<= 1
		if hi>>63 == 1 {
			l |= 1
			x = hi
		} else {
			x = hi<<1 | lo>>63
		}
	}
	return l
}

// minusLog2 is −log2(u/2⁶⁴); of 0 it is that of 1.
func minusLog2(u uint64) uint64 {
	u |= 1
	whole := 65 - bits.Len64(u)
	at := bits.RotateLeft64(u, whole) >> (64 - steps - rest) // without its leading 1, which is now the last
	i, part := at>>rest, at&(1<<rest-1)
	low, high := log2Table[i], log2Table[i+1] // 2³¹ apart at most
	return uint64(whole)<<fraction - low - (high-low)*part>>rest
}

// exp2 is 2^(f/2^fraction), for f below 1.
func exp2(f uint64) uint64 {
	at := f << (steps + rest - fraction)
	i, part := at>>rest, at&(1<<rest-1)
	low, high := exp2Table[i], exp2Table[i+1]
	hi, lo := bits.Mul64(high-low, part)
	return low + hi<<(64-rest) + lo>>rest
}
