package symptom_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/symptom"
	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// flat is a history in which every series of a site has one constant value; a slot
// is the number of its metric.
type flat struct{ slots map[telemetry.MetricName]int }

func (h flat) Slot(s telemetry.Series) (int, bool) {
	i, ok := h.slots[s.Metric]
	if !ok {
		i = len(h.slots)
		h.slots[s.Metric] = i
	}
	return i, true
}

func (flat) At(slot int, _ telemetry.Time) (float64, bool) { return float64(slot + 1), true }
func (flat) Span(dst []float32, slot int, from, to telemetry.Time) []float32 {
	for t := from; t < to; t = t.Add(1e9) {
		dst = append(dst, float32(slot+1))
	}
	return dst
}
func (flat) Last(int) (telemetry.Time, bool) { return 1000e9, true }
func (flat) Cadence(int) telemetry.Duration  { return 1e9 }
func (flat) Chosen(slot int) int             { return slot }

func (flat) ClosedOf(int) (telemetry.Time, bool) { return 1000e9, true }

func reference(b *testing.B) (*topology.Graph, symptom.Where) {
	b.Helper()
	s, err := site.New(site.Reference())
	if err != nil {
		b.Fatal(err)
	}
	g := topology.New()
	s.Edges(func(e telemetry.Edge) bool { g.Add(&e); return true })
	at := symptom.Where{Job: telemetry.Entity{Kind: telemetry.Job, Name: "big"}}
	for n := range s.Nodes {
		g.Add(&telemetry.Edge{From: at.Job, To: site.NodeName(n), Relation: telemetry.Runs, Source: "slurm"})
		at.Nodes = append(at.Nodes, site.NodeName(n))
	}
	for c := range s.Cables() {
		lower, upper := s.Cable(c)
		at.Ends = append(at.Ends, lower, upper)
	}
	g.Advance(1)
	return g, at
}

func serial(n int, fn func(slice, lo, hi int)) { fn(0, 0, n) }

// BenchmarkReferenceSite judges a job on all 16,384 GPUs of the reference site:
// what it depends on is surveyed once, the time before is read once, the rest again
// at every judgement.
func BenchmarkReferenceSite(b *testing.B) {
	set, err := rules.Standard()
	if err != nil {
		b.Fatal(err)
	}
	g, at := reference(b)
	plan := symptom.NewPlan(explain.Compile(set.Signatures), telemetry.DefaultCatalogue())
	survey := symptom.Draw(g, at)
	src := symptom.Source{History: flat{map[telemetry.MetricName]int{}}, Steps: &jobs.PerStep{}, Grid: 1e9, Each: serial}
	b.Run("draw", func(b *testing.B) {
		for range b.N {
			symptom.Draw(g, at)
		}
	})
	b.Run("before", func(b *testing.B) {
		for range b.N {
			symptom.Keep(plan.Read(survey, src, symptom.Span{From: 900e9, To: 996e9}, false))
		}
	})
	before := symptom.Keep(plan.Read(survey, src, symptom.Span{From: 900e9, To: 996e9}, false))
	b.Run("judge", func(b *testing.B) {
		for range b.N {
			now := plan.Read(survey, src, symptom.Span{From: 996e9, To: 1000e9}, true)
			c := symptom.Compare(now, before.On(plan, survey), symptom.Degradation{Slowdown: 1.2, Excess: 1})
			for _, s := range c.Suspects() {
				c.Measure(s, explain.Values{})
			}
			c.Strongest()
		}
	})
}
