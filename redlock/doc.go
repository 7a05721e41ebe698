// Package redlock is a lock over N independent nodes (Redlock), or over one: a
// lease on a key, with a deadline that the holder can compute by itself.
//
//	dl := redlock.NewDistributedLock([]*redlock.Lock{
//		redlock.NewLock(client1), redlock.NewLock(client2), redlock.NewLock(client3),
//	}, redlock.WithClockDriftFactor(0.01))
//	err := redlock.Do(ctx, dl, "orders", 10*time.Second, func(ctx context.Context, token redlock.Token) error {
//		return work(ctx) // ctx ends, with the cause, if the lock is lost
//	})
//
// # Whether to use a lock at all
//
// Ask what happens if two run at once. If the answer is "work is done twice", the
// lock is there for efficiency: one node is enough (Lock), and a lost lock costs
// little. If the answer is "data is lost", the lock is there for correctness, and
// no lease can be enough by itself: a holder may stand still after it has looked
// at its deadline, or its last write may be under way for longer than the lease.
// Then either the store itself decides (a transaction, a unique key, a
// conditional write), or it takes a fence number and refuses one that is lower
// than it has seen (WithFencing, and package fence for the store's side). If the
// store can do the first, no lock is needed.
//
// # What it promises
//
// While a token is valid, no other client acquires the same key, provided that
//
//   - A1: clocks run at rates that the drift factor and buffer cover,
//   - A2: no node loses a key that it has granted or extended: by a restart
//     without persistence, a failover, an eviction, a flush or a DEL of somebody's,
//     or it then stays out for as long as the longest TTL in use,
//   - A3: no node's wall clock steps by more than is left of the same budget,
//   - A4: the clock of the client does not stop while it is suspended,
//   - A5: all clients of a key name the same N servers.
//
// What it does not promise: order or fairness among those who wait, that a lock
// is free as soon as its holder died (it is when the TTL is over), or anything
// about a holder that goes on after its context ended. Two nodes are no more
// available than one; an even number is no better than the odd one below it.
// Replicas of one server are not independent nodes.
//
// # Validity
//
// A lock that was acquired with TTL T is valid for
//
//	T - elapsed - T·f - b
//
// where elapsed counts from a reading before the first node was asked, f is the
// drift factor (WithClockDriftFactor, 0.01) and b the drift buffer
// (WithClockDriftBuffer, 2 ms). T is cut to whole milliseconds first, since that
// is what Redis counts in; T·f is rounded up. With clocks that may run at rates
// from rc⁻ (client) to rn⁺ (node), exclusion outlives validity if and only if
//
//	f ≥ 1 - (rc⁻/rn⁺)·(1 - g/T) - b/T
//
// where g is 0, or 1 ms for nodes that expire keys at the very millisecond. So
// f = 0.01 covers 5,025 ppm on both sides, far more than quartz needs (100 ppm);
// it does not cover chrony slewing a node at its default of 83,333 ppm, which
// needs 0.0768. A step of J takes J/T out of the same budget. The proof, the
// numbers and a program that finds the factor for your clocks by experiment are
// in the project that this package is part of.
//
// Readings are of the lock's own clock (WithClock). Its default goes on while the
// machine is suspended; an ordinary Go clock on Linux stops then, and would trust
// the lock for too long by just that time.
//
// # Holding
//
// Do is the whole cycle. Watch alone renews a token every third of the TTL until
// the deadline, and ends the holder's context, with a cause that says what
// happened, at the first sign of a loss: whoever works under the lock must work
// under that context. Extend moves the deadline once. All of them count only
// nodes that still held the key, and none brings back a lock that has expired:
// others may have held it in between. AcquireOrExtend does, and says so.
//
// A token is a handle: its copies share one deadline. Its String can be handed to
// another process, which gets a token of its own by ParseToken. That one is valid
// after its first Extend.
//
// # Errors
//
// Each error is of one class, for errors.Is:
//
//	ErrLockAlreadyHeld  somebody else has it; a quorum of nodes said so
//	ErrNoQuorum         an outage: too few nodes answered to say anything
//	ErrValidityExpired  acquired, but too late to be of use, and given back
//	ErrLockExpired      the deadline has passed
//	ErrLockNotHeld      the nodes do not have the key any more, or it was released
//	ErrReleaseUnknown   a release that too few nodes confirmed, or not the first
//	ErrMaxHold          the cause of a context that WithMaxHold ended
//	ErrClosed           the lock was closed
//	ErrBadArgument      the call makes no sense; nothing was sent
//
// A call whose context ended returns its cause, together with the class of the
// last attempt, if there was a whole one. How each node failed is in the text,
// and for errors.As as *NodeError.
//
// # What the options cost
//
//   - A larger WithClockDriftFactor costs validity: T·f of each lease. 0.1 of 10 s
//     leaves 9 s to work in; others wait no longer than before.
//   - A short TTL frees the lock of a dead holder sooner and costs renewals: three
//     a TTL. At least ten times the round trip to the slowest node of a quorum is
//     sensible.
//   - WithNodeTimeout bounds what a node that hangs can cost a call, if the others
//     are not a quorum. If it is too short, slow nodes look like an outage.
//   - WithMinValidity refuses locks that are of no use any more; it costs the
//     attempts that it refuses.
//   - WithRetry: Acquire waits for the holder by asking again, at random up to a
//     second apart. A lower bound takes over sooner and asks more often. Every
//     keeps waiters in step, so that they may split the vote again and again.
//   - WithOutageBudget: how soon an outage is told, against how short an outage is
//     ridden out.
//   - WithFencing costs each node a number a key, for ever, and an extra round the
//     first time that a client meets a key.
//   - WithRunIDCheck costs a round trip on first contact with each node, and
//     finds one server that has two names.
//   - WithMaxHold costs long work its lock. Without it work that hangs holds the
//     lock for as long as its process lives.
//   - WithObserver: what the observer takes.
//
// A lock is two round trips to the fastest quorum, one to acquire and one to
// release. Held and watched it costs less than a kilobyte and no goroutine.
//
// # Nodes and transports
//
// NewLock and RedisNode take any go-redis client; New takes any Node, a store
// with an atomic conditional write: package sqlnode makes one of a database, and
// package locktest tests one of your own. What is sent to a node waits in a Lane, which
// keeps the requests of one owner in order, so that the release of a failed
// attempt follows its acquire even to a node that hangs. Over takes a Transport
// and WithClock a clock: the lock's logic is sequential code over these two, and
// runs in a simulator as it is.
package redlock
