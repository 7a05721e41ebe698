package sim

import (
	"slices"
	"time"

	"driftlock/clock"
	"driftlock/sim/network"
)

// Reference is the workload of the speed budgets: five nodes, and three clients
// that take the lock on one key three times each. The TTL is 1 s, a message takes
// 200 µs and 300 µs more in the mean, clocks are up to 5,000 ppm fast or slow.
func Reference(seed uint64) Scenario {
	const ms, sec = clock.Duration(time.Millisecond), clock.Duration(time.Second)
	d := network.Path{Delay: network.Delay{Law: network.Exponential, Min: ms / 5, Mean: 3 * ms / 10}}
	sc := Scenario{Version: Version, Seed: seed, Until: 30 * sec,
		Lock:    Lock{TTL: sec, Factor: "0.01", Buffer: 2 * ms, NodeTimeout: 50 * ms, GiveUp: 500 * ms, Retry: Retry{Min: ms, Max: 20 * ms}},
		Network: network.Config{Request: d, Reply: d}}
	sc.Nodes, sc.Clients = make([]Node, 5), make([]Client, 3)
	for i := range sc.Nodes {
		sc.Nodes[i] = Node{Name: "ABCDE"[i : i+1], Clock: Clock{Rate: referenceRates[i]}}
	}
	cycle := []Step{{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", For: 5 * ms}, {Do: "release", Key: "k"}}
	steps := slices.Repeat(cycle, len(sc.Clients))
	for i := range sc.Clients {
		sc.Clients[i] = Client{Name: "xyz"[i : i+1], Clock: Clock{Rate: referenceRates[2*i]}, Repeat: 3, Steps: steps[3*i : 3*i+3 : 3*i+3]}
	}
	return sc
}

// referenceRates are those of the nodes; each other one is a client's, too.
var referenceRates = func() (rates [5]clock.Rate) {
	for i := range rates {
		rates[i] = (clock.Drift(i-2) * 2500 * clock.PPM).Rate()
	}
	return rates
}()
