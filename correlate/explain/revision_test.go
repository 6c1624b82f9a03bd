package explain_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

func a5(t testing.TB) ([]byte, *explain.Incident) {
	t.Helper()
	b, err := os.ReadFile("testdata/a5.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var in explain.Incident
	if err := d.Decode(&in); err != nil {
		t.Fatal(err)
	}
	return b, &in
}

// The example of the interface's contract (testdata), with values where it has dots: read and written
// again it is the same, key by key and in the same order.
func TestTheIncidentIsThatOfTheDesign(t *testing.T) {
	want, in := a5(t)
	got, err := json.MarshalIndent(in, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(got, '\n'), want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// keys lists every key of a JSON value, by path; an array has the keys of its
// first item.
func keys(path string, v any, out map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			out[path+"."+k] = true
			keys(path+"."+k, x, out)
		}
	case []any:
		for _, x := range v[:min(1, len(v))] {
			keys(path, x, out)
		}
	}
}

func keysOf(t *testing.T, b []byte) map[string]bool {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	keys("", v, out)
	return out
}

// TestEveryKeyIsThere: every key is present in every incident that is written, null
// where the value is not known, and lists are lists even where they are empty.
func TestEveryKeyIsThere(t *testing.T) {
	example, _ := a5(t)
	want := keysOf(t, example)
	for name, story := range stories() {
		in := story(t).written()
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var top map[string]any
		if err := json.Unmarshal(b, &top); err != nil {
			t.Fatal(err)
		}
		for _, list := range []string{"alternatives", "contributors", "chain", "ruled_out", "blind_spots", "actions", "claims", "related"} {
			if _, ok := top[list].([]any); !ok {
				t.Errorf("%s: %s is %v, want a list", name, list, top[list])
			}
		}
		for _, null := range []string{"resolved", "resolution", "merged_into", "split_from", "verdict"} {
			if v, ok := top[null]; !ok || v != nil {
				t.Errorf("%s: %s is %v, want null", name, null, v)
			}
		}
		got := keysOf(t, b)
		for k := range got {
			if !want[k] {
				t.Errorf("%s: %s is not of the design", name, k)
			}
		}
		for k := range want {
			if !got[k] && !optional(top, k) {
				t.Errorf("%s: %s is not there", name, k)
			}
		}
	}
}

// optional reports whether a key is in a list that is empty here.
func optional(top map[string]any, path string) bool {
	for list, v := range top {
		if items, ok := v.([]any); ok && len(items) == 0 && bytes.HasPrefix([]byte(path), []byte("."+list+".")) {
			return true
		}
	}
	return false
}

func TestDiffers(t *testing.T) {
	slowdown := func(x float64) func(*explain.Incident) {
		return func(in *explain.Incident) { in.Impact.Jobs[0].Slowdown = &x }
	}
	confidence := func(x float64) func(*explain.Incident) {
		return func(in *explain.Incident) { in.Root.Confidence = x }
	}
	for _, c := range []struct {
		what   string
		change func(*explain.Incident)
		want   bool
	}{
		{"nothing", func(*explain.Incident) {}, false},
		{"state", func(in *explain.Incident) { in.State = explain.StateResolved }, true},
		{"kind", func(in *explain.Incident) { in.Kind = explain.KindRisk }, true},
		{"severity", func(in *explain.Incident) { in.Severity = explain.SeverityInfo }, true},
		{"root entity", func(in *explain.Incident) { in.Root.Entity = entity("nic:h1/n0") }, true},
		{"signature", func(in *explain.Incident) { in.Root.Signature = "pfc-storm" }, true},
		{"another job", func(in *explain.Incident) { in.Impact.Jobs[0].Job = entity("job:b") }, true},
		{"one more job", func(in *explain.Incident) {
			in.Impact.Jobs = append([]explain.JobImpact{{Job: entity("job:b")}}, in.Impact.Jobs...)
		}, true},
		{"no job", func(in *explain.Incident) { in.Impact.Jobs = nil }, true},
		{"a job's state", func(in *explain.Incident) { in.Impact.Jobs[0].State = "stalled" }, true},
		{"a blind spot less", func(in *explain.Incident) { in.BlindSpots = nil }, true},
		{"another blind spot", func(in *explain.Incident) { in.BlindSpots[0].Metric = "pcie_link_speed_transfers_per_second" }, true},
		{"slowdown inside its band", slowdown(3.9), false},
		{"slowdown above its band", slowdown(9), true},
		{"slowdown below its band", slowdown(1.2), true},
		{"slowdown not known any more", func(in *explain.Incident) { in.Impact.Jobs[0].Slowdown = nil }, true},
		{"confidence inside its band", confidence(0.85), false},
		{"confidence below its band", confidence(0.5), true},
		{"title", func(in *explain.Incident) { in.Title = "" }, false},
		{"times", func(in *explain.Incident) { in.Updated++; in.Root.Onset.Latest++ }, false},
		{"chain", func(in *explain.Incident) { in.Chain = nil }, false},
		{"alternatives", func(in *explain.Incident) { in.Alternatives = nil }, false},
		{"loss", func(in *explain.Incident) { in.Impact.Jobs[0].GPUSecondsLost *= 100 }, false},
		{"actions", func(in *explain.Incident) { in.Actions = nil }, false},
	} {
		_, published := a5(t)
		_, next := a5(t)
		c.change(next)
		if got := explain.Differs(published, next); got != c.want {
			t.Errorf("%s makes a revision: %v, want %v", c.what, got, c.want)
		}
	}
}

// TestTheOrderOfJobsIsNoNews: the order of the degraded jobs makes no revision.
func TestTheOrderOfJobsIsNoNews(t *testing.T) {
	_, a := a5(t)
	_, b := a5(t)
	other := explain.JobImpact{Job: entity("job:b"), State: "slow"}
	a.Impact.Jobs = append(a.Impact.Jobs, other)
	b.Impact.Jobs = append([]explain.JobImpact{other}, b.Impact.Jobs...)
	if explain.Differs(a, b) || a.Impact.Jobs[0].Job != entity("job:train") || b.Impact.Jobs[0].Job != entity("job:b") {
		t.Error("the order makes a revision, or is changed")
	}
}

func TestSubject(t *testing.T) {
	_, in := a5(t)
	if got := in.Subject(); got != entity("job:train") {
		t.Errorf("got %v", got)
	}
	in.Impact.Jobs = nil
	if got := in.Subject(); got != entity("nic:h13/nic0") {
		t.Errorf("of a risk: got %v", got)
	}
}

func written(in *explain.Incident) ([]byte, error) {
	c := snapshot.NewWriter()
	in.Snapshot(c)
	return c.Data(), c.Err()
}

func again(t *testing.T, in *explain.Incident) *explain.Incident {
	t.Helper()
	b, err := written(in)
	if err != nil {
		t.Fatal(err)
	}
	c := snapshot.NewReader(b)
	var out explain.Incident
	out.Snapshot(c)
	if c.Err() != nil || c.Remaining() != 0 {
		t.Fatalf("%v, %d bytes left", c.Err(), c.Remaining())
	}
	return &out
}

func TestAnIncidentSurvivesASnapshot(t *testing.T) {
	_, in := a5(t)
	if got := again(t, in); !reflect.DeepEqual(got, in) {
		t.Errorf("got %+v\nwant %+v", got, in)
	}
	for name, story := range stories() {
		in := story(t).written()
		if got := again(t, in); !reflect.DeepEqual(got, in) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, in)
		}
	}
}

