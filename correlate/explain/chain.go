package explain

import (
	"fmt"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxChain bounds the links of a chain between root and job.
const maxChain = 6

// fact is one observation of one entity: a metric that has changed.
type fact struct {
	entity      telemetry.Entity
	metric      telemetry.MetricName
	shape       telemetry.Shape
	before, now float64
	unit, why   string
	// level is the value of the series itself, in its own unit, above which it has
	// changed; zero where it has no such level.
	level float64
	turn
	// shown is the series that it was read from, where that is not the metric of
	// the entity: a NIC that gives no credits is seen at its switch.
	shown telemetry.Series
}

// series returns the series that shows a fact.
func (f *fact) series() telemetry.Series {
	if f.shown != (telemetry.Series{}) {
		return f.shown
	}
	return telemetry.Series{Entity: f.entity, Metric: f.metric}
}

// turn is how to find when a fact began, where it is not by its rise.
type turn struct {
	falls bool               // it is no longer as it was below the level
	at    telemetry.Interval // when it happened, where that is known
}

// chain lists the causes and effects from the root to the degraded job; relations
// come from the walk. facts are the links, and was is the last chain: an onset that
// the window no longer keeps is taken from it.
func (t *Writer) chain(e *Evidence, a *Answer, facts []fact, was []Link) []Link {
	links := make([]Link, len(facts))
	for k := range facts {
		f := &facts[k]
		l := Link{Entity: f.entity, Metric: f.metric, Shape: f.shape.String(), Before: round(f.before, 6), Now: round(f.now, 6), Unit: f.unit, Why: f.why}
		l.Onset = e.since(f, was)
		l.Domain = domainOf(e, a)
		if m, ok := t.Catalogue.Lookup(f.metric); ok {
			l.Domain = m.Domain
		}
		links[k] = l
	}
	return e.joined(inOrder(links))
}

// since is when a fact began: as it is seen now, else as it was seen before, else
// with the job's degradation.
func (e *Evidence) since(f *fact, was []Link) telemetry.Interval {
	at, seen := e.began(*f)
	if !seen {
		for i := range was {
			if was[i].Entity == f.entity && was[i].Metric == f.metric {
				return was[i].Onset
			}
		}
	}
	return at
}

// inOrder drops the links between root and job that surely began before the root
// or after the job's degradation: they are no effect of the one or no cause of the
// other.
func inOrder(links []Link) []Link {
	root, job := links[0].Onset, links[len(links)-1].Onset
	out := links[:0]
	for k, l := range links {
		between := k > 0 && k < len(links)-1
		if between && (root.CannotPrecede(l.Onset) || l.Onset.CannotPrecede(job)) {
			continue
		}
		out = append(out, l)
	}
	return out
}

// joined sets for each link how it follows from the one before it.
func (e *Evidence) joined(links []Link) []Link {
	for k := 1; k < len(links); k++ {
		l, prev := &links[k], &links[k-1]
		l.From = prev.Entity
		l.Relation = e.relation(prev.Entity, l.Entity)
		by, within := lag(prev.Onset, l.Onset)
		l.LagSeconds, l.LagUncertainty = round(by, 3), round(within, 3)
	}
	return links
}

// lag returns the time from cause to effect, between the middles of the two onsets,
// and its half width, in seconds.
func lag(cause, effect telemetry.Interval) (float64, float64) {
	middle := func(i telemetry.Interval) float64 { return (i.Earliest.Seconds() + i.Latest.Seconds()) / 2 }
	width := func(i telemetry.Interval) float64 { return float64(i.Latest-i.Earliest) / 2e9 }
	return middle(effect) - middle(cause), width(effect) + width(cause)
}

// relation is how the effect relates to the cause, by the topology where it leads
// from one to the other.
func (e *Evidence) relation(cause, effect telemetry.Entity) telemetry.Relation {
	if e.Symptoms != nil && effect.Kind != telemetry.Job {
		if r, ok := e.Symptoms.Relation(cause, effect); ok {
			return r
		}
	}
	return relation(cause, effect)
}

// relation is how the effect relates to the cause by their names alone.
func relation(cause, effect telemetry.Entity) telemetry.Relation {
	switch {
	case effect.Kind == telemetry.Job:
		return telemetry.Runs
	case cause.Kind == telemetry.Job:
		return telemetry.Runs
	case cause.Kind == telemetry.Node || effect.Kind == telemetry.Node:
		return telemetry.Contains
	case cause.Prefix() != "" && cause.Prefix() == effect.Prefix():
		return telemetry.Contains
	}
	return telemetry.Connects
}

// path is what is seen from the root towards the job: on machines and in the plant,
// and where the root is an end of a link or leads to one, in the fabric.
func (t *Writer) path(e *Evidence, a *Answer) []fact {
	out := t.placementPath(e, a)
	for _, f := range fabricOrHost(e, a) {
		out = appendFact(out, f)
	}
	return out[:min(len(out), maxChain)]
}

// fabricOrHost returns the observations of links and hosts.
func fabricOrHost(e *Evidence, a *Answer) []fact {
	if e.Fabric != nil {
		if i, ok := e.Fabric.Now.Map.Index(a.Entity); ok {
			return fabricPath(e, i)
		}
	}
	switch a.Entity.Kind {
	case telemetry.Node:
		return hostPath(e, a.Entity)
	case telemetry.Job:
		if a.Entity != e.Job {
			return neighbourPath(e, a.Entity)
		}
	}
	return nil
}

// fabricPath follows the blame back from end i to the job's own ends.
func fabricPath(e *Evidence, i int) []fact {
	var out []fact
	seen := map[int]bool{}
	for i >= 0 && !seen[i] && len(out) < maxChain {
		seen[i] = true
		out = append(out, endFact(e, i))
		i = e.Fabric.Blame.Via[i]
	}
	return out
}

// endFact is the strongest observation of an end: that it sends or receives pause,
// else that it has a queue.
func endFact(e *Evidence, i int) fact {
	f := e.Fabric
	m, end := f.Now.Map, &f.Now.Map.Ends[i]
	n, b := &f.Now.Of[i], &f.Before.Of[i]
	sent, received := n.PauseSent-b.PauseSent, n.PauseReceived-b.PauseReceived
	out := fact{entity: end.Port, shape: telemetry.ShapeBurst, unit: "s/s"}
	switch {
	case end.IsNIC() && sent > 0 && sent >= received:
		out.metric, out.before, out.now, out.level = "port_pfc_tx_pause_seconds_total", b.PauseSent, n.PauseSent, leaving(b.PauseSent, n.PauseSent)
		out.why = fmt.Sprintf("it sent pause %s of the time", Percent(n.PauseSent))
		return out.shownBy(e, m.PausingBy(i))
	case received > 0 && received >= n.Wait/2:
		out.metric, out.before, out.now, out.level = "port_pfc_rx_pause_seconds_total", b.PauseReceived, n.PauseReceived, leaving(b.PauseReceived, n.PauseReceived)
		out.why = fmt.Sprintf("it received pause %s of the time", Percent(n.PauseReceived))
		return out.shownBy(e, m.PausedBy(i))
	case end.IsNIC():
		out.metric, out.before, out.now, out.shape, out.unit = "port_tx_bytes_total", b.Util, n.Util, telemetry.ShapeShift, "of link"
		out.why = fmt.Sprintf("it sends at %s of its link", Percent(n.Util))
		return out
	}
	out.metric, out.before, out.now, out.shape, out.level = "port_queue_bytes", b.Wait, n.Wait, telemetry.ShapeLevel, end.BuildUpBytes()
	out.why = fmt.Sprintf("a queue was present %s of the time, at %s of the link's speed", Percent(n.Wait), Percent(n.Ceiling))
	return out.shownBy(e, m.QueuedBy(i))
}

// shownBy names the series that a fact was read from. One in another unit than the
// fact's has no level that is known beforehand.
func (f fact) shownBy(e *Evidence, slot int) fact {
	if slot < 0 || e.SeriesOf == nil {
		return f
	}
	f.shown = e.SeriesOf(slot)
	if f.shown.Metric != f.metric {
		f.metric, f.level = f.shown.Metric, 0
	}
	return f
}

func hostPath(e *Evidence, node telemetry.Entity) []fact {
	for _, h := range e.Hosts {
		if h.Node != node {
			continue
		}
		if longer := h.ComputeNow - h.ComputeBefore; h.HasLate && h.Late > float64(2*longer) {
			return []fact{{entity: h.Rank, metric: "rank_comm_wait_seconds", shape: telemetry.ShapeShift, now: h.Late, unit: "s",
				why: fmt.Sprintf("it lets the others wait %.2f s longer in a step than before, of which it computes %.2f s", h.Late, max(0, longer))}}
		}
		if h.HasCompute {
			return []fact{{entity: h.Rank, metric: "rank_compute_seconds", shape: telemetry.ShapeShift, before: h.ComputeBefore, now: h.ComputeNow, unit: "s",
				why: fmt.Sprintf("it computes %.2f s per step, before %.2f s", h.ComputeNow, h.ComputeBefore)}}
		}
		if nic, ok := firstNIC(e, node); ok {
			return []fact{{entity: nic, metric: "port_tx_bytes_total", shape: telemetry.ShapeShift, now: h.Lag.Seconds, unit: "s",
				why: fmt.Sprintf("in every step it sends %.2f ± %.2f s later than it did; no other host does", h.Lag.Seconds, h.Lag.Error)}}
		}
	}
	return nil
}

func firstNIC(e *Evidence, node telemetry.Entity) (telemetry.Entity, bool) {
	if e.Fabric == nil {
		return telemetry.Entity{}, false
	}
	m := e.Fabric.Now.Map
	for _, i := range m.Links(node) {
		return m.Ends[i].Port, true
	}
	return telemetry.Entity{}, false
}

// neighbourPath shows the other job's busiest NIC and the worst shared end.
func neighbourPath(e *Evidence, job telemetry.Entity) []fact {
	var out []fact
	f := e.Fabric
	m := f.Now.Map
	best, rise := -1, 0.0
	for _, o := range e.Others {
		if o.Job != job {
			continue
		}
		for _, node := range o.Nodes {
			for _, i := range m.Links(node) {
				if d := f.Now.Of[i].Util - f.Before.Of[i].Util; d > rise {
					best, rise = i, d
				}
			}
		}
	}
	if best >= 0 {
		n, b := f.Now.Of[best].Util, f.Before.Of[best].Util
		out = append(out, fact{entity: m.Ends[best].Port, metric: "port_tx_bytes_total", shape: telemetry.ShapeShift, before: b, now: n, unit: "of link",
			why: fmt.Sprintf("it sends at %s of its link, before %s", Percent(n), Percent(b)), level: float64(leaving(b, n) * m.Ends[best].Speed)})
	}
	if i := worst(f); i >= 0 {
		out = append(out, endFact(e, i))
	}
	return out
}

// worst is the end on the job's paths that waits most on its own account.
func worst(f *FabricEvidence) int {
	best, own := -1, 0.0
	for i, on := range f.OnPath {
		if w := f.Now.Own(f.Before, i); on && w > own {
			best, own = i, w
		}
	}
	return best
}

func jobFact(e *Evidence) fact {
	now := e.Loss().Step
	f := fact{entity: e.Job, metric: e.Degradation.Metric(), shape: jobShape(e), before: e.Degradation.Before, now: now, unit: "s"}
	f.at = e.Degradation.Onset
	switch {
	case f.before == 0 && now == 0:
		f.shape, f.why = telemetry.ShapeStall, "it has "+e.Degradation.State.String()+", and reported no step before"
	case f.metric == jobs.MeasureStep:
		f.why = fmt.Sprintf("a step takes %.2f s, before %.2f s", now, e.Degradation.Before)
	default:
		f.why = servedWords(f.metric, now, e.Degradation.Before)
	}
	return f
}

// servedWords describes a serving job's latency.
func servedWords(m telemetry.MetricName, now, before float64) string {
	what := "from token to token it takes"
	if m == jobs.MeasureTTFT {
		what = "to the first token it takes"
	}
	return fmt.Sprintf("%s %.0f ms, before %.0f ms", what, float64(1000*now), float64(1000*before))
}

// leaving is the value above which something is changing from before to now: a
// tenth of the difference, because what is found halfway began earlier.
func leaving(before, now float64) float64 { return before + (now-before)/10 }

func jobShape(e *Evidence) telemetry.Shape {
	if e.Degradation.Overdue > 0 && e.Degradation.Steps == 0 {
		return telemetry.ShapeStall
	}
	return telemetry.ShapeShift
}
