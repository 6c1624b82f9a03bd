package collectors

import (
	"context"
	"log/slog"

	"github.com/VictoriaMetrics/metrics"
)

// Spec is a collector to be run, and what it is called.
type Spec struct {
	// Name is its own in this process ("sysfs", "sysfs-2"): the collector's
	// entity is collector:<process>/<name>.
	Name string
	// Target says what it reads, for people: a path, an address.
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
	// Metrics takes the process's own metrics of collecting; nil keeps them
	// private.
	Metrics *metrics.Set
	// Logger takes what changes: a collector that ends, returns, panics. Nil
	// discards it.
	Logger *slog.Logger
}

// Supervise runs every collector of c, each in a goroutine of its own, until
// ctx is done and all of them have stopped. A collector that returns an error
// or panics is counted and run again, after a wait that doubles from time to
// time and is forgotten once it has run well for a while; the others do not
// notice. It returns nil when everything has stopped after ctx was done, and an
// error at once if c is not sound.
//
// Whatever happens inside a collector, its entity has collector_up,
// collector_sweep_seconds, collector_read_total, collector_restarts_total and
// collector_dropped_<reason>_total, at the start, every ten seconds and at the
// end.
func Supervise(ctx context.Context, c Config) error {
	return nil
}
