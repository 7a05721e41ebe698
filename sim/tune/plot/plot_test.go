package plot

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"strings"
	"testing"

	"driftlock/sim/tune"
)

// figures are all, of a small batch and of small sweeps.
func figures(t *testing.T) []Figure {
	t.Helper()
	preset, err := tune.FindPreset("chrony-default")
	if err != nil {
		t.Fatal(err)
	}
	p := tune.Plan{Runs: 300}.WithClocks(preset)
	b, err := p.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Report()
	if err != nil {
		t.Fatal(err)
	}
	list := []Figure{Curve(b, r), Price(b, r)}
	p.Runs = 20
	for _, axes := range [][2]string{{"factor", "drift"}, {"drift", "factor=0.002..0.03:4"}, {"loss", "nodes"}, {"ttl=1s..2s:2", "down"}} {
		x, err := tune.ParseAxis(axes[0])
		if err != nil {
			t.Fatal(err)
		}
		y, err := tune.ParseAxis(axes[1])
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Sweep(t.Context(), x, y, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Heat(s))
	}
	return list
}

// Each is well-formed, follows the reader's mode with no colour that does not, and
// has a PNG for either.
func TestFigures(t *testing.T) {
	t.Parallel()
	for _, f := range figures(t) {
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(bytes.NewReader(svg))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
		}
		_, drawn, _ := strings.Cut(string(svg), "</style>")
		if i := strings.Index(drawn, "#"); i >= 0 {
			t.Errorf("%s: a colour of its own: %s", f.Name, drawn[i:i+20])
		}
		for _, want := range []string{"<title>", "prefers-color-scheme:dark", "var(--tune-1)"} {
			if !strings.Contains(string(svg), want) {
				t.Errorf("%s: no %s", f.Name, want)
			}
		}
		for _, onDark := range []bool{false, true} {
			b, err := f.PNG(onDark)
			if err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			r, _, _, _ := img.At(1, 1).RGBA()
			if dark := r < 0x8000; dark != onDark {
				t.Errorf("%s: on a dark ground: %v, want %v", f.Name, dark, onDark)
			}
		}
	}
}

// What a reader must see: axes with their units, the legend, the default factor.
func TestFiguresAreNamed(t *testing.T) {
	t.Parallel()
	list := figures(t)
	for i, want := range [][]string{
		{"drift factor f (share of the TTL, logarithmic)", "probability that a lease is broken (logarithmic)", "the default f = 0.01", "recommended f = ", "closed form 0.154", "accepted: 0.0001"},
		{"drift factor f (share of the TTL, logarithmic)", "share (%)", "the default f = 0.01", "of the TTL, left to work in"},
		{"drift factor f (share of the TTL)", "drift of every clock, within ± (ppm)", "the default f = 0.01", "share of the leases that are broken (%)"},
		{"drift factor f (share of the TTL)", "the default f = 0.01"},
		{"messages lost (%)", "nodes (number)", "share of the attempts to acquire that come to nothing (%)"},
		{"TTL (s)", "nodes out of reach (number)"},
	} {
		f := list[i]
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(string(svg), text) {
				t.Errorf("%s: does not say %q", f.Name, text)
			}
		}
	}
}
