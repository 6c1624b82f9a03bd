package logs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// tape is a sink that keeps what it is given.
type tape struct {
	mu      sync.Mutex
	events  []telemetry.Event
	dropped map[collectors.Reason]int
	sweeps  int
	failed  int
	schemas map[telemetry.Fingerprint]*telemetry.Schema
	values  map[string]float64
}

func newTape() *tape {
	return &tape{dropped: map[collectors.Reason]int{}, schemas: map[telemetry.Fingerprint]*telemetry.Schema{}, values: map[string]float64{}}
}

func (s *tape) Emit(r *telemetry.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Kind {
	case telemetry.EventRecord:
		s.events = append(s.events, *r.Event)
	case telemetry.SchemaRecord:
		s.schemas[r.Schema.Fingerprint()] = r.Schema
	case telemetry.FrameRecord:
		h, err := r.Frame.Header()
		if err != nil {
			panic(err)
		}
		sc := s.schemas[h.Fingerprint]
		var d telemetry.Decoder
		var f telemetry.Frame
		if err := d.Decode(r.Frame, sc, &f); err != nil {
			panic(err)
		}
		for i, w := range f.Words {
			if f.States == nil || f.States[i] == telemetry.Present {
				s.values[sc.Series(i).String()] = sc.Columns[i/len(sc.Entities)].Float(w)
			}
		}
	}
}

func (s *tape) Swept(w collectors.Sweep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweeps++
	if w.Err != nil {
		s.failed++
	}
	for r, n := range w.Dropped {
		s.dropped[r] += n
	}
}

// told lists the events, a line each.
func (s *tape) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, e := range s.events {
		out = append(out, fmt.Sprintf("%s %s %s", e.Entity, e.Name, e.Text))
	}
	return out
}

func (s *tape) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

// stands is a collector whose clock stands still, so that time is the test's.
func stands(t *testing.T, c Config, now time.Time) *Collector {
	t.Helper()
	if c.Node == "" {
		c.Node = "h1"
	}
	c.Zone = time.UTC
	r, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	r.clock = func() time.Time { return now }
	return r
}

// once reads everything that is there, as at the first start, or goes on where
// the collector's last reading ended.
func once(t *testing.T, c *Collector) *tape {
	t.Helper()
	out := newTape()
	r := c.newReader(t.Context(), out)
	r.pollAll()
	r.pollAll()
	r.next = c.clock()
	r.stateDue()
	r.finish()
	r.close()
	return out
}

// running starts a collector that polls fast, and stops it at the test's end.
func running(t *testing.T, c *Collector) *tape {
	t.Helper()
	c.poll, c.cfg.Every = 5*time.Millisecond, 20*time.Millisecond
	out := newTape()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, out) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	await(t, "a sweep", func() bool { out.mu.Lock(); defer out.mu.Unlock(); return out.sweeps > 0 })
	return out
}

func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !cond(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited for %s", what)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func temp(t *testing.T, name string) string { return filepath.Join(t.TempDir(), name) }
