//go:build !unix

package servers

import (
	"os"
	"os/exec"
)

func (s *Server) unprivileged(cmd *exec.Cmd, _ string) error {
	cmd.Dir = s.dir
	return nil
}

func killSignal(Kind) os.Signal { return os.Kill }
