package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	nats "github.com/nats-io/nats-server/v2/server"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// Limits of a site's server.
const (
	DefaultSyncInterval = time.Second
	DefaultMaxPayload   = 8 << 20
	maxMemoryStore      = 64 << 20 // bytes; only the state of readers lives there
	maxStreams          = 64
	maxConsumers        = 4096
	maxClients          = 16384
	maxCollectorClients = maxClients - 1024 // so that collectors cannot use up the connections of the others
	maxCollectorSubs    = 16                // subscriptions of one collector's connection; it needs two inboxes
	maxControlLine      = 64 << 10          // bytes; a role's token names every subject and travels in one line
	maxPending          = 32 << 20          // bytes that may wait for one slow client
)

// Config is the data directory of a site's server, and who can reach it.
type Config struct {
	Dir  string
	Site string
	// Listen is host:port; empty means no listener at all: only this process can
	// connect. A listener always uses TLS. Port 0 takes a free one (URL).
	Listen string
	Names  []string // what else others call this machine, for its certificate

	SyncInterval time.Duration // what a power cut may lose. 1 s
	MaxPayload   int           // bytes of one message. 8 MiB
	Logger       *slog.Logger
}

func (c Config) withDefaults() Config {
	c.SyncInterval = cmp.Or(c.SyncInterval, DefaultSyncInterval)
	c.MaxPayload = cmp.Or(c.MaxPayload, DefaultMaxPayload)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns an error if c is invalid.
func (c Config) Validate() error {
	if c.Dir == "" {
		return errors.New("no data directory")
	}
	if c.SyncInterval < 0 || c.MaxPayload < 0 || c.MaxPayload > 64<<20 {
		return fmt.Errorf("sync interval %v, payload of %d bytes: want neither negative, payload at most 64 MiB", c.SyncInterval, c.MaxPayload)
	}
	if _, err := bus.NamesOf(c.Site); err != nil {
		return err
	}
	host, _, err := c.listen()
	if err != nil {
		return err
	}
	for _, name := range serverNames(host, c.Names) {
		if !hostName(name) {
			return fmt.Errorf("%.80q is neither a host name nor an address", name)
		}
	}
	return nil
}

func (c Config) listen() (host string, port int, err error) {
	if c.Listen == "" {
		return "", 0, nil
	}
	host, p, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", 0, fmt.Errorf("listen: %w", err)
	}
	if port, err = strconv.Atoi(p); err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("listen %s: port %q", c.Listen, p)
	}
	if port == 0 {
		port = nats.RANDOM_PORT
	}
	return host, port, nil
}

// Server is a running server.
type Server struct {
	cfg   Config
	names bus.Names
	keys  keys
	nats  *nats.Server
	lock  *os.File
	once  sync.Once

	started chan struct{} // closed when starting has ended, well or not
}

// Start locks cfg.Dir, makes the site's keys there if they are missing, and runs
// a server until Close. Closing is the caller's; ctx bounds the start only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	names, err := bus.NamesOf(cfg.Site)
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	s := &Server{cfg: cfg, names: names}
	if s.lock, err = lock(cfg.Dir); err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("broker: %w", err)
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) (err error) {
	folder := filepath.Join(s.cfg.Dir, keysFolder)
	if s.keys, err = openKeys(folder); err != nil {
		return err
	}
	if s.keys.withdrawn, err = withdrawn(folder); err != nil {
		return err
	}
	opts, err := s.options(folder)
	if err != nil {
		return err
	}
	if err := removeUnmade(s.cfg.Dir, s.cfg.Logger); err != nil {
		return err
	}
	if s.nats, err = nats.NewServer(opts); err != nil {
		return err
	}
	log := newServerLog(s.cfg.Logger)
	s.nats.SetLoggerV2(log, false, false, false)
	s.started = make(chan struct{})
	go func() {
		defer close(s.started)
		s.nats.Start()
	}()
	return s.ready(ctx, log.fatal)
}

// ready waits for the server, which first reads what is on disk: about 0.8 s a
// gigabyte.
func (s *Server) ready(ctx context.Context, fatal <-chan error) error {
	select {
	case <-s.started:
	case <-ctx.Done():
		return fmt.Errorf("server in %s: not ready: %w", s.cfg.Dir, ctx.Err())
	}
	select {
	case err := <-fatal:
		return fmt.Errorf("server in %s: %w", s.cfg.Dir, err)
	default:
		return s.Health()
	}
}

