package network

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"driftlock/clock"
	"driftlock/sim/spell"
)

// Check says what is wrong with c as the network between these machines: which
// field, by its path in a scenario, and what is allowed there.
func (c Config) Check(clients, nodes []string) error {
	m := machines{clients, nodes}
	if err := c.Request.check(); err != nil {
		return fmt.Errorf("network.request.%w", err)
	}
	if err := c.Reply.check(); err != nil {
		return fmt.Errorf("network.reply.%w", err)
	}
	for _, key := range Sorted(c.Paths) {
		if err := m.checkDirection(key); err != nil {
			return fmt.Errorf("network.paths[%.64q]: %w", key, err)
		}
		if err := c.Paths[key].check(); err != nil {
			return fmt.Errorf("network.paths[%.64q].%w", key, err)
		}
	}
	for i, cut := range c.Cuts {
		if err := cut.check(m); err != nil {
			return fmt.Errorf("network.cuts[%d]%w", i, err)
		}
	}
	for i, r := range c.Rules {
		if err := r.check(m); err != nil {
			return fmt.Errorf("network.rules[%d]%w", i, err)
		}
	}
	return notNegative("network.quiet_from", c.QuietFrom)
}

func (p Path) check() error {
	if err := p.Delay.check(); err != nil {
		return fmt.Errorf("delay.%w", err)
	}
	if p.LossPPM < 0 || p.LossPPM > million {
		return fmt.Errorf("loss_ppm: %d of a million messages: 0 to 1000000 are allowed", p.LossPPM)
	}
	if p.SlowPPM < 0 || p.SlowPPM > million {
		return fmt.Errorf("slow_ppm: %d of a million messages: 0 to 1000000 are allowed", p.SlowPPM)
	}
	for _, field := range []struct {
		name string
		d    clock.Duration
	}{{"loss_for", p.LossFor}, {"slow_by", p.SlowBy}, {"slow_for", p.SlowFor}} {
		if err := notNegative(field.name, field.d); err != nil {
			return err
		}
	}
	switch {
	case p.SlowPPM > 0 && p.SlowBy == 0:
		return errors.New("slow_by: missing: by how much the messages of slow_ppm are late")
	case p.SlowPPM == 0 && p.SlowBy != 0:
		return errors.New("slow_ppm: missing: how many of a million messages are late by slow_by")
	}
	return nil
}

var laws = []string{string(Constant), string(Uniform), string(Exponential), string(Pareto)}

func (d Delay) check() error {
	for _, field := range []struct {
		name string
		d    clock.Duration
	}{{"min", d.Min}, {"mean", d.Mean}, {"max", d.Max}} {
		if err := notNegative(field.name, field.d); err != nil {
			return err
		}
	}
	switch d.Law {
	case "", Constant:
		if d.Max != 0 {
			return fmt.Errorf("max: a constant delay is min; the laws %s, %s and %s have a max", Uniform, Exponential, Pareto)
		}
	case Uniform:
	case Exponential:
	case Pareto:
		if d.Min == 0 {
			return fmt.Errorf("min: 0: a pareto delay is a multiple of min, which must be above 0")
		}
	default:
		return fmt.Errorf("law: no law %.64q%s; there are %s, %s, %s and %s", d.Law, spell.Hint(string(d.Law), laws), Constant, Uniform, Exponential, Pareto)
	}
	if d.Mean != 0 && d.Law != Exponential {
		return fmt.Errorf("mean: only the law %s has one", Exponential)
	}
	if d.Max < d.Min && (d.Max != 0 || d.Law == Uniform) {
		return fmt.Errorf("max: %v is less than min, which is %v", d.Max, d.Min)
	}
	return nil
}

func (c Cut) check(m machines) error {
	for _, side := range []struct {
		name  string
		names []string
	}{{"from", c.From}, {"to", c.To}} {
		if len(side.names) == 0 {
			return fmt.Errorf(".%s: no machine; have %s", side.name, m)
		}
		for i, name := range side.names {
			if !m.has(name) {
				return fmt.Errorf(".%s[%d]: %s", side.name, i, m.unknown(name))
			}
		}
	}
	for i, name := range c.To {
		if slices.Contains(c.From, name) {
			return fmt.Errorf(".to[%d]: %s is on both sides", i, name)
		}
	}
	parts := func(from, to []string) bool {
		return slices.ContainsFunc(from, m.isClient) && slices.ContainsFunc(to, m.isNode)
	}
	if !parts(c.From, c.To) && !parts(c.To, c.From) {
		return fmt.Errorf(": parts no client from a node")
	}
	if err := notNegative("at", c.At); err != nil {
		return fmt.Errorf(".%w", err)
	}
	if err := notNegative("for", c.For); err != nil {
		return fmt.Errorf(".%w (0: for good)", err)
	}
	return nil
}

func (r Rule) check(m machines) error {
	switch {
	case r.From != "" && !m.has(r.From):
		return fmt.Errorf(".from: %s", m.unknown(r.From))
	case r.To != "" && !m.has(r.To):
		return fmt.Errorf(".to: %s", m.unknown(r.To))
	case r.From != "" && r.To != "" && m.isClient(r.From) == m.isClient(r.To):
		return fmt.Errorf(": from %s to %s nothing is sent: messages go between a client and a node", r.From, r.To)
	case r.Nth < 0 || int64(r.Nth) > math.MaxUint32:
		return fmt.Errorf(".nth: %d: messages are counted from 1 to %d; 0 is every one", r.Nth, uint32(math.MaxUint32))
	case !r.Drop && !r.Twice && r.Late == 0:
		return fmt.Errorf(": does nothing: say late, drop or twice")
	}
	if err := notNegative("late", r.Late); err != nil {
		return fmt.Errorf(".%w", err)
	}
	return nil
}

func notNegative(field string, d clock.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s: %v is negative", field, d)
	}
	return nil
}

// machines are those of a scenario, by name.
type machines struct{ clients, nodes []string }

func (m machines) isClient(name string) bool { return slices.Contains(m.clients, name) }
func (m machines) isNode(name string) bool   { return slices.Contains(m.nodes, name) }
func (m machines) has(name string) bool      { return m.isClient(name) || m.isNode(name) }

func (m machines) String() string {
	return strings.Join(m.all(), ", ")
}

func (m machines) all() []string { return append(slices.Clip(m.clients), m.nodes...) }

func (m machines) unknown(name string) string { return unknown("machine", name, m.all()) }

// unknown is what to say of a name that none of the known has.
func unknown(what, name string, known []string) string {
	return fmt.Sprintf("no %s %.64q%s; have %s", what, name, spell.Hint(name, known), strings.Join(known, ", "))
}

// checkDirection says what is wrong with the name of a path, such as "c1>A".
func (m machines) checkDirection(name string) error {
	from, to, ok := strings.Cut(name, ">")
	switch {
	case !ok:
		return fmt.Errorf(`a path is written "client>node" or "node>client"`)
	case m.isClient(from) && m.isNode(to), m.isNode(from) && m.isClient(to):
		return nil
	case m.isClient(from):
		return errors.New(unknown("node", to, m.nodes))
	case m.isNode(from):
		return errors.New(unknown("client", to, m.clients))
	}
	return errors.New(m.unknown(from))
}

// Sorted are the names of paths. Most networks have none of their own.
func Sorted(paths map[string]Path) []string {
	if len(paths) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(paths))
}
