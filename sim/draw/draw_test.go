package draw

import (
	"math"
	"math/big"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// Values that must never change: seeds and scenario files rest on them.
func TestPinned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"Key zero", Key(0, 0, 0, 0, 0), 0x0},
		{"Key", Key(1, RequestDelay, 2, 4, 3), 0x786eb1ef72d06729},
		{"Key high", Key(math.MaxUint64, ProcessRand, 1<<63, 1<<62, 1<<61), 0xf9452e98c961c1a2},
		{"log2 3/2", log2Table[512], 0x95c01a39fb},
		{"log2 1025/1024", log2Table[1], 0x5c4994dd},
		{"2^1/2", exp2Table[512], 0x5a827999fcef3242},
		{"2^1023/1024", exp2Table[1023], 0x7fe9d3a8e07bf073},
		{"Exponential half", uint64(Exponential(1<<63, 1e9)), 0x2950962c},
		{"Exponential tail", uint64(Exponential(0, 1e9)), 0xa54258b23},
		{"Exponential", uint64(Exponential(0x0123456789abcdef, 300_000)), 0x18cafe},
		{"Pareto half", uint64(Pareto(1<<63, 1e9)), 0x5e9dd1ac},
		{"Pareto tail", uint64(Pareto(0, 200_000)), 0x1360a0e7fe242bf2},
		{"Pareto", uint64(Pareto(0x0123456789abcdef, 200_000)), 0x70e4ec},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, c.got, c.want)
		}
	}
	// SplitMix64 from state 0, as published with it.
	s := NewStream(0)
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := s.Next(); got != want {
			t.Errorf("Stream %d: %#x, want %#x", i, got, want)
		}
	}
}

// Flipping any bit of any argument flips each bit of the key half the time,
// from arguments that are small and alike, as the simulator's are.
func TestKeyAvalanche(t *testing.T) {
	t.Parallel()
	const trials = 4096
	for arg := range 5 {
		for bit := range 64 {
			var flips [64]int
			for i := range uint64(trials) {
				x := [5]uint64{i % 7, i % 5, i % 3, i / 15 % 8, i}
				before := Key(x[0], Purpose(x[1]), x[2], x[3], x[4])
				x[arg] ^= 1 << bit
				for d := before ^ Key(x[0], Purpose(x[1]), x[2], x[3], x[4]); d != 0; d &= d - 1 {
					flips[bits.TrailingZeros64(d)]++
				}
			}
			for out, n := range flips { // 6 standard deviations
				if off := n - trials/2; off < -192 || off > 192 {
					t.Errorf("bit %d of argument %d flips bit %d in %d of %d", bit, arg, out, n, trials)
				}
			}
		}
	}
}

// Keys of neighbours do not meet, in whichever argument they differ.
func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	seen := map[uint64][5]uint64{}
	for i := range uint64(1 << 17) {
		x := [5]uint64{i & 3, i >> 2 & 7, i >> 5 & 7, i >> 8 & 7, i >> 11}
		k := Key(x[0], Purpose(x[1]), x[2], x[3], x[4])
		if y, ok := seen[k]; ok {
			t.Fatalf("%v and %v have the key %#x", x, y, k)
		}
		seen[k] = x
	}
}

// With four arguments fixed, the fifth never makes two keys alike.
func TestKeyIsOneToOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := [5]uint64(rapid.SliceOfN(rapid.Uint64(), 5, 5).Draw(t, "arguments"))
		y := x
		y[rapid.IntRange(0, 4).Draw(t, "which")] = rapid.Uint64().Draw(t, "other")
		if (Key(x[0], Purpose(x[1]), x[2], x[3], x[4]) == Key(y[0], Purpose(y[1]), y[2], y[3], y[4])) != (x == y) {
			t.Errorf("%x and %x have one key", x, y)
		}
	})
}

// Successive messages give draws that look independent: a chi-square test over
// pairs of successive ones in 16×16 cells.
func TestSuccessiveKeysAreIndependent(t *testing.T) {
	t.Parallel()
	const n = 1 << 18
	for shift := 0; shift < 64; shift += 4 {
		var cells [256]int
		for i := range uint64(n) {
			now, next := Key(7, RequestDelay, 1, 2, i), Key(7, RequestDelay, 1, 2, i+1)
			cells[now>>shift&15<<4|next>>shift&15]++
		}
		chi := 0.0
		for _, c := range cells {
			d := float64(c) - n/256
			chi += d * d / (n / 256)
		}
		if chi < 140 || chi > 390 { // 255 degrees of freedom: 5 and 6 standard deviations
			t.Errorf("bits %d to %d: chi-square %.0f", shift, shift+3, chi)
		}
	}
}

func TestBelowAndBetween(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u, n := rapid.Uint64().Draw(t, "u"), rapid.Int64().Draw(t, "n")
		if got := Below(u, n); got < 0 || got >= max(n, 1) {
			t.Errorf("Below(%d) = %d", n, got)
		}
		low, high := rapid.Int64().Draw(t, "low"), rapid.Int64().Draw(t, "high")
		if got := Between(u, low, high); got < low || got > max(low, high) {
			t.Errorf("Between(%d, %d) = %d", low, high, got)
		}
	})
	for _, c := range []struct{ got, want int64 }{
		{Below(math.MaxUint64, 10), 9},
		{Below(0, 10), 0},
		{Below(1<<63, 10), 5},
		{Between(0, -5, 5), -5},
		{Between(math.MaxUint64, -5, 5), 5},
		{Between(0, math.MinInt64, math.MaxInt64), 0},
		{Between(math.MaxUint64, math.MinInt64, math.MaxInt64), -1},
		{Between(math.MaxUint64, 0, math.MaxInt64), math.MaxInt64},
		{Between(math.MaxUint64, math.MinInt64, math.MaxInt64-1), math.MaxInt64 - 1},
	} {
		if c.got != c.want {
			t.Errorf("got %d, want %d", c.got, c.want)
		}
	}
}

