package redlock

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"driftlock/internal/servers"

	"github.com/redis/go-redis/v9"
)

// Real servers, each a process of its own on a free port of the loopback, stopped
// when its test ends.

// redisKinds are the servers that a node must work on.
var redisKinds = []servers.Kind{servers.Redis, servers.NewerRedis, servers.NewerValkey}

// A server is one process, or none while it is killed.
type server struct {
	*servers.Server
	t testing.TB
}

// startServers starts n servers with no persistence but what args say.
func startServers(t testing.TB, kind servers.Kind, n int, args ...string) []*server {
	t.Helper()
	var all []*server
	for range n {
		all = append(all, &server{servers.New(t, kind, args...), t})
	}
	return all
}

// start starts the server again where it was.
func (s *server) start() {
	s.t.Helper()
	if err := s.Run(); err != nil {
		s.t.Fatal(err)
	}
}

// kill ends the process as a crash would, a stopped one too.
func (s *server) kill() { s.Kill() }

func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// client returns a client for the server, closed when the test ends.
func (s *server) client(opts ...func(*redis.Options)) *redis.Client {
	return clientOf(s.t, s.Addr, opts...)
}

func clientOf(t testing.TB, addr string, opts ...func(*redis.Options)) *redis.Client {
	o := &redis.Options{Addr: addr}
	for _, f := range opts {
		f(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// stat is a field of INFO.
func stat(t testing.TB, c redis.UniversalClient, section, field string) string {
	t.Helper()
	text, err := c.Info(context.Background(), section).Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name == field {
			return value
		}
	}
	return ""
}

// eventually waits until what holds. It is for what other processes do.
func eventually(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s", within, what)
		}
	}
}

// oneNodeCluster makes the server a cluster of its own. It was started with
// --cluster-enabled yes.
func (s *server) oneNodeCluster() *redis.ClusterClient {
	s.t.Helper()
	ctx, c := context.Background(), s.client()
	if err := c.Do(ctx, "cluster", "addslotsrange", 0, 16383).Err(); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, 10*time.Second, "cluster ok", func() bool {
		return strings.Contains(c.ClusterInfo(ctx).Val(), "cluster_state:ok")
	})
	cc := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.Addr}})
	s.t.Cleanup(func() { cc.Close() })
	return cc
}

func (s *server) String() string { return fmt.Sprintf("%s at %s", s.Kind, s.Addr) }
