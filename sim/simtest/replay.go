package simtest

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"driftlock/sim"
	"driftlock/sim/picture"
)

// Replay runs the scenario file, from the folder of the package, with w as the code
// of every client or, without w, with the steps that stand in it. It fails t if the
// verdict is not the one that the file expects; one that expects nothing is expected
// to hold. What is left of the run is told then.
//
// A file that does not fit this version of the code, a panic or t.FailNow in w and
// code that blocks outside of the simulator end the test.
func Replay(t testing.TB, file string, w sim.Workload, opts ...sim.Option) sim.Verdict {
	t.Helper()
	sc, err := load(file)
	if err != nil {
		t.Fatal(unfit(err))
	}
	x := newTrials(t, w, opts)
	defer x.close()
	f := x.try(sc)
	if f != nil && f.broken == nil {
		t.Fatal(f.tell("in "+file) + story(f.history, f.verdict))
	}
	v := *x.runner.Check()
	if how := sc.Expect.Mismatch(v); len(how) > 0 {
		o := picture.Options{Title: t.Name(), Failure: strings.Join(how, "; ")}
		t.Errorf("%s: %s\n\n%s\n%s", file, o.Failure, story(x.runner.History(), v), draw(t.Name(), x.runner.History(), v, o))
	}
	return v
}

// retell runs the scenario that the environment names, in the place of a Check, and
// tells its whole story.
func retell(t *testing.T, file string, w sim.Workload, opts []sim.Option) {
	t.Helper()
	sc, err := load(file)
	if err != nil {
		t.Fatalf("%s=%s: %s", scenarioVariable, file, unfit(err))
	}
	x := newTrials(t, w, append(slices.Clip(opts), stopAt(t)))
	defer x.close()
	f := x.try(sc)
	record(t, x.runner.History())
	if f != nil {
		t.Fatal(f.tell("in "+file) + story(f.history, f.verdict) + "\n" + f.footer(t.Name(), file, sc.Size()))
	}
	h, v := x.runner.History(), *x.runner.Check()
	text := file + " holds: nothing broke, and the code did not fail"
	if sc.Expect != nil && !sc.Expect.OK {
		text = file + " holds now, with this version of the code"
	}
	t.Logf("%s\n\n%s\nHash:     %v\n%s", text, story(h, v), v.Hash, draw(t.Name(), h, v, picture.Options{Command: rerun(t.Name(), file)}))
}

// Of the one run of a scenario file the environment may ask more.
const (
	stopVariable   = "DRIFTLOCK_STOP"   // call sim.Stopped at this step, for a debugger
	recordVariable = "DRIFTLOCK_RECORD" // write the history to this file, from the folder of the package
)

// stopAt is the option that the environment asks for; nil: none.
func stopAt(t testing.TB) sim.Option {
	text := os.Getenv(stopVariable)
	if text == "" {
		return nil
	}
	step, err := strconv.Atoi(text)
	if err != nil || step < 1 {
		t.Fatalf("%s=%s: the number of a step is expected, from 1 on", stopVariable, text)
	}
	return sim.StopAt(step)
}

// record writes the history to the file that the environment names, so that it can
// be looked at without this code.
func record(t testing.TB, h *sim.History) {
	file := os.Getenv(recordVariable)
	if file == "" || h == nil {
		return
	}
	if !picture.MayReplace(path(file), func(head []byte) bool { return sim.IsHistory(bufio.NewReader(bytes.NewReader(head))) }) {
		t.Errorf("%s=%s: that file is no recorded history, and would be written over", recordVariable, file)
		return
	}
	temp, err := os.CreateTemp(filepath.Dir(path(file)), ".driftlock-*")
	if err == nil {
		defer os.Remove(temp.Name())
		if err = h.Record(temp); err == nil {
			err = temp.Close()
		}
		if err == nil {
			err = os.Rename(temp.Name(), path(file))
		}
	}
	if err != nil {
		t.Errorf("%s=%s: %v", recordVariable, file, err)
		return
	}
	t.Logf("Recorded: replay run %s", file)
}

// unfit explains what to do about a scenario file that cannot be used.
func unfit(err error) string {
	if _, ok := errors.AsType[*sim.FieldError](err); ok {
		return err.Error() + "\nThe file does not fit this version of the code: mend it, or delete it and run the test without it to look for the failure anew."
	}
	return err.Error()
}
