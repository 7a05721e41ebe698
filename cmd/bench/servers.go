package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// servers are redis-server processes of the bench's own, on the loopback and without
// persistence.
type servers struct {
	dir  string
	cmds []*exec.Cmd
	addr []string
}

func startServers(n int) (_ *servers, err error) {
	s := &servers{}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "driftlock-bench-"); err != nil {
		return nil, err
	}
	for range n {
		if err := s.start(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// start starts one server on a port that was free a moment ago.
func (s *servers) start() error {
	for range 10 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addr := l.Addr().String()
		l.Close()
		_, port, _ := net.SplitHostPort(addr)
		cmd := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no")
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := startChild(cmd); err != nil {
			return err
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), "Ready to accept connections") {
				s.cmds, s.addr = append(s.cmds, cmd), append(s.addr, addr)
				return nil
			}
		}
		cmd.Wait()
	}
	return errors.New("redis-server does not start")
}

func (s *servers) stop() {
	for _, c := range s.cmds {
		c.Process.Kill()
		c.Wait()
	}
	os.RemoveAll(s.dir)
}

func (s *servers) pause(i int) error  { return s.cmds[i].Process.Signal(syscall.SIGSTOP) }
func (s *servers) resume(i int) error { return s.cmds[i].Process.Signal(syscall.SIGCONT) }

// clients opens a client for each server.
func (s *servers) clients(timeout time.Duration) []*redis.Client {
	var cs []*redis.Client
	for _, addr := range s.addr {
		cs = append(cs, redis.NewClient(&redis.Options{Addr: addr, PoolSize: 32, ReadTimeout: timeout, WriteTimeout: timeout, DialTimeout: timeout}))
	}
	return cs
}

func closeAll(cs []*redis.Client) {
	for _, c := range cs {
		c.Close()
	}
}

// sweep counts the keys on all servers by their prefix, and deletes them.
func (s *servers) sweep() (left map[string]int64, err error) {
	cs := s.clients(0)
	defer closeAll(cs)
	left = map[string]int64{}
	for i, c := range cs {
		keys, err := c.Keys(background, "*").Result()
		if err == nil {
			err = c.FlushAll(background).Err()
		}
		if err != nil {
			return nil, fmt.Errorf("server %d: %w", i, err)
		}
		for _, key := range keys {
			prefix, _, _ := strings.Cut(key, ":")
			left[prefix]++
		}
	}
	return left, nil
}
