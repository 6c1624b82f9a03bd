package score

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

// fourRuns has one case of each outcome, a wrong root and a false risk.
func fourRuns() []Case {
	hit := *run(answer{id: "inc-1", job: "job:train", opened: 112, resolved: 230, root: "nic:h1/nic0", sig: "pfc-storm", conf: 0.9, now: 7.6, expected: 4})
	wrong := *run(answer{id: "inc-2", job: "job:train", opened: 124, root: "node:h2", sig: "slow-rank", conf: 0.55, others: []string{"nic:h1/nic0"}, now: 6, expected: 4})
	wrong.Dir, wrong.Fabric = "slownic-2", "large"
	miss := *run(answer{id: "inc-3", kind: explain.KindRisk, job: "job:train", opened: 110, root: "port:leaf0/p1", sig: "incast", conf: 0.3},
		answer{id: "inc-5", kind: explain.KindRisk, job: "job:train", opened: 110, root: "port:leaf0/p2", sig: "incast", conf: 0.3})
	miss.Dir, miss.Class, miss.Truth.Faults = "incast-1", "incast", slices.Clone(miss.Truth.Faults)
	miss.Truth.Faults[0].Signature, miss.Truth.Faults[0].AcceptSignatures, miss.Truth.Faults[0].Entity = "incast", nil, entity("port:leaf0/p1")
	noisy := *run(answer{id: "inc-4", job: "job:train", opened: 30, resolved: 50, root: "job:train", sig: "unknown", conf: 0.2})
	noisy.Dir, noisy.Class, noisy.Truth.Faults = "healthy-1", "healthy", nil
	quiet := *run()
	quiet.Dir, quiet.Class, quiet.Truth.Faults = "healthy-2", "healthy", nil
	return []Case{hit, wrong, miss, noisy, quiet}
}

// Three faults, two found, one of them at the right place, one false alarm.
// Healthy: three runs of 400 s less 160 s, two of 400 s: 1520 s.
func TestTotalsByHand(t *testing.T) {
	r := Judge(fourRuns(), Settings{})
	for _, f := range []struct {
		name string
		got  *float64
		want float64
	}{
		{"precision", r.Total.Precision, 2.0 / 3}, {"recall", r.Total.Recall, 2.0 / 3}, {"f1", r.Total.F1, 2.0 / 3},
		{"ac1", r.Total.AC1, 1.0 / 3}, {"ac3", r.Total.AC3, 2.0 / 3}, {"mrr", r.Total.MRR, (1 + 0.5) / 3},
		{"signature", r.Total.SignatureAccuracy, 1.0 / 3}, {"domain", r.Total.DomainAccuracy, 2.0 / 3},
		{"victim", r.Total.VictimAsRoot, 1.0 / 3},
		{"loss error", r.Total.LossError, (0.1 + 0.5) / 2}, {"p50", r.Total.TimeToDetectP50, 18}, {"p95", r.Total.TimeToDetectP95, 23.4},
		{"false per hour", r.Total.FalseIncidentsPerHour, 3600.0 / 1520},
		{"upper", r.Detail.Total.Detail.FalsePerHourUpper95, 4.74386 * 3600 / 1520},
		{"brier", r.Total.Brier, (0.01 + 0.3025 + 0.04) / 3}, {"constant", r.Detail.Total.Detail.BrierConstant, 2.0 / 9},
		{"steps p50", r.Detail.Total.Detail.StepsToDetectP50, (1.5 + 3) / 2}, {"usual steps p50", r.Detail.Total.Detail.UsualStepsP50, 4.5},
		{"long loss p90", r.Detail.Total.Detail.LossErrorLongP90, 0.46},
	} {
		if f.got == nil || !near(*f.got, f.want) {
			t.Errorf("%s: got %s, want %.4f", f.name, number(f.got, 4), f.want)
		}
	}
	var outcomes []Outcome
	for _, c := range r.Cases {
		outcomes = append(outcomes, c.Outcome)
	}
	if want := []Outcome{False, Clean, Miss, Hit, Hit}; !slices.Equal(outcomes, want) {
		t.Errorf("got %v, want %v", outcomes, want)
	}
}

