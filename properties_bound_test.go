package driftlock_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"driftlock/clock"
	"driftlock/sim"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// brink is one lease under the worst of schedules: a bare quorum of nodes that
// are all equally fast, one slow client that trusts its lease to the end, no
// delay, and keys set where a millisecond of the nodes' clocks costs most. The
// drift is as much as f and b cover, shared between the two sides.
type brink struct {
	nodes     int
	ttlMs     int64
	factorBP  int64 // 1/10,000
	bufferMs  int64
	expiry    node.Expiry
	clientPct int64 // of the drift, the client's share; the nodes have the rest
	tiltPct   int64 // the rate of all clocks, beside their drift
}

func drawBrink(t *rapid.T) brink {
	b := brink{
		nodes:     rapid.IntRange(1, 9).Draw(t, "nodes"),
		ttlMs:     rapid.Int64Range(100, 60_000).Draw(t, "ttl in ms"),
		factorBP:  rapid.Int64Range(0, 3000).Draw(t, "factor in 1/10000"),
		bufferMs:  rapid.Int64Range(0, 20).Draw(t, "buffer in ms"),
		expiry:    rapid.SampledFrom([]node.Expiry{node.Strict, node.NonStrict}).Draw(t, "expiry"),
		clientPct: 10 * rapid.Int64Range(0, 10).Draw(t, "client's share in 10 %"),
		tiltPct:   rapid.Int64Range(90, 110).Draw(t, "tilt in %"),
	}
	if b.expiry == node.NonStrict {
		b.bufferMs++ // which is what such a node may take off
	}
	return b
}

// trustNs is T(1−f) − b, and livesNs what the worst phase leaves of a key.
func (b brink) trustNs() int64 { return b.ttlMs*100*(10_000-b.factorBP) - b.bufferMs*1_000_000 }
func (b brink) livesNs() int64 {
	if b.expiry == node.NonStrict {
		return (b.ttlMs - 1) * 1_000_000
	}
	return b.ttlMs * 1_000_000
}

// scenario is the brink, with nodes that run beyond ppm faster than is covered.
func (b brink) scenario(beyond int64) sim.Scenario {
	factor := big.NewRat(b.factorBP, 10_000)
	ms := func(n int64) clock.Duration { return clock.Duration(n * 1_000_000) }
	sc := sim.Scenario{Version: sim.Version, Name: "brink", Until: 4 * ms(b.ttlMs), Lock: sim.Lock{
		TTL: ms(b.ttlMs), Factor: factor.FloatString(4), Buffer: ms(b.bufferMs), NodeTimeout: ms(10), GiveUp: ms(10), Retry: sim.Retry{Tries: 1},
	}}
	share := big.NewRat(b.trustNs(), b.livesNs())
	drift := new(big.Rat).Sub(big.NewRat(1, 1), share)
	client := new(big.Rat).Sub(big.NewRat(1, 1), drift.Mul(drift, big.NewRat(b.clientPct, 100)))
	client.Mul(client, big.NewRat(b.tiltPct, 100))
	nodes := new(big.Rat).Quo(client, share)
	nodes.Mul(nodes, big.NewRat(1_000_000+beyond, 1_000_000))
	sc.Clients = []sim.Client{{Name: "c1", Clock: sim.Clock{Rate: ratio(client)},
		Steps: []sim.Step{{Do: "acquire", Key: "k"}, {Do: "hold", Key: "k", Percent: 100}}}}
	cut := network.Cut{From: []string{"c1"}}
	for i := range b.nodes {
		n := sim.Node{Name: string(rune('A' + i)), Clock: sim.Clock{Rate: ratio(nodes), Offset: 999_999}}
		n.Expiry = b.expiry
		sc.Nodes = append(sc.Nodes, n)
		if i > b.nodes/2 {
			cut.To = append(cut.To, n.Name)
		}
	}
	if cut.To != nil {
		sc.Network.Cuts = []network.Cut{cut}
	}
	return sc
}

func ratio(r *big.Rat) clock.Rate { return clock.Ratio(r.Num().Int64(), r.Denom().Int64()) }

// TestTheBoundIsSharp: with clocks exactly at f = 1 − (rc/rn)(1 − g/T) − b/T the
// keys outlive trust by a few nanoseconds, which are those that clocks cut off
// and the one that the millisecond had left; one part in a million more, and
// trust outlives the keys.
func TestTheBoundIsSharp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := drawBrink(t)
		for _, beyond := range []int64{0, 1} {
			sc := b.scenario(beyond)
			v, err := sim.Test(sc)
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Leases) != 1 || !v.Leases[0].RanOut() {
				t.Fatalf("no lease that ran to its end:\n%s", sc.AppendJSON(nil))
			}
			margin := v.Leases[0].Margin()
			switch {
			case beyond == 0 && (!v.OK() || margin < 0 || margin > 10):
				t.Fatalf("at the bound: margin %d ns, %v\n%s", margin, v.Err(), sc.AppendJSON(nil))
			case beyond == 1 && (v.OK() || margin >= 0 || v.Violations[0].Invariant != sim.I2):
				t.Fatalf("1 ppm beyond the bound: margin %d ns, %v\n%s", margin, v.Err(), sc.AppendJSON(nil))
			}
		}
	})
}
