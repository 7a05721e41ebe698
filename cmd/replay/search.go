package main

import (
	"context"
	"fmt"
	"time"

	"driftlock/sim"
	"driftlock/sim/findings"
	"driftlock/sim/timeline"

	"github.com/spf13/cobra"
)

// Where search looks when nothing is asked for: breaks are to be found there, and
// the TTL and the clocks of the first are such as people have.
const (
	defaultSpace = "drift-wide"
	defaultFirst = 24
)

// searchFlags are the options of search.
type searchFlags struct {
	space        string
	seeds, first uint64
	jobs, stop   int
	json         bool
	noShrink     bool
	hunt         huntFlags
}

func (a *app) searchCommand() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Look for a run in which the lock breaks its promise, and say why it does",
		Long: `search runs seed after seed of a space on all cores. Each break it finds it
shrinks, as shrink does but to no fewer machines than the space has, explains in
about a screen, and writes to a scenario file in the current folder, from which it
replays even after the space has changed. Ctrl-C ends it with what was found so
far. Without arguments it begins at seed 24 of drift-wide, where TTL and clocks are
ordinary ones.

With --records it goes to its end unless --stop is given, writes each break as it
was found, and tells it in a line; breaks that are in the file already are passed
over, and the exit status is of the new ones alone. Shards (--shard 1/4 to 4/4) make
the runs of one search on several machines; merge joins their records.

Before anything else 16 seeds of the canary, a space in which every lease breaks,
must break: a search that cannot find a break would say nothing.

` + statusHelp,
		Example: `  replay search
  replay search --space drift --seeds 100000
  replay search --stop 3 --first 1000
  replay search --space brink --sampling bounds --guided
  replay search --space tame --flaw extend-shortens
  replay search --space faulty --bugs --seeds 1M --shard 2/4 --records shard-2.jsonl
  replay search --json | jq '.argv'`,
		Args: takes(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			sp, err := sim.FindSpace(f.space)
			switch {
			case err != nil:
				return fmt.Errorf("--space: %w", err)
			case f.jobs < 0:
				return fmt.Errorf("--jobs %d: must be at least 1, or 0 for one a core", f.jobs)
			case f.stop < 1:
				return fmt.Errorf("--stop %d: must be at least 1", f.stop)
			}
			if !cmd.Flags().Changed("space") && !cmd.Flags().Changed("first") {
				f.first = defaultFirst
			}
			s := sim.Search{Space: sp, Seeds: f.seeds, First: f.first, Jobs: f.jobs, Stop: f.stop}
			if f.hunt.records != "" && !cmd.Flags().Changed("stop") {
				s.Stop = -1
			}
			if err := f.hunt.prepare(&s); err != nil {
				return err
			}
			return a.search(cmd, s, f)
		},
	}
	cmd.Flags().StringVar(&f.space, "space", defaultSpace, "the `space` to search: "+spaceNames())
	f.seeds = 10_000
	cmd.Flags().Var((*count)(&f.seeds), "seeds", "how `many` seeds to look at, such as 500, 10k or 2M; 0: until stopped")
	cmd.Flags().Uint64Var(&f.first, "first", 1, "the first `seed`")
	cmd.RegisterFlagCompletionFunc("space", completeSpaces)
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "how `many` run at once; 0: one a core")
	cmd.Flags().IntVar(&f.stop, "stop", 1, "stop after so `many` breaks")
	f.hunt.add(cmd)
	cmd.Flags().BoolVar(&f.noShrink, "no-shrink", false, "tell each break as it was found, and not the smallest scenario in which it is left")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object a break on standard output; text for people goes to standard error")
	a.pictures.flags(cmd)
	return cmd
}

func (a *app) search(cmd *cobra.Command, s sim.Search, f searchFlags) error {
	ctx, stop := untilInterrupted(cmd.Context())
	defer stop()
	w := a.people(f.json)
	if err := canary(sim.Canary()); err != nil {
		return err
	}
	if _, err := fmt.Fprint(w, "Space "+s.Space.Describe()); err != nil {
		return written(err)
	}
	if f.hunt.records != "" {
		return a.recorded(ctx, w, s, f)
	}
	begin := time.Now()
	bar := a.newProgress(f.seeds, "seeds")
	var last sim.Progress
	s.On = func(p sim.Progress) {
		last = p
		bar.at(p.Seeds, worst(p))
	}
	found := 0
	for b := range s.Run(ctx, sim.OnPanic(a.tellPanic)) {
		bar.done()
		if b.Err != nil {
			return fail(statusFault, "seed %d of %s: %w", b.Seed, s.Space.Name(), b.Err)
		}
		found++
		if err := a.tellBreak(ctx, w, &s, b, f, time.Since(begin)); err != nil {
			return err
		}
	}
	bar.done()
	more := ""
	if found > 0 && last.Breaks > found {
		more = " (see --stop)"
	}
	sum := fmt.Sprintf("\n%d seeds in %v: %d broke%s, %s", last.Seeds, time.Since(begin).Round(time.Millisecond), last.Breaks, more, worst(last))
	if ctx.Err() != nil {
		sum += "; stopped before the end"
	}
	fmt.Fprintln(w, sum+".")
	if found > 0 {
		return ended(statusBroke)
	}
	tally := findings.SumOf(findings.Search{Space: s.Space.Name()}, "", false, last)
	_, err := fmt.Fprintln(w, held(&tally))
	return written(err)
}

// worst is the smallest margin so far.
func worst(p sim.Progress) string {
	if p.Leases == 0 {
		return "no lease yet"
	}
	return fmt.Sprintf("worst margin %s (seed %d)", timeline.Margin(p.Worst), p.Seed)
}

// tellBreak explains a break, shrunk unless that is not wanted, and keeps its
// scenario.
func (a *app) tellBreak(ctx context.Context, w *stream, s *sim.Search, b sim.Break, f searchFlags, after time.Duration) error {
	sp := s.Space
	sub := a.named(b.Scenario, "", f.hunt.again(s, b.Seed))
	h, err := a.history(sub)
	if err != nil {
		return err
	}
	if h.Hash() != b.Hash {
		return fail(statusDiffered, "seed %d of %s did not repeat itself: hashes %v and %v", b.Seed, sp.Name(), b.Hash, h.Hash())
	}
	told, how := sub, ""
	if !f.noShrink {
		if told, how, err = a.smaller(ctx, sp, sub, b.Violation.Invariant); err != nil {
			return err
		}
		how = ", " + how
	}
	file, unkept := keep("driftlock-"+fileName(sub.name), told.sc.AppendJSON(nil))
	told.argv = a.argv("run", file)
	if unkept != nil { // what can be run again is the seed's
		told, how = sub, ""
	}
	if h, err = a.history(told); err != nil {
		return err
	}
	v := sim.Check(h)
	if f.json {
		if err := reportOf(told.name, v, told.argv).write(a.out); err != nil {
			return written(err)
		}
	}
	fmt.Fprintf(w, "\nSeed %d, after %s%s:\n\n", b.Seed, after.Round(time.Millisecond), how)
	if err := a.screen(w, told, h, v); err != nil {
		return written(err)
	}
	if unkept != nil {
		return fail(statusFault, "the scenario could not be written: %w", unkept)
	}
	return nil
}
