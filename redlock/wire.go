package redlock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Op says what a request asks of a node.
type Op uint8

const (
	OpAcquire Op = iota + 1 // set Key to Owner for TTL if there is no such key
	OpExtend                // let Key live at least TTL from now if Owner holds it; never shorten
	OpRelease               // delete Key if Owner holds it
)

// A Request is what one node is asked: plain data, the same for every node of a lock.
type Request struct {
	Op    Op
	Key   string
	Owner string        // the random value of one attempt, the same on all nodes
	TTL   time.Duration // whole milliseconds; of a release: how long the key it frees can live
	Fence uint64        // OpAcquire with fencing: the number proposed
}

// Status is a node's answer. Yes and no are not enough: release and extend must
// tell a key that is gone from one that is another's, and acquire must tell
// another's key from our own.
type Status uint8

const (
	Failed Status = iota // Err says why
	Done                 // set, extended, deleted
	Gone                 // no such key; of an acquire: it is free, but Fence is not above the node's own number
	Others               // the key has another owner
	Ours                 // acquire: the key had our owner already (a resent SET)
)

// String is the status in a word, such as "done".
func (s Status) String() string {
	switch s {
	case Failed:
		return "failed"
	case Done:
		return "done"
	case Gone:
		return "gone"
	case Others:
		return "others"
	case Ours:
		return "ours"
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// A Reply is one node's answer to one request.
type Reply struct {
	Node   int // index of the node in its lock
	Status Status
	Fence  uint64 // the node's own number; only with fencing
	Err    error  // only with Failed
}

// A Node is one independent store with an atomic conditional write: Redis, SQL,
// anything.
//
// Do executes reqs in order, in one round trip where the store can (a pipeline,
// a transaction, a batch), and fills replies, each preset to Failed with
// ErrNoAnswer. It returns when the store answered or its connection gave up; a
// batch belongs to no caller, so it has no context. A reply whose Err is
// ErrUnsent says that the request was certainly not executed. Do is called by
// one goroutine at a time.
type Node interface {
	Name() string
	Do(reqs []*Request, replies []Reply)
}

// Errors that a Reply carries.
var (
	ErrNoAnswer = errors.New("no answer") // the request may have been executed
	ErrUnsent   = errors.New("not sent")  // the request was certainly not executed
)

// A Transport carries a request to every node of a lock. It is safe for
// concurrent use.
type Transport interface {
	// Len is the number of nodes.
	Len() int

	// Broadcast sends req to every node when the loop over it starts, once,
	// also if ctx has ended already; one loop per Broadcast. It yields at most
	// one reply a node, in order of arrival. Of a node that has not answered by
	// timeout (an event of the injected clock; replies that are there already
	// win) it yields ErrNoAnswer, and when ctx ends, the cause of ctx. Both end
	// only the wait: requests in flight stay there, also when the consumer
	// stops early. When the loop has ended it yields nothing more, to nobody: a lock
	// uses its loop again, and would count the answer to the request before.
	//
	// Per node, the requests of one owner are executed in the order in which
	// they were broadcast (see Lane).
	Broadcast(ctx context.Context, req Request, timeout time.Duration) iter.Seq[Reply]

	Close() error
}

// Silence yields, for every node of n whose bit in heard is not set, a reply
// that failed with why. It is how a Broadcast ends its wait.
func Silence(n int, heard uint64, why error, yield func(Reply) bool) {
	for i := range n {
		if heard&(1<<i) == 0 && !yield(Reply{Node: i, Err: why}) {
			return
		}
	}
}
