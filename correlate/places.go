package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/correlate/symptom"
	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

// ranksNow compares every rank of a case that reports its compute time with its
// past, and returns its place in the job's parallelism.
func (e *examiner) ranksNow(c *incidentCase, degradation *jobs.Degradation, g telemetry.Time) []explain.RankEvidence {
	at := map[int]topology.Placement{} // by the rank's number
	for _, p := range e.graph.Placements(c.job) {
		at[p.Rank] = p
	}
	var out []explain.RankEvidence
	for _, h := range c.hosts {
		rack, _ := e.graph.Container(h.node)
		for k, r := range h.ranks {
			p, ok := at[topology.RankNumber(r.rank)]
			if !ok {
				p.PP, p.EP = -1, -1
			}
			if now, n := e.perStep.Median(telemetry.Series{Entity: r.rank, Metric: metricCompute}, degradation.Begun(), degradation.End(g)); n > 0 {
				out = append(out, explain.RankEvidence{Rank: r.rank, PP: p.PP, EP: p.EP, Host: h.node, Rack: rack, Local: k, Before: r.compute, Now: now})
			}
		}
	}
	return out
}

// ranksBusy compares every rank with its past where ranks report nothing: by how
// long in a step its GPU computes.
func (e *examiner) ranksBusy(c *incidentCase, degradation *jobs.Degradation, read *symptom.Contrast) []explain.RankEvidence {
	step, ok := degradation.Now()
	if !ok || degradation.State != jobs.Slow {
		return nil
	}
	at := map[telemetry.Entity]topology.Placement{} // by the rank's GPU
	for _, p := range e.graph.Placements(c.job) {
		at[p.On] = p
	}
	var out []explain.RankEvidence
	var host, rack telemetry.Entity
	local := 0
	for _, gpu := range e.gpusOf(c.job) {
		if node, _ := e.graph.Container(gpu); node != host {
			host, local = node, 0
			rack, _ = e.graph.Container(node)
		}
		p, ok := at[gpu]
		if !ok {
			p.Who, p.PP, p.EP = gpu, -1, -1
		}
		if before, now, ok := read.Busy(gpu); ok {
			out = append(out, explain.RankEvidence{Rank: p.Who, PP: p.PP, EP: p.EP, Host: host, Rack: rack, Local: local, Before: float64(before.Of * degradation.Before), Now: float64(now.Of * step),
				Err: stats.Quadrature(float64(before.Err*degradation.Before), float64(now.Err*step))})
		}
		local++
	}
	return out
}

// wander returns by how many seconds, in the mean over the degradation's steps, the latest
// of a host's ranks, now one and now another, computes longer than before, beyond the one
// that does so most: a rank that is slow now and then is one rank all the same.
func (e *examiner) wander(h hostBefore, degradation *jobs.Degradation, g telemetry.Time) (float64, bool) {
	var worst []float64 // by step, the last one first
	most := 0.0
	for _, r := range h.ranks {
		if r.compute == 0 {
			continue
		}
		vs := e.perStep.Values(telemetry.Series{Entity: r.rank, Metric: metricCompute}, degradation.Begun(), degradation.End(g))
		slices.Reverse(vs)
		for k, v := range vs {
			if k == len(worst) {
				worst = append(worst, v-r.compute)
			}
			worst[k] = max(worst[k], v-r.compute)
		}
		if len(vs) > 0 {
			most = max(most, stats.Mean(vs)-r.compute)
		}
	}
	if len(worst) == 0 {
		return 0, false
	}
	return max(0, stats.Mean(worst)-most), true
}
