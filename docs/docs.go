// Package docs has those of the documents that the program shows.
package docs

import _ "embed"

// ScenarioFormat is scenario-format.md.
//
//go:embed scenario-format.md
var ScenarioFormat string

// Debugging is debugging.md.
//
//go:embed debugging.md
var Debugging string
