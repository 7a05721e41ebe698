package sim

import (
	"fmt"

	"driftlock/redlock"
)

// Event is one thing that happened. What the fields mean hangs on Kind; a field
// that a kind does not use is zero, Client and Node are -1 there.
type Event struct {
	At     int64 // true time in nanoseconds
	Local  int64 // what the machine's clock says then: a node's wall clock, else the clock the client lives on
	Value  int64
	Kind   EventKind
	Op     redlock.Op
	Status redlock.Status
	Client int16
	Node   int16
	Proc   int16  // the process of that client, from 0; -1: its connection or a timer
	Nth    uint32 // of a message from that client to that node, from 1; of a grant: its TTL in ms
	Key    Text
	Owner  Text // the owner value of one attempt
	Note   Text // an error, a log line
}

// Text is a string of the history, by number; 0 is the empty one.
type Text int32

// EventKind says what happened.
type EventKind uint8

const (
	Started    EventKind = iota + 1 // process: began
	Ended                           // process: returned; Note: how, unless normally
	Read                            // process: read its clock (Local)
	Slept                           // process: began to sleep; Value: for how long, on its clock
	Asked                           // process: began to ask all nodes; Op, Key, Owner; Value: how long it waits, on its clock
	Sent                            // client to node: Nth, Op, Key, Owner; Value: true time of arrival, LostOnWay or RefusedByHost
	Executed                        // node: executed Op of Client's Nth; Status; Value: the key's expiry reading in ms (0: none)
	Dropped                         // node: did not execute Client's Nth, being down; Value: true time at which the client hears that, 0 never
	Answered                        // node to client: Value: true time of arrival of the reply to Nth, or LostOnWay
	Heard                           // client from node: the reply to Op of Nth; Status
	GaveUp                          // client: its connection gave up waiting for Nth
	Granted                         // process: Acquire returned; Key, Owner; Value: reading at which trust ends
	Refused                         // process: Acquire failed; Key, Note
	Extended                        // process: Extend succeeded; Key, Owner; Value: reading at which trust ends now
	Unextended                      // process: Extend failed; Key, Owner, Note; Value 1: the holder was told that the lock is lost
	Releasing                       // process: called Release; Key, Owner
	Released                        // process: Release returned; Key, Owner, Note unless nil
	Lost                            // process: its holder's context ended; Key, Owner, Note
	Faulted                         // machine: Value: index of the fault in the scenario, which begins
	Healed                          // machine: Value: index of the fault, which ends
	Holds                           // node: after a fault it has Key for Owner (0: for nobody) until Value
	Wanted                          // process: called Acquire; Key
	Fenced                          // process: its grant has a fence number; Key, Owner; Value: the number
	Wrote                           // process: sent a write to a resource (Node: after the nodes); Nth; Value: true time of arrival, LostOnWay or RefusedByHost
	Stored                          // resource: carried out Client's write Nth; Status Done, or Others: refused; Value: its fence number, 0 for none
	Noted                           // process: a log line of the workload; Note
	Over                            // the run's end: all contexts end
)

// The values of Sent, Answered and Wrote that are no time.
const (
	LostOnWay     = -1 // it never arrives
	RefusedByHost = -2 // nobody listens there, and the sender is told
)

var kindWords = [...]string{
	Started: "started", Ended: "ended", Read: "read", Slept: "slept", Asked: "asked", Sent: "sent", Executed: "executed",
	Dropped: "dropped", Answered: "answered", Heard: "heard", GaveUp: "gave-up", Granted: "granted", Refused: "refused",
	Extended: "extended", Unextended: "unextended", Releasing: "releasing", Released: "released", Lost: "lost",
	Faulted: "faulted", Healed: "healed", Holds: "holds", Wanted: "wanted", Fenced: "fenced", Wrote: "wrote", Stored: "stored", Noted: "noted", Over: "over",
}

// String is a word such as "granted".
func (k EventKind) String() string {
	if int(k) < len(kindWords) && kindWords[k] != "" {
		return kindWords[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}
