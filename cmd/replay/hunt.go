package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"driftlock/sim"
	"driftlock/sim/findings"
	"driftlock/sim/timeline"

	"github.com/spf13/cobra"
)

// huntFlags are the options of search that say which runs are made, and where
// what they find is kept.
type huntFlags struct {
	sampling string
	guided   bool
	flaws    []string
	bugs     bool
	shard    string
	records  string
}

func (f *huntFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.sampling, "sampling", "informed", "`how` values are drawn: informed, bounds or uniform")
	cmd.Flags().BoolVar(&f.guided, "guided", false, "go on from the scenarios that came closest to a break")
	cmd.Flags().StringSliceVar(&f.flaws, "flaw", nil, "search the flawed lock, with the fault `NAME` (or several, with commas), for what breaks only with it")
	cmd.Flags().BoolVar(&f.bugs, "bugs", false, "pass over breaks that an assumption explains which was not kept")
	cmd.Flags().StringVar(&f.shard, "shard", "", "run a part of the search, `i/n`, and leave the others to other machines")
	cmd.Flags().StringVar(&f.records, "records", "", "keep each break, as a line in `FILE` and a scenario beside it, and how the search went; pass over those that are there")
}

// prepare puts the options into a search.
func (f *huntFlags) prepare(s *sim.Search) error {
	var by sim.Sampling
	if err := by.UnmarshalText([]byte(f.sampling)); err != nil {
		return fmt.Errorf("--sampling: %w", err)
	}
	s.Space, s.Guided, s.Flaws, s.Bugs = s.Space.Sampled(by), f.guided, f.flaws, f.bugs
	if f.shard != "" {
		var err error
		if s.Shard, s.Shards, err = findings.Shard(f.shard); err != nil {
			return fmt.Errorf("--shard %w", err)
		}
		if s.Seeds == 0 {
			return errors.New("--shard: a search that is split must have an end (--seeds)")
		}
	}
	if err := s.Check(); err != nil {
		return fmt.Errorf("--flaw: %w", err) // the space is one of those that there are
	}
	return nil
}

// again are the arguments that run a seed of the search again.
func (f *huntFlags) again(s *sim.Search, seed uint64) []string {
	n := strconv.FormatUint(seed, 10)
	if !f.guided && len(f.flaws) == 0 && f.sampling == sim.Informed.String() {
		return []string{"run", "--space", s.Space.Name(), "--seed", n}
	}
	argv := []string{"search", "--space", s.Space.Name(), "--sampling", f.sampling}
	if len(f.flaws) > 0 {
		argv = append(argv, "--flaw", strings.Join(f.flaws, ","))
	}
	if f.bugs {
		argv = append(argv, "--bugs")
	}
	if !f.guided {
		return append(argv, "--first", n, "--seeds", "1")
	}
	island := seed - (seed-s.First)%sim.Island
	return append(argv, "--guided", "--first", strconv.FormatUint(island, 10), "--seeds", strconv.FormatUint(seed-island+1, 10))
}

// canaries is how many seeds of the canary each search runs first.
const canaries = 16

// canary fails unless the alarm works: every seed of its space must break.
func canary(sp sim.Space) error {
	broke := uint64(0)
	for b := range (sim.Search{Space: sp, Seeds: canaries, Stop: -1}).Run(context.Background()) {
		if b.Err == nil {
			broke++
		}
	}
	if broke < canaries {
		return fail(statusFault, "the canary held: of %d seeds of the space %s, each of which must break, %d did; whatever a search says, it cannot be trusted", canaries, sp.Name(), broke)
	}
	return nil
}

// codeVersion is the commit that the program was built from or, where the build
// does not know it or there were changes, a hash of the program.
var codeVersion = sync.OnceValue(func() string {
	commit, changed := "", false
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				commit = s.Value
			case "vcs.modified":
				changed = s.Value == "true"
			}
		}
	}
	if commit != "" && !changed {
		return commit[:min(12, len(commit))]
	}
	self, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	program, err := os.Open(self)
	if err != nil {
		return "unknown"
	}
	defer program.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, program); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("build-%x", sum.Sum(nil)[:6])
})

// ledger is a file of records that a search writes to.
type ledger struct {
	file   string
	search findings.Search
	shard  string
	known  *findings.Records
	fresh  int // breaks that were not known
}

