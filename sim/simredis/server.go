// Package simredis puts Redis into the simulator: nodes that speak its protocol, and
// go-redis clients that reach them over the simulated network. It is for runs in a
// bubble (simtest.Bubble), where package simtest has set up the nodes already.
//
// A node has strings, with and without a TTL, on its own wall clock; scripts in Lua;
// and transactions that come as one message. What it does not have it refuses with
// Redis's own error: lists, hashes and sets, blocking commands, channels, WATCH.
package simredis

import (
	"fmt"
	"strings"

	"driftlock/sim"
)

// New returns the protocol of one node, for sim.Speaks. The log of go-redis is silent
// from then on.
func New() sim.Protocol {
	silence()
	return &server{}
}

// server is one node's side of its connections.
type server struct {
	lua  *interpreter
	keys *sim.Keys // while it serves

	queued []queued // between MULTI and EXEC
	multi  bool
	failed bool // a command in it was refused
}

type queued struct {
	c    *command
	args []string
}

// Split is sim.Protocol's.
func (s *server) Split(b []byte) (n int, setup bool, text string) {
	setup = true
	var texts []string
	for n < len(b) {
		args, k, bad := request(b[n:])
		if k == 0 {
			break
		}
		n += k
		if bad != "" {
			return n, false, bad
		}
		if len(args) == 0 {
			continue
		}
		if c := commands[strings.ToLower(args[0])]; c == nil || !c.setup {
			setup = false
		}
		texts = append(texts, brief(args))
	}
	if len(texts) > 8 {
		texts = append(texts[:8], "…")
	}
	return n, setup, strings.Join(texts, "; ")
}

// brief is a command for people.
func brief(args []string) string {
	var b strings.Builder
	for i, a := range args {
		switch {
		case i > 0 && strings.Contains(a, "\n"):
			a = "<script>"
		case len(a) > 40:
			a = a[:40] + "…"
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToValidUTF8(a, "?"))
	}
	return b.String()
}

// Restart is sim.Protocol's: the scripts are gone.
func (s *server) Restart() { s.lua = nil }

// Serve is sim.Protocol's. A transaction has to come as one message, as client
// libraries send it.
func (s *server) Serve(k *sim.Keys, b []byte) (out []byte) {
	s.keys = k
	for len(b) > 0 {
		args, n, bad := request(b)
		switch {
		case n == 0:
			return out
		case bad != "":
			return encode(out, failure(bad))
		case len(args) > 0:
			out = encode(out, s.take(args))
		}
		b = b[n:]
	}
	s.multi, s.failed, s.queued = false, false, nil
	return out
}

// take carries out or queues a command.
func (s *server) take(args []string) any {
	name := strings.ToLower(args[0])
	c, refused := s.find(args)
	switch {
	case refused != "":
		s.failed = s.multi
		return failure(refused)
	case name == "multi":
		if s.multi {
			return failure("ERR MULTI calls can not be nested")
		}
		s.multi = true
		return status("OK")
	case name == "discard" || name == "exec":
		return s.exec(name)
	case s.multi:
		s.queued = append(s.queued, queued{c, args})
		return status("QUEUED")
	}
	return c.do(s, args)
}

func (s *server) exec(name string) any {
	list, failed, multi := s.queued, s.failed, s.multi
	s.queued, s.failed, s.multi = nil, false, false
	switch {
	case !multi:
		return failure("ERR " + strings.ToUpper(name) + " without MULTI")
	case name == "discard":
		return status("OK")
	case failed:
		return failure("EXECABORT Transaction discarded because of previous errors.")
	}
	replies := []any{}
	for _, q := range list {
		replies = append(replies, q.c.do(s, q.args))
	}
	return replies
}

// find is the command, or why it is refused, in the words of Redis 7.
func (s *server) find(args []string) (*command, string) {
	c := commands[strings.ToLower(args[0])]
	switch {
	case c == nil:
		rest := ""
		for _, a := range args[1:] {
			if len(rest) > 128 {
				break
			}
			rest += fmt.Sprintf("'%.128s' ", a)
		}
		return nil, fmt.Sprintf("ERR unknown command '%.128s', with args beginning with: %s", args[0], rest)
	case c.arity > 0 && len(args) != c.arity, c.arity < 0 && len(args) < -c.arity:
		return nil, fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(args[0]))
	}
	return c, ""
}
