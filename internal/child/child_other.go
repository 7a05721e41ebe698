//go:build !linux

package child

import "os/exec"

// Start is cmd.Start: only Linux ends a process with its parent.
func Start(cmd *exec.Cmd) error { return cmd.Start() }
