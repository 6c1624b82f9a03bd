package redfish

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/wire/authority"
	"github.com/quintet-dc/quintet/telemetry"
)

// User is who may log in.
const User = "monitor"

// Config describes how a fleet is set up. The zero Config is whole.
type Config struct {
	// Dir takes the authority's certificate and the password, ca.pem and
	// password; "" makes a folder that is removed when Run returns.
	Dir string
	// Basic has the entries ask for basic authentication.
	Basic bool
	// NoReports leaves out metric reports, NoExpand does not answer $expand: a
	// controller of another make.
	NoReports, NoExpand bool
	// SessionTimeout ends a session that was not used for so long; zero is 30
	// minutes, as bmcweb has it.
	SessionTimeout time.Duration
	// Every is the interval of the entries; zero leaves it to the collector.
	Every time.Duration
	// Entities limits the fleet to the services of these; nil is all.
	Entities []telemetry.Entity
}

// Fleet is the controllers of a site. It is safe for concurrent use.
type Fleet struct {
	board    *board.Board
	cfg      Config
	made     string // folder to remove
	password string
	services []*service
}

// New opens a controller for everything on the board that has one, each on a
// port of its own on loopback.
func New(b *board.Board, c Config) (*Fleet, error) {
	if c.SessionTimeout == 0 {
		c.SessionTimeout = 30 * time.Minute
	}
	f := &Fleet{board: b, cfg: c}
	if c.Dir == "" {
		dir, err := os.MkdirTemp("", "redfish-")
		if err != nil {
			return nil, fmt.Errorf("redfish fleet: %w", err)
		}
		f.cfg.Dir, f.made = dir, dir
	}
	cert, err := f.secrets()
	if err == nil {
		for _, d := range devices(b, &f.cfg) {
			if err = f.open(d, cert); err != nil {
				break
			}
		}
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("redfish fleet: %w", err)
	}
	return f, nil
}

// open has a device listen.
func (f *Fleet) open(d *device, cert tls.Certificate) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &service{device: d, fleet: f, listener: l, sessions: map[string]time.Time{}, streams: map[chan []byte]bool{}, conns: map[net.Conn]bool{}}
	s.server = &http.Server{Handler: s, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, ErrorLog: log.New(io.Discard, "", 0)}
	s.server.ConnState = func(c net.Conn, state http.ConnState) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch state {
		case http.StateNew:
			s.conns[c] = true
		case http.StateClosed, http.StateHijacked:
			delete(s.conns, c)
		}
	}
	f.services = append(f.services, s)
	return nil
}

// Run answers until ctx is done.
func (f *Fleet) Run(ctx context.Context) error {
	defer f.close()
	var group sync.WaitGroup
	errs := make(chan error, len(f.services)+1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, s := range f.services {
		s.server.BaseContext = func(net.Listener) context.Context { return ctx }
		group.Go(func() {
			if err := s.server.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
				errs <- fmt.Errorf("redfish %s: %w", s.device.entity, err)
				cancel()
			}
		})
	}
	group.Go(func() { f.watch(ctx) })
	<-ctx.Done()
	for _, s := range f.services {
		_ = s.server.Close() // what is open is cut, as by a switch
	}
	group.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// watch passes on what happens on the board.
func (f *Fleet) watch(ctx context.Context) {
	_, next := f.board.Events(0)
	for f.board.Wait(ctx) == nil {
		var events []telemetry.Event
		events, next = f.board.Events(next)
		for i := range events {
			for _, s := range f.services {
				s.publish(&events[i])
			}
		}
	}
}

func (f *Fleet) close() {
	for _, s := range f.services {
		_ = s.listener.Close()
	}
	if f.made != "" {
		_ = os.RemoveAll(f.made)
	}
}

// Addresses lists the services, a line each: entity and address.
func (f *Fleet) Addresses() (out []string) {
	for _, s := range f.services {
		out = append(out, s.device.entity.String()+" "+s.address())
	}
	return out
}

// PasswordFile is the file with the password of User, and CAFile that with the
// authority of every certificate.
func (f *Fleet) PasswordFile() string { return filepath.Join(f.cfg.Dir, "password") }

// CAFile is described at PasswordFile.
func (f *Fleet) CAFile() string { return filepath.Join(f.cfg.Dir, "ca.pem") }

// Entries lists what a configuration file states about this fleet: the items of its
// list collectors: redfish.
func (f *Fleet) Entries() (out []map[string]any) {
	for _, s := range f.services {
		target := map[string]any{"address": s.address(), "entity": s.device.entity.String()}
		e := map[string]any{"targets": []any{target}, "basic_auth": map[string]any{"username": User, "password_file": f.PasswordFile()}, "tls": map[string]any{"ca_file": f.CAFile()}}
		if f.cfg.Basic {
			e["auth"] = "basic"
		}
		if f.cfg.Every > 0 {
			e["interval"] = f.cfg.Every.String()
		}
		if len(s.device.named) > 0 {
			named := map[string]any{}
			for path, x := range s.device.named {
				named[path] = x.String()
			}
			target["entities"] = named
		}
		out = append(out, e)
	}
	return out
}

// Flaw gives the service of an entity these flaws instead of those it had; none
// make it sound. False where there is no such service.
func (f *Fleet) Flaw(e telemetry.Entity, flaws ...Flaw) bool {
	for _, s := range f.services {
		if s.device.entity == e {
			s.mu.Lock()
			s.flaws = flaws
			s.mu.Unlock()
			return true
		}
	}
	return false
}

// Restart has the service of an entity lose every connection and every session,
// as a controller does that starts again.
func (f *Fleet) Restart(e telemetry.Entity) {
	for _, s := range f.services {
		if s.device.entity == e {
			s.mu.Lock()
			conns := slices.Collect(maps.Keys(s.conns))
			clear(s.sessions)
			s.mu.Unlock()
			for _, c := range conns {
				_ = c.Close()
			}
		}
	}
}

// Set gives a property of a resource of an entity's service another value, such
// as a firmware's version after an update.
func (f *Fleet) Set(e telemetry.Entity, path, property string, value any) {
	for _, s := range f.services {
		if d := s.device; d.entity == e {
			d.mu.Lock()
			if d.changed[path] == nil {
				d.changed[path] = object{}
			}
			d.changed[path][property] = value
			d.mu.Unlock()
		}
	}
}

// Pull takes a resource out of an entity's service, or puts it back.
func (f *Fleet) Pull(e telemetry.Entity, path string, out bool) {
	for _, s := range f.services {
		if d := s.device; d.entity == e {
			d.mu.Lock()
			delete(d.pulled, path)
			if out {
				d.pulled[path] = true
			}
			d.mu.Unlock()
		}
	}
}

// secrets makes the authority, the certificate of all services and the
// password.
func (f *Fleet) secrets() (tls.Certificate, error) {
	var none tls.Certificate
	a, err := authority.New()
	if err != nil {
		return none, err
	}
	cert, err := a.Server("bmc.lab")
	if err != nil {
		return none, err
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return none, err
	}
	f.password = hex.EncodeToString(secret)
	if err := os.WriteFile(filepath.Join(f.cfg.Dir, "password"), []byte(f.password+"\n"), 0o600); err != nil {
		return none, err
	}
	return *cert, os.WriteFile(filepath.Join(f.cfg.Dir, "ca.pem"), a.PEM(), 0o600)
}
