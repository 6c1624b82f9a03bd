package symptom_test

import (
	"math"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/symptom"
	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

// degradedAt is the second in which the job's degradation begins; it is judged at
// judgedAt.
const (
	degradedAt = 100
	judgedAt   = 120
)

func second(s int) telemetry.Time { return telemetry.Time(s) * 1e9 }

// hall is a small site whose series are written down: two coolant units, each with
// two racks' loops, two nodes a rack, two GPUs and a NIC a node, two PDUs. The job
// runs on all but the last rack.
type hall struct {
	cadence     telemetry.Duration // of every series; 0 is a second
	t           *testing.T
	edges       []telemetry.Edge
	series      []telemetry.Series // by slot
	value       []func(s int) (float64, bool)
	class       []telemetry.LatenessClass
	steps       jobs.PerStep
	events      []telemetry.Event
	degradation symptom.Degradation
	sigs        []explain.Signature
}

func entity(s string) telemetry.Entity {
	kind, name, _ := strings.Cut(s, ":")
	return telemetry.Entity{Kind: telemetry.Kind(kind), Name: name}
}

func newHall(t *testing.T) *hall {
	s := &hall{t: t, degradation: symptom.Degradation{Slowdown: 1.25, Excess: 1}}
	for _, line := range []string{
		"feed:a feeds pdu:p0", "feed:a feeds pdu:p1",
		"cdu:c0 contains pump:c0/0", "cdu:c0 contains pump:c0/1",
		"cdu:c0 cools loop:l0", "cdu:c0 cools loop:l1", "cdu:c1 cools loop:l2", "cdu:c1 cools loop:l3",
		"job:train uses storage:s0", "switch:leaf contains port:leaf/0",
	} {
		s.edge(line)
	}
	for n, name := range []string{"0", "1", "2", "3", "4", "5", "6", "7"} {
		rack := string(rune('0' + n/2))
		node := "n" + name
		s.edge("rack:r" + rack + " contains node:" + node)
		s.edge("rack:r" + rack + " contains loop:l" + rack)
		s.edge("loop:l" + rack + " cools node:" + node)
		s.edge("pdu:p" + string(rune('0'+n/4)) + " feeds node:" + node)
		s.edge("node:" + node + " contains fan:" + node + "/f")
		s.edge("node:" + node + " contains nic:" + node + "/k")
		s.edge("nic:" + node + "/k connects port:leaf/" + name)
		for _, g := range []string{"0", "1"} {
			s.edge("node:" + node + " contains gpu:" + node + "/" + g)
			if n < 6 {
				s.edge("job:train runs gpu:" + node + "/" + g)
				s.edge("rank:train/" + string(rune('0'+n)) + g + " runs gpu:" + node + "/" + g)
			}
		}
	}
	return s
}

func (s *hall) edge(line string) {
	f := strings.Fields(line)
	s.edges = append(s.edges, telemetry.Edge{From: entity(f[0]), Relation: telemetry.Relation(f[1]), To: entity(f[2]), Source: "file"})
}

// reports writes a series with one value before the degradation and another since; of
// several entities where the name lists them, separated by spaces.
func (s *hall) reports(of, metric string, before, now float64) {
	for _, name := range strings.Split(of, " ") {
		s.reportsLike(name, metric, func(sec int) (float64, bool) {
			if sec <= degradedAt {
				return before, true
			}
			return now, true
		})
	}
}

func (s *hall) reportsLike(of, metric string, f func(int) (float64, bool)) {
	x := telemetry.Series{Entity: entity(of), Metric: telemetry.MetricName(metric)}
	for i := range s.series {
		if s.series[i] == x {
			s.value[i] = f
			return
		}
	}
	s.series, s.value, s.class = append(s.series, x), append(s.value, f), append(s.class, telemetry.Prompt)
}

// clocks lets every GPU of the job keep its clock, except those named, which run at
// a part of it.
func (s *hall) clocks(part float64, slow ...string) {
	for _, g := range s.gpus() {
		s.reports(g, "gpu_sm_clock_hertz", 2e9, 2e9)
	}
	for _, g := range slow {
		s.reports(g, "gpu_sm_clock_hertz", 2e9, 2e9*part)
	}
}

func (s *hall) gpus() []string {
	var out []string
	for n := range 6 {
		out = append(out, "gpu:n"+string(rune('0'+n))+"/0", "gpu:n"+string(rune('0'+n))+"/1")
	}
	return out
}

// Slot and the other methods give the history that is written down.
func (s *hall) Slot(x telemetry.Series) (int, bool) {
	for i := range s.series {
		if s.series[i] == x {
			return i, true
		}
	}
	return 0, false
}

func (s *hall) At(slot int, g telemetry.Time) (float64, bool) { return s.value[slot](int(g / 1e9)) }

func (s *hall) Span(dst []float32, slot int, from, to telemetry.Time) []float32 {
	closed, _ := s.ClosedOf(slot)
	for g := from.Add(1e9); g <= min(to, closed); g = g.Add(1e9) {
		v, ok := s.At(slot, g)
		if !ok {
			v = math.NaN()
		}
		dst = append(dst, float32(v))
	}
	return dst
}

func (s *hall) Last(slot int) (telemetry.Time, bool) {
	closed, _ := s.ClosedOf(slot)
	for g := closed; g > 0; g = g.Add(-1e9) {
		if _, ok := s.At(slot, g); ok {
			return g, true
		}
	}
	return 0, false
}

func (s *hall) Cadence(int) telemetry.Duration { return max(s.cadence, 1e9) }
func (*hall) Chosen(slot int) int              { return slot }

func (s *hall) ClosedOf(slot int) (telemetry.Time, bool) {
	if s.class[slot] == telemetry.Prompt {
		return second(judgedAt), true
	}
	return second(judgedAt - 15), true
}

func (s *hall) graph() *topology.Graph {
	g := topology.New()
	for i := range s.edges {
		g.Add(&s.edges[i])
	}
	g.Advance(1)
	return g
}

func (s *hall) draw() *symptom.Survey {
	at := symptom.Where{Job: entity("job:train")}
	for n := range 6 {
		name := string(rune('0' + n))
		at.Nodes = append(at.Nodes, entity("node:n"+name))
		at.Ends = append(at.Ends, entity("nic:n"+name+"/k"), entity("port:leaf/"+name))
	}
	return symptom.Draw(s.graph(), at)
}

func (s *hall) plan() *symptom.Plan {
	return symptom.NewPlan(explain.Compile(s.sigs), telemetry.DefaultCatalogue())
}

func (s *hall) source() symptom.Source {
	return symptom.Source{History: s, Steps: &s.steps, Grid: 1e9, Each: func(n int, fn func(slice, lo, hi int)) { fn(0, 0, n/2); fn(1, n/2, n) }}
}

func (s *hall) contrast() *symptom.Contrast {
	return s.against(func(b *symptom.Baseline) *symptom.Baseline { return b })
}

// against judges the degradation against a baseline that was changed in some way.
func (s *hall) against(change func(*symptom.Baseline) *symptom.Baseline) *symptom.Contrast {
	p := s.plan()
	before := change(symptom.Keep(p.Read(s.draw(), s.source(), symptom.Span{From: second(4), To: second(degradedAt)}, false)))
	survey := s.draw()
	s.degradation.Span = symptom.Span{From: second(degradedAt), To: second(judgedAt)}
	s.degradation.Events = s.events
	return symptom.Compare(p.Read(survey, s.source(), s.degradation.Span, true), before.On(p, survey), s.degradation)
}

// asks lets a signature of these roots read something, so that it is planned.
func (s *hall) asks(roots string, readings ...*explain.Reading) {
	sig := explain.Signature{Name: "asks", Prior: -1}
	for _, k := range strings.Split(roots, " ") {
		sig.Roots = append(sig.Roots, telemetry.Kind(k))
	}
	for _, r := range readings {
		sig.Features = append(sig.Features, explain.Feature{Name: "c", Reading: r, Full: 1, For: 1})
	}
	s.sigs = append(s.sigs, sig)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }
