package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

func options(t *testing.T) Options {
	t.Helper()
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Engine: engine.Config{Slices: 1, Correlate: correlate.Config{Signatures: set.Signatures, Rules: set.Digest}}, Key: "test"}
}

var few = []Case{
	{Class: "gpu-slow", Severity: Loud, GPUs: 16, Seed: 1},
	{Class: Healthy, GPUs: 16, Seed: 1, Minutes: 5},
	{Class: "serving-overload", Severity: Loud, GPUs: 16, Seed: 1},
}

func outcomes(t *testing.T, o Options) []Outcome {
	t.Helper()
	out, err := Run(context.Background(), few, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		out[i].Seconds = 0
	}
	return out
}

// TestWorkersAndTheCacheChangeNothing of what becomes of cases.
func TestWorkersAndTheCacheChangeNothing(t *testing.T) {
	o := options(t)
	o.Baselines = true
	want, err := json.Marshal(outcomes(t, o))
	if err != nil {
		t.Fatal(err)
	}
	o.Workers, o.Cache.Dir = 1, t.TempDir()
	for _, how := range []string{"one worker", "from the cache"} {
		got := outcomes(t, o)
		if b, _ := json.Marshal(got); !bytes.Equal(b, want) {
			t.Errorf("%s: other outcomes", how)
		}
		if got[0].Dropped != "" || got[2].Dropped == "" || len(got[0].Baselines) != 3 {
			t.Errorf("%s: %+v", how, got[0])
		}
	}
	files, err := filepath.Glob(filepath.Join(o.Cache.Dir, "*", "*.json"))
	if err != nil || len(files) != len(few) {
		t.Fatalf("%d files kept, want %d: %v", len(files), len(few), err)
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte("{half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if b, _ := json.Marshal(outcomes(t, o)); !bytes.Equal(b, want) {
		t.Error("damaged files of the cache were believed")
	}
}

// TestACancelledRunStops and says so.
func TestACancelledRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, few, options(t)); err == nil {
		t.Error("a cancelled run ended well")
	}
}

func TestAnAblationTakesItsPartAway(t *testing.T) {
	o := options(t)
	n := len(o.Engine.Correlate.Signatures)
	if got := WithoutItsOwn.Engine(o.Engine, "gpu-slow").Correlate.Signatures; len(got) != n-1 {
		t.Errorf("%d signatures without its own, of %d", len(got), n)
	}
	each, err := ParseAblations("each-signature", []string{"gpu-slow", "incast"})
	if err != nil || len(each) != 2 || each[1].Part() != "signature incast" {
		t.Errorf("each signature: %q, %v", each, err)
	}
	for _, a := range each {
		if got := a.Engine(o.Engine).Correlate.Signatures; len(got) != n-1 {
			t.Errorf("%s: %d signatures of %d", a, len(got), n)
		}
	}
	for _, part := range []string{"", "signature=no-such", "clocks"} {
		if _, err := ParseAblations(part, []string{"incast"}); err == nil {
			t.Errorf("part %q was accepted", part)
		}
	}
	if got := WithoutSignatures.Engine(o.Engine, "gpu-slow").Correlate.Signatures; len(got) != 0 {
		t.Errorf("%d signatures without any", len(got))
	}
	features := func(e engine.Config) (all, peers int) {
		for _, s := range e.Correlate.Signatures {
			for _, c := range s.Features {
				all++
				if comparesPeers(c) {
					peers++
				}
			}
		}
		return all, peers
	}
	all, peers := features(o.Engine)
	left, none := features(WithoutPeers.Engine(o.Engine, "gpu-slow"))
	if peers == 0 || none != 0 || left != all-peers {
		t.Errorf("of %d features, %d with peers, %d are left, %d with peers", all, peers, left, none)
	}
	if a, p := features(o.Engine); a != all || p != peers {
		t.Error("the engine's own signatures were changed")
	}
	cable := telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{Relation: telemetry.Connects}}
	runs := telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{Relation: telemetry.Runs}}
	if !WithoutTopology.Hides(&cable) || WithoutTopology.Hides(&runs) || Whole.Hides(&cable) {
		t.Error("without topology hides the wrong edges")
	}
}

