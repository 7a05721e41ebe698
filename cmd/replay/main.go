// Command replay runs simulated lock scenarios: it searches for one in which
// the lock's promise breaks, and tells step by step why it did.
//
// main.go has the exit statuses, output.go where things are written, and each
// subcommand a file of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"driftlock/sim/spell"

	"github.com/spf13/cobra"
)

// Exit statuses. They are part of what scripts rely on (docs/design.md, section 9).
const (
	statusHeld     = 0
	statusBroke    = 1 // an invariant broke; of scenarios: a verdict was not the expected one
	statusMisuse   = 2 // bad arguments, or a bad file
	statusDiffered = 3 // two runs differed
	statusFault    = 4 // a fault of the tool, or of the machine it runs on
)

const statusHelp = `Exit status: 0 held, 1 an invariant broke, 2 bad arguments or file, 3 two runs
differed, 4 a fault of the tool or the machine.`

func main() {
	signal.Ignore(syscall.SIGPIPE) // of a closed pipe it does not die: the status is that of the verdict
	ballast := make([]byte, ballastSize)
	a := &app{in: os.Stdin, out: newStream(os.Stdout), err: newStream(os.Stderr), self: self(os.Args[0])}
	status := a.execute(context.Background(), os.Args[1:])
	runtime.KeepAlive(ballast)
	os.Exit(status)
}

// ballastSize is how much memory the program holds and never touches, so that it takes
// up none. The garbage collector comes when there is as much garbage as memory in use: a
// search uses so little that it came every few milliseconds, for a fifth of the time on
// two cores.
const ballastSize = 16 << 20

// untilInterrupted is the context of a command that Ctrl-C ends early, with what
// it has so far; a second one ends the program at once, as the first one does for
// every other command.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// app is one call of the program.
type app struct {
	in   io.Reader
	out  *stream
	err  *stream
	self []string // how the program was called, for the commands it prints

	pictures pictures
}

// failure is an error with the exit status that it leads to; without an error
// the status has been explained already.
type failure struct {
	status int
	err    error
	next   []string // arguments of the command that explains more
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit status %d", f.status)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// fail ends a command with a status and a message.
func fail(status int, format string, a ...any) error {
	return &failure{status: status, err: fmt.Errorf(format, a...)}
}

// ended ends a command with a status that needs no message.
func ended(status int) error {
	if status == statusHeld {
		return nil
	}
	return &failure{status: status}
}

// The templates of all commands share their functions. This one takes its time, so that
// only --version asks.
func init() { cobra.AddTemplateFunc("codeVersion", codeVersion) }

// execute runs a command line and returns its exit status.
func (a *app) execute(ctx context.Context, args []string) (status int) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(a.err, "replay: a fault of this tool, please report it with the command: %v\n%s", v, debug.Stack())
			status = statusFault
		}
	}()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a.out.unread = stop // a search for nobody ends
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	status = a.statusOf(cmd, err)
	if err := a.out.failed(); err != nil {
		fmt.Fprintf(a.err, "replay: cannot write to standard output: %v\n", err)
		return statusFault
	}
	return status
}

// statusOf tells an error and returns its exit status. What is no failure comes
// from reading the command line.
func (a *app) statusOf(cmd *cobra.Command, err error) int {
	if err == nil {
		return statusHeld
	}
	var f *failure
	if errors.As(err, &f) {
		if f.err != nil {
			a.complain(f.err, f.next...)
		}
		return f.status
	}
	next := append(strings.Fields(cmd.CommandPath())[1:], "--help")
	if cmd.Name() == "help" {
		next = next[:1]
	}
	a.complain(err, next...)
	return statusMisuse
}

// complain tells an error, each line of which stands for itself, and what to try
// next.
func (a *app) complain(err error, next ...string) {
	fmt.Fprintf(a.err, "replay: %v\n", err)
	if len(next) > 0 {
		fmt.Fprintf(a.err, "Try: %s\n", command(a.argv(next...)))
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "replay",
		Short: "Find out when and why a distributed lock breaks its promise",
		Long: `replay runs the lock of this project in a simulated world of drifting clocks,
delays, pauses and crashes, the same way every time. Begin with "replay search",
or with the file that a red build has left: "replay run FILE".

` + statusHelp,
		Example: `  replay search                             find a run in which the lock breaks
  replay run driftlock-drift-wide-24.json   that run again, step by step
  replay shrink FILE                        the smallest scenario that breaks the same
  replay scenarios                          the catalogue of known failures
  replay help scenario                      what a scenario file says`,
		Version:       "of the code", // see the template
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fmt.Errorf("there is no %s %q%s", strings.TrimPrefix(cmd.CommandPath()+" command", "replay "), args[0], spell.Hint(args[0], commandNames(cmd)))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{codeVersion}}\n")
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages ", ".FlagUsagesWrapped 80 ",
		"{{rpad .CommandPath .CommandPathPadding}}", "{{rpad .Name .NamePadding}}", // of the topics
		"Additional help topics:", "Additional help topics (replay help TOPIC):",
	).Replace(root.UsageTemplate()))
	root.AddCommand(a.runCommand(), a.searchCommand(), a.mergeCommand(), a.shrinkCommand(), a.scenariosCommand(), a.diffCommand())
	root.AddCommand(a.tuneCommand(), a.measureCommand(), a.flawsCommand())
	root.AddCommand(topics()...)
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Args, c.RunE = root.Args, root.RunE
	}
	return root
}

// commandNames are what can follow a command's name.
func commandNames(cmd *cobra.Command) (list []string) {
	for _, c := range cmd.Commands() {
		list = append(list, c.Name())
	}
	return list
}

// self is how the program was called: as a user would type it again.
func self(arg0 string) []string {
	if strings.Contains(filepath.ToSlash(arg0), "/go-build") { // go run puts it there
		return []string{"go", "run", "./cmd/replay"}
	}
	return []string{arg0}
}
