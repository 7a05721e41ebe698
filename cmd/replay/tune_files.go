package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"driftlock/sim/tune"
	"driftlock/sim/tune/plot"
)

// ofBatch writes the page, the plots and the data of a batch, and says where.
func (f *folder) ofBatch(w io.Writer, b *tune.Batch, r *tune.Report, command string) error {
	if f == nil || r.Runs == 0 {
		return nil
	}
	figures := []plot.Figure{plot.Curve(b, *r), plot.Price(b, *r)}
	f.figures(figures)
	f.write("index.html", func() ([]byte, error) { return plot.Page(r, command, figures) })
	f.json("report.json", r)
	f.write("worst.json", func() ([]byte, error) {
		sc := b.Plan.Scenario(r.Worst, b.Plan.Factor)
		return sc.AppendJSON(nil), nil
	})
	f.table("curve.csv", curveRows(b, r))
	f.table("runs.csv", runRows(b))
	return f.told(w)
}

// ofSweep is ofBatch of a sweep.
func (f *folder) ofSweep(w io.Writer, s *tune.Sweep, command string) error {
	if f == nil || len(s.Cells) == 0 {
		return nil
	}
	figure := plot.Heat(s)
	f.figures([]plot.Figure{figure})
	f.write("index.html", func() ([]byte, error) { return plot.SweepPage(s, command, figure) })
	f.json("sweep.json", s)
	f.table("sweep.csv", sweepRows(s))
	return f.told(w)
}

func text(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func curveRows(b *tune.Batch, r *tune.Report) [][]string {
	rows := [][]string{{"factor", "broken", "probability", "low", "high", "bare_quorum_probability", "usable_share_of_ttl", "failed_acquires"}}
	c := r.Plan.Confidence
	low, high := 1e-6, 0.5
	bare := b.Curve(r.Buffer, true).Points(low, high, 200, c)
	for i, p := range b.Curve(r.Buffer, false).Points(low, high, 200, c) {
		price := b.Price(tune.FactorOf(p.Factor))
		rows = append(rows, []string{text(p.Factor), strconv.Itoa(p.Broken), text(p.Probability), text(p.Low), text(p.High),
			text(bare[i].Probability), text(price.Usable), text(price.Failed)})
	}
	return rows
}

func runRows(b *tune.Batch) [][]string {
	rows := [][]string{{"seed", "required_factor", "leases", "granted_nodes", "took_ns", "attempts"}}
	for i := range b.Runs {
		run := &b.Runs[i]
		rows = append(rows, []string{strconv.FormatUint(b.Plan.Seed+uint64(i), 10), b.Required(i).String(), strconv.Itoa(int(run.Leases)),
			strconv.Itoa(int(run.Granted)), strconv.FormatInt(run.Took, 10), strconv.Itoa(int(run.Tries))})
	}
	return rows
}

func sweepRows(s *tune.Sweep) [][]string {
	rows := [][]string{{string(s.X.Of), string(s.Y.Of), "leases", "broken", "broken_high", "needed_factor", "closed_form", "failed_acquires", "usable_share_of_ttl", "lost_holds"}}
	for _, c := range s.Cells {
		rows = append(rows, []string{text(c.X), text(c.Y), strconv.Itoa(c.Runs), text(c.Broken), text(c.High), text(c.Needed), text(c.Closed), text(c.Failed), text(c.Usable), text(c.Lost)})
	}
	return rows
}

// folder writes files into a folder, each whole or not at all, up to the first error.
type folder struct {
	path  string
	names []string
	err   error
}

// newFolder makes the folder; nil without a path. It refuses one with other files
// than tune's own, which it would mix with these.
func newFolder(path string) (*folder, error) {
	if path == "" {
		return nil, nil
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) == 0 {
		return &folder{path: path}, err
	}
	for _, mine := range []string{"report.json", "sweep.json"} {
		if _, err := os.Stat(filepath.Join(path, mine)); err == nil {
			return &folder{path: path}, nil
		}
	}
	return nil, errors.New("has files that are not tune's: name an empty folder, or one that is not there")
}

func (f *folder) write(name string, make func() ([]byte, error)) {
	if f.err != nil {
		return
	}
	var b []byte
	if b, f.err = make(); f.err != nil {
		return
	}
	f.err = replace(filepath.Join(f.path, name), b)
	f.names = append(f.names, name)
}

func (f *folder) figures(list []plot.Figure) {
	for _, figure := range list {
		f.write(figure.Name+".svg", figure.SVG)
		f.write(figure.Name+".png", func() ([]byte, error) { return figure.PNG(false) })
		f.write(figure.Name+"-dark.png", func() ([]byte, error) { return figure.PNG(true) })
	}
}

func (f *folder) json(name string, v any) {
	f.write(name, func() ([]byte, error) {
		var b bytes.Buffer
		err := writeJSON(&b, v)
		return b.Bytes(), err
	})
}

func (f *folder) table(name string, rows [][]string) {
	f.write(name, func() ([]byte, error) {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		err := w.WriteAll(rows)
		return b.Bytes(), err
	})
}

// told says what was written.
func (f *folder) told(w io.Writer) error {
	if f.err != nil {
		return fail(statusFault, "--out %s: %w", f.path, f.err)
	}
	_, err := fmt.Fprintf(w, "\nWritten to %s: %s\n", f.path, strings.Join(f.names, ", "))
	return written(err)
}
