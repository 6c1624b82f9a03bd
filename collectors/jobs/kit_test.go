package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// heard is one reading.
type heard struct {
	at    telemetry.Time
	value float64
}

// ear is a sink that decodes what it is given.
type ear struct {
	mu      sync.Mutex
	t       testing.TB
	schemas map[telemetry.Fingerprint]*telemetry.Schema
	series  map[telemetry.Series][]heard
	edges   []telemetry.Edge
	events  []telemetry.Event
	dropped map[collectors.Reason]int
	sweeps  int
	read    int
	err     error
	changed chan struct{}
}

func listen(t testing.TB) *ear {
	return &ear{t: t, schemas: map[telemetry.Fingerprint]*telemetry.Schema{}, series: map[telemetry.Series][]heard{},
		dropped: map[collectors.Reason]int{}, changed: make(chan struct{}, 1)}
}

func (e *ear) Emit(r *telemetry.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := telemetry.AppendRecord(nil, r); err != nil {
		e.t.Errorf("a record that the log refuses: %v", err)
	}
	switch r.Kind {
	case telemetry.SchemaRecord:
		e.schemas[r.Schema.Fingerprint()] = r.Schema
	case telemetry.EdgeRecord:
		e.edges = append(e.edges, *r.Edge)
	case telemetry.EventRecord:
		e.events = append(e.events, *r.Event)
	case telemetry.FrameRecord:
		e.frame(r.Frame)
	}
}

func (e *ear) frame(b telemetry.EncodedFrame) {
	h, err := b.Header()
	if err != nil {
		e.t.Error(err)
		return
	}
	s := e.schemas[h.Fingerprint]
	if s == nil {
		e.t.Error("a frame before its schema")
		return
	}
	var f telemetry.Frame
	var d telemetry.Decoder
	if err := d.Decode(b, s, &f); err != nil {
		e.t.Error(err)
		return
	}
	for i, w := range f.Words {
		if f.States == nil || f.States[i] == telemetry.Present {
			x := s.Series(i)
			e.series[x] = append(e.series[x], heard{f.Time(0), s.Columns[i/len(s.Entities)].Float(w)})
		}
	}
}

func (e *ear) Swept(s collectors.Sweep) {
	e.mu.Lock()
	e.sweeps++
	e.err = s.Err
	e.read += s.Read
	for why, n := range s.Dropped {
		e.dropped[why] += n
	}
	e.mu.Unlock()
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// until waits for something to become true, looking after every sweep.
func (e *ear) until(what string, ok func() bool) {
	e.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		e.mu.Lock()
		done := ok()
		e.mu.Unlock()
		if done {
			return
		}
		select {
		case <-e.changed:
		case <-limit:
			e.t.Fatalf("no %s after 30 s; dropped %v, %v", what, e.dropped, e.err)
		}
	}
}

// runs are the edges that hold, as "job > place [rank]", ordered.
func (e *ear) runs() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	holds := map[string]bool{}
	for i := range e.edges {
		x := &e.edges[i]
		holds[strings.TrimSpace(fmt.Sprintf("%s > %s %s", x.From, x.To, x.Attr("rank")))] = x.End == 0
	}
	return slices.Sorted(func(yield func(string) bool) {
		for k, v := range holds {
			if v && !yield(k) {
				return
			}
		}
	})
}

// golden writes events, edges and readings, a line each.
func (e *ear) golden() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for i := range e.events {
		x := &e.events[i]
		fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", x.At, x.Entity, x.Name, x.Text)))
	}
	for i := range e.edges {
		x := &e.edges[i]
		end := "on"
		if x.End != 0 {
			end = x.End.String()
		}
		fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("%s %s %s %s to %s %s", x.From, x.Relation, x.To, x.Start, end, x.Attr("rank"))))
	}
	for _, x := range slices.SortedFunc(maps.Keys(e.series), telemetry.Series.Compare) {
		for _, h := range e.series[x] {
			fmt.Fprintf(&b, "%s %s %.10g\n", h.at, x, h.value)
		}
	}
	return b.String()
}

// node decodes YAML as the configuration hands it over.
func node(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	if n.Kind == yaml.DocumentNode {
		return n.Content[0]
	}
	return &n
}

// start runs a collector until the test is over.
func start(t *testing.T, c collectors.Collector) *ear {
	t.Helper()
	e := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, e) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return e
}
