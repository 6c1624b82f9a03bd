package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/outbox/spill"
	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bus is where the outbox sends to.
type Bus interface {
	// Message makes the message of an encoded record; an error means that it can
	// never be sent.
	Message(collector string, encoded []byte) (bus.Message, error)
	// Send puts messages into the log, in order, and returns how many from the
	// front are known to be stored. An error that wraps bus.ErrRefused is about
	// the message behind those, which the log will not take.
	Send(ctx context.Context, ms []bus.Message) (stored int, err error)
}

// Config configures what an outbox sends where, and how much it may hold. Zero
// fields have the defaults given.
type Config struct {
	// Collector names this process on the bus; it must be the name of an entity.
	Collector string
	Bus       Bus
	// Dir is where records go that memory has no room for. It is made if need
	// be and locked. "" keeps everything in memory.
	Dir string
	// Files is the file system that Dir is in; nil is the machine's.
	Files spill.Files
	// MemoryBytes bounds the encoded records kept in memory, those being sent
	// included; default 4 MiB, at least 64 KiB. A record may take a quarter of it.
	// It should hold several rounds of everything that is emitted. Thinning takes
	// up to 16 MiB more, for a moment.
	MemoryBytes int
	// SpillBytes bounds the bytes in Dir, the copy that thinning makes included;
	// default 256 MiB, at least 16 times 64 KiB.
	SpillBytes int64
	// Renew is the interval of the renewal of schemas and open edges; default 5
	// min.
	Renew time.Duration
	// RenewBytes bounds the memory for renewals; default 16 MiB.
	RenewBytes int
	// Flush is how long Run goes on sending after its context is done; default
	// 5 s.
	Flush time.Duration
	// Now is the clock of renewals and of the outbox's own samples; default
	// time.Now.
	Now func() time.Time
	// Metrics takes the outbox's counters; nil keeps them private.
	Metrics *metrics.Set
	// Logger takes changes: the log gone and back, the disk failing. Nil
	// discards them.
	Logger *slog.Logger
}

const (
	minMemory    = 64 << 10
	minSpill     = 16 * 64 << 10
	maxChunk     = 64 << 10
	maxSegment   = 4 << 20
	chunkShare   = 32 // of memory
	spillShare   = 64 // of the spill
	batchShare   = 4  // of memory
	maxBatch     = 512 << 10
	batchRecords = 512
)

