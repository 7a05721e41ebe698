package fence

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// Header is the name of the header that carries a number, in decimal.
const Header = "Fencing-Token"

var errHeader = errors.New("header " + Header)

// SetHeader puts the number of a token into a request's header.
func SetHeader(h http.Header, fence uint64) { h.Set(Header, strconv.FormatUint(fence, 10)) }

// Handler lets a request through to next only if guard accepts its number for the key
// that key finds in it. It answers the others itself:
//
//	412 Precondition Failed    the number is stale; to send it again is of no use
//	428 Precondition Required  there is no number
//	400 Bad Request            the header is no number, or there are several
//	503 Service Unavailable    the request ended while it waited for an older one
//
// It is 412 and not 409: the number is a condition that the client sent in a header, and
// 409 is what clients like to send again. The answer to a stale one has the highest
// number seen in its own Fencing-Token header.
//
// Next runs as guard.Do does: it begins when requests with lower numbers for that key
// have been answered, and its writes must be over when it returns. Give the server a
// timeout, so that none takes for ever.
//
// Requests that change nothing need no number: leave them out, by their method say. The
// Guard forgets its numbers when the process ends; where that may happen between two
// holders, and with several processes behind one name, compare in the database
// (Column, Ledger).
func Handler(guard *Guard, key func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fence, err := FromHeader(r.Header)
		if err == nil {
			err = guard.Do(r.Context(), key(r), fence, func() error {
				next.ServeHTTP(w, r)
				return nil
			})
		}
		switch {
		case err == nil:
		case context.Cause(r.Context()) == err:
			http.Error(w, "fence: an older write is still under way", http.StatusServiceUnavailable)
		default:
			Refuse(w, err)
		}
	})
}

// FromHeader reads the number of a request. It is ErrMissing if there is none, and an
// error of another kind if it is not one decimal number above 0.
func FromHeader(h http.Header) (uint64, error) {
	values := h.Values(Header)
	switch len(values) {
	case 0:
		return 0, fmt.Errorf("fence: header %s: %w", Header, ErrMissing)
	case 1:
	default:
		return 0, fmt.Errorf("fence: %w: %d values, allowed is one", errHeader, len(values))
	}
	n, err := strconv.ParseUint(values[0], 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("fence: %w: %s, allowed is a decimal number from 1 to %d", errHeader, quoted(values[0]), uint64(1<<64-1))
	}
	return n, nil
}

// Refuse answers a request whose write was refused with err, of Guard, Column or Ledger,
// as Handler does. Any other error is answered with 500, and its text is kept back.
func Refuse(w http.ResponseWriter, err error) {
	var stale *Stale
	switch {
	case errors.As(err, &stale):
		SetHeader(w.Header(), stale.Highest)
		http.Error(w, err.Error(), http.StatusPreconditionFailed)
	case errors.Is(err, ErrMissing):
		http.Error(w, err.Error(), http.StatusPreconditionRequired)
	case errors.Is(err, errHeader):
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	}
}