// What is not defined is null: a healthy, quiet class has no ratio at all.
func TestUndefinedIsNull(t *testing.T) {
	quiet := fourRuns()[4]
	m := Judge([]Case{quiet}, Settings{}).Total
	for name, v := range map[string]*float64{"precision": m.Precision, "recall": m.Recall, "f1": m.F1, "ac1": m.AC1, "mrr": m.MRR,
		"domain": m.DomainAccuracy, "loss": m.LossError, "p50": m.TimeToDetectP50, "brier": m.Brier} {
		if v != nil {
			t.Errorf("%s: got %v, want null", name, *v)
		}
	}
	if m.FalseIncidentsPerHour == nil || *m.FalseIncidentsPerHour != 0 {
		t.Error("no false incident in 400 s is a rate of zero")
	}
}

// The keys of docs/scoring.md, in its order, and no other.
func TestJSONHasTheContractsKeys(t *testing.T) {
	b, err := json.Marshal(Judge(fourRuns(), Settings{}))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Total   map[string]any            `json:"total"`
		Classes map[string]map[string]any `json:"classes"`
		Cases   []map[string]any          `json:"cases"`
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	figures := strings.Fields("ac1 ac3 brier cases domain_accuracy f1 false_incidents_per_hour loss_error mrr precision recall " +
		"signature_accuracy time_to_detect_p50_s time_to_detect_p95_s victim_as_root")
	if keys := sortedKeys(got.Total); !reflect.DeepEqual(keys, figures) {
		t.Errorf("total: got %v, want %v", keys, figures)
	}
	if keys := sortedKeys(got.Classes["slownic"]); !reflect.DeepEqual(keys, figures) {
		t.Errorf("class: got %v, want %v", keys, figures)
	}
	if keys, want := sortedKeys(got.Cases[0]), strings.Fields("class dir faults incidents outcome"); !reflect.DeepEqual(keys, want) {
		t.Errorf("case: got %v, want %v", keys, want)
	}
}

func TestGolden(t *testing.T) {
	r := Judge(fourRuns(), Settings{})
	writers := map[string]func(*bytes.Buffer) error{
		"report.json": func(b *bytes.Buffer) error { return r.WriteDetail(b) },
		"report.txt":  func(b *bytes.Buffer) error { return r.WriteTable(b) },
	}
	for _, name := range sortedKeys(writers) {
		var got bytes.Buffer
		if err := writers[name](&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s differs; got:\n%s", name, got.String())
		}
	}
}

func TestNoCasesStillPrint(t *testing.T) {
	r := Judge(nil, Settings{})
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
}

// The JSON has the keys of docs/scoring.md and no others: other
// programs read it.
func TestJSONHasTheKeysOfTheContract(t *testing.T) {
	var b bytes.Buffer
	r := Judge(fourRuns(), Settings{})
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(b.Bytes(), &top); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(top)); !slices.Equal(got, []string{"cases", "classes", "total"}) {
		t.Errorf("top-level keys %v", got)
	}
}

// The sum of both halves is the whole, and a run's half does not depend on
// where it lies.
func TestHalves(t *testing.T) {
	cases := fourRuns()
	r := Judge(cases, Settings{})
	a, b := r.Detail.Halves[HalfA].Detail, r.Detail.Halves[HalfB].Detail
	if a.Cases+b.Cases != len(cases) || a.Faults+b.Faults != 3 {
		t.Errorf("halves of %d and %d runs, want %d together", a.Cases, b.Cases, len(cases))
	}
	for i := range cases {
		moved := cases[i]
		moved.Dir = "/elsewhere/" + moved.Dir + "/"
		if HalfOf(&moved) != HalfOf(&cases[i]) {
			t.Errorf("%s changes its half when it is moved", cases[i].Dir)
		}
	}
}

func TestOrderOfCasesChangesNothing(t *testing.T) {
	cases := fourRuns()
	want, err := json.Marshal(Judge(cases, Settings{}))
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(cases)
	got, err := json.Marshal(Judge(cases, Settings{}))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the report depends on the order of the cases")
	}
}
