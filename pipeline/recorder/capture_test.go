package recorder

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// live is a site on a real server: its log, and the engine that followed it.
type live struct {
	t         *testing.T
	bus       *bus.Bus
	runner    *engine.Runner
	published []revision
	ticks     []telemetry.Time
}

// revision is what the engine published at a position.
type revision struct {
	position uint64
	bytes    string
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func startSite(t *testing.T) *live {
	t.Helper()
	s, err := broker.Start(within(t), broker.Config{Dir: t.TempDir(), Site: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := s.Connection(broker.All)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(within(t), bus.Config{Site: "lab", Name: t.Name(), InProcess: c.InProcess, Credentials: c.Credentials})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Create(within(t)); err != nil {
		t.Fatal(err)
	}
	l := &live{t: t, bus: b}
	if l.runner, err = enginetest.NewRunner(1); err != nil {
		t.Fatal(err)
	}
	return l
}

// feed puts records into the log, one collecting process for all, and lets the
// engine follow to its end. A snapshot is put away after every minute.
func (l *live) feed(records []telemetry.Record) {
	l.t.Helper()
	var ms []bus.Message
	var encoded []byte
	for i := range records {
		start := len(encoded)
		var err error
		if encoded, err = telemetry.AppendRecord(encoded, &records[i]); err != nil {
			l.t.Fatal(err)
		}
		m, err := l.bus.Message("player", slices.Clone(encoded[start:]))
		if err != nil {
			l.t.Fatal(err)
		}
		ms = append(ms, m)
	}
	for len(ms) > 0 {
		n, err := l.bus.Send(within(l.t), ms)
		if err != nil {
			l.t.Fatal(err)
		}
		ms = ms[n:]
	}
	l.follow()
}

func (l *live) follow() {
	l.t.Helper()
	after, _ := l.runner.Position()
	_, last, err := l.bus.Bounds(within(l.t))
	if err != nil {
		l.t.Fatal(err)
	}
	end := errors.New("end")
	err = l.bus.Follow(within(l.t), after, func(e bus.Entry) error {
		changed, err := l.runner.Apply(e.Position, e.Record)
		if err != nil {
			return err
		}
		for i := range changed {
			b, err := engine.Canonical(&changed[i])
			if err != nil {
				return err
			}
			l.published = append(l.published, revision{e.Position, string(b)})
		}
		if e.Record.Kind == telemetry.TickRecord {
			l.ticks = append(l.ticks, e.Record.Tick.At)
		}
		if l.runner.SnapshotDue() {
			l.snapshot(e.Position, e.Record.Tick.At)
		}
		if e.Position == last {
			return end
		}
		return nil
	})
	if !errors.Is(err, end) {
		l.t.Fatal(err)
	}
}

func (l *live) snapshot(position uint64, tick telemetry.Time) {
	b, err := l.runner.Snapshot()
	if err != nil {
		l.t.Fatal(err)
	}
	info := bus.SnapshotInfo{Position: position, Tick: tick, Engine: correlate.Version, Rules: "digest"}
	if err := l.bus.PutSnapshot(within(l.t), info, b); err != nil {
		l.t.Fatal(err)
	}
}

// capture writes a trace and returns where it is.
func (l *live) capture(c CaptureConfig) (string, *Captured) {
	l.t.Helper()
	path := filepath.Join(l.t.TempDir(), "captured.qtrace")
	f, err := os.Create(path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	if c.Writer, c.Site, c.Program = f, "lab", "test"; c.Tape == nil {
		c.Tape = l.bus
	}
	out, err := Capture(within(l.t), c)
	if err != nil {
		l.t.Fatal(err)
	}
	return path, out
}

// replayed is the engine's output for a trace, and how it began.
func replayed(t *testing.T, path string) (published []string, rec *replay.Recording) {
	t.Helper()
	rec, err := replay.Open(path, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	c := replay.RunConfig{Engine: engine.Config{Correlate: correlate.Config{Signatures: set.Signatures, Rules: set.Digest}}}
	c.Publish = func(in explain.Incident) {
		b, err := engine.Canonical(&in)
		if err != nil {
			t.Fatal(err)
		}
		published = append(published, string(b))
	}
	got, err := replay.Run(t.Context(), rec, c)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Warnings) > 0 || got.Cut != nil {
		t.Errorf("replay of the capture: %v %v", got.Warnings, got.Cut)
	}
	return published, rec
}

// from returns what was published behind a position.
func (l *live) from(position uint64) (out []string) {
	for _, r := range l.published {
		if r.position > position {
			out = append(out, r.bytes)
		}
	}
	return out
}

func slowNIC(t *testing.T) []telemetry.Record {
	t.Helper()
	rec, err := enginetest.Open(filepath.Join("..", "..", "testdata", "roce", "slownic-2"))
	if err != nil {
		t.Fatal(err)
	}
	return rec.Log
}

// TestACaptureReplaysToTheLiveIncidents: byte for byte, cold from the beginning
// and from a snapshot in the middle, with the positions of the log.
func TestACaptureReplaysToTheLiveIncidents(t *testing.T) {
	l := startSite(t)
	l.feed(slowNIC(t))
	if len(l.published) < 3 {
		t.Fatalf("%d revisions prove little", len(l.published))
	}
	in := l.runner.Incidents()[0]
	last, _ := l.runner.Position()

	path, out := l.capture(CaptureConfig{Last: 24 * time.Hour})
	if got, _ := replayed(t, path); !slices.Equal(got, l.from(0)) || !out.Cold || out.First != 1 || out.Last != last {
		t.Errorf("all of it: %+v, %d revisions, want %d", out, len(got), len(l.published))
	}

	// The incident's own: 15 min before is more than there is, so it is cold.
	path, out = l.capture(CaptureConfig{Incident: &in, Shelf: l.bus})
	if got, _ := replayed(t, path); !slices.Equal(got, l.from(0)) || !out.Cold {
		t.Errorf("the incident: %+v", out)
	}

	path, out = l.capture(CaptureConfig{From: in.Onset.Earliest, Shelf: l.bus})
	got, rec := replayed(t, path)
	h := rec.Trace.Header()
	if out.Cold || h.Cold || h.SnapshotAt+1 != out.First || h.Engine != correlate.Version {
		t.Errorf("from the middle: %+v, header %+v", out, h)
	}
	if want := l.from(h.SnapshotAt); !slices.Equal(got, want) || len(want) < 3 {
		t.Errorf("from the middle: %d revisions, want %d", len(got), len(want))
	}

	// A part of it: up to the first tick at To.
	path, out = l.capture(CaptureConfig{From: in.Onset.Earliest, To: in.Opened.Add(10e9), Shelf: l.bus})
	if got, _ := replayed(t, path); out.To != in.Opened.Add(10e9) || len(got) == 0 || !slices.Equal(got, l.from(h.SnapshotAt)[:len(got)]) {
		t.Errorf("a part: %+v, %d revisions", out, len(got))
	}
	// Snapshots of another engine are of no use.
	if _, out = l.capture(CaptureConfig{From: in.Onset.Earliest, Shelf: l.bus, Engine: "9"}); !out.Cold {
		t.Errorf("another engine's snapshot was taken: %+v", out)
	}
}

// lossy is a log that lost some of its entries.
type lossy struct {
	Tape
	first, last uint64
}

func (l lossy) Follow(ctx context.Context, after uint64, fn func(bus.Entry) error) error {
	return l.Tape.Follow(ctx, after, func(e bus.Entry) error {
		if e.Position >= l.first && e.Position <= l.last {
			return nil
		}
		return fn(e)
	})
}

// TestCaptureStatesHoles: entries that the log lost are a blind spot of the incident in
// the recording, too.
func TestCaptureStatesHoles(t *testing.T) {
	l := startSite(t)
	l.feed(slowNIC(t))
	at := l.published[1].position
	path, out := l.capture(CaptureConfig{Last: 24 * time.Hour, Tape: lossy{l.bus, at + 1, at + 3}})
	got, _ := replayed(t, path)
	if out.Lost != 3 || !strings.Contains(strings.Join(got, "\n"), "3 entries of the log are missing between ") {
		t.Errorf("%+v: %d revisions, none names the hole", out, len(got))
	}
}

// TestAColdCaptureStatesWhatWasTrueBefore: what begins in the middle without a snapshot
// knows schemas, edges and configuration, and finds the incident that follows.
func TestAColdCaptureStatesWhatWasTrueBefore(t *testing.T) {
	l := startSite(t)
	l.feed(slowNIC(t))
	in := l.runner.Incidents()[0]
	path, out := l.capture(CaptureConfig{From: in.Onset.Earliest.Add(-90e9)})
	got, rec := replayed(t, path)
	if !out.Cold || out.First != 1 || len(got) == 0 || !strings.Contains(got[len(got)-1], `"root":{"entity":"nic:h9/nic0","domain":"network","signature":"slow-receiver"`) {
		t.Errorf("%+v: %d revisions", out, len(got))
	}
	if first, _ := rec.Span(); first < in.Onset.Earliest.Add(-110e9) {
		t.Errorf("it holds samples from %v on", first)
	}
}

// TestCaptureFromNowOn: entries that arrive while it runs, readable as it grows,
// until its context ends.
func TestCaptureFromNowOn(t *testing.T) {
	l := startSite(t)
	records := slowNIC(t)
	l.feed(records[:len(records)/3])
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	w := &watched{want: 200 << 10, reached: make(chan struct{})}
	done := make(chan error, 1)
	var out *Captured
	go func() {
		var err error
		out, err = Capture(ctx, CaptureConfig{Tape: l.bus, Shelf: l.bus, Writer: w, Site: "lab"})
		done <- err
	}()
	l.feed(records[len(records)/3:])
	select {
	case <-w.reached:
	case <-time.After(20 * time.Second):
		t.Fatal("the trace does not grow")
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(bytes.NewReader(w.Bytes()), int64(w.Len()))
	if err != nil {
		t.Fatal(err)
	}
	info := r.Info()
	if !info.Complete || out.Cold || info.Entries != out.Records || info.FirstRecord != out.First {
		t.Errorf("%+v, captured %+v", info, out)
	}
	for {
		if _, _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// watched is a file that signals when it has grown.
type watched struct {
	bytes.Buffer
	want    int
	reached chan struct{}
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if w.want > 0 && w.Len() >= w.want {
		w.want = 0
		close(w.reached)
	}
	return n, err
}

// TestCaptureLeavesOutWhatWasRefused: a recording does not name processes, so it
// holds only what the engine accepted.
func TestCaptureLeavesOutWhatWasRefused(t *testing.T) {
	l := startSite(t)
	at := telemetry.Time(1_800_000_000_000_000_000)
	c, err := grants.Grants{Processes: []grants.Grant{{Process: "evil", Nodes: []string{"evil"}}}}.Config(at)
	if err != nil {
		t.Fatal(err)
	}
	state := func(process string, entity telemetry.Entity) *telemetry.Record {
		return &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: entity, At: at, Name: telemetry.EventXID, Source: telemetry.Source{Collector: process}}}
	}
	tick := func(n int) *telemetry.Record {
		return &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at.Add(telemetry.Duration(n) * 1e9)}}
	}
	own, others := telemetry.Entity{Kind: telemetry.Node, Name: "evil"}, telemetry.Entity{Kind: telemetry.Node, Name: "n1"}
	ctx := within(t)
	for _, err := range []error{
		l.bus.Append(ctx, "", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: c}, tick(0)),
		l.bus.Append(ctx, "evil", state("evil", own), state("evil", others)),
		l.bus.Append(ctx, "n1", state("n1", others)),
		l.bus.Append(ctx, "", tick(1)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	out, err := Capture(ctx, CaptureConfig{Tape: l.bus, Writer: &b, Site: "lab", Last: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if out.Records != 5 || out.Skipped != 1 {
		t.Errorf("%+v, want 5 records and one left out", out)
	}
}

func TestCaptureOfNothing(t *testing.T) {
	l := startSite(t)
	_, err := Capture(within(t), CaptureConfig{Tape: l.bus, Writer: io.Discard, Last: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "the log is empty") {
		t.Errorf("an empty log: %v", err)
	}
	if _, err := Capture(within(t), CaptureConfig{}); err == nil {
		t.Error("no tape is no error")
	}
}

// TestCurvesOfARealLog: the same picture as from a log in memory.
func TestCurvesOfARealLog(t *testing.T) {
	l := startSite(t)
	l.feed(slowNIC(t))
	in := l.runner.Incidents()[0]
	r, err := New(Config{Log: l.bus})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Curves(within(t), &in, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := record(t, "slownic-2")
	p.until(0)
	want := p.picture(p.recorder(Config{}), p.incident(), 0)
	if len(got.Curves) != len(want.Curves) {
		t.Fatalf("%d curves, want %d", len(got.Curves), len(want.Curves))
	}
	for i := range got.Curves {
		if !slices.Equal(got.Curves[i].Times, want.Curves[i].Times) {
			t.Errorf("%s %s: %d points, want %d", got.Curves[i].Entity, got.Curves[i].Metric, len(got.Curves[i].Times), len(want.Curves[i].Times))
		}
	}
}
