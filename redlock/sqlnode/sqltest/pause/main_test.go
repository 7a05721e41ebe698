package main

import (
	"context"
	"strings"
	"testing"
)

// Without the comparison the stale write lands; with it it is refused.
func TestRun(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := run(context.Background(), &b, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	const want = `Account 1 has 100. The row takes what comes.
  worker 1 holds the lock with fence 41, reads 100, and stands still
  worker 2 holds it with fence 42, reads 100, writes 70: accepted
  worker 1 goes on and writes 110: accepted
  the account has 110: what worker 2 wrote is lost

Account 2 has 100. The row compares fence numbers.
  worker 1 holds the lock with fence 41, reads 100, and stands still
  worker 2 holds it with fence 42, reads 100, writes 70: accepted
  worker 1 goes on and writes 110: refused, fence 41 is lower than 42
  the account has 70

`
	if b.String() != want {
		t.Errorf("it says\n%swant\n%s", b.String(), want)
	}
}
