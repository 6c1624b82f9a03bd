package ticker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// Tail is the part of the log that a ticker reads.
type Tail interface {
	// LastTick returns the newest tick that the log holds, if any.
	LastTick(ctx context.Context) (at telemetry.Time, ok bool, err error)
	// Bounds returns the first and the last position that the log holds; last is
	// zero where it holds nothing.
	Bounds(ctx context.Context) (first, last uint64, err error)
	// Follow hands over every entry behind a position until ctx is done.
	Follow(ctx context.Context, after uint64, fn func(bus.Entry) error) error
}

// Log is where ticks go to.
type Log interface {
	Tail
	// Append puts records into the log and tries until ctx is done. A tick that
	// the log has is known by its number.
	Append(ctx context.Context, collector string, rs ...*telemetry.Record) error
}

// Config configures a ticker. Zero fields have the defaults given.
type Config struct {
	Log Log
	// Grid is the site's grid: tick n is at n grids since 1970. Default 1 s.
	Grid telemetry.Duration
	// Lateness is the site's; ticks keep within that of Prompt of the median
	// receive time. Default telemetry.DefaultLateness.
	Lateness telemetry.Lateness
	// Timeout is how long a process without data is waited for; default 15 s.
	Timeout time.Duration
	// Now is the wall clock; default time.Now. Only its wall reading is used.
	Now func() time.Time
	// Metrics takes the ticker's counters; nil keeps them private.
	Metrics *metrics.Set
	// Logger takes changes: ticks delayed, the clock set. Nil discards them.
	Logger *slog.Logger
}

const defaultTimeout = 15 * time.Second

