package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"driftlock/sim/node"
	"driftlock/sim/node/mini"
)

// The stores that a scenario's nodes may be, as --nodes names them.
const (
	nodesFast = "fast"
	nodesMini = "miniredis"
)

var nodeStores = []string{nodesFast, nodesMini}

// runOn has the nodes be those of --nodes. On miniredis keys are gone at the very
// millisecond at which their TTL has passed: the scenario is made to say so.
func (sub *subject) runOn(nodes string) error {
	switch {
	case !slices.Contains(nodeStores, nodes):
		return fmt.Errorf("--nodes %s: %s are allowed", strconv.Quote(nodes), strings.Join(nodeStores, " and "))
	case nodes == nodesFast:
		return nil
	case sub.recorded != nil:
		return errors.New("--nodes runs a scenario: a recorded history is not run")
	case sub.sc.Lock.Kind == "flawed":
		return errors.New("--nodes miniredis knows what redlock asks of a node; a lock with faults asks for more (leave --nodes or --lock out)")
	}
	sub.sc.Nodes = slices.Clone(sub.sc.Nodes)
	for i := range sub.sc.Nodes {
		if sub.sc.Nodes[i].Alias == "" {
			sub.sc.Nodes[i].Expiry = node.NonStrict
		}
	}
	sub.stores = mini.New
	sub.argv = append(slices.Clone(sub.argv), "--nodes", nodes)
	return nil
}
