package accuracy

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/lab/cases/baseline"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestBoundsAreThoseOfTheTables: Wilson's against values computed by hand with
// z = 1.6449, Garwood's against the chi-square table.
func TestBoundsAreThoseOfTheTables(t *testing.T) {
	for _, x := range []struct {
		k, n int
		want float64
	}{{10, 10, 0.7871}, {9, 10, 0.6523}, {0, 10, 0}, {930, 1000, 0.9156}, {1, 1, 0.2699}} {
		if got := Wilson(x.k, x.n); math.Abs(got-x.want) > 2e-4 {
			t.Errorf("Wilson(%d, %d) = %.4f, want %.4f", x.k, x.n, got, x.want)
		}
		if up := WilsonUpper(x.n-x.k, x.n); math.Abs(up-(1-x.want)) > 2e-4 {
			t.Errorf("WilsonUpper(%d, %d) = %.4f, want %.4f", x.n-x.k, x.n, up, 1-x.want)
		}
	}
	if !math.IsNaN(Wilson(0, 0)) {
		t.Error("a bound of nothing")
	}
	for n, want := range []float64{2.9957, 4.7439, 6.2958, 7.7537} {
		if got := poissonUpper(n); math.Abs(got-want) > 1e-3 {
			t.Errorf("poissonUpper(%d) = %.4f, want %.4f", n, got, want)
		}
	}
}

// TestTheBootstrapDrawsSeeds, not cases: where all of the spread lies between
// seeds it shows, and where there is none there is none.
func TestTheBootstrapDrawsSeeds(t *testing.T) {
	type item struct {
		seed uint64
		x    float64
	}
	mean := func(xs []item) float64 {
		sum := 0.0
		for _, x := range xs {
			sum += x.x
		}
		return sum / float64(len(xs))
	}
	of := func(i item) uint64 { return i.seed }
	var same, apart []item
	for seed := range uint64(10) {
		for range 50 {
			same = append(same, item{seed, 0.5})
			apart = append(apart, item{seed, float64(seed % 2)})
		}
	}
	if low, high := bootstrap(same, of, mean); low != 0.5 || high != 0.5 {
		t.Errorf("bounds %v to %v of what never differs", low, high)
	}
	// Ten seeds, half of them 1: the deviation of the mean is √(0.25/10) = 0.158.
	if low, high := bootstrap(apart, of, mean); math.Abs(low-0.24) > 0.08 || math.Abs(high-0.76) > 0.08 {
		t.Errorf("bounds %.2f to %.2f, want about 0.24 to 0.76", low, high)
	}
	if low, _ := bootstrap(same[:50], of, mean); !math.IsNaN(low) {
		t.Error("a bound from one seed")
	}
}

var (
	job   = telemetry.Entity{Kind: telemetry.Job, Name: "t"}
	root  = telemetry.Entity{Kind: telemetry.GPU, Name: "n0000/1"}
	other = telemetry.Entity{Kind: telemetry.GPU, Name: "n0000/2"}
)

// outcome is a case of one fault whose incident names an entity; zero names
// none.
func outcome(seed uint64, severity cases.Severity, loss float64, said telemetry.Entity) cases.Outcome {
	const second = telemetry.Time(1e9)
	o := cases.Outcome{Case: cases.Case{Class: "gpu-slow", Severity: severity, GPUs: 64, Seed: seed}, Loss: loss, Cadence: 1}
	o.Score = score.Case{Dir: o.Case.Name(), Class: "gpu-slow", Start: second, End: 600 * second, Truth: score.Truth{Class: "gpu-slow", Faults: []score.Fault{{
		Signature: "gpu-slow", Entity: root, Domain: telemetry.Computing, Expect: score.ExpectIncident, Onset: 300 * second, End: 500 * second,
		Degraded: 304 * second, Jobs: []telemetry.Entity{job}, Slowdown: 1 + loss}}}}
	for i := range 100 {
		o.Score.Steps = append(o.Score.Steps, score.Step{Job: job, End: telemetry.Time(4*i+4) * second, Seconds: 4})
	}
	o.Baselines = []baseline.Ranking{{Method: baseline.MaxZ, Entities: []telemetry.Entity{other, root}, Domains: []telemetry.Domain{telemetry.Power, telemetry.Computing}}}
	if said.IsZero() {
		return o
	}
	before, now := 4.0, 4*(1+loss)
	inc := explain.Incident{ID: "inc-1", State: explain.StateOpen, Kind: explain.KindIncident, Severity: explain.SeverityWarning, Opened: 313 * second, Updated: 600 * second}
	inc.Root = explain.Root{Entity: said, Domain: telemetry.Computing, Signature: "gpu-slow", Confidence: 0.9}
	inc.Impact.Jobs = []explain.JobImpact{{Job: job, Now: &now, Expected: &before}}
	o.Score.Incidents = []explain.Incident{inc}
	return o
}

