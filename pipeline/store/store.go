package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/compression"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/exposition"
	"github.com/quintet-dc/quintet/pipeline/store/forward"
	"github.com/quintet-dc/quintet/pipeline/store/label"
	"github.com/quintet-dc/quintet/pipeline/store/query"
	"github.com/quintet-dc/quintet/telemetry"
)

// Store is a history.
type Store struct {
	cfg   Config
	count *counters
	api   atomic.Pointer[query.API] // nil until the database is open
}

// New returns a history that is opened by Run.
func New(c Config) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	return &Store{cfg: c, count: newCounters(c.Metrics)}, nil
}

// ServeHTTP implements http.Handler: the API, below /prometheus/api/v1.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api := s.api.Load()
	if api == nil {
		query.Refuse(w, http.StatusServiceUnavailable, "the history is being opened")
		return
	}
	api.ServeHTTP(w, r)
}

// Run opens the history and keeps it until ctx is done.
func (s *Store) Run(ctx context.Context) (err error) {
	if err := os.MkdirAll(s.cfg.Dir, 0o750); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	db, registry := s.opened(ctx)
	if db == nil {
		return nil
	}
	s.cfg.Metrics.RegisterMetricsWriter(func(w io.Writer) {
		if err := exposition.Encode(w, registry); err != nil {
			s.cfg.Logger.Debug("metrics of the history not written", "err", err)
		}
	})
	defer func() { err = errors.Join(err, db.Close()) }()
	inner, stop := context.WithCancel(ctx)
	api := query.New(inner, query.Config{DB: db, Catalogue: s.cfg.Catalogue, Version: s.cfg.Version, Rules: s.cfg.Rules,
		Alerts: s.cfg.Alerts, URL: s.cfg.URL, Registry: registry, Logger: s.cfg.Logger})
	var parts sync.WaitGroup
	defer parts.Wait()
	defer stop()
	caught := make(chan struct{})
	forwarder := s.forwarder(db, registry)
	parts.Go(func() {
		// What is written at the time of this machine waits for the log: before that
		// it would make what the log still holds too old.
		select {
		case <-inner.Done():
			return
		case <-caught:
		}
		parts.Go(func() { (&own{cfg: s.cfg, page: exposition.New(s.cfg.Metrics), count: s.count, db: db}).run(inner) })
		if err := api.Run(inner); err != nil {
			s.cfg.Logger.Error("rules are not evaluated", "error", err)
		}
	})
	if forwarder != nil {
		parts.Go(func() { forwarder.Run(inner) })
	}
	s.api.Store(api)
	defer s.api.Store(nil)
	return s.feed(inner, db, caught)
}

// forwarder returns what sends the history on; nil where nothing does.
func (s *Store) forwarder(db *tsdb.DB, registry *prometheus.Registry) *forward.Forwarder {
	if len(s.cfg.Forward) == 0 {
		return nil
	}
	f, err := forward.New(forward.Config{Dir: s.cfg.Dir, DB: db, Targets: s.cfg.Forward, Labels: s.cfg.ForwardLabels,
		Dial: s.cfg.Dial, Version: s.cfg.Version, Registry: registry, Logger: s.cfg.Logger})
	if err != nil {
		s.cfg.Logger.Error("the history is not sent on", "error", err)
		return nil
	}
	return f
}

// reopen is the wait before a database that failed to open is opened again: a full
// disk may have room again, and a site is evaluated without its history.
const reopen = 30 * time.Second

// opened opens the database as soon as that can be; nil when ctx is done before.
func (s *Store) opened(ctx context.Context) (*tsdb.DB, *prometheus.Registry) {
	for {
		registry := prometheus.NewRegistry()
		db, err := s.open(registry)
		if err == nil {
			return db, registry
		}
		s.cfg.Logger.Error("the history cannot be opened; it is tried again", "folder", s.cfg.Dir, "error", err)
		if !bus.Sleep(ctx, reopen) {
			return nil, nil
		}
	}
}

// open opens the database.
func (s *Store) open(registry *prometheus.Registry) (*tsdb.DB, error) {
	o := tsdb.DefaultOptions()
	o.RetentionDuration = s.cfg.Retain.Milliseconds()
	o.MaxBytes = s.cfg.RetainBytes
	o.OutOfOrderTimeWindow = outOfOrder.Milliseconds()
	o.WALCompression = compression.Snappy
	o.MaxBlockDuration = max(o.MinBlockDuration, min(o.RetentionDuration/10, (31*24*time.Hour).Milliseconds()))
	return tsdb.Open(s.cfg.Dir, s.cfg.Logger, registry, o, nil)
}

// again is the wait before a failed request to the bus is retried.
const again = 2 * time.Second

