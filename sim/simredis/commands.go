package simredis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"driftlock/redlock"
	"driftlock/sim/node"
)

// command is one that the node knows.
type command struct {
	arity int  // as Redis counts it: with its name; below 0: at least
	setup bool // it does no more than set a connection up
	do    func(s *server, args []string) any
}

var commands map[string]*command

func init() { // scripts call commands
	commands = map[string]*command{
		"hello":  {-1, true, (*server).hello},
		"client": {-2, true, (*server).client},
		"auth":   {-2, true, ok}, "select": {2, true, ok}, "readonly": {1, true, ok}, "quit": {-1, true, ok},
		"ping": {-1, false, (*server).ping}, "echo": {2, false, func(_ *server, a []string) any { return a[1] }},
		"multi": {1, false, nil}, "exec": {1, false, nil}, "discard": {1, false, nil},

		"get": {2, false, (*server).get}, "mget": {-2, false, (*server).mget}, "getdel": {2, false, (*server).getdel},
		"set": {-3, false, (*server).set}, "setnx": {3, false, (*server).setnx}, "getset": {3, false, (*server).getset},
		"setex": {4, false, (*server).setex}, "psetex": {4, false, (*server).setex}, "mset": {-3, false, (*server).mset},
		"append": {3, false, (*server).appendTo}, "strlen": {2, false, (*server).strlen}, "getrange": {4, false, (*server).getrange},
		"incr": {2, false, (*server).incr}, "decr": {2, false, (*server).incr}, "incrby": {3, false, (*server).incr}, "decrby": {3, false, (*server).incr},
		"del": {-2, false, (*server).del}, "unlink": {-2, false, (*server).del}, "exists": {-2, false, (*server).exists},
		"expire": {-3, false, (*server).expire}, "pexpire": {-3, false, (*server).expire}, "persist": {2, false, (*server).persist},
		"ttl": {2, false, (*server).ttl}, "pttl": {2, false, (*server).ttl}, "pexpiretime": {2, false, (*server).ttl},
		"type": {2, false, (*server).kind}, "time": {1, false, (*server).time},

		"eval": {-3, false, (*server).eval}, "evalsha": {-3, false, (*server).eval}, "script": {-2, false, (*server).script},
	}
}

func ok(*server, []string) any { return status("OK") }

var (
	errNumber = failure("ERR value is not an integer or out of range")
	errSyntax = failure("ERR syntax error")
)

// ---- connections

// hello: the node speaks RESP2.
func (s *server) hello(args []string) any {
	if len(args) > 1 && args[1] != "2" {
		return failure("NOPROTO unsupported protocol version")
	}
	return []any{"server", "redis", "version", "7.0.15", "proto", int64(2), "id", int64(1), "mode", "standalone", "role", "master", "modules", []any{}}
}

func (s *server) client(args []string) any {
	switch strings.ToLower(args[1]) {
	case "setname", "setinfo", "no-evict", "no-touch":
		return status("OK")
	case "id":
		return int64(1)
	case "getname":
		return nil
	}
	return failure(fmt.Sprintf("ERR unknown subcommand '%.128s'. Try CLIENT HELP.", args[1]))
}

func (s *server) ping(args []string) any {
	if len(args) > 1 {
		return args[1]
	}
	return status("PONG")
}

// time is the node's wall clock, whose zero is taken for 2100-01-01.
func (s *server) time([]string) any {
	us := s.keys.Wall()/1000 + 4102444800_000_000
	return []any{strconv.FormatInt(us/1e6, 10), strconv.FormatInt(us%1e6, 10)}
}

// ---- strings

func (s *server) get(args []string) any {
	if v, _, ok := s.keys.Get(args[1]); ok {
		return v
	}
	return nil
}

func (s *server) mget(args []string) any {
	list := []any{}
	for _, k := range args[1:] {
		list = append(list, s.get([]string{"get", k}))
	}
	return list
}

func (s *server) strlen(args []string) any {
	v, _, _ := s.keys.Get(args[1])
	return int64(len(v))
}

