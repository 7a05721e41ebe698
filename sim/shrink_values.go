package sim

// Simpler values: fields back to their defaults, and rounder numbers. The fields
// are found by reflection, so that none is forgotten when the format grows; those
// that must be left alone, or of which 0 means more and not less, stand in a table.

import (
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"driftlock/clock"
)

// care says what must not be done to a field.
type care uint8

const (
	leave  care = 1 << iota // anything: it says what the scenario is, not how much of it
	noZero                  // give it its zero value, which means more than a number
	noMore                  // make it larger: it is a part of what goes wrong
)

// cares are the fields that are not free to change, by their names in JSON.
var cares = map[string]care{
	"version": leave, "name": leave, "about": leave, "source": leave,
	"lock.kind": leave, "lock.flaws": leave, "lock.factor": leave, "lock.buffer": leave,
	"nodes.name": leave, "nodes.alias": leave, "clients.name": leave, "resources.name": leave,
	"clients.steps.do": leave, "clients.steps.key": leave, "clients.steps.to": leave,
	"faults.kind": leave, "faults.on": leave, "faults.key": leave,
	"network.cuts.from": leave, "network.cuts.to": leave,
	"network.rules.from": leave, "network.rules.to": leave, "network.rules.nth": leave,

	"network.quiet_from": leave, // chance goes on

	"lock.retry.tries":  noZero, // until the run ends
	"network.cuts.for":  noZero, // for good
	"faults.for":        noZero | noMore,
	"until":             noMore,
	"faults.by":         noMore,
	"faults.rate":       noMore,
	"clients.steps.for": noZero, // of a watch: it goes on
}

// careful are the names of those fields, in order.
var careful = slices.Sorted(maps.Keys(cares))

func careOf(path string) care {
	if c, ok := cares[path]; ok {
		return c
	}
	for _, ways := range []string{"request", "reply", "paths", "rules"} {
		if strings.HasPrefix(path, "network."+ways+".") {
			return noMore
		}
	}
	return 0
}

// spot is a value in a scenario: the way to it, and its name without indices, such
// as "clients.steps.for".
type spot struct {
	way  []hop
	path string
	kind reflect.Type
}

// hop leads from a struct to a field, from a list to an element, from a map to the
// value of a key, and from a pointer to what it points to.
type hop struct {
	i   int
	key string
}

// spots are the values in v that may be changed, each before those within it.
func spots(v reflect.Value, at spot, found []spot) []spot {
	if careOf(at.path)&leave != 0 {
		return found
	}
	found = append(found, at)
	into := func(h hop, name string, v reflect.Value) {
		path := at.path
		if name != "" {
			path = strings.TrimPrefix(path+"."+name, ".")
		}
		found = spots(v, spot{append(slices.Clip(at.way), h), path, v.Type()}, found)
	}
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		into(hop{}, "", v.Elem())
	case v.Kind() == reflect.Struct && !readsText(v.Type()):
		for i := range v.NumField() {
			if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name != "-" {
				into(hop{i: i}, name, v.Field(i))
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			into(hop{i: i}, "", v.Index(i))
		}
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			into(hop{key: key.String()}, "", v.MapIndex(key))
		}
	}
	return found
}

// spots are those of the best scenario that are not zero.
func (r *reducer) spots(which func(spot) bool) (list []spot) {
	v := reflect.ValueOf(&r.best).Elem()
	for _, at := range spots(v, spot{kind: v.Type()}, nil) {
		if which(at) && !edit(v, at.way, reflect.Value.IsZero) {
			list = append(list, at)
		}
	}
	return list
}

// edit has f change a value within v, and says what f does: whether it did. What is
// not there any more is not changed.
func edit(v reflect.Value, way []hop, f func(reflect.Value) bool) bool {
	if len(way) == 0 {
		return f(v)
	}
	h, rest := way[0], way[1:]
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && edit(v.Elem(), rest, f)
	case reflect.Struct:
		return edit(v.Field(h.i), rest, f)
	case reflect.Slice:
		return edit(v.Index(h.i), rest, f)
	}
	key := reflect.ValueOf(h.key)
	old := v.MapIndex(key)
	if !old.IsValid() {
		return false
	}
	e := reflect.New(old.Type()).Elem() // an element of a map cannot be changed in its place
	e.Set(old)
	done := edit(e, rest, f)
	v.SetMapIndex(key, e)
	return done
}

// ---- defaults

// defaults gives back fields the values that they have when they are left out,
// whole structures first.
func (r *reducer) defaults() bool {
	less := r.zero(r.spots(func(at spot) bool { return holdsOthers(at.kind) && free(at.path) }))
	return r.zero(r.spots(func(at spot) bool { return !holdsOthers(at.kind) && careOf(at.path)&noZero == 0 })) || less
}

func holdsOthers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return true
	}
	return t.Kind() == reflect.Struct && !readsText(t)
}

// free says that no field within a structure needs care.
func free(path string) bool {
	return path != "" && !slices.ContainsFunc(careful, func(name string) bool {
		return cares[name]&(leave|noZero) != 0 && (name == path || strings.HasPrefix(name, path+"."))
	})
}

// zero sets as many as it can to zero: all of them, else those of each half.
func (r *reducer) zero(list []spot) bool {
	if len(list) == 0 {
		return false
	}
	if r.try(func(s *Scenario) (less bool) {
		for _, at := range list {
			less = edit(reflect.ValueOf(s).Elem(), at.way, setZero) || less
		}
		return less
	}) {
		return true
	}
	if len(list) == 1 {
		return false
	}
	first := r.zero(list[:len(list)/2])
	return r.zero(list[len(list)/2:]) || first
}

