package pin_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/pin"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// site is a real log on a real server, with a recorded run in it, and a pinner.
type site struct {
	t   *testing.T
	ctx context.Context
	bus *bus.Bus
	dir string
	in  explain.Incident // the newest revision that the run brought about
	end telemetry.Time   // of the last tick
}

func start(t *testing.T, run string) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	s, err := broker.Start(ctx, broker.Config{Dir: t.TempDir(), Site: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := s.Connection(broker.All)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(ctx, bus.Config{Site: "lab", Name: t.Name(), InProcess: c.InProcess, Credentials: c.Credentials})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Create(ctx); err != nil {
		t.Fatal(err)
	}
	x := &site{t: t, ctx: ctx, bus: b, dir: filepath.Join(t.TempDir(), "incidents")}
	x.play(run)
	x.pin()
	return x
}

// play puts a recorded run into the log and publishes the engine's revisions of it.
func (x *site) play(run string) {
	x.t.Helper()
	rec, err := enginetest.Open(filepath.Join("..", "..", "testdata", "roce", run))
	if err != nil {
		x.t.Fatal(err)
	}
	runner, err := enginetest.NewRunner(1)
	if err != nil {
		x.t.Fatal(err)
	}
	for i := range rec.Log {
		r := &rec.Log[i]
		x.send(r)
		if r.Kind == telemetry.TickRecord {
			x.end = r.Tick.At
		}
		changed, err := runner.Apply(uint64(i+1), r)
		if err != nil {
			x.t.Fatal(err)
		}
		for k := range changed {
			x.in = changed[k]
			x.publish()
		}
	}
}

func (x *site) publish() {
	x.t.Helper()
	b, err := engine.Canonical(&x.in)
	if err != nil {
		x.t.Fatal(err)
	}
	if _, _, err := x.bus.PublishIncident(x.ctx, x.in.ID, x.in.Revision, b); err != nil {
		x.t.Fatal(err)
	}
}

func (x *site) send(r *telemetry.Record) {
	x.t.Helper()
	b, err := telemetry.AppendRecord(nil, r)
	if err != nil {
		x.t.Fatal(err)
	}
	m, err := x.bus.Message("player", b)
	if err != nil {
		x.t.Fatal(err)
	}
	if _, err := x.bus.Send(x.ctx, []bus.Message{m}); err != nil {
		x.t.Fatal(err)
	}
}

// pin runs a pinner until the test ends.
func (x *site) pin() {
	ctx, stop := context.WithCancel(x.ctx)
	done := make(chan error, 1)
	go func() {
		done <- pin.Run(ctx, pin.Config{Bus: x.bus, Dir: x.dir, Site: "lab", Metrics: metrics.NewSet(), Logger: slog.New(slog.DiscardHandler)})
	}()
	x.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			x.t.Error(err)
		}
	})
}

// resolve ends the incident, and lets so much time pass.
func (x *site) resolve(after telemetry.Duration) {
	at, how := x.end, "recovered"
	x.in.State, x.in.Resolved, x.in.Resolution = explain.StateResolved, &at, &how
	x.in.Revision++
	x.publish()
	x.send(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: x.end.Add(after)}})
}

// say puts an opinion into the bucket of notes, as the server does.
func (x *site) say(text string) {
	x.t.Helper()
	kv, err := x.bus.KeyValue(x.ctx, bus.Notes)
	if err != nil {
		x.t.Fatal(err)
	}
	if _, err := kv.Put(x.ctx, x.in.ID, []byte(text)); err != nil {
		x.t.Fatal(err)
	}
}

// await waits until a file of the folder is as wanted, or the test's time is up.
func (x *site) await(name, why string, ok func([]byte, error) bool) {
	x.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok(os.ReadFile(filepath.Join(x.dir, name))) {
		select {
		case <-x.ctx.Done():
			x.t.Fatalf("%s: %s", name, why)
		case <-tick.C:
		}
	}
}

func there(_ []byte, err error) bool { return err == nil }

// TestAnIncidentIsPinned: some minutes after its end there is a trace of its own,
// in which the engine finds the same root; feedback on the answer makes it a
// labelled case that can be scored.
func TestAnIncidentIsPinned(t *testing.T) {
	x := start(t, "slownic-2")
	x.resolve(6 * 60e9)
	x.await(x.in.ID+".qtrace", "no trace", there)

	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	judged := replay.Judged{Engine: engine.Config{Slices: 1}}
	judged.Engine.Correlate.Signatures, judged.Engine.Correlate.Rules = set.Signatures, set.Digest
	x.say(`{"acknowledged":null,"verdict":{"verdict":"right","by":"ann","at":"2026-01-01T00:00:00Z","text":""}}`)
	x.await(x.in.ID+".truth.json", "no label", there)
	c, err := judged.Case(x.ctx, pin.File(x.dir, x.in.ID))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Incidents) != 1 || c.Incidents[0].Root.Entity != x.in.Root.Entity || c.Truth.Faults[0].Entity != x.in.Root.Entity {
		t.Errorf("replayed: %+v; labelled %+v; live root %v", c.Incidents, c.Truth.Faults, x.in.Root)
	}

	x.say(`{"verdict":{"verdict":"wrong","by":"ann","text":"","entity":"nic:h13/nic0","signature":"pcie-downgrade"}}`)
	x.await(x.in.ID+".truth.json", "not corrected", func(b []byte, err error) bool {
		truth, perr := score.ParseTruth(b)
		return err == nil && perr == nil && len(truth.Faults) == 1 && truth.Faults[0].Signature == "pcie-downgrade"
	})
	x.say(`{"verdict":{"verdict":"wrong","by":"ann","text":"","signature":"none"}}`)
	x.await(x.in.ID+".truth.json", "not a false alarm", func(b []byte, err error) bool {
		var truth struct{ Faults []json.RawMessage }
		return err == nil && json.Unmarshal(b, &truth) == nil && truth.Faults != nil && len(truth.Faults) == 0
	})
	x.say(`{"verdict":{"verdict":"wrong","by":"ann","text":"no idea"}}`)
	x.await(x.in.ID+".truth.json", "a label remains", func(_ []byte, err error) bool { return os.IsNotExist(err) })
}

// TestALongIncidentIsPinnedWhileItLasts: twenty minutes after its onset the
// beginning is safe, whatever goes on.
func TestALongIncidentIsPinnedWhileItLasts(t *testing.T) {
	x := start(t, "slownic-2")
	x.send(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: x.in.Onset.Latest.Add(21 * 60e9)}})
	x.await(x.in.ID+".qtrace", "no trace", there)
	if left, _ := filepath.Glob(filepath.Join(x.dir, "*.part")); !slices.Equal(left, nil) {
		t.Errorf("left over: %s", strings.Join(left, ", "))
	}
}
