package e2e_test

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gate stands between one server and Redis. A trap set in it stops writes that name a key, on their way to Redis: so a
// server can be met, and killed, at exactly that step.
type gate struct {
	behind   string
	listener net.Listener
	trap     atomic.Pointer[trap]
	mu       sync.Mutex
	conns    []net.Conn
}

// trap stops every write that names the key, in all gates that it is set in, until it is released.
type trap struct {
	key    []byte
	off    atomic.Bool
	caught chan *catch
	others []*catch // caught and not waited for yet
}

// catch is one write that stands in a gate.
type catch struct {
	gate    *gate
	bytes   []byte
	goOn    chan bool     // true = to Redis, false = it is lost
	replied chan struct{} // closed when Redis has answered on this connection
}

// catches is how many writes a trap holds at most.
const catches = 64

func startGate(tb testing.TB, behind string) *gate {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	g := &gate{behind: behind, listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go g.serve(conn)
		}
	}()
	tb.Cleanup(func() {
		_ = listener.Close()
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, c := range g.conns {
			_ = c.Close()
		}
	})
	return g
}

func (g *gate) url() string { return "redis://" + g.listener.Addr().String() + "/0" }

// serve carries one connection.
func (g *gate) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", g.behind)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	g.mu.Lock()
	g.conns = append(g.conns, client, server)
	g.mu.Unlock()
	var pending atomic.Pointer[catch]
	replies := make(chan struct{})
	go func() {
		defer close(replies)
		carry(server, client, func([]byte) bool {
			if c := pending.Swap(nil); c != nil {
				close(c.replied)
			}
			return true
		})
	}()
	carry(client, server, func(chunk []byte) bool { return g.pass(chunk, &pending) })
	if half, ok := server.(*net.TCPConn); ok {
		_ = half.CloseWrite() // Redis answers what it has got, and then closes
	}
	<-replies
}

// carry copies what pass lets through; a receiver that is gone does not end it, for the sender's bytes may be awaited.
func carry(from, to net.Conn, pass func(chunk []byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !pass(buffer[:n]) {
				return
			}
			_, _ = to.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// pass holds a write that a trap waits for until it is decided.
func (g *gate) pass(chunk []byte, pending *atomic.Pointer[catch]) bool {
	t := g.trap.Load()
	if t == nil || t.off.Load() || !bytes.Contains(chunk, t.key) || bytes.Contains(chunk, []byte("hgetall")) {
		return true
	}
	c := &catch{gate: g, bytes: bytes.Clone(chunk), goOn: make(chan bool, 1), replied: make(chan struct{})}
	t.caught <- c
	goOn := <-c.goOn
	if goOn {
		pending.Store(c)
	}
	return goOn
}

// setTrap sets a trap in the gates; it is released with the test at the latest.
func setTrap(tb testing.TB, key string, gates ...*gate) *trap {
	tb.Helper()
	t := &trap{key: []byte(key), caught: make(chan *catch, catches)}
	for _, g := range gates {
		g.trap.Store(t)
	}
	tb.Cleanup(func() { t.release(nil) })
	return t
}

// first waits for a write in one of the gates; others stay caught.
func (t *trap) first(tb testing.TB, gates ...*gate) *catch {
	tb.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case c := <-t.caught:
			if slices.Contains(gates, c.gate) {
				return c
			}
			t.others = append(t.others, c)
		case <-deadline:
			tb.Fatalf("no write of %s came to the gate", t.key)
		}
	}
}

// arrive lets a caught write go on and waits until Redis has answered it.
func (c *catch) arrive(tb testing.TB) {
	tb.Helper()
	c.goOn <- true
	select {
	case <-c.replied:
	case <-time.After(10 * time.Second):
		tb.Fatalf("Redis does not answer a write that came late: %q", c.bytes)
	}
}

// release lets all go on that is caught, but what stands in the gate lost, and catches nothing more.
func (t *trap) release(lost *gate) {
	t.off.Store(true)
	for {
		select {
		case c := <-t.caught:
			t.others = append(t.others, c)
			continue
		default:
		}
		break
	}
	for _, c := range t.others {
		c.goOn <- c.gate != lost
	}
	t.others = nil
}
