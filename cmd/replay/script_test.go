package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"replay": main})
}

// The scripts run the program as a process of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":      exits,
			"unread":     unread,
			"interrupts": interrupts,
			"halts":      halts,
			"stops":      stops,
			"fill":       fill10MB,
		},
	})
}

// statusArgs are those of a command "NAME STATUS PROGRAM ARGS…".
func statusArgs(ts *testscript.TestScript, neg bool, args []string) (status int, command []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: STATUS PROGRAM [ARGS…], not negated")
	}
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	return status, args[1:]
}

func checkStatus(ts *testscript.TestScript, err error, want int) {
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// exits runs a program and checks its exit status: exits 2 replay run nowhere.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	status, command := statusArgs(ts, neg, args)
	checkStatus(ts, ts.Exec(command[0], command[1:]...), status)
}

// started prepares a program as exec does.
func started(ts *testscript.TestScript, command []string) *exec.Cmd {
	path, err := exec.LookPath(command[0])
	ts.Check(err)
	cmd := exec.Command(path, command[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	return cmd
}

// unread runs a program whose standard output nobody reads: it must end by itself, with
// that status or, of "0/1", one of those, and without a word about it.
func unread(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: unread STATUS PROGRAM [ARGS…]")
	}
	allowed, command := strings.Split(args[0], "/"), args[1:]
	cmd := started(ts, command)
	r, w, err := os.Pipe()
	ts.Check(err)
	ts.Check(r.Close())
	defer w.Close()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		ts.Fatalf("%v", err)
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); !slices.Contains(allowed, got) {
		ts.Fatalf("exit status %s, want %s: %s", got, args[0], stderr.String())
	}
	if strings.Contains(stderr.String(), "standard output") || strings.Contains(stderr.String(), "pipe") || strings.Contains(stderr.String(), "goroutine") {
		ts.Fatalf("standard error: %s", stderr.String())
	}
}

// interrupts runs a program, sends it an interrupt once it has written a line,
// and checks how it ends. Its last line must match the last argument… of the
// script's own "stdout" is not to be had here, so: it must say that it stopped.
func interrupts(ts *testscript.TestScript, neg bool, args []string) {
	status, command := statusArgs(ts, neg, args)
	cmd := started(ts, command)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() }).Stop()
	lines := bufio.NewReader(out)
	_, err = lines.ReadString('\n')
	ts.Check(err)
	ts.Check(cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	ts.Check(err)
	checkStatus(ts, cmd.Wait(), status)
	if !strings.Contains(string(rest), "stopped before the end") {
		ts.Fatalf("it does not say that it was stopped:\n%s", rest)
	}
}

// stops runs a program and sends it an interrupt after a while: it must end soon,
// with that status, and say that it was stopped. Where the signal itself ends it, it had
// not come to wait for one yet, and is given longer.
func stops(ts *testscript.TestScript, neg bool, args []string) {
	status, command := statusArgs(ts, neg, args)
	after, err := time.ParseDuration(command[0])
	ts.Check(err)
	const tries = 4
	for try := 1; ; try++ {
		cmd := started(ts, command[1:])
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		ts.Check(cmd.Start())
		time.Sleep(after)
		ts.Check(cmd.Process.Signal(os.Interrupt))
		kill := time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		if kill.Stop() && cmd.ProcessState.ExitCode() == -1 && try < tries {
			after *= 2
			continue
		}
		checkStatus(ts, err, status)
		if !strings.Contains(out.String(), "stopped before the end") {
			ts.Fatalf("it does not say that it was stopped:\n%s", out.String())
		}
		return
	}
}

// halts runs a program and sends it an interrupt while it reads standard input: it
// must end at once.
func halts(ts *testscript.TestScript, neg bool, command []string) {
	if neg || len(command) == 0 {
		ts.Fatalf("usage: halts PROGRAM [ARGS…]")
	}
	cmd := started(ts, command)
	in, err := cmd.StdinPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	var late atomic.Bool
	defer time.AfterFunc(10*time.Second, func() { late.Store(true); cmd.Process.Kill() }).Stop()
	_, err = in.Write(bytes.Repeat([]byte(" "), 1<<20)) // more than a pipe holds: it is reading
	ts.Check(err)
	ts.Check(cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err == nil || late.Load() {
		ts.Fatalf("it did not end: %v", err)
	}
}

// fill writes a file of one text over and over: fill FILE TEXT TIMES.
func fill10MB(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: fill FILE TEXT TIMES")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte(args[1]), n), 0o644))
}
