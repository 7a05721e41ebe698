package clock

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64().Draw(t, "ns"))
		var back Duration
		b, _ := d.MarshalText()
		if err := back.UnmarshalText(b); err != nil || back != d {
			t.Errorf("%s came back as %v, %v", b, back, err)
		}
	})
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"0": 0, "-0": 0, "0s": 0, "+0": 0,
		"10s": 10 * time.Second, "1.5ms": 1500 * time.Microsecond, "1h30m": 90 * time.Minute,
		"-1m0.5s": -60500 * time.Millisecond, ".5s": time.Second / 2, "5.s": 5 * time.Second,
		"1us": 1000, "1µs": 1000, "1μs": 1000, "0.001us": 1, "1.000ns": 1,
		"0.0000000000025h":              9,
		"2562047h47m16.854775807s":      math.MaxInt64,
		"-2562047h47m16.854775808s":     math.MinInt64,
		"1.00000000000000000000000000s": time.Second,
	} {
		if got, err := ParseDuration(in); err != nil || time.Duration(got) != want {
			t.Errorf("%q: %v, %v, want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "is written", "s": "is written", ".s": "is written", "1x": "is written", "1.2.3s": "is written",
		"+-1s": "is written", "-+1s": "is written", "1s ": "is written", "1 s": "is written", "-": "is written",
		"10": "no unit", "1s5": "no unit",
		"0.5ns": "whole number", "1.0000000001s": "whole number", "0.00000000000001h": "whole number",
		"2562047h47m16.854775808s": "out of range", "-2562047h47m16.854775809s": "out of range",
		"99999999999999999999s": "out of range", "18446744073709551615ns": "out of range",
		"9223372036854775807ns9223372036854775807ns2ns": "out of range",
		strings.Repeat("9", 10000) + "s":                "out of range",
	} {
		if _, err := ParseDuration(in); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 250 {
			t.Errorf("%.40q: error %.300v, want one with %q", in, err, want)
		}
	}
}

// What time.ParseDuration reads exactly, ParseDuration reads the same.
func TestParseDurationIsThatOfTime(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[+-]?([0-9]{0,4}(\.[0-9]{0,4})?(ns|us|µs|ms|s|m|h)){1,3}`)
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		want, bad := time.ParseDuration(s)
		got, err := ParseDuration(s)
		if err != nil && strings.Contains(err.Error(), "whole number") {
			return // time cuts it
		}
		if (bad == nil) != (err == nil) || time.Duration(got) != want {
			t.Errorf("%q: %v, %v, and time says %v, %v", s, got, err, want, bad)
		}
	})
}