// TestATraceHoldsTheCase: replayed, it gives what the case gave in memory.
func TestATraceHoldsTheCase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.qtrace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	truth, err := os.Create(filepath.Join(dir, "x.truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteTrace(context.Background(), few[0], Recorded{Trace: f, Truth: truth}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	truth.Close()
	got, err := replay.Judged{Engine: options(t).Engine}.Case(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	want := outcomes(t, options(t))[0].Score
	a, _ := json.Marshal(got.Truth)
	b, _ := json.Marshal(want.Truth)
	if !bytes.Equal(a, b) || got.End != want.End {
		t.Errorf("truth %+v to %s, want %+v to %s", got.Truth, got.End, want.Truth, want.End)
	}
	if len(got.Incidents) != len(want.Incidents) {
		t.Errorf("%d incidents from the trace, %d in memory", len(got.Incidents), len(want.Incidents))
	}
	elsewhere := Recorded{Trace: &bytes.Buffer{}, Truth: &bytes.Buffer{}, Entity: telemetry.Entity{Kind: telemetry.GPU, Name: "n9999/0"}}
	if err := WriteTrace(context.Background(), few[0], elsewhere); err == nil {
		t.Error("a fault where nothing is")
	}
}

// TestASoakIsBenign: look-alikes come one after the other, and no fault.
func TestASoakIsBenign(t *testing.T) {
	var m maker
	b, err := m.build(SoakCases(24, 16, true)[2])
	if err != nil {
		t.Fatal(err)
	}
	end := 0.0
	for i, f := range b.Faults {
		if b.Kinds[i].Expect != "benign" || f.Onset < end || f.End <= f.Onset || f.End > float64(b.Until) {
			t.Errorf("%+v after one that ended at %.0f s of %d", f, end, b.Until)
		}
		end = f.End
	}
	if len(b.Faults) < 4 || b.Until != 6*3600 {
		t.Errorf("%d look-alikes in %d s", len(b.Faults), b.Until)
	}
}

// TestNothingIsDownAtTheBeginning: the first word of every state is that of a
// site at work.
func TestNothingIsDownAtTheBeginning(t *testing.T) {
	b := &Build{Case: Case{Class: Healthy, GPUs: 64, Seed: 1}, stage: usual(64, 1), Until: 60}
	var reader telemetry.SampleReader
	seen := 0
	_, err := b.play(context.Background(), func(r *telemetry.Record) error {
		if r.Kind == telemetry.SchemaRecord {
			reader.Learn(r.Schema)
		}
		if r.Kind != telemetry.FrameRecord {
			return nil
		}
		samples, err := reader.Read(r.Frame)
		if err != nil {
			return err
		}
		for x := range samples {
			if m := x.Series.Metric; m == "feed_up" || m == "port_up" || m == "psu_up" || m == "nvlink_up" {
				seen++
				if x.Word != 1 && x.State == telemetry.Present {
					t.Fatalf("%s is %d at %s", x.Series, x.Word, x.At)
				}
			}
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Fatal(err, seen)
	}
}

// A slow step of a job that reports every fifth has ended four steps before the
// report comes; a job that stands still shows in the counters of its links.
func TestAReportIsASourceOfItsOwnCadence(t *testing.T) {
	job := track{entity: telemetry.Entity{Kind: telemetry.Job, Name: "a"}, every: 5, steps: []step{{number: 1, end: 5, seconds: 5}, {number: 2, end: 10, seconds: 5}}}
	b := &Build{Faults: []fault.Fault{{Onset: 10}}, healthy: history{jobs: []track{job}}}
	h := &history{jobs: []track{job}}
	if got := b.reported(h, []harm{{job: job.entity}}); got != 20 {
		t.Errorf("%g s, want 20", got)
	}
	if got := b.reported(h, []harm{{job: job.entity, stopped: true}}); got != 0 {
		t.Errorf("of one that stands still %g s, want 0", got)
	}
	h.jobs[0].every = 0
	if got := b.reported(h, []harm{{job: job.entity}}); got != 0 {
		t.Errorf("of one that reports each step %g s, want 0", got)
	}
}
