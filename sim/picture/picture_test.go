package picture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"driftlock/sim"
	"driftlock/sim/timeline"
)

func load(t testing.TB, name string) sim.Scenario {
	t.Helper()
	sc, err := sim.Load("../../testdata/scenarios/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func run(t testing.TB, sc sim.Scenario, opts ...sim.Option) (*sim.History, sim.Verdict) {
	t.Helper()
	h, err := sim.Run(sc, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h, sim.Check(h)
}

// catalogue runs f with every scenario of the catalogue.
func catalogue(t *testing.T, f func(t *testing.T, h *sim.History, v sim.Verdict)) {
	t.Helper()
	list, err := filepath.Glob("../../testdata/scenarios/*.json")
	if err != nil || len(list) < 100 {
		t.Fatalf("%d scenarios, %v", len(list), err)
	}
	for _, file := range list {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			h, v := run(t, load(t, name))
			f(t, h, v)
		})
	}
}

// page is a page and the data in it.
type page struct {
	text string
	data struct {
		Title      string
		Headline   string
		Scenario   string
		At, Value  []json.Number
		Kind, Lane []int
		Said       []string
		Arrows     []int
		Machines   [][]string
		Leases     [][]any
		Blocks     [][]any
		Violations [][]any
		Troubles   [][]any
		Story      [][]any
		Window     []json.Number
	}
}

var dataBlock = regexp.MustCompile(`(?s)<script type="application/json" id="run">(.*?)</script>`)

func pageOf(t testing.TB, h *sim.History, v sim.Verdict, o Options) *page {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, h, v, o); err != nil {
		t.Fatal(err)
	}
	p := &page{text: b.String()}
	found := dataBlock.FindStringSubmatch(p.text)
	if found == nil {
		t.Fatal("there is no data in the page")
	}
	if err := json.Unmarshal([]byte(found[1]), &p.data); err != nil {
		t.Fatalf("the data of the page: %v", err)
	}
	return p
}

// The page has the whole run: every event, lease, block and violation, and what
// package timeline says of them.
func TestPageHasTheRun(t *testing.T) {
	t.Parallel()
	catalogue(t, func(t *testing.T, h *sim.History, v sim.Verdict) {
		p := pageOf(t, h, v, Options{})
		d := p.data
		if len(d.At) != h.Len() || len(d.Kind) != h.Len() || len(d.Lane) != h.Len() || len(d.Said) != h.Len() {
			t.Fatalf("%d events, %d times, %d kinds, %d lanes, %d sentences", h.Len(), len(d.At), len(d.Kind), len(d.Lane), len(d.Said))
		}
		if len(d.Leases) != len(v.Leases) || len(d.Blocks) != len(v.Blocks) || len(d.Violations) != len(v.Violations) {
			t.Errorf("%d of %d leases, %d of %d blocks, %d of %d violations", len(d.Leases), len(v.Leases), len(d.Blocks), len(v.Blocks), len(d.Violations), len(v.Violations))
		}
		for step, e := range h.Events() {
			if d.At[step-1].String() != fmt.Sprint(e.At) || d.Kind[step-1] != int(e.Kind) {
				t.Fatalf("step %d is %v at %v, and in the page %d at %v", step, e.Kind, e.At, d.Kind[step-1], d.At[step-1])
			}
			if d.Said[step-1] == "" {
				t.Errorf("step %d, %v, is told in no words", step, e.Kind)
			}
		}
		if account := timeline.Tell(h, v, 0); d.Headline != account.Headline {
			t.Errorf("the headline is %q, and in the terminal %q", d.Headline, account.Headline)
		}
		if sc := h.Scenario(); d.Scenario != string(sc.AppendJSON(nil)) {
			t.Error("the scenario is another one")
		}
		faults, shaded := 0, 0
		for _, e := range h.Events() {
			if e.Kind == sim.Faulted {
				faults++
			}
		}
		for _, x := range d.Troubles {
			if x[3] != "cut" {
				shaded++
			}
		}
		if faults != shaded {
			t.Errorf("%d faults happened, %d are shaded", faults, shaded)
		}
	})
}

