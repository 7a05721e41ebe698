// Package browsertest looks at the pages of package picture with a real browser, a
// headless Chromium from the PATH. It is a module of its own, so that what drives the
// browser is no dependency of the product.
package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"driftlock/clock"
	"driftlock/internal/servers"
	"driftlock/sim"
	"driftlock/sim/picture"
)

// chromium is the browser's program. Without one the test is skipped, or fails if
// DRIFTLOCK_REQUIRE names chromium.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	servers.Need(t, "chromium", fmt.Errorf("chromium is %w", servers.ErrMissing))
	return ""
}

// browser starts one for a test, with nothing of a user's, and ends it with the test.
func browser(t testing.TB) context.Context {
	t.Helper()
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.Env("TMPDIR="+t.TempDir()),
		chromedp.Flag("headless", true), chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true))
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); stop() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	ctx, expire := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(expire)
	return ctx
}

// tab is one tab of a browser, and what it should not have done.
type tab struct {
	testing.TB
	ctx  context.Context
	file string

	mu       sync.Mutex
	requests []string
	messages []string
}

// open opens a page in a new tab, and waits until it says that it is ready.
func open(t testing.TB, browser context.Context, file, hash string, dark bool) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{TB: t, ctx: ctx, file: file}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	b.do(chromedp.EmulateViewport(1400, 900), chromedp.Navigate("file://"+file+hash))
	for !value[bool](b, `performance.getEntriesByName("driftlock-ready").length > 0`) {
		time.Sleep(10 * time.Millisecond)
	}
	t.Cleanup(b.quiet)
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "file://"+b.file) {
			b.requests = append(b.requests, e.Request.URL)
		}
	case *runtime.EventConsoleAPICalled:
		b.messages = append(b.messages, fmt.Sprintf("console.%s %s", e.Type, e.Args[0].Value))
	case *runtime.EventExceptionThrown:
		b.messages = append(b.messages, fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		b.messages = append(b.messages, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *page.EventJavascriptDialogOpening:
		b.messages = append(b.messages, "a dialog: "+e.Message)
	}
}

// quiet is true of every page: it asked for nothing, and nothing went wrong.
func (b *tab) quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		b.Errorf("the page asks for %.200s", r)
	}
	for _, m := range b.messages {
		b.Errorf("the browser says: %s", m)
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// call sends one command of the protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.Fatal(err)
	}
}

// value is what an expression comes to on the page.
func value[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// text is what stands in an element.
func (b *tab) text(id string) string {
	b.Helper()
	return strings.ReplaceAll(value[string](b, fmt.Sprintf(`document.getElementById(%q).textContent`, id)), "\u00a0", " ")
}

// frame waits until the page has drawn.
func (b *tab) frame() {
	b.Helper()
	value[bool](b, `new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))`)
}

// window is the stretch of true time that the chart shows.
func (b *tab) window() (from, to int64) {
	b.Helper()
	b.frame()
	fmt.Sscan(value[string](b, `document.getElementById("chart").dataset.window`), &from, &to)
	return from, to
}

// keys types keys into the page, wherever the focus is.
func (b *tab) keys(keys ...string) {
	b.Helper()
	for _, k := range keys {
		if len(k) > 1 || k == " " || k < " " {
			b.do(chromedp.KeyEvent(k))
			continue
		}
		// One event, as a keyboard makes it: what the page prevents is not typed.
		call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: k, Text: k})
		call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: k})
	}
	b.frame()
}

// selected is the step that is selected, 0 for none, and where its mark is on the page.
func (b *tab) selected() (step int, x, y float64) {
	b.Helper()
	b.frame()
	if title := b.text("event-title"); !strings.HasPrefix(title, "#") {
		return 0, 0, 0
	}
	fmt.Sscan(value[string](b, `document.getElementById("chart").dataset.selected`), &step, &x, &y)
	box := value[[]float64](b, `(() => { const r = document.getElementById("chart").getBoundingClientRect(); return [r.left, r.top]; })()`)
	return step, x + box[0], y + box[1]
}

// run runs a scenario of the catalogue.
func run(t testing.TB, name string) (*sim.History, sim.Verdict) {
	t.Helper()
	sc, err := sim.Load("../../../testdata/scenarios/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return simulate(t, sc)
}

// skewed is the run of chrony-slew with machines of which none has true time.
func skewed(t testing.TB) (*sim.History, sim.Verdict) {
	t.Helper()
	sc, err := sim.Load("../../../testdata/scenarios/chrony-slew.json")
	if err != nil {
		t.Fatal(err)
	}
	for i := range sc.Nodes {
		sc.Nodes[i].Clock.Offset = clock.Duration(i+1) * 1234567890
	}
	for i := range sc.Clients {
		sc.Clients[i].Clock.Offset, sc.Clients[i].Lives = clock.Duration(i+1)*7654321, sim.Wall
	}
	return simulate(t, sc)
}

func simulate(t testing.TB, sc sim.Scenario) (*sim.History, sim.Verdict) {
	t.Helper()
	h, err := sim.Run(sc)
	if err != nil {
		t.Fatal(err)
	}
	return h, sim.Check(h)
}

// draw writes the page of a run to a file of the test.
func draw(t testing.TB, h *sim.History, v sim.Verdict) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := picture.HTML(f, h, v, picture.Options{Command: "replay run FILE"}); err != nil {
		t.Fatal(err)
	}
	return file
}

// events are the events of a run as JSON, by step: the arguments of its trace.
func events(t testing.TB, h *sim.History, v sim.Verdict) map[int]map[string]any {
	t.Helper()
	var b strings.Builder
	if err := picture.Perfetto(&b, h, v); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Cat  string
			Args map[string]any
		}
	}
	d := json.NewDecoder(strings.NewReader(b.String()))
	d.UseNumber()
	if err := d.Decode(&trace); err != nil {
		t.Fatal(err)
	}
	list := map[int]map[string]any{}
	for _, e := range trace.TraceEvents {
		if e.Cat == "event" {
			step, _ := e.Args["step"].(json.Number).Int64()
			delete(e.Args, "says")
			list[int(step)] = e.Args
		}
	}
	return list
}