func (c Config) withDefaults() Config {
	c.MemoryBytes = cmp.Or(c.MemoryBytes, 4<<20)
	c.SpillBytes = cmp.Or(c.SpillBytes, 256<<20)
	c.Renew = cmp.Or(c.Renew, 5*time.Minute)
	c.RenewBytes = cmp.Or(c.RenewBytes, 16<<20)
	c.Flush = cmp.Or(c.Flush, 5*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

func (c Config) validate() error {
	switch {
	case c.Bus == nil:
		return errors.New("outbox: no bus")
	case c.MemoryBytes < minMemory:
		return fmt.Errorf("outbox: memory of %d bytes, at least %d", c.MemoryBytes, minMemory)
	case c.SpillBytes < minSpill:
		return fmt.Errorf("outbox: spill of %d bytes, at least %d", c.SpillBytes, minSpill)
	case c.Renew < time.Second || c.RenewBytes < 0 || c.Flush < 0:
		return fmt.Errorf("outbox: renew %v, renew bytes %d, flush %v: too small", c.Renew, c.RenewBytes, c.Flush)
	}
	return nil
}

// Outbox carries what collectors emit to the log. Emit may be called by any
// number of goroutines, before, during and after Run.
type Outbox struct {
	cfg       Config
	largest   int // record
	catalogue *telemetry.Catalogue
	account   *account
	scratch   sync.Pool     // of *[]byte, to encode in
	wake      chan struct{} // there is something for Run

	mu       sync.Mutex
	queue    queue
	moving   int // bytes taken out of the queue that are neither stored nor on disk
	renewals renewals
	ended    bool
	level    atomic.Int32 // of the last thinning in memory

	// owner is locked while sending, spilling and thinning: by Run, then by Close.
	owner   sync.Mutex
	carrier carrier
}

// New returns an outbox. It opens Dir: that another process holds it is an
// error that wraps spill.ErrLocked; any other trouble with the disk is logged, counted
// and tried again later.
func New(cfg Config) (*Outbox, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	rep, err := newReport(cfg.Collector, uint64(cfg.Now().UnixNano()))
	if err != nil {
		return nil, fmt.Errorf("outbox: collector %q: %w", cfg.Collector, err)
	}
	o := &Outbox{
		cfg: cfg, largest: min(cfg.MemoryBytes/4, spill.MaxRecord), catalogue: telemetry.DefaultCatalogue(),
		account: newAccount(cfg.Metrics), wake: make(chan struct{}, 1),
		queue: queue{chunkBytes: min(maxChunk, cfg.MemoryBytes/chunkShare)}, renewals: newRenewals(cfg.RenewBytes),
	}
	o.scratch.New = func() any { return new([]byte) }
	o.carrier = newCarrier(o, rep)
	if err := o.carrier.openDisk(); errors.Is(err, spill.ErrLocked) {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return o, nil
}

// Emit takes a record on its way. It never waits for the log or the disk, and
// never fails: what cannot be kept is counted by reason. The record and what it
// points to belong to the outbox from then on. Ticks are not its business.
//
// When memory is full and Run could not empty it, Emit itself thins the oldest
// records, which takes some milliseconds for each MiB.
func (o *Outbox) Emit(r *telemetry.Record) {
	o.account.emitted.Inc()
	if r == nil || r.Kind == telemetry.TickRecord {
		o.account.remove(byForm, thin.Removal{Others: 1})
		return
	}
	if r.Kind == telemetry.EdgeRecord {
		o.emitEdge(r)
		return
	}
	buf := o.scratch.Get().(*[]byte)
	b, err := o.encode((*buf)[:0], r)
	if err == nil {
		o.mu.Lock()
		if r.Kind == telemetry.SchemaRecord && !o.renewals.schema(r.Schema, b) {
			o.account.notRenewed.Inc()
		}
		o.put(b)
		o.mu.Unlock()
	}
	*buf = b[:0]
	o.scratch.Put(buf)
}

// emitEdge encodes under the lock, because what was renewed meanwhile decides
// how the edge is dated.
func (o *Outbox) emitEdge(r *telemetry.Record) {
	if r.Edge == nil {
		o.account.remove(byForm, thin.Removal{Others: 1})
		return
	}
	buf := o.scratch.Get().(*[]byte)
	o.mu.Lock()
	known := r.Edge.Validate() != nil || o.renewals.edge(r.Edge)
	b, err := o.encode((*buf)[:0], r)
	if err == nil {
		if !known {
			o.account.notRenewed.Inc()
		}
		o.put(b)
	}
	o.mu.Unlock()
	*buf = b[:0]
	o.scratch.Put(buf)
}

// encode appends a record's bytes; what is none is counted.
func (o *Outbox) encode(dst []byte, r *telemetry.Record) ([]byte, error) {
	b, err := telemetry.AppendRecord(dst, r)
	if err == nil && r.Kind == telemetry.FrameRecord {
		_, err = r.Frame.Header() // a frame that does not check can be neither named nor thinned
	}
	if err != nil {
		o.account.remove(byForm, lone(r.Kind))
		return b, err
	}
	return b, nil
}

// lone is the removal of one record whose contents cannot be read.
func lone(k telemetry.RecordKind) thin.Removal {
	switch k {
	case telemetry.FrameRecord:
		return thin.Removal{Frames: 1}
	case telemetry.EventRecord:
		return thin.Removal{Events: 1}
	}
	return thin.Removal{Others: 1}
}

// put queues an encoded record. o.mu is held.
func (o *Outbox) put(record []byte) {
	if len(record) > o.largest {
		o.account.remove(bySize, thin.Count(record, o.renewals.record))
		return
	}
	if o.ended {
		o.account.remove(byEnd, thin.Count(record, o.renewals.record))
		return
	}
	growth := o.queue.growth(len(record))
	if growth > 0 && o.memory()+growth > o.cfg.MemoryBytes && !o.relieve(growth) {
		o.account.remove(byFullness, thin.Count(record, o.renewals.record))
		return
	}
	idle := o.queue.empty()
	o.queue.push(thin.Entry{Record: record})
	o.account.memory.Store(int64(o.memory()))
	if idle || growth > 0 && o.memory() > o.soft() {
		o.nudge()
	}
}

// memory is how much memory records take; o.mu is held.
func (o *Outbox) memory() int { return o.queue.memory + o.moving }

// soft is where Run begins to empty memory: three quarters.
func (o *Outbox) soft() int { return o.cfg.MemoryBytes / 4 * 3 }

// nudge wakes Run.
func (o *Outbox) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
