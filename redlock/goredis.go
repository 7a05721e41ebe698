package redlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A node over go-redis. A batch goes out as one pipeline, a lone request as a plain
// command. What the server turns down for want of a script, a command or a
// permission is asked again in the next best way, all of a batch together.

// RedisNode returns a node over any go-redis client: *redis.Client (also of
// Sentinel), *redis.ClusterClient, *redis.Ring, or a wrapper of one. It needs
// Redis 7.0 or Valkey 7.2, or later. The client stays the caller's to close.
//
// How long the node may take for a batch is up to the client's timeouts. Its
// retries are not used: a command that came twice would be refused by itself, or
// find deleted what it deleted.
//
// The client's user needs the commands SET, GET, DEL, PEXPIRE and EVAL;
// EVALSHA saves bytes, and MGET and DELEX (Redis 8.4) or DELIFEQ (Valkey 9) time,
// where the server has and permits them. That is found out with the first batches.
//
// With fencing a key has a second one beside it, FenceKey, which never expires.
//
// An error of the server's own, such as LOADING or NOAUTH, is in Reply.Err as
// go-redis returned it. Any other is joined with ErrUnsent if the command was
// certainly not sent, and else with ErrNoAnswer; but not that of a release which a hook
// or a wrapper has sent twice, and whose second found nothing.
func RedisNode(client redis.UniversalClient) Node {
	return &redisNode{client: client, name: address(client)}
}

type redisNode struct {
	client redis.UniversalClient
	name   string

	// What was found out of the server. Atomic, for several locks may share a node.
	deleter  atomic.Uint32 // the way to release: byDelex, byDelifeq or byScript; 0 while unknown
	probes   atomic.Uint32 // batches that were to find it out
	evalOnly atomic.Bool   // EVALSHA is not permitted
	noBulk   atomic.Bool   // one script may not have the keys of several locks
}

// maxProbes bounds how often a server is asked for its commands that does not say.
const maxProbes = 3

// Name is the server's address, or addresses.
func (n *redisNode) Name() string { return n.name }

func address(client redis.UniversalClient) string {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().Addr
	case *redis.ClusterClient:
		return strings.Join(c.Options().Addrs, ",")
	case *redis.Ring:
		return strings.Join(slices.Sorted(maps.Values(c.Options().Addrs)), ",")
	}
	return fmt.Sprintf("%T", client)
}

// A way is how a request is put to the server.
type way uint8

const (
	bySet     way = iota + 1
	byDelex       // Redis 8.4
	byDelifeq     // Valkey 9
	byScript      // EVALSHA
	byText        // EVAL
	byLook        // GET: whose key is it?

	byBulk     // one EVALSHA for all such releases of a batch
	byBulkText // one EVAL
)

// An inquiry is a request on its way to a reply.
type inquiry struct {
	way way // 0: answered
	cmd redis.Cmder
	pos int // in bulk: the how-manieth of the command
}

// Do implements Node.
func (n *redisNode) Do(reqs []*Request, replies []Reply) {
	ctx := context.Background()
	if len(reqs) == 1 && n.deleter.Load() != 0 { // the usual case, with the fewest allocations
		q := inquiry{way: n.first(reqs[0])}
		for q.way != 0 {
			q.cmd = n.command(ctx, q.way, reqs[0])
			n.client.Process(ctx, q.cmd) // its error is the command's
			replies[0], q.way = n.hear(q, reqs[0])
		}
		return
	}
	qs := make([]inquiry, len(reqs))
	for i, r := range reqs {
		qs[i].way = n.first(r)
	}
	n.bundle(reqs, qs)
	probe := n.probe(ctx, reqs[0])
	for more := true; more; {
		pipe := n.client.Pipeline()
		n.put(ctx, pipe, reqs, qs)
		probe.join(ctx, pipe)
		pipe.Exec(ctx) // its error is one of the commands'
		n.learn(&probe)
		more = false
		for i := range qs {
			if q := &qs[i]; q.way != 0 {
				replies[i], q.way = n.hear(*q, reqs[i])
				more = more || q.way != 0
			}
		}
	}
}

