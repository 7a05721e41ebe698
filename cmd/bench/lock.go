package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
)

// A row is what was measured of one contender. Times are in microseconds.
type row struct {
	Table    string  `json:"table"`
	Name     string  `json:"name"`
	Nodes    int     `json:"nodes"`
	P50      float64 `json:"p50_us"` // lock: of acquire and release; else of acquire
	P99      float64 `json:"p99_us"`
	Cycles1  float64 `json:"-"` // a second, with so many goroutines
	Cycles8  float64 `json:"-"`
	Cycles64 float64 `json:"-"`
	Allocs   float64 `json:"-"`      // a cycle
	Cycles   int     `json:"cycles"` // of which so many keys were left:
	Orphans  int64   `json:"orphans"`
	Failed   int     `json:"failed"` // cycles, not counted above

	Ratio    float64 `json:"ratio,omitempty"`            // fenced: of the p50 to that of the unfenced
	Healthy  float64 `json:"healthy_p50_us,omitempty"`   // one node stopped: acquire before that
	Stuck    int     `json:"stuck_goroutines,omitempty"` // and goroutines more at the end
	Fairness float64 `json:"fairness,omitempty"`         // contended: 1 if all got as much, 1/n if one got all
}

const (
	nodes     = 5
	turns     = 10                     // of each contender with one goroutine in a round, by turns
	turnShots = 40                     // cycles in such a turn
	duels     = 40                     // further turns of the two whose p50 a budget compares
	spell     = 150 * time.Millisecond // of several goroutines in a round
	quiet     = 50 * time.Millisecond  // until what is left is an orphan
	tight     = 100 * time.Millisecond // the clients' timeout where a node is stopped
)

type lockBench struct {
	rounds int
	serial int // of keys
}

func lockMain(args []string) error { return lockTo(os.Stdout, args) }