// TestTheReportCounts what was put into it.
func TestTheReportCounts(t *testing.T) {
	r := Report{Engine: "9", Rules: "abc", GPUs: 64, Main: []cases.Outcome{
		outcome(1001, cases.Loud, 0.5, root), outcome(1002, cases.Loud, 0.5, root), outcome(1003, cases.Loud, 0.5, other),
		outcome(1001, cases.Quiet, 0.07, telemetry.Entity{}),
		{Case: cases.Case{Class: "leak", GPUs: 64, Seed: 1001}, Dropped: "no water"},
	}}
	r.Coarse = []Run{{Title: "one sample in 3", Outcomes: r.Main[:2]}}
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| cases | 3 | 1 | 4 | |",
		"| right root first (AC@1) | 0.667 (2/3, 0.", // of the loud
		"| 0.000 (0/1, 0.000) | 0.500 (2/4, 0.",      // of the quiet, and of all
		"| detection F1 | 1.000 (1.000) | 0.000 (-) |",
		"| detected after, usual steps beyond the cadence, p50 | 2.0 | - | 2.0 | 3 |", // 313 s − 304 s − 1 s over steps of 4 s
		"| gpu-slow | loud | 3 | 3/3 | 0 | 2/3 |",
		"| gpu-slow | quiet | 1 | 0/1 | 0 | 0/1 |",
		"| max z | 4 | 0.000 (0/4, 0.000) | 1.000 (4/4,",
		"| one sample in 3 |  | 2 | 2/2 |",
		"| gpu-slow-quiet-64-s1001 | missed | gpu-slow at gpu:n0000/1 |  |",
		"| gpu-slow-loud-64-s1003 | root | gpu-slow at gpu:n0000/1 | gpu-slow at gpu:n0000/2 (0.90) |",
		"- leak: 1001: no water",
		"reserved for reporting",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report has no %q", want)
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}
}

// TestASoakCountsWhatWasSaid: one false warning in a day.
func TestASoakCountsWhatWasSaid(t *testing.T) {
	o := outcome(1001, cases.Usual, 0.1, other)
	o.Case.Class, o.Score.Truth = cases.Soak, score.Truth{}
	o.Score.End = o.Score.Start.Add(24 * 3600e9)
	var b bytes.Buffer
	if err := WriteSoak(&b, 256, []cases.Outcome{o}); err != nil {
		t.Fatal(err)
	}
	// 4.744 a day at most, 142.3 in thirty.
	if want := "1.0 days of 256 GPUs: 1 false warnings or criticals. At most 142.32 in 30 days"; !strings.Contains(b.String(), want) {
		t.Errorf("got %q, want %q in it", b.String(), want)
	}
	// One that was critical, and is only a word of information at last, counts too.
	in := &o.Score.Incidents[0]
	in.Severity, o.Score.Worst = explain.SeverityInfo, map[string]string{in.ID: explain.SeverityCritical}
	b.Reset()
	if err := WriteSoak(&b, 256, []cases.Outcome{o}); err != nil {
		t.Fatal(err)
	}
	if want := "1 false warnings or criticals"; !strings.Contains(b.String(), want) || !strings.Contains(b.String(), "critical gpu-slow") {
		t.Errorf("got %q, want %q in it", b.String(), want)
	}
}
