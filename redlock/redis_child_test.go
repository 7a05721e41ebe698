package redlock

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"driftlock/internal/child"
	"driftlock/internal/servers"
)

// A test process that is killed leaves no server behind, not even a stopped one.
func TestServersEndWithTheirTest(t *testing.T) {
	const env, mark = "DRIFTLOCK_TEST_CHILD", "servers: "
	if os.Getenv(env) != "" {
		servers := startServers(t, servers.Redis, 2)
		servers[1].pause()
		fmt.Println(mark + servers[0].Addr + " " + servers[1].Addr)
		time.Sleep(time.Minute) // until it is killed
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	t.Parallel()
	servers.New(t, servers.Redis) // skips the test if there is none
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), env+"=1", "TMPDIR="+t.TempDir()) // it cannot tidy up
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = child.Start(cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	var addrs []string
	for lines := bufio.NewScanner(out); addrs == nil && lines.Scan(); {
		if _, text, found := strings.Cut(lines.Text(), mark); found {
			addrs = strings.Fields(text)
		}
	}
	if len(addrs) != 2 {
		t.Fatal("the child does not say its servers")
	}
	accepts := func(addr string) bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	for _, addr := range addrs {
		if !accepts(addr) {
			t.Errorf("%s: no server while the child lives", addr)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, addr := range addrs {
		eventually(t, 10*time.Second, addr+" is gone", func() bool { return !accepts(addr) })
	}
}
