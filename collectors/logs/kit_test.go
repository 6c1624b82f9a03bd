package logs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// tape keeps the output of a collector.
type tape struct{ *collectorstest.Ear }

func newTape(t testing.TB) tape { return tape{collectorstest.Listen(t)} }

// value is the latest of a series, written "entity metric"; false where there is
// none.
func (s tape) value(series string) (float64, bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for x := range s.Series {
		if r, ok := s.Last(x); ok && x.String() == series && r.State == telemetry.Present {
			return r.Float(), true
		}
	}
	return 0, false
}

// holds reports whether something is so now.
func (s tape) holds(cond func() bool) bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return cond()
}

// told lists the events, a line each.
func (s tape) told() []string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	var out []string
	for _, e := range s.Events {
		out = append(out, fmt.Sprintf("%s %s %s", e.Entity, e.Name, e.Text))
	}
	return out
}

func (s tape) count() int {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return len(s.Events)
}

// stands is a collector whose clock does not advance, so that the test controls
// time.
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
func once(t *testing.T, c *Collector) tape {
	t.Helper()
	out := newTape(t)
	out.Own = len(c.cfg.Patterns) > 0
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
func running(t *testing.T, c *Collector) tape {
	t.Helper()
	c.poll, c.cfg.Every = 5*time.Millisecond, 20*time.Millisecond
	out := newTape(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, out) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	await(t, "a sweep", func() bool { return out.holds(func() bool { return len(out.Sweeps) > 0 }) })
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
