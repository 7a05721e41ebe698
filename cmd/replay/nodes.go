package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"driftlock/sim/node/mini"
)

// The stores that a scenario's nodes may be, as --nodes names them.
const (
	nodesFast = "fast"
	nodesMini = "miniredis"
)

var nodeStores = []string{nodesFast, nodesMini}

// runOn has the nodes be those of --nodes. The scenario stays as it is.
func (sub *subject) runOn(nodes string) error {
	switch {
	case !slices.Contains(nodeStores, nodes):
		return fmt.Errorf("--nodes %s: %s are allowed", strconv.Quote(nodes), strings.Join(nodeStores, " and "))
	case nodes == nodesFast:
		return nil
	case sub.recorded != nil:
		return errors.New("--nodes runs a scenario: a recorded history is not run")
	case sub.sc.Lock.Kind == "flawed":
		return errors.New("--nodes miniredis knows what redlock asks of a node; a lock with faults asks for more (\"--lock redlock\" puts the real one in its place)")
	}
	sub.stores = mini.New
	sub.argv = append(slices.Clone(sub.argv), "--nodes", nodes)
	return nil
}
