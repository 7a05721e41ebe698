package findings

import (
	"fmt"
	"maps"
	"slices"

	"driftlock/sim"
)

// Merge puts records together, in their order: each break once, the first that is
// there of it, and of each search one sum. The shards of a search become one when
// all of them are there and came to their end. A sum that is there twice counts once,
// and the one that came further.
func Merge(all ...*Records) *Records {
	var m Records
	for _, r := range all {
		m.Breaks = append(m.Breaks, r.Breaks...)
		m.Sums = append(m.Sums, r.Sums...)
	}
	slices.SortStableFunc(m.Breaks, func(a, b Break) int { return a.compare(&b) })
	m.Breaks = slices.CompactFunc(m.Breaks, func(a, b Break) bool { return a.Same(&b) })
	m.Sums = sums(m.Sums)
	return &m
}

// sums sorts and joins sums.
func sums(list []Sum) (joined []Sum) {
	slices.SortStableFunc(list, func(a, b Sum) int { return a.compare(&b.Search) })
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].compare(&list[0].Search) == 0 {
			n++
		}
		joined = append(joined, joinShards(list[:n])...)
		list = list[n:]
	}
	return joined
}

// joinShards joins the sums of one search.
func joinShards(list []Sum) []Sum {
	best := map[string]Sum{} // by shard
	for _, s := range list {
		if o, ok := best[s.Shard]; !ok || o.Stopped && !s.Stopped || o.Stopped == s.Stopped && s.runs() > o.runs() {
			best[s.Shard] = s
		}
	}
	if whole, ok := best[""]; ok && !whole.Stopped {
		return []Sum{whole}
	}
	for _, s := range list {
		if whole, ok := join(best, s.Shard); ok {
			return []Sum{whole}
		}
	}
	var rest []Sum
	for _, shard := range slices.Sorted(maps.Keys(best)) {
		rest = append(rest, best[shard])
	}
	return rest
}

func (s *Sum) runs() uint64 { return s.Held + s.Broke }

// join adds up the shards that go with one of them, if they are all there.
func join(best map[string]Sum, shard string) (whole Sum, ok bool) {
	_, n, err := Shard(shard)
	if err != nil {
		return whole, false
	}
	for i := range n {
		s, ok := best[fmt.Sprintf("%d/%d", i+1, n)]
		if !ok || s.Stopped {
			return whole, false
		}
		if i == 0 {
			whole = s
			whole.Shard, whole.Probes = "", maps.Clone(s.Probes)
			continue
		}
		whole.Add(&s)
	}
	return whole, true
}

// Add counts the runs of o too.
func (s *Sum) Add(o *Sum) {
	s.Held += o.Held
	s.Broke += o.Broke
	s.Leases += o.Leases
	if c := o.Closest; c != nil && (s.Closest == nil || c.Left < s.Closest.Left || c.Left == s.Closest.Left && c.Seed < s.Closest.Seed) {
		s.Closest = c
	}
	for state, n := range o.Probes {
		if s.Probes == nil {
			s.Probes = map[string]int{}
		}
		s.Probes[state] += n
	}
}

// Missing says which shards of a search that was split are not there, or were
// stopped.
func (r *Records) Missing() (missing []string) {
	for i := range r.Sums {
		s := &r.Sums[i]
		_, n, err := Shard(s.Shard)
		switch {
		case s.Stopped && s.Seeds > 0:
			missing = append(missing, fmt.Sprintf("%s: it was stopped after %d runs", s.Name(), s.runs()))
		case err != nil || i > 0 && s.compare(&r.Sums[i-1].Search) == 0: // all are told with the first
		default:
			for k := range n {
				of := Sum{Search: s.Search, Shard: fmt.Sprintf("%d/%d", k+1, n)}
				if !slices.ContainsFunc(r.Sums, func(o Sum) bool { return o.Shard == of.Shard && o.compare(&of.Search) == 0 }) {
					missing = append(missing, of.Name())
				}
			}
		}
	}
	return missing
}

// Name is "shard 2/4 of 10000 seeds of faulty from 1 on".
func (s *Sum) Name() string {
	name := fmt.Sprintf("%d seeds of %s from %d on", s.Seeds, s.Space, s.First)
	if s.Shard != "" {
		name = fmt.Sprintf("shard %s of %s", s.Shard, name)
	}
	return name
}

// Unseen are the dangerous states that runs of the space get to, and none of these
// did.
func (s *Sum) Unseen() (states []string) {
	sp, err := sim.FindSpace(s.Space)
	if err != nil {
		return nil // one of another version
	}
	for _, p := range sp.Reaches() {
		if s.Probes[p.String()] == 0 {
			states = append(states, p.String())
		}
	}
	return states
}
