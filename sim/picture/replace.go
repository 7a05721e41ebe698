package picture

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// traceHead is how a trace begins.
const traceHead = `{"displayTimeUnit":"ns","otherData":{"scenario":`

// IsPage says whether a text begins as a page of HTML does.
func IsPage(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!doctype html>")) && bytes.Contains(head, []byte(" · Driftlock</title>"))
}

// IsTrace says whether a text begins as a trace of Perfetto does.
func IsTrace(head []byte) bool { return bytes.HasPrefix(head, []byte(traceHead)) }

// MayReplace says whether a picture may take the place of what a file has: of nothing,
// or of an older picture of its kind, which is tells. What is no ordinary file has
// nothing to lose.
func MayReplace(file string, is func(head []byte) bool) bool {
	was, err := os.Stat(file)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	if !was.Mode().IsRegular() || was.Size() == 0 {
		return true
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1<<14)
	n, err := io.ReadFull(f, head)
	return (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && is(head[:n])
}
