package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// patience is how long something may take before a bar shows how far it is.
const patience = 2 * time.Second

// progress is the bar of something that may take long, on a terminal only.
type progress struct {
	bar   *progressbar.ProgressBar
	gate  *gate
	drawn time.Time
	end   chan struct{} // of what waits
	ended chan struct{}
}

// refresh is how often the bar is drawn at most.
const refresh = 100 * time.Millisecond

// gate lets nothing through for a while.
type gate struct {
	w    io.Writer
	from time.Time
}

func (g *gate) Write(b []byte) (int, error) {
	if time.Now().Before(g.from) {
		return len(b), nil
	}
	return g.w.Write(b)
}

// newProgress makes a bar for so many steps of what; 0: nobody knows how many.
func (a *app) newProgress(steps uint64, what string) *progress {
	if !a.err.terminal {
		return &progress{}
	}
	most := int64(-1)
	if steps > 0 {
		most = int64(min(steps, 1<<62))
	}
	g := &gate{a.err, time.Now().Add(patience)}
	return &progress{gate: g, bar: progressbar.NewOptions64(most,
		progressbar.OptionSetWriter(g),
		progressbar.OptionSetWidth(16),
		progressbar.OptionSetItsString(what),
		progressbar.OptionShowIts(),
		progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true),
	)}
}

// at moves the bar.
func (p *progress) at(step uint64, note string) {
	if p.bar == nil || time.Since(p.drawn) < refresh {
		return
	}
	p.drawn = time.Now()
	p.bar.Describe(note)
	p.bar.Set64(int64(step))
}

// waiting says how long something goes on of which nobody knows how far it is.
func (a *app) waiting(note string) *progress {
	p := &progress{}
	if !a.err.terminal {
		return p
	}
	p.gate = &gate{a.err, time.Now().Add(patience)}
	p.end, p.ended = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.ended)
		begin, tick := time.Now(), time.NewTicker(refresh)
		defer tick.Stop()
		for {
			select {
			case <-p.end:
				return
			case <-tick.C:
				fmt.Fprintf(p.gate, "\r\x1b[K%s", a.err.fit(fmt.Sprintf("%s, %.0f s", note, time.Since(begin).Seconds())))
			}
		}
	}()
	return p
}

// done takes the bar away.
func (p *progress) done() {
	if p.end != nil {
		close(p.end)
		<-p.ended
		p.end = nil
	}
	if p.gate != nil && time.Now().After(p.gate.from) {
		fmt.Fprint(p.gate, "\r\x1b[K")
	}
}
