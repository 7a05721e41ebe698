// Package tune answers "which drift factor do I need?" by experiment.
//
// A Plan says what is known of a deployment: TTL, nodes, how their clocks and
// the client's behave, how long messages take, how long a lock is held. Run
// simulates leases of it, each with clocks of its own, with a drift factor of 0.
// From where its deadline fell and where exclusion ended follows how much of the
// TTL each lease should not have trusted; so one batch gives the whole curve of
// factor against violation probability, for every buffer.
//
// With one client, or a fixed hold, that is exact: the factor moves the deadline
// and nothing else. Where several clients hold to their deadlines it also decides
// who is granted the lock next; Confirm runs the batch again with a factor in
// place and tells the difference.
//
// Beside the batch stands the closed form of docs/drift-math.md for the worst
// that the same clocks can do (Plan.Closed).
//
// Nothing here decides anything inside a run: there, sim alone does. Rates,
// steps and delays are drawn in whole numbers, so a run is the same everywhere;
// shares and probabilities are floats.
package tune