// getrange: both ends count, and below 0 from the end.
func (s *server) getrange(args []string) any {
	from, err := strconv.Atoi(args[2])
	to, err2 := strconv.Atoi(args[3])
	if err != nil || err2 != nil {
		return errNumber
	}
	v, _, _ := s.keys.Get(args[1])
	if from < 0 && to < 0 && from > to {
		return ""
	}
	if from < 0 {
		from = max(0, from+len(v))
	}
	if to < 0 {
		to = max(0, to+len(v))
	}
	if to = min(to, len(v)-1); from > to {
		return ""
	}
	return v[from : to+1]
}

func (s *server) kind(args []string) any {
	if _, _, ok := s.keys.Get(args[1]); ok {
		return status("string")
	}
	return status("none")
}

// put sets a key, whoever has it; a TTL of 0 is none. It is not asked to be free, so it
// is no lock's.
func (s *server) put(key, value string, ttl time.Duration) {
	s.drop(key, nil)
	s.keys.Do(&redlock.Request{Op: node.OpSetForGood, Key: key, Owner: value, TTL: time.Hour})
	if ttl > 0 {
		s.keys.Do(&redlock.Request{Op: node.OpExpireOwn, Key: key, Owner: value, TTL: ttl})
	}
}

// drop deletes a key. Whoever knows its value, or has set it, acts as its owner.
func (s *server) drop(key string, known []string) bool {
	value, _, ok := s.keys.Get(key)
	if !ok {
		return false
	}
	op, owner := node.OpDelete, ""
	if s.keys.Mine(key) || slices.Contains(known, value) {
		op, owner = redlock.OpRelease, value
	}
	return s.keys.Do(&redlock.Request{Op: op, Key: key, Owner: owner, TTL: time.Hour}).Status == redlock.Done
}

func (s *server) set(args []string) any {
	var nx, xx, keep, old bool
	var ttl time.Duration
	for i := 3; i < len(args); i++ {
		switch word := strings.ToLower(args[i]); word {
		case "nx":
			nx = true
		case "xx":
			xx = true
		case "keepttl":
			keep = true
		case "get":
			old = true
		case "ex", "px":
			i++
			if i == len(args) || ttl != 0 {
				return errSyntax
			}
			d, bad := span(args[i], word == "ex", "set")
			if bad != nil {
				return bad
			}
			ttl = d
		default:
			return errSyntax
		}
	}
	if nx && xx || keep && ttl != 0 {
		return errSyntax
	}
	key, value := args[1], args[2]
	had, when, there := s.keys.Get(key)
	var before any
	if there {
		before = had
	}
	switch {
	case nx && ttl > 0:
		// Carried out by the node's store also if the key is there: it is a lock's, and
		// the refusal is to be seen.
		if reply := s.keys.Do(&redlock.Request{Op: redlock.OpAcquire, Key: key, Owner: value, TTL: ttl}); reply.Status != redlock.Done {
			return answer(old, before, nil)
		}
	case nx && there, xx && !there:
		return answer(old, before, nil)
	default:
		if keep && there && when < node.Forever {
			ttl = time.Duration(when-s.ms()) * time.Millisecond
		}
		s.put(key, value, ttl)
	}
	return answer(old, before, status("OK"))
}

// answer is what SET answers: with GET the value that there was.
func answer(old bool, before, reply any) any {
	if old {
		return before
	}
	return reply
}

// span reads a TTL in seconds or milliseconds.
func span(text string, seconds bool, name string) (time.Duration, any) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errNumber
	}
	unit := time.Millisecond
	if seconds {
		unit = time.Second
	}
	if n <= 0 || n > math.MaxInt64/int64(unit) {
		return 0, failure("ERR invalid expire time in '" + name + "' command")
	}
	return time.Duration(n) * unit, nil
}

func (s *server) setnx(args []string) any {
	if _, _, ok := s.keys.Get(args[1]); ok {
		return int64(0)
	}
	s.put(args[1], args[2], 0)
	return int64(1)
}

func (s *server) getset(args []string) any {
	old := s.get(args)
	s.put(args[1], args[2], 0)
	return old
}

func (s *server) getdel(args []string) any {
	old := s.get(args)
	s.drop(args[1], nil)
	return old
}

func (s *server) setex(args []string) any {
	name := strings.ToLower(args[0])
	ttl, bad := span(args[2], name == "setex", name)
	if bad != nil {
		return bad
	}
	s.put(args[1], args[3], ttl)
	return status("OK")
}

