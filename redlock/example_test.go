package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"driftlock/redlock"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
)

// The lock over three servers.
func Example() {
	ctx := context.Background()
	client1 := redis.NewClient(&redis.Options{Addr: "redis1:6379"})
	client2 := redis.NewClient(&redis.Options{Addr: "redis2:6379"})
	client3 := redis.NewClient(&redis.Options{Addr: "redis3:6379"})
	locks := []*redlock.Lock{
		redlock.NewLock(client1),
		redlock.NewLock(client2),
		redlock.NewLock(client3),
	}
	dl := redlock.NewDistributedLock(locks,
		redlock.WithClockDriftFactor(0.01), // 1 %
	)
	token, err := dl.Acquire(ctx, "my-critical-resource", 10*time.Second)
	if err != nil {
		return // errors.Is: ErrLockAlreadyHeld, ErrValidityExpired, ErrNoQuorum
	}
	defer dl.Release(ctx, "my-critical-resource", token)
}

// servers starts n Redis servers inside this process, for the examples.
func servers(n int) (clients []redis.UniversalClient, stop func()) {
	var stops []func()
	for range n {
		s, err := miniredis.Run()
		if err != nil {
			log.Fatal(err)
		}
		c := redis.NewClient(&redis.Options{Addr: s.Addr()})
		clients = append(clients, c)
		stops = append(stops, func() { c.Close(); s.Close() })
	}
	return clients, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// five is a lock over five such servers.
func five(opts ...redlock.Option) (dl *redlock.DistributedLock, stop func()) {
	clients, stopServers := servers(5)
	var locks []*redlock.Lock
	for _, c := range clients {
		locks = append(locks, redlock.NewLock(c))
	}
	dl = redlock.NewDistributedLock(locks, opts...)
	return dl, func() { dl.Close(); stopServers() }
}

func ExampleNewLock() {
	clients, stop := servers(1)
	defer stop()
	lock := redlock.NewLock(clients[0])
	defer lock.Close()

	ctx := context.Background()
	token, err := lock.Acquire(ctx, "nightly-report", time.Minute)
	fmt.Println(token.Valid(), err)
	fmt.Println(lock.Release(ctx, "nightly-report", token))
	// Output:
	// true <nil>
	// <nil>
}

// The constructor has no error: it is remembered, and every call returns it.
func ExampleNewDistributedLock() {
	one := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer one.Close()
	dl := redlock.NewDistributedLock([]*redlock.Lock{redlock.NewLock(one), redlock.NewLock(one)})
	fmt.Println(dl.Err())
	_, err := dl.Acquire(context.Background(), "orders", time.Second)
	fmt.Println(errors.Is(err, redlock.ErrBadArgument))
	// Output:
	// redlock: bad argument: nodes 0 and 1: the same server "127.0.0.1:6379"
	// true
}

func ExampleNew() {
	clients, stop := servers(3)
	defer stop()
	var nodes []redlock.Node
	for _, c := range clients {
		nodes = append(nodes, redlock.RedisNode(c))
	}
	dl, err := redlock.New(nodes, redlock.WithMinValidity(5*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer dl.Close()
	_, err = dl.Acquire(context.Background(), "orders", 4*time.Second)
	fmt.Println(err)
	// Output:
	// redlock: bad argument: ttl 4s: too short, drift factor and buffer leave 3.958s of validity, needed is 5s
}

// A transport of one's own carries the same lock: here, to nodes that all say yes.
func ExampleOver() {
	dl, err := redlock.Over(&parrot{n: 3, say: []redlock.Reply{
		{Node: 0, Status: redlock.Done}, {Node: 1, Status: redlock.Done}, {Node: 2, Status: redlock.Done},
	}})
	if err != nil {
		log.Fatal(err)
	}
	token, err := dl.TryAcquire(context.Background(), "orders", time.Second)
	fmt.Println(token.Valid(), err)
	// Output: true <nil>
}

func ExampleDo() {
	dl, stop := five(redlock.WithFencing())
	defer stop()
	err := redlock.Do(context.Background(), dl, "orders", 10*time.Second, func(ctx context.Context, token redlock.Token) error {
		fence, _ := token.Fence()
		fmt.Println("UPDATE … WHERE fence <=", fence)
		return ctx.Err() // nil for as long as the lock is held
	})
	fmt.Println(err)
	// Output:
	// UPDATE … WHERE fence <= 1
	// <nil>
}

// Work under a lock ends when the lock is lost, and knows why.
func ExampleWatch() {
	dl, stop := five(redlock.WithMaxHold(200 * time.Millisecond))
	defer stop()
	ctx := context.Background()
	token, err := dl.Acquire(ctx, "orders", time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	defer dl.Release(ctx, "orders", token)

	held, stopWatching := redlock.Watch(ctx, dl, "orders", token, time.Minute)
	defer stopWatching()
	<-held.Done() // work that hangs
	fmt.Println(context.Cause(held))
	// Output: redlock: watch "orders": maximum hold reached: 200ms
}

func ExampleDistributedLock_TryAcquire() {
	dl, stop := five()
	defer stop()
	ctx := context.Background()
	token, _ := dl.TryAcquire(ctx, "orders", 10*time.Second)
	defer dl.Release(ctx, "orders", token)

	_, err := dl.TryAcquire(ctx, "orders", 10*time.Second)
	fmt.Println(errors.Is(err, redlock.ErrLockAlreadyHeld), errors.Is(err, redlock.ErrNoQuorum))
	// Output: true false
}

func ExampleDistributedLock_Extend() {
	dl, stop := five()
	defer stop()
	ctx := context.Background()
	token, _ := dl.Acquire(ctx, "orders", 10*time.Second)
	fmt.Println(dl.Extend(ctx, "orders", token, time.Minute), token.Remaining() > 50*time.Second)
	dl.Release(ctx, "orders", token)
	err := dl.Extend(ctx, "orders", token, time.Minute)
	fmt.Println(err)
	// Output:
	// <nil> true
	// redlock: extend "orders": lock not held: the token was released
}

// A leader that looks again whenever its tenure was not unbroken.
func ExampleDistributedLock_AcquireOrExtend() {
	dl, stop := five()
	defer stop()
	ctx := context.Background()
	var token redlock.Token
	for range 3 {
		var again bool
		var err error
		if token, again, err = dl.AcquireOrExtend(ctx, "leader", token, 10*time.Second); err != nil {
			log.Fatal(err)
		}
		fmt.Println("load the state:", again)
	}
	// Output:
	// load the state: true
	// load the state: false
	// load the state: false
}

func ExampleDistributedLock_Release() {
	clock := clockwork.NewFakeClock()
	dl, stop := five(redlock.WithClock(clock))
	defer stop()
	ctx := context.Background()
	token, _ := dl.Acquire(ctx, "orders", 10*time.Second)
	clock.Advance(11 * time.Second) // the work took too long
	fmt.Println(errors.Is(dl.Release(ctx, "orders", token), redlock.ErrLockExpired))
	// Output: true
}

// A lock is handed to another process by the text of its token.
func ExampleParseToken() {
	dl, stop := five()
	defer stop()
	ctx := context.Background()
	here, _ := dl.Acquire(ctx, "orders", 10*time.Second)

	there, err := redlock.ParseToken(here.String())
	fmt.Println(there.Valid(), err)
	err = dl.Extend(ctx, "orders", there, 10*time.Second)
	fmt.Println(there.Valid(), err)
	fmt.Println(dl.Release(ctx, "orders", there))
	// Output:
	// false <nil>
	// true <nil>
	// <nil>
}

// How a node failed is in the error.
func ExampleNodeError() {
	dl, err := redlock.Over(&parrot{n: 3, say: []redlock.Reply{
		{Node: 0, Err: errors.New("connection refused")}, {Node: 1, Err: redlock.ErrNoAnswer}, {Node: 2, Status: redlock.Done},
	}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = dl.TryAcquire(context.Background(), "orders", time.Second)
	fmt.Println(err)
	var node *redlock.NodeError
	fmt.Println(errors.As(err, &node), node)
	// Output:
	// redlock: acquire "orders": quorum unreachable: 0 of 3 nodes granted, 2 failed, 1 not waited for; needed 2 (node 0: connection refused; node 1: no answer)
	// true node 0: acquire: connection refused
}

// Five attempts in all, up to half a second apart.
func ExampleBackoff() {
	dl, stop := five(redlock.WithRetry(redlock.Backoff(time.Millisecond, 500*time.Millisecond).Times(5)))
	defer stop()
	ctx := context.Background()
	token, _ := dl.Acquire(ctx, "orders", time.Minute)
	defer dl.Release(ctx, "orders", token)
	_, err := dl.Acquire(ctx, "orders", time.Minute)
	fmt.Println(errors.Is(err, redlock.ErrLockAlreadyHeld))
	// Output: true
}

// A policy of one's own: patient with another holder, not with an outage.
func ExampleRetryPolicy() {
	var policy redlock.RetryPolicy = func(n int, err error) (least, most time.Duration, again bool) {
		if errors.Is(err, redlock.ErrNoQuorum) {
			return 0, 0, false
		}
		return 20 * time.Millisecond, 40 * time.Millisecond, n < 3
	}
	dl, stop := five(redlock.WithRetry(policy))
	defer stop()
	fmt.Println(dl.Err())
	// Output: <nil>
}

type printer struct{}

func (printer) Observe(_ context.Context, e redlock.Event) { fmt.Println(e.Kind, e.Key, e.Err) }

func ExampleWithObserver() {
	dl, stop := five(redlock.WithObserver(printer{}))
	defer stop()
	ctx := context.Background()
	token, _ := dl.Acquire(ctx, "orders", time.Minute)
	dl.Release(ctx, "orders", token)
	// Output:
	// attempted orders <nil>
	// granted orders <nil>
	// released orders <nil>
}
