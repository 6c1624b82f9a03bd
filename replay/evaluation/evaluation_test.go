package evaluation

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/telemetry"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const second = telemetry.Time(1e9)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9 }

func node(i int) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Node, Name: fmt.Sprintf("n%d", i)}
}

// said is an answer about one case: a confidence in a root that is right or not.
type said struct {
	confidence   float64
	right, named bool
}

// judge scores one case for each answer, each with one fault.
func judge(folder string, answers []said) *score.Report {
	var cases []score.Case
	job := telemetry.Entity{Kind: telemetry.Job, Name: "train"}
	for i, a := range answers {
		inc := explain.Incident{ID: fmt.Sprint("inc-", i), Kind: explain.KindIncident, Opened: 110 * second, Revision: 1}
		inc.Impact.Jobs = []explain.JobImpact{{Job: job}}
		if a.named {
			inc.Root = explain.Root{Entity: node(1), Signature: "slow-rank", Domain: telemetry.Computing, Confidence: a.confidence}
		}
		if a.named && !a.right {
			inc.Root.Entity = node(2)
		}
		cases = append(cases, score.Case{Dir: fmt.Sprintf("%s/case-%03d.qtrace", folder, i), Class: "slow-rank", End: 400 * second,
			Incidents: []explain.Incident{inc},
			Truth: score.Truth{Faults: []score.Fault{{Signature: "slow-rank", Entity: node(1), Domain: telemetry.Computing, Expect: score.ExpectIncident,
				Onset: 100 * second, End: 200 * second, Jobs: []telemetry.Entity{job}}}}})
	}
	r := score.Judge(cases, score.Settings{})
	return &r
}

func TestParseSet(t *testing.T) {
	tests := []struct {
		text string
		want []Set
	}{
		{"site-b=../traces/*.qtrace", []Set{{Name: "site-b", Pattern: "../traces/*.qtrace", Thinning: Thinning{Coarsen: 1}}}},
		{"b=x:coarsen=1,10", []Set{{Name: "b", Pattern: "x", Thinning: Thinning{Coarsen: 1}}, {Name: "b/x10", Pattern: "x", Thinning: Thinning{Coarsen: 10}}}},
		{"b=x=y", []Set{{Name: "b", Pattern: "x=y", Thinning: Thinning{Coarsen: 1}}}},
		{"b=x:missing=2,7", []Set{{Name: "b/m2", Pattern: "x", Thinning: Thinning{Coarsen: 1, Missing: 2}}, {Name: "b/m7", Pattern: "x", Thinning: Thinning{Coarsen: 1, Missing: 7}}}},
		{"lab:standard:coarsen=3", []Set{{Name: "lab:standard/x3", Lab: LabName{Kind: "standard"}, Thinning: Thinning{Coarsen: 3}}}},
		{"lab:soak=24", []Set{{Name: "lab:soak=24", Lab: LabName{"soak", "24"}, Thinning: Thinning{Coarsen: 1}}}},
	}
	for _, tc := range tests {
		if got, err := ParseSet(tc.text); err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %+v, %v", tc.text, got, err)
		}
	}
	for _, bad := range []string{"", "b", "=x", "b=", "lab:", "lab:=3", "b=x:coarsen=", "b=x:coarsen=0", "b=x:coarsen=1,two", "b=x:missing=0", "b=x:missing=", "lab:standard:missing=1", ":coarsen=3"} {
		if got, err := ParseSet(bad); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
	if _, err := ParseSets([]string{"b=x:coarsen=1,3", "b/x3=y"}); err == nil || !strings.Contains(err.Error(), "duplicate name") {
		t.Errorf("two sets of one name: %v", err)
	}
}

