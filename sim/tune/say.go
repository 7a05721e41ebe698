package tune

// The answer in words, for the terminal and for a page.

import (
	"fmt"
	"math"
	"strings"
	"time"

	"driftlock/clock"
)

// Sentence is the answer.
func (r *Report) Sentence() string {
	p := &r.Plan
	whom := fmt.Sprintf("%s, TTL %v and buffer %v", r.servers(), p.TTL, r.Buffer)
	worst := "these clocks can do"
	if p.Floor > 0 {
		worst = "was measured"
	}
	switch {
	case r.Runs == 0:
		return "No run was made: nothing is known (stopped before the end)."
	case !r.Enough:
		return fmt.Sprintf("No drift factor is enough for %s: in the worst case exclusion ends before anything of the TTL can be trusted.", whom)
	case r.Basis == ByRuns:
		return fmt.Sprintf("f = %s keeps broken leases below %s for %s (%s confidence); so that none ever is, it takes %s.%s",
			Decimal(r.Factor), oneIn(p.Target), whom, percent(p.Confidence), Short(r.Closed), r.rests())
	case r.Basis == ByFloor:
		return fmt.Sprintf("f = %s is the least to take for %s: %s covers the worst that was measured, but not how a time daemon corrects the clocks later.",
			Decimal(r.Factor), whom, Decimal(r.Least))
	case r.Factor > cheap && !r.Allowed:
		return fmt.Sprintf("f = %s is enough for %s: that is the worst that %s; whether less would keep to %s, %s are too few to tell.%s",
			Decimal(r.Factor), whom, worst, oneIn(p.Target), counted(r.Runs, "run"), r.rests())
	}
	return fmt.Sprintf("f = %s is enough for %s: it covers the worst that %s.%s", Decimal(r.Factor), whom, worst, r.rests())
}

// rests is the bound that the answer rests on, and what it takes without.
func (r *Report) rests() string {
	if r.Corrects == 0 {
		return ""
	}
	return fmt.Sprintf(" It rests on corrections of at most %v at a time: if a clock may correct more, take f = %s.", r.Corrects, Decimal(RoundUp(r.Unbounded)))
}

func (r *Report) servers() string {
	p := &r.Plan
	text := counted(p.Nodes, "node")
	if p.Clocks != "" {
		text += " with clocks " + p.Clocks
	}
	if p.Down > 0 {
		text += fmt.Sprintf(", %d of them out of reach", p.Down)
	}
	return text
}

// A Line is one piece of evidence: what it is about, and what there is to say.
type Line struct{ About, Text string }

// Evidence is why the answer is so.
func (r *Report) Evidence() (lines []Line) {
	p := &r.Plan
	say := func(about, format string, a ...any) { lines = append(lines, Line{about, fmt.Sprintf(format, a...)}) }
	if r.Runs == 0 {
		return nil
	}
	held := "held " + p.Hold.String()
	if p.Clients > 1 {
		held += fmt.Sprintf(", by %d clients in turn", p.Clients)
	}
	stopped := ""
	if r.Runs < p.Runs {
		stopped = fmt.Sprintf(" of %s (stopped before the end)", Grouped(p.Runs))
	}
	say("Runs", "%s%s, %s; %.1f of %d nodes granted in the mean.", Grouped(r.Runs), stopped, held, r.Nodes, p.Nodes)
	if r.Most > 0 {
		say("", "None needed more than f = %s (seed %d); by a bare quorum %s.", Short(r.Most), r.Worst, Short(r.Bare))
	} else {
		say("", "The buffer was enough for each: none needed a factor at all (by a bare quorum %s).", Short(r.Bare))
	}
	seen := make(map[float64]bool)
	for _, at := range r.Points {
		if seen[at.Factor] {
			continue
		}
		seen[at.Factor] = true
		about := ""
		if len(seen) == 1 {
			about = "Broken"
		}
		say(about, "f = %-11s %s", Decimal(at.Factor)+":", r.broken(at))
	}
	r.formula(say)
	r.price(say)
	r.confirmed(say)
	return lines
}

func (r *Report) broken(at Point) string {
	who := ""
	switch at.Factor {
	case r.Factor:
		who = "   recommended"
	case r.Asked.factor:
		who = "   in question"
		if r.Plan.Factor == Common {
			who = "   the default"
		}
	}
	return fmt.Sprintf("%s of %s, %s (%s bounds: %s to %s)%s", Grouped(at.Broken), Grouped(r.Runs), probability(at.Probability),
		percent(r.Plan.Confidence), probability(at.Low), probability(at.High), who)
}

