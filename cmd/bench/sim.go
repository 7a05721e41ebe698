package main

// The simulator's speed, as ratios to two others in the same run: the reference
// workload as people build it today, and a bare loop over the simulator's own
// queue, which is what an event costs at least.

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// A simRow is what was measured of one contender. Medians of the rounds.
type simRow struct {
	Table  string  `json:"table"`
	Name   string  `json:"name"`
	Cores  int     `json:"cores"`
	Seeds  float64 `json:"seeds_s"`
	Event  float64 `json:"ns_event"`     // on one core
	Allocs float64 `json:"allocs_event"` // driftlock: of event loop, network and nodes

	Events     float64 `json:"events_seed"`
	LockAllocs float64 `json:"lock_allocs_event,omitempty"` // of the lock, and for each seed
}

const simTurns = 4 // of each contender in a round

// A simContender runs seeds on one goroutine.
type simContender struct {
	name  string
	cores int
	spell time.Duration // of one turn
	open  func(t *testing.T) (simRunner, error)
}

// A simRunner runs a seed, and says how many events it had.
type simRunner interface {
	seed(n uint64) (events int, err error)
	close()
}

func simContenders() []simContender {
	const spell = 200 * time.Millisecond
	return []simContender{
		{"driftlock", 1, spell, openSimulator},
		{"driftlock-bubble", 1, spell, openDriven},
		{"bubble-baseline", 1, 3 * spell, openBubble},
		{"bare-loop", 1, spell / 2, openBareLoop},
		{"driftlock-2-cores", 2, spell, openSimulator},
		{"bare-loop-2-cores", 2, spell / 2, openBareLoop},
	}
}

func simMain(args []string) error {
	flags := flag.NewFlagSet("bench sim", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print one JSON object a row")
	rounds := flags.Int("rounds", 5, "rounds, of which the medians are printed")
	if err := parse(flags, args, rounds); err != nil {
		return err
	}
	if processors() < 2 {
		progress("sim: %s", oneProcessor)
	}
	underTest(func(t *testing.T) error {
		rows, err := measureSim(t, *rounds)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return printJSON(os.Stdout, rows)
		}
		printSim(os.Stdout, rows)
		return nil
	})
	return nil
}

const oneProcessor = "there is one processor: what is said of two cores means nothing"

// processors is how many may run at once, whatever GOMAXPROCS says in the environment:
// the contenders set that themselves.
func processors() int {
	if os.Getenv("GOMAXPROCS") != "" {
		return runtime.NumCPU()
	}
	return min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) // a cgroup may grant fewer
}

// underTest runs f as a test, since a synctest bubble wants a *testing.T, and ends
// the program.
func underTest(f func(t *testing.T) error) {
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "sim", F: func(t *testing.T) { exit(f(t)) },
	}}, nil, nil)
}

