package redfish

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/telemetry"
)

//go:embed mapping.yaml
var standard []byte

// pace is how often a resource is asked for.
type pace uint8

const (
	still pace = iota // with the walk: nothing in it moves
	slow              // inventory, collections, counters
	fast              // power, temperatures, flows
)

// reach is how a rule's resources may be got.
type reach uint8

const (
	byPage   reach = iota // by a request each
	byExpand              // only where one request gets all of a collection
	byReport              // only out of metric reports
)

// rule defines what the resources of one place mean.
type rule struct {
	line     int
	path     pattern
	kinds    []telemetry.Kind // what the service must be; empty: anything
	chassis  []string         // types that the chassis around it may have; empty: any
	each     []string         // a list inside the resource: the rule is for each item
	when     []condition
	entity   template
	named    bool // only where the configuration says which entity it is
	pace     pace
	reach    reach
	readings []readingRule
	traits   []string // properties that are configuration
	edges    []edgeRule
}

// condition requires one of some words at a place; "" matches none.
type condition struct {
	place []string
	words []string
}

// readingRule defines what a property means.
type readingRule struct {
	place    []string
	unit     unit
	unitFrom []string // the property that states the unit
	words    []meaning
	combine  string // min or max over all that say something of one series; "" none
	exempt   bool   // a counter: no number of it is a sentinel
	measure  measure
}

// meaning is the value of a word of a state; empty where the word means unknown.
type meaning struct {
	word  string
	value uint64
	known bool
}

type edgeRule struct {
	relation telemetry.Relation
	from, to template
}

// notice defines the name of a log entry or an event.
type notice struct {
	message string         // pattern of MessageId; "" any
	text    *regexp.Regexp // of message and arguments; nil any
	event   telemetry.EventName
	format  string // with the expression's groups; "" the message
}

// mapping is all rules.
type mapping struct {
	rules     []rule
	notices   []notice
	logs      []pattern // logs that are read
	sentinels []string
}

const (
	maxMapping = 1 << 20
	maxRules   = 1000
)

// loadMapping joins the mapping that comes with the program to those of files: a
// user's file takes precedence.
func loadMapping(files []string) (*mapping, error) {
	var m mapping
	var faults []error
	for _, f := range files {
		b, err := entry.ReadFile(f, maxMapping)
		if err == nil {
			err = m.add(b)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("redfish: mapping %s: %w", f, err))
		}
	}
	if err := m.add(standard); err != nil {
		faults = append(faults, fmt.Errorf("redfish: mapping: %w", err))
	}
	return &m, errors.Join(faults...)
}

// add reads one document. Faults carry line and column.
func (m *mapping) add(text []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return err
	}
	r := entry.NewReader("mapping")
	version := 0
	r.Entry(&doc,
		entry.Key{Name: "version", Read: func(n *yaml.Node) { version = r.Whole(n, "version", 1, 1) }},
		entry.Key{Name: "sentinels", Read: func(n *yaml.Node) {
			r.List(n, "sentinels", func(x *yaml.Node) {
				if !plainNumber(x.Value) {
					r.Fail(x, "sentinels: want a number, found %s", entry.KindOf(x))
				}
				m.sentinels = append(m.sentinels, x.Value)
			})
		}},
		entry.Key{Name: "logs", Read: func(n *yaml.Node) {
			r.List(n, "logs", func(x *yaml.Node) { m.logs = append(m.logs, readPattern(r, x, "logs")) })
		}},
		entry.Key{Name: "events", Read: func(n *yaml.Node) {
			r.List(n, "events", func(x *yaml.Node) { m.notices = append(m.notices, readNotice(r, x)) })
		}},
		entry.Key{Name: "rules", Read: func(n *yaml.Node) {
			r.List(n, "rules", func(x *yaml.Node) { m.rules = append(m.rules, readRules(r, x)...) })
		}},
	)
	if version == 0 && r.Err() == nil {
		return errors.New("version: missing, want 1")
	}
	if len(m.rules) > maxRules {
		return fmt.Errorf("%d rules, at most %d", len(m.rules), maxRules)
	}
	return r.Err()
}

