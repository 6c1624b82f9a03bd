package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// Bounds of receiving.
const (
	acceptAgain    = 100 * time.Millisecond
	maxWaiting     = 4096    // messages that wait; a datagram beyond them is dropped and counted
	maxConnections = 256     // a connection beyond them is closed and counted
	datagramBuffer = 4 << 20 // of the system's
)

// message is one syslog message as it came.
type message struct {
	raw  string
	from netip.Addr
}

// receiver takes syslog messages by datagram and by connection.
type receiver struct {
	guard   dial.Guard
	out     chan message
	sockets []io.Closer
	work    sync.WaitGroup
	open    atomic.Int32

	refused, overLimit, malformed atomic.Int64
}

// receive binds addresses and receives until ctx is done. A connection that has
// more than can be handed on waits.
func receive(ctx context.Context, g dial.Guard, at []Address) (*receiver, error) {
	r := &receiver{guard: g, out: make(chan message, maxWaiting)}
	for _, a := range at {
		if err := r.bind(ctx, a); err != nil {
			r.close()
			return nil, fmt.Errorf("listen on %s://%s: %w", a.Network, a.Address, err)
		}
	}
	return r, nil
}

func (r *receiver) bind(ctx context.Context, a Address) error {
	if a.Network == "udp" {
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(a.Address))
		if err != nil {
			return err
		}
		_ = c.SetReadBuffer(datagramBuffer) // as much as the system allows
		r.sockets = append(r.sockets, c)
		r.work.Go(func() { r.datagrams(ctx, c) })
		return nil
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(a.Address))
	if err != nil {
		return err
	}
	r.sockets = append(r.sockets, l)
	r.work.Go(func() { r.accept(ctx, l) })
	return nil
}

// close ends everything that receive started.
func (r *receiver) close() {
	for _, s := range r.sockets {
		_ = s.Close()
	}
	r.work.Wait()
}

func (r *receiver) datagrams(ctx context.Context, c *net.UDPConn) {
	b := make([]byte, 64<<10)
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		if err != nil {
			if errors.Is(err, net.ErrClosed) || !collectors.Sleep(ctx, acceptAgain) {
				return
			}
			continue
		}
		switch {
		case !r.guard.Allows(from.Addr()):
			r.refused.Add(1)
			continue
		case n > maxLine:
			r.overLimit.Add(1)
			n = maxLine
		}
		select {
		case r.out <- message{string(b[:n]), from.Addr().Unmap()}:
		default:
			r.overLimit.Add(1)
		}
	}
}

func (r *receiver) accept(ctx context.Context, l *net.TCPListener) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || !collectors.Sleep(ctx, acceptAgain) {
				return
			}
			continue // out of files, perhaps: others may give some back
		}
		from := c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
		switch {
		case !r.guard.Allows(from):
			r.refused.Add(1)
			_ = c.Close()
			continue
		case r.open.Load() >= maxConnections:
			r.overLimit.Add(1)
			_ = c.Close()
			continue
		}
		r.open.Add(1)
		r.work.Go(func() {
			defer r.open.Add(-1)
			stop := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer stop()
			defer c.Close()
			r.connection(ctx, c, from)
		})
	}
}

// connection reads messages of a connection: each after its length, or each on
// a line of its own (RFC 6587).
func (r *receiver) connection(ctx context.Context, c io.Reader, from netip.Addr) {
	in := bufio.NewReaderSize(c, maxLine+16)
	for {
		raw, err := r.frame(in)
		if err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				r.malformed.Add(1)
			}
			return
		}
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		select {
		case r.out <- message{string(raw), from}:
		case <-ctx.Done():
			return
		}
	}
}

var errFrame = errors.New("neither a length nor a message")

// frame reads one message; it is valid until the next.
func (r *receiver) frame(in *bufio.Reader) ([]byte, error) {
	b, err := in.Peek(1)
	if err != nil {
		return nil, err
	}
	if b[0] >= '1' && b[0] <= '9' {
		word, err := in.ReadSlice(' ')
		if err != nil || len(word) > 7 {
			return nil, errFrame
		}
		n, err := strconv.Atoi(string(word[:len(word)-1]))
		if err != nil {
			return nil, errFrame
		}
		out := make([]byte, min(n, maxLine))
		if _, err := io.ReadFull(in, out); err != nil {
			return nil, err
		}
		if n > len(out) {
			r.overLimit.Add(1)
			_, err = in.Discard(n - len(out))
		}
		return out, err
	}
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.overLimit.Add(1)
		out := bytes.Clone(line[:maxLine])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		return out, err
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = nil
	}
	return line, err
}

// drops takes what was dropped since the last time.
func (r *receiver) drops(to map[collectors.Reason]int) {
	for reason, n := range map[collectors.Reason]*atomic.Int64{collectors.Refused: &r.refused, collectors.OverLimit: &r.overLimit, collectors.Malformed: &r.malformed} {
		to[reason] += int(n.Swap(0))
	}
}
