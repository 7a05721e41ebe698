package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// An interrupt keeps what there is.
func TestTuneStops(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"tune", "--runs", "10M", "--clocks", "chrony-default"},
		{"tune", "--sweep", "ttl,drift", "--runs", "1M"},
	} {
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer stop()
		var out, errs bytes.Buffer
		a := &app{out: &stream{w: &out}, err: &stream{w: &errs}, self: []string{"replay"}}
		if status := a.execute(ctx, args); status != statusHeld {
			t.Errorf("%v: status %d, %s", args, status, errs.String())
		}
		if !strings.Contains(out.String(), "stopped before the end") {
			t.Errorf("%v: does not say that it was stopped: %s", args, out.String())
		}
	}
}