// TestFiguresAgreeWithOracle computes calibration from the answers themselves,
// one by one, without bins of the score.
func TestFiguresAgreeWithOracle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var answers []said
		for range 1 + random.IntN(60) {
			p := float64(random.IntN(1001)) / 1000
			answers = append(answers, said{p, random.Float64() < p, random.IntN(8) > 0})
		}
		row := NewRow(Set{Name: "s", Thinning: Thinning{Coarsen: 1}}, judge("a", answers))
		var n, right, sure, sureRight, brier float64
		var confidence, rightIn, in [10]float64
		for _, a := range answers {
			if !a.named {
				continue
			}
			hit := 0.0
			if a.right {
				hit = 1
			}
			k := 0
			for k < 9 && a.confidence >= float64(k+1)/10 {
				k++
			}
			n, right, brier = n+1, right+hit, brier+(a.confidence-hit)*(a.confidence-hit)
			in[k], confidence[k], rightIn[k] = in[k]+1, confidence[k]+a.confidence, rightIn[k]+hit
			if a.confidence >= 0.9 {
				sure, sureRight = sure+1, sureRight+hit
			}
		}
		ece := 0.0
		for k := range in {
			if in[k] > 0 {
				ece += in[k] / n * math.Abs(confidence[k]/in[k]-rightIn[k]/in[k])
			}
		}
		f := &row.Figures
		if n == 0 {
			if f.ECE != nil || f.Brier != nil {
				t.Errorf("no answers: error %v, Brier %v, want null", *f.ECE, *f.Brier)
			}
			continue
		}
		if f.Answers != int(n) || !near(*f.ECE, ece) || !near(*f.Brier, brier/n) || f.SureAnswers != int(sure) || !near(*f.AC1, right/float64(len(answers))) {
			t.Errorf("%v:\n got %d answers, error %v, Brier %v\nwant %v, %v, %v", answers, f.Answers, *f.ECE, *f.Brier, n, ece, brier/n)
		}
		if sure > 0 && !near(*f.SureRight, sureRight/sure) || sure == 0 && f.SureRight != nil {
			t.Errorf("share right of sure answers: got %v, want %v of %v", f.SureRight, sureRight, sure)
		}
		if *f.Recall != 1 {
			t.Errorf("recall %v: an incident without a root is a detection", *f.Recall)
		}
	}
}

// TestMcNemarAgreesWithOracle counts the splits of n coin flips one by one.
func TestMcNemarAgreesWithOracle(t *testing.T) {
	for b := range 8 {
		for c := range 8 {
			n, extreme := b+c, 0
			for flips := range 1 << n {
				heads := bits.OnesCount(uint(flips))
				if abs(2*heads-n) >= abs(b-c) {
					extreme++
				}
			}
			if got, want := mcnemar(b, c), float64(extreme)/float64(int(1)<<n); !near(got, want) {
				t.Errorf("%d to %d: got %v, want %v", b, c, got, want)
			}
		}
	}
	if got := mcnemar(900, 1100); math.IsNaN(got) || got < 1e-6 || got > 1e-4 {
		t.Errorf("900 to 1100: got %v", got)
	}
}

// TestBinomialDeviationAgreesWithOracle adds up all outcomes of n answers.
func TestBinomialDeviationAgreesWithOracle(t *testing.T) {
	for n := range 9 {
		for _, p := range []float64{0, 0.05, 0.5, 0.93, 1} {
			want := 0.0
			for outcome := range 1 << n {
				right := bits.OnesCount(uint(outcome))
				want += math.Pow(p, float64(right)) * math.Pow(1-p, float64(n-right)) * math.Abs(float64(right)-float64(n)*p)
			}
			if got := binomialDeviation(n, p); !near(got, want) {
				t.Errorf("%d answers at %v: got %v, want %v", n, p, got, want)
			}
		}
	}
}

func abs(x int) int { return max(x, -x) }

