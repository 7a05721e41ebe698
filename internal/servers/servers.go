// Package servers starts real stores for tests and measurements: Redis, Valkey, PostgreSQL
// and MariaDB, each a process of its own on a free port of the loopback with its data in
// a temporary folder. It needs no driver.
package servers

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"driftlock/internal/child"
)

// A Kind is a server program.
type Kind string

// The kinds, as DRIFTLOCK_REQUIRE names them.
const (
	Redis       Kind = "redis"               // redis-server on the PATH
	NewerRedis  Kind = "newer-redis-server"  // redis-server in the folder DRIFTLOCK_NEWER
	NewerValkey Kind = "newer-valkey-server" // valkey-server there
	Postgres    Kind = "postgres"
	MariaDB     Kind = "mariadb"
)

// A Server is one that Start has started. It is for one goroutine at a time.
type Server struct {
	Kind Kind
	Addr string // host and port
	dir  string
	args []string
	cmd  *exec.Cmd      // nil while it does not run
	rest sync.WaitGroup // who reads what it says
}

// ErrMissing says that the machine has no such program.
var ErrMissing = errors.New("not installed")

// Shared are servers for all tests of a package, each started when it is first wanted.
// The zero Shared is ready for use; its Stop belongs into TestMain.
type Shared struct {
	mu      sync.Mutex
	servers map[Kind]*Server
	errs    map[Kind]error
}

// Server returns the one of a kind. If the program is missing the test is skipped, or
// fails if DRIFTLOCK_REQUIRE demands it.
func (s *Shared) Server(t testing.TB, k Kind) *Server {
	t.Helper()
	server, err := s.server(k)
	Need(t, k, err)
	return server
}

func (s *Shared) server(k Kind) (*Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.servers == nil {
		s.servers, s.errs = map[Kind]*Server{}, map[Kind]error{}
	}
	if s.servers[k] == nil && s.errs[k] == nil {
		s.servers[k], s.errs[k] = Start(k)
	}
	return s.servers[k], s.errs[k]
}

// Stop ends them all.
func (s *Shared) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.servers {
		if server != nil {
			server.Stop()
		}
	}
	s.servers = nil
}

// New returns a server of the test's own, which ends with it, started as Start does. If
// the program is missing the test is skipped, or fails if DRIFTLOCK_REQUIRE demands it.
func New(t testing.TB, k Kind, args ...string) *Server {
	t.Helper()
	server, err := Start(k, args...)
	Need(t, k, err)
	t.Cleanup(server.Stop)
	return server
}

// Need ends the test if err says that there is no such program: it is skipped where that
// is ErrMissing and DRIFTLOCK_REQUIRE does not demand the kind, and fails otherwise. The
// kind may be one of another program, such as a browser.
func Need(t testing.TB, k Kind, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrMissing) && !slices.Contains(strings.Split(os.Getenv("DRIFTLOCK_REQUIRE"), ","), string(k)):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// Start starts a server, with more arguments than it has anyway, and waits until it
// serves. Redis and Valkey keep nothing on disk unless args say so. Where the program is
// missing the error is ErrMissing.
func Start(k Kind, args ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "driftlock-"+string(k)+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{Kind: k, dir: dir, args: args}
	if err = s.prepare(); err == nil {
		err = s.Run()
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	return s, nil
}

// prepare makes the folder ready for the first start.
func (s *Server) prepare() error {
	switch s.Kind {
	case Postgres:
		return s.preparePostgres()
	case MariaDB:
		return s.prepareMariaDB()
	}
	return nil
}

// command is how the server is started, and what it says when it serves.
func (s *Server) command(port string) (cmd *exec.Cmd, ready string, err error) {
	switch s.Kind {
	case Postgres:
		return s.postgres(port)
	case MariaDB:
		return s.mariadb(port)
	}
	path, err := s.Kind.redis()
	if err != nil {
		return nil, "", err
	}
	return exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no"), "Ready to accept connections", nil
}

// Run starts the server again after Kill, on the port that it had; the first time on one
// that is free, which another may take before the server does.
func (s *Server) Run() error {
	var err error
	for range 10 {
		addr := s.Addr
		if addr == "" {
			if addr, err = freeAddr(); err != nil {
				return err
			}
		}
		if err = s.run(addr); err == nil || errors.Is(err, ErrMissing) {
			return err
		}
	}
	return err
}

func (s *Server) run(addr string) error {
	_, port, _ := net.SplitHostPort(addr)
	cmd, ready, err := s.command(port)
	if err != nil {
		return err
	}
	cmd.Args = append(cmd.Args, s.args...)
	said, out, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, out
	err = child.Start(cmd)
	out.Close()
	if err != nil {
		said.Close()
		return err
	}
	lines, last := bufio.NewScanner(said), []string{}
	for lines.Scan() {
		if last = append(last, lines.Text()); len(last) > 10 {
			last = last[1:]
		}
		if strings.Contains(lines.Text(), ready) {
			s.rest.Go(func() { // so that it can go on talking; ends with it
				defer said.Close()
				for lines.Scan() {
				}
			})
			s.cmd, s.Addr = cmd, addr
			return nil
		}
	}
	said.Close()
	return fmt.Errorf("does not start: %v\n%s", cmd.Wait(), strings.Join(last, "\n"))
}

// Running says whether the server was started and not ended since.
func (s *Server) Running() bool { return s.cmd != nil }

// Signal sends the server's process a signal.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Kill ends the server as a crash would. Its data stay, for Run.
func (s *Server) Kill() { s.end(killSignal(s.Kind)) }

// Stop ends the server and deletes its data.
func (s *Server) Stop() {
	s.Kill()
	os.RemoveAll(s.dir)
}

// end sends a signal and waits for the end, which it hastens after a while.
func (s *Server) end(sig os.Signal) {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(sig)
	hard := time.AfterFunc(10*time.Second, func() { s.cmd.Process.Kill() })
	s.cmd.Wait()
	hard.Stop()
	s.rest.Wait()
	s.cmd = nil
}

// freeAddr is an address below the ports that systems give to connections: a server that
// was killed must find its own again.
func freeAddr() (string, error) {
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		if l, err := net.Listen("tcp", addr); err == nil {
			return addr, l.Close()
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // they may be forbidden
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// program finds a program on the PATH or where Debian puts it.
func program(name string, places ...string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, place := range places {
		found, _ := filepath.Glob(filepath.Join(place, name))
		if len(found) > 0 {
			return found[len(found)-1], nil // the newest
		}
	}
	return "", fmt.Errorf("%w: no %s on the PATH", ErrMissing, name)
}

// redis is the program of a kind that speaks Redis.
func (k Kind) redis() (string, error) {
	newer, ok := strings.CutPrefix(string(k), "newer-")
	if !ok {
		return program("redis-server")
	}
	dir := os.Getenv("DRIFTLOCK_NEWER")
	path := filepath.Join(dir, newer)
	if dir == "" || exec.Command(path, "--version").Run() != nil {
		return "", fmt.Errorf("%w: DRIFTLOCK_NEWER=%q has no %s that runs", ErrMissing, dir, newer)
	}
	return path, nil
}

// do runs a program to its end.
func do(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}
