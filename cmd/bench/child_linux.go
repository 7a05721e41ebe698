package main

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startChild starts a process that ends with this one, however that ends. Linux ends the
// child when the thread ends that started it; the one here never does.
func startChild(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
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
