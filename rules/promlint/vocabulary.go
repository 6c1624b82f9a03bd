package promlint

import (
	"maps"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// labelSet is the labels that a series may have. A nil one may have any.
type labelSet map[string]bool

func setOf(names ...string) labelSet {
	out := labelSet{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

func (s labelSet) has(name string) bool { return s == nil || s[name] }

// with returns the labels of both; nil where either may have any.
func (s labelSet) with(o labelSet) labelSet {
	if s == nil || o == nil {
		return nil
	}
	out := maps.Clone(s)
	maps.Copy(out, o)
	return out
}

// meaning is what is known of a metric.
type meaning struct {
	labels  labelSet
	counter bool
	kinds   []string // the kinds of entity that state it; nil where that is no question
}

// Vocabulary is the metrics that there are.
type Vocabulary struct {
	metrics map[string]meaning
}

// Standard returns what this program's history can hold: the catalogue's
// metrics, the info series, our own metrics and what our own rules record.
func Standard() *Vocabulary {
	v := &Vocabulary{metrics: map[string]meaning{}}
	declared := telemetry.DefaultCatalogue().Metrics()
	for i := range declared {
		m := meaning{labels: setOf("kind", "name"), counter: declared[i].Type == telemetry.Counter}
		for _, k := range declared[i].Kinds {
			m.kinds = append(m.kinds, string(k))
			for _, l := range PartLabels(k) {
				m.labels[l] = true
			}
		}
		v.metrics[string(declared[i].Name)] = m
	}
	add := func(names map[string]string, more ...string) {
		for name, text := range names {
			m := meaning{counter: strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count")}
			if text != "*" {
				m.labels = setOf(append(strings.Fields(text), more...)...)
			}
			v.metrics[name] = m
		}
	}
	add(own())
	add(service(), "job", "instance")
	v.record(ours())
	return v
}

// PartLabels are the labels for the parts of a name of this kind, beside kind
// and name (docs/history.md).
func PartLabels(k telemetry.Kind) []string {
	if parts := k.Parts(); parts != nil {
		return parts
	}
	return []string{"parent", string(k)}
}

// Metrics lists the names, sorted.
func (v *Vocabulary) Metrics() []string { return slices.Sorted(maps.Keys(v.metrics)) }
