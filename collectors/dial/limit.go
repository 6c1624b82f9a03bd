package dial

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// Limit bounds how many connections a listener has at once. A connection beyond it
// is closed before a byte is read or a handshake begun.
type Limit struct {
	Total   int
	Address int    // of those from one address
	Refused func() // called for each that was refused; nil: nobody asks
}

// Limits of the connections of one of our listeners. One address may be a proxy for
// many clients, and has a quarter.
const (
	Connections        = 4096
	ConnectionsAddress = Connections / 4
)

// Listener returns l with the bound.
func (b Limit) Listener(l net.Listener) net.Listener {
	return &limited{Listener: l, bound: b, by: map[netip.Addr]int{}}
}

type limited struct {
	net.Listener
	bound Limit

	mu   sync.Mutex
	open int
	by   map[netip.Addr]int
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := remote(c)
		if l.enter(from) {
			return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { l.leave(from) })}, nil
		}
		if l.bound.Refused != nil {
			l.bound.Refused() // first: who sees the connection end finds it counted
		}
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // nothing of it stays in the kernel
		}
		_ = c.Close()
	}
}

func remote(c net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{} // a unix socket: all of them are one
	}
	return at.Addr().Unmap().WithZone("")
}

func (l *limited) enter(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.bound.Total || l.by[from] >= l.bound.Address {
		return false
	}
	l.open++
	l.by[from]++
	return true
}

func (l *limited) leave(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.by[from]--; l.by[from] == 0 {
		delete(l.by, from)
	}
}

type limitedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// Listen opens a TCP address with the limits of our listeners; refused is called
// for each connection beyond them.
func Listen(ctx context.Context, address string, refused func()) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return Limit{Total: Connections, Address: ConnectionsAddress, Refused: refused}.Listener(l), nil
}
