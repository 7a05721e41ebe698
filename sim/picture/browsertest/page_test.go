package browsertest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"driftlock/sim/timeline"
)

// failures are five of the catalogue, each of another sort.
var failures = []string{"chrony-slew", "s20-amnesia-restart", "g14-suspend", "s13-pause-after-check", "flaw-no-release-before-retry"}

// A page opens from disk at the violation, in light and in dark: it asks for nothing,
// and says what the terminal says. DRIFTLOCK_SHOTS names a folder to keep what it looks
// like.
func TestOpensAtTheViolation(t *testing.T) {
	ctx := browser(t)
	for _, name := range failures {
		h, v := run(t, name)
		file := draw(t, h, v)
		account := timeline.Tell(h, v, 0)
		background := map[bool]string{}
		for _, dark := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,dark=%v", name, dark), func(t *testing.T) {
				b := open(t, ctx, file, "", dark)
				if got := b.text("verdict"); got != "BROKEN" {
					t.Errorf("the verdict is %s", got)
				}
				if got := b.text("headline-text"); got != strings.ReplaceAll(account.Headline, "\u00a0", " ") {
					t.Errorf("the headline is %q, and in the terminal %q", got, account.Headline)
				}
				for _, s := range account.Sentences {
					if !strings.Contains(b.text("why"), strings.ReplaceAll(s.Text, "\u00a0", " ")) {
						t.Errorf("the page does not say %q", s.Text)
					}
				}
				from, to := b.window()
				if at := v.Violations[0].At; at < from || at > to {
					t.Errorf("the page shows %d to %d, and the violation is at %d", from, to, at)
				}
				if got := b.text("scenario-text"); got != func() string { sc := h.Scenario(); return string(sc.AppendJSON(nil)) }() {
					t.Error("the scenario beside it is another")
				}
				red := value[int](b, `(() => {
					const c = document.getElementById('chart');
					const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
					const want = getComputedStyle(document.documentElement).getPropertyValue('--danger').trim();
					const [r, g, b] = [1, 3, 5].map((i) => parseInt(want.slice(i, i + 2), 16));
					let n = 0;
					for (let i = 0; i < d.length; i += 4) if (d[i] === r && d[i + 1] === g && d[i + 2] === b) n++;
					return n;
				})()`)
				if red < 100 {
					t.Errorf("the violation is %d pixels large", red)
				}
				background[dark] = value[string](b, `getComputedStyle(document.body).backgroundColor`)
				shoot(b, fmt.Sprintf("%s-%s", name, map[bool]string{false: "light", true: "dark"}[dark]))
			})
		}
		if len(background) == 2 && background[false] == background[true] {
			t.Errorf("light and dark are both %s", background[true])
		}
	}
}

