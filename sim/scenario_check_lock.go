package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"driftlock/clock"
)

// What makes a lock one that can be run.

// kindFlawed is the lock of package flawed.
const kindFlawed = "flawed"

// flaws are the faults of a flawed lock; with none it keeps all rules.
func (c *scenarioCheck) flaws(l *Lock) {
	c.none(top, "lock.flaws", l.Kind != kindFlawed && len(l.Flaws) > 0, "a lock of another kind than flawed")
	if len(l.Flaws) > 2*len(flaws) {
		c.say(top, "lock.flaws", "%d of them: there are %d", len(l.Flaws), len(flaws))
		return
	}
	for i, f := range l.Flaws {
		p := &place{list: "lock.flaws", i: i}
		if c.oneOf(p, "", f, flaws) && slices.Contains(l.Flaws[:i], f) {
			c.say(p, "", "%s is there twice", shown(f))
		}
	}
}

func (c *scenarioCheck) lock() {
	l := &c.s.Lock
	c.oneOfOr(top, "lock.kind", l.Kind, lockKinds)
	c.flaws(l)
	var err error
	if c.ppb, err = factorPPB(l.Factor); err != nil {
		c.say(top, "lock.factor", "%v", err)
		c.ppb = -1
	}
	if !c.within(top, "lock.buffer", l.Buffer, 0, maxSpan) {
		c.ppb = -1
	}
	if !c.within(top, "lock.min_validity", l.MinValidity, 0, maxSpan) {
		c.ppb = -1
	}
	c.ttl(top, "lock.ttl", l.TTL)
	c.within(top, "lock.node_timeout", l.NodeTimeout, 1, maxSpan)
	c.within(top, "lock.give_up", l.GiveUp, 1, maxSpan)
	c.retry(&l.Retry)
}

// ttl refuses a TTL that the lock itself would refuse (docs/design.md, section
// 4, rule 2).
func (c *scenarioCheck) ttl(p *place, field string, ttl clock.Duration) {
	if !c.within(p, field, ttl, 1, maxSpan) {
		return
	}
	if ttl < clock.Duration(time.Millisecond) {
		c.say(p, field, "%v: must be at least 1ms, the unit of a key's life", ttl)
		return
	}
	if c.ppb < 0 {
		return
	}
	l := &c.s.Lock
	switch left := trustNs(ttl, c.ppb, l.Buffer); {
	case left <= 0:
		c.say(p, field, "%v: nothing is left of it after the factor %s and the buffer %v", ttl, l.Factor, l.Buffer)
	case left < int64(l.MinValidity):
		c.say(p, field, "%v: %v is left of it after the factor and the buffer, less than the min_validity of %v", ttl, time.Duration(left), l.MinValidity)
	}
}

// trustNs is how long trust lasts from its anchor on the client's clock, in
// nanoseconds: T − ⌈T·f⌉ − b, T in whole milliseconds (docs/design.md, section
// 4, rules 1 and 2).
func trustNs(ttl clock.Duration, ppb int64, buffer clock.Duration) int64 {
	whole := int64(time.Duration(ttl).Truncate(time.Millisecond))
	return whole - mulUp(whole, ppb) - int64(buffer)
}

func (c *scenarioCheck) retry(r *Retry) {
	if r.Tries < 0 || r.Tries > maxRepeat {
		c.say(top, "lock.retry.tries", "%d: must be from 0 (until the run ends) to %d", r.Tries, maxRepeat)
	}
	c.within(top, "lock.retry.outage", r.Outage, 0, maxSpan)
	c.within(top, "lock.retry.min", r.Min, 0, maxSpan)
	if !c.within(top, "lock.retry.max", r.Max, 0, maxSpan) {
		return
	}
	switch {
	case r.Max < r.Min:
		c.say(top, "lock.retry.max", "%v: must be at least min, %v", r.Max, r.Min)
	case r.Tries == 0 && r.Max == 0:
		c.say(top, "lock.retry.max", `missing: the longest pause between two attempts, such as "100ms"; or give tries a limit`)
	case r.Tries == 0 && c.s.Until/maxWork >= r.Max:
		c.say(top, "lock.retry.max", "%v: must be more than %v, a part in %d of until: otherwise the attempts hardly end; or give tries a limit", r.Max, c.s.Until/maxWork, maxWork)
	}
}

// factorPPB reads a drift factor, a decimal from 0 to below 1 such as "0.01",
// in parts per billion and rounded up (docs/design.md, section 4, rule 1).
func factorPPB(s string) (int64, error) {
	whole, part, point := strings.Cut(s, ".")
	number := whole != "" && only(whole, digits) && only(part, digits) && (part != "" || !point)
	switch {
	case s == "":
		return 0, errors.New(`missing: the share of the TTL that is not trusted, such as "0.01"`)
	case !number || len(s) > maxName:
		return 0, fmt.Errorf(`%s: a decimal number such as "0.01" is expected`, shown(s))
	}
	ppb := int64(0)
	for i := range 9 {
		ppb *= 10
		if i < len(part) {
			ppb += int64(part[i] - '0')
		}
	}
	if len(part) > 9 && !only(part[9:], "0") {
		ppb++
	}
	if !only(whole, "0") || ppb >= 1e9 {
		return 0, fmt.Errorf("%s: must be from 0 to below 1", shown(s))
	}
	return ppb, nil
}
