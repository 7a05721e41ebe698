package sim

// Stopping a run at a step, to look at it with a debugger (docs/debugging.md).

// StopAt has Stopped called when the step, which count from 1, has just happened:
// on the goroutine of the process that did it, if one did. A debugger may hold the
// run there for as long as it likes; ErrStuck is not told of such a run.
func StopAt(step int) Option { return func(o *options) { o.stop = step } }

// Stopped is where to set a breakpoint: a run with StopAt calls it. Its arguments
// are the step, and what happened; what they name by number, h has as text.
//
//go:noinline
func Stopped(h *History, step int, e Event) {
	if hook != nil {
		hook(h, step, e)
	}
}

// hook is a test's, in the place of a breakpoint.
var hook func(h *History, step int, e Event)
