package simredis

// RESP2: requests are arrays of bulk strings.

import (
	"bytes"
	"fmt"
	"strconv"
)

// maxBulk is how long a string may be: that of Redis.
const maxBulk = 512 << 20

// request reads one from the head of b, and says how many bytes it is: 0 if it is not
// whole yet. Bad says what is wrong with it.
func request(b []byte) (args []string, n int, bad string) {
	line, n := header(b)
	if n == 0 {
		return nil, 0, ""
	}
	if line == "" || line[0] != '*' { // inline, as somebody types it
		for _, f := range bytes.Fields([]byte(line)) {
			args = append(args, string(f))
		}
		return args, n, ""
	}
	count, err := strconv.Atoi(line[1:])
	if err != nil || count > 1<<20 {
		return nil, len(b), "ERR Protocol error: invalid multibulk length"
	}
	for range max(0, count) {
		line, k := header(b[n:])
		if k == 0 {
			return nil, 0, ""
		}
		if line == "" || line[0] != '$' {
			return nil, len(b), fmt.Sprintf("ERR Protocol error: expected '$', got '%.1s'", line)
		}
		length, err := strconv.Atoi(line[1:])
		if err != nil || length < 0 || length > maxBulk {
			return nil, len(b), "ERR Protocol error: invalid bulk length"
		}
		n += k
		if len(b) < n+length+2 {
			return nil, 0, ""
		}
		args = append(args, string(b[n:n+length]))
		n += length + 2
	}
	return args, n, ""
}

// header is the line at the head of b, and its length with the end: 0 if that has yet
// to come.
func header(b []byte) (line string, n int) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return "", 0
	}
	return string(bytes.TrimSuffix(b[:i], []byte("\r"))), i + 1
}

// A reply is what a command answers: nil, an int64, a string, a status, a failure, or
// a list of them.
type (
	status  string
	failure string
)

// encode appends a reply as the server writes it.
func encode(b []byte, reply any) []byte {
	switch r := reply.(type) {
	case nil:
		return append(b, "$-1\r\n"...)
	case int64:
		return fmt.Appendf(b, ":%d\r\n", r)
	case string:
		return fmt.Appendf(b, "$%d\r\n%s\r\n", len(r), r)
	case status:
		return fmt.Appendf(b, "+%s\r\n", string(r))
	case failure:
		return fmt.Appendf(b, "-%s\r\n", string(r))
	case []any:
		b = fmt.Appendf(b, "*%d\r\n", len(r))
		for _, x := range r {
			b = encode(b, x)
		}
		return b
	}
	panic(fmt.Sprintf("simredis: a reply of type %T", reply))
}
