package browsertest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/picture"
)

// large is a run of 100,000 events at least: four clients that take one key in turns.
func large(t testing.TB) (*sim.History, sim.Verdict) {
	t.Helper()
	sc, err := sim.Load("../../../testdata/scenarios/chrony-slew.json")
	if err != nil {
		t.Fatal(err)
	}
	sc.Name, sc.Until, sc.Faults, sc.Expect, sc.Network.Cuts = "large", clock.Duration(16*time.Second), nil, nil, nil
	sc.Network.Request.Delay.Min, sc.Network.Request.LossPPM = clock.Duration(200*time.Microsecond), 5000
	sc.Lock.Retry = sim.Retry{Min: clock.Duration(5 * time.Millisecond), Max: clock.Duration(30 * time.Millisecond)}
	var clients []sim.Client
	for _, name := range []string{"c1", "c2", "c3", "c4"} {
		clients = append(clients, sim.Client{Name: name, Repeat: 100_000, Steps: []sim.Step{
			{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", For: clock.Duration(10 * time.Millisecond)},
			{Do: "release", Key: "k"}, {Do: "sleep", For: clock.Duration(15 * time.Millisecond)},
		}})
	}
	sc.Clients, sc.Remedies = clients, nil
	for i := range 10 { // in one of these moments somebody holds the lock
		for _, node := range []string{"A", "B", "C"} {
			sc.Faults = append(sc.Faults, sim.Fault{Kind: "flush", On: node, At: clock.Duration(8*time.Second) + clock.Duration(i)*clock.Duration(7*time.Millisecond)})
		}
	}
	h, v := simulate(t, sc)
	if h.Len() < 100_000 || v.OK() {
		t.Fatalf("the run has %d events and breaks %v", h.Len(), v.Broken())
	}
	return h, v
}

// budget is how long writing a page of 100,000 events may take, and a browser until it
// can be used.
const budget = 2 * time.Second

// 100,000 events are written in under 2 s, ready in under 2 s, and stay fluid.
func TestLarge(t *testing.T) {
	ctx := browser(t)
	h, v := large(t)
	var b bytes.Buffer
	written := best(func() time.Duration {
		b.Reset()
		begin := time.Now()
		if err := picture.HTML(&b, h, v, picture.Options{}); err != nil {
			t.Fatal(err)
		}
		return time.Since(begin)
	})
	file := filepath.Join(t.TempDir(), "large.html")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var p *tab
	ready := best(func() time.Duration {
		p = open(t, ctx, file, "", false)
		return time.Duration(value[float64](p, `performance.getEntriesByName("driftlock-ready")[0].startTime`) * float64(time.Millisecond))
	})
	if from, to := p.window(); p.text("verdict") != "BROKEN" || v.Violations[0].At < from || v.Violations[0].At > to {
		t.Errorf("the page says %s and shows %d to %d", p.text("verdict"), from, to)
	}
	times := p.frames()
	slices.Sort(times)
	median, worst := times[len(times)/2], times[len(times)*95/100]
	t.Logf("%d events, %d leases, %d violations: %.1f MB written in %v, ready in %v; a frame takes %.1f ms, 95 %% of them %.1f ms or less",
		h.Len(), len(v.Leases), len(v.Violations), float64(b.Len())/1e6, written.Round(time.Millisecond), ready.Round(time.Millisecond), median, worst)
	if written > budget {
		t.Errorf("written in %v", written)
	}
	if ready > budget {
		t.Errorf("ready after %v", ready)
	}
	if median > 50 {
		t.Errorf("a frame takes %.1f ms", median)
	}
	p.keys("/")
	begin := time.Now()
	p.do(chromedp.KeyEvent("granted c3"))
	for p.text("hits") == "" {
		p.frame()
	}
	t.Logf("a search takes %v: %s", time.Since(begin).Round(time.Millisecond), p.text("hits"))
	if hits := p.text("hits"); !strings.Contains(hits, " of ") || strings.HasPrefix(hits, "0 ") {
		t.Errorf("the search has %q hits", p.text("hits"))
	}
	shoot(p, "large")
}

// best is the shortest of what is measured, up to three times: another program may have
// had the processor.
func best(measure func() time.Duration) time.Duration {
	least := measure()
	for n := 1; n < 3 && least > budget; n++ {
		least = min(least, measure())
	}
	return least
}

// frames zooms from the whole run to some events and back, and moves on the way. It
// returns how long each frame took, in milliseconds, to the next one; a browser draws
// sixty a second at most.
func (b *tab) frames() []float64 {
	b.Helper()
	return value[[]float64](b, `(async () => {
		const chart = document.getElementById('chart');
		const press = (key, shiftKey) => chart.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey, bubbles: true }));
		const frame = () => new Promise((r) => requestAnimationFrame(r));
		const keys = ['0', ...'+'.repeat(25), ...'-'.repeat(25)];
		const times = [];
		let last = await frame();
		for (const key of keys) {
			for (const go of [() => press(key, false), () => press('ArrowRight', true), () => press('ArrowLeft', true)]) {
				go();
				await frame();
				const now = await frame(); // what was drawn is on the screen
				times.push((now - last) / 2);
				last = now;
			}
		}
		return times;
	})()`)
}
