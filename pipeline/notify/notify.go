package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify/graph"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bus has the buckets of a site's bus.
type Bus interface {
	KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error)
}

// Stream is a stream of revisions; bus.Revisions is one.
type Stream interface {
	Follow(ctx context.Context, after uint64, fn func(bus.Revision) error) error
	Bounds(ctx context.Context) (first, last uint64, err error)
}

// Graph returns the entities above an entity (package graph).
type Graph interface {
	Above(e telemetry.Entity) (steps []graph.Step, known bool)
	Maintained(e telemetry.Entity) (telemetry.Entity, bool)
	Within(f match.Facts, root telemetry.Entity) match.Facts
}

// Config configures the receivers, retries and timeouts.
type Config struct {
	Bus       Bus
	Incidents Stream
	// Alerts is the stream of the alerts of the built-in rules; nil if there are
	// none. They are sent to the receivers whose Kinds name them.
	Alerts Stream
	// Name is this process as others see it in claims. An incarnation is added:
	// two processes of one name do not take each other's claims for their own.
	Name      string
	Receivers []Receiver
	// Routes, Teams, Inhibit and Flaps decide what is sent to which of them.
	Routes  []Route
	Teams   []match.Owner
	Inhibit bool
	Flaps   Flaps
	// Silences and Graph may be nil: then nothing is withheld by them.
	Silences Silences
	Graph    Graph
	// Alone means that no other process serves these receivers now, so that the
	// claims of an earlier run need not be waited out.
	Alone bool

	Retries []time.Duration // between attempts; nil means the schedule of three days
	Margin  time.Duration   // what a claim's lease allows beyond the timeout; 0 means 5 s
	// Grace is how long a request in flight may go on when ctx is done; then it is
	// cancelled and repeated by the next process. 0 means 5 s, negative means none,
	// as if the process were killed.
	Grace time.Duration

	Now     func() time.Time // nil: time.Now
	Random  func() float64   // in [0, 1); nil: math/rand
	Metrics *metrics.Set
	Logger  *slog.Logger
}

const (
	defaultMargin = 5 * time.Second
	defaultGrace  = 5 * time.Second
)

func (c Config) withDefaults() Config {
	if len(c.Retries) == 0 {
		c.Retries = retries[:]
	}
	c.Margin = cmp.Or(c.Margin, defaultMargin)
	c.Grace = cmp.Or(c.Grace, defaultGrace)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = mathrand.Float64
	}
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns an error if c is invalid.
func (c Config) Validate() error {
	if c.Bus == nil || c.Incidents == nil {
		return errors.New("notify: no bus")
	}
	if c.Name == "" {
		return errors.New("notify: no name")
	}
	names := map[string]bool{}
	for _, r := range c.Receivers {
		if err := r.Validate(); err != nil {
			return fmt.Errorf("notify: %w", err)
		}
		if names[r.Name] {
			return fmt.Errorf("notify: receiver %s: there are two of that name", r.Name)
		}
		names[r.Name] = true
	}
	return c.validateRoutes(names)
}

// Run notifies the receivers until ctx is done, and then lets requests in flight
// finish. It returns an error only for a wrong Config: it waits for a bus that does
// not answer.
func Run(ctx context.Context, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	c = c.withDefaults()
	var incarnation [6]byte
	if _, err := rand.Read(incarnation[:]); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	c.Name += "/" + hex.EncodeToString(incarnation[:])
	if len(c.Receivers) == 0 {
		<-ctx.Done()
		return nil
	}
	var kv jetstream.KeyValue
	err := c.untilDone(ctx, "the bucket of deliveries is not there", func() (err error) {
		kv, err = c.Bus.KeyValue(ctx, bus.Deliveries)
		return err
	})
	if err != nil {
		return nil
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	var desks, alerting []*desk
	board := newBoard(&c)
	for _, r := range c.Receivers {
		desks = append(desks, newDesk(board, r, kv))
		if c.Alerts != nil && slices.Contains(r.Kinds, KindAlert) {
			alerting = append(alerting, newAlertDesk(board, r, kv))
		}
	}
	all := slices.Concat(desks, alerting)
	for _, d := range all {
		if d.enter(ctx) != nil {
			return nil
		}
	}
	for _, d := range all {
		serving.Go(func() { d.run(ctx) })
	}
	serving.Go(func() { c.wishes(ctx, kv, all) })
	if len(alerting) > 0 {
		serving.Go(func() { board.follow(ctx, c.Alerts, alerting) })
	}
	var noting []chan<- pendingNote
	for _, d := range desks {
		if d.r.Notes {
			in := make(chan pendingNote, 16)
			noting = append(noting, in)
			serving.Go(func() { d.sendNotes(ctx, in) })
		}
	}
	if len(noting) > 0 {
		serving.Go(func() { c.notes(ctx, noting) })
	}
	board.follow(ctx, c.Incidents, desks)
	return nil
}

// follow hands every revision of a stream to the board and then to every desk,
// until ctx is done. It reads the stream from its beginning: what is open, and what has come
// and gone, may have begun long ago.
func (b *board) follow(ctx context.Context, from Stream, desks []*desk) {
	c := b.c
	malformed := c.Metrics.GetOrCreateCounter(`quintet_notify_malformed_revisions_total`)
	var after uint64
	_ = c.untilDone(ctx, "reading revisions is interrupted", func() error {
		err := from.Follow(ctx, after, func(r bus.Revision) error {
			rev, err := parse(r, c.Teams)
			if err != nil {
				malformed.Inc()
				c.Logger.Warn("revision cannot be delivered", "sequence", r.Sequence, "error", err)
			} else if rev.properties != nil {
				b.post(rev)
			}
			for _, d := range desks {
				if err != nil {
					d.pass(r.Sequence)
				} else {
					d.offer(rev)
				}
			}
			after = r.Sequence
			return nil
		})
		if err == nil {
			err = errors.New("it ended")
		}
		return err
	})
}

// untilDone tries until fn succeeds, or ctx is done: then it returns its error.
func (c *Config) untilDone(ctx context.Context, what string, fn func() error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := fn()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		c.Logger.Warn(what, "error", err)
		if !bus.Sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}
