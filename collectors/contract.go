package collectors

import (
	"context"
	"log/slog"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// Emitter takes records on their way to the log.
//
// Emit may be called at any time, by several goroutines at once. It never
// blocks for long and never fails: what cannot be kept is dropped by the
// emitter, counted by reason. The record and everything it points to belong to
// the emitter from then on; the caller neither changes nor reads them again.
// Records of one goroutine keep their order.
type Emitter interface {
	Emit(r *telemetry.Record)
}

// Sink is what a collector emits into: records, the outcome of each sweep, and a
// logger. All methods may be called by several goroutines of the collector at once,
// until its Run has returned and not after.
type Sink interface {
	Emitter
	// Swept reports that one round of reading is over. A collector that polls calls
	// it after every sweep, also one that read nothing; a push collector calls it
	// after every request.
	Swept(s Sweep)
	// Logger returns the logger of this collector, which names the collector in
	// every line. State changes of targets are logged by the supervisor, from
	// Sweep.Targets; what else a person should know is logged here.
	Logger() *slog.Logger
}

// Sweep is one round of reading.
type Sweep struct {
	// Took is how long it lasted, by the monotonic clock.
	Took time.Duration
	// Read is how many values, events and edges were read and emitted.
	Read int
	// Dropped is the number of items that were not emitted, by reason. The map
	// stays the caller's; nil is none.
	Dropped map[Reason]int
	// Targets is the state of each target that this sweep concerns, by name: nil
	// is up, an error is down, and why. A target that is not in it keeps its
	// state. The map stays the caller's. A collector of one target leaves it nil:
	// its target is up where Err is nil.
	Targets map[string]error
	// Err is set if the source as a whole could not be read: the collector is not
	// up until a sweep without it. Failures of single files or requests are
	// Dropped, not Err.
	Err error
}

// Collector reads one source and emits what it finds.
//
// Run is called by the supervisor, by one goroutine at a time; after it has
// returned it may be called again. It reads until ctx is done and then returns nil
// promptly, or it returns an error when it cannot continue: the supervisor then
// waits, longer from time to time, and calls it again. When Run returns, everything
// it started has stopped and everything it opened is closed.
//
// A collector states a schema before the first frame of it, and schemas and edges
// once and whenever they change: the outbox behind the sink renews them. A counter
// is emitted as it was read: it is neither differenced nor corrected here. What it
// cannot read it counts (Sweep.Dropped), and continues.
//
// Its memory is bounded whatever the source sends.
type Collector interface {
	Run(ctx context.Context, sink Sink) error
}
