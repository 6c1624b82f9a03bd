package rules

import (
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// events lists the names that a feature may count.
func events() []string {
	return []string{string(telemetry.EventXID), string(telemetry.EventLinkDown), string(telemetry.EventLinkUp),
		string(telemetry.EventSMMasterChanged), string(telemetry.EventConfigChanged),
		string(telemetry.EventCheckpointStarted), string(telemetry.EventCheckpointEnded),
		string(telemetry.EventJobStarted), string(telemetry.EventJobFailed), string(telemetry.EventJobRestarted), string(telemetry.EventJobEnded),
		string(telemetry.EventMaintenanceStarted), string(telemetry.EventMaintenanceEnded)}
}

// soundReading checks what a feature reads: that the name is known and kept grid
// by grid, that the entity it is read of can have it, and that every key
// belongs to what is taken.
func (r *reader) soundReading(s *parsed, i int, v vocabulary) {
	c, p := &s.Features[i], s.at.readings[i]
	x := c.Reading
	one := func(p at, key, got string, want []string) {
		if !slices.Contains(want, got) {
			r.fail(p, "feature %s: %s: unknown %q; want one of %s", c.Name, key, got, strings.Join(want, ", "))
		}
	}
	one(p.of, "of", string(x.Of), names(explain.Scopes()))
	one(p.take, "take", string(x.Take), names(explain.Takes()))
	if x.Of.Many() {
		one(p.among, "among", string(x.Among), names(explain.Amongs()))
	} else if x.Among != "" {
		r.fail(p.among, "feature %s: among: there is only one entity of %s", c.Name, x.Of)
	}
	r.soundKind(c, p)
	r.soundBounds(c, p)
	if x.Event != "" {
		one(p.event, "event", x.Event, events())
		if x.Take != explain.TakeNow && x.Take != explain.TakeBefore {
			r.fail(p.take, "feature %s: take: events are counted; leave it out, or say \"before\"", c.Name)
		}
		return
	}
	if x.Text != "" {
		r.fail(p.metric, "feature %s: text belongs to an event", c.Name)
	}
	r.soundMetric(s, i, v)
}

func names[T any](docs []explain.WordDoc[T]) []string {
	var out []string
	for _, d := range docs {
		out = append(out, d.Text)
	}
	return out
}

// soundKind checks that kind is there where the scope needs it, and only where it may be: what
// is over an entity may be of any kind.
func (r *reader) soundKind(c *explain.Feature, p readingAt) {
	x := c.Reading
	needs := x.Of == explain.OfUnder || x.Of == explain.OfBeside
	switch {
	case needs && x.Kind == "":
		r.fail(p.of, "feature %s: of %s needs a kind: what is there is of many", c.Name, x.Of)
	case x.Kind != "" && !slices.Contains(telemetry.Kinds(), x.Kind):
		r.fail(p.kind, "feature %s: kind: unknown %q", c.Name, x.Kind)
	case x.Of == explain.OfRanks && x.Kind != telemetry.Rank:
		r.fail(p.kind, "feature %s: kind: ranks are of kind rank", c.Name)
	case !needs && x.Of != explain.OfOver && x.Of != explain.OfRanks && x.Kind != "":
		r.fail(p.kind, "feature %s: kind: of %s is one entity; leave it out", c.Name, x.Of)
	}
}

// soundBounds checks the keys that only one take or one way among many has.
func (r *reader) soundBounds(c *explain.Feature, p readingAt) {
	x := c.Reading
	if (x.Take == explain.TakeBits) != (x.Bits != 0) {
		r.fail(p.bits, "feature %s: take bits needs bits other than 0, and nothing else has them", c.Name)
	}
	bounds := 0
	if x.Above != nil {
		bounds++
	}
	if x.Below != nil {
		bounds++
	}
	switch {
	case x.Among == explain.AmongShare && bounds != 1:
		r.fail(p.among, "feature %s: among share needs either above or below", c.Name)
	case x.Among != explain.AmongShare && bounds > 0:
		r.fail(p.bound, "feature %s: above and below belong to among share", c.Name)
	case x.Among == explain.AmongShare && (outside(c.None) || outside(c.Full)):
		r.fail(p.among, "feature %s: a share is between 0 and 1, none is %g and full %g", c.Name, c.None, c.Full)
	}
}

func outside(share float64) bool { return share < 0 || share > 1 }

// soundMetric checks the metric against the catalogue and the kinds read.
func (r *reader) soundMetric(s *parsed, i int, v vocabulary) {
	c, p := &s.Features[i], s.at.readings[i]
	x := c.Reading
	m, ok := v.catalogue.Lookup(x.Metric)
	if !ok {
		r.fail(p.metric, "feature %s: metric: unknown %q", c.Name, x.Metric)
		return
	}
	switch {
	case !m.Evidence && !m.PerStep:
		r.fail(p.metric, "feature %s: metric %s: its past is not kept grid by grid, so no feature can read it", c.Name, x.Metric)
	case m.PerStep && (x.Take == explain.TakeBits || x.Take == explain.TakeNoData):
		r.fail(p.take, "feature %s: take %s: %s is reported once a step", c.Name, x.Take, x.Metric)
	case x.Take == explain.TakeExplained && (!m.PerStep || m.Unit != "seconds"):
		r.fail(p.take, "feature %s: take explained: %s is not seconds of a step", c.Name, x.Metric)
	case x.Take == explain.TakeBits && m.Type != telemetry.StateOf:
		r.fail(p.take, "feature %s: take bits: %s is no state", c.Name, x.Metric)
	}
	read := x.Kinds(s.Roots)
	if len(read) > 0 && !slices.ContainsFunc(read, func(k telemetry.Kind) bool { return slices.Contains(m.Kinds, k) }) {
		r.fail(p.metric, "feature %s: metric %s is not one of kind %s", c.Name, x.Metric, joined(read))
	}
}
