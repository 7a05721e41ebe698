package redlock

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"driftlock/redlock/internal/child"

	"github.com/redis/go-redis/v9"
)

// Real servers, each a process of its own on a free port of the loopback, stopped
// when its test ends.

// A serverKind is a server program to test with.
type serverKind struct {
	name    string
	path    string
	missing string // why there is none
}

// systemRedis is the redis-server on the PATH.
func systemRedis() serverKind {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return serverKind{name: "redis", missing: "no redis-server on the PATH"}
	}
	return serverKind{name: "redis", path: path}
}

// newerServers are those in the folder DRIFTLOCK_NEWER.
func newerServers() []serverKind {
	var kinds []serverKind
	for _, name := range []string{"redis-server", "valkey-server"} {
		k := serverKind{name: "newer-" + name}
		if dir := os.Getenv("DRIFTLOCK_NEWER"); dir == "" {
			k.missing = "DRIFTLOCK_NEWER names no folder with a newer " + name
		} else if k.path = filepath.Join(dir, name); exec.Command(k.path, "--version").Run() != nil {
			k.missing = "no " + k.path + " that runs"
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// need skips the test if there is no such server, or fails it if DRIFTLOCK_REQUIRE
// demands one.
func (k serverKind) need(t testing.TB) {
	t.Helper()
	if k.missing == "" {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("DRIFTLOCK_REQUIRE"), ","), "redis") && k.name == "redis" {
		t.Fatalf("DRIFTLOCK_REQUIRE=redis: %s", k.missing)
	}
	t.Skip(k.missing)
}

// A server is one process; nil while it is killed.
type server struct {
	t    testing.TB
	kind serverKind
	addr string
	dir  string
	args []string
	cmd  *exec.Cmd
}

// startServers starts n servers with no persistence but what args say.
func startServers(t testing.TB, kind serverKind, n int, args ...string) []*server {
	t.Helper()
	kind.need(t)
	var servers []*server
	for range n {
		s := &server{t: t, kind: kind, dir: t.TempDir(), args: args}
		s.start()
		servers = append(servers, s)
	}
	t.Cleanup(func() {
		for _, s := range servers {
			s.kill()
		}
	})
	return servers
}

// start starts the server and waits until it accepts connections. The first time it
// looks for a free port, which another may take before the server does.
func (s *server) start() {
	s.t.Helper()
	for range 10 {
		addr := s.addr
		if addr == "" {
			addr = freeAddr(s.t)
		}
		if s.run(addr) {
			s.addr = addr
			return
		}
	}
	s.t.Fatalf("%s does not start on %q", s.kind.path, s.addr)
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *server) run(addr string) bool {
	s.t.Helper()
	_, port, _ := net.SplitHostPort(addr)
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no",
		"--logfile", "", "--daemonize", "no"}, s.args...)
	cmd := exec.Command(s.kind.path, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := child.Start(cmd); err != nil {
		s.t.Fatalf("%s: %v", s.kind.path, err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			go func() { // so that the server can go on logging; ends with it
				for lines.Scan() {
				}
			}()
			s.cmd = cmd
			return true
		}
	}
	cmd.Wait()
	return false
}

// kill kills the process, as a crash would, and waits for its end.
func (s *server) kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill() // also ends a stopped process
		s.cmd.Wait()
		s.cmd = nil
	}
}

func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// client returns a client for the server, closed when the test ends.
func (s *server) client(opts ...func(*redis.Options)) *redis.Client {
	return clientOf(s.t, s.addr, opts...)
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
	cc := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.addr}})
	s.t.Cleanup(func() { cc.Close() })
	return cc
}

func (s *server) String() string { return fmt.Sprintf("%s at %s", s.kind.name, s.addr) }
