// Package network decides when a message arrives, or that it never does. It is
// pure: the same configuration, seed and message give the same answer, whatever
// else is sent.
package network

import (
	"driftlock/clock"
)

// Law is the shape of a delay.
type Law string

const (
	Constant    Law = "constant"    // Min
	Uniform     Law = "uniform"     // Min to Max
	Exponential Law = "exponential" // Min and an exponential variate of mean Mean, cut at Max
	Pareto      Law = "pareto"      // heavy tail: Min / u^(2/3) (shape 1.5), cut at Max
)

// Delay is a law of delays, in whole nanoseconds.
type Delay struct {
	Law  Law            `json:"law,omitzero"` // constant is the default
	Min  clock.Duration `json:"min"`
	Mean clock.Duration `json:"mean,omitzero"`
	Max  clock.Duration `json:"max,omitzero"`
}

// Path is one direction between a client and a node.
type Path struct {
	Delay   Delay          `json:"delay"`
	LossPPM int            `json:"loss_ppm,omitzero"` // messages lost, in a million
	LossFor clock.Duration `json:"loss_for,omitzero"` // once one is lost, so is all for so long
	SlowPPM int            `json:"slow_ppm,omitzero"` // messages that are late, in a million
	SlowBy  clock.Duration `json:"slow_by,omitzero"`  // by so much
	SlowFor clock.Duration `json:"slow_for,omitzero"` // once one is late, so is all for so long
}

// Rule is about single messages: "the 3rd request from c1 to C is 700 ms late".
// Requests go from a client to a node, replies from a node to a client. An empty
// name stands for every one.
type Rule struct {
	From  string         `json:"from,omitzero"`
	To    string         `json:"to,omitzero"`
	Nth   int            `json:"nth,omitzero"` // from 1; 0: every one
	Late  clock.Duration `json:"late,omitzero"`
	Drop  bool           `json:"drop,omitzero"`
	Twice bool           `json:"twice,omitzero"` // it arrives again, as if the network had resent it
}

// Cut parts the machines in From from those in To for a while (0: for good).
type Cut struct {
	From   []string       `json:"from"`
	To     []string       `json:"to"`
	At     clock.Duration `json:"at,omitzero"`
	For    clock.Duration `json:"for,omitzero"`
	OneWay bool           `json:"one_way,omitzero"` // only what goes from From to To
	Refuse bool           `json:"refuse,omitzero"`  // the sender is told at once; otherwise silence
}

// Config is the network of a scenario.
type Config struct {
	Request Path            `json:"request"`
	Reply   Path            `json:"reply"`
	Paths   map[string]Path `json:"paths,omitempty"` // "c1>A", "A>c1": those that differ
	Cuts    []Cut           `json:"cuts,omitempty"`
	Rules   []Rule          `json:"rules,omitempty"`

	// From here on (0: never) nothing happens to a message by chance: none is lost,
	// and each takes the least delay of its path. Cuts and rules go on.
	QuietFrom clock.Duration `json:"quiet_from,omitzero"`
}
