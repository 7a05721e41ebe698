package redlock

import (
	"context"
	"time"

	"driftlock/clock"
)

// A RetryPolicy is asked after each attempt that failed, the n-th (from 1) with
// err, whether to try again, and after what pause. The lock draws the pause
// evenly from [least, most] with its own random source (WithRand), so that a
// policy is a plain function without state and two waiters do not keep in step.
//
// A policy is called by many goroutines at once. It never gets an error that
// ended the call: a bad argument, a context that ended, a closed lock.
type RetryPolicy func(n int, err error) (least, most time.Duration, again bool)

// NoRetry makes one attempt.
func NoRetry() RetryPolicy {
	return func(int, error) (time.Duration, time.Duration, bool) { return 0, 0, false }
}

// Every pauses d each time. Waiters that began together stay together: of
// several that split the vote, none may ever win. Between is better.
func Every(d time.Duration) RetryPolicy { return Between(d, d) }

// Between pauses for a time drawn evenly from [least, most].
func Between(least, most time.Duration) RetryPolicy {
	return func(int, error) (time.Duration, time.Duration, bool) { return least, most, true }
}

// Backoff doubles its bound from first up to most, and draws the pause evenly
// from zero to the bound ("full jitter"): however many waiters there are, they
// spread out, and a dead holder is not hammered.
func Backoff(first, most time.Duration) RetryPolicy {
	return func(n int, _ error) (time.Duration, time.Duration, bool) {
		bound := first
		for i := 1; i < n && bound < most; i++ {
			bound = min(2*bound, most)
			if bound <= 0 { // first was not positive, or doubled past the largest duration
				bound = most
			}
		}
		return 0, bound, true
	}
}

// Times is the policy that makes at most n attempts in all.
func (p RetryPolicy) Times(n int) RetryPolicy {
	return func(i int, err error) (least, most time.Duration, again bool) {
		if i >= n {
			return 0, 0, false
		}
		return p(i, err)
	}
}

// pause asks the policy p what to do after the n-th attempt failed with err.
func (l *core) pause(p RetryPolicy, n int, err error) (wait time.Duration, again bool) {
	least, most, again := p(n, err)
	least = max(least, 0)
	if most > least {
		least += time.Duration(l.rand() % uint64(most-least+1))
	}
	return least, again
}

// A patience says how long a call goes on trying. That another holds the lock is
// waited for; that the nodes do not answer, or too late, only for a budget of
// its own, counted since the first attempt of the outage began. An outage has
// at least two attempts: one may have failed only because this process stood
// still.
type patience struct {
	l      *core
	policy RetryPolicy
	budget time.Duration // negative: none, something else bounds the call
	tries  int           // in this outage
	began  time.Time
}

// after says whether and when to try again after the n-th attempt, begun at
// start, has failed with f.
func (p *patience) after(n int, start time.Time, f *failure) (wait time.Duration, again bool) {
	wait, again = p.l.pause(p.policy, n, f)
	if f.class == ErrLockAlreadyHeld {
		p.tries = 0
	} else if p.tries++; p.tries == 1 {
		p.began = start
	}
	return wait, again && !(p.tries > 0 && p.spent(wait))
}

// spent says that the outage has used up its budget by the time that wait is over.
func (p *patience) spent(wait time.Duration) bool {
	switch {
	case p.budget < 0:
		return false
	case p.budget == 0:
		return true
	}
	return p.tries > 1 && p.l.clock.Now().Add(wait).Sub(p.began) >= p.budget
}

// sleep waits on the lock's clock, but not beyond the end of ctx, which whoever waits
// looks at next.
func (l *core) sleep(ctx context.Context, d time.Duration) { clock.Sleep(ctx, l.clock, d) }
