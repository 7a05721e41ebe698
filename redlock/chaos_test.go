package redlock

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"driftlock/internal/servers"
)

var chaosFor = flag.Duration("chaos", 2*time.Second, "how long TestChaos plays havoc with real servers")

// A tenure is how long a holder trusted its lock, on the clock of this process, which is
// everybody's: a witness that no server has a say in.
type tenure struct {
	key      string
	from, to time.Time
	worker   int
}

// Five servers that keep every write, behind proxies; at random they are stopped, killed
// and restarted, delayed, and their connections cut. No two tenures of a key overlap,
// and when all is quiet again no key is left, though keys live longer than the test.
//
//	go test ./redlock -run Chaos -chaos 10m -timeout 15m
func TestChaos(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	servers := startServers(t, servers.Redis, 5, "--appendonly", "yes", "--appendfsync", "always")
	var proxies []*proxy
	for _, s := range servers {
		proxies = append(proxies, startProxy(t, s.Addr))
	}
	c := castOver(t, servers, proxies)
	ctx, cancel := context.WithTimeout(bg, *chaosFor)
	defer cancel()

	var wg sync.WaitGroup
	tenures := make([][]tenure, 8)
	for i := range tenures {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() { tenures[i] = hold(t, ctx, c.lock, i, rng) })
	}
	havoc := &havoc{rng: rand.New(rand.NewPCG(seed, 1000)), servers: servers, proxies: proxies}
	havoc.play(ctx)
	wg.Wait()

	all := slices.Concat(tenures...)
	t.Logf("%d tenures, %v", len(all), havoc)
	if len(all) == 0 {
		t.Error("nobody ever held a lock")
	}
	overlaps(t, all)
	c.quiet()
	c.tidy()
}

// hold takes locks, one after the other, until ctx ends. Keys "long" live longer than
// the test, so that what is left of them shows; those of "short" are extended.
func hold(t *testing.T, ctx context.Context, l Locker, worker int, rng *rand.Rand) (held []tenure) {
	for ctx.Err() == nil {
		key, ttl := fmt.Sprintf("long%d", rng.IntN(3)), *chaosFor+time.Minute
		short := rng.IntN(3) == 0
		if short {
			key, ttl = "short", time.Second
		}
		tok, err := l.Acquire(ctx, key, ttl)
		from := time.Now()
		if err != nil {
			if !errors.Is(err, ErrNoQuorum) && !errors.Is(err, ErrValidityExpired) && ctx.Err() == nil {
				t.Errorf("acquire: %v", err)
			}
			continue
		}
		for range rng.IntN(3) {
			time.Sleep(time.Duration(rng.IntN(20)) * ms)
			if short {
				l.TryExtend(ctx, key, tok, ttl) // if it fails the old deadline stands
			}
		}
		to := time.Now()
		if until := tok.ValidUntil(); until.Before(to) {
			to = until
		}
		held = append(held, tenure{key, from, to, worker})
		err = l.Release(bg, key, tok)
		if err != nil && !errors.Is(err, ErrReleaseUnknown) && !(short && errors.Is(err, ErrLockExpired)) {
			t.Errorf("release of %s: %v", key, err)
		}
	}
	return held
}

// overlaps fails for every two tenures of a key that overlap.
func overlaps(t *testing.T, all []tenure) {
	slices.SortFunc(all, func(a, b tenure) int { return cmp.Or(cmp.Compare(a.key, b.key), a.from.Compare(b.from)) })
	last := tenure{}
	for _, x := range all {
		if x.key == last.key && x.from.Before(last.to) {
			t.Errorf("%s: worker %d holds it until %v after worker %d got it", x.key, last.worker, last.to.Sub(x.from), x.worker)
		}
		if x.key != last.key || x.to.After(last.to) {
			last = x
		}
	}
}

// havoc is what goes wrong, on up to three servers at a time.
type havoc struct {
	rng                        *rand.Rand
	servers                    []*server
	proxies                    []*proxy
	stops, kills, delays, cuts int
	busy                       [5]bool
	ends                       []ending
}

// An ending is when a fault of a server ends, and how.
type ending struct {
	at     time.Time
	server int
	heal   func()
}

func (h *havoc) String() string {
	return fmt.Sprintf("%d stops, %d kills, %d delays, %d cuts", h.stops, h.kills, h.delays, h.cuts)
}

func (h *havoc) play(ctx context.Context) {
	for ctx.Err() == nil {
		h.end(time.Now())
		if i := h.rng.IntN(5); !h.busy[i] && len(h.ends) < 3 {
			h.begin(i)
		}
		time.Sleep(time.Duration(5+h.rng.IntN(100)) * ms)
	}
	h.end(time.Now().Add(time.Hour))
}

func (h *havoc) begin(i int) {
	s, p := h.servers[i], h.proxies[i]
	lasts, heal := time.Duration(10+h.rng.IntN(1000))*ms, func() {}
	switch h.rng.IntN(4) {
	case 0:
		h.stops++
		s.pause()
		heal = s.resume
	case 1:
		h.kills++
		s.kill()
		heal = s.start
	case 2:
		h.delays++
		delay := time.Duration(1+h.rng.IntN(60)) * ms
		p.set(func(p *proxy) { p.delay = delay })
		heal = func() { p.set(func(p *proxy) { p.delay = 0 }) }
	case 3:
		h.cuts++
		p.drop()
		lasts = 0
	}
	h.busy[i] = true
	h.ends = append(h.ends, ending{time.Now().Add(lasts), i, heal})
}

func (h *havoc) end(now time.Time) {
	h.ends = slices.DeleteFunc(h.ends, func(e ending) bool {
		if e.at.After(now) {
			return false
		}
		e.heal()
		h.busy[e.server] = false
		return true
	})
}
