package rivals

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"driftlock/sim"
	"driftlock/sim/node"
	"driftlock/sim/simtest"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
)

var update = flag.Bool("update", false, "write docs/rivals.md and the scenarios that the searches find")

// quiet: that a pool cannot dial is what many scenarios are about.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	os.Exit(m.Run())
}

// The rivals, with all settings as their documentation recommends.
var (
	redsyncWaits  = sim.LockedBy(Redsync())
	redsyncReturn = sim.LockedBy(Redsync(redsync.WithFailFast(true)))
	redsyncTries1 = sim.LockedBy(Redsync(redsync.WithTries(1)))
	redislockOne  = sim.LockedBy(Redislock)
)

// extends is the code of TestBehaviours in which c1 extends by half a millisecond.
func extends(p *sim.Process) {
	l := p.Lock()
	if p.Client() == "c2" {
		p.Sleep(1500 * time.Millisecond)
	}
	token, err := l.Acquire(p.Context(), "k", 10*time.Second)
	if err != nil {
		return
	}
	p.Sleep(100 * time.Millisecond)
	if p.Client() == "c1" {
		p.Sleep(900 * time.Millisecond)
		p.Logf("extend by 500µs: %v", l.Extend(p.Context(), "k", token, 500*time.Microsecond))
		p.Sleep(2 * time.Second)
	}
	l.Release(p.Context(), "k", token)
}

// TestBehaviours: what was seen of the rivals on real servers comes out in the
// simulator, each from a scenario file; and redlock stands it.
func TestBehaviours(t *testing.T) {
	for _, c := range []struct {
		file  string
		rival sim.Option
		work  sim.Workload
		also  func(t *testing.T, h *sim.History, v *sim.Verdict) // what the verdict does not say
	}{
		{"orphan-after-early-return", redsyncReturn, nil, nil},
		{"cancelled-context-keeps-keys", redsyncWaits, nil, nil},
		{"partial-extension-kept", redsyncWaits, nil, keptExtension},
		{"sub-millisecond-extend", redsyncWaits, extends, toldExtended},
		{"sub-millisecond-extend", redislockOne, extends, toldExtended},
		{"own-set-resent", redsyncTries1, nil, resent},
	} {
		t.Run(c.file, func(t *testing.T) {
			file := "testdata/" + c.file + ".json"
			v := simtest.Replay(t, file, c.work, simtest.InBubble(t), c.rival)
			t.Log(v.Broken(), v.Err())
			sc, err := sim.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			opts := []sim.Option{simtest.InBubble(t), c.rival}
			if c.work != nil {
				opts = append(opts, sim.Do(c.work))
			}
			h, err := sim.Run(sc, opts...)
			if err != nil {
				t.Fatal(err)
			}
			if c.also != nil {
				c.also(t, h, &v)
			}
			if c.work != nil {
				return // redlock refuses a TTL under a millisecond: nothing of it is sent
			}
			if ours, err := sim.Test(sc); err != nil || !ours.OK() {
				t.Errorf("redlock: %v, %v", ours.Err(), err)
			}
		})
	}
}

// keptExtension: a node keeps the key beyond the lease, after an extension that failed.
func keptExtension(t *testing.T, h *sim.History, v *sim.Verdict) {
	failed := false
	for _, e := range h.Events() {
		failed = failed || e.Kind == sim.Unextended
	}
	for _, b := range v.Blocks {
		if failed && len(v.Leases) == 1 && b.Ends == sim.Expired && b.To-v.Leases[0].Deadline > int64(time.Second) {
			return
		}
	}
	t.Errorf("failed: %v, leases %+v, blocks %+v", failed, v.Leases, v.Blocks)
}

// toldExtended: the extension was told to have succeeded, and deleted the keys.
func toldExtended(t *testing.T, h *sim.History, _ *sim.Verdict) {
	told, deleted := false, 0
	var at int64
	for _, e := range h.Events() {
		switch {
		case e.Kind == sim.Noted && h.Text(e.Note) == "extend by 500µs: <nil>":
			told, at = true, e.At
		case e.Kind == sim.Executed && node.EffectOf(e.Op, true) == node.Deletes && at == 0:
			deleted++
		}
	}
	if !told || deleted == 0 {
		t.Errorf("told: %v, keys deleted by then: %d", told, deleted)
	}
}

// resent: the node was asked twice for one owner's key, and had it the second time.
func resent(t *testing.T, h *sim.History, _ *sim.Verdict) {
	done := map[string]bool{}
	for _, e := range h.Events() {
		if e.Kind != sim.Executed || !node.Acquires(e.Op) {
			continue
		}
		if owner := h.Text(e.Owner); done[owner] {
			return
		} else {
			done[owner] = true
		}
	}
	t.Error("no SET was sent twice")
}
