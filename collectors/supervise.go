package collectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/telemetry"
)

// defaultEvery is how often the health of collectors is stated.
const defaultEvery = 10 * time.Second

// defaultStopTimeout is how long collectors may take to stop.
const defaultStopTimeout = 10 * time.Second

// Spec is a collector to be run, and what it is called.
type Spec struct {
	// Name is its own in this process ("sysfs", "sysfs-2"): the collector's
	// entity is collector:<process>/<name>.
	Name string
	// Target is what it reads, for people: a path, an address.
	Target string
	// Collector is what is run.
	Collector Collector
}

// Config is what Supervise needs.
type Config struct {
	Specs   []Spec
	Emitter Emitter
	// Self names this process, as it is named on the bus.
	Self string
	// Every is how often their health is stated; zero means ten seconds.
	Every time.Duration
	// StopTimeout is how long collectors may take to stop once ctx is done; zero
	// means ten seconds.
	StopTimeout time.Duration
	// Metrics takes the process's own metrics of collecting; nil keeps them
	// private.
	Metrics *metrics.Set
	// Logger takes what changes: a collector that ends, returns, panics. Nil
	// discards it.
	Logger *slog.Logger
}

// ErrStuck means that a collector did not stop after its context was cancelled. Its
// goroutine is left behind, so the process should end.
var ErrStuck = errors.New("collector does not stop")

// Supervise runs every collector of c, each in a goroutine of its own, until
// ctx is done and all of them have stopped. A collector that returns before
// that, with or without an error, or panics is counted and run again, after a
// wait that doubles from time to time and is forgotten once it has run well for
// a while; the others do not notice. A panic in a goroutine that a collector
// itself started cannot be caught.
//
// It returns nil when everything has stopped after ctx was done, ErrStuck if
// something has not within c.StopTimeout, and an error at once if c is not sound.
//
// Whatever happens inside a collector, its entity has collector_up,
// collector_sweep_seconds, collector_read_total, collector_restarts_total and
// collector_dropped_<reason>_total: at the start, every c.Every and at the end.
func Supervise(ctx context.Context, c Config) error {
	s, err := newSupervisor(c)
	if err != nil {
		return fmt.Errorf("supervise: %w", err)
	}
	return s.run(ctx)
}

// supervisor is one call of Supervise.
type supervisor struct {
	emitter     Emitter
	every       time.Duration
	stopTimeout time.Duration
	log         *slog.Logger
	speaks      *speakers
	workers     []*worker
	feed        *Feed
	words       []uint64
}

func newSupervisor(c Config) (*supervisor, error) {
	s := &supervisor{emitter: c.Emitter, every: c.Every, stopTimeout: c.StopTimeout, log: c.Logger, speaks: &speakers{spoken: map[topic]spoken{}}}
	if s.emitter == nil {
		return nil, errors.New("no emitter")
	}
	if s.every <= 0 {
		s.every = defaultEvery
	}
	if s.stopTimeout <= 0 {
		s.stopTimeout = defaultStopTimeout
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	set := c.Metrics
	if set == nil {
		set = metrics.NewSet()
	}
	schema := &telemetry.Schema{
		Source:  telemetry.Source{Collector: "supervisor", Target: c.Self},
		Cadence: s.every,
		Columns: healthColumns(),
	}
	names := map[string]bool{}
	for _, spec := range c.Specs {
		if spec.Collector == nil || spec.Name == "" || names[spec.Name] {
			return nil, fmt.Errorf("collector %q: has no name, no code, or a name that another has", spec.Name)
		}
		names[spec.Name] = true
		schema.Entities = append(schema.Entities, Entity(c.Self, spec.Name))
		s.workers = append(s.workers, newWorker(spec, s, set))
	}
	if len(s.workers) == 0 {
		return s, nil
	}
	feed, err := NewFeed(schema, uint64(time.Now().UnixNano()))
	s.feed, s.words = feed, make([]uint64, schema.Len())
	return s, err
}

// run starts the collectors, reports their health, and waits for their end.
func (s *supervisor) run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, w := range s.workers {
		all.Go(func() { w.keep(ctx) })
	}
	stopped := make(chan struct{})
	go func() {
		all.Wait()
		close(stopped)
	}()
	if s.feed != nil {
		s.emitter.Emit(s.feed.Schema())
	}
	s.emitHealth()
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.emitHealth()
		case <-ctx.Done():
			err := s.wait(stopped)
			s.emitHealth()
			return err
		}
	}
}

// wait returns once every collector has stopped, or names those that have not.
func (s *supervisor) wait(stopped <-chan struct{}) error {
	timer := time.NewTimer(s.stopTimeout)
	defer timer.Stop()
	select {
	case <-stopped:
		return nil
	case <-timer.C:
	}
	var errs []error
	for _, w := range s.workers {
		if w.running() {
			errs = append(errs, fmt.Errorf("supervise: %s after %s: %w", w.spec.Name, s.stopTimeout, ErrStuck))
		}
	}
	return errors.Join(errs...)
}

// emitHealth emits the health of every collector.
func (s *supervisor) emitHealth() {
	if s.feed == nil {
		return
	}
	for i, w := range s.workers {
		w.health(s.words, i, len(s.workers))
	}
	now := telemetry.Time(time.Now().UnixNano())
	r, err := s.feed.Frame(telemetry.Instant{Source: now, Received: now}, s.words, nil)
	if err != nil {
		s.log.Error("encoding the health of collectors failed", "err", err)
		return
	}
	s.emitter.Emit(r)
}
