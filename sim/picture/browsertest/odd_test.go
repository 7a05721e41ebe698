package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/picture"
)

// Names and keys that are markup are shown as what they are, and nothing of them runs.
func TestHostileNames(t *testing.T) {
	ctx := browser(t)
	const evil = "</script><img src=x onerror=alert(1)><script>alert(2)</script>"
	sc, err := sim.Load("../../../testdata/scenarios/chrony-slew.json")
	if err != nil {
		t.Fatal(err)
	}
	sc.Name, sc.About = evil, evil
	for i := range sc.Clients {
		for j := range sc.Clients[i].Steps {
			if sc.Clients[i].Steps[j].Key != "" {
				sc.Clients[i].Steps[j].Key = evil
			}
		}
	}
	h, v := simulate(t, sc)
	b := open(t, ctx, draw(t, h, v), "", false)
	if got := b.text("title"); got != evil {
		t.Errorf("the title is %q", got)
	}
	b.keys(kb.Home, kb.ArrowRight, kb.ArrowRight, kb.ArrowRight)
	if n := value[int](b, `document.querySelectorAll('img, script').length`); n != 2 {
		t.Errorf("the page has %d images and scripts", n)
	}
	if got := value[string](b, `document.querySelector('#key option:last-child').textContent`); got != evil {
		t.Errorf("the key is called %q", got)
	}
	if !strings.Contains(b.text("lines"), evil) || !strings.Contains(b.text("scenario"), evil[:8]) && !strings.Contains(b.text("scenario"), `\u003c`) {
		t.Error("the story or the scenario has lost the key")
	}
}

// Runs that are unlike most: nothing happens, or everything at once, or there are very
// many machines, keys and faults.
func TestOddRuns(t *testing.T) {
	ctx := browser(t)
	base := func() sim.Scenario {
		sc, err := sim.Load("../../../testdata/scenarios/chrony-slew.json")
		if err != nil {
			t.Fatal(err)
		}
		sc.Expect, sc.Remedies, sc.Faults, sc.Network.Cuts = nil, nil, nil, nil
		return sc
	}
	idle := base()
	idle.Clients = []sim.Client{{Name: "c1", Steps: []sim.Step{{Do: "sleep", For: 1}}}}
	at0 := base()
	at0.Network.Request.Delay.Min, at0.Network.Reply.Delay.Min = 0, 0
	at0.Clients = []sim.Client{{Name: "c1", Steps: []sim.Step{{Do: "acquire", Key: "k"}, {Do: "release", Key: "k"}}}}
	at0.Until = 1
	many := base()
	many.Nodes, many.Clients = nil, nil
	many.Lock.Retry = sim.Retry{Min: 1e8, Max: 3e8}
	for i := range 31 {
		many.Nodes = append(many.Nodes, sim.Node{Name: fmt.Sprintf("node-with-a-long-name-%d", i)})
		many.Faults = append(many.Faults, sim.Fault{Kind: "pause", On: many.Nodes[i].Name, At: clock.Duration(i) * 1e8, For: 3e8}, sim.Fault{Kind: "flush", On: many.Nodes[i].Name, At: clock.Duration(i) * 1e8})
	}
	for i := range 30 {
		key := fmt.Sprintf("key %d", i%12)
		many.Clients = append(many.Clients, sim.Client{Name: fmt.Sprintf("c%d", i), Steps: []sim.Step{{Do: "acquire", Key: key}, {Do: "hold", Key: key, For: 5e8}, {Do: "release", Key: key}}})
	}
	old := base()
	for i := range old.Nodes {
		old.Nodes[i].Clock.Offset = clock.Duration(9e18 / 100) // beyond what a JavaScript number holds
	}
	for name, sc := range map[string]sim.Scenario{"idle": idle, "at once": at0, "many": many, "offset": old} {
		t.Run(name, func(t *testing.T) {
			h, v := simulate(t, sc)
			b := open(t, ctx, draw(t, h, v), "", false)
			b.keys("0", "v", kb.Home, "+", "+", kb.ArrowRight, kb.ArrowDown, kb.ArrowUp, kb.End, "m", "0")
			shoot(b, "odd-"+strings.ReplaceAll(name, " ", "-"))
			if step, _, _ := b.selected(); step == 0 {
				t.Error("nothing is selected")
			}
			if from, to := b.window(); to <= from || to < h.End() {
				t.Errorf("the page shows %d to %d, and the run ends at %d", from, to, h.End())
			}
			if name != "offset" {
				return
			}
			want := events(t, h, v)
			for step := 1; step <= h.Len(); step++ {
				if e := h.Event(step); e.Node >= 0 && e.Local > 1<<53 {
					b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = "#step=%d"`, step)))
					b.frame()
					if got := b.text("event-json"); !strings.Contains(got, fmt.Sprintf(`"local_ns": %v`, want[step]["local_ns"])) {
						t.Errorf("step %d at %d is shown as %s", step, e.Local, got)
					}
					return
				}
			}
			t.Error("no reading is long")
		})
	}
}

// A test that failed otherwise than by a broken promise says that first.
func TestOtherFailures(t *testing.T) {
	ctx := browser(t)
	h, v := run(t, "fault-live")
	file := filepath.Join(t.TempDir(), "failed.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := picture.HTML(f, h, v, picture.Options{Failure: "c1 panicked at step 7: oh"}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	b := open(t, ctx, file, "", false)
	if b.text("verdict") != "FAILED" || b.text("headline-text") != "c1 panicked at step 7: oh" {
		t.Errorf("the page says %s %s", b.text("verdict"), b.text("headline-text"))
	}
	if from, to := b.window(); from <= 0 || to < h.End() {
		t.Errorf("it shows %d to %d, and the end is at %d", from, to, h.End())
	}
}

// Every page of the catalogue opens, shows its violation and is quiet; a few of them
// unless DRIFTLOCK_LONG is set.
func TestCatalogue(t *testing.T) {
	ctx := browser(t)
	files, err := filepath.Glob("../../../testdata/scenarios/*.json")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for i, file := range files {
		if os.Getenv("DRIFTLOCK_LONG") == "" && i%15 != 0 {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			h, v := run(t, name)
			b := open(t, ctx, draw(t, h, v), "", false)
			if from, to := b.window(); !v.OK() && (v.Violations[0].At < from || v.Violations[0].At > to) {
				t.Errorf("it shows %d to %d, and not the violation at %d", from, to, v.Violations[0].At)
			}
			b.keys("0", kb.ArrowRight, "v")
		})
	}
}
