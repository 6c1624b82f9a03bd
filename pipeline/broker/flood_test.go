package broker_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestConnectionFloodOfACredential: of a host that opens connections without end sixteen
// stay, it is named, and another host's connection and records are not touched.
func TestConnectionFloodOfACredential(t *testing.T) {
	s := start(t, broker.Config{Listen: "127.0.0.1:0"})
	all := connect(t, s, broker.All)
	ctx := within(t, 60*time.Second)
	if err := all.Create(ctx); err != nil {
		t.Fatal(err)
	}
	creds := map[string][]byte{}
	for _, name := range []string{"h1", "h2"} {
		c, err := s.Enroll(name)
		if err != nil {
			t.Fatal(err)
		}
		creds[name] = c
	}
	other, _ := intruder(t, s, creds["h2"])
	ended := 0
	const flood = 60
	var first *nats.Conn
	closed := make(chan struct{}, flood)
	for i := range flood {
		nc, _ := intruder(t, s, creds["h1"])
		nc.SetDisconnectErrHandler(func(*nats.Conn, error) { closed <- struct{}{} })
		nc.Opts.AllowReconnect = false
		if i == 0 {
			first = nc
		}
	}
	by, err := s.Trim()
	if err != nil {
		t.Fatal(err)
	}
	if ended = by["h1"]; ended != flood-16 || len(by) != 1 {
		t.Errorf("ended %v, want %d of h1", by, flood-16)
	}
	for range ended {
		select {
		case <-closed:
		case <-ctx.Done():
			t.Fatal("connections stay")
		}
	}
	body, err := telemetry.AppendRecord(nil, event("x"))
	if err != nil {
		t.Fatal(err)
	}
	for name, nc := range map[string]*nats.Conn{"h1": first, "h2": other} {
		if _, err := nc.RequestWithContext(ctx, "quintet.v1.lab."+name+".events", body); err != nil {
			t.Errorf("a record of %s: %v", name, err)
		}
	}
	if again, err := s.Trim(); err != nil || len(again) > 0 {
		t.Errorf("a second time: %v %v", again, err)
	}
}

// TestSilentConnectionsEnd: a client that connects to NATS and sends nothing is
// disconnected, and others are admitted meanwhile.
func TestSilentConnectionsEnd(t *testing.T) {
	s := start(t, broker.Config{Listen: "127.0.0.1:0"})
	creds, err := s.Enroll("h1")
	if err != nil {
		t.Fatal(err)
	}
	var silent []net.Conn
	for range 100 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "tls://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		silent = append(silent, c)
	}
	intruder(t, s, creds) // fails the test where it is not admitted
	for _, c := range silent {
		_ = c.SetReadDeadline(time.Now().Add(60 * time.Second))
		var late net.Error
		if _, err := io.Copy(io.Discard, c); errors.As(err, &late) && late.Timeout() {
			t.Fatal("a connection that says nothing is kept")
		}
	}
}
