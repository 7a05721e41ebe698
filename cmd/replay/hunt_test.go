package main

import (
	"errors"
	"strings"
	"testing"

	"driftlock/sim"
)

// TestTheCanaryMustBreak: where the canary holds, no search is trusted.
func TestTheCanaryMustBreak(t *testing.T) {
	t.Parallel()
	if err := canary(sim.Canary()); err != nil {
		t.Errorf("%v", err)
	}
	var f *failure
	if err := canary(sim.DriftCovered()); !errors.As(err, &f) || f.status != statusFault || !strings.Contains(err.Error(), "the canary held: of 16 seeds") {
		t.Errorf("of a space in which nothing breaks: %v", err)
	}
}