// formula is the closed form, and why the runs needed less.
func (r *Report) formula(say func(about, format string, a ...any)) {
	p := &r.Plan
	any := ""
	if p.Covered() {
		any = fmt.Sprintf(", and %s for any TTL", Short(r.Rates))
	}
	say("Formula", "1 − (rc⁻/rn⁺)(1 − (g+J)/T) − b/T = %s for this TTL and buffer%s.", Short(r.Closed), any)
	if r.Closed < r.Unbounded {
		say("", "With corrections of any size, and not of at most %v, it is %s.", p.corrects(), Short(r.Unbounded))
	}
	if r.Most <= 0 {
		return
	}
	differs := r.Closed - r.Most
	var why []string
	for _, part := range []struct {
		by   float64
		what string
	}{
		{r.Parts.Clocks, "the clocks were not at their bounds, or not all of the time"},
		{r.Parts.Slack, "more nodes than a bare quorum granted, so the first to expire do not count"},
		{r.Parts.Way, "a request is on its way before its key begins to live"},
		{r.Parts.Phase, "a key lives up to 1 ms longer, by where in a millisecond it was set"},
		{r.Parts.Hold, "the holder released before its deadline"},
	} {
		if math.Abs(part.by) > 0.005*math.Abs(differs) && math.Abs(part.by) > 1e-9 {
			why = append(why, fmt.Sprintf("%s: %s", Short(part.by), part.what))
		}
	}
	if len(why) == 0 {
		say("", "The worst run comes within %s of it.", Short(math.Abs(differs)))
		return
	}
	say("", "The worst run needed %s less:", Short(differs))
	for _, line := range why {
		say("", "  %s", line)
	}
}

func (r *Report) price(say func(about, format string, a ...any)) {
	line := func(about string, f float64, at Price) {
		lost := ""
		if r.Plan.Hold.Kind == Watched {
			lost = fmt.Sprintf(", %s of the holds were lost before their time", share(at.Lost))
		}
		say(about, "f = %-11s %s of the TTL is left to work in, %s of the attempts came to nothing%s.", Decimal(f)+":", share(at.Usable), share(at.Failed), lost)
	}
	line("Price", r.Factor, r.Price)
	if r.Asked.factor != r.Factor {
		line("", r.Asked.factor, r.Asked)
	}
}

func (r *Report) confirmed(say func(about, format string, a ...any)) {
	c := r.Confirmed
	if c == nil {
		return
	}
	say("Confirmed", "%s runs again with f = %s: %s broke, foretold were %s.", Grouped(c.Runs), Decimal(c.Factor), Grouped(c.Broken), Grouped(c.Foretold))
	switch {
	case c.Differ > 0:
		say("", "In %s the factor changed who was granted the lock next: trust these numbers, not the curve.", counted(c.Differ, "run"))
	case !r.Exact:
		say("", "The factor may change who is granted the lock next; in these runs that broke nothing more.")
	}
}

// Options are the lines to paste into code.
func (r *Report) Options() []string {
	rests := ""
	if r.Corrects > 0 {
		rests = fmt.Sprintf(" // if no clock corrects more than %v at a time; else %s", r.Corrects, Decimal(RoundUp(r.Unbounded)))
	}
	return []string{
		"redlock.WithClockDriftFactor(" + Decimal(r.Factor) + ")," + rests,
		"redlock.WithClockDriftBuffer(" + InGo(r.Buffer) + "),",
	}
}

// InGo is a duration as Go code.
func InGo(d clock.Duration) string {
	for _, unit := range []struct {
		d    clock.Duration
		name string
	}{{clock.Duration(time.Second), "Second"}, {clock.Duration(time.Millisecond), "Millisecond"}, {clock.Duration(time.Microsecond), "Microsecond"}} {
		if d >= unit.d && d%unit.d == 0 {
			return fmt.Sprintf("%d*time.%s", d/unit.d, unit.name)
		}
	}
	return fmt.Sprintf("%d*time.Nanosecond", d)
}

// Short is a factor in three digits.
func Short(f float64) string {
	if f == 0 {
		return "0"
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(f)))-2)
	return Decimal(math.Round(math.Round(f/unit)*unit*1e12) / 1e12)
}

// probability is in three digits too, and as a power of ten where it is small.
func probability(p float64) string {
	if p > 0 && p < 0.001 {
		return fmt.Sprintf("%.1e", p)
	}
	return Short(p)
}

func percent(v float64) string { return Decimal(math.Round(v*1e5)/1e3) + " %" }

func share(v float64) string { return Decimal(math.Round(v*1e4)/1e2) + " %" }

// oneIn is a probability as people say it: "1 in 10,000".
func oneIn(p float64) string {
	if n := math.Round(1 / p); math.Abs(n*p-1) < 1e-6 {
		return "1 in " + Grouped(int(n))
	}
	return Decimal(p)
}

// Grouped is a number with its thousands apart: "100,000".
func Grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Grouped(n) + " " + what + "s"
}