// put puts the commands of what is not answered yet into pipe, in order. Those in bulk
// go as one, in the place of the first.
func (n *redisNode) put(ctx context.Context, pipe redis.Pipeliner, reqs []*Request, qs []inquiry) {
	var bulk *bulk
	for i := range qs {
		switch q := &qs[i]; q.way {
		case 0:
		case byBulk, byBulkText:
			if bulk == nil {
				bulk = newBulk(ctx, q.way, reqs[i:], qs[i:])
				pipe.Process(ctx, bulk)
			}
			q.cmd = bulk
		default:
			q.cmd = n.command(ctx, q.way, reqs[i])
			pipe.Process(ctx, q.cmd)
		}
	}
}

// bundle turns the releases by script of a batch into bulk if there are several: a
// script costs the server more to call than to run. Only a plain client sends all keys
// to one server. A release that comes after an extend of its holder keeps its place.
func (n *redisNode) bundle(reqs []*Request, qs []inquiry) {
	if _, plain := n.client.(*redis.Client); !plain || n.noBulk.Load() {
		return
	}
	several := 0
	for i, r := range reqs {
		if r.Op == OpRelease && qs[i].way == byScript && !follows(reqs[:i], r) {
			qs[i].way, qs[i].pos = byBulk, several
			several++
		}
	}
	if several == 1 {
		for i := range qs {
			if qs[i].way == byBulk {
				qs[i].way = byScript
			}
		}
	}
}

// follows says whether an extend of the same holder is before r.
func follows(before []*Request, r *Request) bool {
	return slices.ContainsFunc(before, func(b *Request) bool { return b.Op == OpExtend && b.Owner == r.Owner && b.Key == r.Key })
}

// first is the way in which a request is put first.
func (n *redisNode) first(r *Request) way {
	if r.Op == OpAcquire && r.Fence == 0 {
		return bySet
	}
	if r.Op == OpRelease {
		if w := way(n.deleter.Load()); w != 0 && w != byScript {
			return w
		}
	}
	if n.evalOnly.Load() {
		return byText
	}
	return byScript
}

// hear takes the answer to q: the reply to its request, or the way to ask again.
func (n *redisNode) hear(q inquiry, r *Request) (Reply, way) {
	err := q.cmd.Err()
	switch q.way {
	case byDelex, byDelifeq:
		if refused(err) { // another server than before
			n.deleter.Store(uint32(byScript))
			return Reply{}, n.first(r)
		}
	case byScript:
		if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			return Reply{}, byText
		}
		if refused(err) {
			n.evalOnly.Store(true)
			return Reply{}, byText
		}
	case byText:
		if refused(err) {
			err = fmt.Errorf("neither EVALSHA nor EVAL is permitted: %w", err)
		}
	case byLook:
		return look(q.cmd.(*text), r), 0
	case byBulk, byBulkText:
		return n.hearBulk(q)
	}
	if err != nil {
		return failed(err), 0
	}
	switch c := q.cmd.(type) {
	case *setNX:
		switch {
		case c.Val():
			return Reply{Status: Done}, 0
		case n.resent(c.once):
			return Reply{}, byLook
		}
		return Reply{Status: Others}, 0
	case *number:
		switch {
		case c.Val() == 1:
			return Reply{Status: Done}, 0
		case n.resent(c.once) && r.Op == OpRelease:
			return Reply{Err: errSentTwice}, 0
		case q.way == byDelex || q.way == byDelifeq:
			return Reply{}, byLook // gone or another's
		}
		return status(c.Val()), 0
	case *list:
		return fenced(c.Val()), 0
	}
	return failed(fmt.Errorf("unexpected command %T", q.cmd)), 0
}

// hearBulk takes the answer to a release in bulk. What the server refuses is asked
// again one by one: what is wrong may be wrong with one of the keys.
func (n *redisNode) hearBulk(q inquiry) (Reply, way) {
	c := q.cmd.(*bulk)
	answers, err := c.Result()
	switch {
	case err == nil && n.resent(c.once) && q.pos < len(answers) && answers[q.pos] > 1:
		return Reply{Err: errSentTwice}, 0
	case err == nil && q.pos < len(answers) && answers[q.pos] == 0:
		return Reply{}, byScript // which says what is wrong
	case err == nil && q.pos < len(answers):
		return status(answers[q.pos]), 0
	case err == nil:
		err = fmt.Errorf("%d answers in bulk", len(answers))
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
		return Reply{}, byBulkText
	case redis.HasErrorPrefix(err, "CROSSSLOT"):
		n.noBulk.Store(true)
		return Reply{}, byScript
	case serversOwn(err):
		if forbidden(err) { // MGET in a script, say, or one of the keys
			n.noBulk.Store(true)
		}
		return Reply{}, byScript
	}
	return failed(err), 0
}

