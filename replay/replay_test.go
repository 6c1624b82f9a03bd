package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

const recorded = "../testdata/roce/slownic-2"

func config(t *testing.T) engine.Config {
	t.Helper()
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	return engine.Config{Slices: 1, Correlate: correlate.Config{Signatures: set.Signatures, Rules: set.Digest}}
}

func run(t *testing.T, path string) *replay.Result {
	t.Helper()
	rec, err := replay.Open(path, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	r, err := replay.Run(t.Context(), rec, replay.RunConfig{Engine: config(t)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// write puts a trace into a file.
func write(t *testing.T, h trace.Header, fill func(w *trace.Writer)) string {
	t.Helper()
	var b bytes.Buffer
	w, err := trace.NewWriter(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	fill(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.qtrace")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// log returns the records of a recorded run; position i+1 is element i.
func log(t *testing.T) []*telemetry.Record {
	t.Helper()
	b, err := bundle.Open(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var out []*telemetry.Record
	_ = b.Records(func(r *telemetry.Record) error { out = append(out, r); return nil })
	return out
}

func text(t *testing.T, in []explain.Incident) string {
	t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A bundle, its records in memory and its trace give the same answer.
func TestBundleAndTraceAgree(t *testing.T) {
	want := run(t, recorded)
	if len(want.Incidents) != 1 || want.Published[want.Incidents[0].ID] != want.Incidents[0].Opened || want.First != 1e9 || want.Last != 403e9 {
		t.Fatalf("%+v", want)
	}
	records := log(t)
	path := write(t, trace.Header{Site: "bundle"}, func(w *trace.Writer) {
		for i, r := range records {
			if err := w.Append(uint64(i)+1, r); err != nil {
				t.Fatal(err)
			}
		}
	})
	got := run(t, path)
	if got.Digest != want.Digest || text(t, got.Incidents) != text(t, want.Incidents) || got.Records != uint64(len(records)) {
		t.Errorf("trace: %s, bundle: %s", got.Digest, want.Digest)
	}
	c := config(t)
	c.Correlate.Site = "bundle"
	inMemory, err := replay.RunRecords(t.Context(), records, replay.RunConfig{Engine: c})
	if err != nil || inMemory.Digest != want.Digest {
		t.Errorf("in memory: %v", err)
	}
}

// A trace that begins with a snapshot goes on from it, whether or not it also
// holds the records before.
func TestBeginsWithSnapshot(t *testing.T) {
	want := run(t, recorded)
	records := log(t)
	half := len(records) / 2
	c := config(t)
	c.Correlate.Site = "bundle"
	runner, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records[:half] {
		if _, err := runner.Apply(uint64(i)+1, r); err != nil {
			t.Fatal(err)
		}
	}
	snapshot, err := runner.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{half, half - 100} {
		path := write(t, trace.Header{Site: "bundle", SnapshotAt: uint64(half), Snapshot: snapshot}, func(w *trace.Writer) {
			for i := from; i < len(records); i++ {
				if err := w.Append(uint64(i)+1, records[i]); err != nil {
					t.Fatal(err)
				}
			}
		})
		got := run(t, path)
		if got.Digest != want.Digest || len(got.Warnings) != 0 || got.Records != uint64(len(records)-half) {
			t.Errorf("from record %d: %s, whole: %s; %v", from, got.Digest, want.Digest, got.Warnings)
		}
	}
}

// A snapshot of other rules is refused with a message; the replay begins without
// history.
func TestSnapshotOfOtherRules(t *testing.T) {
	c := config(t)
	c.Correlate.Rules = "other"
	runner, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	records := log(t)
	if _, err := runner.Apply(1, records[0]); err != nil {
		t.Fatal(err)
	}
	snapshot, err := runner.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, trace.Header{Site: "bundle", Snapshot: snapshot}, func(w *trace.Writer) {
		for i, r := range records {
			if err := w.Append(uint64(i)+1, r); err != nil {
				t.Fatal(err)
			}
		}
	})
	got := run(t, path)
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "no history before this time") || got.Digest != run(t, recorded).Digest {
		t.Errorf("%v", got.Warnings)
	}
}

// A cut trace answers for what is left of it; a replay that is called off ends.
func TestCutAndCalledOff(t *testing.T) {
	records := log(t)
	path := write(t, trace.Header{}, func(w *trace.Writer) {
		for i, r := range records {
			if err := w.Append(uint64(i)+1, r); err != nil {
				t.Fatal(err)
			}
		}
	})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)*3/4], 0o644); err != nil {
		t.Fatal(err)
	}
	got := run(t, path)
	if got.Cut == nil || got.Cut.Lost == 0 || got.Records == 0 || got.Records >= uint64(len(records)) {
		t.Errorf("%+v", got)
	}
	rec, err := replay.Open(recorded, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ticks := 0
	_, err = replay.Run(ctx, rec, replay.RunConfig{Engine: config(t), Tick: func(telemetry.Time) error {
		if ticks++; ticks == 5 {
			cancel()
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) || ticks != 5 {
		t.Errorf("%d ticks, then %v", ticks, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	file := write(t, trace.Header{}, func(*trace.Writer) {})
	for path, c := range map[string]struct {
		config replay.OpenConfig
		want   string
	}{
		"nowhere":   {replay.OpenConfig{}, "no such file"},
		t.TempDir(): {replay.OpenConfig{}, "topology.json"},
	} {
		if _, err := replay.Open(path, c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := (replay.Judged{Engine: config(t)}).Case(t.Context(), file); err == nil || !strings.Contains(err.Error(), "x.truth.json") {
		t.Errorf("a trace without its truth was judged: %v", err)
	}
}

// A case carries what the score needs: truth, topology, whole steps.
func TestCase(t *testing.T) {
	c, err := replay.Judged{Engine: config(t), Coarsen: 10}.Case(t.Context(), recorded)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Truth.Faults) != 1 || len(c.Edges) != 78 || len(c.Steps) < 100 || c.Class != "slownic" || c.Start != 1e9 || c.End < 400e9 {
		t.Errorf("%d faults, %d edges, %d steps, %q, %v to %v", len(c.Truth.Faults), len(c.Edges), len(c.Steps), c.Class, c.Start, c.End)
	}
}

// A trace of a bundle, with its truth beside it, is judged as the bundle is.
func TestATraceIsJudgedAsItsBundle(t *testing.T) {
	file := write(t, trace.Header{Site: "bundle"}, func(w *trace.Writer) {
		for i, r := range log(t) {
			if err := w.Append(uint64(i)+1, r); err != nil {
				t.Fatal(err)
			}
		}
	})
	truth, err := os.ReadFile(filepath.Join(recorded, replay.TruthFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strings.TrimSuffix(file, "qtrace")+"truth.json", truth, 0o644); err != nil {
		t.Fatal(err)
	}
	j := replay.Judged{Engine: config(t)}
	want, err := j.Case(t.Context(), recorded)
	if err != nil {
		t.Fatal(err)
	}
	got, err := j.Case(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Truth, want.Truth) || !reflect.DeepEqual(got.Incidents, want.Incidents) || !reflect.DeepEqual(got.Steps, want.Steps) || len(got.Edges) != len(want.Edges) {
		t.Errorf("a trace was judged otherwise than its bundle: %d steps and %d edges, want %d and %d", len(got.Steps), len(got.Edges), len(want.Steps), len(want.Edges))
	}
}
