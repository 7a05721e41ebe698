package clock

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The instants of the golden examples G2, G3 and G4: the first true nanosecond
// at which a clock has reached a reading.
func TestReachedGoldens(t *testing.T) {
	t.Parallel()
	const ms = 1_000_000
	for _, c := range []struct {
		name string
		rate Rate
		ns   int64
		want int64
	}{
		{"G1 trust", Rate{}, 9_898 * ms, 9_898 * ms},
		{"G2 trust, client 200 ppm slow", (-200 * PPM).Rate(), 29_698 * ms, 29_703_940_789},
		{"G2 exclusion, nodes 200 ppm fast", (200 * PPM).Rate(), 30_000 * ms, 29_994_001_200},
		{"G3 trust", Ratio(198, 199), 9_900 * ms, 9_950 * ms},
		{"G3 exclusion", Ratio(200, 199), 10_000 * ms, 9_950 * ms},
		{"G4 exclusion, chrony slewing", Ratio(13, 12), 10_000 * ms, 9_230_769_231},
		{"D2 slow client", Ratio(16, 21), 8_000 * ms, 10_500 * ms},
	} {
		if got := c.rate.Reached(c.ns); got != c.want {
			t.Errorf("%s: reached at %d, want %d", c.name, got, c.want)
		}
	}
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want Rate
		text string // "": as in
	}{
		{"1", Rate{}, ""},
		{"200/199", Ratio(200, 199), ""},
		{"400/398", Ratio(200, 199), "200/199"},
		{"7/7", Rate{}, "1"},
		{"0.9998", (-200 * PPM).Rate(), "-200ppm"},
		{"1.50", Ratio(3, 2), "3/2"},
		{"+200ppm", (200 * PPM).Rate(), ""},
		{"-5ppb", (-5 * PPB).Rate(), ""},
		{"+0.5ppm", (500 * PPB).Rate(), "+500ppb"},
		{"+3000ppb", (3 * PPM).Rate(), "+3ppm"},
		{"+0ppm", Rate{}, "1"},
		{"-0ppb", Rate{}, "1"},
		{"+1/12", Ratio(13, 12), "13/12"},
		{"-1/12", Ratio(11, 12), "11/12"},
		{"+1/3ppm", Ratio(3_000_001, 3_000_000), "3000001/3000000"},
		{"2", Ratio(2, 1), ""},
		{"-999999ppm", Ratio(1, 1_000_000), "1/1000000"},
		{"+83333ppm", Ratio(1_083_333, 1_000_000), ""},
		{"+100000ppm", Ratio(11, 10), "11/10"},
		{"9223372036854775807/9223372036854775806", Ratio(math.MaxInt64, math.MaxInt64-1), ""},
		{"0.000000000000000001", Ratio(1, 1e18), "1/1000000000000000000"},
	} {
		got, err := ParseRate(c.in)
		if err != nil || got != c.want {
			t.Errorf("%s: got %v, %v, want %v", c.in, got, err, c.want)
			continue
		}
		if c.text == "" {
			c.text = c.in
		}
		if got.String() != c.text {
			t.Errorf("%s: written %q, want %q", c.in, got, c.text)
		}
	}
}

func TestParseRateRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                          "a rate is written",
		"+":                         "a rate is written",
		"fast":                      "a rate is written",
		"1.":                        "a rate is written",
		".5":                        "a rate is written",
		"1/":                        "a rate is written",
		"/2":                        "a rate is written",
		"1/2/3":                     "a rate is written",
		"1.5/2":                     "a rate is written",
		"--1":                       "a rate is written",
		"+-1ppm":                    "a rate is written",
		"1e3":                       "a rate is written",
		" 1":                        "a rate is written",
		"+5 ppm":                    "a rate is written",
		"NaN":                       "a rate is written",
		"1/0":                       "divides by 0",
		"0":                         "must be above 0",
		"0/5":                       "must be above 0",
		"-1":                        "must be above 0",
		"-2":                        "must be above 0",
		"-1000000ppm":               "must be above 0",
		"-2000000ppm":               "must be above 0",
		"-13/12":                    "must be above 0",
		"200ppm":                    "write +200ppm or -200ppm",
		"9223372036854775808":       "does not fit",
		"+9223372036854775807":      "does not fit",
		"+1/9223372036854775807ppb": "does not fit",
		"0.0000000000000000001":     "does not fit",
		strings.Repeat("1", 1000):   "does not fit",
	} {
		_, err := ParseRate(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want one with %q", in, err, want)
		} else if len(err.Error()) > 250 {
			t.Errorf("%.40q: a message of %d bytes", in, len(err.Error()))
		}
	}
}

// rates draws any rate, those near 1 and the extreme ones more often.
func rates() *rapid.Generator[Rate] {
	positive := rapid.Int64Range(1, math.MaxInt64)
	small := rapid.Int64Range(1, 1000)
	return rapid.Custom(func(t *rapid.T) Rate {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return Drift(rapid.Int64Range(-999_999_999, 2_000_000_000).Draw(t, "ppb")).Rate()
		case 1:
			return Ratio(small.Draw(t, "num"), small.Draw(t, "den"))
		case 2:
			return Ratio(positive.Draw(t, "num"), positive.Draw(t, "den"))
		}
		return (Drift(rapid.Int64Range(-999_999, 999_999).Draw(t, "ppm")) * PPM).Rate()
	})
}

