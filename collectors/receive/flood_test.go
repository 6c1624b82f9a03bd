package receive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// listeningHTTP starts a receiver that listens for HTTP and returns its address.
func listeningHTTP(t *testing.T, c Config) (p *post, address string) {
	t.Helper()
	c.HTTP.Listen = "127.0.0.1:0"
	p = open(t, c)
	h := p.HTTP(nil)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, p.keeper) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error("Run:", err)
		}
	})
	return p, (<-h.bound).String()
}

// from connects from an address of loopback.
func from(t *testing.T, ip, to string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// sound sends a sound request from 127.0.0.1 over a connection of its own and returns
// the status.
func sound(t *testing.T, address string) int {
	t.Helper()
	body := `{"events":[{"entity":"node:n1","name":"config_changed","time":"2026-11-21T12:00:00Z"}]}`
	return statusOf(t, from(t, "127.0.0.1", address), fmt.Sprintf("POST /api/v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
}

func statusOf(t *testing.T, c net.Conn, request string) int {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	return a.StatusCode
}

// TestSlowBodiesKeepNobodyOut: who sends bodies a few bytes at a time, of each protocol,
// takes no place from who sends them whole.
func TestSlowBodiesKeepNobodyOut(t *testing.T) {
	p, address := listeningHTTP(t, Config{})
	for path := range p.Routes() {
		for range 16 {
			c := from(t, "127.0.0.2", address)
			if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n[", strings.ReplaceAll(path, "{job}", "j")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := sound(t, address); got != http.StatusAccepted {
		t.Errorf("events while others send slowly: %d", got)
	}
	if got := statusOf(t, from(t, "127.0.0.1", address), "POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n\x00"); got != http.StatusNoContent {
		t.Errorf("remote write while others send slowly: %d", got)
	}
}

// TestBodiesHoldBoundedMemory: bodies that arrive and do not end hold no more than the
// share of their address; what is beyond it is refused and counted.
func TestBodiesHoldBoundedMemory(t *testing.T) {
	p, address := listeningHTTP(t, Config{})
	const part, size = 7 << 20, 8 << 20
	refused := 0
	var held []net.Conn
	for range 2 * bodyBytesAddress / part {
		c := from(t, "127.0.0.2", address)
		if _, err := fmt.Fprintf(c, "POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(make([]byte, part)) // it fails where the server has refused meanwhile
		held = append(held, c)
	}
	for refused < len(held)-bodyBytesAddress/part {
		p.keeper.mu.Lock()
		refused = 0
		for _, s := range p.sweeps {
			refused += s.Dropped[collectors.OverLimit]
		}
		p.keeper.mu.Unlock()
		if t.Context().Err() != nil {
			t.Fatalf("%d refused", refused)
		}
	}
	p.bodies.mu.Lock()
	defer p.bodies.mu.Unlock()
	if p.bodies.reserved > bodyBytesAddress {
		t.Errorf("%d bytes are held", p.bodies.reserved)
	}
}

// TestConnectionFlood: of more connections than one address may have the rest is closed
// and counted, and other addresses are served.
func TestConnectionFlood(t *testing.T) {
	p, address := listeningHTTP(t, Config{})
	const beyond = 64
	for range dial.ConnectionsAddress + beyond {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}}).DialContext(t.Context(), "tcp", address)
		if err == nil { // else it was closed before the connection stood
			t.Cleanup(func() { c.Close() })
		}
	}
	if got := sound(t, address); got != http.StatusAccepted {
		t.Errorf("another address: %d", got)
	}
	if n := p.counted()[collectors.OverLimit]; n != beyond { // they were accepted before the one that was answered
		t.Errorf("%d counted, want %d", n, beyond)
	}
}