// feed reads the log into the database until ctx is done.
func (s *Store) feed(ctx context.Context, db *tsdb.DB, caught chan<- struct{}) error {
	open := newIncidents(s.cfg, s.count)
	var followers sync.WaitGroup
	defer followers.Wait()
	followers.Go(func() { open.run(ctx) })
	abreast := sync.OnceFunc(func() { close(caught) })
	p, err := readPlace(s.cfg.Dir)
	if err != nil {
		s.cfg.Logger.Warn("the log is read from its beginning", "error", err)
	}
	for ctx.Err() == nil {
		f, err := s.prime(ctx, db, p, open)
		if err == nil {
			err = s.follow(ctx, f, abreast)
			p = f.place()
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, bus.ErrClosed):
			return fmt.Errorf("store: %w", err)
		case errors.Is(err, bus.ErrForgotten), errors.Is(err, bus.ErrRewritten):
			s.count.begun.Inc()
			s.cfg.Logger.Warn("the log cannot be read on; it is read from its beginning", "error", err)
			p = place{}
		default:
			s.cfg.Logger.Warn("the log is not read", "error", err)
		}
		bus.Sleep(ctx, again)
	}
	return nil
}

// prime makes a feed that goes on from a place: with the schemas and edges of the
// log, and with what the database holds already.
func (s *Store) prime(ctx context.Context, db *tsdb.DB, p place, open *incidents) (*feed, error) {
	f := newFeed(s.cfg, db, s.count)
	f.extras = []extra{newPlaces(s.count), open}
	f.taken = p.Position
	last, err := lastWritten(db)
	if err != nil {
		return nil, err
	}
	f.last = last
	if at, ok, err := s.cfg.Log.LastTick(ctx); err != nil {
		return nil, err
	} else if ok {
		f.limit = at
	}
	kinds := []telemetry.RecordKind{telemetry.SchemaRecord, telemetry.EdgeRecord, telemetry.ConfigRecord, telemetry.TickRecord}
	err = s.cfg.Log.Slice(ctx, bus.Span{Kinds: kinds}, func(e bus.Entry) error {
		if e.Position <= p.Position && e.Record != nil {
			f.prime(e)
		}
		return nil
	})
	return f, err
}

// prime processes an entry from before the position from which the feed goes on.
func (f *feed) prime(e bus.Entry) {
	refused := f.gate.Take(e.Collector, e.Record) != ""
	if refused || e.Record.Kind == telemetry.ConfigRecord || e.Record.Kind == telemetry.TickRecord {
		return // these two are for the gate
	}
	if e.Record.Kind == telemetry.SchemaRecord {
		f.schema(e.Collector, e.Record.Schema)
	}
	for _, x := range f.extras {
		x.take(e.Record)
	}
}

// nearly is how many entries the feed may be behind and be taken for abreast of
// the log.
const nearly = 256

// follow reads on until it cannot.
func (s *Store) follow(ctx context.Context, f *feed, abreast func()) error {
	saved := time.Now()
	err := s.cfg.Log.Follow(ctx, f.taken, func(e bus.Entry) error {
		if err := f.take(e); err != nil {
			return err
		}
		if e.Record == nil || e.Record.Kind != telemetry.TickRecord {
			return nil
		}
		if off := e.Record.Tick.At.Sub(e.Stored); e.Behind < nearly && off.Abs() < time.Minute { // no recording of another time
			abreast()
		}
		if time.Since(saved) > positionEvery {
			saved = time.Now()
			s.save(f)
		}
		return nil
	})
	f.commit()
	s.save(f)
	return err
}

func (s *Store) save(f *feed) {
	if err := f.place().write(s.cfg.Dir); err != nil {
		s.count.failures.Inc()
		s.cfg.Logger.Warn("the history's place in the log is not written down", "error", err)
	}
}

// recent is how far back the database is queried for the last samples: an older
// series is stale.
const recent = 10 * time.Minute

// lastWritten returns, by the hash of its labels, when each series of the log was
// written last: samples of an earlier process must not be written twice.
func lastWritten(db *tsdb.DB) (map[uint64]written, error) {
	out := map[uint64]written{}
	head := db.Head().MaxTime()
	if head == math.MinInt64 {
		return out, nil
	}
	q, err := db.Querier(head-recent.Milliseconds(), math.MaxInt64)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	set := q.Select(context.Background(), false, nil, labels.MustNewMatcher(labels.MatchNotEqual, label.Kind, ""))
	var it chunkenc.Iterator
	for set.Next() {
		series := set.At()
		it = series.Iterator(it)
		w := written{at: never}
		for it.Next() == chunkenc.ValFloat {
			at, v := it.At()
			w = written{at, value.IsStaleNaN(v)}
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
		out[series.Labels().Hash()] = w
	}
	return out, set.Err()
}

// Dir returns the folder of the history in a data folder.
func Dir(data string) string { return filepath.Join(data, "history") }