// Text is the whole answer, in lines of about 100 columns.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString(r.Sentence() + "\n\n")
	for _, l := range r.Evidence() {
		fmt.Fprintf(&b, "%-10s %s\n", l.About, l.Text)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "%-10s %s\n", "Beware", w)
	}
	if r.Enough && r.Runs > 0 {
		b.WriteString("\n")
		for _, o := range r.Options() {
			b.WriteString("  " + o + "\n")
		}
	}
	return b.String()
}

// Sentence is what a sweep says in one: up to where the factor in question holds, or
// its worst place.
func (s *Sweep) Sentence() string {
	if len(s.Cells) == 0 {
		return "No place of the sweep was finished: nothing is known."
	}
	if text, ok := s.upTo(); ok {
		return text
	}
	worst := s.Cells[0]
	for _, c := range s.Cells {
		if v := c.Of(s.Show); v > worst.Of(s.Show) && s.Show != Usable || v < worst.Of(s.Show) && s.Show == Usable {
			worst = c
		}
	}
	place := fmt.Sprintf("%s %s and %s %s", s.X.Of, s.X.Of.Text(worst.X), s.Y.Of, s.Y.Of.Text(worst.Y))
	v := worst.Of(s.Show)
	switch s.Show {
	case Broken:
		return fmt.Sprintf("The worst is %s: there %s of the leases are broken.", place, share(v))
	case Failed:
		return fmt.Sprintf("The worst is %s: there %s of the attempts to acquire come to nothing.", place, share(v))
	case Usable:
		return fmt.Sprintf("The worst is %s: there %s of the TTL is left to work in.", place, share(v))
	case Lost:
		return fmt.Sprintf("The worst is %s: there %s of the watched holds are lost before their time.", place, share(v))
	}
	return fmt.Sprintf("The worst is %s: there a run needed f = %s (closed form %s).", place, Short(v), Short(max(0, worst.Closed)))
}

// upTo says up to where the factor in question breaks nothing, where factors are an
// axis and it is among them.
func (s *Sweep) upTo() (text string, ok bool) {
	factors, other, value := s.X, s.Y, func(c Cell) (factor, other float64) { return c.X, c.Y }
	if s.Y.Of == OfFactor {
		factors, other, value = s.Y, s.X, func(c Cell) (factor, other float64) { return c.Y, c.X }
	}
	if factors.Of != OfFactor || s.Show != Broken || len(s.Cells) < len(s.X.Values)*len(s.Y.Values) {
		return "", false
	}
	last, first := math.NaN(), Cell{}
	for _, c := range s.Cells {
		f, v := value(c)
		if Decimal(f) != s.Plan.Factor {
			continue
		}
		if ok = true; c.Broken > 0 {
			first = c
			break
		}
		last = v
	}
	_, breaks := value(first)
	switch at := other.Of.Text; {
	case !ok:
		return "", false
	case first.Broken == 0:
		return fmt.Sprintf("f = %s breaks no lease, up to %s %s.", s.Plan.Factor, other.Of, at(last)), true
	case math.IsNaN(last):
		return fmt.Sprintf("f = %s breaks %s of the leases already at %s %s.", s.Plan.Factor, share(first.Broken), other.Of, at(breaks)), true
	default:
		return fmt.Sprintf("f = %s breaks no lease up to %s %s, and %s of them at %s.", s.Plan.Factor, other.Of, at(last), share(first.Broken), at(breaks)), true
	}
}

// Table is the map of a sweep in text, the largest Y first.
func (s *Sweep) Table() string {
	var b strings.Builder
	width := 9
	for _, v := range s.Y.Values {
		width = max(width, len(s.Y.Of.Text(v)))
	}
	fmt.Fprintf(&b, "%s, by %s (down) and %s (across)\n", measureWords[s.Show], s.Y.Of, s.X.Of)
	n := len(s.X.Values)
	for row := (len(s.Cells)+n-1)/n - 1; row >= 0; row-- {
		fmt.Fprintf(&b, "%*s", width, s.Y.Of.Text(s.Y.Values[row]))
		for _, c := range s.Cells[row*n : min(len(s.Cells), row*n+n)] {
			v := Short(c.Of(s.Show))
			if s.Show != Needed {
				v = share(c.Of(s.Show))
			}
			fmt.Fprintf(&b, " %11s", v)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%*s", width, "")
	for _, v := range s.X.Values {
		fmt.Fprintf(&b, " %11s", s.X.Of.Text(v))
	}
	b.WriteByte('\n')
	return b.String()
}

var measureWords = map[Measure]string{
	Broken: "Share of the leases that are broken",
	Needed: "Drift factor that the worst run needed",
	Failed: "Share of the attempts to acquire that come to nothing",
	Usable: "Share of the TTL that is left to work in",
	Lost:   "Share of the watched holds that are lost before their time",
}
