package whatif

import (
	"cmp"
	"slices"
)

// Slowdown is by how much the steps are longer than ideal if one part alone is
// as it was recorded and everything else is ideal.
type Slowdown struct {
	Name     string  `json:"name,omitempty"` // a kind of operation
	Rank     int     `json:"rank"`           // a data-parallel rank or a stage
	Slowdown float64 `json:"slowdown"`
}

// Worker is one data-parallel rank at one stage.
type Worker struct {
	DP       int     `json:"dp"`
	PP       int     `json:"pp"`
	Slowdown float64 `json:"slowdown"` // the lesser of its rank's and its stage's
}

// Report is what became of a timeline. Seconds are means over its steps.
type Report struct {
	Steps      int        `json:"steps"`
	DP         int        `json:"dp"`
	PP         int        `json:"pp"`
	Seconds    float64    `json:"step_seconds"`       // as recorded, without the gaps in which nothing was launched
	Ideal      float64    `json:"ideal_step_seconds"` // without stragglers
	Slowdown   float64    `json:"slowdown"`           // S of the paper: Seconds over Ideal
	Operations []Slowdown `json:"by_operation"`
	Ranks      []Slowdown `json:"by_dp_rank"`
	Stages     []Slowdown `json:"by_stage"`
	Workers    []Worker   `json:"worst_workers"`
	// WorstWorkers is M_W: the part of the lost time that goes away if the worst
	// 3 % of the workers are ideal; LastStage is M_S, the same of the last stage.
	WorstWorkers float64 `json:"worst_workers_share"`
	LastStage    float64 `json:"last_stage_share"`
	// Pairing is the correlation between a microbatch's forward and backward
	// computing time among those of one worker and step: where sequences differ
	// in length, both do.
	Pairing   float64 `json:"forward_backward_correlation"`
	Collector float64 `json:"collector_share"` // part of the lost time that collector pauses alone bring about
	Verdict   Verdict `json:"verdict"`
	Why       string  `json:"why"`
}

// analysis holds what all questions about a timeline need.
type analysis struct {
	t     *Timeline
	sim   *simulator
	ideal [][]float64
	mixed [][]float64 // scratch
	base  float64     // mean ideal step
	real  float64     // mean step as recorded
}

// Analyse asks a timeline what its steps would have taken.
func Analyse(t *Timeline) (*Report, error) {
	p, err := planOf(t)
	if err != nil {
		return nil, err
	}
	a := &analysis{t: t, sim: newSimulator(t, p), ideal: ideal(t), mixed: make([][]float64, len(t.ops))}
	a.base, a.real = mean(a.sim.steps(a.ideal)), mean(a.sim.steps(t.lengths))
	r := &Report{Steps: len(t.Steps), DP: t.DP, PP: t.PP, Seconds: a.real, Ideal: a.base, Slowdown: ratio(a.real, a.base)}
	r.Operations, r.Ranks, r.Stages = a.operations(), a.ranks(), a.stages()
	r.Workers = workers(r.Ranks, r.Stages)
	worst := r.Workers[:(len(r.Workers)*3+99)/100] // 3 %, as in the paper
	r.WorstWorkers = a.without(func(o, lane int) bool {
		return slices.ContainsFunc(worst, func(w Worker) bool { return w.DP == lane%t.DP && w.PP == t.ops[o].stage })
	})
	r.LastStage = a.without(func(o, _ int) bool { return t.ops[o].stage == t.PP-1 })
	r.Collector = a.share(func(o, _ int) bool { return t.ops[o].kind == collector })
	r.Pairing = pairing(t)
	r.judge()
	return r, nil
}

// ideal gives every operation what its kind usually takes: computing the mean,
// communication the median, over all stages, ranks and steps.
func ideal(t *Timeline) [][]float64 {
	values := map[string][]float64{}
	for o := range t.ops {
		values[t.ops[o].kind] = append(values[t.ops[o].kind], t.lengths[o]...)
	}
	usual := map[string]float64{}
	for kind, v := range values {
		if communication(kind) {
			usual[kind] = median(v)
		} else {
			usual[kind] = mean(v)
		}
	}
	out := make([][]float64, len(t.ops))
	for o := range out {
		out[o] = slices.Repeat([]float64{usual[t.ops[o].kind]}, t.lanes())
	}
	return out
}

// with is the mean step where the chosen operations are as in a and the others
// as in b.
func (a *analysis) with(chosen func(o, lane int) bool, x, y [][]float64) float64 {
	for o := range a.mixed {
		a.mixed[o] = append(a.mixed[o][:0], y[o]...)
		for lane := range a.mixed[o] {
			if chosen(o, lane) {
				a.mixed[o][lane] = x[o][lane]
			}
		}
	}
	return mean(a.sim.steps(a.mixed))
}

// alone is the slowdown if only the chosen operations are as recorded.
func (a *analysis) alone(chosen func(o, lane int) bool) float64 {
	return ratio(a.with(chosen, a.t.lengths, a.ideal), a.base)
}

// share is the part of the lost time that the chosen operations alone bring.
func (a *analysis) share(chosen func(o, lane int) bool) float64 {
	return ratio(a.with(chosen, a.t.lengths, a.ideal)-a.base, a.real-a.base)
}

// without is the part of the lost time that goes away if the chosen operations
// are ideal.
func (a *analysis) without(chosen func(o, lane int) bool) float64 {
	return ratio(a.real-a.with(chosen, a.ideal, a.t.lengths), a.real-a.base)
}

func (a *analysis) operations() []Slowdown {
	var out []Slowdown
	for _, kind := range kinds() {
		if slices.ContainsFunc(a.t.ops, func(o op) bool { return o.kind == kind }) {
			out = append(out, Slowdown{Name: kind, Slowdown: a.alone(func(o, _ int) bool { return a.t.ops[o].kind == kind })})
		}
	}
	return worstFirst(out)
}

func (a *analysis) ranks() []Slowdown {
	out := make([]Slowdown, a.t.DP)
	for dp := range out {
		out[dp] = Slowdown{Rank: dp, Slowdown: a.alone(func(_, lane int) bool { return lane%a.t.DP == dp })}
	}
	return worstFirst(out)
}

func (a *analysis) stages() []Slowdown {
	out := make([]Slowdown, a.t.PP)
	for pp := range out {
		out[pp] = Slowdown{Rank: pp, Slowdown: a.alone(func(o, _ int) bool { return a.t.ops[o].stage == pp })}
	}
	return worstFirst(out)
}

func worstFirst(s []Slowdown) []Slowdown {
	slices.SortStableFunc(s, func(a, b Slowdown) int { return cmp.Compare(b.Slowdown, a.Slowdown) })
	return s
}

// workers ranks every worker by the lesser slowdown of its rank and its stage.
func workers(ranks, stages []Slowdown) []Worker {
	var out []Worker
	for _, d := range ranks {
		for _, p := range stages {
			out = append(out, Worker{d.Rank, p.Rank, min(d.Slowdown, p.Slowdown)})
		}
	}
	slices.SortStableFunc(out, func(a, b Worker) int { return cmp.Compare(b.Slowdown, a.Slowdown) })
	return out
}
