package sim

import (
	"testing"
	"time"

	"driftlock/clock"
	"driftlock/sim/network"
)

// reference is the workload of the speed budgets: 5 nodes, 3 clients that take
// the lock on one key 3 times each.
func reference(seed uint64) Scenario {
	d := network.Path{Delay: network.Delay{Law: network.Exponential, Min: ms / 5, Mean: 3 * ms / 10}}
	sc := Scenario{Version: Version, Seed: seed, Until: 30 * sec,
		Lock:    Lock{TTL: sec, Factor: "0.01", Buffer: 2 * ms, NodeTimeout: 50 * ms, GiveUp: 500 * ms, Retry: Retry{Min: ms, Max: 20 * ms}},
		Network: network.Config{Request: d, Reply: d}}
	for i, ppm := range []clock.Drift{-5000, -2500, 0, 2500, 5000} {
		sc.Nodes = append(sc.Nodes, Node{Name: string(rune('A' + i)), Clock: Clock{Rate: (ppm * clock.PPM).Rate()}})
	}
	for i, ppm := range []clock.Drift{-5000, 0, 5000} {
		sc.Clients = append(sc.Clients, Client{Name: string(rune('x' + i)), Clock: Clock{Rate: (ppm * clock.PPM).Rate()}, Repeat: 3, Steps: []Step{
			{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", For: 5 * ms}, {Do: "release", Key: "k"}}})
	}
	return sc
}

// BenchmarkReference is one seed of the reference workload, checks and hash on.
func BenchmarkReference(b *testing.B) {
	r := NewRunner()
	defer r.Close()
	events, grants := 0, 0
	b.ReportAllocs()
	start := time.Now()
	for seed := uint64(1); b.Loop(); seed++ {
		h, err := r.Run(reference(seed))
		if err != nil {
			b.Fatal(err)
		}
		v := r.Check()
		events += h.Len()
		grants += len(v.Leases)
	}
	took := time.Since(start)
	b.ReportMetric(float64(b.N)/took.Seconds(), "seeds/s")
	b.ReportMetric(float64(events)/float64(b.N), "events/seed")
	b.ReportMetric(float64(grants)/float64(b.N), "grants/seed")
}
