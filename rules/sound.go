package rules

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// actionKinds lists what a person can be asked to do: the kinds of actions.
func actionKinds() []string {
	return []string{"drain", "reseat", "replace", "reroute", "reset", "config", "wait", "call"}
}

// faults lists the faults that are known. A family may name one of them before it
// has a signature.
func faults() []string {
	return strings.Fields(`incast noisy-neighbour slow-receiver pfc-storm pcie-downgrade pfc-deadlock link-degraded
		ecmp-collision plane-imbalance link-errors silent-drop reordering link-flap link-down switch-down ber-drift
		ecn-misconfig headroom-misconfig qos-misconfig credit-stall sm-failover gpu-slow gpu-error nvlink-degraded node-down
		power-brake power-cap feed-loss coolant-flow-loss coolant-warm cold-plate fan-failure inlet-warm nic-hot leak
		input-stall storage-slow checkpoint-stall stage-imbalance expert-imbalance host-jitter slow-rank serving-overload
		workload-change unknown`)
}

// choice reads one of a closed list of words.
func (r *reader) choice(n *yaml.Node, key string, want []string) string {
	s := r.text(n, key)
	if s != "" && !slices.Contains(want, s) {
		r.fail(place(n), "%s: unknown %q; want one of %s", key, s, strings.Join(want, ", "))
	}
	return s
}

// vocabulary is what a signature may name.
type vocabulary struct {
	measures  []explain.MeasureDoc
	catalogue *telemetry.Catalogue
	features  []explain.Feature // whose values a text may name
}

// vocabulary is what the texts of s may name: its features, too.
func (s *parsed) vocabulary(v vocabulary) vocabulary {
	v.features = s.Features
	return v
}

// value reports whether a text may name a value: a measure, a feature, or what a
// feature of the root read before and now.
func (v vocabulary) value(name string) bool {
	feature, when, side := strings.Cut(name, ".")
	i := slices.IndexFunc(v.features, func(c explain.Feature) bool { return c.Name == feature })
	switch {
	case i < 0:
		return v.measure(explain.Measure(name))
	case !side:
		return true
	}
	x := v.features[i].Reading
	return x != nil && x.Metric != "" && !x.Of.Many() && (when == "before" || when == "now")
}

func (v vocabulary) measure(m explain.Measure) bool {
	return slices.ContainsFunc(v.measures, func(d explain.MeasureDoc) bool { return d.Name == m })
}

// sound checks what one signature says, beyond its form.
func (r *reader) sound(s *parsed, v vocabulary) {
	if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(s.Name) || s.Name == explain.Unknown {
		r.fail(s.at.name, "signature: %q is no name; want words of a-z and 0-9 joined by '-', not %q", s.Name, explain.Unknown)
	}
	r.soundRoots(s)
	for i := range s.Features {
		r.soundFeature(s, i, v)
	}
	if len(s.Features) == 0 {
		r.fail(s.at.name, "features: none; a signature without features cannot match")
	}
	for i := range s.Needs {
		r.soundNeed(s, i, v)
	}
	r.words(s.at.sentence, "sentence", s.Sentence, s.vocabulary(v), "root", "node", "job")
	r.soundPrecursor(s, v)
	for i, a := range s.Actions {
		r.words(s.at.texts[i], "text", a.Text, s.vocabulary(v), "root", "node", "job")
	}
	r.advise(s)
}

// soundPrecursor checks that a precursor reads the root's own gauges: what is known of
// it where no job is degraded.
func (r *reader) soundPrecursor(s *parsed, v vocabulary) {
	if s.Precursor == nil {
		return
	}
	for _, name := range slices.Concat(s.Precursor.Features, s.Precursor.While) {
		if !slices.ContainsFunc(s.Features, func(c explain.Feature) bool { return c.Name == name }) {
			r.fail(s.at.precursor, "precursor: no feature %q", name)
		}
	}
	for _, c := range s.PrecursorFeatures() {
		x := c.Reading
		switch {
		case c.OfLinks() || c.OfParts():
		case x == nil || x.Metric == "" || x.Of != explain.OfRoot || !slices.Contains([]explain.Take{explain.TakeNow, explain.TakeShift, explain.TakeRatio, explain.TakePeers}, x.Take):
			r.fail(s.at.precursor, "precursor: feature %s must read now, shift, ratio or peers of a metric of the root, or the share of what is under it whose ratio or shift is so, or be of measure went_down, down_now or peers_down", c.Name)
		case x.Take == explain.TakePeers && s.Precursor.Load == "":
			r.fail(s.at.precursor, "precursor: feature %s reads peers: load is required, the metric that it follows", c.Name)
		}
	}
	for _, c := range s.While() {
		if x := c.Reading; x == nil || x.Metric == "" || x.Of != explain.OfRoot || !slices.Contains([]explain.Take{explain.TakeNow, explain.TakeShift, explain.TakeRatio, explain.TakeBits}, x.Take) {
			r.fail(s.at.precursor, "precursor: feature %s of while must read now, shift, ratio or bits of a metric of the root", c.Name)
		}
	}
	for _, m := range []telemetry.MetricName{s.Precursor.Load, s.Precursor.Until} {
		if _, known := v.catalogue.Lookup(m); m != "" && !known {
			r.fail(s.at.precursor, "precursor: unknown metric %q", m)
		}
	}
	r.words(s.at.precursor, "sentence", s.Precursor.Sentence, s.vocabulary(v), "root", "node")
}

