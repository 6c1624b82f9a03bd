package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxBlindSpots bounds the list; the remaining ones are reported as a number.
const maxBlindSpots = 12

// blindSpots lists what could not be seen and what the answer depends on: entries
// that the log lost, the metrics that would distinguish it from its family, the
// ends on the job's paths that are stale, and what of the chain comes from a source
// whose clock is off.
func (t *Writer) blindSpots(e *Evidence, best *Answer, chain []Link) []BlindSpot {
	out := append(missing(e.Missing), t.unreported(e)...)
	if best.Signature != nil {
		out = append(out, t.unmet(e, best)...)
	}
	if e.Fabric != nil {
		out = append(out, staleEnds(e)...)
	}
	if e.Symptoms != nil {
		for _, s := range lost(e, best) {
			if !slices.ContainsFunc(out, func(b BlindSpot) bool { return b.Entity == s.Entity }) {
				out = append(out, BlindSpot{Entity: s.Entity, Metric: s.Metric, Reason: "fell silent", WouldTell: "what it does since"})
			}
		}
	}
	out = append(out, untimely(e, chain)...)
	if extra := len(out) - maxBlindSpots; extra > 0 {
		out = out[:maxBlindSpots]
		out[maxBlindSpots-1].Reason += fmt.Sprintf(" (and %d more)", extra)
	}
	return out
}

// missing lists the intervals of which the log lost entries.
func missing(list []Missing) []BlindSpot {
	out := []BlindSpot{}
	for _, m := range list {
		entries := "entries of the log are"
		if m.Entries == 1 {
			entries = "entry of the log is"
		}
		out = append(out, BlindSpot{Entity: m.Site, Reason: fmt.Sprintf("%d %s missing between %s and %s", m.Entries, entries, m.From.Clock(), m.To.Clock()),
			WouldTell: "what was reported in that interval"})
	}
	return out
}

// unreported reports that a job states no steps, and what is compared in their place.
func (t *Writer) unreported(e *Evidence) []BlindSpot {
	if m := e.Degradation.Metric(); m != jobs.MeasureStep || t.Has(telemetry.Series{Entity: e.Job, Metric: m}) {
		return nil
	}
	return []BlindSpot{{Entity: e.Job, Metric: jobs.MeasureStep, Reason: "not reported: " + cmp.Or(e.Progress, "something else") + " is compared",
		WouldTell: "how long its steps take"}}
}

// untimely lists the links of a chain whose times are not comparable with those of
// others.
func untimely(e *Evidence, chain []Link) []BlindSpot {
	var out []BlindSpot
	for i := range chain {
		l := &chain[i]
		if e.ClockOff == nil || l.Metric == "" {
			continue
		}
		if e.ClockOff(telemetry.Series{Entity: l.Entity, Metric: l.Metric}) {
			// By how much is left out: it changes all the time, and a blind spot
			// that changes is a revision.
			out = append(out, BlindSpot{Entity: l.Entity, Metric: l.Metric, Reason: "its source's clock is off, or its samples travel, by more than a second",
				WouldTell: "whether it came before the rest or after"})
		}
	}
	return out
}

// lost lists the series that are stale and might have been evidence: those that the
// answer's features read, or, where no signature fits, any of the machine.
func lost(e *Evidence, best *Answer) []telemetry.Series {
	if best.Signature == nil {
		return e.Symptoms.StaleOfMachine(best.Entity)
	}
	return e.Symptoms.Stale(best.Entity, best.Signature)
}

// unmet lists the needs of a signature that the site does not show. A need of
// another kind of entity is looked up at what runs the job.
func (t *Writer) unmet(e *Evidence, best *Answer) []BlindSpot {
	var out []BlindSpot
	for _, n := range best.Signature.Needs {
		at, ok := best.Entity, n.On == best.Entity.Kind
		if n.On == telemetry.Rank {
			at, ok = rankOn(e, best.Entity)
		}
		if !ok && e.Symptoms != nil {
			at, ok = t.noneReported(e.Symptoms.Near(best.Entity, n.On), n.Metric)
		}
		if ok && !t.Has(telemetry.Series{Entity: at, Metric: n.Metric}) {
			out = append(out, BlindSpot{Entity: at, Metric: n.Metric, Reason: "no data", WouldTell: n.WouldTell})
		}
	}
	return out
}

// noneReported returns the first of some entities if none of them reports a metric.
func (t *Writer) noneReported(of []telemetry.Entity, m telemetry.MetricName) (telemetry.Entity, bool) {
	for _, x := range of {
		if t.Has(telemetry.Series{Entity: x, Metric: m}) {
			return telemetry.Entity{}, false
		}
	}
	if len(of) == 0 {
		return telemetry.Entity{}, false
	}
	return of[0], true
}

// rankOn returns the rank that represents a node, or the node itself where it has
// none with data.
func rankOn(e *Evidence, node telemetry.Entity) (telemetry.Entity, bool) {
	for _, h := range e.Hosts {
		if h.Node == node {
			if h.HasCompute {
				return h.Rank, true
			}
			return node, true
		}
	}
	return telemetry.Entity{}, false
}

// unreadFor is how many times as long as the interval of its samples an end on the job's
// paths is waited for, and mostUnread for how many seconds at most.
const unreadFor, mostUnread = 1.5, 30.0

// PathsUnread reports whether an answer is in the network while an end on the job's paths has
// not been read since the degradation began: that the waiting passes through it is not known.
func (e *Evidence) PathsUnread(a *Answer, g telemetry.Time) bool {
	f := e.Fabric
	if f == nil || a.Signature == nil || a.Signature.Domain != telemetry.Network {
		return false
	}
	since := float64(g.Sub(e.Degradation.Onset.Earliest)) / 1e9
	for i, on := range f.OnPath {
		if on && f.Before.Of[i].Seen > 0 && f.Now.Of[i].Seen == 0 && since < min(float64(unreadFor*f.Before.Of[i].Cadence), mostUnread) {
			return true
		}
	}
	return false
}

// staleEnds lists the ends on the job's paths that had data before the degradation and
// have none during it.
func staleEnds(e *Evidence) []BlindSpot {
	var out []BlindSpot
	f := e.Fabric
	for i, on := range f.OnPath {
		if on && f.Before.Of[i].Seen > 0 && f.Now.Of[i].Seen == 0 {
			out = append(out, BlindSpot{Entity: f.Now.Map.Ends[i].Port, Metric: "port_tx_bytes_total", Reason: "fell silent",
				WouldTell: "whether the waiting passes through it"})
		}
	}
	return out
}