func lockTo(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("bench lock", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print one JSON object a row")
	rounds := flags.Int("rounds", 5, "rounds, of which the medians are printed")
	only := flags.String("table", "", "measure only this table")
	if err := parse(flags, args, rounds); err != nil {
		return err
	}
	five, err := startServers(nodes)
	if err != nil {
		return err
	}
	defer five.stop()
	one, err := startServers(1)
	if err != nil {
		return err
	}
	defer one.stop()
	b := &lockBench{rounds: *rounds}
	var rows []row
	parts := []struct {
		table string
		f     func() ([]row, error)
	}{
		{"lock", func() ([]row, error) { return b.free("lock", five, contenders, b.rounds) }},
		{"lock-one-node", func() ([]row, error) { return b.free("lock-one-node", one, onOneNode(), min(b.rounds, 3)) }},
		{"lock-fenced", func() ([]row, error) { return b.fenced(five) }},
		{"lock-contended", func() ([]row, error) { return b.contended(five) }},
		{"lock-one-node-stopped", func() ([]row, error) { return b.stopped(five) }},
	}
	for _, part := range parts {
		if *only != "" && *only != part.table {
			continue
		}
		rs, err := part.f()
		if err != nil {
			return err
		}
		rows = append(rows, rs...)
	}
	if len(rows) == 0 {
		return misuse{fmt.Errorf("-table %s: there is lock, lock-one-node, lock-fenced, lock-contended and lock-one-node-stopped", *only)}
	}
	if *asJSON {
		return printJSON(w, rows)
	}
	printTables(w, rows)
	return nil
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// A team is the goroutines of one contender.
type team struct {
	contender
	clients  []*redis.Client
	session  func() (session, error)
	sessions []session
	failed   atomic.Int64
}

func open(s farm, c contender, timeout, ttl time.Duration) (*team, error) {
	t := &team{contender: c, clients: s.clients(timeout)}
	var err error
	if t.session, err = c.open(t.clients, ttl); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return t, t.grow(1)
}

func (t *team) grow(n int) error {
	for len(t.sessions) < n {
		s, err := t.session()
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		t.sessions = append(t.sessions, s)
	}
	return nil
}

// cycle acquires and releases key, and says whether both went well.
func (t *team) cycle(s session, key string) bool {
	err := s.acquire(key)
	if err == nil {
		err = s.release()
	}
	if err != nil && t.failed.Add(1) == 1 {
		progress("%s: %v", t.name, err)
	}
	return err == nil
}

func (t *team) close() {
	for _, s := range t.sessions {
		if c, ok := s.(io.Closer); ok {
			c.Close()
		}
	}
	closeAll(t.clients)
}

// keys makes n keys that were never used.
func (b *lockBench) keys(t *team, n int) []string {
	ks := make([]string, n)
	for i := range ks {
		b.serial++
		ks[i] = fmt.Sprint(t.name, ":", b.serial)
	}
	return ks
}

// free measures locks that nobody else wants.
func (b *lockBench) free(table string, s farm, cs []contender, rounds int) ([]row, error) {
	type samples struct{ p50, p99, c1, c8, c64, allocs []float64 }
	rows, all, teams := make([]row, len(cs)), make([]samples, len(cs)), make([]*team, len(cs))
	for i, c := range cs {
		t, err := open(s, c, 0, time.Minute)
		if err != nil {
			return nil, err
		}
		defer t.close()
		if err := t.grow(64); err != nil {
			return nil, err
		}
		rows[i], teams[i] = row{Table: table, Name: c.name, Nodes: len(s)}, t
		for _, n := range []int{1, 8, 64} { // opens connections and loads scripts
			b.several(t, n, spell/4)
		}
	}
	time.Sleep(quiet)
	if _, err := s.sweep(); err != nil {
		return nil, err
	}
	for round := range rounds {
		progress("%s: round %d of %d", table, round+1, rounds)
		singles := make([]single, len(teams))
		b.singles(teams, singles, turns)
		if table == "lock" {
			b.singles(teams[:2], singles[:2], duels)
		}
		for i, t := range teams {
			r, x, one := &rows[i], &all[i], singles[i]
			x.p50, x.p99 = append(x.p50, quantile(one.shots, 0.5)), append(x.p99, quantile(one.shots, 0.99))
			x.allocs = append(x.allocs, float64(one.mallocs)/float64(len(one.shots)))
			x.c1 = append(x.c1, 1e6*float64(len(one.shots))/sum(one.shots))
			n8, n64 := b.several(t, 8, spell), b.several(t, 64, spell)
			x.c8, x.c64 = append(x.c8, float64(n8)/spell.Seconds()), append(x.c64, float64(n64)/spell.Seconds())
			r.Cycles += len(one.shots) + n8 + n64
		}
		time.Sleep(quiet)
		left, err := s.sweep()
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].Orphans += left[rows[i].Name]
		}
	}
	for i := range rows {
		r, x := &rows[i], &all[i]
		r.P50, r.P99, r.Allocs = median(x.p50), median(x.p99), median(x.allocs)
		r.Failed = int(teams[i].failed.Load())
		r.Cycles1, r.Cycles8, r.Cycles64 = median(x.c1), median(x.c8), median(x.c64)
	}
	return rows, nil
}

// A single is what one goroutine took for each cycle.
type single struct {
	shots   []float64
	mallocs uint64
}

// singles times the cycles of one goroutine of each team. They take turns, so that a
// busy moment of the machine is shared by all. From one turn to another of the same team
// the median varies by 10 %: to tell 5 % between two takes hundreds.
func (b *lockBench) singles(teams []*team, to []single, turns int) {
	for turn := range turns {
		for k := range teams { // each turn another begins, for what one leaves busy slows the next
			i := (turn + k) % len(teams)
			b.turn(teams[i], &to[i])
		}
	}
}

func (b *lockBench) turn(t *team, to *single) {
	s, keys := t.sessions[0], b.keys(t, turnShots)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, key := range keys {
		start := time.Now()
		if t.cycle(s, key) {
			to.shots = append(to.shots, micros(time.Since(start)))
		}
	}
	time.Sleep(2 * time.Millisecond) // for what it left in flight
	runtime.ReadMemStats(&after)
	to.mallocs += after.Mallocs - before.Mallocs
}

