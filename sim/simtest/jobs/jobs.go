// Package jobs is a small service as somebody would write it who knows nothing of the
// simulator: jobs are put in by HTTP and run by workers, each job once. It is there to
// be put into the simulator unchanged: see jobs_test.go and docs/your-own-service.md.
package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Service is one instance of it. Several share one Redis.
type Service struct {
	Redis *redis.Client
	Run   func(ctx context.Context, id string) error // does a job
	TTL   time.Duration                              // of the lock on a job that is being done
	Poll  time.Duration                              // how often a worker looks for jobs

	// LookFirst looks whether a job is done before its lock is taken, and not again after.
	// It is a bug: the job may have been done in between.
	LookFirst bool
}

// ServeHTTP takes jobs (PUT /jobs/ID) and tells of them (GET /jobs/ID).
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, ok := strings.CutPrefix(r.URL.Path, "/jobs/")
	if !ok || id == "" {
		http.NotFound(w, r)
		return
	}
	switch r.Method {
	case http.MethodPut:
		if err := s.add(r.Context(), id); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	case http.MethodGet:
		state, err := s.Redis.Get(r.Context(), "state:"+id).Result()
		if errors.Is(err, redis.Nil) {
			http.NotFound(w, r)
			return
		} else if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, state)
	default:
		http.Error(w, "PUT or GET", http.StatusMethodNotAllowed)
	}
}

// add queues a job. It may be in the queue several times: its state says whether it is
// to be done.
func (s *Service) add(ctx context.Context, id string) error {
	n, err := s.Redis.Incr(ctx, "queue:last").Result()
	if err != nil {
		return err
	}
	if err := s.Redis.Set(ctx, fmt.Sprint("queue:", n), id, 0).Err(); err != nil {
		return err
	}
	return s.Redis.SetNX(ctx, "state:"+id, "queued", 0).Err()
}

// Work does jobs until ctx ends.
func (s *Service) Work(ctx context.Context) {
	ticker := time.NewTicker(s.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		last, _ := s.Redis.Get(ctx, "queue:last").Int()
		for n := 1; n <= last && ctx.Err() == nil; n++ {
			if id, err := s.Redis.Get(ctx, fmt.Sprint("queue:", n)).Result(); err == nil {
				s.attend(ctx, id)
			}
		}
	}
}

// attend does a job unless it is done, or somebody else is at it.
func (s *Service) attend(ctx context.Context, id string) {
	if s.LookFirst && !s.open(ctx, id) {
		return
	}
	// Unlocked also where the lock was refused: go-redis sends a command again if its
	// answer is lost, and then it is our own key that is in the way.
	me := rand.Text()
	defer unlock.Run(context.WithoutCancel(ctx), s.Redis, []string{"lock:" + id}, me)
	if ok, err := s.Redis.SetNX(ctx, "lock:"+id, me, s.TTL).Result(); err != nil || !ok {
		return
	}
	if !s.LookFirst && !s.open(ctx, id) {
		return
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, id) }()
	select {
	case err := <-done:
		if err == nil {
			s.Redis.Set(ctx, "state:"+id, "done", 0)
		}
	case <-ctx.Done():
		<-done
	}
}

// open says that a job is still to be done.
func (s *Service) open(ctx context.Context, id string) bool {
	state, err := s.Redis.Get(ctx, "state:"+id).Result()
	return err == nil && state == "queued"
}

var unlock = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