func TestComparePairsCasesByName(t *testing.T) {
	yes, no := said{0.9, true, true}, said{0.9, false, true}
	before := Result{Sets: []Row{NewRow(Set{Name: "s"}, judge("/here/s", []said{yes, yes, no, no})), AbsentRow(Set{Name: "gone"}, "no recordings")}}
	now := Result{Sets: []Row{NewRow(Set{Name: "gone"}, judge("g", []said{yes})), NewRow(Set{Name: "s"}, judge("there", []said{yes, no, yes, no, yes}))}}
	got := Compare(&before, &now)
	want := []Comparison{{Set: "s", Both: 1, Neither: 1, Gained: []string{"case-002"}, Lost: []string{"case-001"}, Apart: 1, P: 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var b bytes.Buffer
	if err := WriteComparison(&b, got); err != nil || !strings.Contains(b.String(), "s gained: case-002") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err := WriteComparison(&b, nil); err == nil {
		t.Error("nothing in common is no error")
	}
}

func TestResultSurvivesItsJSON(t *testing.T) {
	r := Result{Engine: "0", Rules: "x", Sets: []Row{NewRow(Set{Name: "s", Thinning: Thinning{Coarsen: 3}}, judge("a", []said{{0.9, true, true}, {0.4, false, true}, {}}))}}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	back, err := ReadResult(&b)
	if err != nil {
		t.Fatal(err)
	}
	if cs := Compare(&r, &back); len(cs) != 1 || cs[0].Both != 1 || cs[0].Neither != 2 || !reflect.DeepEqual(r.Sets[0].Figures, back.Sets[0].Figures) {
		t.Errorf("got %+v, %+v", cs, back.Sets[0].Figures)
	}
	if _, err := ReadResult(strings.NewReader(`{"total":{}}`)); err == nil {
		t.Error("another output was read as a result")
	}
}

func TestNames(t *testing.T) {
	got := names([]string{"/x/a/one", "/x/a/two.qtrace", "/x/b/one/"})
	want := map[string]string{"/x/a/one": "a/one", "/x/a/two.qtrace": "a/two", "/x/b/one/": "b/one"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := names([]string{"gpu-slow-64-s1"}); got["gpu-slow-64-s1"] != "gpu-slow-64-s1" {
		t.Errorf("a case of the lab: %v", got)
	}
	if got := names([]string{"/a", "b"}); got["/a"] == got["b"] {
		t.Errorf("two paths with nothing in common: %v", got)
	}
}

func TestFloorsCheck(t *testing.T) {
	r := Result{Sets: []Row{NewRow(Set{Name: "s"}, judge("a", []said{{0.95, true, true}, {0.8, false, true}})), AbsentRow(Set{Name: "gone"}, "no recordings")}}
	f, err := ParseFloors([]byte(`
s: {ac1: {min: 0.6}, f1: {min: 0.9, max: 1}, brier: {max: 0.1}, loss_error: {max: 1}}
gone: {f1: {min: 0.5}}
other: {f1: {min: 0.5}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range f.Check(&r) {
		got = append(got, v.String())
	}
	want := []string{
		"gone: not scored: no recordings",
		"other: not scored: no such set in this run",
		"s: ac1 is 0.5, below the floor 0.6",
		"s: brier is 0.3213, above the limit 0.1",
		"s: loss_error is not defined, above the limit 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestParseFloorsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "no sets",
		"s: {speed: {min: 1}}":   `unknown column "speed"`,
		"s: {f1: {}}":            "min or max required",
		"s: {f1: {least: 1}}":    "least",
		"s: {f1: {min: 'much'}}": "much",
	} {
		if _, err := ParseFloors([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestTableGolden(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var answers []said
	for range 40 {
		p := random.Float64()
		answers = append(answers, said{p, random.Float64() < p*p, true})
	}
	answers[7].named = false
	quiet := Result{Sets: []Row{NewRow(Set{Name: "a", Thinning: Thinning{Coarsen: 1}}, judge("a", answers)), AbsentRow(Set{Name: "gone"}, "no recordings match x/*"),
		NewRow(Set{Name: "a/x3", Thinning: Thinning{Coarsen: 3}}, judge("a", answers[:12]))}}
	cpu := 1.25
	quiet.Sets[0].Figures.CPU = &cpu
	worse := Result{Sets: []Row{NewRow(Set{Name: "a", Thinning: Thinning{Coarsen: 1}}, judge("a", append(make([]said, 4), answers[4:]...)))}}
	var b bytes.Buffer
	parts := Ablation{quiet, []Ablated{{"topology", worse}, {"peers", quiet}}}
	for _, err := range []error{quiet.WriteTable(&b), quiet.WriteDetail(&b), parts.WriteTable(&b)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const file = "testdata/table.golden"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("the tables changed (go test ./replay/evaluation -update writes them):\n%s", got)
	}
}