// shoot keeps what the page looks like.
func shoot(b *tab, name string) {
	dir := os.Getenv("DRIFTLOCK_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
}

// The wheel zooms at the pointer, dragging moves, pointing at an event shows both of
// its clocks and its JSON, and a click selects it.
func TestMouse(t *testing.T) {
	ctx := browser(t)
	h, v := skewed(t)
	want := events(t, h, v)
	b := open(t, ctx, draw(t, h, v), "", false)

	from, to := b.window()
	call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: chromedp.MouseWheel, X: 600, Y: 500, DeltaX: 0.5, DeltaY: -300})
	nearFrom, nearTo := b.window()
	if nearTo-nearFrom >= (to-from)/2 || nearFrom < from || nearTo > to {
		t.Errorf("the wheel leads from %d–%d to %d–%d", from, to, nearFrom, nearTo)
	}
	b.do(chromedp.MouseEvent(chromedp.MousePressed, 600, 500, chromedp.ButtonLeft), chromedp.MouseEvent(chromedp.MouseMoved, 500, 500, chromedp.ButtonLeft), chromedp.MouseEvent(chromedp.MouseReleased, 500, 500, chromedp.ButtonLeft))
	movedFrom, movedTo := b.window()
	if movedFrom <= nearFrom || math.Abs(float64((movedTo-movedFrom)-(nearTo-nearFrom))) > 2 {
		t.Errorf("dragging leads from %d–%d to %d–%d", nearFrom, nearTo, movedFrom, movedTo)
	}
	b.do(chromedp.Click(chromedp.ID("all")))
	if all, end := b.window(); all > 0 || end < h.End() {
		t.Errorf("all is %d–%d, and the run ends at %d", all, end, h.End())
	}

	b.keys("v")
	seen := 0
	for range 12 {
		b.do(chromedp.Focus(chromedp.ID("chart")))
		b.keys(kb.ArrowRight)
		step, x, y := b.selected()
		b.keys(kb.Escape)
		if gone, _, _ := b.selected(); gone != 0 || step == 0 {
			t.Fatalf("step %d is selected, then %d", step, gone)
		}
		b.do(chromedp.MouseEvent(chromedp.MouseMoved, x, y))
		b.frame()
		var shown map[string]any
		if text := value[string](b, `document.querySelector("#tip pre")?.textContent || ""`); text != "" {
			if err := unmarshal(text, &shown); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			number, _ := shown["step"].(json.Number).Int64() // another at the same place may be on top
			e := h.Event(int(number))
			if e.At != h.Event(step).At || !reflect.DeepEqual(shown, want[int(number)]) {
				t.Errorf("pointing at step %d shows %v, and it is %v", step, shown, want[step])
			}
			tip := b.text("tip")
			if !strings.Contains(tip, "true time") || !strings.Contains(tip, "clock "+seconds(e.Local)) || !strings.Contains(tip, "true time "+seconds(e.At)) {
				t.Errorf("of step %d, at %d and %d, the tip tells no clocks: %s", number, e.At, e.Local, tip)
			}
			seen++
		}
		b.do(chromedp.MouseClickXY(x, y))
		if again, _, _ := b.selected(); again == 0 || h.Event(again).At != h.Event(step).At {
			t.Errorf("a click on step %d selects %d", step, again)
		}
	}
	if seen != 12 {
		t.Errorf("pointing at 12 events showed %d", seen)
	}
	// A bar tells its lease.
	b.keys("0")
	y := value[float64](b, `document.getElementById("chart").getBoundingClientRect().top`) + 62
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, 500, y))
	b.frame()
	if tip := b.text("tip"); !strings.Contains(tip, "belief went on for 667.88 ms too long") { // 9.898 s less 9.230 119 690 s
		t.Errorf("pointing at the bar of belief shows %q", tip)
	}
}

