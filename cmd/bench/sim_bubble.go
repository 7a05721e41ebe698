package main

// The reference workload as people build it today: redsync and go-redis in a
// synctest bubble, whose clients send their commands to miniredis servers in
// process, after sleeps that are the network. Clocks do not drift, nothing judges
// what happened, and a seed does not give the same run twice.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const (
	bubbleClients = 3
	bubbleCycles  = 3
	bubbleTTL     = time.Second
	bubbleHold    = 5 * time.Millisecond
)

type bubble struct {
	t       *testing.T
	servers []*miniredis.Miniredis
}

func openBubble(t *testing.T) (simRunner, error) {
	b := &bubble{t: t}
	for range nodes {
		m, err := miniredis.Run()
		if err != nil {
			return nil, err
		}
		b.servers = append(b.servers, m)
	}
	return b, nil
}

func (b *bubble) close() {
	for _, m := range b.servers {
		m.Close()
	}
}

// seed runs the clients. An event is a command's way to its server, or an answer's
// way back.
func (b *bubble) seed(n uint64) (int, error) {
	for _, m := range b.servers {
		m.FlushAll()
	}
	run := &bubbleRun{draw: rand.New(rand.NewPCG(n, 1))}
	synctest.Test(b.t, func(*testing.T) {
		var pools []redsyncredis.Pool
		for _, m := range b.servers {
			c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", DisableIdentity: true, MaxRetries: -1})
			defer c.Close()
			c.AddHook(&wire{run: run, server: m, seen: time.Now()})
			pools = append(pools, goredis.NewPool(c))
		}
		var clients sync.WaitGroup
		for range bubbleClients {
			clients.Go(func() { run.client(redsync.New(pools...)) })
		}
		clients.Wait()
		time.Sleep(bubbleTTL) // what redsync left under way ends
	})
	if run.grants != bubbleClients*bubbleCycles {
		return 0, fmt.Errorf("seed %d: %d grants: %v", n, run.grants, run.err)
	}
	return 2 * run.commands, nil
}

// bubbleRun is what the goroutines of one seed share.
type bubbleRun struct {
	mu               sync.Mutex
	draw             *rand.Rand
	commands, grants int
	err              error
}

func (r *bubbleRun) client(rs *redsync.Redsync) {
	for range bubbleCycles {
		m := rs.NewMutex("k", redsync.WithExpiry(bubbleTTL), redsync.WithTries(1000), redsync.WithFailFast(true),
			redsync.WithRetryDelayFunc(func(int) time.Duration { return r.between(time.Millisecond, 20*time.Millisecond) }))
		err := m.Lock()
		r.mu.Lock()
		if err == nil {
			r.grants++
		} else {
			r.err = err
		}
		r.mu.Unlock()
		if err == nil {
			time.Sleep(bubbleHold)
			m.Unlock()
		}
	}
}

func (r *bubbleRun) between(low, high time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return low + time.Duration(r.draw.Int64N(int64(high-low)))
}

// delay is a message's.
func (r *bubbleRun) delay() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return 200*time.Microsecond + time.Duration(r.draw.ExpFloat64()*300e3)
}

// wire is the network between the clients and one server.
type wire struct {
	run    *bubbleRun
	server *miniredis.Miniredis
	seen   time.Time // to where its time has been moved
}

func (w *wire) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *wire) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return errors.New("no pipelines here") }
}

func (w *wire) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		time.Sleep(w.run.delay())
		answer := w.execute(cmd)
		time.Sleep(w.run.delay())
		return hear(cmd, answer)
	}
}

func (w *wire) execute(cmd redis.Cmder) string {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	w.run.commands++
	now := time.Now()
	w.server.FastForward(now.Sub(w.seen))
	w.seen = now
	var words []string
	for _, a := range cmd.Args() {
		words = append(words, fmt.Sprint(a))
	}
	var answer bytes.Buffer
	to := bufio.NewWriter(&answer)
	w.server.Server().Dispatch(server.NewPeer(to), words)
	to.Flush()
	return strings.TrimSpace(answer.String())
}

// hear reads an answer as the command expects it.
func hear(cmd redis.Cmder, answer string) error {
	switch c := cmd.(type) {
	case *redis.BoolCmd:
		c.SetVal(answer == "+OK")
	case *redis.Cmd:
		if text, failed := strings.CutPrefix(answer, "-"); failed {
			c.SetErr(serverError(text))
			return c.Err()
		}
		n, err := strconv.ParseInt(strings.TrimPrefix(answer, ":"), 10, 64)
		if err != nil {
			return err
		}
		c.SetVal(n)
	default:
		return fmt.Errorf("%T is not expected", cmd)
	}
	return nil
}

// serverError is an error that the server answered.
type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}
