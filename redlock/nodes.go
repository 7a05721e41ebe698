package redlock

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/redis/go-redis/v9"
)

// NewLock returns a lock over one Redis server. It never fails and never panics:
// a bad argument is what Err and every later call return. The options count when
// the Lock is used by itself; a DistributedLock takes only its node.
//
// The client stays the caller's: Close does not close it.
func NewLock(client redis.UniversalClient, opts ...Option) *Lock {
	l := new(Lock)
	if !isNil(client) {
		l.node = RedisNode(client)
	}
	l.bad = l.overNodes([]Node{l.node}, opts)
	return l
}

// NewDistributedLock returns a lock over the nodes of locks. They are to be
// independent servers, not replicas of each other. It never fails and never
// panics: a bad argument (no node, one node twice, a drift factor outside
// [0, 1)) is what Err and every later call return.
func NewDistributedLock(locks []*Lock, opts ...Option) *DistributedLock {
	l := new(DistributedLock)
	nodes := make([]Node, len(locks))
	for i, one := range locks {
		if one != nil {
			nodes[i] = one.node
		}
	}
	l.bad = l.overNodes(nodes, opts)
	return l
}

// New is NewDistributedLock over any stores, with the error at once.
func New(nodes []Node, opts ...Option) (*DistributedLock, error) {
	l := new(DistributedLock)
	if l.bad = l.overNodes(nodes, opts); l.bad != nil {
		return nil, l.bad
	}
	return l, nil
}

// overNodes sets the lock up over the production transport to nodes.
func (l *core) overNodes(nodes []Node, opts []Option) error {
	err := errors.Join(l.apply(opts), checkNodes(nodes))
	if err != nil {
		return err
	}
	if l.runIDs {
		nodes = checked(nodes)
	}
	return l.over(NewTransport(nodes, l.clock))
}

// checkNodes refuses nodes that cannot make a quorum that means anything. One
// server must not count twice: a quorum of its answers would be less than half
// of the servers.
func checkNodes(nodes []Node) error {
	err := checkLen(len(nodes))
	for i, n := range nodes {
		if isNil(n) {
			err = errors.Join(err, badArgument("node %d: nil", i))
			continue
		}
		for j, m := range nodes[:i] {
			if !isNil(m) && same(n, m) {
				err = errors.Join(err, badArgument("nodes %d and %d: the same server %s", j, i, quoted(n.Name())))
			}
		}
	}
	return err
}

// same says that two nodes are one server, as far as can be seen from here.
func same(n, m Node) bool {
	if a := addressOf(n); a != "" && a == addressOf(m) {
		return true
	}
	a, b := identity(n), identity(m)
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// addressOf is the name of n, if it has one that tells its server from others.
func addressOf(n Node) string {
	if r, ok := n.(*redisNode); ok && r.name == fmt.Sprintf("%T", r.client) {
		return "" // a wrapped client, which hides its address
	}
	return n.Name()
}

// identity is what n is one with: of a Redis node its client, and of another what its
// method Store says, if it has one.
func identity(n Node) any {
	switch n := n.(type) {
	case *redisNode:
		return n.client
	case interface{ Store() any }:
		return n.Store()
	}
	return n
}

// isNil says that v is nil, or a nil pointer in an interface.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.Kind() == reflect.Pointer && r.IsNil()
}
