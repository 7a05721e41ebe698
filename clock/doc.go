// Package clock has clocks on exact integer arithmetic, and the few ways in
// which code may wait on an injected clock.
//
// Code that takes its clock as an argument reads Now, and blocks or schedules
// only through [Sleep], [WithTimeout], [WithDeadline], [Go] and the clock's own
// AfterFunc. Any clockwork.Clock will do: the machine's own ([Boottime]), one
// that runs fast or slow ([Drifting]), a fake, or a simulator's.
package clock
