package measure

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/sim/draw"
	"driftlock/sim/network"
)

// A world is a server and a client with clocks of the simulator, and its network.
type world struct {
	seed   uint64
	client clock.Rate
	rates  []span // of the server
	steps  []Step
	stop   span          // the server's clock stands still
	delay  network.Delay // each way
	every  time.Duration
	long   time.Duration
}

// A span is from when a clock runs at a rate.
type span struct {
	from, to time.Duration
	rate     clock.Rate
}

// server is what the server's clock reads, in whole microseconds, at a true time.
func (w *world) server(at time.Duration) time.Duration {
	reading, phase := time.Duration(0), time.Duration(draw.Between(draw.Key(w.seed, draw.Choice, 1, 0, 0), 0, 999_999))
	if w.stop.to > w.stop.from && at > w.stop.from {
		at = max(w.stop.from, at-(w.stop.to-w.stop.from))
	}
	for i, s := range w.rates {
		end := at
		if i+1 < len(w.rates) {
			end = min(at, w.rates[i+1].from)
		}
		if end > s.from {
			reading += time.Duration(s.rate.Elapsed(int64(end - s.from)))
		}
	}
	for _, s := range w.steps {
		if at >= time.Duration(s.At) {
			reading += time.Duration(s.By)
		}
	}
	return (reading + phase + time.Hour).Truncate(time.Microsecond)
}

func (w *world) trip(purpose draw.Purpose, n int) time.Duration {
	u := draw.Key(w.seed, purpose, 0, 0, uint64(n))
	if w.delay.Law == network.Pareto {
		return time.Duration(min(draw.Pareto(u, int64(w.delay.Min)), int64(w.delay.Max)))
	}
	return time.Duration(int64(w.delay.Min) + draw.Exponential(u, int64(w.delay.Mean)))
}

// samples is what a client sees that asks every so often.
func (w *world) samples() (list []Sample) {
	local := func(at time.Duration) time.Duration { return time.Duration(w.client.Elapsed(int64(at))) }
	for n, at := 0, time.Duration(0); at < w.long; n++ {
		there := at + w.trip(draw.RequestDelay, n)
		back := there + w.trip(draw.ReplyDelay, n)
		list = append(list, Sample{local(at), local(back), w.server(there)})
		at = max(at+w.every, back)
	}
	return list
}

var (
	lan = network.Delay{Law: network.Exponential, Min: 100_000, Mean: 150_000}
	wan = network.Delay{Law: network.Pareto, Min: 400_000, Max: 200_000_000} // a heavy tail
)

func newWorld(seed uint64, drift clock.Drift, delay network.Delay) *world {
	return &world{seed: seed, rates: []span{{rate: drift.Rate()}}, delay: delay, every: 50 * time.Millisecond, long: 60 * time.Second}
}

// runs is how many a test makes: fewer under the race detector.
func runs(n int) int {
	info, _ := debug.ReadBuildInfo()
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return n / 20
	}
	return n
}

// The rates that are planted are within their intervals in 95 % of 1,000 runs, and no
// step is seen where there was none.
func TestRecoversRates(t *testing.T) {
	t.Parallel()
	drifts := []clock.Drift{0, 20 * clock.PPM, -20 * clock.PPM, 200 * clock.PPM, -200 * clock.PPM, 83_333_333, -83_333_333}
	total, within, widest := 0, 0, 0.0
	for i := range runs(1000) {
		drift := drifts[i%len(drifts)]
		delay := lan
		if i%2 == 1 {
			delay = wan
		}
		w := newWorld(uint64(i), drift, delay)
		if i%3 == 0 {
			w.client = (10 * clock.PPM).Rate()
		}
		s, ok := Estimate(w.samples())
		if !ok {
			t.Fatal("no estimate")
		}
		c, _ := w.client.Fraction()
		_, d := w.client.Fraction()
		want := ((1+float64(drift)/1e9)/(float64(c)/float64(d)) - 1) * 1e6
		total++
		if s.Rate.Low <= want && want <= s.Rate.High {
			within++
		}
		widest = max(widest, s.Rate.High-s.Rate.Low)
		if len(s.Steps) > 0 || s.Frozen > 0 || s.Slew != 0 {
			t.Errorf("run %d, %v: steps %v, frozen %v, slew %v, and there were none", i, drift, s.Steps, s.Frozen, s.Slew)
		}
	}
	share := float64(within) / float64(total)
	t.Logf("%d of %d runs within (%.1f %%), the widest interval %.2f ppm", within, total, 100*share, widest)
	if share < 0.95 {
		t.Errorf("within the interval in %.3f of the runs", share)
	}
	if share > 0.9999 && total > 500 {
		t.Errorf("always within: the interval says nothing")
	}
	if widest > 20 {
		t.Errorf("an interval of %v ppm", widest)
	}
}

