package sim

import (
	"driftlock/clock"
	"driftlock/sim/network"
	"driftlock/sim/node"
)

// Version is the version of the scenario format that this code writes.
const Version = 1

// A Scenario says everything about a run, as plain data: the same scenario run
// by the same code gives the same history, always and everywhere. All instants
// and durations are of true time unless a field says otherwise.
type Scenario struct {
	Version int            `json:"version"`
	Name    string         `json:"name,omitzero"`
	About   string         `json:"about,omitzero"`  // two lines for people
	Source  string         `json:"source,omitzero"` // where the story is from
	Claim   string         `json:"claim,omitzero"`  // what it puts to the test, of a catalogue: "clocks", "pauses", "forgetting", "network", "extension" or "ownership"
	Seed    uint64         `json:"seed"`            // of the keyed draws
	Until   clock.Duration `json:"until"`           // when every process's context ends
	Grace   clock.Duration `json:"grace,omitzero"`  // how long the world runs on after that; 0: 1 s
	Lock    Lock           `json:"lock"`
	Nodes   []Node         `json:"nodes"`
	Clients []Client       `json:"clients"`
	// What the lock protects; a write travels the network, where its name is that
	// of a machine as good as a node's.
	Resources []ResourceConfig `json:"resources,omitempty"`
	Network   network.Config   `json:"network"`
	Faults    []Fault          `json:"faults,omitempty"`
	Live      *Live            `json:"live,omitzero"` // none: liveness is not judged
	Expect    *Expect          `json:"expect,omitzero"`
	Remedies  []Remedy         `json:"remedies,omitempty"`
}

// Lock names the lock under test and its options.
type Lock struct {
	Kind        string         `json:"kind,omitzero"`   // "redlock" (the default) or "flawed"
	Flaws       []string       `json:"flaws,omitempty"` // of a flawed one: its faults, by their names in package flawed
	TTL         clock.Duration `json:"ttl"`             // asked for; the lock cuts it to whole milliseconds
	Factor      string         `json:"factor"`          // drift factor f, a decimal such as "0.01": never a float
	Buffer      clock.Duration `json:"buffer"`          // drift buffer b
	NodeTimeout clock.Duration `json:"node_timeout"`    // how long an attempt waits for a node, on the client's clock
	GiveUp      clock.Duration `json:"give_up"`         // how long a client's connection waits for its node, on the client's clock
	MinValidity clock.Duration `json:"min_validity,omitzero"`
	Fencing     bool           `json:"fencing,omitzero"`
	Retry       Retry          `json:"retry,omitzero"`
}

// Retry is how an acquire step tries again.
type Retry struct {
	Tries int            `json:"tries,omitzero"` // attempts in all; 0: until the run ends
	Min   clock.Duration `json:"min,omitzero"`   // the pause between two is drawn from [Min, Max]
	Max   clock.Duration `json:"max,omitzero"`
	// How long an outage is waited out, on the client's clock: 0 is the lock's default.
	Outage clock.Duration `json:"outage,omitzero"`
}

// Clock is that of one machine. Its wall and its monotonic clock run at Rate,
// both from 0 at the start; Offset is what the wall clock is ahead.
type Clock struct {
	Rate   clock.Rate     `json:"rate,omitzero"`
	Offset clock.Duration `json:"offset,omitzero"`
}

// Node is one lock server. Keys expire on its wall clock. An alias is another
// address of the node of that name, which clients take for a node of its own:
// requests to it reach that one.
type Node struct {
	Name  string `json:"name"`
	Alias string `json:"alias,omitzero"`
	Clock Clock  `json:"clock,omitzero"`
	node.Config
}

// Client is one machine that wants the lock.
type Client struct {
	Name   string `json:"name"`
	Clock  Clock  `json:"clock,omitzero"`
	Lives  Lives  `json:"lives,omitzero"`  // the clock that its code reads
	Repeat int    `json:"repeat,omitzero"` // runs of Steps; 0: one
	Steps  []Step `json:"steps,omitempty"` // the built-in workload; none under a Workload of code
}

// Lives is the clock that a client's code reads and sleeps on.
type Lives string

