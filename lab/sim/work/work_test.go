package work_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/work"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// trains is a job on so many nodes of 8 GPUs.
func trains(t *testing.T, nodes int, with func(*work.Training)) *work.Job {
	t.Helper()
	tr := &work.Training{Tensor: 8, Pipeline: 1, Seconds: 3, Bound: 0.7, Microbatches: 16, Ring: 6e10, FLOPs: 4e11, Tokens: 1e6}
	with(tr)
	list := make([]int, nodes)
	for i := range list {
		list[i] = 3 * i
	}
	j, err := work.New(work.Spec{Name: "train", Nodes: list, Training: tr}, 8)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestPipelinesBubble: with stages alike a step takes (m+p−1)/m of a stage's
// computing, so that the bubble's share is (p−1)/(m+p−1).
func TestPipelinesBubble(t *testing.T) {
	for _, p := range []int{1, 2, 4, 8} {
		for _, m := range []int{1, 4, 16, 64} {
			j := trains(t, 8, func(tr *work.Training) { tr.Pipeline, tr.Microbatches = p, m })
			busy := slices.Repeat([]float64{3}, j.Ranks)
			took := j.Sync(busy)
			near(t, "step", took, 3*float64(m+p-1)/float64(m), 1e-12)
			near(t, "bubble", 1-3/took, float64(p-1)/float64(m+p-1), 1e-12)
		}
	}
}

// TestAllWaitForTheSlowest: one rank that takes longer by x makes the step
// longer by x where there is no pipeline, whichever it is; in a pipeline by
// nearly x, since its stage sets the pace.
func TestAllWaitForTheSlowest(t *testing.T) {
	flat := trains(t, 8, func(*work.Training) {})
	deep := trains(t, 8, func(tr *work.Training) { tr.Pipeline = 4 })
	for rank := range flat.Ranks {
		busy := slices.Repeat([]float64{3}, flat.Ranks)
		busy[rank] += 0.5
		near(t, "flat", flat.Sync(busy), 3.5, 1e-12)
		near(t, "deep", deep.Sync(busy), (3.5*15+3*3+3.5)/16, 1e-12)
	}
}

// TestPlaces: every rank has a place of its own, and groups have their sizes.
func TestPlaces(t *testing.T) {
	j := trains(t, 12, func(tr *work.Training) { tr.Tensor, tr.Pipeline, tr.Experts = 4, 3, 2 })
	seen := map[[2]int]bool{}
	stages, groups := map[int]int{}, map[[2]int]int{}
	for r := range j.Ranks {
		p := j.Place(r)
		seen[[2]int{p.Node, p.GPU}] = true
		stages[p.Pipeline]++
		groups[[2]int{p.Pipeline, p.Data}]++
		if p.Tensor != p.GPU%4 || p.Node%3 != 0 {
			t.Errorf("rank %d is at %+v", r, p)
		}
	}
	if len(seen) != 96 || len(stages) != 3 || stages[1] != 32 || len(groups) != 24 || groups[[2]int{2, 7}] != 4 {
		t.Errorf("%d places, stages %v, %d tensor groups", len(seen), stages, len(groups))
	}
}

// TestTrafficKeepsBytes: each node sends what the spec says, however many peers
// it is sampled over, and rings close within their stage.
func TestTrafficKeepsBytes(t *testing.T) {
	for _, nodes := range []int{8, 16, 64} {
		j := trains(t, nodes, func(tr *work.Training) { tr.Pipeline, tr.Experts, tr.Exchange, tr.Ring = 2, nodes/2, 5e9, 7e10 })
		sent, got := map[int]float64{}, map[int]float64{}
		for _, h := range j.Exchanges() {
			if h.From == h.To {
				t.Fatalf("%d sends to itself", h.From)
			}
			sent[h.From] += h.Bytes
			got[h.To] += h.Bytes
		}
		ring := map[int]int{}
		for _, h := range j.Rings() {
			ring[h.From] = h.To
		}
		for _, n := range j.Nodes {
			near(t, "sent", sent[n], 5e9, 1e-12)
			near(t, "taken", got[n], 5e9, 1e-12)
		}
		at, round := j.Nodes[0], 0
		for range nodes {
			at, round = ring[at], round+1
			if at == j.Nodes[0] {
				break
			}
		}
		if round != nodes/2 || len(ring) != nodes {
			t.Errorf("a ring of %d in a stage of %d", round, nodes/2)
		}
	}
}

// TestDrawsAreAddressed: what a step draws does not depend on what was drawn
// before, and computing is spread by about one percent.
func TestDrawsAreAddressed(t *testing.T) {
	j := trains(t, 64, func(*work.Training) {})
	seed, usual := random.New(7), work.Task{Work: 1}
	a, b := make([]work.Load, j.Ranks), make([]work.Load, j.Ranks)
	j.Draw(a, seed, 5, usual)
	for step := range 9 {
		j.Draw(b, seed, step, usual)
	}
	j.Draw(b, seed, 5, usual)
	if !slices.Equal(a, b) {
		t.Error("the fifth step depends on those before")
	}
	sum, square := 0.0, 0.0
	for _, l := range a {
		sum, square = sum+l.Seconds, square+l.Seconds*l.Seconds
		if l.SM < 0.1 || l.SM > 0.25 {
			t.Errorf("%v of the SMs wait", l.SM)
		}
	}
	mean := sum / float64(len(a))
	near(t, "mean", mean, 3, 0.01)
	near(t, "spread", math.Sqrt(square/float64(len(a))-mean*mean)/mean, 0.0108, 0.002)
	j.Draw(b, seed, 5, work.Task{Work: 1.5})
	near(t, "more work", b[9].Seconds, 1.5*a[9].Seconds, 1e-12)
	j.Draw(b, seed, 5, work.Task{Work: 1, Evaluates: true})
	near(t, "evaluation", b[9].Seconds, a[9].Seconds/3, 1e-12)
}

// TestUneven: more work for a stage and for the fullest expert is done by the ranks
// that hold them, and by no others.
func TestUneven(t *testing.T) {
	j := trains(t, 8, func(tr *work.Training) { tr.Pipeline, tr.Experts = 2, 4 })
	seed := random.New(7)
	even, odd := make([]work.Load, j.Ranks), make([]work.Load, j.Ranks)
	j.Draw(even, seed, 1, work.Task{Work: 1})
	j.Draw(odd, seed, 1, work.Task{Work: 1, Stage: 1, StageMore: 0.3, Experts: 0.4})
	for r := range even {
		want := even[r].Seconds
		if p := j.Place(r); p.Pipeline == 1 {
			want *= 1.3
		}
		if j.Place(r).Expert == 0 {
			want *= 1.2
		}
		near(t, "rank", odd[r].Seconds, want, 1e-12)
	}
}

// TestQueue holds the M/M/c formulas against closed forms for one and two
// servers, and their limits.
func TestQueue(t *testing.T) {
	for _, rho := range []float64{0.1, 0.5, 0.9} {
		near(t, "one waits", work.ErlangC(1, rho), rho, 1e-12)
		near(t, "one's wait", work.Wait(1, rho/2, 2), 2*rho/(1-rho), 1e-12)
		near(t, "two wait", work.ErlangC(2, 2*rho), 2*rho*rho/(1+rho), 1e-12)
		near(t, "a quantile of one's", work.WaitQuantile(1, rho/2, 2, 0.99), math.Max(0, 2*math.Log(rho*100)/(1-rho)), 1e-9)
	}
	if !math.IsInf(work.Wait(4, 4, 1), 1) || !math.IsInf(work.WaitQuantile(4, 5, 1, 0.5), 1) || work.ErlangC(4, 4) != 1 || work.ErlangC(4, 0) != 0 {
		t.Error("a full queue has no steady state, an empty one no wait")
	}
}

// TestMFU is the PaLM convention by hand: 1e6 tokens of 4e11 FLOP in 4 s on 64
// GPUs.
func TestMFU(t *testing.T) {
	j := trains(t, 8, func(*work.Training) {})
	near(t, "MFU", j.MFU(1e6, 4), 1e6*4e11/4/64/989.4e12, 1e-12)
}

func TestWhatCannotRun(t *testing.T) {
	good := func() work.Spec {
		return work.Spec{Name: "x", Nodes: []int{0, 1, 2, 3}, Training: &work.Training{Tensor: 8, Seconds: 3}}
	}
	if _, err := work.New(good(), 8); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*work.Spec){
		"without a name":   func(s *work.Spec) { s.Name = "" },
		"no nodes":         func(s *work.Spec) { s.Nodes = nil },
		"either training":  func(s *work.Spec) { s.Training = nil },
		"tensor-parallel":  func(s *work.Spec) { s.Training.Tensor = 3 },
		"stages":           func(s *work.Spec) { s.Training.Pipeline = 3 },
		"for experts":      func(s *work.Spec) { s.Training.Experts = 3 },
		"takes time":       func(s *work.Spec) { s.Training.Seconds = 0 },
		"not negative":     func(s *work.Spec) { s.Training.Ring = -1 },
		"both pools":       func(s *work.Spec) { s.Training, s.Serving = nil, &work.Serving{Prefill: 4} },
		"rates and length": func(s *work.Spec) { s.Training, s.Serving = nil, &work.Serving{Prefill: 1} },
	} {
		s := good()
		spoil(&s)
		if _, err := work.New(s, 8); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
