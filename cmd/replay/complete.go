package main

// What a shell is offered after a tab.

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"driftlock/sim"
	"driftlock/sim/flawed"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// completeWhat offers the catalogue for the first few arguments, and files.
func completeWhat(most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(catalogue()), cobra.ShellCompDirectiveDefault
	}
}

// completeNames offers the catalogue.
func completeNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names(catalogue()), cobra.ShellCompDirectiveNoFileComp
}

func completeSpaces(*cobra.Command, []string, string) (list []string, _ cobra.ShellCompDirective) {
	for _, sp := range sim.Spaces() {
		_, about, _ := strings.Cut(sp.String(), ": ")
		list = append(list, cobra.CompletionWithDesc(sp.Name(), about))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeRemedies offers those of the scenario that is there already, or all.
func completeRemedies(_ *cobra.Command, args []string, _ string) (list []string, _ cobra.ShellCompDirective) {
	for _, sc := range chosenOrAll(args) {
		for _, r := range sc.Remedies {
			if !slices.Contains(list, r.Name) {
				list = append(list, r.Name)
			}
		}
	}
	slices.Sort(list)
	return list, cobra.ShellCompDirectiveNoFileComp
}

// chosenOrAll is the scenario that an argument names, or the catalogue.
func chosenOrAll(args []string) (list []sim.Scenario) {
	if len(args) > 0 {
		if sub, err := new(app).find(args[0]); err == nil {
			return []sim.Scenario{sub.sc}
		}
	}
	for name, text := range catalogue() {
		if sc, err := sim.Parse(name, text); err == nil {
			list = append(list, sc)
		}
	}
	return list
}

// lockNames are redlock, and the faults of the flawed lock.
func lockNames() []string {
	list := []string{"redlock"}
	for _, f := range flawed.Flaws() {
		list = append(list, string(f))
	}
	return list
}

// completeMachines offers the clients and nodes of the scenario that is there.
func completeMachines(_ *cobra.Command, args []string, word string) (list []string, _ cobra.ShellCompDirective) {
	before := word[:strings.LastIndexByte(word, ',')+1]
	sub, err := new(app).find(append(args, defaultRun)[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, c := range sub.sc.Clients {
		list = append(list, before+c.Name)
	}
	for i := range len(sub.sc.Nodes) + len(sub.sc.Resources) {
		list = append(list, before+sub.sc.Place(i))
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func completeLocks(_ *cobra.Command, _ []string, word string) (list []string, _ cobra.ShellCompDirective) {
	before := word[:strings.LastIndexByte(word, ',')+1]
	for _, name := range lockNames() {
		list = append(list, before+name)
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completePaths offers the fields that the scenario has.
func completePaths(_ *cobra.Command, args []string, _ string) (list []string, _ cobra.ShellCompDirective) {
	sub, err := new(app).find(append(args, defaultRun)[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, f := range flatten(sub.sc) {
		list = append(list, f.path+"=")
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// field is one value of a scenario, by its path.
type field struct{ path, value string }

// flatten lists all values of a scenario, in the order of its text. The elements
// of a list are called by their names where they have one, as in --set.
func flatten(sc sim.Scenario) (list []field) {
	var walk func(path string, v jsontext.Value)
	walk = func(path string, v jsontext.Value) {
		d := jsontext.NewDecoder(bytes.NewReader(v))
		open, err := d.ReadToken()
		if err != nil || open.Kind() != '{' && open.Kind() != '[' {
			list = append(list, field{path, string(v)})
			return
		}
		for i := 0; d.PeekKind() != '}' && d.PeekKind() != ']'; i++ {
			part := fmt.Sprintf("[%d]", i)
			if open.Kind() == '{' {
				name, err := d.ReadToken()
				if err != nil {
					return
				}
				part = "." + name.String()
			}
			member, err := d.ReadValue()
			if err != nil {
				return
			}
			member = member.Clone()
			if name := nameOf(member); open.Kind() == '[' && name != "" {
				part = "." + name
			}
			walk(strings.TrimPrefix(path+part, "."), member)
		}
	}
	walk("", bytes.TrimSpace(sc.AppendJSON(nil)))
	return list
}

// nameOf is the name of an object, which is its first field if it has one.
func nameOf(v jsontext.Value) string {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	for _, want := range []string{"{", "name"} {
		if t, err := d.ReadToken(); err != nil || t.String() != want {
			return ""
		}
	}
	t, err := d.ReadToken()
	if err != nil || t.Kind() != '"' {
		return ""
	}
	return t.String()
}
