package redlock

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// The lane keeps in order what one client says to one node. It is the part of a
// transport that decides; everything that waits, sends or keeps time is outside,
// so that the production transport and the simulator drive the same code.
//
// Why there is a queue at all: a lock asks all nodes and goes on at the quorum,
// so its release may overtake its own acquire on a slow node, which then grants
// to nobody. Here a release waits behind its acquire, and a release that a node
// did not answer is kept for as long as the key can live.

// batchMax is the most requests that go out as one batch. Owed releases take at
// most half of it while others wait.
const batchMax = 128

// A Lane is the line of requests from one client to one node: a pure state
// machine that knows no goroutine, no clock and no wire. Times are durations
// since an instant of its driver's choice. The zero Lane is ready for use; it is
// not safe for concurrent use.
//
// Its driver pushes requests, takes a batch when the lane is Ready, carries it to
// the node and settles it, with the node's replies or with Unanswered. What the
// lane promises:
//
//   - At most one batch is out. All that waits goes out in the next, at most 128
//     requests, in the order in which it was pushed.
//   - A release goes out only after the acquire of its owner was answered or
//     given up. One that finds this acquire still in line takes it out, and
//     neither is sent; nor is the release of an acquire that is known never to
//     have been executed (a lane remembers that for the TTL). It hears Gone:
//     nothing of its owner is at the node.
//   - A request whose time to wait has passed in line is never sent: ErrUnsent.
//     A release is worth sending for as long as its key can live, also when
//     nobody waits for it any more.
//   - A batch without an answer (every reply ErrNoAnswer or ErrUnsent) fails what
//     waits behind it. An answer that is an error of the store's own is one.
//   - A release that failed, or waited behind a batch that did, is owed: it rides
//     at the head of the next batch until it is answered or its key has expired.
//     What is owed does not keep a lane busy. It goes out by itself once, so that
//     one lost message does not leave a key behind till its TTL, and again for as
//     long as the node answers and more is owed than one batch holds.
//   - Every receiver hears exactly once.
//   - What a lane keeps is bounded, also if its node is dead for days, by the
//     requests whose time has not passed and the locks that are held.
//
// An owner acquires a key at most once (rule 3 of the lock).
type Lane struct {
	Node int // set in every reply

	line  []item // the batch that is out, and then what waits, in order
	out   int    // how many are out
	debts int    // how many of those, the first, have been owed before
	owed  []item // releases that the node has yet to be told; nobody waits for them
	again bool   // what is owed may go out by itself

	reqs []*Request // of the batch that is out
	none []Reply

	// The acquires that were never executed and whose release has yet to come,
	// with the time after which it hardly will. Looked up, never ranged over in
	// a way that shows.
	unsent map[holding]time.Duration

	full int // sweep when the lane keeps more than this and a few
}

// few is how many things a lane keeps without a look whether it still has to.
const few = 16

// An item is a request in line.
type item struct {
	req   *Request
	until time.Duration // worth sending before that
	to    Receiver      // may be nil
}

// A holding is what a release frees.
type holding struct{ key, owner string }

func (r *Request) holding() holding { return holding{r.Key, r.Owner} }

// A Receiver hears the reply to a request, exactly once and possibly long after
// the request's time to wait has passed. Receive must neither block nor call the
// lane; it may be called from within Push, Take and Settle.
type Receiver interface{ Receive(Reply) }

// errBehind is what a request hears that waited behind a batch without an answer.
var errBehind = fmt.Errorf("%w: the batch before it got no answer", ErrUnsent)

// errRecalled is what an acquire hears that its own release took out of the line.
var errRecalled = fmt.Errorf("%w: released before it was", ErrUnsent)

// Push puts req in line at now. It must not be changed until to has heard; to
// may be nil. It is not sent after wait has passed, or if it is a release, after
// the longer of wait and its TTL.
func (l *Lane) Push(now time.Duration, req *Request, wait time.Duration, to Receiver) {
	kept := max(wait, req.TTL) // for all, so that what follows is no branch: half are releases
	if req.Op == OpRelease {
		wait = kept
	}
	if len(l.line) > l.out && req.Op == OpRelease && l.recall(req) || l.neverSent(req) {
		l.tell(to, Reply{Status: Gone})
		return
	}
	l.line = append(l.line, item{req: req, until: after(now, wait), to: to})
	if l.kept() > l.full+few {
		l.sweep(now)
		l.full = 2 * l.kept()
	}
}

