package pin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/recorder"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// lead and trail are how much is kept before an incident's onset and after
	// its end; longest is how much after its onset at most.
	lead    = telemetry.Duration(15 * 60e9)
	trail   = telemetry.Duration(5 * 60e9)
	longest = telemetry.Duration(20 * 60e9)
	// atOnce traces are written at a time, queued wait; more are counted as not
	// pinned.
	atOnce = 2
	queued = 64
	// maxFolder bounds all traces together; those without a verdict go first,
	// the oldest first.
	maxFolder = 8 << 30
	// again is the wait before a failed request to the bus is retried.
	again = 5 * time.Second
)

// Bus is the part of the site's bus that is used.
type Bus interface {
	recorder.Tape
	FollowIncidents(ctx context.Context, after uint64, fn func(bus.Revision) error) error
	KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error)
}

// Config configures what is pinned where.
type Config struct {
	Bus     Bus
	Dir     string // of the traces, made where it is missing
	Site    string
	Metrics *metrics.Set
	Logger  *slog.Logger
}

// File returns the path of an incident's trace in a folder.
func File(dir, id string) string { return filepath.Join(dir, id+".qtrace") }

// Run pins until ctx is done.
func Run(ctx context.Context, c Config) error {
	if err := os.MkdirAll(c.Dir, 0o750); err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	k := &keeper{c: c, known: map[string]*explain.Incident{}, jobs: make(chan string, queued), opinions: map[string]Opinion{}}
	k.pinned = c.Metrics.NewCounter(`quintet_pin_incidents_total{outcome="pinned"}`)
	k.refused = c.Metrics.NewCounter(`quintet_pin_incidents_total{outcome="no_room"}`)
	k.failed = c.Metrics.NewCounter(`quintet_pin_incidents_total{outcome="failed"}`)
	k.cut = c.Metrics.NewCounter(`quintet_pin_frames_dropped_total{reason="too_large"}`)
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() { k.work(ctx) })
	}
	wg.Go(func() { k.retry(ctx, "notes", k.listen) })
	k.retry(ctx, "incidents", func(ctx context.Context) error { return c.Bus.FollowIncidents(ctx, k.after, k.handle) })
	wg.Wait()
	return nil
}

// keeper is a Run under way.
type keeper struct {
	c                            Config
	pinned, refused, failed, cut *metrics.Counter
	jobs                         chan string
	after                        uint64 // of the last revision received

	mu       sync.Mutex
	known    map[string]*explain.Incident // the newest revision of those not forgotten
	order    []string                     // by when they were first received
	opinions map[string]Opinion
}

// maxKnown bounds the incidents that are remembered.
const maxKnown = 4096

// retry runs fn until ctx is done.
func (k *keeper) retry(ctx context.Context, what string, fn func(context.Context) error) {
	for ctx.Err() == nil {
		if err := fn(ctx); err != nil && ctx.Err() == nil {
			k.c.Logger.Warn("pinning cannot follow "+what, "error", err)
		}
		bus.Sleep(ctx, again)
	}
}

// handle processes a revision.
func (k *keeper) handle(r bus.Revision) error {
	k.after = r.Sequence
	in := &explain.Incident{}
	if err := json.Unmarshal(r.Data, in); err != nil {
		k.c.Logger.Warn("an incident that cannot be read", "incident", r.ID, "error", err)
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, old := k.known[in.ID]; !old {
		k.admit(in.ID)
	}
	k.known[in.ID] = in
	k.label(in.ID)
	return nil
}

// admit queues an incident that is new and has no trace yet.
func (k *keeper) admit(id string) {
	if len(k.order) == maxKnown {
		delete(k.known, k.order[0])
		delete(k.opinions, k.order[0])
		k.order = k.order[1:]
	}
	k.order = append(k.order, id)
	if _, err := os.Stat(File(k.c.Dir, id)); err == nil {
		return
	}
	select {
	case k.jobs <- id:
	default:
		k.refused.Inc()
		k.c.Logger.Warn("an incident is not pinned: too many wait", "incident", id)
	}
}

func (k *keeper) incident(id string) *explain.Incident {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[id]
}

// work writes traces until ctx is done.
func (k *keeper) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-k.jobs:
			switch err := k.write(ctx, id); {
			case errors.Is(err, recorder.ErrForgotten):
				k.c.Logger.Info("an incident is not pinned: the log no longer holds it", "incident", id)
			case err != nil && ctx.Err() == nil:
				k.failed.Inc()
				k.c.Logger.Warn("an incident is not pinned", "incident", id, "error", err)
			}
		}
	}
}

// write writes the trace of an incident. It begins without a snapshot: that would
// cover the whole site, and the trace does not.
func (k *keeper) write(ctx context.Context, id string) error {
	in := k.incident(id)
	if in == nil {
		return nil
	}
	from := max(in.Onset.Earliest.Add(-lead), 1)
	v := newInvolved(in)
	path := File(k.c.Dir, id)
	f, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	defer os.Remove(path + ".part")
	defer f.Close()
	_, err = recorder.Capture(ctx, recorder.CaptureConfig{Tape: k.c.Bus, Writer: f, Site: k.c.Site, Program: "quintet serve",
		From: from, To: in.Onset.Latest.Add(longest), Until: func() telemetry.Time { return k.until(id) }, Keep: v.keep, Logger: k.c.Logger})
	if err = errors.Join(err, f.Sync(), ctx.Err()); err != nil {
		return err
	}
	if err := os.Rename(path+".part", path); err != nil {
		return err
	}
	k.pinned.Inc()
	k.cut.Add(int(v.dropped))
	k.c.Logger.Info("an incident is pinned", "incident", id, "bytes", v.bytes, "cut", v.dropped)
	k.mu.Lock()
	k.label(id)
	k.mu.Unlock()
	return sweep(k.c.Dir, maxFolder)
}

// until is when an incident's trace may end; zero while it is open.
func (k *keeper) until(id string) telemetry.Time {
	in := k.incident(id)
	if in == nil {
		return 1
	}
	if in.Resolved == nil {
		return 0
	}
	return in.Resolved.Add(trail)
}
