package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"driftlock/clock/measure"

	"github.com/redis/go-redis/v9"
)

// asked is one server that is measured.
type asked struct {
	name   string
	client *redis.Client

	mu      sync.Mutex
	samples []measure.Sample
	failed  error         // the last, since it answered
	since   time.Duration // when that began
	runID   string
	version string
	facts   []string // warnings
}

// run asks until ctx ends. Begin is what this machine's calendar said at 0.
func (s *asked) run(ctx context.Context, now func() time.Duration, begin time.Time, every time.Duration) {
	for first := true; ctx.Err() == nil; {
		if first {
			first = !s.lookAt(ctx, now)
		} else {
			s.sample(ctx, now, begin)
		}
		s.mu.Lock()
		pause := every
		if s.failed != nil {
			pause = max(every, time.Second/4)
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// sample asks for the time once. An answer that does not come in time has none.
func (s *asked) sample(ctx context.Context, now func() time.Duration, begin time.Time) {
	sent := now()
	t, err := s.client.Time(context.WithoutCancel(ctx)).Result()
	heard := now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fails(err, sent)
		return
	}
	s.failed = nil
	s.samples = append(s.samples, measure.Sample{Sent: sent, Heard: heard, Server: t.Sub(begin.Round(0))})
}

// fails notes an error; mu is held.
func (s *asked) fails(err error, at time.Duration) {
	if s.failed == nil {
		s.since = at
	}
	s.failed = err
}

// lookAt finds out what the server is, and says whether it answered. The connection is
// there after it, so that no sample has to wait for that.
func (s *asked) lookAt(ctx context.Context, now func() time.Duration) bool {
	at := now()
	_, err := s.client.Time(context.WithoutCancel(ctx)).Result()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fails(err, at)
		return false
	}
	s.failed = nil
	s.mu.Unlock()
	text, refused := s.client.Info(context.WithoutCancel(ctx)).Result()
	config := make(map[string]string)
	var mayNot error
	for _, name := range []string{"appendfsync", "save"} {
		answer, err := s.client.ConfigGet(context.WithoutCancel(ctx), name).Result()
		if err != nil {
			mayNot = err
			break
		}
		config[name] = answer[name]
	}
	s.mu.Lock()
	info := infoOf(text)
	s.runID, s.version = info["run_id"], info["redis_version"]
	if v := info["valkey_version"]; v != "" {
		s.version = "valkey " + v
	}
	s.facts = s.facts[:0]
	if refused != nil {
		s.facts = append(s.facts, "may not ask for INFO: whether it evicts, forgets or has replicas is not known")
		return true
	}
	s.facts = append(s.facts, factsOf(info, config, mayNot != nil)...)
	return true
}

// infoOf reads the answer to INFO.
func infoOf(text string) map[string]string {
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// factsOf are what breaks a lock on a server that is set up like this.
func factsOf(info, config map[string]string, mayNot bool) (list []string) {
	if policy := info["maxmemory_policy"]; policy != "" && policy != "noeviction" && info["maxmemory"] != "0" && info["maxmemory"] != "" {
		list = append(list, fmt.Sprintf("evicts keys when it is full (maxmemory-policy %s): a lock may vanish; use noeviction", policy))
	}
	switch fsync := config["appendfsync"]; {
	case info["aof_enabled"] == "1" && mayNot:
		list = append(list, "may not ask CONFIG: how often its AOF is synced is not known; unless it is at every write, a crash forgets locks")
	case info["aof_enabled"] == "1" && fsync == "everysec":
		list = append(list, "a crash forgets up to 2 s of locks (appendfsync everysec): use always, or keep it down for the longest TTL before it serves again")
	case info["aof_enabled"] == "1" && fsync == "no":
		list = append(list, "a crash forgets as much as its system likes (appendfsync no): use always, or keep it down for the longest TTL before it serves again")
	case info["aof_enabled"] == "1":
	case mayNot:
		list = append(list, "may not ask CONFIG: it has no AOF, so a restart forgets locks, or goes back to a snapshot; keep it down for the longest TTL before it serves again")
	case config["save"] != "":
		list = append(list, "a restart goes back to its last snapshot (no AOF): keep it down for the longest TTL before it serves again")
	default:
		list = append(list, "a restart forgets every lock (no persistence): keep it down for the longest TTL before it serves again")
	}
	if info["role"] == "slave" {
		list = append(list, fmt.Sprintf("is a replica of %s:%s: it takes no writes, and a lock on both of them is on one", info["master_host"], info["master_port"]))
	} else if n, _ := strconv.Atoi(info["connected_slaves"]); n > 0 {
		list = append(list, fmt.Sprintf("has %d replica(s): a failover loses locks that were not copied yet, so keep automatic failover off", n))
	}
	return list
}

// soFar is the rate as it is known by now: "+0.3 ± 1.2 ppm".
func (s *asked) soFar() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return "does not answer"
	}
	e, ok := measure.Estimate(s.samples)
	if !ok {
		return "…"
	}
	text := rateText(e.Rate) + " ppm"
	if n := len(e.Steps); n > 0 {
		text += fmt.Sprintf(", stepped %d×", n)
	}
	return text
}