// Ready says whether there is something to send.
func (l *Lane) Ready() bool {
	return l.out == 0 && (len(l.line) > 0 || l.again && len(l.owed) > 0)
}

// Take returns the batch that goes out at now, or nil if there is none. After a
// batch a Settle must follow; until then the slice and its requests stay as they
// are.
func (l *Lane) Take(now time.Duration) []*Request {
	if !l.Ready() {
		return nil
	}
	l.reqs, l.debts = l.reqs[:0], 0
	if len(l.owed) > 0 {
		l.board(&l.owed, now, batchMax-min(len(l.line), batchMax/2))
		l.debts = len(l.reqs)
		l.line = slices.Insert(l.line, 0, l.owed[:l.debts]...)
		l.owed = cut(l.owed, 0, l.debts)
	}
	for n := len(l.reqs); n < len(l.line) && n < batchMax; n++ {
		it := &l.line[n]
		if it.until <= now || len(l.unsent) > 0 { // it may have to be left out
			l.board(&l.line, now, batchMax)
			break
		}
		l.reqs = append(l.reqs, it.req)
	}
	l.out, l.again = len(l.reqs), false
	if l.out == 0 {
		return nil
	}
	return l.reqs
}

// board takes into the batch what stands in a line behind what is in it already, until
// it has most, and drops what is not to be sent. The whole batch is at the head of the
// line then.
func (l *Lane) board(in *[]item, now time.Duration, most int) {
	line, n := *in, len(l.reqs)
	i := n
	for ; i < len(line) && n < most; i++ {
		it := &line[i]
		switch {
		case it.until <= now:
			l.drop(it, ErrUnsent)
		case l.neverSent(it.req):
			l.tell(it.to, Reply{Status: Gone})
		default:
			l.reqs = append(l.reqs, it.req)
			if n < i {
				line[n] = *it
			}
			n++
		}
	}
	if n < i {
		*in = cut(line, n, i)
	}
}

// Settle takes the answers to the batch that is out, one for each request and in
// its order. A reply whose Status is Failed needs an Err; without one it counts
// as ErrNoAnswer.
func (l *Lane) Settle(replies []Reply) {
	if l.out == 0 {
		return
	}
	silent := 0
	for i := range l.line[:l.out] {
		it := &l.line[i]
		if i >= len(replies) || replies[i].Status == Failed {
			if why := l.failed(i, replies); errors.Is(why, ErrNoAnswer) || errors.Is(why, ErrUnsent) {
				silent++
			}
			continue
		}
		if i < l.debts { // the node is back: the rest may follow
			l.again = true
		}
		status, fence := replies[i].Status, replies[i].Fence
		if l.neverSent(it.req) { // its acquire, earlier in the same batch
			status, fence = Gone, 0
		}
		l.tell(it.to, Reply{Status: status, Fence: fence})
	}
	if silent == l.out {
		l.failQueue(cause(replies, l.out-1))
	}
	if l.out < len(l.line) {
		l.line = cut(l.line, 0, l.out)
	} else { // as a rule nothing waits behind
		wipe(l.line)
		l.line = l.line[:0]
	}
	l.out = 0
	wipe(l.reqs)
}

// cause is why the i-th request of the batch failed.
func cause(replies []Reply, i int) error {
	if i < len(replies) && replies[i].Err != nil {
		return replies[i].Err
	}
	return ErrNoAnswer
}

// failed sees to the i-th request of the batch, which failed, and returns why.
func (l *Lane) failed(i int, replies []Reply) error {
	it, r, why := &l.line[i], Reply{}, cause(replies, i)
	if i < len(replies) {
		r = replies[i]
	}
	r.Err = why
	switch it.req.Op {
	case OpAcquire:
		if errors.Is(why, ErrUnsent) {
			l.noteUnsent(it)
		}
	case OpRelease:
		switch {
		case l.neverSent(it.req):
			r = Reply{Status: Gone}
		case !errors.Is(why, errSentTwice):
			l.again = l.again || i >= l.debts
			l.owe(it, why)
			return why
		}
	}
	l.tell(it.to, r)
	return why
}

