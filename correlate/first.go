package correlate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// Who was the first of a job's members to fail or to fall behind: the first
// whose GPU reported an error, whose machine has no data any more, whose link went down,
// or whose compute time was certainly longer than its own before and its peers'
// now.

const (
	// firstBefore is how long before a degradation the first failure may have
	// happened.
	firstBefore = telemetry.Duration(60e9)
	// lateShare is the least part of its compute time by which a rank is late, and
	// lateSpreads how many deviations of its peers' lateness.
	lateShare, lateSpreads = 0.03, 6
	// latePeers ranks must be seen for one to be late among them.
	latePeers = 4
)

// failure reports whether an event means that a member of a job failed.
func failure(name telemetry.EventName) bool {
	return name == telemetry.EventXID || name == telemetry.EventLinkDown
}

// first finds which rank or host failed or fell behind first, as far as it is known
// by grid g; false where none did.
func (e *examiner) first(c *incidentCase, h *jobs.Degradation, g telemetry.Time) (explain.First, bool) {
	var all []explain.First
	from := h.Onset.Earliest.Add(-firstBefore)
	on := func(x telemetry.Entity) (telemetry.Entity, bool) {
		n, ok := e.graph.Within(x, telemetry.Node)
		return n, ok && in(c.nodes, n)
	}
	for i := range e.memory.processed {
		ev := &e.memory.processed[i]
		if ev.At < from || ev.At > g || !failure(ev.Name) {
			continue
		}
		if n, ok := on(ev.Entity); ok {
			all = append(all, explain.First{Entity: ev.Entity, Node: n, At: telemetry.Interval{Earliest: ev.At.Add(-e.cfg.Grid), Latest: ev.At},
				Why: strings.TrimSpace(string(ev.Name) + " " + ev.Text)})
		}
	}
	for _, gap := range e.memory.gaps {
		n := telemetry.Entity{Kind: telemetry.Node, Name: gap.Source.Target}
		if gap.From >= from && gap.From <= h.Onset.Latest.Add(firstBefore) && in(c.nodes, n) {
			all = append(all, explain.First{Entity: n, Node: n, At: telemetry.Interval{Earliest: gap.From, Latest: gap.From.Add(3 * e.cfg.Grid)},
				Why: "no more data of it from " + gap.Source.Collector})
		}
	}
	if late, ok := e.firstLate(c, h); ok {
		all = append(all, late)
	}
	if len(all) == 0 {
		return explain.First{}, false
	}
	// Machines come before ranks where both fail in the same instant: the
	// rank is late because of it.
	return slices.MinFunc(all, func(a, b explain.First) int {
		return cmp.Or(cmp.Compare(a.At.Latest, b.At.Latest), a.Entity.Compare(b.Entity))
	}), true
}

// lateness is a rank's compute time in one step beyond its own before.
type lateness struct {
	rank int // in the job's ranks
	at   telemetry.Time
	by   float64 // as part of the time before
}

// firstLate finds the rank that was late first: in the first step with a rank that
// was certainly late, the latest one.
func (e *examiner) firstLate(c *incidentCase, h *jobs.Degradation) (explain.First, bool) {
	ranks := e.graph.Ranks(c.job)
	var all []lateness
	for i, r := range ranks {
		s := telemetry.Series{Entity: r, Metric: metricCompute}
		before, n := e.perStep.Before(s, h.Onset.Earliest, beforeCompute)
		if n < beforeCompute/2 || before <= 0 {
			continue
		}
		e.perStep.Each(s, h.Onset.Earliest.Add(-firstBefore), h.Onset.Latest.Add(firstBefore), func(at telemetry.Time, v float64) {
			all = append(all, lateness{i, at, v/before - 1})
		})
	}
	slices.SortStableFunc(all, func(a, b lateness) int { return cmp.Compare(a.at, b.at) })
	for len(all) > 0 {
		n := stepOf(all, seconds(h.Usual/2))
		if l, ok := latest(all[:n]); ok && l.by > 0 {
			node, _ := e.graph.RankNode(ranks[l.rank])
			return explain.First{Entity: ranks[l.rank], Node: node, At: telemetry.Interval{Earliest: l.at.Add(-seconds(h.Usual)), Latest: l.at},
				Why: fmt.Sprintf("it computed %.0f %% longer than before, its peers did not", float64(100*l.by))}, true
		}
		all = all[n:]
	}
	return explain.First{}, false
}

func seconds(x float64) telemetry.Duration { return telemetry.Duration(x * 1e9) }

// stepOf is how many of the values, by time, belong to the first one's step.
func stepOf(all []lateness, half telemetry.Duration) int {
	n := 1
	for n < len(all) && all[n].at.Sub(all[0].at) < half {
		n++
	}
	return n
}

// latest is the latest of one step's ranks, if it is certainly late beyond its
// peers.
func latest(step []lateness) (lateness, bool) {
	if len(step) < latePeers {
		return lateness{}, false
	}
	by := make([]float64, len(step))
	worst := step[0]
	for i, l := range step {
		by[i] = l.by
		if l.by > worst.by {
			worst = l
		}
	}
	median, mad := stats.MAD(by)
	beyond := worst.by - median
	return worst, beyond > lateShare && beyond > float64(lateSpreads*stats.Consistency*mad)
}

// keepFirst keeps who was first for as long as the case lasts: an earlier one
// replaces it, and that what showed it is forgotten does not.
func (e *examiner) keepFirst(c *incidentCase, h *jobs.Degradation, g telemetry.Time) *explain.First {
	f, ok := e.first(c, h, g)
	if ok && (c.first.Entity.IsZero() || f.At.Latest < c.first.At.Latest) {
		c.first = f
	}
	if c.first.Entity.IsZero() {
		return nil
	}
	out := c.first
	return &out
}

func codeFirst(k *snapshot.Codec, f *explain.First) {
	k.Entity(&f.Entity)
	k.Entity(&f.Node)
	k.Interval(&f.At)
	k.String(&f.Why)
}
