package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"driftlock/sim/tune"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// confirmRuns is how many runs are made again with the recommended factor, where that
// can only repeat what is known.
const confirmRuns = 2_000

func (a *app) tune(cmd *cobra.Command, f tuneFlags) error {
	if f.sweep != "" && !changed(cmd, "runs") {
		f.runs = defaultSweepRuns
	}
	p, beware, err := f.planned(cmd)
	if err != nil {
		return err
	}
	if f.show != "" && f.sweep == "" {
		return fmt.Errorf("--show %s: needs --sweep", f.show)
	}
	files, err := newFolder(f.out)
	if err != nil {
		return fail(statusMisuse, "--out %s: %w", f.out, err)
	}
	ctx, stop := untilInterrupted(cmd.Context())
	defer stop()
	if f.sweep != "" {
		return a.tuneSweep(ctx, cmd, f, p, files)
	}
	bar := a.newProgress(uint64(p.Runs), "leases")
	defer bar.done()
	b, err := p.Run(ctx, func(done int) { bar.at(uint64(done), "leases") })
	if err != nil {
		return fail(statusFault, "%w", err)
	}
	r, err := b.Report()
	if err != nil {
		return fail(statusFault, "%w", err)
	}
	r.Warnings = append(r.Warnings, beware...)
	if err := a.confirm(ctx, b, &r); err != nil {
		return fail(statusFault, "%w", err)
	}
	bar.done()
	if f.json {
		if err := writeJSON(a.out, r); err != nil {
			return written(err)
		}
	}
	w := a.people(f.json)
	if _, err := fmt.Fprint(w, r.Text()); err != nil {
		return written(err)
	}
	if err := files.ofBatch(w, b, &r, a.again(cmd)); err != nil {
		return err
	}
	if asked := r.Points[2]; changed(cmd, "factor") && asked.Probability > r.Plan.Target {
		return ended(statusBroke)
	}
	return nil
}

// confirm makes runs again with the recommended factor: all of them where the factor
// may change who is granted the lock next.
func (a *app) confirm(ctx context.Context, b *tune.Batch, r *tune.Report) error {
	n := confirmRuns
	if !r.Exact {
		n = len(b.Runs)
	}
	if !r.Enough || r.Runs == 0 || ctx.Err() != nil {
		return nil
	}
	bar := a.newProgress(uint64(n), "leases")
	defer bar.done()
	c, err := b.Confirm(ctx, r.Factor, n, func(done int) { bar.at(uint64(done), "confirming") })
	if err == nil && c.Runs > 0 {
		r.Confirmed = c
	}
	return err
}

// again is the command line that was typed.
func (a *app) again(cmd *cobra.Command) string {
	argv := []string{"tune"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "out":
		case f.Value.Type() == "bool":
			argv = append(argv, "--"+f.Name)
		default:
			argv = append(argv, "--"+f.Name, f.Value.String())
		}
	})
	return "replay " + command(argv)
}

func (a *app) tuneSweep(ctx context.Context, cmd *cobra.Command, f tuneFlags, p tune.Plan, files *folder) error {
	first, second, ok := strings.Cut(f.sweep, ",")
	if !ok {
		return fmt.Errorf("--sweep %q: two parameters are expected, as in factor,drift", f.sweep)
	}
	x, err := tune.ParseAxis(first)
	if err != nil {
		return fmt.Errorf("--sweep: %w", err)
	}
	y, err := tune.ParseAxis(second)
	if err != nil {
		return fmt.Errorf("--sweep: %w", err)
	}
	for _, of := range []tune.Parameter{x.Of, y.Of} {
		if flag := setBy(cmd, of); flag != nil {
			return fmt.Errorf("--%s %s: is what --sweep changes", flag.Name, flag.Value)
		}
	}
	var bar *progress
	begin := time.Now()
	s, err := p.Sweep(ctx, x, y, func(done, of int) {
		if bar == nil {
			bar = a.newProgress(uint64(of), "leases")
		}
		bar.at(uint64(done), "leases")
	})
	if bar != nil {
		bar.done()
	}
	if err != nil {
		return fmt.Errorf("--sweep: %w", err)
	}
	if f.show != "" {
		if s.Show, err = tune.ParseMeasure(f.show); err != nil {
			return fmt.Errorf("--show: %w", err)
		}
	}
	if f.json {
		if err := writeJSON(a.out, s); err != nil {
			return written(err)
		}
	}
	w := a.people(f.json)
	runs := 0
	for _, c := range s.Cells {
		runs = max(runs, c.Runs)
	}
	stopped := ""
	if ctx.Err() != nil {
		stopped = "; stopped before the end"
	}
	if _, err := fmt.Fprintf(w, "%s\n\n%s\n%d places, %s leases each, in %v%s.\n", s.Sentence(), s.Table(), len(s.Cells), tune.Grouped(runs),
		time.Since(begin).Round(time.Millisecond), stopped); err != nil {
		return written(err)
	}
	return files.ofSweep(w, s, a.again(cmd))
}

// setBy is the flag that gives a parameter of a sweep the value that it does not keep; nil
// without one. A factor of its own is the one in question.
func setBy(cmd *cobra.Command, of tune.Parameter) *pflag.Flag {
	flags := []string{string(of)}
	switch of {
	case tune.OfFactor:
		return nil
	case tune.OfDrift:
		flags = []string{"drift", "client-drift", "node-drift"}
	case tune.OfTimeout:
		flags = []string{"node-timeout"}
	}
	for _, name := range flags {
		if changed(cmd, name) {
			return cmd.Flags().Lookup(name)
		}
	}
	return nil
}
