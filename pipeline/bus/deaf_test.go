package bus_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// relay carries connections to a server until it is deaf: then those that it has
// stay open and nothing passes, as where a machine or a switch is gone. Later
// connections pass.
type relay struct {
	url string
	to  string

	mu   sync.Mutex
	deaf chan struct{} // closed for the connections that are deaf
}

func newRelay(t *testing.T, url string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{url: "tls://" + l.Addr().String(), to: strings.TrimPrefix(url, "tls://"), deaf: make(chan struct{})}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.carry(t.Context(), c)
		}
	}()
	return r
}

func (r *relay) carry(ctx context.Context, from net.Conn) {
	defer from.Close()
	var d net.Dialer
	to, err := d.DialContext(ctx, "tcp", r.to)
	if err != nil {
		return
	}
	defer to.Close()
	r.mu.Lock()
	deaf := r.deaf
	r.mu.Unlock()
	go pass(to, from, deaf)
	go pass(from, to, deaf)
	<-ctx.Done()
}

// pass copies until it is deaf, and then reads no more.
func pass(to io.Writer, from io.Reader, deaf <-chan struct{}) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		select {
		case <-deaf:
			return
		default:
		}
		if err != nil {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

func (r *relay) deafen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.deaf)
	r.deaf = make(chan struct{})
}

// A connection that is open but receives no data is replaced long before the
// client's own pings would detect it.
func TestADeadConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a dead connection is found out after seconds")
	}
	server := spawn(t)
	way := newRelay(t, server.url)
	creds, err := broker.EnrollAs(server.dir, "lab", broker.All)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(within(t, 10*time.Second), bus.Config{Site: "lab", Name: "test", Servers: []string{way.url}, Credentials: creds})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Create(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	f := newFrames(t)
	if err := b.Append(within(t, 20*time.Second), "h1", f.record(0)); err != nil {
		t.Fatal(err)
	}
	way.deafen()
	if err := b.Append(within(t, 35*time.Second), "h1", f.record(1)); err != nil {
		t.Error(err)
	}
	seen := make(chan bus.Entry, 2)
	go func() {
		_ = b.Follow(t.Context(), 0, func(e bus.Entry) error { seen <- e; return nil })
	}()
	receive(within(t, 20*time.Second), t, seen)
	if e := receive(within(t, 20*time.Second), t, seen); e.Position != 2 {
		t.Errorf("position %d, want 2", e.Position)
	}
}
