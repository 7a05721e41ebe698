package jobs_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"driftlock/sim"
	"driftlock/sim/simredis"
	"driftlock/sim/simtest"
	"driftlock/sim/simtest/jobs"
)

// ledger is what the jobs of a run did: what the service is to protect.
type ledger struct {
	mu  sync.Mutex
	ran map[string]int
}

// service is one instance of the service, on the machine of p. Each job says so when it
// is run for the second time.
func service(p *sim.Process, lookFirst bool) *jobs.Service {
	book := p.Shared("ledger", func() any { return &ledger{ran: map[string]int{}} }).(*ledger)
	return &jobs.Service{
		Redis: simredis.Client(p, p.Nodes()[0]), TTL: time.Minute, Poll: 100 * time.Millisecond, LookFirst: lookFirst,
		Run: func(ctx context.Context, id string) error {
			book.mu.Lock()
			book.ran[id]++
			n := book.ran[id]
			book.mu.Unlock()
			p.Logf("runs job %s", id)
			if n > 1 {
				p.Fatalf("job %s runs again", id)
			}
			select {
			case <-time.After(time.Duration(1+p.Rand("job", 50)) * time.Millisecond):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
}

// use is what happens to the service on each machine: a worker, and people who put jobs
// in and ask for them.
func use(lookFirst bool) sim.Workload {
	return func(p *sim.Process) {
		s := service(p, lookFirst)
		p.Go(func(p *sim.Process) {
			for _, id := range []string{"7", "8", "7"} {
				time.Sleep(time.Duration(p.Rand("think", 200)) * time.Millisecond)
				for range 3 { // an answer may be lost
					w := httptest.NewRecorder()
					s.ServeHTTP(w, httptest.NewRequestWithContext(p.Context(), http.MethodPut, "/jobs/"+id, nil))
					if w.Code == http.StatusAccepted {
						break
					}
				}
			}
		})
		ctx, cancel := context.WithTimeout(p.Context(), 3*time.Second)
		defer cancel()
		s.Work(ctx)
	}
}

// space: one Redis, two or three machines, and clocks that are nearly right. Nothing is
// lost: a job whose last word does not reach Redis has to run again.
func space() sim.Space { return sim.DriftCovered().Nodes(1, 1).Clients(2, 3).Without("loss") }

// TestJobs: each job runs once.
func TestJobs(t *testing.T) { simtest.Bubble(t, space(), use(false)) }

// TestPlanted is TestJobs of a service with a bug, which TestFindsIt finds in it.
func TestPlanted(t *testing.T) {
	if os.Getenv("DRIFTLOCK_PLANTED") == "" {
		t.Skip("run by TestFindsIt")
	}
	simtest.Bubble(t, space(), use(true))
}

// TestFindsIt: a job that is run twice is found by a search, made small, and comes again
// from the file.
func TestFindsIt(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(env ...string) string {
		cmd := exec.Command(binary, "-test.run=^TestPlanted$", "-rapid.checks=2000", "-rapid.seed=1", "-test.timeout=2m")
		cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "DRIFTLOCK_PLANTED=1"), env...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("not found:\n%s", out)
		}
		return string(out)
	}
	file := filepath.Join("testdata", "driftlock", "TestPlanted.json")
	for _, text := range []string{run(), run("DRIFTLOCK_SCENARIO=" + file)} {
		if !strings.Contains(text, "runs again") || !strings.Contains(text, file) {
			t.Errorf("it does not tell that a job runs again, or where that is kept:\n%s", text)
		}
		t.Log(text)
	}
	sc, err := sim.Load(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if len(sc.Clients) != 2 || len(sc.Faults) > 0 {
		t.Errorf("not small: %s", sc.Size())
	}
}
