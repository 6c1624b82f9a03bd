package dial_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// TestConnectionsAreLimited: of a flood from one address the rest is closed and
// counted, another address still gets in, and who leaves makes room.
func TestConnectionsAreLimited(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int64
	l := dial.Limit{Total: 6, Address: 4, Refused: func() { refused.Add(1) }}.Listener(inner)
	defer l.Close()
	accepted := make(chan net.Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello"))
			accepted <- c
		}
	}()
	// knock connects from an address and reports whether it was let in.
	knock := func(from string) bool {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", inner.Addr().String())
		if err != nil {
			return false // closed before the connection stood
		}
		t.Cleanup(func() { c.Close() })
		_, err = io.ReadFull(c, make([]byte, 5))
		return err == nil
	}
	for i := range 20 {
		if in := knock("127.0.0.1"); in != (i < 4) {
			t.Fatalf("connection %d from one address: let in: %v", i+1, in)
		}
	}
	if n := refused.Load(); n != 16 {
		t.Errorf("%d counted, want 16", n)
	}
	if !knock("127.0.0.2") || !knock("127.0.0.2") {
		t.Error("another address is kept out")
	}
	if knock("127.0.0.3") {
		t.Error("more than the total was let in")
	}
	first := <-accepted
	first.Close()
	first.Close() // counts once
	if !knock("127.0.0.3") {
		t.Error("who left made no room")
	}
	if knock("127.0.0.3") {
		t.Error("closing twice made room for two")
	}
}
