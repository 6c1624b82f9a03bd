package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// The views that users read between two records. Nothing here changes the engine:
// no query, however frequent, changes an answer. Everything is in identity order.

// JobView is how one job does. Lengths are seconds; nil is not known.
type JobView struct {
	Job       telemetry.Entity `json:"job"`
	State     string           `json:"state"` // a state of package jobs, or one of those below
	Step      *float64         `json:"step_seconds"`
	Usual     *float64         `json:"usual_step_seconds"`
	Slowdown  *float64         `json:"slowdown"` // the degradation's mean step over the expected one; of a healthy job the median of its last steps over the usual: one step with a checkpoint is no slowdown
	MFU       *float64         `json:"mfu"`
	GPUs      int              `json:"gpus"` // 0 where it is not known where the job runs
	Nodes     int              `json:"nodes"`
	Steps     uint64           `json:"steps"`
	LastStep  *telemetry.Time  `json:"last_step"`                    // when it ended
	Saved     bool             `json:"checkpoint_in_step,omitempty"` // the last step is longer than usual, and a checkpoint was reported in it
	Incidents []string         `json:"incidents"`                    // the open ones that include it
	// Goodput is the part of the time since the job started, or since the log
	// began if that was later, that was productive
	// (effective training time ratio); Redone the seconds of work that failures
	// have cost since the checkpoints before them, as far as those were reported.
	Goodput  *float64    `json:"goodput"`
	Redone   float64     `json:"work_lost_seconds"`
	Failures int         `json:"failures"`
	Phase    string      `json:"phase"` // what it does other than training, "" for training
	Recent   []jobs.Step `json:"-"`     // its last steps, the oldest first
}

// The states of a JobView in addition to those of package jobs.
const (
	JobNew   = "new"   // too few steps to know what is usual
	JobEnded = "ended" // no step is expected any more
)

// Jobs returns every job that runs somewhere or has reported.
func (e *Engine) Jobs() []JobView {
	var all []telemetry.Entity
	for _, j := range e.sight.book.Jobs() {
		all = append(all, j.Entity)
	}
	for _, t := range e.roll.running {
		all = append(all, t.job)
	}
	out := []JobView{}
	for _, job := range union(all, nil) {
		out = append(out, e.jobView(job))
	}
	return out
}

func (e *Engine) jobView(job telemetry.Entity) JobView {
	nodes := e.sight.nodes(job)
	v := JobView{Job: job, State: JobNew, Nodes: len(nodes), Incidents: []string{}}
	if len(nodes) > 0 || len(e.sight.graph.Ranks(job)) > 0 {
		v.GPUs = e.sight.gpus(job, nodes)
	}
	if i, ok := e.incidents.find(job); ok {
		if lead := e.incidents.primary(e.incidents.cases[i]); lead.published.Revision > 0 {
			v.Incidents = append(v.Incidents, lead.incident.ID)
		}
	}
	j := e.sight.book.Job(job)
	if j == nil {
		return v
	}
	v.Steps, v.Recent = j.Steps, slices.Clone(j.Recent)
	if j.LastEnd != 0 {
		last, step := j.LastEnd, j.Last
		v.LastStep, v.Step = &last, &step
		v.Saved = len(v.Recent) > 0 && v.Recent[len(v.Recent)-1].Saved
	}
	if mfu, ok := j.Utilisation(); ok {
		v.MFU = &mfu
	}
	v.judge(j)
	good := j.Goodput()
	if productive, wall := e.spent(j); wall > 0 {
		r := productive / wall
		v.Goodput = &r
	}
	v.Redone, v.Failures, v.Phase = good.Redone, good.Failures, j.Phase()
	return v
}

// spent returns the job's productive seconds and all of them, as far as its steps
// are visible.
func (e *Engine) spent(j *jobs.Job) (productive, wall float64) {
	good := j.Goodput()
	return good.Spent(e.earliest, j.Accounted(e.sight.at.Add(-e.sight.cfg.Lateness[telemetry.Prompt])))
}

// judge fills in what follows from the job's past.
func (v *JobView) judge(j *jobs.Job) {
	usual, known := j.Usual()
	if known {
		v.State, v.Usual = jobs.Healthy.String(), &usual
	}
	switch {
	case j.Degradation != nil:
		v.State = j.Degradation.State.String()
		if s, ok := attribute.Of(j.Degradation, 1).Slowdown(); ok {
			v.Slowdown = &s
		}
	case j.Over():
		v.State = JobEnded
	case known && usual > 0:
		s := stats.Median(lengths(v.Recent[max(0, len(v.Recent)-fewSteps):])) / usual
		v.Slowdown = &s
	}
}

// fewSteps are those whose median shows a healthy job: a checkpoint, or
// an evaluation, makes one or two of them long.
const fewSteps = 5

func lengths(steps []jobs.Step) []float64 {
	out := make([]float64, len(steps))
	for i, s := range steps {
		out[i] = s.Seconds
	}
	return out
}

// Live returns the open incidents as of the last judgement: under the number of
// the last published revision, with the fields that are refreshed without one. They share nothing with the engine that it writes again, but
// slices that it may read.
func (e *Engine) Live() []explain.Incident {
	out := []explain.Incident{}
	for _, lead := range e.incidents.cases {
		if !lead.under.IsZero() || lead.published.Revision == 0 || lead.resolved != 0 {
			continue
		}
		next := e.incidents.together(lead)
		next.Revision = lead.published.Revision
		for _, m := range e.incidents.members(lead) {
			next.Updated = max(next.Updated, m.incident.Updated)
			if b := m.concurrent; b != nil && b.published.Revision > 0 {
				second := b.incident.Placed()
				second.Revision = b.published.Revision
				out = append(out, second)
			}
		}
		out = append(out, next)
	}
	for _, r := range e.risks.open {
		out = append(out, r.incident)
	}
	slices.SortStableFunc(out, func(a, b explain.Incident) int { return a.Subject().Compare(b.Subject()) })
	return out
}

// Sources returns what is known of each source, by class and name.
func (e *Engine) Sources() []window.SourceState { return e.sight.sources() }

func (e *sight) sources() []window.SourceState {
	out := []window.SourceState{}
	e.window.Sources(func(s window.SourceState) { out = append(out, s) })
	return out
}

// TopologyQuery selects a part of the topology.
type TopologyQuery struct {
	Entity telemetry.Entity // zero: all of it, counted
	Hops   int              // how far from Entity
	Limit  int              // of entities, and of edges

	Kind   telemetry.Kind   // not empty: its entities instead, each with what is next to it
	Inside telemetry.Entity // of Kind, those directly in it; zero: all
	After  string           // of Kind, those whose names follow
}

// TopologyView is a part of the topology.
type TopologyView struct {
	Kinds []topology.KindCount // of the whole
	Stale int                  // edges that no source has renewed, of the whole
	topology.Excerpt
	Listed []topology.Detail // the entities of the kind asked for; Truncated reports that there are more
}

// Topology returns a part of the topology as of the last grid.
func (e *Engine) Topology(q TopologyQuery) TopologyView {
	v := TopologyView{Kinds: e.sight.graph.Count(), Stale: len(e.sight.graph.StaleEdges())}
	switch {
	case q.Kind != "":
		v.Listed, v.Truncated = e.sight.graph.List(topology.ListQuery{Kind: q.Kind, Inside: q.Inside, After: q.After, Limit: q.Limit})
	case q.Entity.IsZero():
		v.Excerpt = e.sight.graph.Whole(q.Limit)
	default:
		v.Excerpt = e.sight.graph.Around(q.Entity, q.Hops, q.Limit)
	}
	return v
}
