//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server that hangs does not keep the command: it is said, and the others count.
func TestMeasureServerThatHangs(t *testing.T) {
	t.Parallel()
	one, _ := startRedis(t)
	hangs, server := startRedis(t)
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Skip(err)
	}
	begin := time.Now()
	_, out, errs := measured(t, t.Context(), "--for", "2s", "--every", "20ms", "--nodes", one+","+hangs)
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("took %v", took)
	}
	if !strings.Contains(out, hangs) || !strings.Contains(out, "no answer within 2s") || !strings.Contains(out, "enough for this server (of 2)") {
		t.Errorf("output:\n%s%s", out, errs)
	}
}