// Every message has its way: what a node executed, dropped or stored and what a client
// heard came from what was sent, and not before that.
func TestArrows(t *testing.T) {
	t.Parallel()
	catalogue(t, func(t *testing.T, h *sim.History, _ sim.Verdict) {
		c := castOf(h.Scenario())
		came, went := map[int]bool{}, map[int]bool{}
		for _, a := range arrows(h, &c) {
			went[a.from] = true
			if a.to == 0 {
				continue
			}
			came[a.to] = true
			from, to := h.Event(a.from), h.Event(a.to)
			if from.Value != to.At && from.Kind != sim.Stored && to.Kind != sim.Heard {
				// A node that stands still executes later than the message came.
				if to.At < from.Value || from.Value < 0 {
					t.Errorf("step %d arrives at %d, and comes to step %d at %d", a.from, from.Value, a.to, to.At)
				}
			}
			if from.Client != to.Client || from.Nth != to.Nth || from.At > to.At {
				t.Errorf("step %d came of step %d: %+v, %+v", a.to, a.from, to, from)
			}
		}
		refused := map[way]bool{}
		for step, e := range h.Events() {
			w := way{e.Client, e.Node, e.Nth, false}
			if (e.Kind == sim.Sent || e.Kind == sim.Wrote) && e.Value == -2 {
				refused[w] = true
			}
			switch e.Kind {
			case sim.Sent, sim.Wrote, sim.Answered:
				if !went[step] {
					t.Errorf("step %d, %v, has no arrow", step, e.Kind)
				}
			case sim.Executed, sim.Dropped, sim.Stored, sim.Heard:
				if !came[step] && !refused[w] {
					t.Errorf("step %d, %v, came of nothing", step, e.Kind)
				}
			}
		}
	})
}

// hostile is what nobody calls a key, and anybody can.
const hostile = "</script><script>alert(1)</script><!-- \u2028 ]]> &quot; \\ {{script}} {{run}}"

// Strings of the run cannot leave the data: no markup, no second script.
func TestHostileStringsStayText(t *testing.T) {
	t.Parallel()
	sc := load(t, "chrony-slew")
	sc.Name, sc.About = hostile, hostile
	for i := range sc.Clients {
		for j := range sc.Clients[i].Steps {
			if sc.Clients[i].Steps[j].Key != "" {
				sc.Clients[i].Steps[j].Key = "</script><img src=x onerror=alert(1)>"
			}
		}
	}
	h, v := run(t, sc)
	p := pageOf(t, h, v, Options{Title: hostile + "\x00\xff", Command: hostile})
	if n := strings.Count(p.text, "<script"); n != 2 {
		t.Errorf("there are %d scripts in the page", n)
	}
	if strings.Contains(p.text, "<img") || strings.Contains(p.text, "alert(1)</script>") || strings.Contains(p.text, "<!-- ") {
		t.Error("a string of the run is markup in the page")
	}
	if p.data.Title != hostile+"\x00\ufffd" {
		t.Errorf("the title came to be %q", p.data.Title)
	}
	// The page's script is the one that its policy names, and there is no other.
	if want := strings.ReplaceAll(digest(code()), "'", "&#39;"); !strings.Contains(p.text, "script-src "+want) {
		t.Errorf("the policy does not name %s", want)
	}
}

// What is beyond a JavaScript number is a string, digit for digit.
func TestLongNumbersAreExact(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", -1: "-1", 1 << 53: "9007199254740992", 1<<53 + 1: `"9007199254740993"`, -1 << 63: `"-9223372036854775808"`} {
		if got := string(appendInt(nil, n)); got != want {
			t.Errorf("%d is written as %s", n, got)
		}
	}
}

// The page's code loads nothing and writes no markup.
func TestPageIsSelfContained(t *testing.T) {
	t.Parallel()
	for _, text := range []string{code(), file("style.css"), file("page.html")} {
		for _, no := range []string{"http://", "https://", "//cdn", "@import", "url(", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttpRequest", "import(", "WebSocket", "Image("} {
			if strings.Contains(text, no) {
				t.Errorf("the page has %q", no)
			}
		}
	}
}

type failing struct{}

var errFull = errors.New("disk full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestWritersErrorIsReturned(t *testing.T) {
	t.Parallel()
	h, v := run(t, load(t, "chrony-slew"))
	for name, write := range map[string]func(io.Writer) error{
		"HTML":     func(w io.Writer) error { return HTML(w, h, v, Options{}) },
		"Perfetto": func(w io.Writer) error { return Perfetto(w, h, v) },
	} {
		if err := write(failing{}); !errors.Is(err, errFull) {
			t.Errorf("%s returns %v", name, err)
		}
	}
}
