package forward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/wlog"
)

// drain is how long pending samples may take to be sent when the process ends.
const drain = 5 * time.Second

// Config lists what is sent where.
type Config struct {
	Dir     string // of the database
	DB      *tsdb.DB
	Targets []Target
	Labels  map[string]string // added to all that is sent: which site it comes from
	// Dial opens connections; nil is net.Dialer's.
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	Version  string // of the program, for User-Agent
	Registry *prometheus.Registry
	Logger   *slog.Logger
}

// Forwarder sends what a database writes to its receivers.
type Forwarder struct {
	queues all
}

// New makes the queues, and has the database notify them: it is called before
// anything is written. The error is of the configuration.
func New(c Config) (*Forwarder, error) {
	queues, err := c.queues()
	if err != nil {
		return nil, err
	}
	c.DB.SetWriteNotified(queues)
	return &Forwarder{queues}, nil
}

// Run sends the samples written from now on until ctx is done, and for up to 5 s
// longer those that are pending then. It is called once.
func (f *Forwarder) Run(ctx context.Context) {
	// Requests outlive ctx by the time in which the queues drain.
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var parts sync.WaitGroup
	for _, q := range f.queues {
		parts.Go(func() { q.run(ctx, sending) })
	}
	<-ctx.Done()
	limit := time.AfterFunc(drain, cancel)
	defer limit.Stop()
	parts.Wait()
}

// queues makes a queue for each target.
func (c *Config) queues() (out all, err error) {
	counts := newCounts(c.Registry)
	watched, read := wlog.NewWatcherMetrics(c.Registry), wlog.NewLiveReaderMetrics(c.Registry)
	names := map[string]bool{}
	for _, t := range c.Targets {
		name := t.name()
		if err := t.Validate(); err != nil {
			return nil, fmt.Errorf("remote write: %s: %w", t.URL, err)
		}
		if names[name] {
			return nil, fmt.Errorf("remote write: %s: name: %q: duplicate", t.URL, name)
		}
		names[name] = true
		client, err := t.client(c.Dial)
		if err != nil {
			return nil, fmt.Errorf("remote write: %s: %w", t.URL, err)
		}
		q := newQueue(labels.FromMap(c.Labels), counts.of(name, t.URL))
		log := c.Logger.With("remote_name", name, "url", t.URL)
		q.sender = &sender{target: t, http: client, agent: "quintet/" + c.Version, counts: q.counts, logger: log}
		q.watcher = wlog.NewWatcher(watched, read, log, name, q, c.Dir, false, false, false, nil)
		out = append(out, q)
	}
	if len(out) == 0 {
		return nil, errors.New("remote write: no receiver")
	}
	return out, nil
}

// all are the queues of the receivers.
type all []*queue

// Notify implements wlog.WriteNotified: the database has written.
func (a all) Notify() {
	for _, q := range a {
		if q.watching.Load() {
			q.watcher.Notify()
		}
	}
}
