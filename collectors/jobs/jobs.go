package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// sourceName is the collector in its sources.
const sourceName = "jobs"

// source is one thing that is read, round by round, by one goroutine.
type source interface {
	// read reads what there is now into a report. It returns an error if the source
	// as a whole could not be read.
	read(ctx context.Context, r *report) error
	close()
}

// Collector reads one entry. It is a collectors.Collector.
type Collector struct {
	cfg  Config
	open func() (source, error)
}

// New returns the collector of a configuration. It dials nothing until Run.
func New(c Config, g dial.Guard) (*Collector, error) {
	c = c.withDefaults()
	out := &Collector{cfg: c}
	switch c.Type {
	case typeSlurm:
		if _, err := c.TLS.Config(); err != nil {
			return nil, fmt.Errorf("jobs: tls: %w", err)
		}
		out.open = func() (source, error) { return openSlurm(c, g) }
	case typeLog:
		zone := time.Local
		if c.Zone != "" {
			z, err := time.LoadLocation(c.Zone)
			if err != nil {
				return nil, fmt.Errorf("jobs: zone: %w", err)
			}
			zone = z
		}
		out.open = func() (source, error) { return openLogs(c, zone), nil }
	case typeKube:
		if _, err := c.TLS.Config(); err != nil {
			return nil, fmt.Errorf("jobs: tls: %w", err)
		}
		out.open = func() (source, error) { return openKube(c, g) }
	case typeRAS:
		out.open = func() (source, error) { return newRAS(c, g.DialContext), nil }
	case typeDumps:
		out.open = func() (source, error) { return openDumps(c), nil }
	case typeFile:
		out.open = func() (source, error) { return openLayouts(c), nil }
	default:
		return nil, fmt.Errorf("jobs: type %q: want one of %v", c.Type, types())
	}
	return out, nil
}

// Target returns the configured name.
func (c *Collector) Target() string { return c.cfg.Name }

// errUnsound means that what was read cannot be encoded: a bug of ours.
var errUnsound = errors.New("jobs: encoding failed")

// Run reads round by round until ctx is done. A source that cannot be read is
// asked again when it is due.
func (c *Collector) Run(ctx context.Context, sink collectors.Sink) error {
	s, err := c.open()
	if err != nil {
		return err
	}
	defer s.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		began := time.Now()
		r := newReport(sink, began)
		err := s.read(ctx, r)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errUnsound) {
			return err
		}
		sink.Swept(collectors.Sweep{Took: time.Since(began), Read: r.count, Dropped: r.dropped, Err: err})
		timer.Reset(max(0, time.Until(began.Add(c.cfg.Every))))
	}
}

// Once reads one round; of logs, their present content.
func (c *Collector) Once(ctx context.Context, sink collectors.Sink) error {
	s, err := c.openWhole()
	if err != nil {
		return err
	}
	defer s.close()
	began := time.Now()
	r := newReport(sink, began)
	err = s.read(ctx, r)
	sink.Swept(collectors.Sweep{Took: time.Since(began), Read: r.count, Dropped: r.dropped, Err: err})
	if err != nil {
		return fmt.Errorf("jobs: %s: %w", c.cfg.Name, err)
	}
	return nil
}

// openWhole opens the source so that a first round has something to read.
func (c *Collector) openWhole() (source, error) {
	s, err := c.open()
	if l, ok := s.(*logs); ok {
		l.cfg.Whole = true
	}
	return s, err
}

// report is what one round has found.
type report struct {
	sink    collectors.Sink
	now     telemetry.Time
	count   int
	dropped map[collectors.Reason]int
}

func newReport(sink collectors.Sink, now time.Time) *report {
	return &report{sink: sink, now: telemetry.Time(now.UnixNano()), dropped: map[collectors.Reason]int{}}
}

func (r *report) drop(why collectors.Reason, n int) {
	if n > 0 {
		r.dropped[why] += n
	}
}

// emit states what a book has noted, as of an instant.
func (r *report) emit(b *book.Book, at telemetry.Time) error {
	n, err := b.Emit(r.sink, telemetry.Instant{Source: at, Received: r.now})
	r.count += n
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsound, err)
	}
	return nil
}

// longestText bounds an event's text in bytes.
const longestText = 200

// event states an event; one with an invalid name is counted.
func (r *report) event(e telemetry.Event) {
	if e.Entity.Validate() != nil || e.At <= 0 {
		r.drop(collectors.Malformed, 1)
		return
	}
	e.Received, e.Text = r.now, plain(e.Text)
	r.count++
	r.sink.Emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: &e})
}

// edge states an edge.
func (r *report) edge(e telemetry.Edge) {
	if e.From.Validate() != nil || e.To.Validate() != nil || e.Start < 0 || e.End < 0 {
		r.drop(collectors.Malformed, 1)
		return
	}
	e.Received = r.now
	r.count++
	r.sink.Emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e})
}
