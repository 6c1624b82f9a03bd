package collectorstest

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// supervised is a subject under the supervisor: the tape receives what the subject
// emits itself, values what the supervisor reports about it.
type supervised struct {
	tape    *tape
	stop    func()
	metrics *metrics.Set
	log     *lines

	mu      sync.Mutex
	schema  *telemetry.Schema
	values  map[telemetry.MetricName]float64
	decoder telemetry.Decoder
	frame   telemetry.Frame
}

// sweepRecorder runs the collector and passes its sweeps to the tape.
type sweepRecorder struct {
	collectors.Collector
	tape *tape
}

func (w sweepRecorder) Run(ctx context.Context, sink collectors.Sink) error {
	return w.Collector.Run(ctx, both{sink, w.tape})
}

// both is a Sink that another one listens to.
type both struct {
	collectors.Sink
	tape *tape
}

func (b both) Swept(s collectors.Sweep) {
	b.Sink.Swept(s)
	b.tape.Swept(s)
}

// Emit keeps the supervisor's own records and passes the rest to the tape.
func (s *supervised) Emit(r *telemetry.Record) {
	s.mu.Lock()
	own := r.Kind == telemetry.SchemaRecord && r.Schema.Columns[0].Metric == "collector_up"
	if own {
		s.schema = r.Schema
	}
	own = own || r.Kind == telemetry.FrameRecord && s.decoder.Decode(r.Frame, s.schema, &s.frame) == nil
	if own && r.Kind == telemetry.FrameRecord {
		for i, w := range s.frame.Words {
			c := s.schema.Columns[i]
			s.values[c.Metric] = c.Float(w)
		}
	}
	s.mu.Unlock()
	if own {
		s.tape.notify()
		return
	}
	s.tape.Emit(r)
}

// value returns the latest reported value, -1 if there is none.
func (s *supervised) value(m telemetry.MetricName) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.values[m]; ok {
		return v
	}
	return -1
}

// supervise runs the subject under the supervisor.
func (b *bench) supervise() *supervised {
	b.t.Helper()
	s := &supervised{tape: newTape(), metrics: metrics.NewSet(), log: &lines{}, values: map[telemetry.MetricName]float64{}}
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() {
		done <- collectors.Supervise(ctx, collectors.Config{
			Self: "test", Emitter: s, Every: 200 * time.Millisecond, Metrics: s.metrics, Logger: slog.New(slog.NewTextHandler(s.log, nil)),
			Specs: []collectors.Spec{{Name: "subject", Target: "test", Collector: sweepRecorder{b.Collector, s.tape}}},
		})
	}()
	s.stop = func() {
		b.t.Helper()
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	}
	b.t.Cleanup(cancel)
	return s
}

// targets returns how many targets the process's metrics show as up and as down.
func (s *supervised) targets() (up, down int) {
	var page bytes.Buffer
	s.metrics.WritePrometheus(&page)
	for line := range strings.Lines(page.String()) {
		switch {
		case !strings.HasPrefix(line, "quintet_collectors_target_up{"):
		case strings.HasSuffix(line, " 1\n"):
			up++
		default:
			down++
		}
	}
	return up, down
}

// lines keeps a log's text. It may be used by several goroutines at once.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// count returns how many lines contain s.
func (l *lines) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), s)
}

func (tp *tape) sweepsNow() int {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return tp.sweeps
}

func (tp *tape) freshNow() int {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return tp.fresh
}