func unmarshal(text string, v any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// seconds is nanoseconds as the page writes them.
func seconds(ns int64) string {
	digits := fmt.Sprintf("%09d", ns%1e9)
	return fmt.Sprintf("%d.%s %s %s s", ns/1e9, digits[:3], digits[3:6], digits[6:])
}

// Everything can be done with keys alone.
func TestKeyboard(t *testing.T) {
	ctx := browser(t)
	h, v := skewed(t)
	want := events(t, h, v)
	file := draw(t, h, v)
	b := open(t, ctx, file, "", false)

	b.keys(kb.Home)
	const some = 40
	for step := 1; step <= some; step++ {
		got, _, _ := b.selected()
		if got != step {
			t.Fatalf("→ leads to step %d, and not %d", got, step)
		}
		var shown map[string]any
		if err := unmarshal(b.text("event-json"), &shown); err != nil || !reflect.DeepEqual(shown, want[step]) {
			t.Errorf("step %d is shown as %v, and is %v (%v)", step, shown, want[step], err)
		}
		b.keys(kb.ArrowRight)
	}
	b.keys(kb.End, kb.ArrowLeft)
	if step, _, _ := b.selected(); step != h.Len()-1 {
		t.Errorf("← leads to step %d", step)
	}
	b.keys(kb.Home, kb.ArrowDown)
	if step, _, _ := b.selected(); step == 0 || h.Event(step).Client == h.Event(1).Client {
		t.Errorf("↓ leads to step %d", step)
	}

	// The message's other end.
	b.keys("/")
	b.do(chromedp.KeyEvent("sent acquire"), chromedp.KeyEvent(kb.Enter))
	step, _, _ := b.selected()
	b.keys(kb.Tab, kb.Tab) // out of the field
	b.do(chromedp.Focus(chromedp.ID("chart")))
	if step == 0 || h.Event(step).Kind.String() != "sent" {
		t.Errorf("the search led to step %d, %v: %s", step, h.Event(step), b.text("event"))
	}
	for range 40 { // one that arrived
		if b.keys("m"); want[step]["kind"] == "sent" {
			if to, _, _ := b.selected(); to != step {
				if h.Event(to).Kind.String() != "executed" || h.Event(to).Nth != h.Event(step).Nth {
					t.Errorf("m leads from step %d to %d", step, to)
				}
				break
			}
		}
		b.keys("n")
		step, _, _ = b.selected()
	}
	if hits := b.text("hits"); !strings.Contains(hits, " of 105") {
		t.Errorf("the search has %q hits", hits)
	}

	b.keys("0")
	from, to := b.window()
	b.keys("+", "+")
	nearFrom, nearTo := b.window()
	if nearTo-nearFrom >= (to-from)/2 {
		t.Errorf("+ + leads from %d–%d to %d–%d", from, to, nearFrom, nearTo)
	}
	b.keys("-")
	if a, z := b.window(); z-a <= nearTo-nearFrom {
		t.Error("− does not zoom out")
	}
	b.keys("v")
	if a, z := b.window(); v.Violations[1].At < a || v.Violations[1].At > z {
		t.Errorf("v shows %d–%d, the second violation is at %d", a, z, v.Violations[1].At)
	}
	b.keys("s")
	if value[bool](b, `document.getElementById("scenario").hidden`) || !value[bool](b, `document.getElementById("story").hidden`) {
		t.Error("s does not show the scenario")
	}
	b.keys("s")

	// A filter, with the keyboard: the first box hides the lock's events.
	b.keys("f", " ", kb.Escape)
	if got := b.text("filters"); !strings.Contains(got, "1 hidden") {
		t.Errorf("the filters say %q", got)
	}
	b.keys("t", "l")
	theme := value[string](b, `document.documentElement.dataset.theme`)
	if theme != "dark" {
		t.Errorf("t leads to %s", theme)
	}
	b.keys("?")
	if !value[bool](b, `document.getElementById("help").open`) || !strings.Contains(b.text("help"), "the next broken promise") {
		t.Error("? shows no help")
	}
	b.keys(kb.Escape)
	if value[bool](b, `document.getElementById("help").open`) {
		t.Error("Esc does not close the help")
	}

	// The link has all of that.
	hash := value[string](b, `location.hash`)
	c := open(t, ctx, file, hash, false)
	a1, z1 := b.window()
	a2, z2 := c.window()
	if a1 != a2 || z1 != z2 || c.text("event-title") != b.text("event-title") || c.text("hits") != b.text("hits") || c.text("filters") != b.text("filters") ||
		value[string](c, `document.documentElement.dataset.theme`) != theme {
		t.Errorf("the link %s leads to another view: %d–%d and %d–%d", hash, a1, z1, a2, z2)
	}
	for _, bad := range []string{"#from=x&to=&step=-4&without=99.a&hide=no&key=%3Cscript%3E&theme=pink", "#%E0%A4%A", "#from=9e99&to=-9e99&step=1e9"} {
		open(t, ctx, file, bad, false)
	}
}

// Every control has a name for those who do not see it, and focus can be seen.
func TestAccessible(t *testing.T) {
	ctx := browser(t)
	h, v := run(t, "chrony-slew")
	b := open(t, ctx, draw(t, h, v), "", false)
	nameless := value[[]string](b, `[...document.querySelectorAll('button, input, select, canvas, [role]')].filter((e) =>
		!e.hasAttribute('aria-hidden') && !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby') && !e.textContent.trim() && !e.labels?.length && !['status', 'tooltip'].includes(e.getAttribute('role'))).map((e) => e.outerHTML)`)
	if len(nameless) > 0 {
		t.Errorf("without a name: %q", nameless)
	}
	b.do(chromedp.Focus(chromedp.ID("chart")))
	b.keys(kb.Home)
	if said := b.text("live"); !strings.HasPrefix(said, "Step 1, C: its clocks now run") {
		t.Errorf("a screen reader hears %q", said)
	}
	seen := map[string]bool{}
	for range 30 {
		b.keys(kb.Tab)
		who := value[string](b, `document.activeElement.id || document.activeElement.parentElement?.id || ''`)
		if outline := value[string](b, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" && who != "" {
			t.Errorf("the focus on %s cannot be seen", who)
		}
		seen[who] = true
	}
	for _, id := range []string{"violation", "all", "search", "key", "theme", "link", "open-help", "chart", "lines", "tab-story", "event-json"} {
		if !seen[id] {
			t.Errorf("Tab does not lead to %s, but to %v", id, seen)
		}
	}
	// A narrow window has everything too, one below the other.
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 420, Height: 800, DeviceScaleFactor: 2})
	b.frame()
	if wide := value[int](b, `document.documentElement.scrollWidth`); wide > 420 {
		t.Errorf("in a window of 420 the page is %d wide: %v", wide, value[[]string](b, `[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > 420).map((e) => e.tagName + '#' + e.id + ' ' + e.getBoundingClientRect().right)`))
	}
}
