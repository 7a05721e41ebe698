// Package scenarios is the catalogue: scenario files of named failures, each
// with the verdict it must have.
package scenarios

import "embed"

// Files are the scenario files of the folder.
//
//go:embed *.json
var Files embed.FS
