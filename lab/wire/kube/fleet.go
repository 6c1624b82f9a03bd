package kube

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/wire/authority"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config states where the API server answers and which jobs are its own.
type Config struct {
	// Listen is an address of loopback; "" means 127.0.0.1 and any port.
	Listen string
	// Dir is an existing folder for the account's token and the authority's
	// certificate.
	Dir string
	// Runs states which jobs it runs; nil is all.
	Runs func(job telemetry.Entity) bool
	// Remembers is how many changes a watch can go back; zero means 1,000.
	Remembers int
}

// Fleet is the API server of a site.
type Fleet struct {
	board  *board.Board
	cfg    Config
	listen net.Listener
	tls    *tls.Config
	token  string
	kinds  *kinds

	mu      sync.Mutex
	jobs    map[telemetry.Entity]*job
	items   map[string]item // by uid
	next    int             // of events
	version int             // of what changed last
	changes []change        // the last of them
	changed chan struct{}   // closed at the next change
}

// change is an event of a watch.
type change struct {
	version int
	what    string // ADDED, MODIFIED, DELETED
	item    item   // as it was then
}

// New listens, and answers once Run runs.
func New(b *board.Board, c Config) (*Fleet, error) {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Remembers == 0 {
		c.Remembers = 1000
	}
	f := &Fleet{board: b, cfg: c, jobs: map[telemetry.Entity]*job{}, items: map[string]item{}, kinds: newKinds(), version: 1000, changed: make(chan struct{})}
	if err := f.secrets(); err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	var err error
	if f.listen, err = net.Listen("tcp", c.Listen); err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	f.agents()
	f.advance()
	return f, nil
}

// secrets makes the server's certificate and the account's token.
func (f *Fleet) secrets() error {
	a, err := authority.New()
	if err != nil {
		return err
	}
	cert, err := a.Server("kubernetes")
	if err != nil {
		return err
	}
	f.tls = &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	word := make([]byte, 24)
	if _, err := rand.Read(word); err != nil {
		return err
	}
	f.token = hex.EncodeToString(word)
	return errors.Join(os.WriteFile(f.tokenFile(), []byte(f.token+"\n"), 0o600), os.WriteFile(f.caFile(), a.PEM(), 0o644))
}

func (f *Fleet) tokenFile() string { return filepath.Join(f.cfg.Dir, "kube.token") }

func (f *Fleet) caFile() string { return filepath.Join(f.cfg.Dir, "kube-ca.pem") }

// Run answers until ctx is done.
func (f *Fleet) Run(ctx context.Context) error {
	server := &http.Server{Handler: f.handler(), TLSConfig: f.tls, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(f.listen, "", "") }()
	for f.board.Wait(ctx) == nil {
		f.advance()
	}
	_ = server.Close() // nobody is promised an answer
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("kube: %w", err)
	}
	return nil
}

func (f *Fleet) url() string { return "https://" + f.listen.Addr().String() }

// Addresses lists the API server.
func (f *Fleet) Addresses() []string { return []string{"Kubernetes " + f.url()} }

// Entries are what "collectors: jobs:" needs to read it.
func (f *Fleet) Entries() []map[string]any {
	return []map[string]any{{"type": "kubernetes", "url": f.url(), "authorization": map[string]any{"credentials_file": f.tokenFile()}, "tls": map[string]any{"ca_file": f.caFile()}, "job": "{name}", "interval": "2s"}}
}