func (s *server) mset(args []string) any {
	if len(args)%2 == 0 {
		return failure("ERR wrong number of arguments for 'mset' command")
	}
	for i := 1; i < len(args); i += 2 {
		s.put(args[i], args[i+1], 0)
	}
	return status("OK")
}

// change puts a new value in the place of a key's, which keeps its TTL.
func (s *server) change(key, value string) {
	var ttl time.Duration
	if _, when, ok := s.keys.Get(key); ok && when < node.Forever {
		ttl = time.Duration(when-s.ms()) * time.Millisecond
	}
	s.put(key, value, ttl)
}

func (s *server) appendTo(args []string) any {
	v, _, _ := s.keys.Get(args[1])
	s.change(args[1], v+args[2])
	return int64(len(v) + len(args[2]))
}

func (s *server) incr(args []string) any {
	by := int64(1)
	if len(args) > 2 {
		n, err := strconv.ParseInt(args[2], 10, 64)
		if err != nil {
			return errNumber
		}
		by = n
	}
	if strings.HasPrefix(strings.ToLower(args[0]), "decr") {
		by = -by
	}
	var n int64
	if v, _, ok := s.keys.Get(args[1]); ok {
		var err error
		if n, err = strconv.ParseInt(v, 10, 64); err != nil {
			return errNumber
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return failure("ERR increment or decrement would overflow")
	}
	s.change(args[1], strconv.FormatInt(n+by, 10))
	return n + by
}

// ---- keys

func (s *server) del(args []string) any {
	n := int64(0)
	for _, k := range args[1:] {
		if s.drop(k, s.known()) {
			n++
		}
	}
	return n
}

func (s *server) exists(args []string) any {
	n := int64(0)
	for _, k := range args[1:] {
		if _, _, ok := s.keys.Get(k); ok {
			n++
		}
	}
	return n
}

// expire: what is not above 0 deletes the key.
func (s *server) expire(args []string) any {
	n, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return errNumber
	}
	name := strings.ToLower(args[0])
	unit := time.Millisecond
	if name == "expire" {
		unit = time.Second
	}
	if n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
		return failure("ERR invalid expire time in '" + name + "' command")
	}
	value, when, there := s.keys.Get(args[1])
	if !there {
		return int64(0)
	}
	ttl := time.Duration(n) * unit
	for _, a := range args[3:] {
		left, ever := s.ms()+ttl.Milliseconds(), when < node.Forever
		switch strings.ToLower(a) {
		case "nx":
			if ever {
				return int64(0)
			}
		case "xx":
			if !ever {
				return int64(0)
			}
		case "gt":
			if !ever || left <= when {
				return int64(0)
			}
		case "lt":
			if ever && left >= when {
				return int64(0)
			}
		default:
			return failure("ERR Unsupported option " + a)
		}
	}
	if ttl <= 0 {
		s.drop(args[1], s.known())
		return int64(1)
	}
	op, owner := node.OpExpire, ""
	if s.keys.Mine(args[1]) || slices.Contains(s.known(), value) {
		op, owner = node.OpExpireOwn, value
	}
	s.keys.Do(&redlock.Request{Op: op, Key: args[1], Owner: owner, TTL: ttl})
	return int64(1)
}

func (s *server) persist(args []string) any {
	value, when, there := s.keys.Get(args[1])
	if !there || when >= node.Forever {
		return int64(0)
	}
	s.put(args[1], value, 0)
	return int64(1)
}

// ms is the node's wall clock in whole milliseconds, rounded down.
func (s *server) ms() int64 {
	wall := s.keys.Wall()
	ms := wall / 1e6
	if wall%1e6 < 0 {
		ms--
	}
	return ms
}

func (s *server) ttl(args []string) any {
	_, when, there := s.keys.Get(args[1])
	switch name := strings.ToLower(args[0]); {
	case !there:
		return int64(-2)
	case when >= node.Forever:
		return int64(-1)
	case name == "pexpiretime":
		return when
	case name == "pttl":
		return max(0, when-s.ms())
	default:
		return max(0, (when-s.ms()+500)/1000)
	}
}

// known are the values that a script was called with: who knows a key's value acts as
// its owner.
func (s *server) known() []string {
	if s.lua == nil {
		return nil
	}
	return s.lua.args
}