// several counts the cycles of n goroutines, each on keys of its own.
func (b *lockBench) several(t *team, n int, d time.Duration) int {
	var cycles atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for g := range n {
		b.serial++
		prefix := fmt.Sprint(t.name, ":", b.serial, ":")
		wg.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				if t.cycle(t.sessions[g], fmt.Sprint(prefix, i)) {
					cycles.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(cycles.Load())
}

// contended has 8 goroutines want one key, each holding it for a millisecond.
func (b *lockBench) contended(s farm) ([]row, error) {
	const n, hold, whole = 8, time.Millisecond, 800 * time.Millisecond
	var rows []row
	for _, c := range contenders {
		if !c.retries {
			continue
		}
		progress("lock-contended: %s", c.name)
		t, err := open(s, c, 0, 2*time.Second) // an orphan stops its contender for as long
		if err != nil {
			return nil, err
		}
		if err := t.grow(n); err != nil {
			return nil, err
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		var waits []float64
		got := make([]int, n)
		key, end := b.keys(t, 1)[0], time.Now().Add(whole)
		for g := range n {
			wg.Go(func() {
				for time.Now().Before(end) {
					start := time.Now()
					if err := t.sessions[g].acquire(key); err != nil {
						continue // redsync gives up when a node fails
					}
					waited := time.Since(start)
					time.Sleep(hold)
					t.sessions[g].release()
					mu.Lock()
					waits = append(waits, micros(waited))
					got[g]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		time.Sleep(quiet)
		left, err := s.sweep()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{Table: "lock-contended", Name: c.name, Nodes: len(s), P50: quantile(waits, 0.5), P99: quantile(waits, 0.99),
			Cycles8: float64(len(waits)) / whole.Seconds(), Cycles: len(waits), Orphans: left[c.name], Fairness: fairness(got)})
		t.close()
	}
	return rows, nil
}

// fairness is Jain's index: (Σx)² / (n·Σx²).
func fairness(got []int) float64 {
	var s, squares float64
	for _, x := range got {
		s += float64(x)
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 0
	}
	return s * s / (float64(len(got)) * squares)
}

// stopped times acquire before and while one of the nodes is stopped, and looks at
// what is left after it went on.
func (b *lockBench) stopped(s farm) ([]row, error) {
	var rows []row
	for _, c := range contenders {
		if c.name == "sockets" {
			continue // waits for all for ever
		}
		progress("lock-one-node-stopped: %s", c.name)
		r, err := b.stoppedOne(s, c)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (b *lockBench) stoppedOne(s farm, c contender) (row, error) {
	t, err := open(s, c, tight, time.Minute)
	if err != nil {
		return row{}, err
	}
	defer t.close()
	b.acquires(t, spell/2)
	healthy := b.acquires(t, spell)
	time.Sleep(quiet)
	before := runtime.NumGoroutine()
	if err := s.pause(nodes - 1); err != nil {
		return row{}, err
	}
	shots := b.acquires(t, 5*spell)
	time.Sleep(quiet / 2)
	stuck := runtime.NumGoroutine()
	if err := s.resume(nodes - 1); err != nil {
		return row{}, err
	}
	time.Sleep(2*tight + quiet)
	b.acquires(t, 1) // one cycle more
	time.Sleep(2*tight + quiet)
	left, err := s.sweep()
	if err != nil {
		return row{}, err
	}
	return row{Table: "lock-one-node-stopped", Name: c.name, Nodes: len(s), P50: quantile(shots, 0.5), P99: quantile(shots, 0.99),
		Cycles1: float64(len(shots)) / (5 * spell).Seconds(), Cycles: len(shots), Orphans: left[c.name], Healthy: quantile(healthy, 0.5), Stuck: max(0, stuck-before)}, nil
}

// acquires times the acquires of one goroutine for d. A failed release is no failure
// here: with a node stopped many say so.
func (b *lockBench) acquires(t *team, d time.Duration) (shots []float64) {
	for end := time.Now().Add(d); len(shots) == 0 || time.Now().Before(end); {
		key := b.keys(t, 1)[0]
		start := time.Now()
		err := t.sessions[0].acquire(key)
		shots = append(shots, micros(time.Since(start)))
		if err == nil {
			t.sessions[0].release()
		}
	}
	return shots
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func sum(xs []float64) (s float64) {
	for _, x := range xs {
		s += x
	}
	return s
}

func median(xs []float64) float64 { return quantile(xs, 0.5) }

func quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	xs = slices.Sorted(slices.Values(xs))
	return xs[int(q*float64(len(xs)-1)+0.5)]
}

// onOneNode are the contenders that make sense on one server.
func onOneNode() []contender {
	return slices.DeleteFunc(slices.Clone(contenders), func(c contender) bool { return c.name == "redsync-failfast" })
}

// MarshalJSON has null for what was not measured in the row's table, and for no allocations.
func (r row) MarshalJSON() ([]byte, error) {
	type plain row
	return json.Marshal(struct {
		plain
		Cycles1  *float64 `json:"cycles_s_1"`
		Cycles8  *float64 `json:"cycles_s_8"`
		Cycles64 *float64 `json:"cycles_s_64"`
		Allocs   *float64 `json:"allocs"`
	}{plain(r), orNull(r.Cycles1), orNull(r.Cycles8), orNull(r.Cycles64), orNull(r.Allocs)})
}

func orNull(x float64) *float64 {
	if x == 0 {
		return nil
	}
	return &x
}

func printJSON[T any](w io.Writer, rows []T) error {
	e := json.NewEncoder(w)
	for _, r := range rows {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func printTables(w io.Writer, rows []row) {
	heads := map[string]string{
		"lock":                  "acquire + release on five servers, keys of their own",
		"lock-one-node":         "the same on one server",
		"lock-fenced":           "acquire on five servers without and with a fence number, 64 keys by turns",
		"lock-contended":        "eight goroutines want one key on five servers and hold it for 1 ms: acquire",
		"lock-one-node-stopped": "one of five servers stopped, client timeouts 100 ms: acquire",
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	table := ""
	for _, r := range rows {
		if r.Table != table {
			table = r.Table
			out.Flush()
			fmt.Fprintf(w, "\n%s: %s\n", table, heads[table])
			switch table {
			case "lock-fenced":
				fmt.Fprintln(out, "\tp50 µs\tp99 µs\tp50 × unfenced\tallocs\torphans per 100 cycles\t")
			case "lock-contended":
				fmt.Fprintln(out, "\tp50 µs\tp99 µs\tcycles/s\tfairness\torphans per 100 cycles\t")
			case "lock-one-node-stopped":
				fmt.Fprintln(out, "\tp50 µs\tp99 µs\thealthy p50 µs\tcycles/s\tgoroutines stuck\torphans per 100 cycles\t")
			default:
				fmt.Fprintln(out, "\tp50 µs\tp99 µs\tcycles/s 1\t8\t64 goroutines\tallocs\torphans per 100 cycles\t")
			}
		}
		orphans := 100 * float64(r.Orphans) / float64(max(1, r.Cycles))
		switch table {
		case "lock-fenced":
			fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.2f\t%.0f\t%.2f\t\n", r.Name, r.P50, r.P99, r.Ratio, r.Allocs, orphans)
		case "lock-contended":
			fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t\n", r.Name, r.P50, r.P99, r.Cycles8, r.Fairness, orphans)
		case "lock-one-node-stopped":
			fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t%.2f\t\n", r.Name, r.P50, r.P99, r.Healthy, r.Cycles1, r.Stuck, orphans)
		default:
			fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t\n", r.Name, r.P50, r.P99, r.Cycles1, r.Cycles8, r.Cycles64, r.Allocs, orphans)
		}
	}
	out.Flush()
}