const (
	Boot      Lives = "boot"      // never steps, goes on while suspended; the default
	Monotonic Lives = "monotonic" // never steps, stops while suspended
	Wall      Lives = "wall"      // steps
)

// Step is one line of the built-in workload. After an acquire that failed, and
// once the client has learnt that its lock is lost, the steps up to the next
// acquire of that key are passed over, except for sleeps and deletes.
//
//	{"do":"acquire","key":"k"}               try until held, or the retries are used up
//	{"do":"hold","key":"k","for":"8s"}       work for so long, on the client's clock
//	{"do":"hold","key":"k","percent":100}    work for so much of the validity that remains
//	{"do":"watch","key":"k","for":"8s"}      work for so long, while the lock is kept alive
//	{"do":"watch","key":"k"}                 keep it alive until it is released or lost, and go on
//	{"do":"extend","key":"k"}                once
//	{"do":"release","key":"k"}
//	{"do":"write","key":"k","to":"S"}        write to a resource, as the holder of the key
//	{"do":"sleep","for":"1s"}                wait without a lock, on the client's clock
//	{"do":"delete","key":"k"}                delete the key on all nodes, whoever holds it
type Step struct {
	Do      string         `json:"do"`
	Key     string         `json:"key,omitzero"`
	To      string         `json:"to,omitzero"` // write: a resource's name
	For     clock.Duration `json:"for,omitzero"`
	Percent int            `json:"percent,omitzero"` // of the remaining validity
	TTL     clock.Duration `json:"ttl,omitzero"`     // acquire, extend, watch; 0: the lock's
}

// ResourceConfig is one thing that the lock protects: a database row, a file.
type ResourceConfig struct {
	Name string `json:"name"`
	// Fenced resources refuse a write with a fence number lower than one that they
	// have seen, and one without a number.
	Fenced bool `json:"fenced,omitzero"`
}

// Fault is one thing that goes wrong with one machine.
//
//	pause     nodes and clients: nothing runs for For, the clocks go on; requests queue
//	suspend   clients: a pause during which the monotonic clock stops
//	crash     nodes: down for For (0: for good) and until their quarantine is over, then back with
//	          what their persistence kept; clients: their processes end, without a word
//	step      the wall clock jumps by By
//	rate      the clocks run at Rate for For
//	freeze    the wall clock stands still for For
//	evict     the node drops Key: when it goes on if it is paused, and not if it is down
//	flush     the node drops all keys, likewise
//	failover  the node becomes its replica, which is By behind
type Fault struct {
	Kind string         `json:"kind"`
	On   string         `json:"on"` // a machine's name
	At   clock.Duration `json:"at"`
	For  clock.Duration `json:"for,omitzero"`
	By   clock.Duration `json:"by,omitzero"`   // step: signed; crash, failover: how much true time of writes is lost
	Rate clock.Rate     `json:"rate,omitzero"` // only of kind rate
	Key  string         `json:"key,omitzero"`  // only of kind evict
	// Only of a node's crash: its host is still there and refuses at once what is
	// sent to it. Otherwise there is silence.
	Refuse bool `json:"refuse,omitzero"`
}

// Live demands progress: from From on, when the scenario's faults are over or are
// there to stay, somebody who waits must be granted a key that nobody trusts to
// hold, within Within. If that is 0 the bound is how long the keys left behind may
// live on a quorum of the nodes that are there to stay, and 200 rounds of retrying;
// without such a quorum, or without jitter, there is none and nothing is judged.
type Live struct {
	From   clock.Duration `json:"from"`
	Within clock.Duration `json:"within,omitzero"`
}

// Expect is the verdict that a catalogue scenario must have. Margin is the
// smallest margin of the run's leases, and Gap of I1: the smallest gap between
// two leases of one key. Both are in true time.
type Expect struct {
	OK     bool            `json:"ok"`
	Breaks []Invariant     `json:"breaks,omitempty"`
	Margin *clock.Duration `json:"margin,omitzero"` // "-667.23077ms"; none: not checked
	Gap    *clock.Duration `json:"gap,omitzero"`    // "-8.798s"
	Text   string          `json:"text,omitzero"`   // for people: what one should see
}
