package mini

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// wire hands the commands of a go-redis client to a server in the same process, and
// the answers back. Nothing is dialled.
type wire struct{ server *server.Server }

func (w wire) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is redis.Hook's.
func (w wire) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { return w.execute(cmd) }
}

// ProcessPipelineHook is redis.Hook's.
func (w wire) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) (first error) {
		for _, cmd := range cmds {
			if err := w.execute(cmd); err != nil && first == nil {
				first = err
			}
		}
		return first
	}
}

func (w wire) execute(cmd redis.Cmder) error {
	var words []string
	for _, a := range cmd.Args() {
		words = append(words, fmt.Sprint(a))
	}
	var answer bytes.Buffer
	to := bufio.NewWriter(&answer)
	w.server.Dispatch(server.NewPeer(to), words)
	to.Flush()
	err := hear(cmd, answer.String())
	cmd.SetErr(err)
	return err
}

// serverError is an error that the server answered.
type serverError string

func (e serverError) Error() string { return string(e) }

// RedisError is redis.Error's.
func (serverError) RedisError() {}

// hear gives an answer, as it stands on the wire, to its command.
func hear(cmd redis.Cmder, answer string) error {
	if text, err := proto.ReadError(answer); err == nil {
		return serverError(text)
	}
	var v any // nil is no value
	var err error
	if !strings.HasPrefix(answer, "$-1") && !strings.HasPrefix(answer, "*-1") {
		v, err = proto.Parse(answer)
	}
	if err != nil {
		return fmt.Errorf("miniredis answers %q: %w", answer, err)
	}
	switch c := cmd.(type) {
	case interface{ SetVal(bool) }: // SET NX: refused is nil
		c.SetVal(v != nil)
	case interface{ SetVal(int64) }:
		n, err := integer(v)
		c.SetVal(n)
		return err
	case interface{ SetVal(string) }:
		if v == nil {
			return redis.Nil
		}
		c.SetVal(fmt.Sprint(v))
	case interface{ SetVal([]int64) }:
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("miniredis answers %q", answer)
		}
		all := make([]int64, len(list))
		for i := range list {
			var each error
			all[i], each = integer(list[i])
			err = errors.Join(err, each)
		}
		c.SetVal(all)
		return err
	case interface{ SetVal([]any) }:
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("miniredis answers %q", answer)
		}
		for i := range list {
			if n, ok := list[i].(int); ok {
				list[i] = int64(n) // as go-redis has it
			}
		}
		c.SetVal(list)
	default:
		return fmt.Errorf("a command of type %T", cmd)
	}
	return nil
}

func integer(v any) (int64, error) {
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case int64:
		return v, nil
	}
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("miniredis answers %v where a number is expected", v)
	}
	return n, nil
}