func setZero(v reflect.Value) bool {
	was := !v.IsZero()
	v.SetZero()
	return was
}

// ---- numbers

// rounder makes numbers rounder: each is given the first of its candidates with
// which the scenario still fails.
func (r *reducer) rounder() (less bool) {
	for _, at := range r.spots(func(at spot) bool { return !holdsOthers(at.kind) }) {
		for _, c := range candidates(at, r.value(at)) {
			if r.try(func(s *Scenario) bool {
				return edit(reflect.ValueOf(s).Elem(), at.way, func(v reflect.Value) bool { v.Set(c); return true })
			}) {
				less = true
				break
			}
		}
	}
	return less
}

// value is what stands at a spot.
func (r *reducer) value(at spot) (v reflect.Value) {
	edit(reflect.ValueOf(&r.best).Elem(), at.way, func(is reflect.Value) bool { v = is; return true })
	return v
}

// candidates are simpler values than is, the simplest first.
func candidates(at spot, is reflect.Value) (list []reflect.Value) {
	more := careOf(at.path)&noMore == 0
	switch x := is.Interface().(type) {
	case clock.Duration:
		if at.path == "until" {
			for _, d := range shorter(int64(x)) {
				list = append(list, reflect.ValueOf(clock.Duration(d)))
			}
		}
		for _, d := range rounded(int64(x), more) {
			list = append(list, reflect.ValueOf(clock.Duration(d)))
		}
	case clock.Rate:
		for _, rate := range slower(x, more) {
			list = append(list, reflect.ValueOf(rate))
		}
	case int:
		numbers := rounded(int64(x), more)
		if at.path == "clients.repeat" || at.path == "lock.retry.tries" {
			numbers = fewer(int64(x))
		}
		for _, n := range numbers {
			list = append(list, reflect.ValueOf(int(n)))
		}
	case uint64:
		for n := uint64(1); n < min(x, 5); n++ {
			list = append(list, reflect.ValueOf(n))
		}
	}
	return list
}

// rounded are the numbers of one, two and three digits beside n, where it has more:
// nearer to 0 and, if it may be more, further away.
func rounded(n int64, more bool) (list []int64) {
	for digits := range min(3, digitsOf(n)-1) {
		near, unit := cutTo(n, digits+1)
		list = append(list, near)
		if away := near + unit*sign(n); more && sign(away) == sign(n) {
			list = append(list, away)
		}
	}
	return list
}

// digitsOf is how many digits a number has, zeros at its end not counted.
func digitsOf(n int64) (digits int) {
	for n != 0 && n%10 == 0 {
		n /= 10
	}
	for ; n != 0; n /= 10 {
		digits++
	}
	return digits
}

// cutTo is n with all but its first digits made 0, and the unit of the last that is
// left.
func cutTo(n int64, digits int) (cut, unit int64) {
	unit = 1
	for n/unit >= pow10(digits) || n/unit <= -pow10(digits) {
		unit *= 10
	}
	return n / unit * unit, unit
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}

// shorter are numbers below n, of as many digits or fewer.
func shorter(n int64) (list []int64) {
	for _, d := range []int64{n / 4, n / 2, n / 4 * 3, n / 8 * 7} {
		if d, _ = cutTo(d, min(2, digitsOf(n))); 0 < d && d < n {
			list = append(list, d)
		}
	}
	return list
}

// fewer are counts below n.
func fewer(n int64) (list []int64) {
	for _, m := range []int64{1, n / 2, n - 1} {
		if 0 < m && m < n {
			list = append(list, m)
		}
	}
	return list
}

// slower are the rates beside r that are off by whole tenths, percents, … down to
// parts in a million: less than r is and, if it may be more, a millionth more.
func slower(r clock.Rate, more bool) (list []clock.Rate) {
	num, den := r.Fraction()
	off := big.NewRat(num-den, den)
	off.Mul(off, big.NewRat(1e6, 1)) // in ppm
	whole := new(big.Int).Quo(off.Num(), off.Denom())
	if !whole.IsInt64() {
		return nil
	}
	ppm := whole.Int64()
	for _, unit := range []int64{100_000, 10_000, 1_000, 100, 10, 1} {
		if off.IsInt() && ppm%unit == 0 {
			return list
		}
		if rate := clock.Ratio(1e6+ppm/unit*unit, 1e6); !rate.IsZero() && !slices.Contains(list, rate) {
			list = append(list, rate)
		}
	}
	if away := ppm + int64(off.Sign()); more && away > -1e6 {
		list = append(list, clock.Ratio(1e6+away, 1e6))
	}
	return list
}

// ---- copies

// copied is a scenario that shares nothing with sc.
func copied(sc Scenario) Scenario {
	return apart(reflect.ValueOf(&sc).Elem()).Interface().(Scenario)
}

// apart copies a value with all that it refers to.
func apart(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(apart(v.Elem()))
	case v.Kind() == reflect.Slice && !v.IsNil():
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(apart(v.Index(i)))
		}
	case v.Kind() == reflect.Map && !v.IsNil():
		c.Set(reflect.MakeMap(v.Type()))
		for _, key := range v.MapKeys() {
			c.SetMapIndex(key, apart(v.MapIndex(key)))
		}
	case v.Kind() == reflect.Struct && !readsText(v.Type()):
		for i := range v.NumField() {
			c.Field(i).Set(apart(v.Field(i)))
		}
	}
	return c
}