func readPattern(r *entry.Reader, n *yaml.Node, key string) pattern {
	p, ok := compile(r.Text(n, key))
	if !ok {
		r.Fail(n, "%s: %.80q is no pattern of a path", key, n.Value)
	}
	return p
}

func readNotice(r *entry.Reader, n *yaml.Node) notice {
	var out notice
	r.Entry(n,
		entry.Key{Name: "message", Read: func(x *yaml.Node) {
			out.message = r.Text(x, "message")
			if _, err := path.Match(out.message, ""); err != nil {
				r.Fail(x, "message: %.80q: %v", x.Value, err)
			}
		}},
		entry.Key{Name: "text", Read: func(x *yaml.Node) {
			e, err := regexp.Compile(r.Text(x, "text"))
			if err != nil {
				r.Fail(x, "text: %v", err)
				return
			}
			out.text = e
		}},
		entry.Key{Name: "event", Read: func(x *yaml.Node) { out.event = telemetry.EventName(r.Name(x, "event", 64)) }},
		entry.Key{Name: "format", Read: func(x *yaml.Node) { out.format = r.Text(x, "format") }},
	)
	if out.event == "" {
		r.Fail(n, "event: missing")
	}
	if out.format != "" && out.text == nil {
		r.Fail(n, "format: nothing without text")
	}
	return out
}

// readRules reads one item: a rule for each of its paths.
func readRules(r *entry.Reader, n *yaml.Node) (all []rule) {
	out := rule{line: n.Line, pace: slow}
	var paths []pattern
	list := func(key string, to *[]string) entry.Key {
		return entry.Key{Name: key, Read: func(x *yaml.Node) { *to = texts(r, x, key) }}
	}
	r.Entry(n,
		entry.Key{Name: "path", Read: func(x *yaml.Node) {
			if x.Kind == yaml.ScalarNode {
				paths = append(paths, readPattern(r, x, "path"))
				return
			}
			r.List(x, "path", func(y *yaml.Node) { paths = append(paths, readPattern(r, y, "path")) })
		}},
		entry.Key{Name: "for", Read: func(x *yaml.Node) {
			for _, k := range texts(r, x, "for") {
				if !slices.Contains(telemetry.Kinds(), telemetry.Kind(k)) {
					r.Fail(x, "for: unknown kind %q", k)
				}
				out.kinds = append(out.kinds, telemetry.Kind(k))
			}
		}},
		list("chassis", &out.chassis),
		entry.Key{Name: "each", Read: func(x *yaml.Node) { out.each = place(r.Text(x, "each")) }},
		entry.Key{Name: "when", Read: func(x *yaml.Node) { out.when = readConditions(r, x) }},
		entry.Key{Name: "entity", Read: func(x *yaml.Node) { out.entity = readTemplate(r, x, "entity") }},
		entry.Key{Name: "named", Read: func(x *yaml.Node) { out.named = r.Flag(x, "named") }},
		entry.Key{Name: "every", Read: func(x *yaml.Node) {
			out.pace = pace(slices.Index([]string{"still", "slow", "fast"}, r.OneOf(x, "every", "fast", "slow")))
		}},
		entry.Key{Name: "by", Read: func(x *yaml.Node) {
			out.reach = reach(slices.Index([]string{"page", "expand", "report"}, r.OneOf(x, "by", "page", "expand", "report")))
		}},
		entry.Key{Name: "readings", Read: func(x *yaml.Node) {
			r.List(x, "readings", func(y *yaml.Node) { out.readings = append(out.readings, readReading(r, y)) })
		}},
		list("traits", &out.traits),
		entry.Key{Name: "edges", Read: func(x *yaml.Node) {
			r.List(x, "edges", func(y *yaml.Node) { out.edges = append(out.edges, readEdge(r, y)) })
		}},
	)
	if len(paths) == 0 {
		r.Fail(n, "path: missing")
	}
	if len(out.entity) == 0 {
		out.entity = template{{name: "self"}}
	}
	if len(out.readings)+len(out.traits)+len(out.edges) == 0 {
		r.Fail(n, "a rule without readings, traits or edges")
	}
	for _, p := range paths {
		out.path = p
		all = append(all, out)
	}
	return all
}

