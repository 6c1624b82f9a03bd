package collectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/telemetry"
)

// How long a collector that ended waits before it runs again: the first time,
// at most, and how long it must have run for the past to be forgotten.
const (
	firstWait    = time.Second
	longestWait  = 2 * time.Minute
	healthyAfter = time.Minute
)

// errReturned is the error of a Run that returned nil without being cancelled.
var errReturned = errors.New("Run returned before the service stopped")

// worker keeps one collector running and remembers how it does.
type worker struct {
	spec    Spec
	emitter Emitter
	speaks  *speakers // shared by the workers of a supervisor
	log     *slog.Logger
	own     ownMetrics

	mu       sync.Mutex
	runs     bool // Run has been called and has not returned
	sweepErr error
	targets  map[string]*targetState
	took     time.Duration
	read     uint64
	restarts uint64
	dropped  []uint64 // by place in Reasons
}

func newWorker(spec Spec, s *supervisor, set *metrics.Set) *worker {
	return &worker{
		spec:    spec,
		emitter: s.emitter,
		speaks:  s.speaks,
		log:     s.log.With("collector", spec.Name),
		own:     newOwnMetrics(set, spec.Name),
		dropped: make([]uint64, len(Reasons())),
		targets: map[string]*targetState{},
	}
}

// keep runs the collector until ctx is done.
func (w *worker) keep(ctx context.Context) {
	wait, lastError := firstWait, ""
	for {
		began := time.Now()
		err := w.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= healthyAfter {
			wait, lastError = firstWait, ""
		}
		pause := Jitter(wait)
		wait = min(2*wait, longestWait)
		w.ended(err, pause, &lastError)
		if !Sleep(ctx, pause) {
			return
		}
	}
}

// once calls Run and turns whatever ends it into an error.
func (w *worker) once(ctx context.Context) (err error) {
	sink := &workerSink{worker: w}
	w.setRunning(true)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			w.log.Error("collector panicked", "target", w.spec.Target, "panic", p, "stack", string(debug.Stack()))
		}
		sink.closed.Store(true)
		w.setRunning(false)
	}()
	if err := w.spec.Collector.Run(ctx, sink); err != nil {
		return err
	}
	return errReturned
}

// ended counts a restart and logs why; the same reason again is not worth a second
// line.
func (w *worker) ended(err error, pause time.Duration, lastError *string) {
	w.mu.Lock()
	w.restarts++
	w.mu.Unlock()
	w.own.restarts.Inc()
	level := slog.LevelWarn
	if err.Error() == *lastError {
		level = slog.LevelDebug
	}
	*lastError = err.Error()
	w.log.Log(context.Background(), level, "collector ended", "target", w.spec.Target, "err", err, "again_in", pause.Round(time.Millisecond))
}

// Jitter spreads d over three quarters to five quarters of itself, so that
// hosts or targets which failed together do not return together.
func Jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(max(1, d/2))
}

// Sleep waits for d, and reports false if ctx was done first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *worker) setRunning(b bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs, w.sweepErr = b, nil
	if !b {
		w.targetsStopped()
	}
	w.own.up.Set(w.upLocked())
}

func (w *worker) running() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs
}

func (w *worker) upLocked() float64 {
	if w.runs && w.sweepErr == nil {
		return 1
	}
	return 0
}

// swept takes note of a sweep.
func (w *worker) swept(s Sweep) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observe(s)
	w.sweepErr, w.took = s.Err, s.Took
	w.read += uint64(max(s.Read, 0))
	for r, n := range s.Dropped { // order-independent: each is added to its own
		w.drop(r, n)
	}
	w.own.up.Set(w.upLocked())
	w.own.seconds.Set(s.Took.Seconds())
	w.own.read.AddInt64(int64(max(s.Read, 0)))
}

// unsaid counts an event that another collector has reported.
func (w *worker) unsaid() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(Duplicate, 1)
}

// drop counts dropped items; under Other if the reason is unknown.
func (w *worker) drop(why Reason, n int) {
	if n <= 0 {
		return
	}
	all := Reasons()
	i := slices.Index(all, why)
	if i < 0 {
		i = slices.Index(all, Other)
	}
	w.dropped[i] += uint64(n)
	w.own.dropped[i].Add(n)
}

// health writes the worker's series: it is entity i of n.
func (w *worker) health(words []uint64, i, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	row := append([]uint64{uint64(w.upLocked()), uint64(w.took.Microseconds()), w.read, w.restarts}, w.dropped...)
	for c, v := range row {
		words[c*n+i] = v
	}
}

// healthColumns are the metrics of a collector, in the order of health.
func healthColumns() []telemetry.Column {
	cs := []telemetry.Column{
		{Metric: "collector_up", Type: telemetry.Uint},
		{Metric: "collector_sweep_seconds", Type: telemetry.Decimal, Exp: 6},
		{Metric: "collector_read_total", Type: telemetry.Uint},
		{Metric: "collector_restarts_total", Type: telemetry.Uint},
	}
	for _, r := range Reasons() {
		cs = append(cs, telemetry.Column{Metric: r.Metric(), Type: telemetry.Uint})
	}
	return cs
}

// workerSink is what one call of Run is given. Once that has returned, what
// still comes is not the collector's any more and is let go.
type workerSink struct {
	worker *worker
	closed atomic.Bool
}

func (s *workerSink) Emit(r *telemetry.Record) {
	if s.closed.Load() {
		return
	}
	if r != nil && r.Event != nil && !s.worker.speaks.mayEmit(s.worker, r.Event) {
		s.worker.unsaid()
		return
	}
	s.worker.emitter.Emit(r)
}

func (s *workerSink) Swept(sweep Sweep) {
	if !s.closed.Load() {
		s.worker.swept(sweep)
	}
}

func (s *workerSink) Logger() *slog.Logger { return s.worker.log }

// ownMetrics are the metrics of a collector that the process exposes at /metrics.
type ownMetrics struct {
	set            *metrics.Set
	name           string
	up, seconds    *metrics.Gauge
	read, restarts *metrics.Counter
	dropped        []*metrics.Counter // by place in Reasons
}

func newOwnMetrics(set *metrics.Set, name string) ownMetrics {
	m := ownMetrics{
		set: set, name: name,
		up:       set.GetOrCreateGauge(fmt.Sprintf("quintet_collectors_up{collector=%q}", name), nil),
		seconds:  set.GetOrCreateGauge(fmt.Sprintf("quintet_collectors_sweep_seconds{collector=%q}", name), nil),
		read:     set.GetOrCreateCounter(fmt.Sprintf("quintet_collectors_read_total{collector=%q}", name)),
		restarts: set.GetOrCreateCounter(fmt.Sprintf("quintet_collectors_restarts_total{collector=%q}", name)),
	}
	for _, r := range Reasons() {
		m.dropped = append(m.dropped, set.GetOrCreateCounter(fmt.Sprintf("quintet_collectors_dropped_total{collector=%q,reason=%q}", name, r)))
	}
	return m
}
