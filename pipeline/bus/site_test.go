package bus_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// within bounds what a test waits for.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// serve starts a server in a directory and stops it with the test.
func serve(t testing.TB, cfg broker.Config) *broker.Server {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	if cfg.Site == "" {
		cfg.Site = "lab"
	}
	s, err := broker.Start(within(t, 20*time.Second), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// join connects to a server in this process, in a role.
func join(t testing.TB, s *broker.Server, r broker.Role, set ...func(*bus.Config)) *bus.Bus {
	t.Helper()
	c, err := s.Connection(r)
	if err != nil {
		t.Fatal(err)
	}
	cfg := bus.Config{Site: "lab", Name: t.Name(), InProcess: c.InProcess, Credentials: c.Credentials}
	for _, f := range set {
		f(&cfg)
	}
	b, err := bus.Connect(within(t, 10*time.Second), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// site is a fresh server with everything created, and a connection that may do
// everything.
func site(t testing.TB, set ...func(*bus.Config)) (*broker.Server, *bus.Bus) {
	t.Helper()
	s := serve(t, broker.Config{})
	b := join(t, s, broker.All, set...)
	if err := b.Create(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	return s, b
}

const second = telemetry.Duration(time.Second)

// at is n seconds into the tests' time.
func at(n int) telemetry.Time {
	return telemetry.Time(1_800_000_000_000_000_000).Add(telemetry.Duration(n) * second)
}

func tick(n int) *telemetry.Record {
	return &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at(n)}}
}

func event(n int, text string) *telemetry.Record {
	return &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{
		Entity: telemetry.Entity{Kind: telemetry.Node, Name: "n1"}, At: at(n), Name: telemetry.EventXID, Text: text,
	}}
}

// jwtSubject reads whom credentials are for.
func jwtSubject(t testing.TB, credentials []byte) string {
	t.Helper()
	lines := strings.Split(string(credentials), "\n")
	parts := strings.Split(lines[slices.Index(lines, "-----BEGIN NATS USER JWT-----")+1], ".")
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct{ Sub string }
	if err := json.Unmarshal(body, &claims); err != nil {
		t.Fatal(err)
	}
	return claims.Sub
}