func texts(r *entry.Reader, n *yaml.Node, key string) (out []string) {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	r.List(n, key, func(x *yaml.Node) {
		if x.Kind != yaml.ScalarNode {
			r.Fail(x, "%s: want text, found %s", key, entry.KindOf(x))
		}
		out = append(out, x.Value)
	})
	return out
}

// place cuts Status.State into its parts.
func place(s string) []string { return strings.Split(s, ".") }

func readConditions(r *entry.Reader, n *yaml.Node) (out []condition) {
	if n.Kind != yaml.MappingNode {
		r.Fail(n, "when: want keys and values, found %s", entry.KindOf(n))
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		out = append(out, condition{place(n.Content[i].Value), texts(r, n.Content[i+1], "when")})
	}
	return out
}

func readReading(r *entry.Reader, n *yaml.Node) readingRule {
	var out readingRule
	var metric, unitName string
	var unitAt *yaml.Node
	r.Entry(n,
		entry.Key{Name: "property", Read: func(x *yaml.Node) { out.place = place(r.Text(x, "property")) }},
		entry.Key{Name: "metric", Read: func(x *yaml.Node) { metric = r.Name(x, "metric", telemetry.MaxMetricBytes) }},
		entry.Key{Name: "unit", Read: func(x *yaml.Node) { unitName, unitAt = r.Text(x, "unit"), x }},
		entry.Key{Name: "unit_from", Read: func(x *yaml.Node) { out.unitFrom = place(r.Text(x, "unit_from")) }},
		entry.Key{Name: "words", Read: func(x *yaml.Node) { out.words = readWords(r, x) }},
		entry.Key{Name: "combine", Read: func(x *yaml.Node) { out.combine = r.OneOf(x, "combine", "min", "max") }},
	)
	if metric == "" || out.place == nil {
		r.Fail(n, "a reading needs property and metric")
		return out
	}
	out.measure = measureOf(telemetry.MetricName(metric), out.words != nil)
	out.exempt = strings.HasSuffix(metric, "_total")
	switch {
	case unitName != "":
		u, ok := unitNamed(unitName)
		if !ok || u.dimension != out.measure.dimension {
			r.Fail(unitAt, "unit: %q is no unit of %s", unitName, metric)
		}
		out.unit = u
	case out.unitFrom == nil && out.words == nil && out.measure.dimension != "":
		r.Fail(n, "%s: neither unit nor unit_from", metric)
	}
	if out.unit.mul == 0 {
		out.unit, _ = unitNamed("count")
	}
	return out
}

func readWords(r *entry.Reader, n *yaml.Node) (out []meaning) {
	if n.Kind != yaml.MappingNode {
		r.Fail(n, "words: want keys and values, found %s", entry.KindOf(n))
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		m := meaning{word: n.Content[i].Value}
		if v := n.Content[i+1]; v.Tag != "!!null" {
			m.known, m.value = true, uint64(r.Whole(v, "words: "+m.word, 0, 1<<30))
		}
		out = append(out, m)
	}
	return out
}

func readEdge(r *entry.Reader, n *yaml.Node) edgeRule {
	var out edgeRule
	r.Entry(n,
		entry.Key{Name: "relation", Read: func(x *yaml.Node) {
			rel, err := telemetry.ParseRelation(x.Value)
			if err != nil {
				r.Fail(x, "%v", err)
			}
			out.relation = rel
		}},
		entry.Key{Name: "from", Read: func(x *yaml.Node) { out.from = readTemplate(r, x, "from") }},
		entry.Key{Name: "to", Read: func(x *yaml.Node) { out.to = readTemplate(r, x, "to") }},
	)
	if out.relation == "" || out.from == nil || out.to == nil {
		r.Fail(n, "an edge needs relation, from and to")
	}
	return out
}

// period returns how often a pace asks.
func (p pace) period(c *Config) time.Duration {
	switch p {
	case fast:
		return c.Every
	case slow:
		return c.Slow
	}
	return c.Walk
}