// openLedger reads the records that are there already.
func openLedger(f *searchFlags, s *sim.Search) (*ledger, error) {
	l := &ledger{file: f.hunt.records, shard: f.hunt.shard, search: findings.Search{Code: codeVersion(), Space: s.Space.Name(), Guided: s.Guided, Flaws: strings.Join(s.Flaws, ","), Bugs: s.Bugs, First: s.First, Seeds: s.Seeds}}
	l.search.Sampling.UnmarshalText([]byte(f.hunt.sampling)) // prepare has read it
	var err error
	if l.known, err = readRecords(f.hunt.records); errors.Is(err, fs.ErrNotExist) {
		l.known, err = &findings.Records{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--records: %w", err)
	}
	return l, l.save() // now, and not after an hour, it shows whether it can be written
}

func readRecords(file string) (*findings.Records, error) {
	if isDevice(file) { // /dev/full gives zeros without end
		return nil, fmt.Errorf("%s: not a regular file", file)
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return findings.Read(in, file)
}

// note keeps a break, unless it is known. It returns where its scenario is.
func (l *ledger) note(b sim.Break) (file string, fresh bool, err error) {
	r := findings.BreakOf(l.search, b, "")
	for i := range l.known.Breaks {
		if k := &l.known.Breaks[i]; k.Same(&r) {
			return k.File, false, nil
		}
	}
	if r.File, err = keep(filepath.Join(filepath.Dir(l.file), "driftlock-"+fileName(b.Scenario.Name)), b.Scenario.AppendJSON(nil)); err != nil {
		return "", false, fail(statusFault, "the scenario could not be written: %w", err)
	}
	r.File = filepath.Base(r.File)
	l.known.Breaks = append(l.known.Breaks, r)
	l.fresh++
	out, err := os.OpenFile(l.file, os.O_WRONLY|os.O_APPEND, 0o644)
	if err == nil {
		_, err = out.Write(r.Append(nil))
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return "", false, fail(statusFault, "the record could not be written: %w", err)
	}
	return r.File, true, nil
}

// close adds how the search went, and puts the records in their order.
func (l *ledger) close(stopped bool, p sim.Progress) error {
	l.known.Sums = append(l.known.Sums, findings.SumOf(l.search, l.shard, stopped, p))
	return l.save()
}

func (l *ledger) save() error {
	l.known = findings.Merge(l.known)
	if err := replace(l.file, l.known.Text()); err != nil {
		return fail(statusFault, "the records could not be written: %w", err)
	}
	return nil
}

// recorded runs a search whose breaks are kept: each is told in a line.
func (a *app) recorded(ctx context.Context, w *stream, s sim.Search, f searchFlags) error {
	l, err := openLedger(&f, &s)
	if err != nil {
		return err
	}
	begin, bar := time.Now(), a.newProgress(s.Seeds, "seeds")
	var last sim.Progress
	s.On = func(p sim.Progress) {
		last = p
		bar.at(p.Seeds, worst(p))
	}
	found := 0
	for b := range s.Run(ctx, sim.OnPanic(a.tellPanic)) {
		if b.Err != nil {
			bar.done()
			return fail(statusFault, "seed %d of %s: %w", b.Seed, s.Space.Name(), b.Err)
		}
		found++
		file, fresh, err := l.note(b)
		if err != nil {
			return err
		}
		if !fresh {
			continue
		}
		bar.done()
		if f.json {
			_, err = a.out.Write(findings.BreakOf(l.search, b, file).Append(nil))
		} else {
			_, err = fmt.Fprintln(w, inALine(b, file))
		}
		if err != nil {
			return written(err)
		}
	}
	bar.done()
	stopped := ctx.Err() != nil || s.Stop > 0 && found >= s.Stop
	if err := l.close(stopped, last); err != nil {
		return err
	}
	known := ""
	if found > l.fresh {
		known = fmt.Sprintf(", %d of them known", found-l.fresh)
	}
	fmt.Fprintf(w, "%d seeds in %v: %d broke%s.", last.Seeds, time.Since(begin).Round(time.Millisecond), last.Breaks, known)
	if stopped {
		fmt.Fprint(w, " Stopped before the end.")
	}
	sum := findings.SumOf(l.search, l.shard, stopped, last)
	fmt.Fprintf(w, "\n%s\n", held(&sum))
	if l.fresh > 0 {
		return ended(statusBroke)
	}
	return nil
}

// inALine tells a break: "Seed 24: I2 (sound) breaks by 15.589 ms; A1 is not kept.
// driftlock-drift-wide-24.json".
func inALine(b sim.Break, file string) string {
	x := b.Violation
	text := fmt.Sprintf("Seed %d: %v (%s) breaks", b.Seed, x.Invariant, x.Invariant.Word())
	if x.HasMargin {
		text += " by " + timeline.Margin(-x.Margin)
	}
	switch unmet := findings.BreakOf(findings.Search{}, b, "").Unmet; len(unmet) {
	case 0:
		text += "; every assumption is kept"
	case 1:
		text += "; " + unmet[0] + " is not kept"
	default:
		text += "; " + strings.Join(unmet, ", ") + " are not kept"
	}
	return text + ". " + file
}

// held is the last line of a search: how many seeds held, and what that is worth.
func held(s *findings.Sum) string {
	text := fmt.Sprintf("%d seeds held.", s.Held)
	if c := s.Closest; c != nil {
		left := timeline.Margin(time.Duration(c.Left)) + " left"
		if c.Left < 0 {
			left = timeline.Margin(-time.Duration(c.Left)) + " too little"
		}
		text += fmt.Sprintf(" Closest, releases ignored: seed %d, %s.", c.Seed, left)
	}
	never := "nothing that the space has"
	if unseen := s.Unseen(); len(unseen) > 0 {
		never = strings.Join(unseen, ", ")
	}
	return text + " Never reached: " + never + "."
}
