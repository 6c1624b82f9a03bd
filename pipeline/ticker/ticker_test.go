package ticker

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// fakeLog is a log in memory that can be away: then calls wait, as the bus does.
type fakeLog struct {
	mu      sync.Mutex
	entries []bus.Entry
	ticks   map[telemetry.Time]bool
	appends int
	refuse  bool
	cut     error // ends Follow once
	away    chan struct{}
	grown   chan struct{} // closed when something changed
}

func newFakeLog() *fakeLog {
	return &fakeLog{ticks: map[telemetry.Time]bool{}, grown: make(chan struct{})}
}

// leave and back make the log go and come.
func (l *fakeLog) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = make(chan struct{})
}

func (l *fakeLog) back() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.away)
	l.away = nil
}

func (l *fakeLog) reach(ctx context.Context) error {
	l.mu.Lock()
	away := l.away
	l.mu.Unlock()
	if away == nil {
		return ctx.Err()
	}
	select {
	case <-away:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *fakeLog) add(collector string, r *telemetry.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Kind == telemetry.TickRecord {
		if l.ticks[r.Tick.At] {
			return
		}
		l.ticks[r.Tick.At] = true
	}
	l.entries = append(l.entries, bus.Entry{Position: uint64(len(l.entries) + 1), Collector: collector, Record: r})
	close(l.grown)
	l.grown = make(chan struct{})
}

func (l *fakeLog) Append(ctx context.Context, collector string, rs ...*telemetry.Record) error {
	if err := l.reach(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	l.appends++
	refuse := l.refuse
	l.mu.Unlock()
	if refuse {
		return bus.ErrRefused
	}
	for _, r := range rs {
		l.add(collector, r)
	}
	return nil
}

func (l *fakeLog) LastTick(ctx context.Context) (at telemetry.Time, ok bool, err error) {
	if err := l.reach(ctx); err != nil {
		return 0, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.ticks {
		at, ok = max(at, t), true
	}
	return at, ok, nil
}

func (l *fakeLog) Bounds(ctx context.Context) (first, last uint64, err error) {
	if err := l.reach(ctx); err != nil {
		return 0, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(1, uint64(len(l.entries))), uint64(len(l.entries)), nil
}

func (l *fakeLog) Follow(ctx context.Context, after uint64, fn func(bus.Entry) error) error {
	for {
		if err := l.reach(ctx); err != nil {
			return err
		}
		l.mu.Lock()
		fresh, grown, cut := l.entries[after:], l.grown, l.cut
		l.cut = nil
		l.mu.Unlock()
		if cut != nil {
			return cut
		}
		for _, e := range fresh {
			if err := fn(e); err != nil {
				return err
			}
			after = e.Position
		}
		if len(fresh) > 0 {
			continue
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stated returns the log's ticks, which must rise by one grid each.
func (l *fakeLog) stated(t *testing.T) (ticks []telemetry.Time) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.Record.Kind != telemetry.TickRecord {
			continue
		}
		at := e.Record.Tick.At
		if n := len(ticks); n > 0 && at.Sub(ticks[n-1]) != second {
			t.Fatalf("tick %s follows %s", at, ticks[n-1])
		}
		if at%telemetry.Time(second) != 0 {
			t.Fatalf("tick %s is on no grid", at)
		}
		ticks = append(ticks, at)
	}
	return ticks
}

// collector states frames, a second each, from the time that is given.
type collector struct {
	t       *testing.T
	log     *fakeLog
	name    string
	schema  *telemetry.Schema
	encoder telemetry.Encoder
}

func newCollector(t *testing.T, log *fakeLog, name string) *collector {
	c := &collector{t: t, log: log, name: name, schema: &telemetry.Schema{
		Source: telemetry.Source{Collector: "sysfs", Target: name}, Cadence: second,
		Entities: []telemetry.Entity{{Kind: telemetry.Node, Name: name}}, Columns: []telemetry.Column{{Metric: "node_power_watts", Type: telemetry.Uint}},
	}}
	log.add(name, &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: c.schema})
	return c
}

func (c *collector) state(at telemetry.Time) {
	f := telemetry.Frame{ByReceived: true, Instants: []telemetry.Instant{{Received: at}}, Words: []uint64{1}}
	b, err := c.encoder.AppendFrame(nil, c.schema, &f)
	if err != nil {
		c.t.Fatal(err)
	}
	c.log.add(c.name, &telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
}

func now() telemetry.Time { return telemetry.Time(time.Now().UnixNano()) }

// running runs tickers until the returned function is called.
func running(t *testing.T, log *fakeLog, n int, cfg Config) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg.Log = log
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if err := Run(ctx, cfg); err != nil {
				t.Error(err)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestTickersSideBySideStateTheSameTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		a := newCollector(t, log, "a")
		stop := running(t, log, 3, Config{Timeout: time.Minute})
		for range 60 {
			a.state(now())
			advance(time.Second)
		}
		stop()
		if n := len(log.stated(t)); n < 59 || n > 60 {
			t.Errorf("%d ticks in a minute", n)
		}
	})
}

func TestATickerGoesOnWhereTheLogEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		stop := running(t, log, 1, Config{})
		advance(10 * time.Second)
		stop()
		advance(30 * time.Second)
		stop = running(t, log, 1, Config{})
		advance(10 * time.Second)
		stop()
		ticks := log.stated(t)
		if n := len(ticks); n < 49 || n > 51 {
			t.Errorf("%d ticks, want 50: what was missed is caught up", n)
		}
	})
}

