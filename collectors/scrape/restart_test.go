package scrape

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// TestRestarts: a target that is restarted a hundred times is read after each,
// and nothing is left of the connections to the ones before.
func TestRestarts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	c, err := New(Config{Targets: []Target{{URL: "http://" + address + "/metrics"}}, Every: time.Second}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	c.targets[0].every = 2 * time.Millisecond
	e := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, e) }()
	before := 0
	for i := range 100 {
		if i > 0 {
			if l, err = net.Listen("tcp", address); err != nil {
				t.Fatal(err)
			}
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1\n")) }), ReadHeaderTimeout: time.Second}
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		from := e.sweepsNow()
		e.Until("a page", func() bool { return e.Err() == nil && len(e.Sweeps) > from+1 })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		<-served
		if i == 0 {
			before = runtime.NumGoroutine()
		}
	}
	if n := runtime.NumGoroutine(); n > before+10 {
		t.Errorf("%d goroutines after a hundred restarts, %d after the first", n, before)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestHalfOpen: a connection that delivers no more data and was never closed is
// given up and dialled again, for every version of HTTP.
func TestHalfOpen(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", version), func(t *testing.T) {
			spoken := atomic.Int32{}
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				spoken.Store(int32(r.ProtoMajor))
				_, _ = w.Write([]byte("up 1\n"))
			}))
			s.EnableHTTP2 = version == 2
			s.StartTLS()
			t.Cleanup(s.Close)
			q := collectorstest.NewPipe(t, s.Listener.Addr().String())
			c, err := New(Config{Targets: []Target{{URL: "https://" + q.Address + "/metrics"}}, Every: time.Second, Timeout: 300 * time.Millisecond, TLS: dial.TLS{Unverified: true}}, dial.Guard{})
			if err != nil {
				t.Fatal(err)
			}
			c.targets[0].every = 20 * time.Millisecond
			e := listen(t)
			collectorstest.Start(t, func(ctx context.Context) error { return c.Run(ctx, e) })
			pages := func() bool { return e.Err() == nil && len(e.Sweeps) > 2 }
			e.Until("pages", pages)
			if got := int(spoken.Load()); got != version {
				t.Fatalf("HTTP/%d is spoken", got)
			}
			q.Clogged.Store(true)
			e.Until("word of the loss", func() bool { return e.Err() != nil })
			q.Clogged.Store(false)
			e.Until("pages over a new connection", func() bool { return e.Err() == nil })
			if n := q.Dialled.Load(); n < 2 || n > 20 {
				t.Errorf("dialled %d times", n)
			}
		})
	}
}

func (e ear) sweepsNow() int {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	return len(e.Sweeps)
}
