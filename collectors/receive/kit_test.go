package receive

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/telemetry"
)

// keeper is a sink that keeps what it is given, and finds what the log would
// refuse.
type keeper struct {
	t *testing.T

	mu      sync.Mutex
	records []*telemetry.Record
	sweeps  []collectors.Sweep
	schemas map[telemetry.Fingerprint]*telemetry.Schema // as drained
}

func (k *keeper) Emit(r *telemetry.Record) {
	collectorstest.Strict{T: k.t}.Emit(r)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.records = append(k.records, r)
}

// Logger implements collectors.Sink.
func (k *keeper) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (k *keeper) Swept(s collectors.Sweep) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sweeps = append(k.sweeps, s)
}

// drain returns what was emitted since it was asked last, as lines.
func (k *keeper) drain() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := k.lines()
	k.records = nil
	return out
}

// noon is the clock of the tests.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// post is a running receiver behind a mux, with what it emits.
type post struct {
	*Receiver
	*keeper
	mux  *http.ServeMux
	part *GRPC // where it listens for gRPC
}

func open(t *testing.T, c Config) *post {
	t.Helper()
	if c.Now == nil {
		c.Now = func() time.Time { return noon }
	}
	p := &post{Receiver: New(c), keeper: &keeper{t: t, schemas: map[telemetry.Fingerprint]*telemetry.Schema{}}, mux: http.NewServeMux()}
	for path, take := range p.Routes() {
		p.mux.HandleFunc("POST "+path, take)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	ready := &readySink{keeper: p.keeper, ready: make(chan struct{})}
	go func() { done <- p.Run(ctx, ready) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	<-ready.ready
	return p
}

// readySink signals when the receiver has begun.
type readySink struct {
	*keeper
	once  sync.Once
	ready chan struct{}
}

func (s *readySink) Swept(w collectors.Sweep) {
	s.keeper.Swept(w)
	s.once.Do(func() { close(s.ready) })
}

// send posts a body and returns status and answer.
func (p *post) send(path, body string) (int, string) {
	w := httptest.NewRecorder()
	p.mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	b, _ := io.ReadAll(w.Result().Body)
	return w.Code, strings.TrimSpace(string(b))
}

// lines writes records in the order in which they were emitted. Times are
// seconds from noon.
func (k *keeper) lines() (out []string) {
	for _, r := range k.records {
		switch r.Kind {
		case telemetry.SchemaRecord:
			k.schemas[r.Schema.Fingerprint()] = r.Schema
			out = append(out, fmt.Sprintf("schema %s", r.Schema.Source))
		case telemetry.EventRecord:
			e := r.Event
			out = append(out, strings.TrimSpace(fmt.Sprintf("event %s %s %s %s", seconds(e.At), e.Entity, e.Name, e.Text)))
		case telemetry.EdgeRecord:
			out = append(out, edgeLine(r.Edge))
		case telemetry.FrameRecord:
			out = append(out, k.frameLine(r.Frame))
		}
	}
	return out
}

func edgeLine(e *telemetry.Edge) string {
	line := fmt.Sprintf("edge %s %s %s by %s", e.From, e.Relation, e.To, e.Source)
	if e.Start != 0 {
		line += " from " + seconds(e.Start)
	}
	if e.End != 0 {
		line += " to " + seconds(e.End)
	}
	for _, a := range e.Attrs {
		line += " " + a.Key + "=" + a.Value
	}
	return line
}

func (k *keeper) frameLine(b telemetry.EncodedFrame) string {
	h, err := b.Header()
	s := k.schemas[h.Fingerprint]
	if err != nil || s == nil {
		return fmt.Sprintf("frame of no schema: %v", err)
	}
	var d telemetry.Decoder
	var f telemetry.Frame
	if err := d.Decode(b, s, &f); err != nil {
		return err.Error()
	}
	line := fmt.Sprintf("frame %d at %s", h.Sequence, seconds(h.First))
	if f.Instants[0].Received != 0 {
		line += " received " + seconds(f.Instants[0].Received)
	}
	for i, w := range f.Words {
		if f.States == nil || f.States[i] == telemetry.Present {
			line += fmt.Sprintf(" %s=%g", s.Series(i), s.Columns[i/len(s.Entities)].Float(w))
		}
	}
	return line
}

func seconds(t telemetry.Time) string {
	return fmt.Sprintf("%+gs", t.Sub(telemetry.Time(noon.UnixNano())).Seconds())
}
