package sim

import (
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
	for i, ppm := range []clock.Drift{-5000, -2500, 0, 2500, 5000} {
		sc.Nodes[i] = Node{Name: "ABCDE"[i : i+1], Clock: Clock{Rate: (ppm * clock.PPM).Rate()}}
	}
	for i, ppm := range []clock.Drift{-5000, 0, 5000} {
		sc.Clients[i] = Client{Name: "xyz"[i : i+1], Clock: Clock{Rate: (ppm * clock.PPM).Rate()}, Repeat: 3, Steps: []Step{
			{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", For: 5 * ms}, {Do: "release", Key: "k"}}}
	}
	return sc
}
