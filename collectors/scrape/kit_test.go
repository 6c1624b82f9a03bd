package scrape

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// heard is one reading.
type heard struct {
	at    telemetry.Time
	state telemetry.State
	word  uint64
	col   telemetry.Column
	from  telemetry.Source
}

// ear is a sink that decodes what it is given.
type ear struct {
	mu      sync.Mutex
	t       testing.TB
	schemas map[telemetry.Fingerprint]*telemetry.Schema
	series  map[telemetry.Series][]heard
	edges   []telemetry.Edge
	dropped map[collectors.Reason]int
	sweeps  int
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
	switch r.Kind {
	case telemetry.SchemaRecord:
		e.schemas[r.Schema.Fingerprint()] = r.Schema
	case telemetry.EdgeRecord:
		e.edges = append(e.edges, *r.Edge)
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
		state := telemetry.Present
		if f.States != nil {
			state = f.States[i]
		}
		if state != telemetry.Absent {
			x := s.Series(i)
			e.series[x] = append(e.series[x], heard{f.Time(0), state, w, s.Columns[i/len(s.Entities)], s.Source})
		}
	}
}

func (e *ear) Swept(s collectors.Sweep) {
	e.mu.Lock()
	e.sweeps++
	e.err = s.Err
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

// golden writes what was heard of, a line for each series: entity, metric,
// latest value.
func (e *ear) golden() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, x := range slices.SortedFunc(maps.Keys(e.series), telemetry.Series.Compare) {
		h := e.series[x][len(e.series[x])-1]
		v := fmt.Sprint(h.col.Float(h.word))
		if h.col.Type == telemetry.Uint {
			v = fmt.Sprint(h.word)
		}
		if h.state == telemetry.Gap {
			v = "gap"
		}
		fmt.Fprintf(&b, "%s %s\n", x, v)
	}
	for _, why := range slices.Sorted(maps.Keys(e.dropped)) {
		fmt.Fprintf(&b, "dropped %s %d\n", why, e.dropped[why])
	}
	return b.String()
}

// reads runs a collector of a configuration into an ear until the test ends.
func reads(t testing.TB, c Config) *ear {
	t.Helper()
	col, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	e := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- col.Run(ctx, e) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error("Run:", err)
		}
	})
	return e
}

// pages serves one text after another, and the last again.
type pages struct {
	mu    sync.Mutex
	texts []string
	form  string
	asked int
}

func (p *pages) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	text := p.texts[min(p.asked, len(p.texts)-1)]
	p.asked++
	p.mu.Unlock()
	if p.form != "" {
		w.Header().Set("Content-Type", p.form)
	}
	_, _ = w.Write([]byte(text))
}

// serve puts pages on loopback and returns a target of them.
func serve(t testing.TB, labels map[string]string, texts ...string) (*pages, Target) {
	p := &pages{texts: texts}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return p, Target{URL: s.URL + "/metrics", Name: "page", Labels: labels}
}

// once reads texts, a page after another, and returns what was heard.
func once(t testing.TB, c Config, labels map[string]string, texts ...string) *ear {
	t.Helper()
	return onceAs(t, c, labels, "", texts...)
}

func onceAs(t testing.TB, c Config, labels map[string]string, form string, texts ...string) *ear {
	t.Helper()
	p, target := serve(t, labels, texts...)
	p.form = form
	c.Targets, c.Every = []Target{target}, time.Second
	e := listen(t)
	col, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	f, r := col.reader(col.targets[0], http.DefaultClient)
	for range texts {
		sweep, err := col.once(t.Context(), f, r, e)
		sweep.Err = err
		e.Swept(sweep)
	}
	return e
}

// node decodes YAML as the configuration hands it over.
func node(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return &n
}

// tryNode is node for text that may be no YAML.
func tryNode(text string) *yaml.Node {
	var n yaml.Node
	if yaml.Unmarshal([]byte(text), &n) != nil || len(n.Content) == 0 {
		return nil
	}
	return &n
}
