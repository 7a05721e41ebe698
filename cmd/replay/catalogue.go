package main

import (
	"io/fs"
	"slices"
	"strings"

	"driftlock/sim"
	"driftlock/testdata/scenarios"
)

// catalogue is the scenario files that the program carries, by name.
func catalogue() map[string][]byte {
	files, err := fs.Glob(scenarios.Files, "*.json")
	if err != nil {
		panic(err) // the pattern is good
	}
	texts := make(map[string][]byte, len(files))
	for _, file := range files {
		text, err := scenarios.Files.ReadFile(file)
		if err != nil {
			panic(err) // it was just listed
		}
		texts[strings.TrimSuffix(file, ".json")] = text
	}
	return texts
}

// names are those of the catalogue, in order.
func names(catalogue map[string][]byte) []string {
	var list []string
	for name := range catalogue {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// catalogued is a scenario of the catalogue.
func (a *app) catalogued(name string) (subject, error) {
	sc, err := sim.Parse(name+".json", catalogue()[name])
	if err != nil {
		return subject{}, fail(statusFault, "the catalogue: %w", err)
	}
	return subject{sc: sc, name: name, argv: a.argv("run", name)}, nil
}
