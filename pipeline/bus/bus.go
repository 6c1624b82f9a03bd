package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/telemetry"
)

// Defaults for one machine.
const (
	DefaultGrid        = time.Second
	DefaultRetain      = time.Hour
	DefaultRetainBytes = 4 << 30
	replicasRetain     = 30 * time.Second
	duplicateWindow    = 2 * time.Minute
)

// RevisionsRetain is the retention of the revisions of incidents and of alerts, and
// of their deliveries.
const RevisionsRetain = 90 * 24 * time.Hour

// Config is the address of a site's log and how it is to be kept.
type Config struct {
	Site string
	Name string // of this process, as servers show it

	// Either Servers, as URLs, or InProcess.
	Servers   []string
	InProcess nats.InProcessConnProvider
	// Credentials is the content of a credentials file; it may hold the
	// certificates of the authority that signs the servers', too (what enrolling
	// writes). Empty means none.
	Credentials []byte

	Grid        telemetry.Duration // of ticks; it numbers them. 1 s
	Retain      time.Duration      // how long the log is kept. 1 h
	RetainBytes int64              // and how much of it. 4 GiB, less on a small disk
	Copies      int                // of everything, in a cluster. 1

	Metrics *metrics.Set
	Logger  *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Grid = cmp.Or(c.Grid, DefaultGrid)
	c.Retain = cmp.Or(c.Retain, DefaultRetain)
	c.Copies = cmp.Or(c.Copies, 1)
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns an error if c is invalid.
func (c Config) Validate() error {
	switch {
	case len(c.Servers) == 0 && c.InProcess == nil:
		return errors.New("bus: no servers")
	case len(c.Servers) > 0 && c.InProcess != nil:
		return errors.New("bus: both servers and one in this process")
	case c.Grid < 0, c.Retain < 0, c.RetainBytes < 0, c.Copies < 0:
		return errors.New("bus: a negative grid, retention or number of copies")
	}
	_, err := NamesOf(c.Site)
	return err
}

// Bus is one connection to a site's log and its other streams and buckets. Its
// methods may be called concurrently.
type Bus struct {
	cfg   Config
	names Names
	conn  *nats.Conn
	js    jetstream.JetStream
	pub   *publisher
	count counters

	signer    *signer // nil: revisions are not signed here
	answering []byte  // credentials of the connection that answers questions; nil: this one answers

	mu      sync.Mutex
	changed chan struct{}         // closed when the connection comes or goes
	lost    chan struct{}         // closed when it goes
	denied  chan struct{}         // closed when something was not permitted
	refusal error                 // what it was
	trouble string                // what the server complained of last
	marks   map[string]signedMark // of streams of revisions, as read

	answererMu sync.Mutex
	replies    *nats.Conn // answers questions; nil until there is one to answer

	closing context.Context // done when Close is called
	close   context.CancelFunc
	answers sync.WaitGroup
}

// Connect returns a Bus. Where no server can be reached it keeps trying in the
// background, because a collector must come up without its log; wrong
// credentials, a certificate that does not hold and a wrong configuration are
// errors at once.
func Connect(ctx context.Context, cfg Config) (*Bus, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	names, err := NamesOf(cfg.Site)
	if err != nil {
		return nil, err
	}
	b := &Bus{cfg: cfg, names: names, changed: make(chan struct{}), lost: make(chan struct{}), denied: make(chan struct{}), count: newCounters(cfg.Metrics)}
	b.marks = map[string]signedMark{}
	b.cfg.Credentials, b.answering = splitCredentials(cfg.Credentials)
	if b.signer, err = newSigner(b.cfg.Credentials); err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	b.closing, b.close = context.WithCancel(context.Background())
	b.pub = &publisher{bus: b, batches: map[uint64]*batch{}}
	if err := b.dial(ctx); err != nil {
		return nil, fmt.Errorf("bus: connect: %s: %w", b.where(), err)
	}
	if err := b.equip(); err != nil {
		b.conn.Close()
		return nil, fmt.Errorf("bus: connect: %s: %w", b.where(), err)
	}
	if cfg.InProcess == nil {
		b.answers.Go(func() { b.watchConnection(b.conn) })
	}
	return b, nil
}

// equip sets up what depends on the connection.
func (b *Bus) equip() (err error) {
	if b.js, err = jetstream.New(b.conn); err != nil {
		return err
	}
	gauge(b.cfg.Metrics, fmt.Sprintf(`quintet_bus_connected{name=%q}`, b.cfg.Name), b.Connected)
	return b.pub.listen()
}

func (b *Bus) where() string {
	if b.cfg.InProcess != nil {
		return "in process"
	}
	return strings.Join(b.cfg.Servers, ",")
}

func (b *Bus) dial(ctx context.Context) error {
	opts, err := b.options()
	if err != nil {
		return err
	}
	servers := strings.Join(b.cfg.Servers, ",")
	type dialled struct {
		conn *nats.Conn
		err  error
	}
	done := make(chan dialled, 1)
	go func() {
		conn, err := nats.Connect(servers, opts...)
		if unreachable(err) {
			b.cfg.Logger.Warn("the log cannot be reached; it is tried until it can", "server", b.where(), "error", err)
			conn, err = nats.Connect(servers, append(opts, nats.RetryOnFailedConnect(true))...)
		}
		done <- dialled{conn, err}
	}()
	select {
	case d := <-done:
		b.conn = d.conn
		return d.err
	case <-ctx.Done():
		go func() {
			if d := <-done; d.err == nil {
				d.conn.Close()
			}
		}()
		return ctx.Err()
	}
}

func (b *Bus) options() ([]nats.Option, error) {
	log := b.cfg.Logger
	opts := append(b.commonOptions(),
		nats.Name("quintet/"+b.cfg.Name),
		nats.ConnectHandler(func(c *nats.Conn) {
			if b.cfg.InProcess == nil {
				log.Info("connected to the log", "server", c.ConnectedUrlRedacted())
			}
			b.stateChanged(false)
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			log.Info("connected to the log again", "server", c.ConnectedUrlRedacted())
			b.stateChanged(false)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if b.closing.Err() == nil {
				log.Warn("disconnected from the log", "server", b.where(), "error", err)
			}
			b.stateChanged(true)
		}),
		nats.ClosedHandler(func(*nats.Conn) { b.stateChanged(true) }),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { b.asyncError(sub, err) }),
	)
	more, err := securityOptions(b.cfg.Credentials)
	return append(opts, more...), err
}

