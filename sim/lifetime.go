package sim

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrEnded is the cause with which every process's context ends at the end of
// the run.
var ErrEnded = errors.New("sim: the run has ended")

// lifetime is a process's context. Most are asked for nothing but whether they have
// ended. The standard one, on to which those made from it hook directly, is made when
// somebody asks for more.
type lifetime struct {
	over     atomic.Bool
	mu       sync.Mutex
	standard context.Context
	cancel   context.CancelCauseFunc
}

func (l *lifetime) Deadline() (at time.Time, ok bool) { return }
func (l *lifetime) Done() <-chan struct{}             { return l.context().Done() }
func (l *lifetime) Value(key any) any                 { return l.context().Value(key) }
func (l *lifetime) String() string                    { return "sim.Process.Context" }

func (l *lifetime) Err() error {
	if !l.over.Load() {
		return nil
	}
	return l.context().Err()
}

func (l *lifetime) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.standard == nil {
		l.standard, l.cancel = context.WithCancelCause(context.Background())
		if l.over.Load() {
			l.cancel(ErrEnded)
		}
	}
	return l.standard
}

// end ends it, and all that were made from it.
func (l *lifetime) end() {
	l.over.Store(true)
	l.mu.Lock()
	cancel := l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel(ErrEnded)
	}
}
