package receive

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// nowhere is a sink that keeps nothing.
type nowhere struct{}

func (nowhere) Emit(*telemetry.Record) {}

// Logger implements collectors.Sink.
func (nowhere) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (nowhere) Swept(collectors.Sweep) {}

// BenchmarkSteps is one report of one step by rank 0, from body to records.
func BenchmarkSteps(b *testing.B) {
	r := New(Config{Now: func() time.Time { return noon.Add(time.Hour) }})
	r.sink = nowhere{}
	i := 0
	for b.Loop() {
		body := fmt.Appendf(nil, `{"rank":0,"steps":[{"step":%d,"end":"2026-11-21T12:%02d:%02d.%06dZ","seconds":3.31,"tokens":4194304,"compute_seconds":1.9,"wait_seconds":0.2}]}`, i, i/60_000_000%60, i/1_000_000%60, i%1_000_000)
		req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		req.SetPathValue("job", "train")
		w := httptest.NewRecorder()
		if r.Steps(w, req); w.Code != http.StatusAccepted {
			b.Fatal(w.Body)
		}
		i++
	}
}