// commonOptions are those of every connection.
func (b *Bus) commonOptions() []nats.Option {
	opts := []nats.Option{
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectBufSize(-1), // callers send again; nothing is buffered in between
		nats.PingInterval(20 * time.Second),
		nats.Timeout(5 * time.Second),
	}
	if b.cfg.InProcess != nil {
		opts = append(opts, nats.InProcessServer(b.cfg.InProcess))
	}
	return opts
}

// asyncError receives the errors that belong to no call. A server may send one for
// every message, so only changes are logged.
func (b *Bus) asyncError(sub *nats.Subscription, err error) {
	b.pub.denied(err)
	b.count.asyncErrors.Inc()
	b.mu.Lock()
	known := b.trouble == err.Error()
	b.trouble = err.Error()
	if errors.Is(err, nats.ErrPermissionViolation) {
		b.refusal = err
		close(b.denied)
		b.denied = make(chan struct{})
	}
	b.mu.Unlock()
	if known {
		return
	}
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	b.cfg.Logger.Warn("error of the log's connection", "subject", subject, "error", err)
}

// unreachable distinguishes a server that is not running (yet) from one that
// refuses.
func unreachable(err error) bool {
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || isNetwork(err)
}

func (b *Bus) stateChanged(lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
	if lost {
		close(b.lost)
		b.lost = make(chan struct{})
	}
}

// gone returns a channel that is closed when the connection next goes: what was
// asked on it is not answered any more.
func (b *Bus) gone() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// denials returns a channel that is closed when something is next not permitted.
func (b *Bus) denials() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.denied
}

func (b *Bus) lastRefusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refusal
}

// Changed returns a channel that is closed when the connection next comes or
// goes. Take it before Connected is asked.
func (b *Bus) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// Connected reports whether a server is connected now.
func (b *Bus) Connected() bool { return b.conn != nil && b.conn.IsConnected() }

// Close ends the connection; whatever still runs on it returns an error. It
// waits for answers that are being given.
func (b *Bus) Close() {
	b.close()
	b.answers.Wait()
	b.closeAnswerer()
	if b.conn.IsConnected() {
		_ = b.conn.FlushTimeout(time.Second) // what was published without waiting
	}
	b.conn.Close()
}

// Sleep waits for d, and reports false if ctx was done first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// pause waits before another attempt: until the connection changes, or for d,
// or until ctx is done, which it reports as an error.
func (b *Bus) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	changed := b.Changed()
	if b.Connected() {
		changed = nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-b.closing.Done():
		return ErrClosed
	case <-changed:
	case <-t.C:
	}
	return ctx.Err()
}
