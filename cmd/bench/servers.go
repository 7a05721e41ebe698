package main

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"driftlock/internal/servers"

	"github.com/redis/go-redis/v9"
)

// farm is redis-server processes of the bench's own, on the loopback and without
// persistence.
type farm []*servers.Server

func startServers(n int) (farm, error) {
	var f farm
	for range n {
		s, err := servers.Start(servers.Redis)
		if err != nil {
			f.stop()
			return nil, err
		}
		f = append(f, s)
	}
	return f, nil
}

func (f farm) stop() {
	for _, s := range f {
		s.Stop()
	}
}

func (f farm) pause(i int) error  { return f[i].Signal(syscall.SIGSTOP) }
func (f farm) resume(i int) error { return f[i].Signal(syscall.SIGCONT) }

// clients opens a client for each server.
func (f farm) clients(timeout time.Duration) []*redis.Client {
	var cs []*redis.Client
	for _, s := range f {
		cs = append(cs, redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: 32, ReadTimeout: timeout, WriteTimeout: timeout, DialTimeout: timeout}))
	}
	return cs
}

func closeAll(cs []*redis.Client) {
	for _, c := range cs {
		c.Close()
	}
}

// sweep counts the keys on all servers by their prefix, and deletes them.
func (f farm) sweep() (left map[string]int64, err error) {
	cs := f.clients(0)
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
