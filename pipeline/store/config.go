package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/store/forward"
	"github.com/quintet-dc/quintet/pipeline/store/query"
	"github.com/quintet-dc/quintet/telemetry"
)

// What is right for one machine.
const (
	DefaultCadence   = 10 * time.Second
	DefaultRetain    = 15 * 24 * time.Hour
	DefaultMaxSeries = 1 << 20
	// outOfOrder is how much older than the newest sample a sample may be: reports
	// in batches arrive five minutes late, the records that an outbox kept while
	// the log was unreachable as late as the log is long.
	outOfOrder = time.Hour
	// ahead is how far before the log's time a sample may lie: one clock that is
	// wrong must not make everything else too old.
	ahead = time.Minute
)

// Log is the part of the bus that is read.
type Log interface {
	Follow(ctx context.Context, after uint64, fn func(bus.Entry) error) error
	Slice(ctx context.Context, s bus.Span, fn func(bus.Entry) error) error
	LastTick(ctx context.Context) (telemetry.Time, bool, error)
	FollowIncidents(ctx context.Context, after uint64, fn func(bus.Revision) error) error
}

// Config sets a Store. The zero value of a field means its default.
type Config struct {
	Log Log
	Dir string // of the history, made where it is missing
	// Cadence is the interval of the samples of a series; 10 s.
	Cadence time.Duration
	// Retain and RetainBytes are how much is kept: 15 days, as many bytes as it
	// takes.
	Retain      time.Duration
	RetainBytes int64
	// Drop lists metrics that are not kept, as names or patterns (path.Match).
	Drop []string
	// MaxSeries is how many series may be alive at a time; 1,048,576.
	MaxSeries int
	Catalogue *telemetry.Catalogue
	Lateness  telemetry.Lateness
	// Rules are files of Prometheus rules in addition to the built-in ones.
	Rules []string
	// Forward lists the receivers of the history, ForwardLabels the labels added to
	// it.
	Forward       []forward.Target
	ForwardLabels map[string]string
	// Dial opens the connections to them; nil is net.Dialer's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Alerts, if not nil, receives the rules' alerts (query.Config).
	Alerts  func(context.Context, []query.Alert)
	URL     string // under which people find this server
	Process string // names this process in its own metrics
	Version string

	Metrics *metrics.Set
	Logger  *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Cadence <= 0 {
		c.Cadence = DefaultCadence
	}
	if c.Retain <= 0 {
		c.Retain = DefaultRetain
	}
	if c.MaxSeries <= 0 {
		c.MaxSeries = DefaultMaxSeries
	}
	c.Catalogue = cmp.Or(c.Catalogue, telemetry.DefaultCatalogue())
	if c.Lateness == (telemetry.Lateness{}) {
		c.Lateness = telemetry.DefaultLateness()
	}
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns an error if c is invalid.
func (c Config) Validate() error {
	switch {
	case c.Log == nil:
		return errors.New("store: no log")
	case c.Dir == "":
		return errors.New("store: no folder")
	case c.Cadence < 0 || c.Cadence > 0 && c.Cadence < time.Second || c.Cadence > time.Minute:
		return fmt.Errorf("store: cadence: %v: want 1 s to 1 min", c.Cadence)
	case c.Retain < 0 || c.RetainBytes < 0 || c.MaxSeries < 0:
		return errors.New("store: a negative retention or number of series")
	}
	for _, t := range c.Forward {
		if err := t.Validate(); err != nil {
			return fmt.Errorf("store: remote_write: %s: %w", t.URL, err)
		}
	}
	for _, p := range c.Drop {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("store: metrics: %q: %w", p, err)
		}
	}
	return nil
}

// drops reports whether a metric is not kept.
func (c *Config) drops(m telemetry.MetricName) bool {
	for _, p := range c.Drop {
		if ok, _ := path.Match(p, string(m)); ok {
			return true
		}
	}
	return false
}
