package collectorstest

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// Reading is one sample of a series: a value, or a gap.
type Reading = telemetry.Sample

// Ear is a Sink that decodes and keeps the output of a collector, for tests of that
// output. Records that the log would refuse or that cannot be decoded fail the
// test, and so does an undeclared metric, unless the test states ones of its own.
// Its fields are guarded by Mu.
type Ear struct {
	Mu      sync.Mutex
	Own     bool // metrics of the test's own are stated
	Series  map[telemetry.Series][]Reading
	Schemas []*telemetry.Schema // as they were stated
	Edges   []telemetry.Edge
	Events  []telemetry.Event
	Dropped map[collectors.Reason]int
	Sweeps  []collectors.Sweep

	t       testing.TB
	samples telemetry.SampleReader
	changed chan struct{}
}

// Listen returns an ear that has received nothing.
func Listen(t testing.TB) *Ear {
	return &Ear{t: t, Series: map[telemetry.Series][]Reading{},
		Dropped: map[collectors.Reason]int{}, changed: make(chan struct{}, 1)}
}

// Emit implements collectors.Sink.
func (e *Ear) Emit(r *telemetry.Record) {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	if err := Sound(r); err != nil && !(e.Own && errors.Is(err, errUndeclared)) {
		e.t.Error(err)
	}
	switch r.Kind {
	case telemetry.SchemaRecord:
		e.samples.Learn(r.Schema)
		e.Schemas = append(e.Schemas, r.Schema)
	case telemetry.EdgeRecord:
		e.Edges = append(e.Edges, *r.Edge)
	case telemetry.EventRecord:
		e.Events = append(e.Events, *r.Event)
	case telemetry.FrameRecord:
		e.frame(r.Frame)
	}
}

func (e *Ear) frame(b telemetry.EncodedFrame) {
	samples, err := e.samples.Read(b)
	if err != nil {
		e.t.Error(err)
		return
	}
	for x := range samples {
		e.Series[x.Series] = append(e.Series[x.Series], x)
	}
}

// Logger implements collectors.Sink.
func (e *Ear) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Swept implements collectors.Sink.
func (e *Ear) Swept(s collectors.Sweep) {
	e.Mu.Lock()
	own := s
	own.Dropped = maps.Clone(s.Dropped) // the map stays the collector's
	e.Sweeps = append(e.Sweeps, own)
	for why, n := range s.Dropped {
		e.Dropped[why] += n
	}
	e.Mu.Unlock()
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// Err is that of the last sweep. Mu is held.
func (e *Ear) Err() error {
	if len(e.Sweeps) == 0 {
		return nil
	}
	return e.Sweeps[len(e.Sweeps)-1].Err
}

// Last returns the latest sample of a series; false if there is none. Mu is held.
func (e *Ear) Last(x telemetry.Series) (Reading, bool) {
	all := e.Series[x]
	if len(all) == 0 {
		return Reading{}, false
	}
	return all[len(all)-1], true
}

// Until waits for something to become true, looking after every sweep with Mu
// held.
func (e *Ear) Until(what string, ok func() bool) {
	e.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		e.Mu.Lock()
		done := ok()
		e.Mu.Unlock()
		if done {
			return
		}
		select {
		case <-e.changed:
		case <-limit:
			e.t.Fatalf("no %s after 30 s; dropped %v, %v", what, e.Dropped, e.Err())
		}
	}
}

// Start has something run until the test is over, and fails the test where it
// then returns an error: a collector, or the devices that it reads.
func Start(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Record runs a collector until the end of the test, and records its output.
func Record(t testing.TB, c collectors.Collector) *Ear {
	t.Helper()
	e := Listen(t)
	Start(t, func(ctx context.Context) error { return c.Run(ctx, e) })
	return e
}

// Node is YAML as the configuration hands an entry to the collector of its
// kind.
func Node(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return &n
}

// Entry is Node of an entry that a fleet of the lab gives.
func Entry(t testing.TB, e map[string]any) *yaml.Node {
	t.Helper()
	text, err := yaml.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return Node(t, string(text))
}
