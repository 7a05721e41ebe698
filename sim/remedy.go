package sim

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Remedy is what would have kept a scenario from breaking, as an edit of it.
type Remedy struct {
	Name string `json:"name"` // "fencing", "slack", "quarantine", …
	Text string `json:"text"` // for people: what is done, and what it costs or cannot do
	// Fields by their paths, see Scenario.With.
	Set map[string]jsontext.Value `json:"set"`
}

// WithRemedy returns the scenario with its remedy of that name, or the first if
// name is empty. It is expected to hold, unless the remedy says otherwise.
func (s Scenario) WithRemedy(name string) (Scenario, error) {
	var names []string
	scenario := cmp.Or(s.Name, "the scenario")
	for _, r := range s.Remedies {
		if r.Name == name || name == "" {
			return s.with(r)
		}
		names = append(names, r.Name)
	}
	if len(names) == 0 {
		return Scenario{}, fmt.Errorf("%s has no remedy", scenario)
	}
	return Scenario{}, fmt.Errorf("%s has no remedy %s%s: there are %s", scenario, shown(name), didYouMean(name, names), strings.Join(names, ", "))
}

func (s Scenario) with(r Remedy) (Scenario, error) {
	s.Remedies, s.Expect = nil, &Expect{OK: true}
	if s.Name != "" {
		s.Name += ", with " + r.Name
	}
	return s.With(r.Set)
}

const maxRemedies = 8

// remedies checks that each can be applied.
func (c *scenarioCheck) remedies() {
	if len(c.s.Remedies) > maxRemedies {
		c.say(top, "remedies", "%d of them: at most %d are allowed", len(c.s.Remedies), maxRemedies)
		return
	}
	for i := range c.s.Remedies {
		c.remedy(&place{list: "remedies", i: i}, c.s.Remedies[:i], &c.s.Remedies[i])
	}
}

func (c *scenarioCheck) remedy(p *place, before []Remedy, r *Remedy) {
	switch {
	case r.Name == "":
		c.say(p, "name", `missing: a word for it, such as "fencing"`)
	case len(r.Name) > maxName || !only(r.Name, letters+digits+"-"):
		c.say(p, "name", "%s: a name has up to %d letters, digits and '-'", shown(r.Name), maxName)
	}
	for i := range before {
		if before[i].Name == r.Name {
			c.say(p, "name", "%s is there twice", shown(r.Name))
		}
	}
	c.text(p, "text", r.Text)
	switch {
	case len(r.Set) == 0:
		c.say(p, "set", `missing: fields by their paths, such as {"lock.factor": "0.08"}`)
	case len(c.problems) == 0: // what does not hold of the scenario would be told again
		if _, err := c.s.with(*r); err != nil {
			c.edited(p, err)
		}
	}
}

// edited says of everything that is wrong with an edited scenario where the edit
// is.
func (c *scenarioCheck) edited(p *place, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			c.edited(p, err)
		}
		return
	}
	if e, ok := errors.AsType[*FieldError](err); ok {
		c.say(p, "set["+shown(e.Path)+"]", "%s", e.Text)
		return
	}
	c.say(p, "set", "%v", err)
}