// errSentTwice is the reply to a release that was sent more than once and in the end found
// nothing of its own: nobody can tell whether it deleted that itself. (Rule 7) The server
// has answered, and to send it once more would tell nothing.
var errSentTwice = errors.New("the client sent it twice, and the second found nothing to delete")

// resent says whether a command that was answered may have been sent more than once.
// AutoPipeliner asks about that before it sends anything.
func (n *redisNode) resent(o once) bool {
	_, before := n.client.(*redis.AutoPipeliner)
	return o.failed && !before
}

// serversOwn says whether the server answered with the error err.
func serversOwn(err error) bool {
	var own redis.Error
	return errors.As(err, &own)
}

// look tells whose key it is that was not set, or not deleted.
func look(c *text, r *Request) Reply {
	switch owner, err := c.Result(); {
	case errors.Is(err, redis.Nil) && r.Op == OpRelease:
		return Reply{Status: Gone}
	case errors.Is(err, redis.Nil): // it has expired since
		return Reply{Status: Others}
	case err != nil:
		return failed(err)
	case owner == r.Owner && r.Op == OpAcquire:
		return Reply{Status: Ours}
	}
	return Reply{Status: Others}
}

// status is a script's answer. Zero is none, so that an answer which was never
// read is not taken for one.
func status(answer int64) Reply {
	switch answer {
	case 1:
		return Reply{Status: Done}
	case 2:
		return Reply{Status: Gone}
	case 3:
		return Reply{Status: Others}
	case 4:
		return Reply{Status: Ours}
	}
	return failed(fmt.Errorf("unexpected answer %d", answer))
}

// fenced is the answer of the fenced acquire: a status and the node's number.
func fenced(answer []any) Reply {
	if len(answer) == 2 {
		s, ok := answer[0].(int64)
		text, ok2 := answer[1].(string)
		fence, err := strconv.ParseUint(text, 10, 64)
		if ok && ok2 && err == nil {
			r := status(s)
			r.Fence = fence
			return r
		}
	}
	return failed(fmt.Errorf("unexpected answer %v", answer))
}

// failed is the reply for an error of a command.
func failed(err error) Reply {
	var op *net.OpError
	switch {
	case serversOwn(err):
	case errors.As(err, &op) && op.Op == "dial",
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed):
		err = fmt.Errorf("%w: %w", ErrUnsent, err)
	default:
		err = fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return Reply{Err: err}
}

// refused says whether the server does not have or not permit a command.
func refused(err error) bool {
	return err != nil && (redis.HasErrorPrefix(err, "unknown command") || redis.HasErrorPrefix(err, "NOPERM"))
}

// forbidden says whether the user lacks a permission, also for what a script does, which
// Redis 7.0 says without NOPERM.
func forbidden(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM") || strings.Contains(err.Error(), "can't run this command")
}

// A probe finds out with which command a server deletes what has a given value. It
// rides with the first batch and deletes nothing.
type probe struct{ delex, delifeq *number }

func (n *redisNode) probe(ctx context.Context, r *Request) (p probe) {
	if n.deleter.Load() != 0 {
		return p
	}
	if n.probes.Add(1) > maxProbes {
		n.deleter.Store(uint32(byScript))
		return p
	}
	nobody := &Request{Key: r.Key, Owner: "not a value: " + r.Owner}
	p.delex = n.command(ctx, byDelex, nobody).(*number)
	p.delifeq = n.command(ctx, byDelifeq, nobody).(*number)
	return p
}

func (p *probe) join(ctx context.Context, pipe redis.Pipeliner) {
	if p.delex != nil {
		pipe.Process(ctx, p.delex)
		pipe.Process(ctx, p.delifeq)
	}
}

func (n *redisNode) learn(p *probe) {
	if p.delex == nil {
		return
	}
	delex, delifeq := p.delex.Err(), p.delifeq.Err()
	switch {
	case delex == nil:
		n.deleter.Store(uint32(byDelex))
	case delifeq == nil:
		n.deleter.Store(uint32(byDelifeq))
	case refused(delex) && refused(delifeq):
		n.deleter.Store(uint32(byScript))
	}
	*p = probe{}
}