// advise warns of what a signature does without.
func (r *reader) advise(s *parsed) {
	if s.Doc == "" {
		r.warn(s.at.name, "doc: missing; say what the fault is and how it shows")
	}
	if len(s.Actions) == 0 {
		r.warn(s.at.name, "actions: none; say what a person should do")
	}
	if s.fires == 0 {
		r.warn(s.at.name, "no scenario fires-*.txtar beside it: nothing proves that it is found")
	}
	if s.silent == 0 {
		r.warn(s.at.name, "no scenario silent-*.txtar beside it: nothing proves that a near miss stays silent")
	}
}

func (r *reader) soundRoots(s *parsed) {
	if len(s.Roots) == 0 {
		r.fail(s.at.name, "roots: none")
	}
	for i, k := range s.Roots {
		switch {
		case !slices.Contains(telemetry.Kinds(), k):
			r.fail(s.at.roots[i], "roots: unknown kind %q", k)
		case slices.Contains(s.Roots[:i], k):
			r.fail(s.at.roots[i], "roots: kind %q twice", k)
		}
	}
}

func (r *reader) soundFeature(s *parsed, i int, v vocabulary) {
	c, p := &s.Features[i], s.at.features[i]
	if slices.ContainsFunc(s.Features[:i], func(o explain.Feature) bool { return o.Name == c.Name }) {
		r.fail(p, "feature %s: this name twice", c.Name)
	}
	if c.Measure != "" && !v.measure(c.Measure) {
		r.fail(p, "feature %s: measure: unknown %q", c.Name, c.Measure)
	}
	if c.None == c.Full {
		r.fail(p, "feature %s: none and full are both %g: no value could lie between", c.Name, c.None)
	}
	for _, k := range c.Roots {
		if !slices.Contains(s.Roots, k) {
			r.fail(p, "feature %s: roots: %q is none of the signature's", c.Name, k)
		}
	}
	if c.Reading != nil {
		r.soundReading(s, i, v)
	}
	if c.Why == "" {
		r.warn(p, "feature %s: why: missing; say what a reader sees", c.Name)
	}
	r.words(s.at.whys[i], "why", c.Why, s.vocabulary(v), "value", "root", "node", "job")
}

func (r *reader) soundNeed(s *parsed, i int, v vocabulary) {
	n, p := s.Needs[i], s.at.needs[i]
	if !slices.Contains(telemetry.Kinds(), n.On) {
		r.fail(p, "need: on: unknown kind %q", n.On)
		return
	}
	m, ok := v.catalogue.Lookup(n.Metric)
	switch {
	case !ok:
		r.fail(p, "need: metric: unknown %q", n.Metric)
	case len(m.Kinds) > 0 && !slices.Contains(m.Kinds, n.On):
		r.fail(p, "need: metric %s is not one of kind %s", n.Metric, n.On)
	}
}

// words checks the placeholders of a text: the names given, measures, and the
// signature's own features, which may be followed by "|percent".
func (r *reader) words(p at, key, text string, v vocabulary, names ...string) {
	for {
		_, rest, open := strings.Cut(text, "{")
		if !open {
			return
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			r.fail(p, "%s: a '{' is not closed", key)
			return
		}
		text = after
		base, format, formatted := strings.Cut(name, "|")
		switch {
		case formatted && format != "percent":
			r.fail(p, "%s: unknown format in {%s}; want percent or none", key, name)
		case slices.Contains(names, name), v.value(base), base == "value" && slices.Contains(names, base):
		default:
			r.fail(p, "%s: unknown placeholder {%s}; want %s, a measure or a feature's name", key, name, strings.Join(names, ", "))
		}
	}
}
