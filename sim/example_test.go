package sim_test

import (
	"context"
	"fmt"
	"time"

	"driftlock/sim"

	"github.com/go-json-experiment/json/jsontext"
)

// Code of one's own in a scenario: every client runs it instead of its steps.
func ExampleRun() {
	scenario, err := sim.Load("../testdata/scenarios/chrony-slew.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := sim.Run(scenario, sim.Do(func(p *sim.Process) {
		lock := p.Lock()
		token, err := lock.Acquire(p.Context(), "orders", 10*time.Second)
		if err != nil {
			return
		}
		defer lock.Release(p.Context(), "orders", token)
		p.Sleep(token.Remaining() / 2)
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	v := sim.Check(h)
	fmt.Println(len(v.Leases), "leases, broken:", v.Broken())
	// Output: 2 leases, broken: []
}

// A search yields each seed in which a promise broke. What it found is kept as a
// scenario, which replays although the generator may change.
func ExampleSearch() {
	search := sim.Search{Space: sim.DriftWide(), First: 24, Seeds: 100}
	for found := range search.Run(context.Background()) {
		fmt.Println("seed", found.Seed, "breaks", found.Violation.Invariant)
		v, err := sim.Test(found.Scenario)
		fmt.Println(v.Hash == found.Hash, err)
	}
	// Output:
	// seed 24 breaks I2
	// true <nil>
}

// A remedy is an edit of a scenario: here, that a factor covers the clock that
// runs fast.
func ExampleScenario_With() {
	scenario, err := sim.Load("../testdata/scenarios/chrony-slew.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, factor := range []string{`"0.07"`, `"0.08"`} {
		edited, err := scenario.With(map[string]jsontext.Value{"lock.factor": jsontext.Value(factor)})
		if err != nil {
			fmt.Println(err)
			return
		}
		v, err := sim.Test(edited)
		fmt.Println(factor, v.Broken(), err)
	}
	// Output:
	// "0.07" [I1 I2] <nil>
	// "0.08" [] <nil>
}
