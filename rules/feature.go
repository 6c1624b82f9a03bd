package rules

import (
	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// readingAt is where the keys of a feature's reading are; a key that is not
// there has the feature's own place.
type readingAt struct{ measure, metric, event, of, kind, take, bits, among, bound at }

// draft is a feature while its keys are read: whether it has a measure or a
// reading shows only when all of them are known.
type draft struct {
	feature explain.Feature
	reading explain.Reading
	why     at
	at      readingAt
	keys    []string // the reading's keys that are there
	pro     bool     // "for" is there
	against bool     // "against" is there
}

func (r *reader) feature(n *yaml.Node, s *parsed) {
	p := place(n)
	d := &draft{why: p, at: readingAt{p, p, p, p, p, p, p, p, p}}
	c := &d.feature
	r.mapping(n, "feature", append([]field{
		{"name", true, func(n *yaml.Node) { c.Name = r.text(n, "name") }},
		{"measure", false, func(n *yaml.Node) { d.at.measure, c.Measure = place(n), r.measure(n) }},
		{"none", true, func(n *yaml.Node) { c.None = r.number(n, "none") }},
		{"full", true, func(n *yaml.Node) { c.Full = r.number(n, "full") }},
		{"for", false, func(n *yaml.Node) { c.For, d.pro = r.number(n, "for"), true }},
		{"against", false, func(n *yaml.Node) { c.Against, d.against = r.number(n, "against"), true }},
		{"required", false, func(n *yaml.Node) { c.Required, c.Either = r.flagOr(n, "required", "either") }},
		{"roots", false, func(n *yaml.Node) {
			r.list(n, "roots", func(n *yaml.Node) { c.Roots = append(c.Roots, telemetry.Kind(r.text(n, "roots"))) })
		}},
		{"why", false, func(n *yaml.Node) { d.why, c.Why = place(n), r.text(n, "why") }},
	}, r.readingFields(d)...))
	r.either(p, d)
	s.Features = append(s.Features, *c)
	s.at.features = append(s.at.features, p)
	s.at.whys = append(s.at.whys, d.why)
	s.featureWeighed = append(s.featureWeighed, missing)
	switch {
	case d.pro && d.against:
		s.featureWeighed[len(s.featureWeighed)-1] = stated
	case d.pro || d.against:
		r.fail(p, "feature %s: one of \"for\" and \"against\" without the other", c.Name)
	}
	s.at.readings = append(s.at.readings, d.at)
}

// readingFields are the keys of a feature that reads telemetry itself.
func (r *reader) readingFields(d *draft) []field {
	x := &d.reading
	word := func(key string, at *at, set func(string)) field {
		return field{key, false, func(n *yaml.Node) {
			*at, d.keys = place(n), append(d.keys, key)
			set(r.text(n, key))
		}}
	}
	bound := func(key string, to **float64) field {
		return field{key, false, func(n *yaml.Node) {
			v := r.number(n, key)
			d.at.bound, d.keys, *to = place(n), append(d.keys, key), &v
		}}
	}
	var ignored at
	return []field{
		word("metric", &d.at.metric, func(s string) { x.Metric = telemetry.MetricName(s) }),
		word("event", &d.at.event, func(s string) { x.Event = s }),
		word("text", &ignored, func(s string) { x.Text = s }),
		word("of", &d.at.of, func(s string) { x.Of = explain.Scope(s) }),
		word("kind", &d.at.kind, func(s string) { x.Kind = telemetry.Kind(s) }),
		word("take", &d.at.take, func(s string) { x.Take = r.take(d.at.take, s) }),
		{"bits", false, func(n *yaml.Node) {
			d.at.bits, d.keys, x.Bits = place(n), append(d.keys, "bits"), r.mask(n, "bits")
		}},
		word("among", &d.at.among, func(s string) { x.Among = explain.Among(s) }),
		bound("above", &x.Above), bound("below", &x.Below),
	}
}

// either decides whether a feature has a measure or a reading, and fills in the
// reading's defaults.
func (r *reader) either(p at, d *draft) {
	x := &d.reading
	switch {
	case d.feature.Measure != "" && len(d.keys) > 0:
		r.fail(p, "feature: a measure and %q: want a measure, or a reading of a metric or an event", d.keys[0])
		return
	case d.feature.Measure != "":
		return
	case x.Metric == "" && x.Event == "":
		r.fail(p, "feature: neither \"measure\" nor \"metric\" nor \"event\"")
		return
	case x.Metric != "" && x.Event != "":
		r.fail(p, "feature: both metric and event: want one of them")
		return
	}
	if x.Of == "" {
		x.Of = explain.OfRoot
	}
	if x.Of == explain.OfRanks && x.Kind == "" {
		x.Kind = telemetry.Rank
	}
	if x.Among == "" && x.Of.Many() {
		x.Among = explain.AmongMedian
	}
	if x.Event != "" && x.Take == "" {
		x.Take = explain.TakeNow
	}
	d.feature.Reading = x
}
