package redlock

import (
	"fmt"
	"math/bits"
	"strings"
)

// A tally counts what the nodes answered to one request, and decides from the
// counts alone when enough is known and what it comes to. Nothing depends on
// the order of the answers.
type tally struct {
	op       Op
	by       [Ours + 1]uint8 // how many nodes answered so
	heard    uint64          // those that have answered: one bit a node
	lock     *core           // whose nodes they are
	failures []*NodeError    // in order of arrival
	highest  uint64          // the highest number that a node told; only with fencing
}

// maxNodes is how many nodes a lock may have: a tally has one bit for each.
const maxNodes = 64

// quorum is how many of n nodes any two decisions share one of.
func quorum(n int) int { return n/2 + 1 }

// count takes one answer, and returns the node's failure if it is one. What a
// node says twice, and an answer that means nothing here, do not count.
func (v *tally) count(r *Reply) *NodeError {
	node := uint64(1) << uint(r.Node)
	if r.Node < 0 || r.Node >= v.lock.n || v.heard&node != 0 {
		return nil
	}
	v.heard |= node
	v.highest = max(v.highest, r.Fence)
	if r.Status == Failed || r.Status > Ours || r.Status == Ours && v.op != OpAcquire {
		return v.fail(r)
	}
	v.by[r.Status]++
	return nil
}

// fail counts an answer that is none.
func (v *tally) fail(r *Reply) *NodeError {
	v.by[Failed]++
	e := v.lock.nodeError(v.op, r)
	v.failures = append(v.failures, e)
	return e
}

// nodeError is what an answer that is none says.
func (l *core) nodeError(op Op, r *Reply) *NodeError {
	err := r.Err
	switch {
	case r.Status != Failed:
		err = fmt.Errorf("an answer without meaning: status %d", r.Status)
	case err == nil:
		err = ErrNoAnswer
	}
	return &NodeError{Node: r.Node, Name: l.nodeName(r.Node), Op: op, Err: err}
}

func (v *tally) are(s Status) int { return int(v.by[s]) }

// done is how many nodes did what they were asked. A key that has our owner
// already is a grant: somebody resent our own request.
func (v *tally) done() int { return v.are(Done) + v.are(Ours) }

// refused is how many nodes answered no.
func (v *tally) refused() int { return v.are(Gone) + v.are(Others) }

func (v *tally) failed() int { return v.are(Failed) }

// open is how many nodes have not been heard yet.
func (v *tally) open() int { return v.lock.n - bits.OnesCount64(v.heard) }

// spare is how many nodes a quorum can do without.
func (v *tally) spare() int { return v.lock.n - v.lock.q }

// won says that a quorum did what it was asked.
func (v *tally) won() bool { return v.done() >= v.lock.q }

// lost says that no quorum can: too many nodes refused.
func (v *tally) lost() bool { return v.refused() > v.spare() }

// answered says that a quorum answered, whatever it said.
func (v *tally) answered() bool { return v.done()+v.refused() >= v.lock.q }

// attempted says when an acquire has heard enough: it is won, or out of reach
// and it is clear whether another's keys are why (a quorum answered) or an
// outage (no quorum can answer any more). Who stopped as soon as it is out of
// reach would call two refusals and a failure, of five nodes, an outage or a
// held lock by the accident of which came first.
func (v *tally) attempted() bool {
	outOfReach := v.refused()+v.failed() > v.spare()
	return v.won() || outOfReach && v.answered() || v.failed() > v.spare()
}

// settled says when an extend or a release has heard enough: it is won, lost,
// or can be neither any more.
func (v *tally) settled() bool {
	return v.won() || v.lost() ||
		v.done()+v.open() < v.lock.q && v.refused()+v.open() <= v.spare()
}

// verbs are the words for what a node did.
var verbs = [...]string{OpAcquire: "granted", OpExtend: "extended", OpRelease: "released"}

// String is one line for whoever is woken by it: how many nodes did what, how
// many would have been needed, and the failures by name.
func (v *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d nodes %s", v.done(), v.lock.n, verbs[v.op])
	for _, part := range []struct {
		n    int
		text string
	}{
		{v.are(Others), plural(v.are(Others), "holds", "hold") + " another's key"},
		{v.are(Gone), v.goneText()},
		{v.failed(), "failed"},
		{v.open(), "not waited for"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %d %s", part.n, part.text)
		}
	}
	fmt.Fprintf(&b, "; needed %d", v.lock.q)
	for i, e := range v.failures {
		b.WriteString([]string{" (", "; "}[min(i, 1)])
		fmt.Fprintf(&b, "%s: %v", e.node(), e.Err)
	}
	if len(v.failures) > 0 {
		b.WriteByte(')')
	}
	return b.String()
}

func (v *tally) goneText() string {
	if v.op == OpAcquire {
		return "refused the fence"
	}
	return plural(v.are(Gone), "has", "have") + " no such key"
}

// plural is a word for one, or for several.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
