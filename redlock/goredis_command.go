package redlock

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The commands of the go-redis node, and its scripts.

// once keeps go-redis from sending a command again. It asks only after an attempt has
// failed: if there is an answer all the same, somebody else sent the command again (a
// hook, a wrapper of the client), and what it found may be our own doing.
type once struct{ failed bool }

func (o *once) NoRetry() bool {
	o.failed = true
	return true
}

// setNX is SET NX PX. It is a BoolCmd because there the answer nil is a plain
// false; to others it is an error, which is costly.
type setNX struct {
	*redis.BoolCmd
	once
	args [6]any
}

// number is a command that answers with an integer.
type number struct {
	*redis.IntCmd
	once
	args [6]any
}

// list is a command that answers with an array.
type list struct {
	*redis.SliceCmd
	once
	args [8]any
}

// text is a command that answers with a string.
type text struct {
	*redis.StringCmd
	once
	args [2]any
}

// bulk is a command that answers with an integer for each of several requests.
type bulk struct {
	*redis.IntSliceCmd
	once
}

// Words of commands, made an interface once.
var (
	wordSet     any = "set"
	wordPX      any = "px"
	wordNX      any = "nx"
	wordGet     any = "get"
	wordDelex   any = "delex"
	wordIfeq    any = "ifeq"
	wordDelifeq any = "delifeq"
	wordEval    any = "eval"
	wordEvalsha any = "evalsha"
	oneKey      any = 1
	twoKeys     any = 2
)

// command puts a request in a way.
func (n *redisNode) command(ctx context.Context, w way, r *Request) redis.Cmder {
	switch w {
	case bySet:
		c := &setNX{args: [6]any{wordSet, r.Key, r.Owner, wordPX, r.TTL.Milliseconds(), wordNX}}
		c.BoolCmd = redis.NewBoolCmd(ctx, c.args[:]...)
		return c
	case byLook:
		c := &text{args: [2]any{wordGet, r.Key}}
		c.StringCmd = redis.NewStringCmd(ctx, c.args[:]...)
		return c
	case byDelex:
		return newNumber(ctx, wordDelex, r.Key, wordIfeq, r.Owner)
	case byDelifeq:
		return newNumber(ctx, wordDelifeq, r.Key, r.Owner)
	}
	s := &releaseScript
	switch r.Op {
	case OpAcquire:
		verb, body := acquireScript.say(w)
		c := &list{args: [8]any{verb, body, twoKeys, r.Key, FenceKey(r.Key), r.Owner, r.TTL.Milliseconds(), strconv.FormatUint(r.Fence, 10)}}
		c.SliceCmd = redis.NewSliceCmd(ctx, c.args[:]...)
		return c
	case OpExtend:
		s = &extendScript
	}
	verb, body := s.say(w)
	if r.Op == OpRelease {
		return newNumber(ctx, verb, body, oneKey, r.Key, r.Owner)
	}
	return newNumber(ctx, verb, body, oneKey, r.Key, r.Owner, r.TTL.Milliseconds())
}

func newNumber(ctx context.Context, args ...any) *number {
	c := &number{}
	c.IntCmd = redis.NewIntCmd(ctx, append(c.args[:0], args...)...)
	return c
}

// newBulk puts those of reqs that go in bulk into one command.
func newBulk(ctx context.Context, w way, reqs []*Request, qs []inquiry) *bulk {
	n := 0
	for _, q := range qs {
		if q.way == w {
			n++
		}
	}
	verb, body := bulkScript.say(w)
	args := make([]any, 3+2*n)
	args[0], args[1], args[2] = verb, body, n
	k := 3
	for i, q := range qs {
		if q.way == w {
			args[k], args[k+n] = reqs[i].Key, reqs[i].Owner
			k++
		}
	}
	return &bulk{IntSliceCmd: redis.NewIntSliceCmd(ctx, args...)}
}

// A script is sent by its hash, or if the server does not have it, as a text.
type script struct{ text, hash any }

func newScript(text string) script { return script{text, redis.NewScript(text).Hash()} }

func (s *script) say(w way) (verb, body any) {
	if w == byText || w == byBulkText {
		return wordEval, s.text
	}
	return wordEvalsha, s.hash
}

// The scripts answer as status reads it: 1 done, 2 gone, 3 another's, 4 ours.
var (
	releaseScript = newScript(`
local owner = redis.call('get', KEYS[1])
if owner == ARGV[1] then
	redis.call('del', KEYS[1])
	return 1
end
return owner and 3 or 2`)

	// The same for several keys, with one look at all and one deletion. MGET shows
	// also what is no string as missing, so that is looked at again. 0: something is
	// wrong with this one. What two of them free goes to the first.
	bulkScript = newScript(`
local owners = redis.call('mget', unpack(KEYS))
local answers, mine, taken = {}, {}, {}
for i, key in ipairs(KEYS) do
	local owner = owners[i]
	if not owner then
		answers[i] = type(redis.pcall('get', key)) == 'table' and 0 or 2
	elseif taken[key] then
		answers[i] = 2
	elseif owner == ARGV[i] then
		taken[key] = true
		mine[#mine + 1] = key
		answers[i] = 1
	else
		answers[i] = 3
	end
end
if #mine > 0 then
	redis.call('del', unpack(mine))
end
return answers`)

	// GT: never shorten a key.
	extendScript = newScript(`
local owner = redis.call('get', KEYS[1])
if owner == ARGV[1] then
	redis.call('pexpire', KEYS[1], ARGV[2], 'gt')
	return 1
end
return owner and 3 or 2`)

	// The fenced acquire. A number is a decimal string and is compared as such,
	// for the numbers of a script are exact only to 2⁵³.
	acquireScript = newScript(`
local own = redis.call('get', KEYS[2]) or '0'
local owner = redis.call('get', KEYS[1])
if owner then
	return {owner == ARGV[1] and 4 or 3, own}
end
local fence = ARGV[3]
if #fence < #own or #fence == #own and fence <= own then
	return {2, own}
end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
redis.call('set', KEYS[2], fence)
return {1, fence}`)
)

// FenceKey is the key beside a lock's own in which a Redis node keeps the highest
// fence number that it has accepted. It never expires: delete it only when no
// resource remembers a number of the lock any more. Both are in one slot of a
// cluster, unless key has a } but no hash tag.
func FenceKey(key string) string {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if n := strings.IndexByte(key[open:], '}'); n > 1 { // it has a hash tag
			return key + ":fence"
		}
	}
	return "{" + key + "}:fence"
}
