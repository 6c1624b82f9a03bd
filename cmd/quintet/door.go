package main

import (
	"context"
	"net"
	"sync"
)

// door keeps an address while the servers behind it come and go: who knocks in
// between waits, and is not turned away.
type door struct {
	net.Listener
	in chan net.Conn
}

func openDoor(address string) (*door, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &door{Listener: l, in: make(chan net.Conn)}, nil
}

// run lets in until ctx is done.
func (d *door) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { d.Listener.Close() })
	defer stop()
	for {
		c, err := d.Listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case d.in <- c:
		case <-ctx.Done():
			c.Close()
			return nil
		}
	}
}

// session is the door as one server has it: it lets in once ready is closed, and
// closing it leaves the address.
func (d *door) session(ready <-chan struct{}) net.Listener {
	return &doorway{door: d, ready: ready, closed: make(chan struct{})}
}

type doorway struct {
	door   *door
	ready  <-chan struct{}
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (w *doorway) Accept() (net.Conn, error) {
	select {
	case <-w.closed:
		return nil, net.ErrClosed
	case <-w.ready:
	}
	select {
	case c := <-w.door.in:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (w *doorway) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// Addr implements net.Listener.
func (w *doorway) Addr() net.Addr { return w.door.Addr() }

// free reports an address that is in use before anything else is started.
func free(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}
