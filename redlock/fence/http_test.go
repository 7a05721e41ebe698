package fence_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"driftlock/redlock/fence"
)

// get sends one request with the values of the header.
func get(h http.Handler, ctx context.Context, values ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPut, "/orders", nil)
	for _, v := range values {
		r.Header.Add(fence.Header, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHandler(t *testing.T) {
	t.Parallel()
	var g fence.Guard
	served := 0
	h := fence.Handler(&g, func(r *http.Request) string { return r.URL.Path }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served++
		fmt.Fprint(w, "written")
	}))
	for i, s := range []struct {
		header []string
		want   int
	}{
		{nil, http.StatusPreconditionRequired},
		{[]string{"41"}, http.StatusOK},
		{[]string{"42"}, http.StatusOK},
		{[]string{"41"}, http.StatusPreconditionFailed},
		{[]string{"42"}, http.StatusOK}, // the same again
		{[]string{"0"}, http.StatusBadRequest},
		{[]string{""}, http.StatusBadRequest},
		{[]string{"-1"}, http.StatusBadRequest},
		{[]string{"+43"}, http.StatusBadRequest},
		{[]string{"4 3"}, http.StatusBadRequest},
		{[]string{"0x2b"}, http.StatusBadRequest},
		{[]string{"18446744073709551616"}, http.StatusBadRequest},
		{[]string{"43", "44"}, http.StatusBadRequest},
		{[]string{"43"}, http.StatusOK}, // none of those was taken for a number
	} {
		before := served
		w := get(h, context.Background(), s.header...)
		if w.Code != s.want || (served > before) != (s.want == http.StatusOK) {
			t.Errorf("step %d, %q: %d %s, served %v; want %d", i, s.header, w.Code, w.Body, served > before, s.want)
		}
		if w.Code == http.StatusPreconditionFailed && w.Header().Get(fence.Header) != "42" {
			t.Errorf("the highest number is said to be %q", w.Header().Get(fence.Header))
		}
	}
}

// A request that gives up waiting for an older one is not served.
func TestHandlerWaits(t *testing.T) {
	t.Parallel()
	var g fence.Guard
	entered, leave := make(chan bool), make(chan bool)
	h := fence.Handler(&g, func(*http.Request) string { return "k" }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(fence.Header) == "1" {
			close(entered)
			<-leave
		}
	}))
	ended := make(chan int)
	go func() { ended <- get(h, context.Background(), "1").Code }()
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if w := get(h, ctx, "2"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	close(leave)
	if code := <-ended; code != http.StatusOK {
		t.Errorf("the older one: %d", code)
	}
	if w := get(h, context.Background(), "1"); w.Code != http.StatusPreconditionFailed {
		t.Errorf("after it: %d", w.Code)
	}
}

func TestSetHeader(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	fence.SetHeader(h, 1<<64-1)
	if n, err := fence.FromHeader(h); n != 1<<64-1 || err != nil {
		t.Error(n, err)
	}
}

// What is no matter of the number keeps its text to itself.
func TestRefuse(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	fence.Refuse(w, fmt.Errorf("password of db1"))
	if w.Code != http.StatusInternalServerError || w.Body.String() != "Internal Server Error\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