// words draws an odd number of any size: the lowest bit does not count.
func words() *rapid.Generator[uint64] {
	return rapid.Custom(func(t *rapid.T) uint64 {
		return rapid.Uint64Min(1<<63).Draw(t, "bits")>>rapid.IntRange(0, 63).Draw(t, "zeros") | 1
	})
}

func TestExponentialIsALogarithm(t *testing.T) {
	t.Parallel()
	const mean = 1_000_000_000
	rapid.Check(t, func(t *rapid.T) {
		u := words().Draw(t, "u")
		want := -math.Log(float64(u)/(1<<64)) * mean
		if u > 1<<53 { // a float has no digits left near 1
			want = -math.Log1p(-float64(-u)/(1<<64)) * mean
		}
		if got := Exponential(u, mean); math.Abs(float64(got)-want) > mean/1e6 {
			t.Errorf("Exponential(%#x) = %d, want about %.0f", u, got, want)
		}
		if more := Exponential(u+2, mean); u < math.MaxUint64 && more > Exponential(u, mean) {
			t.Errorf("Exponential grows from %#x on", u)
		}
	})
}

// Between two steps of the table a logarithm is a straight line, to the last bit.
func TestLogarithmIsALineBetweenSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := words().Draw(t, "u")
		whole := 64 - bits.Len64(u)
		digits := u << whole << 1 // behind the leading 1
		i, part := digits>>(64-steps), new(big.Int).SetUint64(digits<<steps>>(64-rest))
		low, high := log2Table[i], log2Table[i+1]
		part.Rsh(part.Mul(part, new(big.Int).SetUint64(high-low)), rest)
		if got, want := minusLog2(u), uint64(whole+1)<<fraction-low-part.Uint64(); got != want {
			t.Errorf("minusLog2(%#x) = %d, want %d", u, got, want)
		}
	})
	for i, low := range log2Table[:1<<steps] { // else the product would not fit in 64 bits
		if apart := log2Table[i+1] - low; apart > 1<<31 {
			t.Errorf("steps %d and %d are %#x apart", i, i+1, apart)
		}
	}
}

func TestParetoIsAPower(t *testing.T) {
	t.Parallel()
	const low = 1_000_000
	rapid.Check(t, func(t *rapid.T) {
		u := words().Draw(t, "u")
		want := low * math.Pow(float64(u)/(1<<64), -2.0/3)
		if want > math.MaxInt64 {
			want = math.MaxInt64
		}
		if got := float64(Pareto(u, low)); math.Abs(got-want) > want/1e6+1 {
			t.Errorf("Pareto(%#x) = %.0f, want about %.0f", u, got, want)
		}
	})
}

// The laws have the means that they should have.
func TestMeans(t *testing.T) {
	t.Parallel()
	const n, mean = 1 << 20, 1_000_000
	s := NewStream(1)
	var exponential, below, pareto float64
	for range n {
		exponential += float64(Exponential(s.Next(), mean)) / n
		below += float64(Below(s.Next(), 2*mean)) / n
		pareto += float64(min(Pareto(s.Next(), mean), 1000*mean)) / n // cut: its variance has no end
	}
	for name, c := range map[string]struct{ got, want, off float64 }{
		"exponential": {exponential, mean, 5000},
		"below":       {below, mean, 5000},
		"pareto":      {pareto, (3 - 2/math.Sqrt(1000)) * mean, 30000},
	} {
		if math.Abs(c.got-c.want) > c.off {
			t.Errorf("%s: mean %.0f, want about %.0f", name, c.got, c.want)
		}
	}
}

func TestLawsAtTheirEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want int64 }{
		{Exponential(math.MaxUint64, 1e9), 0},
		{Exponential(0, math.MaxInt64), math.MaxInt64},
		{Exponential(1<<63, math.MaxInt64), 6393154322594529279}, // ln 2 of it, to 40 bits
		{Exponential(5, 0), 0},
		{Exponential(5, -1), 0},
		{Pareto(math.MaxUint64, 1e9), 1e9},
		{Pareto(0, math.MaxInt64), math.MaxInt64},
		{Pareto(math.MaxUint64, math.MaxInt64), math.MaxInt64},
		{Pareto(5, 0), 0},
		{Pareto(5, -7), 0},
	} {
		if c.got != c.want {
			t.Errorf("got %d, want %d", c.got, c.want)
		}
	}
}

func TestStreamsOfAKeyAreTheSame(t *testing.T) {
	t.Parallel()
	a, b, c := NewStream(Key(1, ProcessRand, 2, 0, 0)), NewStream(Key(1, ProcessRand, 2, 0, 0)), NewStream(Key(1, ProcessRand, 2, 1, 0))
	for range 100 {
		x := a.Next()
		if x != b.Next() || x == c.Next() {
			t.Fatal("a stream depends on its key and on nothing else")
		}
	}
}

var sink uint64

func BenchmarkKey(b *testing.B) {
	for i := range uint64(b.N) {
		sink += Key(1, RequestDelay, 2, 3, i)
	}
}

func BenchmarkExponential(b *testing.B) {
	for i := range uint64(b.N) {
		sink += uint64(Exponential(i*0x9e3779b97f4a7c15, 300_000))
	}
}

func BenchmarkPareto(b *testing.B) {
	for i := range uint64(b.N) {
		sink += uint64(Pareto(i*0x9e3779b97f4a7c15, 300_000))
	}
}

func BenchmarkStream(b *testing.B) {
	s := NewStream(1)
	for range b.N {
		sink += s.Next()
	}
}
