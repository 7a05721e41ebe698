// Package child starts processes that end with this one, however that ends: a test
// binary that is killed runs no clean-up.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start is cmd.Start, and has Linux kill the process when this one has ended. Elsewhere
// it is only cmd.Start.
//
// Linux does so already when the thread ends that started it. The one here never does.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error)
	births <- func() { done <- cmd.Start() }
	return <-done
}

var births = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for f := range births {
			f()
		}
	}()
}
