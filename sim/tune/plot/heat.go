package plot

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"driftlock/sim/tune"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labels say what a measure is, with its unit.
var labels = map[tune.Measure]string{
	tune.Broken: "share of the leases that are broken (%)",
	tune.Needed: "drift factor that the worst run needed (share of the TTL)",
	tune.Failed: "share of the attempts to acquire that come to nothing (%)",
	tune.Usable: "share of the TTL that is left to work in (%)",
	tune.Lost:   "share of the watched holds that are lost before their end (%)",
}

var axes = map[tune.Parameter]string{
	tune.OfFactor:  "drift factor f (share of the TTL)",
	tune.OfDrift:   "drift of every clock, within ± (ppm)",
	tune.OfTTL:     "TTL (s)",
	tune.OfNodes:   "nodes (number)",
	tune.OfDown:    "nodes out of reach (number)",
	tune.OfLoss:    "messages lost (%)",
	tune.OfDelay:   "delay of a message, mean (ms)",
	tune.OfBuffer:  "drift buffer b (ms)",
	tune.OfTimeout: "node timeout (ms)",
	tune.OfRenew:   "renew interval (s)",
}

// scaled is a value in the unit of its axis.
func scaled(of tune.Parameter, v float64) string {
	switch of {
	case tune.OfDrift:
		v *= 1e6
	case tune.OfLoss:
		v *= 100
	case tune.OfDelay, tune.OfBuffer, tune.OfTimeout:
		v *= 1000
	}
	digits := max(0, 2-int(math.Floor(math.Log10(max(v, 1e-9)))))
	unit := math.Pow10(digits)
	return strconv.FormatFloat(math.Round(v*unit)/unit, 'f', -1, 64)
}

// Heat is a sweep as a map, with its numbers.
func Heat(s *tune.Sweep) Figure {
	return Figure{
		Name:  "sweep",
		About: fmt.Sprintf("Heat map of %s and %s: %s.", s.X.Of, s.Y.Of, labels[s.Show]),
		w:     width, h: height + 60,
		draw: func(t *theme) (*plot.Plot, error) { return heat(t, s) },
	}
}

func heat(t *theme, s *tune.Sweep) (*plot.Plot, error) {
	title := labels[s.Show]
	if plan := s.Plan; s.Show != tune.Needed && s.X.Of != tune.OfFactor && s.Y.Of != tune.OfFactor {
		title += ", f = " + plan.Factor
	}
	p := dressed(t, title, axes[s.X.Of], axes[s.Y.Of])
	field := grade(s)
	for i, c := range s.Cells {
		x, y := float64(i%len(s.X.Values)), float64(i/len(s.X.Values))
		shade := field.shade(c.Of(s.Show))
		tile, err := plotter.NewPolygon(plotter.XYs{{X: x - .5, Y: y - .5}, {X: x + .5, Y: y - .5}, {X: x + .5, Y: y + .5}, {X: x - .5, Y: y + .5}})
		if err != nil {
			return nil, err
		}
		tile.Color, tile.LineStyle.Color, tile.LineStyle.Width = t[int(low)+shade], t[ground], 1
		p.Add(tile)
		number, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{written(s.Show, c.Of(s.Show))}})
		if err != nil {
			return nil, err
		}
		on := t[onLow]
		if shade > shades/2 {
			on = t[onHigh]
		}
		st := &number.TextStyle[0]
		st.Color, st.Font.Size, st.Font.Variant, st.XAlign, st.YAlign = on, 8, "Sans", text.XCenter, text.YCenter
		p.Add(number)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = names(s.X), names(s.Y)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -.5, float64(len(s.X.Values))-.5, -.5, float64(len(s.Y.Values))-.5
	p.X.Padding, p.Y.Padding = 0, 0
	if err := markCommon(p, t, s); err != nil {
		return nil, err
	}
	for i := 0; i < shades; i += 2 {
		p.Legend.Add(written(s.Show, field.value(i)), swatch{t[int(low)+i], t[ink]})
	}
	return p, nil
}

// markCommon marks the factor in question, where factors are an axis, and names it.
func markCommon(p *plot.Plot, t *theme, s *tune.Sweep) error {
	at, upright := s.X, true
	if s.Y.Of == tune.OfFactor {
		at, upright = s.Y, false
	} else if s.X.Of != tune.OfFactor {
		return nil
	}
	asked, err := strconv.ParseFloat(s.Plan.Factor, 64)
	if err != nil {
		return err
	}
	for i, v := range at.Values {
		if v < asked {
			continue
		}
		// A frame around the places with that factor, or a line where it would be.
		from, to := float64(i)-.5, float64(i)+.5
		if i > 0 && v > asked {
			from -= math.Log(v/asked)/math.Log(v/at.Values[i-1]) - .5
			to = from
		}
		low, high := -.5, float64(len(s.Y.Values))-.5
		if !upright {
			high = float64(len(s.X.Values)) - .5
		}
		frame := plotter.XYs{{X: from, Y: low}, {X: to, Y: low}, {X: to, Y: high}, {X: from, Y: high}, {X: from, Y: low}}
		if !upright {
			for i := range frame {
				frame[i].X, frame[i].Y = frame[i].Y, frame[i].X
			}
		}
		l, err := plotter.NewLine(frame)
		if err != nil {
			return err
		}
		l.Color, l.Width = t[common], 2.5
		p.Add(l)
		p.Legend.Add(whose(s.Plan.Factor), l)
		return nil
	}
	return nil
}

// names are the values of an axis at 0, 1, 2, ….
func names(a tune.Axis) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for i, v := range a.Values {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: scaled(a.Of, v)})
	}
	return ticks
}

// written is a value of a measure, in its unit, short enough for a tile.
func written(m tune.Measure, v float64) string {
	if m != tune.Needed {
		v *= 100
	}
	switch {
	case v == 0:
		return "0"
	case v < 0.001:
		return strconv.FormatFloat(v, 'e', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// A grading spreads the values of a sweep over the shades.
type grading struct {
	low, high float64
	decades   bool
}

func grade(s *tune.Sweep) grading {
	g := grading{low: math.Inf(1), high: 0, decades: s.Show == tune.Needed}
	for _, c := range s.Cells {
		v := c.Of(s.Show)
		g.high = max(g.high, v)
		if v > 0 || !g.decades {
			g.low = min(g.low, v)
		}
	}
	if g.high <= g.low { // all the same
		g.low, g.decades = 0, false
	}
	if math.IsInf(g.low, 1) {
		g.low = 0
	}
	return g
}

func (g grading) shade(v float64) int {
	switch {
	case v <= g.low || g.high <= g.low:
		return 0
	case g.decades:
		return int(math.Round(math.Log(v/g.low) / math.Log(g.high/g.low) * (shades - 1)))
	}
	return int(math.Round((v - g.low) / (g.high - g.low) * (shades - 1)))
}

func (g grading) value(shade int) float64 {
	part := float64(shade) / (shades - 1)
	if g.decades && g.high > g.low {
		return g.low * math.Pow(g.high/g.low, part)
	}
	return g.low + (g.high-g.low)*part
}

// swatch is a tile in a legend.
type swatch struct{ fill, edge color.Color }

// Thumbnail is plot.Thumbnailer's.
func (s swatch) Thumbnail(c *draw.Canvas) {
	corners := []vg.Point{{X: c.Min.X, Y: c.Min.Y}, {X: c.Min.X, Y: c.Max.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Max.X, Y: c.Min.Y}}
	c.FillPolygon(s.fill, corners)
	c.StrokeLines(draw.LineStyle{Color: s.edge, Width: 0.5}, append(corners, corners[0]))
}
