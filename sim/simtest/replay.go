package simtest

import (
	"errors"
	"strings"
	"testing"

	"driftlock/sim"
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
		t.Errorf("%s: %s\n\n%s", file, strings.Join(how, "; "), story(x.runner.History(), v))
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
	x := newTrials(t, w, opts)
	defer x.close()
	f := x.try(sc)
	if f != nil {
		t.Fatal(f.tell("in "+file) + story(f.history, f.verdict) + "\n" + footer(t.Name(), file, sc.Size(), f.history))
	}
	h, v := x.runner.History(), *x.runner.Check()
	text := file + " holds: nothing broke, and the code did not fail"
	if sc.Expect != nil && !sc.Expect.OK {
		text = file + " holds now, with this version of the code"
	}
	t.Logf("%s\n\n%s\nHash:     %v\n", text, story(h, v), v.Hash)
}

// unfit explains what to do about a scenario file that cannot be used.
func unfit(err error) string {
	if _, ok := errors.AsType[*sim.FieldError](err); ok {
		return err.Error() + "\nThe file does not fit this version of the code: mend it, or delete it and run the test without it to look for the failure anew."
	}
	return err.Error()
}
