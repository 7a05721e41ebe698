// Package sim runs the lock of package redlock under drifting and stepping
// clocks, delayed and lost messages, pauses, suspends and crashes that forget,
// the same way every time, and says when and why the lock's promise broke.
//
//	seed ─Generate→ Scenario ─Run→ History ─Check→ Verdict
//
// Each arrow is a plain function from value to value. A Scenario is plain data
// and says everything about a run. Run executes the shipped lock on simulated
// machines: processes are coroutines, of which one runs at a time, chosen by a
// queue of events in true time. A History is everything that happened, with the
// reading of every clock; equal hashes mean equal histories. Check judges it in
// true time, and solves every instant from the clocks: nothing is sampled.
//
// Determinism: no real time, no global source of randomness, no goroutine, no
// order of a map, no float, address or environment reaches a decision or the history.
// The exceptions are few functions, such as those of run.go that watch over the world in
// real time and those of search.go, which runs many worlds at once: each is named with
// its reason in the test that holds everything else to the rule.
package sim
