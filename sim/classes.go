package sim

// The classes of what can go wrong beside drift.

// faults is a set of the classes of what can go wrong beside drift. Each is off
// in a random part of the scenarios (swarm testing), so that one does not hide
// what another would show.
type faults uint

const (
	faultLoss   faults = 1 << iota // messages are lost
	faultCut                       // clients cannot reach more than q nodes
	faultDelay                     // messages take time
	faultOffset                    // wall clocks are not at 0 at the start

	// The classes of the fault spaces. Most come tame, within what the lock assumes
	// (A1 to A6), or beyond it.
	faultPause
	faultSuspend
	faultCrash
	faultAOF
	faultSnapshot
	faultQuarantine
	faultFailover
	faultEvict
	faultFlush
	faultStep
	faultRate
	faultFreeze
	faultDeath
	faultPartition
	faultSlow
	faultMessage
	faultFence
	faultAlias
	endOfFaults

	allFaults  = endOfFaults - 1
	ofAnySpace = faultLoss | faultCut | faultDelay | faultOffset
)

// faultClasses describes each bit of faults, in their order.
var faultClasses = []struct {
	name, about string
	reach       []Probe // what the class alone gets to
}{
	{"loss", "messages are lost", nil},
	{"cut", "clients cannot reach more than a bare quorum", nil},
	{"delay", "messages take time", nil},
	{"offset", "wall clocks are not at 0 at the start", nil},
	{"pause", "machines stand still while their clocks go on", []Probe{ProbeStoodStill, ProbePastDeadline, ProbeQueued}},
	{"suspend", "clients stand still, and their monotonic clock with them", []Probe{ProbeStoodStill, ProbeClockStopped}},
	{"crash", "nodes crash and forget, or come back late, or with all they knew", []Probe{ProbeDown, ProbeForgot, ProbeAway}},
	{"aof", "nodes crash, and lose what was not synced", []Probe{ProbeDown, ProbeForgot, ProbeGhost}},
	{"snapshot", "nodes crash, and are back as they were some time ago", []Probe{ProbeDown, ProbeForgot, ProbeGhost}},
	{"quarantine", "nodes that crashed stay away for a time", []Probe{ProbeDown, ProbeQuarantine, ProbeForgot}},
	{"failover", "a replica that lags takes a node's place", []Probe{ProbeForgot, ProbeGhost}},
	{"evict", "nodes evict keys", []Probe{ProbeForgot}},
	{"flush", "nodes are flushed", []Probe{ProbeForgot}},
	{"step", "wall clocks are stepped", []Probe{ProbeStepped, ProbeSteppedBack}},
	{"rate", "clocks run at another rate for a while", []Probe{ProbeBent}},
	{"freeze", "wall clocks stand still for a while", []Probe{ProbeFrozen}},
	{"death", "clients crash", []Probe{ProbeHolderDied}},
	{"partition", "machines are parted for a while", []Probe{ProbeCutOff, ProbeRefusedConnection}},
	{"slow", "all that is sent is late for a while", []Probe{ProbeLateGrant, ProbeGaveUp}},
	{"message", "single messages are late, lost or doubled", []Probe{ProbeLostMessage, ProbeLateGrant, ProbeOurs}},
	{"fence", "a resource looks at fence numbers, or does not, while holders stand still", []Probe{ProbeStale, ProbeFenceRefused}},
	{"alias", "one node counts twice", []Probe{ProbeOurs}},
}

var faultNames = func() (names []string) {
	for _, c := range faultClasses {
		names = append(names, c.name)
	}
	return names
}()
