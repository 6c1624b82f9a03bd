package replica

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/pipeline/broker"
)

// TestRunSurvivesAPanicOfTheEngine: a defect of the engine's code ends a run of the
// engine and not the process: it is counted, an alarm reports it, and the engine
// answers again.
func TestRunSurvivesAPanicOfTheEngine(t *testing.T) {
	w := newWorld(t)
	said := &journal{}
	cfg := Config{Bus: w.join(broker.Engine), Engine: w.rec.config, Name: "e1", Beat: time.Second, Metrics: metrics.NewSet(), Logger: slog.New(slog.NewTextHandler(said, nil))}
	r := newReplica(cfg.withDefaults())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	answers := func() bool {
		b, err := w.bus.Ask(within(t, 10*time.Second), AskStatus, nil)
		if err != nil {
			return false
		}
		var s Status
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		return r.count.panics.Get() == 0 || len(s.Alarms) == 1 && s.Alarms[0].Name == EnginePanicked
	}
	w.until("it answers", answers)
	r.requests <- func(*owner) { panic("a defect") }
	w.until("the panic is counted", func() bool { return r.count.panics.Get() == 1 })
	w.until("it answers again, with the alarm", answers)
	if n := r.count.starts.Get(); n != 2 {
		t.Errorf("%d starts", n)
	}
	if !strings.Contains(said.String(), "a defect") {
		t.Errorf("the reason is not in the log: %s", said)
	}
}
