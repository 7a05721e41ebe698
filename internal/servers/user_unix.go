//go:build unix

package servers

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged has cmd run as a user of its own if this process is root's: database
// servers refuse to be. The server's folder becomes that user's.
func (s *Server) unprivileged(cmd *exec.Cmd, name string) error {
	cmd.Dir = s.dir
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return fmt.Errorf("root cannot run it, and %w: %w", ErrMissing, err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(s.dir, uid, gid)
}

// killSignal ends a server at once. PostgreSQL's children outlive a SIGKILL of their
// parent for a while; on SIGQUIT it ends them, and recovers as after a crash.
func killSignal(k Kind) os.Signal {
	if k == Postgres {
		return syscall.SIGQUIT
	}
	return os.Kill
}
