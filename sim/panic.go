package sim

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"

	"driftlock/clock"
)

// A Panic is the panic of a process. Run passes it on with the value it had, as
// rapid and package testing need it; what else is known of it OnPanic tells.
type Panic struct {
	Value    any
	Process  string // "c1", "c1/2"; of a timer, the client
	Step     int    // the last of the history before it
	At       int64  // true time in nanoseconds
	Stack    string // of the process
	Scenario Scenario

	steps bool // the scenario says all that was run
}

// panicked is a panic with the value v, in a process or, without one, in a timer of
// a client.
func (w *world) panicked(c *client, p *Process, v any) *Panic {
	x := &Panic{Value: v, Process: c.conf.Name, Step: w.history.Len(), At: w.now, Stack: string(debug.Stack())}
	if p != nil {
		x.Process = p.name
	}
	return x
}

// panicking says whether a panic is on its way up through the caller.
func panicking() bool {
	var pcs [64]uintptr
	for skip := 1; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		for frames, more := runtime.CallersFrames(pcs[:n]), n > 0; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Function == "runtime.gopanic" {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

// String tells it in some lines: who, when, the stack, and the command that comes
// to it again if there is one.
func (p Panic) String() string {
	text := fmt.Sprintf("%s panicked at step %d, true time %v: %v\n%s", p.Process, p.Step, clock.Duration(p.At), p.Value, strings.TrimSpace(p.Stack))
	if again := p.replay(); again != "" {
		text += "\nReplay: " + again
	}
	return text + "\n"
}

// replay is the command that runs a generated scenario again: its seed's, if the
// space is one that the command line knows. Of a file its reader knows the name,
// and a workload of code is no part of a scenario.
func (p *Panic) replay() string {
	name, _ := strings.CutSuffix(p.Scenario.Name, fmt.Sprintf("-%d", p.Scenario.Seed))
	sp, err := FindSpace(name)
	if err != nil || !p.steps || !reflect.DeepEqual(Generate(sp, p.Scenario.Seed), p.Scenario) {
		return ""
	}
	return fmt.Sprintf("replay run --space %s --seed %d", name, p.Scenario.Seed)
}
