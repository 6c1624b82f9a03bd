package collectorstest

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// Pipe passes connections on to a target until it is clogged: then it keeps
// those that there are open, and passes nothing over them ever again.
type Pipe struct {
	Address string
	Clogged atomic.Bool
	Dialled atomic.Int32 // connections taken
}

// NewPipe listens on loopback until the test ends; without a target it accepts
// connections and sends nothing.
func NewPipe(t testing.TB, to string) *Pipe {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Pipe{Address: l.Addr().String()}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		l.Close()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.Dialled.Add(1)
			context.AfterFunc(ctx, func() { c.Close() })
			if to == "" {
				continue
			}
			d, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			context.AfterFunc(ctx, func() { d.Close() })
			go p.pass(c, d)
			go p.pass(d, c)
		}
	}()
	return p
}

func (p *Pipe) pass(from io.Reader, to io.Writer) {
	b := make([]byte, 1<<14)
	for {
		n, err := from.Read(b)
		if err != nil || p.Clogged.Load() {
			return // the connections stay open
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
