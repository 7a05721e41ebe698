package plot

import (
	"fmt"
	"math"
	"strconv"

	"driftlock/sim"
	"driftlock/sim/tune"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	width  = 780 * vg.Length(1)
	height = 380 * vg.Length(1)
	dots   = 240 // of a curve
)

// Curve is the probability that a lease is broken, by drift factor.
func Curve(b *tune.Batch, r tune.Report) Figure {
	return Figure{
		Name: "curve",
		About: fmt.Sprintf("Probability that a lease is broken against the drift factor, of %d runs: with f = %s at most %.2g.",
			r.Runs, tune.Decimal(r.Factor), r.Shown),
		w: width, h: height,
		draw: func(t *theme) (*plot.Plot, error) { return curve(t, b, r) },
	}
}

func curve(t *theme, b *tune.Batch, r tune.Report) (*plot.Plot, error) {
	plan := r.Plan
	p := dressed(t, fmt.Sprintf("Which drift factor? TTL %v, buffer %v, %d nodes%s", plan.TTL, r.Buffer, plan.Nodes, named(plan.Clocks)),
		"drift factor f (share of the TTL, logarithmic)", "probability that a lease is broken (logarithmic)")
	asked, _ := sim.ParseFactor(plan.Factor)
	left, right := span(r, float64(asked)/1e9)
	floor := math.Pow(10, math.Floor(math.Log10(1/float64(max(1, r.Runs)))))
	simulated, bare := b.Curve(r.Buffer, false), b.Curve(r.Buffer, true)
	ours := simulated.Points(left, right, dots, plan.Confidence)[1:]
	worse := bare.Points(left, right, dots, plan.Confidence)[1:]

	var upper, lower, of, ofBare plotter.XYs
	point := func(f, v float64) plotter.XY { return plotter.XY{X: math.Log10(f), Y: math.Log10(max(v, floor))} }
	for i, at := range ours {
		upper = append(upper, point(at.Factor, at.High))
		lower = append(lower, point(at.Factor, at.Low))
		of = append(of, point(at.Factor, at.Probability))
		ofBare = append(ofBare, point(at.Factor, worse[i].Probability))
	}
	for i := range lower {
		upper = append(upper, lower[len(lower)-1-i])
	}
	area, err := plotter.NewPolygon(upper)
	if err != nil {
		return nil, err
	}
	area.Color, area.LineStyle.Width = t[band], 0
	p.Add(area)
	grid(p, t)
	line := func(points plotter.XYs, colour role, dashes ...vg.Length) (*plotter.Line, error) {
		l, err := plotter.NewLine(points)
		if err == nil {
			l.LineStyle = draw.LineStyle{Color: t[colour], Width: 2, Dashes: dashes}
			p.Add(l)
		}
		return l, err
	}
	entry := func(name string, points plotter.XYs, colour role, dashes ...vg.Length) error {
		l, err := line(points, colour, dashes...)
		if err == nil {
			p.Legend.Add(name, l)
		}
		return err
	}
	upright := func(f float64) plotter.XYs { return plotter.XYs{point(f, floor), point(f, 1)} }
	p.Legend.Add(fmt.Sprintf("%.0f %% bounds (Clopper–Pearson)", 100*plan.Confidence), area)
	wrong := []error{
		entry(fmt.Sprintf("%d leases", r.Runs), of, first),
		entry("had a bare quorum granted", ofBare, second, 6, 3),
		entry("accepted: "+tune.Decimal(plan.Target), plotter.XYs{point(left, plan.Target), point(right, plan.Target)}, target, 1, 3),
	}
	if r.Closed >= left && r.Closed <= right {
		wrong = append(wrong, entry(fmt.Sprintf("closed form %.3g", r.Closed), upright(r.Closed), closed, 8, 2, 2, 2))
	}
	if r.Factor >= left && r.Factor <= right {
		wrong = append(wrong, entry("recommended f = "+tune.Decimal(r.Factor), upright(r.Factor), advice))
	}
	wrong = append(wrong, entry(whose(plan.Factor), upright(float64(asked)/1e9), common, 3, 3))
	for _, err := range wrong {
		if err != nil {
			return nil, err
		}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = math.Log10(left), math.Log10(right), math.Log10(floor), 0
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	return p, nil
}

func named(clocks string) string {
	if clocks == "" {
		return ""
	}
	return ", clocks: " + clocks
}

// whose is the factor that the recommended one is compared with.
func whose(factor string) string {
	if factor == tune.Common {
		return "the default f = " + factor
	}
	return "in question: f = " + factor
}

// span is which factors a curve shows.
func span(r tune.Report, asked float64) (left, right float64) {
	left = asked
	for _, f := range []float64{r.Most, r.Factor, r.Closed} {
		if f > 0 {
			left = min(left, f)
		}
	}
	right = max(asked, r.Most, r.Bare, r.Closed, r.Factor)
	return max(left/20, 1e-9), min(1, 3*right)
}

// grid draws thin lines at the ticks.
func grid(p *plot.Plot, t *theme) {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = t[faint], t[faint]
	g.Vertical.Width, g.Horizontal.Width = 0.5, 0.5
	p.Add(g)
}

// decades are the ticks of decimal logarithms, with a label at each power of ten.
// (On gonum's own logarithmic axis a long label pushes the plot out of place.)
type decades struct{}

// Ticks is plot.Ticker's.
func (decades) Ticks(low, high float64) (ticks []plot.Tick) {
	for e := int(math.Floor(low)) - 1; e <= int(math.Ceil(high)); e++ {
		for m := 1; m < 10; m++ {
			v := float64(e) + math.Log10(float64(m))
			if v < low-1e-9 || v > high+1e-9 {
				continue
			}
			tick := plot.Tick{Value: v}
			if m == 1 {
				tick.Label = strconv.FormatFloat(math.Pow10(e), 'f', -1, 64)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// Price is what a factor costs: how much of the TTL is left to work in, and how many
// attempts to acquire come to nothing.
func Price(b *tune.Batch, r tune.Report) Figure {
	return Figure{
		Name:  "price",
		About: fmt.Sprintf("What a drift factor costs: with f = %s, %.2f %% of the TTL are left to work in.", tune.Decimal(r.Factor), 100*r.Price.Usable),
		w:     width, h: height,
		draw: func(t *theme) (*plot.Plot, error) { return price(t, b, r) },
	}
}

func price(t *theme, b *tune.Batch, r tune.Report) (*plot.Plot, error) {
	p := dressed(t, fmt.Sprintf("What a drift factor costs: TTL %v, buffer %v, %d nodes%s", r.Plan.TTL, r.Buffer, r.Plan.Nodes, named(r.Plan.Clocks)),
		"drift factor f (share of the TTL, logarithmic)", "share (%)")
	asked, _ := sim.ParseFactor(r.Plan.Factor)
	left, right := span(r, float64(asked)/1e9)
	right = max(right, 0.5)
	upright := func(f float64) plotter.XYs { return plotter.XYs{{X: math.Log10(f), Y: 0}, {X: math.Log10(f), Y: 100}} }
	var usable, failed plotter.XYs
	for i := range dots {
		f := left * math.Pow(right/left, float64(i)/(dots-1))
		at := b.Price(sim.Factor(math.Round(f * 1e9)))
		usable = append(usable, plotter.XY{X: math.Log10(f), Y: 100 * at.Usable})
		failed = append(failed, plotter.XY{X: math.Log10(f), Y: 100 * at.Failed})
	}
	grid(p, t)
	for _, l := range []struct {
		name   string
		points plotter.XYs
		colour role
		dashes []vg.Length
	}{
		{"of the TTL, left to work in", usable, first, nil},
		{"of the acquires, in vain", failed, second, []vg.Length{6, 3}},
		{"recommended f = " + tune.Decimal(r.Factor), upright(r.Factor), advice, nil},
		{whose(r.Plan.Factor), upright(float64(asked) / 1e9), common, []vg.Length{3, 3}},
	} {
		if l.points[0].X < math.Log10(left) { // f = 0 has no place
			continue
		}
		line, err := plotter.NewLine(l.points)
		if err != nil {
			return nil, err
		}
		line.LineStyle = draw.LineStyle{Color: t[l.colour], Width: 2, Dashes: l.dashes}
		p.Add(line)
		p.Legend.Add(l.name, line)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = math.Log10(left), math.Log10(right), 0, 100
	p.X.Tick.Marker = decades{}
	return p, nil
}