// Steps of 5 ms and more are found, when they were and how large, on clocks of any
// rate; and the rate is what it was without them.
func TestFindsSteps(t *testing.T) {
	t.Parallel()
	tried := 0
	for i := range runs(400) {
		drift := []clock.Drift{0, 200 * clock.PPM, 83_333_333, -83_333_333}[i%4]
		w := newWorld(uint64(i), drift, lan)
		size := []clock.Duration{5e6, -5e6, 8e6, 1e9, -3600e9}[i%5]
		at := clock.Duration(draw.Between(draw.Key(uint64(i), draw.Choice, 9, 0, 0), 2e9, 58e9))
		w.steps = []Step{{at, size}}
		if i%7 == 0 {
			w.steps = append(w.steps, Step{(at + 30e9) % 60e9, -size})
			slices.SortFunc(w.steps, func(a, b Step) int { return int(a.At - b.At) })
		}
		s, ok := Estimate(w.samples())
		if !ok {
			t.Fatal("no estimate")
		}
		if len(s.Steps) != len(w.steps) {
			t.Errorf("run %d: found %v, and there were %v", i, s.Steps, w.steps)
			continue
		}
		for j, want := range w.steps {
			got := s.Steps[j]
			if math.Abs(float64(got.At-want.At)) > 150e6 || math.Abs(float64(got.By-want.By)) > 0.5e6 {
				t.Errorf("run %d: found %v, and it was %v", i, got, want)
			}
			tried++
		}
		if want := float64(drift) / 1000; math.Abs(s.Rate.Value-want) > 30 {
			t.Errorf("run %d: rate %.1f ppm, and it is %.1f", i, s.Rate.Value, want)
		}
	}
	t.Logf("%d steps found", tried)
}

// A slew is no step, and is told.
func TestTellsSlewsFromSteps(t *testing.T) {
	t.Parallel()
	for i := range runs(200) {
		fast := []clock.Drift{83_333_333, -83_333_333, 500 * clock.PPM}[i%3]
		from := time.Duration(draw.Between(draw.Key(uint64(i), draw.Choice, 9, 0, 0), 5e9, 30e9))
		w := newWorld(uint64(i), 0, lan)
		w.rates = []span{{rate: clock.Rate{}}, {from: from, rate: fast.Rate()}, {from: from + 15*time.Second, rate: clock.Rate{}}}
		s, ok := Estimate(w.samples())
		if !ok || len(s.Steps) > 0 {
			t.Errorf("run %d: steps %v of a clock that slews by %v", i, s.Steps, fast)
		}
		if math.Abs(s.Slew-float64(fast)/1000) > 0.05*math.Abs(float64(fast)/1000)+20 {
			t.Errorf("run %d: slew %v ppm, and it was %v", i, s.Slew, fast)
		}
	}
}

func TestFrozen(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 0, lan)
	w.stop = span{from: 20 * time.Second, to: 23 * time.Second}
	s, ok := Estimate(w.samples())
	if !ok || s.Frozen < 2800e6 || s.Frozen > 3000e6 || len(s.Warnings) == 0 {
		t.Errorf("frozen %v, warnings %v", s.Frozen, s.Warnings)
	}
}

// Few samples, or strange ones, are no estimate or a poor one, and no panic.
func TestStrangeSamples(t *testing.T) {
	t.Parallel()
	all := newWorld(1, 0, lan).samples()
	for n := range 40 {
		s, ok := Estimate(all[:n])
		if ok && (math.IsNaN(s.Rate.Value) || math.IsNaN(s.Rate.High) || s.Rate.High < s.Rate.Low) || ok && n < fewest {
			t.Errorf("%d samples: %v", n, s.Rate)
		}
	}
	same := slices.Repeat([]Sample{all[0]}, 50)
	if s, ok := Estimate(same); ok && math.IsNaN(s.Rate.Value) {
		t.Errorf("one sample 50 times: %+v", s)
	}
	short, _ := Estimate(newWorld(1, 0, lan).samples()[:100])
	long, _ := Estimate(all)
	if short.Rate.High-short.Rate.Low < 3*(long.Rate.High-long.Rate.Low) {
		t.Errorf("5 s: %v, 60 s: %v: the interval does not narrow", short.Rate, long.Rate)
	}
}

func ExampleEstimate() {
	var samples []Sample // of a server that is 1 s ahead and gains 100 µs a second
	for i := range 200 {
		at := time.Duration(i) * 50 * time.Millisecond
		samples = append(samples, Sample{Sent: at, Heard: at + time.Millisecond, Server: (time.Second + at + at/10_000 + 500*time.Microsecond).Truncate(time.Microsecond)})
	}
	s, _ := Estimate(samples)
	fmt.Printf("%.0f ppm, ahead by %v\n", s.Rate.Value, time.Duration(s.Offset).Round(time.Millisecond))
	// Output: 100 ppm, ahead by 1.001s
}