// exactly is floor or ceiling of a·num/den, kept within int64, in big integers.
func exactly(a, num, den int64, up bool) int64 {
	x := new(big.Int).Mul(big.NewInt(a), big.NewInt(num))
	q, rest := new(big.Int).DivMod(x, big.NewInt(den), new(big.Int))
	if up && rest.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	switch {
	case q.Cmp(big.NewInt(math.MaxInt64)) > 0:
		return math.MaxInt64
	case q.Cmp(big.NewInt(math.MinInt64)) < 0:
		return math.MinInt64
	}
	return q.Int64()
}

func TestRateIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, x := rates().Draw(t, "rate"), rapid.Int64().Draw(t, "ns")
		num, den := r.Fraction()
		if got, want := r.Elapsed(x), exactly(x, num, den, false); got != want {
			t.Errorf("Elapsed: %d, want %d", got, want)
		}
		if got, want := r.Reached(x), exactly(x, den, num, true); got != want {
			t.Errorf("Reached: %d, want %d", got, want)
		}
	})
}

func TestReachedIsTheFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rates().Draw(t, "rate")
		x := rapid.Int64().Draw(t, "ns")
		at := r.Reached(x)
		if at == math.MaxInt64 || at == math.MinInt64 || x == math.MinInt64 {
			t.Skip("at the end of int64")
		}
		if got := r.Elapsed(at); got < x {
			t.Errorf("at %d it has counted %d, less than %d", at, got, x)
		}
		if got := r.Elapsed(at - 1); got >= x {
			t.Errorf("before %d already it has counted %d", at, got)
		}
		y := rapid.Int64().Draw(t, "other ns")
		if (x <= y) != (r.Reached(x) <= r.Reached(y)) && r.Reached(x) != r.Reached(y) ||
			x < y && r.Elapsed(x) > r.Elapsed(y) {
			t.Errorf("not monotone from %d to %d", x, y)
		}
	})
}

func TestRateEnds(t *testing.T) {
	t.Parallel()
	fast, slow := Ratio(math.MaxInt64, 1), Ratio(1, math.MaxInt64)
	for _, c := range []struct{ got, want int64 }{
		{fast.Elapsed(2), math.MaxInt64},
		{fast.Elapsed(1), math.MaxInt64},
		{fast.Elapsed(-1), -math.MaxInt64},
		{fast.Elapsed(-2), math.MinInt64},
		{fast.Elapsed(math.MinInt64), math.MinInt64},
		{fast.Reached(1), 1},
		{fast.Reached(-1), 0},
		{slow.Elapsed(math.MaxInt64), 1},
		{slow.Elapsed(-1), -1},
		{slow.Elapsed(math.MinInt64), -2},
		{slow.Reached(math.MaxInt64), math.MaxInt64},
		{Ratio(2, 1).Elapsed(math.MinInt64 / 2), math.MinInt64},
		{Rate{}.Elapsed(math.MinInt64), math.MinInt64},
		{Rate{}.Reached(math.MaxInt64), math.MaxInt64},
	} {
		if c.got != c.want {
			t.Errorf("got %d, want %d", c.got, c.want)
		}
	}
}

func TestRateText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rates().Draw(t, "rate")
		var back Rate
		b, _ := r.MarshalText()
		if err := back.UnmarshalText(b); err != nil || back != r {
			t.Errorf("%s came back as %v, %v", b, back, err)
		}
		s := rates().Draw(t, "other")
		if c := r.Cmp(s); c != -s.Cmp(r) || (c == 0) != (r == s) || (c < 0) != (r.Elapsed(1e12) < s.Elapsed(1e12)) && r.Elapsed(1e12) != s.Elapsed(1e12) {
			t.Errorf("Cmp(%v, %v) = %d", r, s, c)
		}
	})
}

func TestRateJSON(t *testing.T) {
	t.Parallel()
	type machine struct {
		Rate Rate `json:"rate,omitzero"`
	}
	b, err := json.Marshal([]machine{{}, {Ratio(5, 5)}, {Ratio(200, 199)}})
	if want := `[{},{},{"rate":"200/199"}]`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	for d, want := range map[Drift]string{-200 * PPM: "-200ppm", 5 * PPB: "+5ppb", 0: "+0ppm", 1500: "+1500ppb"} {
		if d.String() != want {
			t.Errorf("%d: %q, want %q", int64(d), d, want)
		}
	}
}

func TestBadRatesInCodePanic(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(){
		"Ratio(0, 1)":   func() { Ratio(0, 1) },
		"Ratio(1, 0)":   func() { Ratio(1, 0) },
		"Ratio(-1, -1)": func() { Ratio(-1, -1) },
		"Drift -100 %":  func() { (-1_000_000 * PPM).Rate() },
		"Drift huge":    func() { Drift(math.MaxInt64).Rate() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			f()
		}()
	}
}

var sink int64

func BenchmarkElapsed(b *testing.B) {
	for _, r := range []Rate{{}, Ratio(200, 199)} {
		b.Run(strings.ReplaceAll(r.String(), "/", "|"), func(b *testing.B) {
			for i := range int64(b.N) {
				sink += r.Elapsed(i)
			}
		})
	}
}
