package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/access"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/pipeline/recorder"
	"github.com/quintet-dc/quintet/telemetry"
)

// DefaultListen is the default listen address of a server.
const DefaultListen = "127.0.0.1:8420"

// Notes is the bucket of people's notes on incidents.
const Notes = bus.Notes

// Stream is a stream of revisions; bus.Revisions is one.
type Stream interface {
	Follow(ctx context.Context, after uint64, fn func(bus.Revision) error) error
	Bounds(ctx context.Context) (first, last uint64, err error)
}

// Asker asks the engine; bus.ErrNobody means that none answers.
type Asker interface {
	Ask(ctx context.Context, what string, req []byte) ([]byte, error)
}

// Bus is the part of the site's bus that is used.
type Bus interface {
	Asker
	KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error)
	Connected() bool
}

// Curves draws an incident.
type Curves interface {
	Curves(ctx context.Context, in *explain.Incident, since telemetry.Time) (*recorder.Picture, error)
}

// Config configures a server. Only Bus and Incidents are required.
type Config struct {
	// Listen is host:port; DefaultListen where it is empty. Listener takes its
	// place; Run closes it.
	Listen   string
	Listener net.Listener
	// CertFile and KeyFile are PEM; with both the server uses TLS. They are read
	// again when they change. ClientCAFile, if any, holds the authorities of which
	// every client must show a certificate.
	CertFile, KeyFile, ClientCAFile string
	// Access configures the users and their roles.
	Access access.Config
	// Trail keeps people's changes; nil keeps nothing.
	Trail Trail
	// Hosts are further names under which a server on loopback may be asked.
	Hosts []string

	Site string
	// Teams are the teams that silences and routes name as owners of incidents.
	Teams []match.Owner
	Demo  string // states what is played, where it is not a real site
	Bus   Bus
	// Incidents is the stream of incidents, Firing that of the alerts of our own
	// rules; it may be nil.
	Incidents, Firing Stream
	// Curves is nil if no log is available.
	Curves Curves
	// Tape and Shelf are what captures are taken from; nil is Bus, where it can
	// be read so.
	Tape  recorder.Tape
	Shelf recorder.Shelf
	// Pins is the folder of the traces of incidents that the log no longer holds;
	// empty where there is none.
	Pins string
	// Push handles pushed data, by path; nil if this process receives none.
	Push map[string]http.HandlerFunc
	// History answers below /prometheus/; nil where no history is kept.
	History http.Handler
	Page    fs.FS
	// Runbooks are folders of signatures, later ones before earlier, in which
	// NAME/runbook.md is what to do about one.
	Runbooks []fs.FS
	// Assist, if any, makes of the API what answers assistants at /mcp.
	Assist func(api http.Handler) http.Handler
	// Replay, if any, reports how far a recording is played, and controls it.
	Replay http.Handler
	// Faults, if any, are those that can be injected into a simulated site.
	Faults Faults

	// Receivers returns how many receivers are notified of incidents; nil if that
	// is not known.
	Receivers func() int

	// Ready gives the reason why this process is not ready; nil is ready.
	Ready func() error
	// Reload reads the configuration again; an error leaves the old in force.
	Reload func(context.Context) error
	// Listening, if any, is called once with the address, before the first
	// request is taken.
	Listening func(net.Addr)

	Sets    []*metrics.Set // shown at /metrics, beside Metrics and the process's own
	Metrics *metrics.Set   // takes the server's own
	Logger  *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Listen = cmp.Or(c.Listen, DefaultListen)
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if tape, ok := c.Bus.(recorder.Tape); ok && c.Tape == nil {
		c.Tape = tape
	}
	if shelf, ok := c.Bus.(recorder.Shelf); ok && c.Shelf == nil {
		c.Shelf = shelf
	}
	if c.Ready == nil {
		c.Ready = func() error { return nil }
	}
	return c
}

// Validate returns an error if c is invalid, as far as it can be known without
// listening: off loopback a server uses TLS and knows its users, or does not start.
func (c Config) Validate() error {
	c = c.withDefaults()
	if c.Bus == nil || c.Incidents == nil {
		return errors.New("serve: no bus")
	}
	return c.access()
}

// Check returns why Run would refuse c, whatever it serves: the address, the
// certificate, the users and their files.
func (c Config) Check() error {
	c = c.withDefaults()
	if err := c.access(); err != nil {
		return err
	}
	if _, err := access.Open(c.Access); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	_, err := c.tls()
	return err
}

// access checks the users, and where the server listens.
func (c Config) access() error {
	if (c.CertFile == "") != (c.KeyFile == "") {
		return errors.New("serve: web.tls: want both a certificate and its key")
	}
	if c.ClientCAFile != "" && c.CertFile == "" {
		return errors.New("serve: web.tls: client_ca goes with a certificate")
	}
	if err := c.Access.Validate(); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if c.Listener != nil {
		return c.exposed(c.Listener.Addr().String())
	}
	addr, err := net.ResolveTCPAddr("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("serve: listen: %w", err)
	}
	return c.exposed(addr.String())
}

// exposed refuses an address off loopback without TLS and users.
func (c Config) exposed(address string) error {
	if onLoopback(address) {
		return nil
	}
	var missing string
	switch tls := c.CertFile != ""; {
	case tls && c.Access.Any():
		return nil
	case tls:
		missing = "there are no users (web.users)"
	case c.Access.Any():
		missing = "there is no TLS (web.tls)"
	default:
		missing = "there is neither TLS (web.tls) nor a user (web.users)"
	}
	return fmt.Errorf("serve: listen: %s: everybody who reaches this machine could ask and change things: %s; on loopback, such as %s, neither is needed",
		address, missing, DefaultListen)
}

// onLoopback reports whether an address can be reached from this machine only.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
