package collectors_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// log is an Emitter that keeps everything and decodes what it can.
type log struct {
	mu     sync.Mutex
	reader telemetry.SampleReader
	stated int                // schemas
	values map[string]float64 // the newest of each series
	frames int
	events []string
}

func (l *log) Emit(r *telemetry.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.values == nil {
		l.values = map[string]float64{}
	}
	switch r.Kind {
	case telemetry.SchemaRecord:
		l.stated++
		l.reader.Learn(r.Schema)
	case telemetry.EventRecord:
		l.events = append(l.events, fmt.Sprintf("%s %s %s", r.Event.Entity, r.Event.Name, r.Event.Text))
	case telemetry.FrameRecord:
		l.frames++
		samples, err := l.reader.Read(r.Frame)
		if err != nil {
			panic(err)
		}
		for x := range samples {
			l.values[x.Series.String()] = x.Float()
		}
	}
}

func (l *log) value(series string) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.values[series]
	if !ok {
		return -1
	}
	return v
}

// run is a collector made of a function.
type run func(ctx context.Context, sink collectors.Sink) error

func (r run) Run(ctx context.Context, sink collectors.Sink) error { return r(ctx, sink) }

// supervised runs Supervise in the background of a bubble until the test ends.
func supervised(t *testing.T, c collectors.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- collectors.Supervise(ctx, c) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// pass lets the bubble's time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestSupervisedHealthIsAlwaysReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{}
		set := metrics.NewSet()
		stop := supervised(t, collectors.Config{Self: "h1", Emitter: out, Metrics: set, Specs: []collectors.Spec{
			{Name: "good", Collector: run(func(ctx context.Context, s collectors.Sink) error {
				s.Swept(collectors.Sweep{Took: 1500 * time.Microsecond, Read: 400, Dropped: map[collectors.Reason]int{collectors.Denied: 2, "no such": 1}})
				<-ctx.Done()
				return nil
			})},
			{Name: "blind", Collector: run(func(ctx context.Context, s collectors.Sink) error {
				s.Swept(collectors.Sweep{Err: errors.New("nobody there")})
				<-ctx.Done()
				return nil
			})},
			{Name: "broken", Collector: run(func(context.Context, collectors.Sink) error { return errors.New("no") })},
			{Name: "panics", Collector: run(func(context.Context, collectors.Sink) error { panic("at the disco") })},
			{Name: "idle", Collector: run(func(context.Context, collectors.Sink) error { return nil })},
		}})
		pass(10 * time.Second)
		for series, want := range map[string]float64{
			"collector:h1/good collector_up":                      1,
			"collector:h1/good collector_sweep_seconds":           0.0015,
			"collector:h1/good collector_read_total":              400,
			"collector:h1/good collector_restarts_total":          0,
			"collector:h1/good collector_dropped_denied_total":    2,
			"collector:h1/good collector_dropped_other_total":     1,
			"collector:h1/good collector_dropped_malformed_total": 0,
			"collector:h1/blind collector_up":                     0,
			"collector:h1/broken collector_up":                    0,
			"collector:h1/panics collector_up":                    0,
			"collector:h1/idle collector_up":                      0,
		} {
			if got := out.value(series); got != want {
				t.Errorf("%s = %v, want %v", series, got, want)
			}
		}
		for _, name := range []string{"broken", "panics", "idle"} {
			// After 1, 2 and 4 s, each give or take a quarter: three or four by now.
			if got := out.value("collector:h1/" + name + " collector_restarts_total"); got < 3 || got > 4 {
				t.Errorf("%s was restarted %v times in 10 s", name, got)
			}
		}
		stop()
		var text bytes.Buffer
		set.WritePrometheus(&text)
		for _, want := range []string{`quintet_collectors_up{collector="blind"} 0`, `quintet_collectors_read_total{collector="good"} 400`, `quintet_collectors_dropped_total{collector="good",reason="denied"} 2`} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("metrics lack %s:\n%s", want, text.String())
			}
		}
	})
}

func TestSupervisedWaitsLongerAndForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began []time.Time
		n := 0
		stop := supervised(t, collectors.Config{Self: "h1", Emitter: &log{}, Specs: []collectors.Spec{{Name: "a", Collector: run(func(ctx context.Context, s collectors.Sink) error {
			began = append(began, time.Now())
			if n++; n == 12 {
				<-time.After(time.Minute) // well for a while
			}
			return errors.New("no")
		})}}})
		pass(30 * time.Minute)
		stop()
		want := time.Second
		for i := 1; i < 15; i++ {
			gap := began[i].Sub(began[i-1])
			if i == 12 {
				gap, want = gap-time.Minute, time.Second
			}
			if gap < want*3/4 || gap > want*5/4 {
				t.Errorf("wait %d was %s, want about %s", i, gap, want)
			}
			want = min(2*want, 2*time.Minute)
		}
	})
}

func TestSupervisedLogsChangesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		stop := supervised(t, collectors.Config{Self: "h1", Emitter: &log{}, Logger: slog.New(slog.NewTextHandler(&text, nil)), Specs: []collectors.Spec{
			{Name: "a", Target: "/sys", Collector: run(func(context.Context, collectors.Sink) error { return errors.New("no such tree") })},
			{Name: "b", Collector: run(func(ctx context.Context, s collectors.Sink) error {
				for _, err := range []error{errors.New("gone"), errors.New("gone"), nil, nil} {
					s.Swept(collectors.Sweep{Err: err})
				}
				<-ctx.Done()
				return nil
			})},
		}})
		pass(20 * time.Minute)
		stop()
		for want, times := range map[string]int{"no such tree": 1, "target down": 1, "target up": 1, "target=/sys": 1} {
			if got := strings.Count(text.String(), want); got != times {
				t.Errorf("%q %d times, want %d:\n%s", want, got, times, text.String())
			}
		}
	})
}

// TestSupervisedTargets: one broken target of two has its own metric and its own
// log lines, although the collector as a whole is up.
func TestSupervisedTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text, page bytes.Buffer
		set := metrics.NewSet()
		stop := supervised(t, collectors.Config{Self: "h1", Emitter: &log{}, Metrics: set, Logger: slog.New(slog.NewTextHandler(&text, nil)), Specs: []collectors.Spec{
			{Name: "gnmi", Target: "leaf1, leaf2", Collector: run(func(ctx context.Context, s collectors.Sink) error {
				refused := errors.New("connection refused")
				for range 3 {
					s.Swept(collectors.Sweep{Targets: map[string]error{"leaf1": nil, "leaf2": refused}})
				}
				s.Swept(collectors.Sweep{Targets: map[string]error{"leaf1": nil}}) // leaf2 keeps its state
				s.Logger().Info("a line of the collector's own")
				<-ctx.Done()
				return nil
			})},
		}})
		pass(time.Second)
		set.WritePrometheus(&page)
		stop()
		for _, want := range []string{`quintet_collectors_up{collector="gnmi"} 1`, `quintet_collectors_target_up{collector="gnmi",target="leaf1"} 1`, `quintet_collectors_target_up{collector="gnmi",target="leaf2"} 0`} {
			if !strings.Contains(page.String(), want) {
				t.Errorf("metrics lack %s:\n%s", want, page.String())
			}
		}
		for want, times := range map[string]int{`msg="target down" collector=gnmi target=leaf2 err="connection refused"`: 1, "target=leaf1": 0, `msg="a line of the collector's own" collector=gnmi`: 1} {
			if got := strings.Count(text.String(), want); got != times {
				t.Errorf("%q %d times, want %d:\n%s", want, got, times, text.String())
			}
		}
		page.Reset()
		set.WritePrometheus(&page)
		if !strings.Contains(page.String(), `quintet_collectors_target_up{collector="gnmi",target="leaf1"} 0`) {
			t.Errorf("a target of a stopped collector is up:\n%s", page.String())
		}
	})
}

func TestSupervisedSinkEndsWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{}
		var kept collectors.Sink
		stop := supervised(t, collectors.Config{Self: "h1", Emitter: out, Specs: []collectors.Spec{{Name: "a", Collector: run(func(ctx context.Context, s collectors.Sink) error {
			kept = s
			<-ctx.Done()
			return nil
		})}}})
		pass(time.Second)
		stop()
		stated, frames := out.stated, out.frames
		f, err := collectors.NewFeed(twoNICs(), 1)
		if err != nil {
			t.Fatal(err)
		}
		kept.Emit(f.Schema())
		kept.Swept(collectors.Sweep{Read: 5})
		if out.stated != stated || out.frames != frames || frames == 0 {
			t.Error("what came after the end of Run was emitted")
		}
	})
}

func TestSupervisedNamesWhatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan bool)
		done := make(chan error)
		go func() {
			done <- collectors.Supervise(ctx, collectors.Config{Self: "h1", Emitter: &log{}, StopTimeout: 3 * time.Second, Specs: []collectors.Spec{
				{Name: "deaf", Collector: run(func(context.Context, collectors.Sink) error { <-release; return nil })},
				{Name: "fine", Collector: run(func(ctx context.Context, _ collectors.Sink) error { <-ctx.Done(); return nil })},
			}})
		}()
		synctest.Wait()
		cancel()
		err := <-done
		if !errors.Is(err, collectors.ErrStuck) || !strings.Contains(err.Error(), "deaf after 3s") || strings.Contains(err.Error(), "fine") {
			t.Errorf("error %v", err)
		}
		close(release)
	})
}

func TestSuperviseRefuses(t *testing.T) {
	good := run(func(ctx context.Context, _ collectors.Sink) error { <-ctx.Done(); return nil })
	for name, c := range map[string]collectors.Config{
		"no emitter": {},
		"no name":    {Emitter: &log{}, Specs: []collectors.Spec{{Collector: good}}},
		"no code":    {Emitter: &log{}, Specs: []collectors.Spec{{Name: "a"}}},
		"twice":      {Emitter: &log{}, Specs: []collectors.Spec{{Name: "a", Collector: good}, {Name: "a", Collector: good}}},
		"long name":  {Emitter: &log{}, Self: strings.Repeat("x", 300), Specs: []collectors.Spec{{Name: "a", Collector: good}}},
	} {
		if err := collectors.Supervise(t.Context(), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := collectors.Supervise(ctx, collectors.Config{Emitter: &log{}}); err != nil {
		t.Errorf("nothing to run: %v", err)
	}
}

// Collectors that emit and sweep from several goroutines at once, for the race
// detector.
func TestSupervisedSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{}
		var specs []collectors.Spec
		for i := range 4 {
			specs = append(specs, collectors.Spec{Name: fmt.Sprint(i), Collector: run(func(ctx context.Context, s collectors.Sink) error {
				var all sync.WaitGroup
				for range 4 {
					all.Go(func() {
						for range 100 {
							s.Swept(collectors.Sweep{Read: 1, Dropped: map[collectors.Reason]int{collectors.Stale: 1}})
						}
					})
				}
				all.Wait()
				<-ctx.Done()
				return nil
			})})
		}
		stop := supervised(t, collectors.Config{Self: "h1", Emitter: out, Specs: specs})
		pass(time.Minute)
		stop()
		var got []float64
		for i := range 4 {
			got = append(got, out.value(fmt.Sprintf("collector:h1/%d collector_read_total", i)))
		}
		if !slices.Equal(got, []float64{400, 400, 400, 400}) {
			t.Errorf("read %v", got)
		}
	})
}

// The kernel's log and the driver's library see the same XID: one event comes of
// it, the other is counted.
func TestOneXIDIsOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tells := func(after time.Duration, text string) run {
			return func(ctx context.Context, s collectors.Sink) error {
				time.AfterFunc(after, func() {
					now := telemetry.Time(time.Now().UnixNano())
					s.Emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: telemetry.Entity{Kind: telemetry.GPU, Name: "n1/3"},
						At: now, Received: now, Name: telemetry.EventXID, Text: text, Source: telemetry.Source{Collector: "x", Target: "n1"}}})
				})
				<-ctx.Done()
				return nil
			}
		}
		out := &log{}
		stop := supervised(t, collectors.Config{Self: "n1", Emitter: out, Specs: []collectors.Spec{
			{Name: "logs", Collector: tells(time.Second, "79, GPU has fallen off the bus.")},
			{Name: "nvml", Collector: tells(2*time.Second, "79")},
		}})
		pass(15 * time.Second)
		stop()
		if want := []string{"gpu:n1/3 xid 79, GPU has fallen off the bus."}; !slices.Equal(out.events, want) {
			t.Errorf("told: %q, want %q", out.events, want)
		}
		if n := out.value("collector:n1/nvml collector_dropped_duplicate_total"); n != 1 {
			t.Errorf("%v counted as duplicates", n)
		}
	})
}
