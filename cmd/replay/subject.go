package main

// What a command is about: a scenario, from wherever it comes and however the
// command line changes it.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"driftlock/sim"
	"driftlock/sim/flawed"
	"driftlock/sim/node"
	"driftlock/sim/spell"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// subject is a scenario to run, what it is called and how to run it again.
type subject struct {
	sc       sim.Scenario
	name     string
	argv     []string
	file     string       // that it was read from; empty: none
	recorded *sim.History // of a history that was read: it is not run

	stores func(node.Config) node.Store // the nodes'; nil: the simulator's own
}

// whatIs explains the argument that names a scenario; the name of the argument comes
// before it.
const whatIs = ` a scenario file, a recorded history, the name of a scenario of the
catalogue or how it begins, SPACE:SEED for the scenario that a seed of a space
stands for, or - for standard input.`

// source is the flags that say which scenario, and what to change in it.
type source struct {
	space string
	seed  uint64
	edits
}

// edits is the flags that change a scenario.
type edits struct {
	set  []string
	with string
	lock string
}

func (s *source) flags(cmd *cobra.Command, does string) {
	cmd.Flags().StringVar(&s.space, "space", "", does+" the scenario that --seed stands for in this `space`, see \"replay help spaces\"")
	cmd.Flags().Uint64Var(&s.seed, "seed", 1, "the `number` of the scenario in --space")
	s.edits.flags(cmd)
	cmd.RegisterFlagCompletionFunc("space", completeSpaces)
}

func (e *edits) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&e.set, "set", nil, "give a field of the scenario another value, such as lock.factor=0.08 or nodes.C.clock.rate=+1/12: a `PATH=VALUE`; again for more")
	cmd.Flags().StringVar(&e.with, "with", "", "change the scenario as its `remedy` of that name says")
	cmd.Flags().StringVar(&e.lock, "lock", "", "put this `lock` in it: redlock, or one with faults, such as no-buffer,half-quorum")
	cmd.RegisterFlagCompletionFunc("set", completePaths)
	cmd.RegisterFlagCompletionFunc("with", completeRemedies)
	cmd.RegisterFlagCompletionFunc("lock", completeLocks)
}

// check refuses options that mean nothing.
func (s *source) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("seed") && s.space == "" {
		return errors.New("--seed needs --space: a seed means something only in its space")
	}
	return nil
}

// subject finds the scenario that a command line asks for, and changes it. Args
// has one argument at most; without any it is otherwise, of the catalogue.
func (a *app) subject(args []string, s source, otherwise string) (subject, error) {
	var sub subject
	var err error
	switch {
	case s.space != "" && len(args) > 0:
		return subject{}, fmt.Errorf("%q and --space: one of them, please", args[0])
	case s.space != "":
		sub, err = a.seeded(s.space, s.seed)
	case len(args) == 0:
		sub, err = a.catalogued(otherwise)
	default:
		sub, err = a.find(args[0])
	}
	if err != nil {
		return subject{}, err
	}
	return s.edits.change(sub)
}

// find is the scenario that an argument names. A file comes first, and what else the
// argument names is told then.
func (a *app) find(arg string) (subject, error) {
	if arg == "-" {
		return a.read("standard input", []string{"run", "-"}, a.in)
	}
	other, err := a.otherwise(arg)
	if info, e := os.Stat(arg); e == nil && !(info.IsDir() && other != nil) {
		if other != nil {
			argv := other.argv
			if other.name == arg {
				argv = a.argv("scenarios", arg) // which reads no file
			}
			fmt.Fprintf(a.err, "replay: %s is a file here, and that is taken. What else is called so: %s\n", arg, command(argv))
		}
	} else if other != nil {
		return *other, nil
	} else if err != nil {
		return subject{}, err
	}
	f, err := os.Open(arg)
	if errors.Is(err, os.ErrNotExist) {
		return subject{}, a.unknown(arg, err)
	}
	if err != nil {
		return subject{}, err
	}
	defer f.Close()
	typed := arg
	if strings.HasPrefix(arg, "-") { // it would be taken for an option
		typed = "./" + arg
	}
	sub, err := a.read(arg, []string{"run", typed}, f)
	sub.file = arg
	return sub, err
}

// read reads a scenario or a recorded history.
func (a *app) read(name string, argv []string, r io.Reader) (subject, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if !sim.IsHistory(b) {
		sc, err := sim.ParseFrom(name, b)
		return a.named(sc, name, argv), badFile(err)
	}
	h, err := sim.ReadHistory(name, b)
	if err != nil {
		return subject{}, badFile(err)
	}
	sub := a.named(h.Scenario(), name, argv)
	sub.recorded = h
	return sub, nil
}

