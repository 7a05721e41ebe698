package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"driftlock/clock"
	"driftlock/redlock"

	"github.com/redis/go-redis/v9"
)

// What a fence number costs an acquire: the same lock without and with WithFencing, on
// the same servers and by turns. A key is used many times, as keys are; the first time
// that a client meets it may cost a round more, which is in the times too.

const (
	fenceKeys  = 64 // keys in use
	fenceShots = 64 // acquires in a turn
	fenceTurns = 40 // of each in a round
)

type fenceSide struct {
	name  string
	opts  []redlock.Option
	lock  *redlock.DistributedLock
	shots []float64
	p50s  []float64
	p99s  []float64
	costs []float64 // allocations of an acquire and its release
}

// fenced measures acquire.
func (b *lockBench) fenced(s farm) ([]row, error) {
	sides := []*fenceSide{{name: "unfenced"}, {name: "fenced", opts: []redlock.Option{redlock.WithFencing()}}}
	for _, side := range sides {
		clients := s.clients(0)
		defer closeAll(clients)
		lock, err := side.open(clients)
		if err != nil {
			return nil, err
		}
		defer lock.Close()
		if err := b.fencedTurn(side); err != nil { // opens connections and loads scripts
			return nil, err
		}
	}
	var ratios []float64
	for round := range b.rounds {
		progress("lock-fenced: round %d of %d", round+1, b.rounds)
		for _, side := range sides {
			side.shots = side.shots[:0]
		}
		for turn := range fenceTurns {
			for k := range sides { // each turn another begins, for what one leaves busy slows the next
				if err := b.fencedTurn(sides[(turn+k)%2]); err != nil {
					return nil, err
				}
			}
		}
		for _, side := range sides {
			side.p50s, side.p99s = append(side.p50s, quantile(side.shots, 0.5)), append(side.p99s, quantile(side.shots, 0.99))
		}
		ratios = append(ratios, quantile(sides[1].shots, 0.5)/quantile(sides[0].shots, 0.5))
	}
	time.Sleep(quiet)
	found, err := s.sweep()
	if err != nil {
		return nil, err
	}
	var rows []row
	for i, side := range sides {
		r := row{Table: "lock-fenced", Name: side.name, Nodes: len(s), P50: median(side.p50s), P99: median(side.p99s), Allocs: median(side.costs),
			Cycles: b.rounds * fenceTurns * fenceShots, Orphans: found[side.name], Ratio: 1}
		if i > 0 {
			r.Ratio = median(ratios)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (f *fenceSide) open(clients []*redis.Client) (*redlock.DistributedLock, error) {
	var nodes []redlock.Node
	for _, c := range clients {
		nodes = append(nodes, redlock.RedisNode(c))
	}
	var err error
	f.lock, err = redlock.Over(redlock.NewTransport(nodes, clock.Boottime()), slices.Clone(f.opts)...)
	return f.lock, err
}

// fencedTurn acquires and releases, and times the acquires.
func (b *lockBench) fencedTurn(side *fenceSide) error {
	keys := make([]string, fenceKeys)
	for i := range keys {
		keys[i] = fmt.Sprint(side.name, ":", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range fenceShots {
		key := keys[i%fenceKeys]
		start := time.Now()
		token, err := side.lock.Acquire(background, key, time.Minute)
		side.shots = append(side.shots, micros(time.Since(start)))
		if err == nil {
			err = side.lock.Release(background, key, token)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", side.name, err)
		}
	}
	time.Sleep(2 * time.Millisecond) // for what it left in flight
	runtime.ReadMemStats(&after)
	side.costs = append(side.costs, float64(after.Mallocs-before.Mallocs)/fenceShots)
	return nil
}