func (c Config) withDefaults() Config {
	c.Grid = cmp.Or(c.Grid, bus.DefaultGrid)
	if c.Lateness == (telemetry.Lateness{}) {
		c.Lateness = telemetry.DefaultLateness()
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

func (c Config) validate() error {
	site := telemetry.SiteConfig{Site: "site", Grid: c.Grid, Lateness: c.Lateness}
	switch {
	case c.Log == nil:
		return errors.New("ticker: no log")
	case c.Timeout < 0:
		return fmt.Errorf("ticker: timeout %v is negative", c.Timeout)
	}
	if err := site.Validate(); err != nil {
		return fmt.Errorf("ticker: %w", err)
	}
	return nil
}

const (
	// tail is how many entries before the end of the log are read at the start: the
	// processes in it are waited for.
	tail = 4096
	// pause is between two tries of a refused write.
	pause = time.Second
	// askEvery is how often a waiting ticker makes sure that the log is there.
	askEvery = time.Second
)

// ticker is one Run.
type ticker struct {
	cfg    Config
	start  time.Time
	counts counts

	mu     sync.Mutex
	pace   *pace
	logged why // the wait that was logged last

	failing bool // the last tick could not be stated; drive's own
}

// Run states ticks until ctx is done, and then returns nil; an immediate error
// means that cfg is invalid. Errors of the log are logged and waited for.
func Run(ctx context.Context, cfg Config) error {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return err
	}
	t := &ticker{cfg: cfg, start: time.Now()}
	t.pace = newPace(cfg, t.now())
	t.counts = newCounts(cfg.Metrics, t)
	after, last, ok := t.open(ctx)
	if !ok {
		return nil
	}
	var following sync.WaitGroup
	following.Go(func() { t.follow(ctx, after, last) })
	t.drive(ctx)
	following.Wait()
	return nil
}

func (t *ticker) now() moment {
	return moment{mono: time.Since(t.start), wall: telemetry.Time(t.cfg.Now().UnixNano())}
}

// open finds the last tick and where to read from. It tries until ctx is done.
func (t *ticker) open(ctx context.Context) (after, last uint64, ok bool) {
	for try := 0; ; try++ {
		err := t.resume(ctx)
		var first uint64
		if err == nil {
			first, last, err = t.cfg.Log.Bounds(ctx)
		}
		if err == nil {
			return begin(first, last), last, true
		}
		if try == 0 {
			t.cfg.Logger.Warn("ticks wait for the log to answer", "error", err)
		}
		if !bus.Sleep(ctx, pause) {
			return 0, 0, false
		}
	}
}

func (t *ticker) resume(ctx context.Context) error {
	at, ok, err := t.cfg.Log.LastTick(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pace.open(t.now())
	if before := t.pace.ignored; ok {
		if t.pace.resume(at); t.pace.ignored != before {
			t.cfg.Logger.Warn("last tick of the log ignored: too far in the future", "tick", at)
		}
	}
	return nil
}

// begin returns the position behind which to read.
func begin(first, last uint64) uint64 {
	if first > 0 {
		first--
	}
	if last > tail {
		return max(first, last-tail)
	}
	return first
}

// follow listens to the log until ctx is done; last is where it ended when we
// began.
func (t *ticker) follow(ctx context.Context, after, last uint64) {
	t.read(after, last)
	for {
		err := t.cfg.Log.Follow(ctx, after, func(e bus.Entry) error {
			after = e.Position
			t.entry(e)
			t.read(after, last)
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		t.counts.follows.Inc()
		t.cfg.Logger.Warn("listening to the log is interrupted", "position", after, "error", err)
		if !bus.Sleep(ctx, pause) {
			return
		}
		if first, end, err := t.cfg.Log.Bounds(ctx); err == nil && (after+1 < first || after > end) {
			after = begin(first, end)
		}
	}
}

// read notes that the log was read up to a position.
func (t *ticker) read(position, last uint64) {
	if position < last {
		return
	}
	t.mu.Lock()
	t.pace.ready = true
	t.mu.Unlock()
}

// entry processes one entry of the log.
func (t *ticker) entry(e bus.Entry) {
	if e.Record == nil {
		return
	}
	switch e.Record.Kind {
	case telemetry.FrameRecord:
		h, err := e.Record.Frame.Header()
		if err != nil {
			return
		}
		now := t.now()
		t.mu.Lock()
		t.pace.receive(e.Collector, h, now)
		t.mu.Unlock()
	case telemetry.SchemaRecord:
		fp := e.Record.Schema.Fingerprint()
		t.mu.Lock()
		t.pace.schema(fp, e.Record.Schema.Class)
		t.mu.Unlock()
	case telemetry.TickRecord:
		now := t.now()
		t.mu.Lock()
		if t.pace.adopt(e.Record.Tick.At, now) {
			t.counts.adopted.Inc()
		}
		t.mu.Unlock()
	}
}

// drive states each tick when it is due.
func (t *ticker) drive(ctx context.Context) {
	asked := time.Now()
	for ctx.Err() == nil {
		at, wait, what := t.look()
		switch {
		case what == due:
			wait = t.state(ctx, at)
		case what == forLog && time.Since(asked) >= askEvery:
			t.ask(ctx)
			asked = time.Now()
		}
		if wait > 0 && !bus.Sleep(ctx, wait) {
			return
		}
	}
}

// ask asks the log for its last tick. A ticker that delays its ticks would not
// notice that the log is unreachable, and take that for missing data of all
// processes; this call does not return until the log is back.
func (t *ticker) ask(ctx context.Context) {
	at, ok, err := t.cfg.Log.LastTick(ctx)
	if err != nil || !ok {
		return
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pace.adopt(at, now)
}

func (t *ticker) look() (telemetry.Time, time.Duration, why) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	steps, disbelieved := t.pace.steps, t.pace.disbelieved
	at, wait, what := t.pace.next(now)
	t.logWait(at, what, now)
	if t.pace.steps != steps {
		t.counts.steps.Inc()
		t.cfg.Logger.Warn("the clock is set; ticks catch up or hold", "to", t.pace.clock)
	}
	if t.pace.disbelieved == disbelieved+1 && disbelieved == 0 {
		t.cfg.Logger.Warn("wall clock ignored: it contradicts the log", "wall", now.wall, "clock", t.pace.clock)
	}
	return at, wait, what
}

// logWait logs when ticks begin to wait for the log, and when they no longer do.
func (t *ticker) logWait(at telemetry.Time, what why, now moment) {
	const minBehind = 10 * second // behind the clock
	behind := t.pace.clock.Sub(at)
	switch {
	case what == forLog && t.logged != forLog && behind > minBehind:
		t.logged = forLog
		t.cfg.Logger.Info("ticks wait for late processes", "tick", at, "behind", behind)
	case t.logged == forLog && behind < second:
		t.logged = forClock
		t.cfg.Logger.Info("ticks are up to date again", "tick", at)
	}
}

// state puts a tick into the log. It returns how long to rest after a failure.
func (t *ticker) state(ctx context.Context, at telemetry.Time) time.Duration {
	err := t.cfg.Log.Append(ctx, "", &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}})
	if err == nil {
		t.failing = false
		t.counts.stated.Inc()
		now := t.now()
		t.mu.Lock()
		t.pace.published(at, now)
		t.mu.Unlock()
		return 0
	}
	if ctx.Err() == nil {
		t.counts.failures.Inc()
		if !t.failing {
			t.cfg.Logger.Error("a tick cannot be stated", "tick", at, "error", err)
		}
		t.failing = true
	}
	return pause
}