// otherwise is the one scenario that an argument names which is no file: SPACE:SEED, or of
// the catalogue; nil for none. The error is about a seed.
func (a *app) otherwise(arg string) (*subject, error) {
	if space, seed, ok := strings.Cut(arg, ":"); ok {
		_, unknown := sim.FindSpace(space)
		n, err := strconv.ParseUint(seed, 10, 64)
		switch {
		case err == nil && unknown == nil:
			sub, err := a.seeded(space, n)
			return &sub, err
		case err == nil:
			return nil, fmt.Errorf("--space: %w", unknown)
		case unknown == nil && errors.Is(err, strconv.ErrRange):
			return nil, fmt.Errorf("%s: a seed is at most %d", arg, uint64(math.MaxUint64))
		case unknown == nil:
			return nil, fmt.Errorf("%s: a seed is a whole number that is not negative, such as %s:7", arg, space)
		}
	}
	if which, err := matching(names(catalogue()), arg); err == nil && len(which) == 1 {
		sub, err := a.catalogued(which[0])
		return &sub, err
	}
	return nil, nil
}

// unknown says of an argument that names nothing what comes nearest.
func (a *app) unknown(arg string, err error) error {
	if _, e := sim.FindSpace(arg); e == nil {
		return fail(statusMisuse, "%s is a space: a seed of it is missing\nTry: %s", arg, command(a.argv("run", arg+":1")))
	}
	if _, e := strconv.ParseUint(arg, 10, 64); e == nil {
		return fmt.Errorf("%s: a seed means something only in its space, such as drift-wide:%s", arg, arg)
	}
	if which, e := matching(names(catalogue()), arg); e == nil {
		return fail(statusMisuse, "%w, and %d scenarios of the catalogue begin so, such as %s\nTry: %s", err, len(which), which[0], command(a.argv("scenarios")))
	}
	return fail(statusMisuse, "%w, and nothing in the catalogue is called so%s\nTry: %s", err,
		spell.Hint(arg, append(names(catalogue()), spaces()...)), command(a.argv("scenarios")))
}

// seeded is the scenario that a seed of a space stands for.
func (a *app) seeded(space string, seed uint64) (subject, error) {
	sp, err := sim.FindSpace(space)
	if err != nil {
		return subject{}, fmt.Errorf("--space: %w", err)
	}
	return a.named(sim.Generate(sp, seed), fmt.Sprintf("%s-%d", space, seed),
		[]string{"run", "--space", space, "--seed", strconv.FormatUint(seed, 10)}), nil
}

func (a *app) named(sc sim.Scenario, otherwise string, argv []string) subject {
	name := sc.Name
	if name == "" {
		name = otherwise
	}
	return subject{sc: sc, name: name, argv: a.argv(argv...)}
}

// argv is a command line of this program.
func (a *app) argv(args ...string) []string { return append(a.self[:len(a.self):len(a.self)], args...) }

// badFile adds to an error about what a scenario file says where the format is
// explained.
func badFile(err error) error {
	if _, ok := errors.AsType[*sim.FieldError](err); ok {
		return &failure{status: statusMisuse, err: err, next: []string{"help", "scenario"}}
	}
	return err
}

// any says whether something is to be changed.
func (e *edits) any() bool { return e.with != "" || e.lock != "" || len(e.set) > 0 }

// change applies the remedy, then the lock, then the fields.
func (e *edits) change(sub subject) (_ subject, err error) {
	if !e.any() {
		return sub, nil
	}
	if sub.recorded != nil {
		return sub, errors.New("--with, --lock and --set change a scenario, and a recorded history has happened: take its scenario with run --print")
	}
	argv := sub.argv[:len(sub.argv):len(sub.argv)]
	if e.with != "" {
		if sub.sc, err = sub.sc.WithRemedy(e.with); err != nil {
			return sub, fmt.Errorf("--with: %w", err)
		}
		argv = append(argv, "--with", e.with)
	}
	if e.lock != "" {
		if err := e.locked(&sub.sc); err != nil {
			return sub, fmt.Errorf("--lock: %w", err)
		}
		argv = append(argv, "--lock", e.lock)
	}
	set := make(map[string]jsontext.Value)
	for _, s := range e.set {
		path, text, ok := strings.Cut(s, "=")
		if !ok {
			return sub, fmt.Errorf("--set %q: PATH=VALUE is expected, such as lock.factor=0.08", s)
		}
		if set[path], err = sub.sc.Value(path, text); err != nil {
			return sub, fmt.Errorf("--set %w", err)
		}
		argv = append(argv, "--set", s)
	}
	if len(set) > 0 || e.lock != "" {
		if sub.sc, err = sub.sc.With(set); err != nil {
			return sub, fmt.Errorf("--set %w", err)
		}
		if _, expects := set["expect"]; !expects {
			sub.sc.Expect = nil // what it expects is said of the scenario as it was
		}
	}
	return subject{sc: sub.sc, name: sub.name, argv: argv, file: sub.file}, nil
}

// locked puts the lock that was asked for in a scenario.
func (e *edits) locked(sc *sim.Scenario) error {
	if e.lock == "redlock" {
		sc.Lock.Kind, sc.Lock.Flaws = "", nil
		return nil
	}
	flaws := strings.Split(e.lock, ",")
	for _, f := range flaws {
		if !slices.Contains(flawed.Flaws(), flawed.Flaw(f)) {
			return fmt.Errorf("no lock and no fault of one is called %q%s", f, spell.Hint(f, lockNames()))
		}
	}
	sc.Lock.Kind, sc.Lock.Flaws = "flawed", flaws
	return nil
}
