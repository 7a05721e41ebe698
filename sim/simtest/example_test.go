package simtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/redlock"
	"driftlock/sim"
	"driftlock/sim/simtest"

	"pgregory.net/rapid"
)

// TestMyWorker is what a test looks like.
func TestMyWorker(t *testing.T) {
	simtest.Check(t, sim.Drift(200*clock.PPM).Nodes(3, 7), func(p *sim.Process) { // ordinary blocking code
		dl := p.Lock(redlock.WithClockDriftFactor(0.01))
		token, err := dl.Acquire(p.Context(), "orders", 10*time.Second)
		if err != nil {
			return
		}
		defer dl.Release(p.Context(), "orders", token)
		p.Sleep(token.Remaining() / 2)
	})
}

func ExampleCheck() {
	// In a file of your tests. Without code of your own the clients run the steps
	// that are drawn, here with the lock of a test's own.
	_ = func(t *testing.T) {
		simtest.Check(t, sim.DriftCovered(), nil, sim.LockedBy(func(p *sim.Process) redlock.Locker {
			return p.Lock() // yours, over p.Transport(), p.Clock() and p.Rand
		}))
	}
}

// out is a testing.TB for examples, which have none: it prints what is logged.
type out struct{ testing.TB }

func (out) Helper()                   {}
func (out) Failed() bool              { return false }
func (out) Skipped() bool             { return false }
func (out) Logf(f string, a ...any)   { fmt.Printf(f+"\n", a...) }
func (out) Errorf(f string, a ...any) { fmt.Printf(f+"\n", a...) }
func (out) Fatal(a ...any)            { panic(fmt.Sprint(a...)) }
func (out) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func ExampleReplay() {
	var t testing.TB = out{} // your test's
	v := simtest.Replay(t, "../../testdata/scenarios/chrony-slew.json", nil)
	fmt.Println(v.Broken(), v.Err())
	// Output:
	// [I1 I2] I2 (sound) broken at 9.230769231s: c1 believed that it held "orders" until 9.898s, but from 9.230769231s on fewer than 3 of 5 nodes blocked for it: 667.230769ms too long
}

func ExampleReport() {
	var t testing.TB = quiet{} // your test's
	row := simtest.Report(t, "ours", func(p *sim.Process) redlock.Locker {
		return p.Lock(redlock.WithClockDriftFactor(0.2)) // yours
	})
	for _, c := range row.Cells {
		if strings.HasPrefix(c.Scenario, "chrony-slew") || strings.HasPrefix(c.Scenario, "s20") {
			fmt.Println(c.Scenario, c.Broken, c.Redlock)
		}
	}
	// Output:
	// chrony-slew [] [I1 I2]
	// s20-amnesia-restart [I1 I2] [I1 I2]
}

type quiet struct{ out }

func (quiet) Logf(string, ...any) {}

func ExampleDraw() {
	_ = func(t *testing.T) { // a property of your own
		rapid.Check(t, func(t *rapid.T) {
			sc := simtest.Draw(t, sim.DriftCovered())
			v, err := sim.Test(sc)
			if err != nil {
				t.Fatal(err)
			}
			if bugs := v.Bugs(); len(bugs) > 0 {
				t.Fatalf("%v\n%s", bugs, sc.AppendJSON(nil))
			}
		})
	}
}