// failQueue fails all that waits behind a batch that failed with why.
func (l *Lane) failQueue(why error) {
	queue := l.line[l.out:]
	if len(queue) == 0 {
		return
	}
	behind := errBehind
	if why != ErrNoAnswer { // which would add nothing
		behind = fmt.Errorf("%w: %w", errBehind, why)
	}
	for i := range queue {
		switch it := &queue[i]; {
		case it.req.Op != OpRelease:
			l.drop(it, behind)
		case l.neverSent(it.req):
			l.tell(it.to, Reply{Status: Gone})
		default:
			l.again = true
			l.owe(it, why) // not ErrUnsent: it may yet be executed
		}
	}
	l.line = cut(l.line, l.out, len(l.line))
}

// owe keeps a release that failed with why.
func (l *Lane) owe(it *item, why error) {
	l.tell(it.to, Reply{Err: why})
	l.owed = append(l.owed, item{req: it.req, until: it.until})
}

// recall takes the acquire of a release out of the line, if it is there.
func (l *Lane) recall(release *Request) bool {
	for i := len(l.line) - 1; i >= l.out; i-- { // most give up what they asked last
		it := l.line[i]
		if it.req.Op == OpAcquire && it.req.Owner == release.Owner && it.req.Key == release.Key {
			l.line = cut(l.line, i, i+1)
			l.tell(it.to, Reply{Err: errRecalled})
			return true
		}
	}
	return false
}

// neverSent says whether req is a release whose acquire is known never to have been
// executed, and forgets it.
func (l *Lane) neverSent(req *Request) bool {
	if len(l.unsent) == 0 || req.Op != OpRelease { // in this order: half of all requests are releases
		return false
	}
	h := req.holding()
	_, ok := l.unsent[h]
	delete(l.unsent, h)
	return ok
}

// drop gives up a request that was not sent.
func (l *Lane) drop(it *item, why error) {
	if it.req.Op == OpAcquire {
		l.noteUnsent(it)
	}
	l.tell(it.to, Reply{Err: why})
}

func (l *Lane) noteUnsent(acquire *item) {
	if l.unsent == nil {
		l.unsent = make(map[holding]time.Duration)
	}
	l.unsent[acquire.req.holding()] = after(acquire.until, acquire.req.TTL)
}

func (l *Lane) tell(to Receiver, r Reply) {
	if to != nil {
		r.Node = l.Node
		to.Receive(r)
	}
}

// kept is how many things the lane remembers besides the batch that is out.
func (l *Lane) kept() int { return len(l.line) - l.out + len(l.owed) + len(l.unsent) }

// sweep forgets what time has made pointless.
func (l *Lane) sweep(now time.Duration) {
	for h, until := range l.unsent {
		if until <= now {
			delete(l.unsent, h)
		}
	}
	l.line = l.sweepLine(l.line, l.out, now)
	l.owed = l.sweepLine(l.owed, 0, now)
}

// sweepLine does it from the n-th of a line on.
func (l *Lane) sweepLine(line []item, n int, now time.Duration) []item {
	for i := n; i < len(line); i++ {
		if line[i].until <= now {
			l.drop(&line[i], ErrUnsent)
			continue
		}
		line[n] = line[i]
		n++
	}
	return cut(line, n, len(line))
}

// after is t + d, or the end of time.
func after(t, d time.Duration) time.Duration {
	if d > 0 && t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}

// cut removes line[i:j] in place and leaves no pointer behind.
func cut(line []item, i, j int) []item {
	if j < len(line) {
		i += copy(line[i:], line[j:])
	}
	wipe(line[i:])
	return line[:i]
}

// wipe is clear, which for a single element costs many times as much as to set it.
func wipe[T any](s []T) {
	if len(s) == 1 {
		var none T
		s[0] = none
		return
	}
	clear(s)
}

// Unanswered returns what to settle the batch with that is out, if it was given
// up: ErrNoAnswer for each request. The slice is the lane's.
func (l *Lane) Unanswered() []Reply {
	l.none = l.none[:0]
	for range l.out {
		l.none = append(l.none, Reply{Node: l.Node, Err: ErrNoAnswer})
	}
	return l.none
}

// Pending is how many requests the lane still has: in line, owed and out.
func (l *Lane) Pending() int { return len(l.line) + len(l.owed) }

// Reset empties the lane for a new use and keeps its memory and Node. Receivers
// that wait hear nothing.
func (l *Lane) Reset() {
	clear(l.line)
	clear(l.owed)
	clear(l.reqs)
	clear(l.unsent)
	*l = Lane{Node: l.Node, line: l.line[:0], owed: l.owed[:0], reqs: l.reqs[:0], none: l.none[:0], unsent: l.unsent}
}
