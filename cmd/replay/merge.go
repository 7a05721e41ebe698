package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"driftlock/sim/findings"

	"github.com/spf13/cobra"
)

func (a *app) mergeCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Join the records of searches that ran on several machines",
		Long: `merge puts records together that search --records wrote: each break once, and of each
search one sum. When all shards of a search are there, and came to their end, the
result is to the byte what the search writes that was not split. It goes to
standard output or, with --out, to a file, and the scenarios of the breaks beside
it. Shards that are missing are named, and the exit status is then 4.

` + statusHelp,
		Example: `  replay merge shard-*.jsonl --out all.jsonl
  replay merge monday/all.jsonl tuesday/all.jsonl | jq '.break.file'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("merge joins files of records, which search --records writes: name at least one")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.merge(args, out) },
	}
	cmd.Flags().StringVar(&out, "out", "", "write to this `FILE`, and the scenarios into its folder")
	return cmd
}

// merge joins files of records.
func (a *app) merge(files []string, out string) error {
	if err := mayReplace(out, readRecords); err != nil {
		return err
	}
	var all []*findings.Records
	for _, file := range files {
		r, err := readRecords(file)
		if err != nil {
			return err
		}
		if err := gather(r, file, out); err != nil {
			return err
		}
		all = append(all, r)
	}
	m := findings.Merge(all...)
	w := a.out
	if out != "" {
		if err := replace(out, m.Text()); err != nil {
			return fail(statusFault, "%s could not be written: %w", out, err)
		}
	} else {
		w = a.err
		if _, err := a.out.Write(m.Text()); err != nil {
			return written(err)
		}
	}
	for i := range m.Sums {
		s := &m.Sums[i]
		fmt.Fprintf(w, "%s: %d broke. %s\n", s.Name(), s.Broke, held(s))
	}
	fmt.Fprintf(w, "%s, %s.\n", counted(len(m.Sums), "search", "searches"), counted(len(m.Breaks), "break", "breaks"))
	if missing := m.Missing(); len(missing) > 0 {
		return fail(statusFault, "not all there is: %s", strings.Join(missing, "; "))
	}
	if len(m.Breaks) > 0 {
		return ended(statusBroke)
	}
	return nil
}

// gather brings the scenarios of the breaks in a file into the folder of out.
func gather(r *findings.Records, file, out string) error {
	from, to := filepath.Dir(file), filepath.Dir(out)
	if out == "" || filepath.Clean(from) == filepath.Clean(to) {
		return nil
	}
	for i := range r.Breaks {
		b := &r.Breaks[i]
		text, err := os.ReadFile(filepath.Join(from, b.File))
		if err != nil {
			return fmt.Errorf("%s: the scenario of seed %d of %s: %w", file, b.Seed, b.Space, err)
		}
		kept, err := keep(filepath.Join(to, strings.TrimSuffix(b.File, ".json")), text)
		if err != nil {
			return fail(statusFault, "the scenario could not be written: %w", err)
		}
		b.File = filepath.Base(kept)
	}
	return nil
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