// TestAnIncidentWithoutADomainSurvivesASnapshot: an empty incident, and a chain
// over a metric that is not in the catalogue, have no domain to write.
func TestAnIncidentWithoutADomainSurvivesASnapshot(t *testing.T) {
	again(t, &explain.Incident{})
	s := calm(t)
	teller := s.writer()
	empty, err := telemetry.NewCatalogue(nil)
	if err != nil {
		t.Fatal(err)
	}
	teller.Catalogue = empty
	in := &explain.Incident{}
	teller.Write(in, s.e, judge(nil, nil, s.e.Job, 1))
	again(t, in)
}

func FuzzIncidentSnapshot(f *testing.F) {
	_, in := a5(f)
	b, err := written(in)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, '{', '}'})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := snapshot.NewReader(data)
		var in explain.Incident
		in.Snapshot(c)
		if c.Err() != nil {
			return
		}
		explain.Differs(&in, &in)
		in.Subject()
		if _, err := written(&in); err != nil {
			t.Errorf("read and not written: %v", err)
		}
	})
}

func TestInvestigatingNamesNoRoot(t *testing.T) {
	_, in := a5(t)
	open := in.Investigating()
	b, err := json.Marshal(open)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(`"root":null`)) {
		t.Errorf("the root is not null: %s", b)
	}
	first := explain.Alternative{Entity: in.Root.Entity, Signature: in.Root.Signature, Confidence: in.Root.Confidence}
	if open.Alternatives[0] != first || len(open.Actions) != 0 {
		t.Errorf("alternatives %+v, actions %+v", open.Alternatives, open.Actions)
	}
	want := "train (16 GPUs) is 283 % slower since 12:00:01 ± 1 s: the cause is under investigation, most likely slow-receiver at nic h13/nic0 (93 %) or slow-rank at node h13 (4 %)."
	if open.Title != want {
		t.Errorf("title %q, want %q", open.Title, want)
	}
	var back explain.Incident
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, open) {
		t.Errorf("read again: %v\n%+v\nwant\n%+v", err, back, open)
	}
}

// TestPlacedStatesThePlace: two names for what is at one adapter leave no doubt of
// the adapter.
func TestPlacedStatesThePlace(t *testing.T) {
	nic := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.NIC, Name: name} }
	in := explain.Incident{Root: explain.Root{Entity: nic("a"), Confidence: 0.5}, Alternatives: []explain.Alternative{{Entity: nic("a"), Confidence: 0.3}, {Entity: nic("b"), Confidence: 0.15}}}
	if got := in.Placed().Root.Confidence; got != 0.8 {
		t.Errorf("confidence %v of the place, want 0.8", got)
	}
	if in.Root.Confidence != 0.5 {
		t.Errorf("that of the name is %v, want 0.5 as before", in.Root.Confidence)
	}
	if again := in.Placed().Named(); again.Root.Confidence != 0.5 {
		t.Errorf("Named gives %v back, want 0.5", again.Root.Confidence)
	}
	in.Root.Signature, in.Root.Alike = "s", []telemetry.Entity{nic("b"), nic("c")}
	in.Alternatives = append(in.Alternatives, explain.Alternative{Entity: nic("b"), Signature: "s", Confidence: 0.1}, explain.Alternative{Entity: nic("d"), Signature: "s", Confidence: 0.05})
	if got := in.Placed(); got.Root.Confidence != 0.9 || got.Named().Root.Confidence != 0.5 || len(got.Elsewhere()) != 3 {
		t.Errorf("with one that cannot be distinguished: confidence %v, named %v, elsewhere %v", got.Root.Confidence, got.Named().Root.Confidence, got.Elsewhere())
	}
}
