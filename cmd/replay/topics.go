package main

// What help tells that belongs to no single command.

import (
	"fmt"
	"strings"

	"driftlock/docs"
	"driftlock/sim"
	"driftlock/sim/spell"
	"driftlock/sim/timeline"

	"github.com/spf13/cobra"
)

// helpCommand is help: of a command, or of a topic.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Explain a command or a topic",
		Long:  "help explains a command, or a topic that belongs to more than one.",
		Example: `  replay help run
  replay help exit-status`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return commandNames(cmd.Root()), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if about == nil || err != nil || len(rest) > 0 {
				word := append(rest, args...)[0]
				return fmt.Errorf("there is no command and no topic %q%s", word, spell.Hint(word, commandNames(cmd.Root())))
			}
			return about.Help()
		},
	}
}

// topics are the commands that only explain.
func topics() []*cobra.Command {
	var list []*cobra.Command
	for _, t := range []struct{ name, short, long string }{
		{"exit-status", "What the exit statuses mean", exitStatusTopic},
		{"scenario", "What a scenario file says, field by field", docs.ScenarioFormat},
		{"spaces", "Which families of scenarios a seed picks from", spacesTopic()},
		{"story", "How to read a story: steps, times, clocks, marks", storyTopic},
		{"json", "What --json writes", jsonTopic},
		{"files", "Which files are written, and where", filesTopic},
		{"debugging", "How to stop a run at a step, under a debugger", docs.Debugging},
		{"invariants", "What I1 to I7 promise, and A1 to A6 assume", invariantsTopic},
	} {
		list = append(list, &cobra.Command{Use: t.name, Short: t.short, Long: t.long})
	}
	return list
}

// spacesTopic lists the spaces.
func spacesTopic() string {
	var b strings.Builder
	b.WriteString("A seed of a space stands for one scenario. The spaces:\n\n")
	for _, sp := range sim.Spaces() {
		_, about, _ := strings.Cut(sp.String(), ": ")
		timeline.Para(&b, fmt.Sprintf("  %-12s", sp.Name()), about) // a Builder takes everything
	}
	b.WriteString(`
What a space draws stands above the output of "replay search --space NAME".

  replay search --space crash       look for a break
  replay run crash:17               one of its scenarios
  replay run crash:17 --print       with every value, as a file`)
	return b.String()
}

const exitStatusTopic = `0  nothing broke; of scenarios: each verdict was the expected one, also where
   that is a break; of diff: the runs are the same
1  an invariant broke; of scenarios: a verdict was not the expected one
2  bad arguments, or a bad file: standard error says which and what is allowed
3  two runs differed: of one scenario (run --twice), or those of diff
4  a fault of the tool or the machine: it could not write, or a process blocked
   outside the simulator. That nobody reads on ("| head") is no fault

"go run ./cmd/replay" turns each of 1 to 4 into 1; build it where they matter:

  go build -o replay ./cmd/replay`

const storyTopic = `A line of the story:

step   true time   own clock  who
#68    9.898 000  10.722 833  C     not c1's: c2 has it

#68        the step: the same number everywhere, in every level, in diff and under
           a debugger; --from and --until take it
true time  seconds since the start of the run, by a clock that is right
own clock  what the machine's own clock says then: a node's wall clock, by which
           its keys expire; a client's that its code reads
who        the machine. A–C are three nodes that did the same; c1/2 is the second
           process of c1

Instants between the steps (──) are those that no machine notices: the end of
trust, the end of exclusion, the break of a promise.

A client trusts its lock from the grant until it releases it, is told that it is
lost, or its own clock reaches the deadline. Nodes exclude others as long as so
many of them still hold the key that a rival finds no quorum. Trust that is longer
than exclusion is the break.

Above the story stands the picture of the run: true time runs to the right, each
machine has a lane, and a legend says what stands in them. It is not to scale: from
each instant that matters to the next there is room, so that a gap of milliseconds
is seen beside a lease of ten seconds.

--level lanes    the picture alone
        story    who asked whom, what came of it, and what went wrong
        messages every message on its way
        all      every event
--only c1,A,k    what these clients, nodes and keys did; key:A is a key
--from 20 --until 54`

const jsonTopic = `With --json standard output has one JSON object a line, and what is meant for
people goes to standard error. Of a run:

  scenario    its name
  hash        equal hashes: everything that happened was the same
  ok          nothing broke
  margin_ns   the smallest of the leases; below 0: I2 broke
  leases      each client, key, granted_ns, trust_end_ns, exclusion_end_ns,
              margin_ns, and required_factor: the drift factor with which its
              deadline would have come in time
  violations  each invariant ("I1" to "I7"), at_ns, client, key, margin_ns, text
  probes      how often the run came to each dangerous state
  warnings    what makes the run worth less than it seems
  argv        the command line that replays it
  expected    of scenarios: the verdict is the expected one
  unexpected  of scenarios: how it is not

Instants are nanoseconds of true time; null is one that never comes, and a margin
without an end.

  replay search --json | jq -r '.argv | join(" ")'`

const filesTopic = `Files without a name of yours are written to the current folder:

  driftlock-SPACE-SEED.json     by search: the scenario of a break, shrunk
  driftlock-NAME-shrunk.json    by shrink
  driftlock-NAME.history        by run --record: a run with every event

A file is there whole or not at all, also if the program is interrupted. One that has
another text already is never written over: the new one is called …-2, …-3 and so on.
A file that you name (--html, --perfetto, --out, --records) is written over if it is of
the same kind, and refused if it is anything else.

A scenario file replays as long as the code that runs it does the same. A history
can be read and told without that code: keep it beside a red build.`

const invariantsTopic = `What a lock promises, checked in true time:

  I1 mutex   never two acquisitions of one key trusted at one instant
  I2 sound   while a lock is trusted, enough nodes block to keep rivals out
  I3 fence   fence numbers grow, and a resource takes none that is lower
  I4 live    once faults stop, somebody who waits gets the lock in time
  I5 own     a release or an extension touches only its own keys
  I6 honest  results tell the truth: no success after a loss
  I7 tidy    what failed or was released leaves no key behind

What it assumes for that; a break under one that does not hold is no bug:

  A1  clocks run within what drift factor and buffer cover
  A2  no node forgets what it has answered
  A3  no clock steps by more than factor and buffer cover
  A4  a holder's clock neither stops nor goes back
  A5  all clients name the same nodes
  A6  fence numbers persist`