// measureSim lets the contenders take turns, so that a busy moment of the machine
// is shared by all.
func measureSim(t *testing.T, rounds int) ([]simRow, error) {
	contenders := simContenders()
	teams := make([]*simTeam, len(contenders))
	for i, c := range contenders {
		team, err := newSimTeam(t, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		defer team.close()
		teams[i] = team
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for round := range rounds {
		progress("sim: round %d of %d", round+1, rounds)
		for turn := range simTurns {
			for k := range teams {
				team := teams[(turn+k)%len(teams)]
				if err := team.turn(); err != nil {
					return nil, fmt.Errorf("%s: %w", team.name, err)
				}
			}
		}
		for _, team := range teams {
			team.endRound()
		}
	}
	rows := make([]simRow, len(teams))
	for i, team := range teams {
		rows[i] = team.row()
	}
	loop, err := steadyAllocs()
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if r := &rows[i]; strings.HasPrefix(r.Name, "driftlock") && r.Name != "driftlock-bubble" {
			r.Allocs, r.LockAllocs = loop, r.Allocs-loop
		}
	}
	return rows, nil
}

// A simTeam is one contender, on each of its cores one.
type simTeam struct {
	simContender
	runners []simRunner
	next    uint64 // seed

	now                   simScore
	seeds, events, allocs []float64 // of each round: seeds/s, ns an event, allocations an event
	perSeed               []float64
}

// A simScore is what was done in some time.
type simScore struct {
	seeds, events int
	took          time.Duration
	mallocs       uint64
}

func newSimTeam(t *testing.T, c simContender) (*simTeam, error) {
	team := &simTeam{simContender: c, next: 1}
	for range c.cores {
		r, err := c.open(t)
		if err != nil {
			return nil, err
		}
		team.runners = append(team.runners, r)
	}
	err := team.turn() // grows memory, fills caches
	team.now = simScore{}
	return team, err
}

func (team *simTeam) close() {
	for _, r := range team.runners {
		r.close()
	}
}

// turn runs seeds on each core until the spell is over.
func (team *simTeam) turn() error {
	runtime.GOMAXPROCS(team.cores)
	runtime.GC()
	type part struct {
		seeds, events int
		err           error
	}
	parts := make(chan part)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for i, r := range team.runners {
		go func() {
			var p part
			for seed := team.next + uint64(i); p.err == nil && time.Since(start) < team.spell; seed += uint64(team.cores) {
				var n int
				n, p.err = r.seed(seed)
				p.events += n
				p.seeds++
			}
			parts <- p
		}()
	}
	var err error
	most := 0
	for range team.runners {
		p := <-parts
		if p.err != nil {
			err = p.err
		}
		team.now.seeds, team.now.events = team.now.seeds+p.seeds, team.now.events+p.events
		most = max(most, p.seeds)
	}
	team.now.took += time.Since(start)
	runtime.ReadMemStats(&after)
	team.now.mallocs += after.Mallocs - before.Mallocs
	team.next += uint64(most * team.cores)
	return err
}

func (team *simTeam) endRound() {
	n := team.now
	team.seeds = append(team.seeds, float64(n.seeds)/n.took.Seconds())
	team.events = append(team.events, float64(n.took.Nanoseconds())*float64(team.cores)/float64(n.events))
	team.allocs = append(team.allocs, float64(n.mallocs)/float64(n.events))
	team.perSeed = append(team.perSeed, float64(n.events)/float64(n.seeds))
	team.now = simScore{}
}

func (team *simTeam) row() simRow {
	return simRow{Table: "sim", Name: team.name, Cores: team.cores, Seeds: median(team.seeds), Event: median(team.events),
		Allocs: median(team.allocs), Events: median(team.perSeed)}
}

func printSim(w io.Writer, rows []simRow) {
	fmt.Fprintf(w, "\nsim: the reference workload, checks and hash on\n")
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "\tcores\tseeds/s\tevents a seed\tns an event\tallocs an event\tthe lock's own\t")
	for _, r := range rows {
		fmt.Fprintf(out, "%s\t%d\t%.0f\t%.0f\t%.1f\t%.4f\t%.3f\t\n", r.Name, r.Cores, r.Seeds, r.Events, r.Event, r.Allocs, r.LockAllocs)
	}
	out.Flush()
	of := func(name string) simRow {
		return rows[slices.IndexFunc(rows, func(r simRow) bool { return r.Name == name })]
	}
	one, two, loop, loops := of("driftlock"), of("driftlock-2-cores"), of("bare-loop"), of("bare-loop-2-cores")
	fmt.Fprintf(w, "\nseeds a second, of the baseline's:  %.1f ×  (floor 100)\n", one.Seeds/of("bubble-baseline").Seeds)
	fmt.Fprintf(w, "lock cycles a second in a bubble:  %.0f, nine a seed; on coroutines %.0f  (floor 20,000)\n", 9*of("driftlock-bubble").Seeds, 9*one.Seeds)
	fmt.Fprintf(w, "an event, of the bare loop's:       %.2f ×  (at most 6)\n", one.Event/loop.Event)
	fmt.Fprintf(w, "allocations an event:               %.4f  (0; the lock's own apart)\n", one.Allocs)
	if processors() < 2 {
		fmt.Fprintf(w, "gain of a second core:              %s\n", oneProcessor)
		return
	}
	fmt.Fprintf(w, "gain of a second core:              %.2f ×, two bare loops %.2f ×: %.2f of it  (floor 0.9)\n",
		two.Seeds/one.Seeds, loops.Seeds/loop.Seeds, two.Seeds/one.Seeds/(loops.Seeds/loop.Seeds))
}
