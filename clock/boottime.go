package clock

// The clock that goes on counting while the machine sleeps. Go's own clock and
// timers stand still then, so a holder on it would trust its lock for as long as
// the machine slept beyond the lock's end.

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// Boottime returns the clock that goes on counting while the machine sleeps. It
// is the lock's default. It reads time.Now() plus what the machine has slept
// since the program started, so the two agree until it does; after it,
// differences between readings are right, and their wall part is ahead of the
// calendar by the time slept.
//
// On Linux the time slept is CLOCK_BOOTTIME − CLOCK_MONOTONIC. It is looked at
// again at the first reading in each millisecond, and at once if the wall clock
// has moved against the monotonic one: so a reading misses a suspend for 1 ms
// after waking at most, and that only if the wall clock lost just as much time.
// Suspends that add up to less than 1 ms are not seen. Its timers are Go's; what
// is pending looks at the time slept every 100 ms, so a timer that came due in
// the machine's sleep fires within 100 ms of waking. That takes no goroutine,
// and nothing at all while no timer is pending.
//
// Elsewhere than on Linux it is the real clock of package clockwork, which may
// stop while the machine sleeps. In a testing/synctest bubble it is the bubble's.
func Boottime() clockwork.Clock { return system }

// system is made as the program starts: were it first asked for in a synctest
// bubble, it would count from the bubble's time.
var system = func() clockwork.Clock {
	if read := readSuspends(); read != nil {
		return newBootClock(newSampler(read).asleep, true)
	}
	return clockwork.NewRealClock()
}()

// BoottimeOf is Boottime with two readings of one's own: what it has slept is by
// how much boot has gained on monotonic since this call. It is for tests. Unlike
// Boottime it takes both at each reading. They must be safe for concurrent use.
func BoottimeOf(boot, monotonic func() time.Duration) clockwork.Clock {
	first := boot() - monotonic()
	return newBootClock(func(time.Time) time.Duration { return boot() - monotonic() - first }, false)
}

// bootClock reads by itself, which costs little more than time.Now, and leaves
// timers to a DriftingClock of rate 1 that knows of the suspends.
type bootClock struct {
	real   clockwork.Clock
	slept  func(now time.Time) time.Duration
	timers *DriftingClock
	system bool
}

func newBootClock(slept func(time.Time) time.Duration, system bool) *bootClock {
	c := &bootClock{real: clockwork.NewRealClock(), slept: slept, system: system}
	c.timers = Drifting(c.real, Rate{})
	c.timers.suspends = &suspends{slept: slept}
	return c
}

func (c *bootClock) Now() time.Time {
	now := time.Now()
	if c.system && bubbled(now) {
		return now
	}
	return now.Add(c.slept(now))
}

// bubbled says whether now was read in a synctest bubble, whose readings alone
// have no monotonic part. Its fake time has nothing to do with the machine's
// sleep, and its timers may not be touched from outside.
func bubbled(now time.Time) bool { return now == now.Round(0) }

func (c *bootClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *bootClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// scheduler is the clock that timers made now belong to.
func (c *bootClock) scheduler() clockwork.Clock {
	if c.system && bubbled(time.Now()) {
		return c.real
	}
	return c.timers
}

func (c *bootClock) Sleep(d time.Duration)                    { c.scheduler().Sleep(d) }
func (c *bootClock) After(d time.Duration) <-chan time.Time   { return c.scheduler().After(d) }
func (c *bootClock) NewTimer(d time.Duration) clockwork.Timer { return c.scheduler().NewTimer(d) }

func (c *bootClock) NewTicker(d time.Duration) clockwork.Ticker {
	return c.scheduler().NewTicker(d)
}

// AfterFunc leaves to Go's timers alone what comes before the next look at the
// time slept would: most of a lock's timeouts.
func (c *bootClock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	s := c.scheduler()
	if d > lookAgain || s == c.real {
		return s.AfterFunc(d, f)
	}
	return &shortTimer{c: c.timers, f: f, now: c.real.AfterFunc(d, f)}
}

// shortTimer is a timer of Go's until it is reset to a long time.
type shortTimer struct {
	c   *DriftingClock
	f   func()
	mu  sync.Mutex
	now clockwork.Timer
}

func (t *shortTimer) Chan() <-chan time.Time { return nil }

func (t *shortTimer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now.Stop()
}

func (t *shortTimer) Reset(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, long := t.now.(*driftingTimer); long || d <= lookAgain {
		return t.now.Reset(d)
	}
	was := t.now.Stop()
	t.now = t.c.AfterFunc(d, t.f)
	return was
}

// suspends is what a DriftingClock that counts suspends knows of them. Its nil
// pointer knows of none.
type suspends struct {
	slept    func(now time.Time) time.Duration
	watching bool          // a look at slept is on its way
	seen     time.Duration // at the last look
}

// lookAgain is how often what is pending looks at the time slept.
const lookAgain = 100 * time.Millisecond

// asleep is what the machine has slept, in nanoseconds.
func (s *suspends) asleep(now time.Time) int64 {
	if s == nil {
		return 0
	}
	return int64(s.slept(now))
}

// watch begins to look out for suspends, as a timer is set. Mu is held.
func (c *DriftingClock) watch() {
	if c.suspends != nil && !c.watching {
		c.watching = true
		c.base.AfterFunc(lookAgain, c.look)
	}
}

// look moves the pending timers if the machine has slept, and comes again as
// long as there are any.
func (c *DriftingClock) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slept := c.slept(c.base.Now()); slept != c.seen {
		c.seen = slept
		c.rearm()
	}
	c.watching = false
	if len(c.timers)+len(c.naps) > 0 {
		c.watch()
	}
}

// reread is how long, and unseen how much of a suspend, a reading may miss.
const (
	reread = time.Millisecond
	unseen = time.Millisecond
)

// A sampler remembers what the machine has slept, for two system calls take as
// long as ten readings of the clock.
type sampler struct {
	read  func() (boot, monotonic int64) // in this order: never more apart than they are
	start time.Time
	first int64

	slept atomic.Int64 // the answer
	until atomic.Int64 // good until so long after start,
	shift atomic.Int64 // and while wall − monotonic is about this

	mu sync.Mutex // one looks at a time
}

func newSampler(read func() (boot, monotonic int64)) *sampler {
	s := &sampler{read: read, start: time.Now()}
	s.first = s.apart()
	for range 10 { // none is more than the truth, so the highest is the nearest
		s.first = max(s.first, s.apart())
	}
	return s
}

// apart is boot − monotonic, or less if the process was held up between the two.
func (s *sampler) apart() int64 {
	boot, monotonic := s.read()
	return boot - monotonic
}

// asleep is what the machine has slept since the sampler was made.
func (s *sampler) asleep(now time.Time) time.Duration {
	mono := int64(now.Sub(s.start))
	return s.at(mono, now.UnixNano()-mono)
}

// at is asleep at a monotonic reading and the wall clock's distance from it.
func (s *sampler) at(mono, shift int64) time.Duration {
	moved := shift - s.shift.Load()
	if mono >= s.until.Load() || moved > int64(reread) || moved < -int64(reread) {
		s.sample(mono, shift)
	}
	return time.Duration(s.slept.Load())
}

// sample looks anew. Time slept only grows, and by more than the noise of apart.
func (s *sampler) sample(mono, shift int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slept := s.apart() - s.first; slept > s.slept.Load()+int64(unseen) {
		s.slept.Store(slept)
	}
	s.until.Store(mono + int64(reread))
	s.shift.Store(shift)
}
