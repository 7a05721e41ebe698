package servers

import (
	"net"
	"os"
	"testing"
	"time"
)

// Each server starts, serves, survives its own end with the same address, and leaves
// nothing behind.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, k := range []Kind{Redis, Postgres, MariaDB} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			var shared Shared
			s := shared.Server(t, k)
			defer shared.Stop()
			serves := func() bool {
				c, err := net.DialTimeout("tcp", s.Addr, 5*time.Second)
				if err == nil {
					c.Close()
				}
				return err == nil
			}
			if !serves() {
				t.Errorf("%s does not serve", s.Addr)
			}
			s.Kill()
			if serves() {
				t.Errorf("%s serves after its end", s.Addr)
			}
			if err := s.Run(); err != nil || !serves() {
				t.Errorf("a second start: %v", err)
			}
			shared.Stop()
			if _, err := os.Stat(s.dir); err == nil || serves() {
				t.Errorf("%s: something is left", s.dir)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	if path, err := program("no-such-program", t.TempDir()); err == nil {
		t.Error(path)
	}
}
