// Package fence is for the side that a lock protects. A lease alone cannot keep a holder
// from writing that stood still for too long; a resource that compares the fence numbers
// of its writers can (redlock.WithFencing, Token.Fence).
//
// There is a Guard in memory, Handler for HTTP, Column for a row of a database that
// keeps its number beside its data, and Ledger for whatever else a transaction of a
// database changes.
//
// # The rule
//
// A write is refused if its number is lower than one that the resource has seen
// (ErrStale), or if it has none (ErrMissing).
//
// The same number again is accepted: it is the next write of the same holder. No two
// grants of a key share a number, so nobody else can have it. What the rule does not do
// is to put the writes of one holder in order, or to find out that one of them came
// twice: a holder that sends again what was not answered needs an idempotency key, or a
// sequence number of its own.
//
// # Comparing and writing are one step
//
// A number that is compared first, and a write that is made then, leave a gap: the
// holder of 41 is let through, stands still, and writes after 42. Column compares in the
// statement that writes, Ledger in the transaction that does, and Guard.Do and Handler
// let 42 wait until 41 has finished.
package fence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
)

var (
	// ErrStale: the write has a lower number than one that was seen. Its writer does
	// not hold the lock any more. To try again with this number is of no use.
	ErrStale = errors.New("stale fence number")

	// ErrMissing: the write has no number, or zero.
	ErrMissing = errors.New("no fence number")
)

// A Stale is how a write was refused; errors.Is says ErrStale of it.
type Stale struct {
	Key     string
	Fence   uint64 // the write's
	Highest uint64 // that was seen
}

func (e *Stale) Error() string {
	return fmt.Sprintf("fence: %s: %v: %d, and %d was seen", quoted(e.Key), ErrStale, e.Fence, e.Highest)
}

// Is says that it is ErrStale.
func (e *Stale) Is(target error) bool { return target == ErrStale }

func missing(key string) error { return fmt.Errorf("fence: %s: %w", quoted(key), ErrMissing) }

// quoted is a key as error texts show it: a long one is cut.
func quoted(key string) string {
	if len(key) > 64 {
		return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(key[:64]), len(key))
	}
	return strconv.Quote(key)
}

// A Guard remembers the highest number of each key, in memory: for tests, and for a
// resource that lives in one process and ends with it. After a restart it has seen
// nothing. It keeps a number for each key for ever. The zero Guard is ready for use; it
// is safe for concurrent use.
type Guard struct {
	mu   sync.Mutex // never held over a write
	keys map[string]*guarded
}

// guarded is what a Guard knows of a key.
type guarded struct {
	highest uint64
	writing int           // writes under way, all with the same number
	current uint64        // that number
	done    chan struct{} // closed when they have ended; nil: nobody waits
}

// Do runs write if fence is not lower than any number seen for key, and returns its
// error. From then on lower numbers are refused. It begins only when the writes with
// lower numbers that are under way have ended; if ctx ends before, it returns the cause
// of ctx. Writes with the same number run side by side.
//
// It returns a *Stale, ErrMissing, the cause of ctx, or what write returns. Write must
// be over when it returns, and must not call Do for the same key with a higher number.
func (g *Guard) Do(ctx context.Context, key string, fence uint64, write func() error) error {
	if err := g.enter(ctx, key, fence); err != nil {
		return err
	}
	defer g.leave(key)
	return write()
}

// Admit is Do for a write that takes no time, such as a change of memory that the
// caller's own mutex protects: it says whether it may be made now.
func (g *Guard) Admit(key string, fence uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := g.see(key, fence)
	return err
}

// Highest is the highest number seen for key; 0 if none.
func (g *Guard) Highest(key string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if k := g.keys[key]; k != nil {
		return k.highest
	}
	return 0
}

// see compares a number, and remembers it. The mutex is held.
func (g *Guard) see(key string, fence uint64) (*guarded, error) {
	if fence == 0 {
		return nil, missing(key)
	}
	k := g.keys[key]
	if k == nil {
		k = &guarded{}
		if g.keys == nil {
			g.keys = map[string]*guarded{}
		}
		g.keys[key] = k
	}
	if fence < k.highest {
		return nil, &Stale{key, fence, k.highest}
	}
	k.highest = fence
	return k, nil
}

// enter waits for its turn. Whoever waits may become stale meanwhile.
func (g *Guard) enter(ctx context.Context, key string, fence uint64) error {
	for {
		wait, err := g.begin(key, fence)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// begin counts a write as under way, or says what to wait for.
func (g *Guard) begin(key string, fence uint64) (wait chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	k, err := g.see(key, fence)
	if err != nil {
		return nil, err
	}
	if k.writing > 0 && k.current != fence {
		if k.done == nil {
			k.done = make(chan struct{})
		}
		return k.done, nil
	}
	k.writing++
	k.current = fence
	return nil, nil
}

func (g *Guard) leave(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.keys[key]
	if k.writing--; k.writing == 0 && k.done != nil {
		close(k.done)
		k.done = nil
	}
}
