package redlock_test

import (
	"context"
	"iter"
	"time"

	"driftlock/redlock"
)

// A parrot is a transport that always gives the same answers, at no cost.
type parrot struct {
	n     int
	say   []redlock.Reply
	times int // broadcasts
}

func (p *parrot) Len() int     { return p.n }
func (p *parrot) Close() error { return nil }

func (p *parrot) Broadcast(context.Context, redlock.Request, time.Duration) iter.Seq[redlock.Reply] {
	p.times++
	return p.yield
}

func (p *parrot) yield(yield func(redlock.Reply) bool) {
	for _, r := range p.say {
		if !yield(r) {
			return
		}
	}
}
