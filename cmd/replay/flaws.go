package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"driftlock/sim"
	"driftlock/sim/flawed"
	"driftlock/sim/spell"

	"github.com/spf13/cobra"
)

// flawsSpace is where flawed locks are searched: nothing breaks there but by a fault
// of the lock.
const flawsSpace = "tame"

// elsewhere are the flaws that nothing tame shows.
var elsewhere = map[string]struct{ space, why string }{
	"watch-survives-loss": {"fence", "its holder works on after the loss, which only a resource that looks at no fence number lets it do"},
}

// missed says of the flaws that a search does not find why that is.
var missed = map[string]string{
	"lockstep-retry": "the vote must be split in 200 rounds on end: waiters with equal clocks, which meet within the difference of their delays, each nearer to nodes of its own; no space draws delays by place",
}

// flawsFlags are the options of flaws.
type flawsFlags struct {
	space  string
	starts int
	most   uint64
	jobs   int
	guided bool
}

func (a *app) flawsCommand() *cobra.Command {
	var f flawsFlags
	cmd := &cobra.Command{
		Use:   "flaws [NAME...]",
		Short: "Count the runs that a search needs to catch each flawed lock",
		Long: `flaws searches for what breaks a lock with one fault, by search alone: no scenario is
made for it. It counts the runs up to the first one in which a promise breaks that
the same lock keeps without the fault, from several seeds on, and prints a table.
Without a name it goes through all faults. It searches the space ` + flawsSpace + `, for what no
assumption explains, and another where nothing tame can show a fault.

Exit status: 0 each was caught in at least half of the searches, or is one that is
known not to be; 1 not so; 2 bad arguments; 4 a fault of the tool or the machine.`,
		Example: `  replay flaws
  replay flaws extend-shortens no-truncation
  replay flaws --guided --starts 3 no-truncation`,
		ValidArgs: flawNames(),
		Args: func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				if !slices.Contains(flawNames(), name) {
					return fmt.Errorf("no flaw is called %q%s: there are %s", name, spell.Hint(name, flawNames()), strings.Join(flawNames(), ", "))
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.starts < 1:
				return fmt.Errorf("--starts %d: must be at least 1", f.starts)
			case f.most < 1:
				return fmt.Errorf("--most %d: must be at least 1", f.most)
			case f.jobs < 0:
				return fmt.Errorf("--jobs %d: must be at least 1, or 0 for one a core", f.jobs)
			}
			if f.space != "" {
				if _, err := sim.FindSpace(f.space); err != nil {
					return fmt.Errorf("--space: %w", err)
				}
			}
			if len(args) == 0 {
				args = flawNames()
			}
			return a.flaws(cmd, args, f)
		},
	}
	cmd.Flags().StringVar(&f.space, "space", "", "the `space` to search; otherwise the one that can show it")
	cmd.Flags().IntVar(&f.starts, "starts", 10, "how `many` searches for each, of which the median counts")
	f.most = 20_000
	cmd.Flags().Var((*count)(&f.most), "most", "how `many` runs each has at most")
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "how `many` run at once; 0: one a core")
	cmd.Flags().BoolVar(&f.guided, "guided", false, "search guided by margin")
	cmd.RegisterFlagCompletionFunc("space", completeSpaces)
	return cmd
}

func flawNames() (names []string) {
	for _, f := range flawed.Flaws() {
		names = append(names, string(f))
	}
	return names
}

// hunted is what became of the searches for one flaw.
type hunted struct {
	name, space string
	runs        []uint64       // to the first break, sorted; the most where there was none
	caught      int            // searches with a break
	broke       map[string]int // invariants, by searches
}

// flaws prints the table, a row at a time.
func (a *app) flaws(cmd *cobra.Command, names []string, f flawsFlags) error {
	ctx, stop := untilInterrupted(cmd.Context())
	defer stop()
	fmt.Fprintf(a.out, "| flaw | median runs | fewest | most | breaks | space |\n|---|---:|---:|---:|---|---|\n")
	var notes []string
	bar := a.newProgress(uint64(len(names)*f.starts), "searches")
	defer bar.done()
	done, failed := uint64(0), 0
	for _, name := range names {
		h, err := a.hunt(ctx, name, f, func() { done++; bar.at(done, name) })
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return fail(statusFault, "stopped before the end")
		}
		bar.done()
		if _, err := fmt.Fprintln(a.out, h.row(f)); err != nil {
			return written(err)
		}
		switch why, known := missed[name]; {
		case 2*h.caught >= f.starts:
			if e, there := elsewhere[name]; there && h.space == e.space {
				notes = append(notes, fmt.Sprintf("%s is searched in %s: %s.", name, e.space, e.why))
			}
		case known:
			notes = append(notes, fmt.Sprintf("%s is not found: %s.", name, why))
		default:
			failed++
			notes = append(notes, fmt.Sprintf("%s is not found.", name))
		}
	}
	for i, note := range notes {
		if i == 0 {
			fmt.Fprintln(a.out)
		}
		fmt.Fprintln(a.out, note)
	}
	if failed > 0 {
		return ended(statusBroke)
	}
	return nil
}

// hunt searches for one flaw from several seeds on.
func (a *app) hunt(ctx context.Context, name string, f flawsFlags, on func()) (*hunted, error) {
	h := &hunted{name: name, space: flawsSpace, broke: map[string]int{}}
	if e, there := elsewhere[name]; there {
		h.space = e.space
	}
	if f.space != "" {
		h.space = f.space
	}
	sp, err := sim.FindSpace(h.space)
	if err != nil {
		return nil, err
	}
	for i := range f.starts {
		first, runs := uint64(i+1)<<32, f.most
		s := sim.Search{Space: sp, First: first, Seeds: f.most, Jobs: f.jobs, Guided: f.guided, Flaws: []string{name}, Bugs: h.space == flawsSpace}
		for b := range s.Run(ctx, sim.OnPanic(a.tellPanic)) {
			if b.Err != nil {
				return nil, fail(statusFault, "seed %d of %s with %s: %w", b.Seed, h.space, name, b.Err)
			}
			runs = b.Seed - first + 1
			h.caught++
			h.broke[b.Violation.Invariant.String()]++
		}
		h.runs = append(h.runs, runs)
		on()
	}
	slices.Sort(h.runs)
	return h, nil
}

// row is a line of the table.
func (h *hunted) row(f flawsFlags) string {
	text := func(n uint64) string {
		if n == f.most && h.caught < f.starts {
			return fmt.Sprintf("over %d", n)
		}
		return fmt.Sprint(n)
	}
	median := (h.runs[(len(h.runs)-1)/2] + h.runs[len(h.runs)/2]) / 2
	broke := make([]string, 0, len(h.broke))
	for i := range h.broke {
		broke = append(broke, i)
	}
	slices.Sort(broke)
	if len(broke) == 0 {
		broke = []string{"nothing"}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", h.name, text(median), text(h.runs[0]), text(h.runs[len(h.runs)-1]), strings.Join(broke, ", "), h.space)
}
