package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/pipeline/agent"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/telemetry"
)

// openLog starts the embedded server, if this process holds the log, and connects
// to it, or connects to an existing one. close closes what it opened, in order.
func (s *service) openLog(ctx context.Context) (err error) {
	n := &s.c.File.NATS
	cfg := agent.BusConfig(s.c.File, s.c.Process)
	cfg.Metrics, cfg.Logger = s.metrics, s.part("bus")
	switch {
	case n.Embedded && s.c.Parent != nil:
		cfg.InProcess, cfg.Credentials = s.c.Parent, s.c.Parent.Hello.Credentials
	case n.Embedded:
		if !s.c.Roles[Store] {
			return fmt.Errorf("nats: the log is embedded in another process, and this one (roles %s) has no nats.urls: set nats.urls to that process", s.c.Roles)
		}
		if err := s.startServer(ctx, &cfg); err != nil {
			return err
		}
	default:
		if cfg.Credentials, err = agent.Credentials(*n); err != nil {
			return fmt.Errorf("nats: %w", err)
		}
	}
	if s.bus, err = bus.Connect(ctx, cfg); err != nil {
		s.close()
		return err
	}
	if s.c.Roles[Store] {
		if err := s.bus.Create(ctx); err != nil {
			s.close()
			return err
		}
	}
	return nil
}

// startServer starts our own server and points cfg to it.
func (s *service) startServer(ctx context.Context, cfg *bus.Config) (err error) {
	n := &s.c.File.NATS
	s.server, err = broker.Start(ctx, broker.Config{Dir: s.c.File.Data, Site: cfg.Site, Listen: n.Listen, Names: n.Names, SyncInterval: n.SyncInterval, Logger: s.part("broker")})
	if err != nil {
		return err
	}
	c, err := s.server.Connection(broker.All)
	if err != nil {
		s.close()
		return err
	}
	cfg.InProcess, cfg.Credentials = c.InProcess, c.Credentials
	return nil
}

// OpenLog connects to a site's log without a service: as the process that holds it
// where the log is in a server of our own, which must not be running, or else to the
// configured servers. done closes what was opened.
func OpenLog(ctx context.Context, file *config.File, logger *slog.Logger) (b *bus.Bus, done func(), err error) {
	s := &service{c: Config{File: file, Process: "quintet", Roles: Roles{Store: true}, Logger: logger}, metrics: metrics.NewSet()}
	if err := s.openLog(ctx); err != nil {
		return nil, nil, err
	}
	return s.bus, s.close, nil
}

// close ends the connection and, if it is embedded, the server.
func (s *service) close() {
	if s.bus != nil {
		s.bus.Close()
	}
	if s.server != nil {
		s.server.Close()
	}
}

// ErrStore ends a service whose embedded server has given up its store, when the
// disk accepts data again: a restart is all that is needed.
var ErrStore = errors.New("the log was given up")

const (
	lookAtStore = 5 * time.Second
	storeRoom   = 8 << 20 // bytes that the disk must take before another start
)

// watchStore waits until our server gives up its store, as it does at the first
// write that fails, and then until the disk takes data again.
func (s *service) watchStore(ctx context.Context) error {
	look := time.NewTicker(lookAtStore)
	defer look.Stop()
	logged := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		err := s.server.Health()
		if err == nil {
			continue
		}
		if !logged {
			logged = true
			s.c.Logger.Error("the log takes no more records; it is tried again when the disk has room", "error", err)
		}
		if room(s.c.File.Data, storeRoom) == nil {
			return fmt.Errorf("%w: %w", ErrStore, err)
		}
	}
}

// lookAtRevoked is how often revocations are looked for.
const lookAtRevoked = 2 * time.Second

// watchRevoked applies to our server what quintet revoke wrote, and ends what a
// credential has of connections beyond its part, until ctx is done.
func (s *service) watchRevoked(ctx context.Context) error {
	look := time.NewTicker(lookAtRevoked)
	defer look.Stop()
	trouble := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		s.trim()
		err := s.server.Refresh()
		switch {
		case err == nil:
			trouble = ""
		case err.Error() != trouble:
			trouble = err.Error()
			s.c.Logger.Error("revocations are as they were", "error", err)
		}
	}
}

// trim ends connections of processes that have too many, and logs their names.
func (s *service) trim() {
	ended, err := s.server.Trim()
	if err != nil {
		s.c.Logger.Error("connections are not looked at", "error", err)
	}
	for name, n := range ended {
		s.metrics.GetOrCreateCounter(fmt.Sprintf(`quintet_broker_connections_ended_total{process=%q}`, name)).Add(n)
		s.c.Logger.Warn("a process opened more connections than it may have; the newest were ended", "process", name, "ended", n)
	}
}

// room tries whether a folder takes so many bytes.
func room(dir string, bytes int) error {
	f, err := os.CreateTemp(dir, "room-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, bytes))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

// ready returns why this process cannot serve.
func (s *service) ready() error {
	if s.server == nil {
		return nil
	}
	return s.server.Health()
}

// pins is the folder of the traces of incidents; empty if none are kept.
func (s *service) pins() string {
	if s.c.File.Data == "" {
		return ""
	}
	return filepath.Join(s.c.File.Data, "incidents")
}

// renewSite is how often the site's configuration is stated again: a cold
// replica and a trace need it from what the log still holds.
const renewSite = 5 * time.Minute

// stateSite states grid, lateness classes and the site's name.
func (s *service) stateSite(ctx context.Context) error {
	again := time.NewTicker(renewSite)
	defer again.Stop()
	for {
		r := s.c.File.Site.Config().Record()
		r.Received = telemetry.Time(time.Now().UnixNano())
		if err := s.bus.Append(ctx, s.c.Process, &telemetry.Record{Kind: telemetry.ConfigRecord, Config: r}); err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}
