// Package draw is the randomness of the simulator. It is keyed, not drawn from
// one stream: the delay of the 3rd request from client 2 to node 4 is a hash of
// (seed, RequestDelay, 2, 4, 3). So a change in one place of a scenario does not
// reshuffle the rest, and seeds survive most edits.
//
// All is integer arithmetic: the same draws on every architecture. Nothing here
// keeps state but a Stream, so all else is safe for concurrent use.
package draw

import (
	"math"
	"math/bits"
)

// A Purpose keeps draws apart that would otherwise have the same key. Every
// purpose of the simulator is in the list below, so that no two share a number.
// The numbers are part of what a seed means: add at the end, never renumber.
type Purpose uint64

const (
	RequestDelay Purpose = iota + 1 // client, node, nth request
	ReplyDelay                      // client, node, nth reply
	RequestLoss                     // client, node, nth request
	ReplyLoss                       // client, node, nth reply
	RequestCopy                     // client, node, nth request: the delay of a second copy
	ReplyCopy                       // client, node, nth reply: the delay of a second copy
	ProcessRand                     // client, process: a Stream
	Choice                          // hash of a label: a choice in generating a scenario
	RequestSlow                     // client, node, nth request
	ReplySlow                       // client, node, nth reply
	Evolution                       // the first run of an island: a Stream
)

// Odd numbers without a pattern: the fractional parts of √2, √3, √5, √7 and √11.
const (
	k0 = 0x6a09e667f3bcc909
	k1 = 0xbb67ae8584caa73b
	k2 = 0x3c6ef372fe94f82b
	k3 = 0xa54ff53a5f1d36f1
	k4 = 0x510e527fade682d1
)

// Key returns 64 bits that depend on all arguments, and on which is which. With
// four of them fixed, different values of the fifth always give different keys:
// every step is one to one. About 3 ns.
func Key(seed uint64, purpose Purpose, a, b, c uint64) uint64 {
	return NewWalk(seed, purpose, a, b).Key(c)
}

// A Walk is all keys of one seed and purpose, a and b: a walk of SplitMix64. Seed
// and purpose choose where it begins, a and b how far along it they lie, and c is
// a step of each. Who draws often keeps it.
type Walk struct{ start uint64 }

// NewWalk returns the walk of a seed and a purpose, a and b.
func NewWalk(seed uint64, purpose Purpose, a, b uint64) Walk {
	x := (seed ^ uint64(purpose)*k1) * k0
	x ^= x >> 32
	return Walk{x + (a*k2 ^ bits.RotateLeft64(b*k3, 32))}
}

// Key returns the key of c, as the function Key does.
func (w Walk) Key(c uint64) uint64 { return mix(w.start + c*k4) }

// mix is the output function of SplitMix64 (Steele, Lea, Flood 2014; Stafford's
// variant 13): each bit of x flips each bit of the result half the time.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Below returns a number from 0 to n−1, for 64 random bits u. The numbers differ
// in likelihood by less than n/2⁶⁴. It is 0 if n is not above 0.
func Below(u uint64, n int64) int64 {
	hi, _ := bits.Mul64(u, uint64(max(n, 0)))
	return int64(hi)
}

// Between returns a number from low to high, both included, for 64 random bits
// u. It is low if high is below it.
func Between(u uint64, low, high int64) int64 {
	if high <= low {
		return low
	}
	span := uint64(high) - uint64(low) + 1
	if span == 0 { // all of int64
		return int64(u)
	}
	hi, _ := bits.Mul64(u, span)
	return int64(uint64(low) + hi)
}

// Exponential returns an exponential variate with the given mean, for 64 random
// bits u: −ln(u/2⁶⁴)·mean, at most 44.4·mean, right to within 10⁻⁶·mean. It is
// 0 if mean is not above 0, and never beyond int64.
func Exponential(u uint64, mean int64) int64 {
	if mean <= 0 {
		return 0
	}
	ln, _ := bits.Mul64(minusLog2(u), ln2)
	hi, lo := bits.Mul64(uint64(mean), ln)
	return shifted(hi, lo, fraction)
}

// Pareto returns a variate with a heavy tail, for 64 random bits u: from low on,
// low/(u/2⁶⁴)^(2/3), which is a Pareto law of shape 1.5 and mean 3·low. It is 0
// if low is not above 0, and never beyond int64.
func Pareto(u uint64, low int64) int64 {
	if low <= 0 {
		return 0
	}
	power := minusLog2(u) * 2 / 3
	hi, lo := bits.Mul64(uint64(low), exp2(power&(1<<fraction-1)))
	return shifted(hi, lo, exp2Fraction-uint(power>>fraction))
}

// shifted is the 128-bit number hi,lo divided by 2^n, for n from 1 to 63, rounded
// down and kept within int64.
func shifted(hi, lo uint64, n uint) int64 {
	if hi>>(n-1) != 0 {
		return math.MaxInt64
	}
	return int64(hi<<(64-n) | lo>>n)
}

// A Stream is a source of random numbers for one process: SplitMix64, a counter
// and a mixing function. Not safe for concurrent use.
type Stream struct{ at uint64 }

// NewStream returns the stream of a key.
func NewStream(key uint64) Stream { return Stream{key} }

// Next returns the next 64 random bits.
func (s *Stream) Next() uint64 {
	s.at += 0x9e3779b97f4a7c15
	return mix(s.at)
}