// Health returns what keeps the server from serving: it gives up its store, or one
// stream of it, at the first write that fails, as on a full disk. It stays so until
// the server is restarted, even if the disk recovers.
func (s *Server) Health() error {
	switch {
	case !s.nats.Running():
		return fmt.Errorf("server in %s: not running", s.cfg.Dir)
	case !s.nats.JetStreamEnabled():
		return fmt.Errorf("server in %s: it gave up its store; the disk may be full", s.cfg.Dir)
	}
	for _, e := range s.nats.Healthz(&nats.HealthzOptions{Details: true}).Errors {
		if e.Type == nats.HealthzErrorStream {
			return fmt.Errorf("server in %s: %s", s.cfg.Dir, e.Error)
		}
	}
	return nil
}

func (s *Server) options(folder string) (*nats.Options, error) {
	host, port, err := s.cfg.listen()
	if err != nil {
		return nil, err
	}
	authority, err := openAuthority(folder, s.cfg.Site, serverNames(host, s.cfg.Names), time.Now)
	if err != nil {
		return nil, err
	}
	authority.logger = s.cfg.Logger
	t, err := s.keys.trust(s.cfg.Site, s.names)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	resolver := &nats.MemAccResolver{}
	for public, token := range t.accounts {
		if err := resolver.Store(public, token); err != nil {
			return nil, fmt.Errorf("keys: %w", err)
		}
	}
	o := &nats.Options{
		ServerName: "quintet-" + bus.Token(s.cfg.Site), NoSigs: true, DisableJetStreamBanner: true,
		DontListen: s.cfg.Listen == "", Host: host, Port: port,
		TrustedOperators: []*jwt.OperatorClaims{t.operator}, SystemAccount: t.system, AccountResolver: resolver,
		JetStream: true, StoreDir: s.cfg.Dir, JetStreamMaxMemory: maxMemoryStore, SyncInterval: s.cfg.SyncInterval,
		MaxPayload: int32(s.cfg.MaxPayload), MaxPending: maxPending, MaxConn: maxClients, MaxControlLine: maxControlLine,
	}
	if s.cfg.Listen != "" {
		o.TLSConfig, o.TLSTimeout = authority.config(), 5
	}
	return o, nil
}

// Connection is the address and credentials of a client in this process. Its key
// exists in memory only.
type Connection struct {
	InProcess   interface{ InProcessConn() (net.Conn, error) }
	Credentials []byte
}

// Connection makes a user of a role for this process.
func (s *Server) Connection(r Role) (Connection, error) {
	account := s.keys.account
	if r.CollectsOnly() {
		account = s.keys.collectors
	}
	file, err := users(account, r, s.names, terms{})
	if err != nil {
		return Connection{}, fmt.Errorf("broker: connection: %w", err)
	}
	return Connection{s.nats, file}, nil
}

// Enroll is EnrollAs for a collector of this server's directory and site.
func (s *Server) Enroll(collector string) ([]byte, error) {
	return EnrollAs(s.cfg.Dir, s.cfg.Site, Collect(collector))
}

// EnrollAs is EnrollAs for this server's directory and site.
func (s *Server) EnrollAs(role Role) ([]byte, error) {
	return EnrollAs(s.cfg.Dir, s.cfg.Site, role)
}

// URL is where others reach the listener; "" if there is none.
func (s *Server) URL() string {
	if s.cfg.Listen == "" {
		return ""
	}
	addr, ok := s.nats.Addr().(*net.TCPAddr)
	if !ok {
		return ""
	}
	host, _, _ := net.SplitHostPort(s.cfg.Listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "tls://" + net.JoinHostPort(host, strconv.Itoa(addr.Port))
}

// Close stops the server, waits until everything is on disk, and gives the
// directory back.
func (s *Server) Close() {
	s.once.Do(func() {
		if s.nats != nil {
			s.nats.Shutdown()
			<-s.started
			s.nats.WaitForShutdown()
		}
		_ = s.lock.Close()
	})
}
