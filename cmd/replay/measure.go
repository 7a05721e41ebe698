package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"driftlock/clock"
	"driftlock/clock/measure"
	"driftlock/sim"
	"driftlock/sim/tune"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
)

// measureFlags are the options of measure.
type measureFlags struct {
	nodes       []string
	length      time.Duration
	every       time.Duration
	ttl         time.Duration
	factor, out string
	json        bool
}

// passwordFrom is the environment variable that redis-cli takes its password from too.
const passwordFrom = "REDISCLI_AUTH"

func (a *app) measureCommand() *cobra.Command {
	var f measureFlags
	cmd := &cobra.Command{
		Use:   "measure --nodes HOST:PORT,…",
		Short: "Measure the clocks of real Redis servers, and whether they keep what they are given",
		Long: `measure asks each server for its time (TIME) again and again, and works out how fast
its clock runs against this machine's, how far apart the two are, and whether it
steps, slews or stands still. It also looks at what else breaks a lock (INFO, and
CONFIG GET where that is allowed): persistence that forgets, eviction, replicas that a
failover would promote, and two addresses that are one server. It writes nothing to
any server.

A server is HOST:PORT, or redis:// or rediss:// and what follows. The password comes
from ` + passwordFrom + `, as for redis-cli. The longer it measures the surer it is; Ctrl-C
ends it early with what it has. The result is written to a file that tune takes.

Exit status: 0 the factor is enough for the rates; 1 it is not, or two addresses are one
server; 2 bad arguments; 4 no server could be measured, or a fault of the tool or the
machine.`,
		Example: `  replay measure --nodes 10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379
  ` + passwordFrom + `=secret replay measure --nodes rediss://lock@a.example:6380 --for 10m
  replay tune --measured driftlock-clocks.json`,
		Args: takes(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			factor, err := sim.ParseFactor(f.factor)
			switch {
			case err != nil:
				return fmt.Errorf("--factor %w", err)
			case len(f.nodes) == 0:
				return errors.New("--nodes: which servers, as in --nodes 10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379")
			case len(f.nodes) > 64:
				return fmt.Errorf("--nodes: %d servers, and 64 are the most that a lock has", len(f.nodes))
			case f.length < time.Second || f.length > 24*time.Hour:
				return fmt.Errorf("--for %v: must be from 1s to 24h", f.length)
			case f.every < time.Millisecond || f.every > f.length/20:
				return fmt.Errorf("--every %v: must be from 1ms to a twentieth of --for, %v", f.every, f.length/20)
			case f.ttl < 2*time.Millisecond || f.ttl > 24*time.Hour:
				return fmt.Errorf("--ttl %v: must be from 2ms to 24h", f.ttl)
			}
			if err := mayReplace(f.out, measure.Load); err != nil {
				return err
			}
			servers, err := serversOf(f.nodes)
			if err != nil {
				return err
			}
			return a.measure(cmd.Context(), servers, f, factor)
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.nodes, "nodes", nil, "the `servers`, with commas between them")
	fl.DurationVar(&f.length, "for", time.Minute, "how long to measure")
	fl.DurationVar(&f.every, "every", 50*time.Millisecond, "how often each server is asked")
	fl.DurationVar(&f.ttl, "ttl", 10*time.Second, "the TTL of your leases, for the price")
	fl.StringVar(&f.factor, "factor", tune.Common, "the drift `factor` to judge")
	fl.StringVar(&f.out, "out", "", "write the result to this `file`; otherwise to driftlock-clocks.json, or -2 and so on")
	fl.BoolVar(&f.json, "json", false, "one JSON object on standard output; text for people goes to standard error")
	return cmd
}

// serversOf reads addresses.
func serversOf(nodes []string) (list []*asked, err error) {
	named := make(map[string]bool)
	for _, node := range nodes {
		o := &redis.Options{Addr: node}
		if strings.Contains(node, "://") {
			if o, err = redis.ParseURL(node); err != nil {
				// The text may have a password in it.
				return nil, fmt.Errorf("--nodes: %s: is no address of a server: HOST:PORT, redis://HOST:PORT or rediss://HOST:PORT is expected", hidden(node))
			}
		} else if host, port, ok := strings.Cut(node, ":"); !strings.HasPrefix(node, "[") && (!ok || host == "" || port == "" || strings.Contains(port, ":")) {
			return nil, fmt.Errorf("--nodes: %q: HOST:PORT is expected, or redis://HOST:PORT", node)
		}
		address := strings.ToLower(o.Addr)
		if o.Network == "unix" {
			address = o.Addr
		}
		if named[address] {
			return nil, fmt.Errorf("--nodes: %s: is there twice, and a lock must count a server once", o.Addr)
		}
		named[address] = true
		if o.Password == "" {
			o.Password = os.Getenv(passwordFrom)
		}
		o.PoolSize, o.MinIdleConns, o.MaxRetries = 1, 0, -1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = patienceWith, patienceWith, patienceWith
		o.DialerRetries = 1
		o.DisableIdentity = true
		list = append(list, &asked{name: o.Addr, client: redis.NewClient(o)})
	}
	return list, nil
}

// hidden is an address without what stands before its @.
func hidden(node string) string {
	if scheme, rest, ok := strings.Cut(node, "://"); ok {
		if i := strings.LastIndex(rest, "@"); i >= 0 {
			return scheme + "://…@" + rest[i+1:]
		}
	}
	return node
}

// patienceWith is how long one answer is waited for.
const patienceWith = 2 * time.Second

func (a *app) measure(ctx context.Context, servers []*asked, f measureFlags, factor sim.Factor) error {
	redis.SetLogger(silence{})
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	began := time.Now()
	r := a.ask(ctx, servers, f)
	r.Taken = began.UTC().Truncate(time.Second)
	if len(r.Measured()) == 0 {
		for _, s := range r.Servers {
			fmt.Fprintf(a.err, "%s: %s\n", s.Name, s.Failed)
		}
		return fail(statusFault, "no server could be measured")
	}
	told := judge(r, f, factor)
	if f.json {
		if err := writeJSON(a.out, told); err != nil {
			return written(err)
		}
	}
	w := a.people(f.json)
	if _, err := fmt.Fprint(w, told.text()); err != nil {
		return written(err)
	}
	file, err := a.keepResult(r, f.out)
	if err != nil {
		return fail(statusFault, "the result could not be written: %w", err)
	}
	fmt.Fprintf(w, "\nWritten to %s: %s\n", file, command(a.argv("tune", "--measured", file)))
	if !told.Enough || told.Nodes < len(r.Measured()) {
		return ended(statusBroke)
	}
	return nil
}

// keepResult writes the result to the file that was asked for, or one of its own.
func (a *app) keepResult(r *measure.Result, file string) (string, error) {
	text, err := r.AppendJSON(nil)
	if err != nil {
		return "", err
	}
	if file == "" {
		return keepAs("driftlock-clocks", ".json", func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	return file, replace(file, text)
}

// silence is for go-redis, which writes to standard error what its errors say too.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// ask measures the servers side by side.
func (a *app) ask(ctx context.Context, servers []*asked, f measureFlags) *measure.Result {
	ctx, cancel := context.WithTimeout(ctx, f.length)
	defer cancel()
	c := clock.Boottime()
	begin, calendar := c.Now(), time.Now()
	now := func() time.Duration { return c.Since(begin) }
	var wait sync.WaitGroup
	for _, s := range servers {
		wait.Go(func() { s.run(ctx, now, calendar, f.every) })
	}
	a.live(ctx, servers, now, f.length)
	wait.Wait()
	r := &measure.Result{Format: measure.Format, For: clock.Duration(now().Round(time.Millisecond)), Confidence: measure.Confidence}
	for _, s := range servers {
		s.client.Close()
		r.Servers = append(r.Servers, s.result(time.Duration(r.For)))
	}
	sameServer(r)
	return r
}

// live shows, on a terminal, how sure the measure is by now.
func (a *app) live(ctx context.Context, servers []*asked, now func() time.Duration, length time.Duration) {
	if !a.err.terminal {
		return
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprint(a.err, "\r\x1b[K")
			return
		case <-tick.C:
		}
		line := fmt.Sprintf("%v of %v", now().Round(time.Second), length)
		for _, s := range servers {
			line += "  " + s.name + " " + s.soFar()
		}
		fmt.Fprintf(a.err, "\r\x1b[K%s", a.err.fit(line))
	}
}

// sameServer warns of addresses that are one server: it counts once.
func sameServer(r *measure.Result) {
	first := make(map[string]string)
	for i := range r.Servers {
		s := &r.Servers[i]
		if s.RunID == "" {
			continue
		}
		if of, ok := first[s.RunID]; ok {
			s.Warnings = append(s.Warnings, fmt.Sprintf("is the same server as %s (run_id %.8s…): a lock must count it once", of, s.RunID))
			continue
		}
		first[s.RunID] = s.Name
	}
}
