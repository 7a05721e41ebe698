// Package locktest is the test that every store has to pass before it may be a node of
// a lock. Run it on a node of your own:
//
//	func TestNode(t *testing.T) {
//		locktest.Node(t, func(t testing.TB) redlock.Node { return newEmptyStore(t) })
//	}
//
//	func TestLock(t *testing.T) {
//		locktest.Lock(t, func(t testing.TB, n int) []redlock.Node { … }) // n independent ones
//	}
//
// It works with keys of its own in real time, and leaves none behind but fence numbers.
// The nodes are used by several locks at once. They are real stores: expiry takes as
// long as it says, so the whole takes some seconds, most of it waiting; its parts run in
// parallel if the nodes are made for each.
package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"driftlock/redlock"
)

const (
	long  = time.Minute             // none of these expires during a test
	short = 800 * time.Millisecond  // these do; to extend one in time a busy machine has as long
	late  = 1100 * time.Millisecond // and are gone after so long
)

// do asks a node as a transport would: one batch.
func do(n redlock.Node, reqs ...*redlock.Request) []redlock.Reply {
	replies := slices.Repeat([]redlock.Reply{{Err: redlock.ErrNoAnswer}}, len(reqs))
	n.Do(reqs, replies)
	return replies
}

// request is written as a sign and the owner: +a acquires, ~a extends, -a releases.
func request(key, what string, ttl time.Duration, fence uint64) *redlock.Request {
	op := map[byte]redlock.Op{'+': redlock.OpAcquire, '~': redlock.OpExtend, '-': redlock.OpRelease}[what[0]]
	return &redlock.Request{Op: op, Key: key, Owner: owner(what[1:]), TTL: ttl, Fence: fence}
}

// owner makes a name as long as the lock's owner values are.
func owner(name string) string { return strings.Repeat("0", 32-len(name)) + name }

// OddKeys are keys that a store may mix up, or choke on. All of them differ.
var OddKeys = []string{
	"k", "K", "k ", " k", "k\t", "k\x00", "k\x00\x00", "\x00", "'", `"`, "`", `\`, "k'; DROP TABLE redlock; --", "%", "_", "?", "$1", "{1}", "{now}",
	"straße", "strasse", "e\u0301", "\u00e9", "日本語", "🔒", "\xff\xfe", "null", "NULL", "0", "00", "1e3", "1000",
	strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x", 10<<10), strings.Repeat("x", 10<<10-1) + "y",
	"sha256:" + strings.Repeat("0", 64),
}

// eventually waits until what holds.
func eventually(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s", within, what)
		}
	}
}

func background() context.Context { return context.Background() }

// wantIs fails if err is not of the class that it should be; nil is one.
func wantIs(t testing.TB, what string, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Fatalf("%s: %v; want %v", what, err, class)
	}
}

func short16(s string) string {
	if len(s) > 16 {
		return fmt.Sprintf("%q… (%d bytes)", s[:16], len(s))
	}
	return fmt.Sprintf("%q", s)
}
