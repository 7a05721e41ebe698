// Package plot draws what package tune finds out, as SVG that follows the reader's
// light or dark mode, and as PNG in either.
package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A role is what a colour is for.
type role int

const (
	ground role = iota // behind everything
	ink                // axes and text
	faint              // grid
	first              // what was simulated
	band               // its bounds
	second             // with a bare quorum
	advice             // the recommended factor
	common             // the factor in question
	closed             // the closed form
	target             // the accepted probability
	low                // of a heat map, up to high
	high   = low + shades - 1
	onLow  = high + 1 // text on the lower half of it
	onHigh = onLow + 1
	roles  = int(onHigh) + 1
)

const shades = 9

// A theme has a colour for each role.
type theme [roles]color.RGBA

func rgb(hex uint32) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

// Colours that differ for people who see red and green alike, too.
var (
	light = themeOf(0xffffff, 0x24292f, 0xd8dee4, 0x0969da, 0xb6d7f9, 0x8250df, 0x1a7f37, 0xcf222e, 0xbf6a02, 0x6e7781,
		[3]uint32{0xf3f7fb, 0x6aa5dc, 0x08306b}, 0x24292f, 0xffffff)
	dark = themeOf(0x0d1117, 0xe6edf3, 0x30363d, 0x58a6ff, 0x1c3a5e, 0xbc8cff, 0x3fb950, 0xff7b72, 0xe3a341, 0x8b949e,
		[3]uint32{0x161f2b, 0x2f6fb0, 0xd5e8ff}, 0xe6edf3, 0x0d1117)
)

func themeOf(ground, ink, faint, first, band, second, advice, common, closed, target uint32, heat [3]uint32, onLow, onHigh uint32) (t theme) {
	for i, hex := range []uint32{ground, ink, faint, first, band, second, advice, common, closed, target} {
		t[i] = rgb(hex)
	}
	for i := range shades {
		t[int(low)+i] = between(heat, float64(i)/(shades-1))
	}
	t[int(low)+shades], t[int(low)+shades+1] = rgb(onLow), rgb(onHigh)
	return t
}

// between is a colour on the way over three.
func between(way [3]uint32, at float64) color.RGBA {
	a, b, part := rgb(way[0]), rgb(way[1]), 2*at
	if at > 0.5 {
		a, b, part = rgb(way[1]), rgb(way[2]), 2*at-1
	}
	mix := func(x, y uint8) uint8 { return uint8(float64(x) + (float64(y)-float64(x))*part + 0.5) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// marks are no colours: each is put into the SVG to be replaced by a variable.
var marks = func() (t theme) {
	for i := range t {
		t[i] = color.RGBA{0xd1, 0xf7, uint8(i), 255}
	}
	return t
}()

// A Figure is one picture.
type Figure struct {
	Name  string // of its files
	About string // what it shows, for those who cannot see it
	w, h  vg.Length
	draw  func(t *theme) (*plot.Plot, error)
}

// PNG is the picture on a light or a dark ground.
func (f Figure) PNG(onDark bool) ([]byte, error) {
	t := &light
	if onDark {
		t = &dark
	}
	p, err := f.draw(t)
	if err != nil {
		return nil, err
	}
	c := vgimg.NewWith(vgimg.UseWH(f.w, f.h), vgimg.UseDPI(144), vgimg.UseBackgroundColor(t[ground]))
	lay(p, draw.New(c))
	var b bytes.Buffer
	_, err = vgimg.PngCanvas{Canvas: c}.WriteTo(&b)
	return b.Bytes(), err
}

// SVG is the picture as an svg element. Its colours follow the reader's mode, in a
// page and as a file of its own.
func (f Figure) SVG() ([]byte, error) {
	p, err := f.draw(&marks)
	if err != nil {
		return nil, err
	}
	c := vgsvg.New(f.w, f.h)
	lay(p, draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	svg := b.String()
	svg = svg[strings.Index(svg, "<svg"):]
	var names []string
	for i, m := range marks {
		names = append(names, fmt.Sprintf("#%02X%02X%02X", m.R, m.G, m.B), fmt.Sprintf("var(--tune-%d)", i))
	}
	svg = strings.NewReplacer(names...).Replace(svg)
	svg = strings.ReplaceAll(svg, "font-family:Liberation", "font-family:system-ui,sans-serif,Liberation")
	head, rest, _ := strings.Cut(svg, ">")
	title := strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(f.About)
	return []byte(head + ` role="img" class="tune">` + "\n<title>" + title + "</title>\n<style>" + style() + "</style>" + rest), nil
}

// margin is left free around a figure, and beside is the room for its legend, where
// it hides nothing.
const (
	margin = 10 * vg.Length(1)
	beside = 190 * vg.Length(1)
)

// lay draws a plot with its legend to the right of it.
func lay(p *plot.Plot, c draw.Canvas) {
	c = draw.Crop(c, margin, -margin, margin, -margin)
	legend := p.Legend
	p.Legend = plot.NewLegend()
	legend.Top, legend.Left, legend.Padding, legend.ThumbnailWidth = true, true, 4, 24
	legend.YOffs = -30
	legend.TextStyle = p.X.Tick.Label
	legend.TextStyle.XAlign, legend.TextStyle.YAlign = text.XLeft, p.Legend.TextStyle.YAlign
	p.Draw(draw.Crop(c, 0, -beside-margin, 0, 0))
	legend.Draw(draw.Crop(c, c.Max.X-c.Min.X-beside, 0, 0, 0))
}

// style gives the variables their colours.
func style() string {
	var b strings.Builder
	write := func(t *theme) {
		b.WriteString(".tune{")
		for i, c := range t {
			fmt.Fprintf(&b, "--tune-%d:#%02x%02x%02x;", i, c.R, c.G, c.B)
		}
		fmt.Fprintf(&b, "background:var(--tune-%d)}", ground)
	}
	write(&light)
	b.WriteString("@media(prefers-color-scheme:dark){")
	write(&dark)
	b.WriteString("}")
	return b.String()
}

// dressed is a plot in a theme's colours, with a title and named axes.
func dressed(t *theme, title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = t[ground]
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Color, p.Title.TextStyle.Font.Size = t[ink], 12
	p.Title.Padding = 6
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Label.TextStyle.Color, a.Tick.Color, a.Tick.Label.Color = t[ink], t[ink], t[ink], t[ink]
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = 10, 9
		a.Label.Padding = 4
	}
	for _, f := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		f.Font.Variant = "Sans"
	}
	return p
}
