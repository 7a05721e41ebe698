package timeline

import (
	"cmp"
	"slices"
)

// laneWidth is how many columns a lane has.
const laneWidth = 64

// moment is an instant that a picture shows.
type moment struct {
	at     int64
	weight int // how much it matters: of two that are too near to each other the greater stays
	step   int // the first step then, 0: none
}

// Weights of moments.
const (
	passing = iota // a message
	telling        // a grant, a release, a fault
	ruling         // an end of trust or of exclusion, a break
)

// scale maps true time to columns. It is not to scale: from each moment to the next
// there are at least two columns, and the longer the time the more, by its root, so
// that a gap of milliseconds is seen beside a lease of ten seconds.
type scale struct {
	moments []moment // in order
	column  []int    // of each
}

// scaleOf makes a scale of moments, of which there is one at least.
func scaleOf(moments []moment) scale {
	slices.SortStableFunc(moments, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.weight, a.weight), cmp.Compare(a.step, b.step))
	})
	var kept []moment
	for _, m := range moments {
		if k := len(kept) - 1; k >= 0 && kept[k].at == m.at {
			if kept[k].step == 0 || m.step > 0 && m.step < kept[k].step {
				kept[k].step = m.step
			}
			continue
		}
		kept = append(kept, m)
	}
	s := scale{moments: thinned(kept, laneWidth/3)}
	s.column = make([]int, len(s.moments))
	total := int64(0)
	for i := 1; i < len(s.moments); i++ {
		total += s.root(i)
	}
	left := int64(laneWidth - 1 - 2*(len(s.moments)-1))
	sum := int64(0)
	for i := 1; i < len(s.moments); i++ {
		sum += s.root(i)
		s.column[i] = 2*i + int(left*sum/max(total, 1))
	}
	return s
}

// root is the square root of the nanoseconds from the moment before.
func (s *scale) root(i int) int64 {
	d := s.moments[i].at - s.moments[i-1].at
	r := int64(0)
	for bit := int64(1) << 31; bit > 0; bit >>= 1 {
		if t := r + bit; t <= d/t {
			r = t
		}
	}
	return r
}

// thinned leaves out moments until there are at most so many: those that matter
// least, and of these the nearest to the one before.
func thinned(list []moment, most int) []moment {
	for weight := passing; weight < ruling && len(list) > 4*most; weight++ { // too many to look at one by one
		count := 0
		for _, m := range list {
			if m.weight == weight {
				count++
			}
		}
		room, i := max(0, 4*most-(len(list)-count)), 0
		list = slices.DeleteFunc(list, func(m moment) bool {
			if m.weight != weight {
				return false
			}
			i++
			return i*room/count == (i-1)*room/count
		})
	}
	for len(list) > most {
		worst := 1
		for i := 2; i < len(list)-1; i++ {
			a, b := &list[i], &list[worst]
			if a.weight < b.weight || a.weight == b.weight && a.at-list[i-1].at < b.at-list[worst-1].at {
				worst = i
			}
		}
		list = slices.Delete(list, worst, worst+1)
	}
	return list
}

// from and to are the ends of what is shown.
func (s *scale) from() int64 { return s.moments[0].at }
func (s *scale) to() int64   { return s.moments[len(s.moments)-1].at }

// pos is the column of an instant; before and after the scale it is the first and
// the last.
func (s *scale) pos(at int64) int {
	i, found := slices.BinarySearchFunc(s.moments, at, func(m moment, at int64) int { return cmp.Compare(m.at, at) })
	switch {
	case found:
		return s.column[i]
	case i == 0:
		return 0
	case i == len(s.moments):
		return laneWidth
	}
	a, b := s.moments[i-1].at, s.moments[i].at
	wide := int64(s.column[i] - s.column[i-1])
	return s.column[i-1] + int(min(float(at-a, b-a, wide), wide-1))
}

// float is part of whole, of so many columns.
func float(part, whole, columns int64) int64 {
	for whole > 1<<40 {
		part, whole = part>>1, whole>>1
	}
	return part * columns / whole
}

// tick is a moment that is written above the lanes.
type tick struct {
	moment
	column int
}

// ticks are moments with room for a text of so many columns each, those that matter
// most first.
func (s *scale) ticks(width int) []tick {
	var list []tick
	take := func(i int) {
		column := min(s.column[i], laneWidth-width+2) // two are space
		for _, t := range list {
			if d := column - t.column; d < width && -d < width {
				return
			}
		}
		list = append(list, tick{s.moments[i], column})
	}
	take(0)
	for weight := ruling; weight >= passing; weight-- {
		for i, m := range s.moments {
			if m.weight == weight {
				take(i)
			}
		}
	}
	slices.SortFunc(list, func(a, b tick) int { return cmp.Compare(a.column, b.column) })
	return list
}
