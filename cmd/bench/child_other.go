//go:build !linux

package main

import "os/exec"

func startChild(cmd *exec.Cmd) error { return cmd.Start() }
