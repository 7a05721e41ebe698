package redlock

import (
	"net"
	"sync"
	"testing"
	"time"
)

// A proxy stands between clients and one server, and does to the bytes what a bad
// network, a bad server or a bad middlebox does.
type proxy struct {
	t      testing.TB
	target string
	l      net.Listener
	wg     sync.WaitGroup

	mu     sync.Mutex
	ask    func([]byte) []byte // what becomes of bytes to the server; nil: as they are
	answer func([]byte) []byte // and of bytes from it
	delay  time.Duration       // of both, each way
	conns  map[net.Conn]bool
	closed bool
}

// severed is what ask and answer return to end the connection.
var severed = []byte("cut")

func startProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, target: target, l: l, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) addr() string { return p.l.Addr().String() }

func (p *proxy) accept() {
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		s, err := net.Dial("tcp", p.target)
		if err != nil || !p.keep(c, s) {
			c.Close()
			continue
		}
		p.wg.Go(func() { p.carry(c, s, func() func([]byte) []byte { return p.ask }) })
		p.wg.Go(func() { p.carry(s, c, func() func([]byte) []byte { return p.answer }) })
	}
}

func (p *proxy) keep(cs ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range cs {
		if p.closed {
			c.Close()
		} else {
			p.conns[c] = true
		}
	}
	return !p.closed
}

func (p *proxy) carry(from, to net.Conn, change func() func([]byte) []byte) {
	defer func() {
		from.Close()
		to.Close()
		p.mu.Lock()
		delete(p.conns, from)
		p.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			f, delay := change(), p.delay
			p.mu.Unlock()
			time.Sleep(delay)
			out := buf[:n]
			if f != nil {
				out = f(out)
			}
			if len(out) > 0 && &out[0] == &severed[0] {
				return
			}
			if _, err := to.Write(out); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// set changes what the proxy does from now on.
func (p *proxy) set(f func(p *proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

// drop ends all connections.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) close() {
	p.l.Close()
	p.set(func(p *proxy) { p.closed = true })
	p.drop()
	p.wg.Wait()
}
