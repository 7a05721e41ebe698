package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"driftlock/clock"
	"driftlock/clock/measure"
	"driftlock/sim/node"
	"driftlock/sim/tune"

	"github.com/spf13/cobra"
)

// tuneFlags are the options of tune.
type tuneFlags struct {
	plan tune.Plan

	ttl, buffer, timeout, renew time.Duration
	clocks, measured            string
	drift, clientDrift          string
	nodeDrift, law              string
	slew                        string
	slewMax, step               time.Duration
	stepShare, loss             string
	delay                       time.Duration
	hold, expiry, target, out   string
	confidence, sweep, show     string
	runs                        count
	json, list                  bool
}

const (
	defaultTuneRuns  = 100_000
	defaultSweepRuns = 3_000 // of each place
)

func (a *app) tuneCommand() *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Find the drift factor that your clocks need, by experiment",
		Long: `tune simulates leases of a deployment, each with clocks, delays and phases of its
own, and finds out how much of its TTL each should not have trusted. From one batch
follows how often a lease is broken with every drift factor, the factor and buffer
to use, and what they cost. Beside it stands the closed form for the worst that the
same clocks can do (docs/drift-math.md).

The answer comes first, then why, then two lines to paste into code. --out writes a
page with plots, the plots as SVG and PNG, and the data as CSV and JSON to a folder.
Ctrl-C ends it with what there is so far.

Exit status: 0; 1 if --factor is given and breaks more leases than --target; 2 bad
arguments or file; 4 a fault of the tool or the machine.`,
		Example: `  replay tune                                       quartz, 5 nodes, TTL 10s
  replay tune --list                                the clocks that have a name
  replay tune --clocks chrony-default --ttl 30s --out report
  replay tune --drift 200ppm --nodes 3 --down 1
  replay tune --measured clocks.json --factor 0.001
  replay tune --sweep factor,drift
  replay tune --sweep loss=0..0.3,nodes=3..7 --show failed`,
		Args: takes(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.list {
				if cmd.Flags().NFlag() > 1 {
					return errors.New("--list goes alone: it is for a TTL of 10s and a buffer of 2ms")
				}
				_, err := fmt.Fprint(a.out, tune.PresetTable())
				return written(err)
			}
			return a.tune(cmd, f)
		},
	}
	fl := cmd.Flags()
	fl.DurationVar(&f.ttl, "ttl", 10*time.Second, "the TTL of a lease")
	fl.DurationVar(&f.buffer, "buffer", 0, "the drift buffer; 0: 2ms, and what small steps need")
	fl.IntVar(&f.plan.Nodes, "nodes", 5, "how `many` lock servers")
	fl.IntVar(&f.plan.Down, "down", 0, "how `many` of them are out of reach, others in each run")
	fl.IntVar(&f.plan.Clients, "clients", 1, "how `many` want the lock at the same time")
	fl.StringVar(&f.clocks, "clocks", "quartz", "what the clocks are like, by `name`: "+strings.Join(presetNames(), ", "))
	fl.StringVar(&f.drift, "drift", "", "rates of all clocks are within ± `so much`: 200ppm, 1/12; in place of --clocks")
	fl.StringVar(&f.clientDrift, "client-drift", "", "of the client's clock, if it is not as --drift says")
	fl.StringVar(&f.nodeDrift, "node-drift", "", "of the nodes' clocks, if they are not as --drift says")
	fl.StringVar(&f.law, "law", "uniform", "how rates spread within: uniform, ends (one or the other) or normal (6 σ)")
	fl.StringVar(&f.slew, "slew", "", "a clock that is off corrects itself by running `so much` fast or slow: 500ppm")
	fl.DurationVar(&f.slewMax, "slew-max", 0, "the most that a slew corrects, with --slew or --clocks; 0: no bound")
	fl.DurationVar(&f.step, "step", 0, "nodes' clocks step, to either side, by at most so much")
	fl.StringVar(&f.stepShare, "step-share", "0.01", "the `share` of the leases that meet a step, of each node")
	fl.StringVar(&f.measured, "measured", "", "the nodes' clocks are as replay measure found them: its `file`; sets --nodes")
	fl.DurationVar(&f.delay, "delay", 500*time.Microsecond, "a message's delay in the mean, exponential from 2/5 of it on")
	fl.StringVar(&f.loss, "loss", "0", "the `share` of the messages that are lost: 0.01")
	fl.StringVar(&f.hold, "hold", "deadline", "`how long` a lock is held: deadline, 8s, 50% (of the validity), watch:1m (kept alive)")
	fl.DurationVar(&f.renew, "renew", 0, "how often a hold that is watched is renewed; 0: a third of the TTL")
	fl.DurationVar(&f.timeout, "node-timeout", 0, "how long to wait for a node; 0: a twentieth of the TTL, 10ms to 500ms")
	fl.StringVar(&f.expiry, "expiry", string(node.NonStrict), "when keys are gone: non-strict (up to 1ms early, newer Redis) or strict")
	fl.StringVar(&f.plan.Factor, "factor", tune.Common, "the drift `factor` to judge beside the recommended one")
	fl.StringVar(&f.target, "target", "0.0001", "the `probability` of a broken lease that you accept")
	fl.StringVar(&f.confidence, "confidence", "0.95", "confidence of the bounds that are told")
	f.runs = defaultTuneRuns
	fl.Var(&f.runs, "runs", "how `many` leases; of a sweep: for each place, 3000 unless given")
	fl.Uint64Var(&f.plan.Seed, "seed", 1, "the first `seed`")
	fl.IntVar(&f.plan.Jobs, "jobs", 0, "how `many` run at once; 0: one a core")
	fl.StringVar(&f.sweep, "sweep", "", "a map over two of factor, drift, ttl, nodes, down, loss, delay, buffer, timeout, renew: `X,Y`, each as NAME or NAME=LOW..HIGH:COUNT")
	fl.StringVar(&f.show, "show", "", "what the map shows: broken, needed, failed, usable or lost")
	fl.StringVar(&f.out, "out", "", "write page, plots and data to this `folder`")
	fl.BoolVar(&f.json, "json", false, "one JSON object on standard output; text for people goes to standard error")
	fl.BoolVar(&f.list, "list", false, "list the clocks that have a name, and the factor that each needs")
	cmd.RegisterFlagCompletionFunc("clocks", func(*cobra.Command, []string, string) (list []string, _ cobra.ShellCompDirective) {
		for _, p := range tune.Presets() {
			list = append(list, cobra.CompletionWithDesc(p.Name, p.About))
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func presetNames() (names []string) {
	for _, p := range tune.Presets() {
		names = append(names, p.Name)
	}
	return names
}

// planned is the plan that the flags ask for. The error is about a flag.
func (f *tuneFlags) planned(cmd *cobra.Command) (tune.Plan, []string, error) {
	p := f.plan
	p.TTL, p.Buffer, p.Timeout, p.Renew = clock.Duration(f.ttl), clock.Duration(f.buffer), clock.Duration(f.timeout), clock.Duration(f.renew)
	p.Expiry, p.Runs = node.Expiry(f.expiry), int(min(uint64(f.runs), 1<<40))
	if f.ttl == 0 || f.plan.Nodes == 0 || f.plan.Clients == 0 || p.Runs == 0 && !changed(cmd, "sweep") {
		return p, nil, errors.New("--ttl, --nodes, --clients and --runs: must be above 0")
	}
	if f.expiry != string(node.Strict) && f.expiry != string(node.NonStrict) {
		return p, nil, fmt.Errorf("--expiry %q: there are strict and non-strict", f.expiry)
	}
	for _, share := range []struct {
		flag, text string
		to         *float64
	}{{"target", f.target, &p.Target}, {"confidence", f.confidence, &p.Confidence}} {
		v, err := parseShare(share.text)
		if err != nil || v == 0 {
			return p, nil, fmt.Errorf("--%s %q: a number above 0 and below 1 is expected", share.flag, share.text)
		}
		*share.to = v
	}
	loss, err := parseShare(f.loss)
	if err != nil {
		return p, nil, fmt.Errorf("--loss %q: %w", f.loss, err)
	}
	p.LossPPM = int(loss*1e6 + 0.5)
	if f.delay <= 0 || f.delay > time.Hour {
		return p, nil, fmt.Errorf("--delay %v: must be above 0, and 1h at most", f.delay)
	}
	p = p.WithDelay(clock.Duration(f.delay))
	if p.Hold, err = parseHold(f.hold); err != nil {
		return p, nil, fmt.Errorf("--hold %w", err)
	}
	p, beware, err := f.clocked(cmd, p)
	if err != nil {
		return p, nil, err
	}
	return p, beware, p.Check()
}

func changed(cmd *cobra.Command, flags ...string) bool {
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

// clocked gives the plan its clocks.
func (f *tuneFlags) clocked(cmd *cobra.Command, p tune.Plan) (tune.Plan, []string, error) {
	drifts := changed(cmd, "drift", "client-drift", "node-drift") || f.sweeps(tune.OfDrift)
	byHand := changed(cmd, "drift", "client-drift", "node-drift", "slew") || changed(cmd, "law") && drifts
	switch {
	case f.measured != "" && (byHand || changed(cmd, "clocks", "nodes", "step", "law", "slew-max", "step-share")):
		return p, nil, errors.New("--measured says what the clocks and nodes are like: it goes without --clocks, --nodes, --drift, --law, --slew and --step")
	case byHand && changed(cmd, "clocks"):
		return p, nil, errors.New("--clocks, or --drift and --slew: one of them, please")
	case changed(cmd, "law") && !drifts:
		return p, nil, fmt.Errorf("--law %s: needs --drift", f.law)
	case changed(cmd, "step-share") && f.step == 0:
		return p, nil, fmt.Errorf("--step-share %s: needs --step", f.stepShare)
	case f.slewMax < 0:
		return p, nil, fmt.Errorf("--slew-max %v: must not be negative", f.slewMax)
	case f.measured != "":
		r, err := measure.Load(f.measured)
		if err != nil {
			return p, nil, fmt.Errorf("--measured: %w", err)
		}
		return p.Measured(r), append(r.Warnings(),
			"the clients are taken to be this well clocked too: measure from each machine",
			notMeasured), nil
	}
	var beware []string
	if byHand {
		m, err := f.byHand(cmd, &p)
		if err != nil {
			return p, nil, err
		}
		p.NodeClocks = []tune.Machine{m}
	} else {
		preset, err := tune.FindPreset(f.clocks)
		if err != nil {
			return p, nil, fmt.Errorf("--clocks: %w", err)
		}
		p = p.WithClocks(preset)
		if preset.Beware != "" {
			beware = append(beware, preset.Beware)
		}
	}
	if changed(cmd, "slew-max") {
		if p.Client.Slew.Rate == 0 {
			return p, nil, fmt.Errorf("--slew-max %v: clocks %s do not slew: it needs --slew, or --clocks that do", f.slewMax, p.Clocks)
		}
		if f.slewMax > 0 {
			p = p.WithSlewsOf(clock.Duration(f.slewMax))
			p.Clocks += fmt.Sprintf(", correcting at most %v", f.slewMax)
		}
	}
	if f.step < 0 {
		return p, nil, fmt.Errorf("--step %v: must not be negative", f.step)
	}
	if f.step > 0 {
		chance, err := parseShare(f.stepShare)
		if err != nil {
			return p, nil, fmt.Errorf("--step-share %q: %w", f.stepShare, err)
		}
		p.NodeClocks[0].Step = tune.Step{Min: max(1, clock.Duration(f.step)/100), Max: clock.Duration(f.step), Share: chance}
		p.Clocks += fmt.Sprintf(", stepping by up to %v", f.step)
	}
	return p, beware, nil
}

// notMeasured is what a measurement does not tell.
const notMeasured = "how the clocks are corrected later was not measured: f = 0.001 is for slews of up to 500 ppm; chrony as it comes needs 0.16"

// sweeps says that a sweep changes the parameter.
func (f *tuneFlags) sweeps(of tune.Parameter) bool {
	for axis := range strings.SplitSeq(f.sweep, ",") {
		if name, _, _ := strings.Cut(axis, "="); name == string(of) {
			return true
		}
	}
	return false
}

// byHand is clocks that --drift and --slew describe.
func (f *tuneFlags) byHand(cmd *cobra.Command, p *tune.Plan) (nodes tune.Machine, err error) {
	read := func(flag, text string, otherwise clock.Drift) clock.Drift {
		if text == "" {
			return otherwise
		}
		d, e := tune.ParseDrift(text)
		if e != nil && err == nil {
			err = fmt.Errorf("--%s %w", flag, e)
		}
		return d
	}
	both := read("drift", f.drift, 0)
	ofClient, ofNodes := read("client-drift", f.clientDrift, both), read("node-drift", f.nodeDrift, both)
	slew := tune.Slew{Rate: read("slew", f.slew, 0), Min: clock.Duration(time.Millisecond), Share: 1}
	if slew.Rate == 0 {
		slew = tune.Slew{}
	}
	nodes = tune.Machine{Rate: tune.Within(ofNodes), Slew: slew}
	p.Client = tune.Machine{Rate: tune.Within(ofClient), Slew: slew}
	nodes.Rate.Law, p.Client.Rate.Law = tune.Law(f.law), tune.Law(f.law)
	p.Clocks = fmt.Sprintf("within ±%s", ppm(ofNodes))
	if ofClient != ofNodes {
		p.Clocks = fmt.Sprintf("within ±%s, the client's within ±%s", ppm(ofNodes), ppm(ofClient))
	}
	if slew.Rate > 0 {
		p.Clocks += fmt.Sprintf(", slewing by up to %s", ppm(slew.Rate))
	}
	return nodes, err
}

// ppm is a drift without its sign: "200 ppm".
func ppm(d clock.Drift) string { return tune.OfDrift.Text(float64(d) / 1e9) }

// parseShare reads "0.01" or "1%".
func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	var v float64
	if n, err := fmt.Sscanf(number+"\n", "%g\n", &v); n != 1 || err != nil {
		return 0, errors.New("a share such as 0.01 or 1% is expected")
	}
	if percent {
		v /= 100
	}
	if !(v >= 0 && v < 1) && !(v == 1) {
		return 0, errors.New("a share from 0 to 1 is expected")
	}
	return v, nil
}

// parseHold reads "deadline", "8s", "50%" or "watch:1m".
func parseHold(s string) (tune.Hold, error) {
	text, watched := strings.CutPrefix(s, "watch:")
	kind := tune.For
	if watched {
		kind = tune.Watched
	}
	if s == string(tune.ToDeadline) {
		return tune.Hold{Kind: tune.ToDeadline}, nil
	}
	if number, ok := strings.CutSuffix(s, "%"); ok {
		var n int
		if _, err := fmt.Sscanf(number+"\n", "%d\n", &n); err == nil && n >= 1 && n <= 100 {
			return tune.Hold{Kind: tune.Percent, Percent: n}, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return tune.Hold{}, fmt.Errorf(`%q: "deadline", a duration ("8s"), a part of the validity ("50%%") or "watch:1m" is expected`, s)
	}
	return tune.Hold{Kind: kind, For: clock.Duration(d)}, nil
}