// rateText is "+0.3 ± 1.2".
func rateText(r measure.Interval) string {
	off := (r.High - r.Low) / 2
	digits := 1
	if off < 0.1 {
		digits = 3
	}
	return fmt.Sprintf("%+.*f ± %.*f", digits, r.Value, digits, off)
}

// result is what was found out in so long.
func (s *asked) result(took time.Duration) measure.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := measure.Estimate(s.samples)
	r.Name, r.RunID, r.Version = s.name, s.runID, s.version
	silent := ""
	if s.failed != nil {
		silent = fmt.Sprintf("stopped answering after %v: %s", s.since.Round(100*time.Millisecond), reason(s.failed))
	}
	if !ok {
		r.Failed = fmt.Sprintf("only %d answers in %v", len(s.samples), took.Round(100*time.Millisecond))
		if s.failed != nil && len(s.samples) == 0 {
			r.Failed = reason(s.failed)
		} else if silent != "" {
			r.Failed = silent
		}
		return r
	}
	if silent != "" {
		r.Warnings = append(r.Warnings, silent+"; what was measured is from before")
	}
	for _, step := range r.Steps {
		r.Warnings = append(r.Warnings, fmt.Sprintf("its clock stepped by %v, %v after the begin: no factor covers steps; step clocks only while the server is down",
			time.Duration(step.By).Round(100*time.Microsecond), time.Duration(step.At).Round(100*time.Millisecond)))
	}
	const fast = 1000 // ppm: more than ntpd does, or any quartz
	if max(math.Abs(r.Rate.Low), math.Abs(r.Rate.High), math.Abs(r.Slew)) > fast {
		rate := r.Rate.Value
		if math.Abs(r.Slew) > math.Abs(rate) {
			rate = r.Slew
		}
		if math.Abs(rate) > fast {
			r.Warnings = append(r.Warnings, fmt.Sprintf("its clock slews fast, by %.0f ppm: limit it (chrony: maxslewrate 500)", rate))
		}
	} else if r.Slew != 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("its clock changed its rate meanwhile, to %+.0f ppm for some seconds", r.Slew))
	}
	r.Warnings = append(r.Warnings, s.facts...)
	return r
}

// reason is an error of a server, for people.
func reason(err error) string {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "NOAUTH"), strings.HasPrefix(text, "WRONGPASS"):
		return fmt.Sprintf("it wants another password: set %s (%s)", passwordFrom, text)
	case strings.HasPrefix(text, "NOPERM"):
		return "may not ask for TIME: " + text
	case errors.Is(err, context.DeadlineExceeded), strings.Contains(text, "i/o timeout"):
		return "no answer within " + patienceWith.String()
	}
	return text
}
