package sim

import (
	"unicode/utf8"
)

// What makes the steps of a workload such as can be run.

// keys are some of the lock's keys: as a rule one.
type keys struct {
	first string
	more  map[string]bool
}

func (k *keys) add(key string) {
	switch {
	case k.first == "":
		k.first = key
	case key != k.first:
		if k.more == nil {
			k.more = make(map[string]bool)
		}
		k.more[key] = true
	}
}

func (k *keys) has(key string) bool { return key == k.first || k.more[key] }

// step is one line of a client's workload; acquired are the keys of those before
// it that acquire.
func (c *scenarioCheck) step(p *place, st *Step, acquired *keys) {
	if !c.oneOf(p, "do", st.Do, stepKinds) {
		return
	}
	switch st.Do {
	case "sleep":
		c.none(p, "key", st.Key != "", st.Do)
	case "acquire":
		c.key(p, st.Key)
		acquired.add(st.Key)
	case "delete":
		c.key(p, st.Key)
	default:
		if st.Do == "write" {
			c.target(p, st.To)
		}
		c.key(p, st.Key)
		if st.Key != "" && !acquired.has(st.Key) {
			c.say(p, "key", "no step before this one acquires %s", shown(st.Key))
		}
	}
	c.length(p, st)
	if st.Do != "write" {
		c.none(p, "to", st.To != "", st.Do)
	}
	if st.Do != "acquire" && st.Do != "extend" && st.Do != "watch" {
		c.none(p, "ttl", st.TTL != 0, st.Do)
	} else if st.TTL != 0 {
		c.ttl(p, "ttl", st.TTL)
	}
}

// length is how long a step lasts: for a time or, of a hold, for a share of the
// validity.
func (c *scenarioCheck) length(p *place, st *Step) {
	isHold := st.Do == "hold"
	switch {
	case isHold && st.For != 0 && st.Percent != 0:
		c.say(p, "percent", "a hold takes either for or percent")
	case isHold && st.Percent != 0:
		if st.Percent < 1 || st.Percent > 100 {
			c.say(p, "percent", "%d: must be from 1 to 100, of the validity that remains", st.Percent)
		}
	case isHold && st.For == 0:
		c.say(p, "for", "missing: a hold takes for or percent")
	case st.Do == "watch" && st.For == 0:
	case isHold || st.Do == "sleep" || st.Do == "watch":
		c.within(p, "for", st.For, 1, maxSpan)
	default:
		c.none(p, "for", st.For != 0, st.Do)
	}
	if !isHold {
		c.none(p, "percent", st.Percent != 0, st.Do)
	}
}

// key refuses what is no key of the lock.
func (c *scenarioCheck) key(p *place, key string) {
	switch {
	case key == "":
		c.say(p, "key", `missing: the lock's key, such as "k"`)
	case len(key) > maxText || !utf8.ValidString(key):
		c.say(p, "key", "%s: a key has up to %d bytes of UTF-8", shown(key), maxText)
	}
}

// target refuses what no step can write to.
func (c *scenarioCheck) target(p *place, name string) {
	var names []string
	for i := range c.s.Resources {
		if c.s.Resources[i].Name == name {
			return
		}
		names = append(names, c.s.Resources[i].Name)
	}
	switch {
	case len(names) == 0:
		c.say(p, "to", "%s: the scenario has no resources", shown(name))
	case name == "":
		c.say(p, "to", "missing: the name of a resource, of %v", names)
	default:
		c.say(p, "to", "%s is no resource: have %v", shown(name), names)
	}
}