// The log is unreachable for a while; the backlog arrives a while after it is back.
// No tick may pass before the data of that time was received.
func TestTicksWaitForTheBacklogOfAnOutage(t *testing.T) {
	for _, held := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			log := newFakeLog()
			a := newCollector(t, log, "a")
			stop := running(t, log, 1, Config{Timeout: time.Minute})
			for range 30 {
				a.state(now())
				advance(time.Second)
			}
			last := now()
			if held { // the collector fell silent before: the ticker waits for it
				advance(10 * time.Second)
			}
			log.leave()
			advance(14 * time.Minute)
			log.back()
			advance(20 * time.Second) // the outbox tries again by then
			ticks := log.stated(t)
			if ahead := ticks[len(ticks)-1].Sub(last); ahead > 4*second {
				t.Fatalf("ticks are %v ahead of what the log heard", ahead)
			}
			for at := last; at < now(); at = at.Add(second) {
				a.state(at)
			}
			for range 60 {
				a.state(now())
				advance(time.Second)
			}
			if n := len(log.stated(t)) - len(ticks); n < 590 || n > 602 {
				t.Errorf("%d ticks in a minute, want ten times as many as seconds", n)
			}
			stop()
		})
	}
}

func TestListeningIsTakenUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		var logged strings.Builder
		a := newCollector(t, log, "a")
		stop := running(t, log, 1, Config{Timeout: time.Minute, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		for i := range 30 {
			if i == 10 {
				log.mu.Lock()
				log.cut = bus.ErrForgotten
				log.mu.Unlock()
			}
			a.state(now())
			advance(time.Second)
		}
		advance(30 * time.Second) // held: it did hear the last frame
		stop()
		if n := len(log.stated(t)); n < 30 || n > 33 {
			t.Errorf("%d ticks, want 31", n)
		}
		if !strings.Contains(logged.String(), "interrupted") {
			t.Errorf("the log says %q", logged.String())
		}
	})
}

func TestARefusedTickIsTriedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		log.refuse = true
		stop := running(t, log, 1, Config{Timeout: time.Minute})
		advance(60 * time.Second)
		stop()
		if log.appends < 50 || log.appends > 61 {
			t.Errorf("%d tries in a minute", log.appends)
		}
	})
}

func TestATickerEndsWhileTheLogIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		log.leave()
		stop := running(t, log, 1, Config{Timeout: time.Minute})
		advance(time.Minute)
		stop()
		if len(log.stated(t)) > 0 {
			t.Error("ticks without a log")
		}
	})
}

func TestTheTailIsReadFromNearTheEnd(t *testing.T) {
	for _, c := range []struct{ first, last, want uint64 }{
		{0, 0, 0}, {1, 10, 0}, {5, 10, 4}, {1, tail + 100, 100}, {tail, tail + 10, tail - 1},
	} {
		if got := begin(c.first, c.last); got != c.want {
			t.Errorf("a log of %d to %d is read behind %d, want %d", c.first, c.last, got, c.want)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	log := newFakeLog()
	for _, c := range []Config{{}, {Log: log, Grid: -1}, {Log: log, Timeout: -1}, {Log: log, Lateness: telemetry.Lateness{-1}}} {
		if err := Run(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), "ticker: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("over"))
	if err := Run(ctx, Config{Log: log}); err != nil {
		t.Error(err)
	}
}
