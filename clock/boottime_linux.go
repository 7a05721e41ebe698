package clock

import "golang.org/x/sys/unix"

// readSuspends returns a reading of the machine's two clocks, in this order, in
// nanoseconds; nil if it has no boot-time clock.
func readSuspends() func() (boot, monotonic int64) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return nil
	}
	return func() (boot, monotonic int64) {
		var b, m unix.Timespec
		// Neither fails once the first has not.
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &b)
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &m)
		return b.Nano(), m.Nano()
	}
}
