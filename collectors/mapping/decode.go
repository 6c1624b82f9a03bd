package mapping

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/telemetry"
)

// File is one mapping file.
type File struct {
	Name   string // for people
	Port   int    // where the sender usually listens; 0: nowhere in particular
	rules  []*rule
	blanks []interval
}

// interval is a range of numbers by which a sender reports that it has no value.
type interval struct{ from, to float64 }

// maxFile bounds a mapping file, in bytes.
const maxFile = 1 << 20

// errNoDocument means that a file contains no mapping.
var errNoDocument = errors.New("no mapping in it")

// ReadFile reads a mapping file of a user's. Errors name file, line and column.
func ReadFile(path string) (*File, error) {
	b, err := entry.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	f, err := Decode(b)
	if err != nil {
		return nil, at(path, err)
	}
	return f, nil
}

// at prefixes every fault with a file's name.
func at(path string, err error) error {
	var out []error
	for line := range strings.Lines(err.Error()) {
		out = append(out, errors.New(path+":"+strings.TrimSuffix(line, "\n")))
	}
	return errors.Join(out...)
}

// Decode reads a mapping file: docs/collectors.md describes it. The error joins
// an *entry.Fault for everything that is wrong.
func Decode(b []byte) (*File, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, errNoDocument
	}
	d := &decoder{r: entry.NewReader("mapping"), catalogue: telemetry.DefaultCatalogue(), entities: map[string]place{}}
	f := &File{}
	d.r.Entry(&doc,
		entry.Key{Name: "mapping", Read: func(n *yaml.Node) { f.Name = d.r.Name(n, "mapping", 40) }},
		entry.Key{Name: "about", Read: func(n *yaml.Node) { d.r.Text(n, "about") }},
		entry.Key{Name: "port", Read: func(n *yaml.Node) { f.Port = d.port(n) }},
		entry.Key{Name: "blank", Read: func(n *yaml.Node) {
			d.r.List(n, "blank", func(x *yaml.Node) { f.blanks = append(f.blanks, d.interval(x)) })
		}},
		entry.Key{Name: "entities", Read: d.places},
		entry.Key{Name: "refuse", Read: func(n *yaml.Node) { d.r.List(n, "refuse", func(x *yaml.Node) { d.refusal(f, x) }) }},
		entry.Key{Name: "series", Read: func(n *yaml.Node) { d.r.List(n, "series", func(x *yaml.Node) { d.series(f, x) }) }},
	)
	if f.Name == "" && d.r.Err() == nil {
		d.r.Fail(&doc, "mapping: want the mapping's name")
	}
	if err := d.r.Err(); err != nil {
		return nil, err
	}
	for _, r := range f.rules {
		r.blanks = f.blanks
	}
	return f, nil
}

// decoder reads one file.
type decoder struct {
	r         *entry.Reader
	catalogue *telemetry.Catalogue
	entities  map[string]place
}

// place is an entity and what contains it.
type place struct{ of, in template }

func (d *decoder) port(n *yaml.Node) int {
	var v uint16
	if err := n.Decode(&v); err != nil || v == 0 {
		d.r.Fail(n, "port: want a number from 1 to 65535")
	}
	return int(v)
}

func (d *decoder) interval(n *yaml.Node) interval {
	var v []float64
	d.r.List(n, "blank", func(x *yaml.Node) { v = append(v, d.number(x, "blank").Float) })
	if len(v) != 2 || v[0] > v[1] {
		d.r.Fail(n, "blank: want the first and the last of a range")
		return interval{1, 0}
	}
	return interval{v[0], v[1]}
}

// number reads a number that is kept exactly.
func (d *decoder) number(n *yaml.Node, key string) Number {
	var f float64
	if err := n.Decode(&f); n.Kind != yaml.ScalarNode || err != nil {
		d.r.Fail(n, "%s: want a number, found %s", key, entry.KindOf(n))
		return Number{}
	}
	v := ParseNumber([]byte(n.Value), f)
	if !v.Exact {
		d.r.Fail(n, "%s: %.40s cannot be kept exactly", key, n.Value)
	}
	return v
}

// places reads the named entities.
func (d *decoder) places(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		d.r.Fail(n, "entities: want keys and values, found %s", entry.KindOf(n))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		var p place
		d.r.Entry(n.Content[i+1],
			entry.Key{Name: "of", Read: func(x *yaml.Node) { p.of = d.template(x, "of") }},
			entry.Key{Name: "in", Read: func(x *yaml.Node) { p.in = d.template(x, "in") }},
		)
		if p.of.text == "" {
			d.r.Fail(n.Content[i+1], "entities: %s: no of", n.Content[i].Value)
		}
		d.entities[n.Content[i].Value] = p
	}
}

func (d *decoder) template(n *yaml.Node, key string) template {
	text := d.r.Text(n, key)
	if text == "" {
		return template{}
	}
	t, err := parseTemplate(text)
	if err != nil {
		d.r.Fail(n, "%s: %v", key, err)
	}
	return t
}

// pattern reads a regular expression for the whole of a text.
func (d *decoder) pattern(n *yaml.Node, key string) *regexp.Regexp {
	text := ""
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || n.Value != "" { // an empty one is that of a label that is not there
		text = d.r.Name(n, key, 400)
	}
	p, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		d.r.Fail(n, "%s: %v", key, err)
	}
	return p
}

// from reads names, or patterns of names: what has a character that no name
// has is a pattern.
func (d *decoder) from(r *rule, n *yaml.Node) {
	one := func(x *yaml.Node) {
		if text := d.r.Text(x, "from"); strings.ContainsAny(text, `()[]*+?.\|^$`) {
			if p := d.pattern(x, "from"); p != nil {
				r.patterns = append(r.patterns, p)
			}
		} else if text != "" {
			r.names = append(r.names, text)
		}
	}
	if n.Kind == yaml.SequenceNode {
		d.r.List(n, "from", one)
		return
	}
	one(n)
}

func (d *decoder) where(r *rule, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		d.r.Fail(n, "where: want labels and patterns, found %s", entry.KindOf(n))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if p := d.pattern(n.Content[i+1], "where"); p != nil {
			r.where = append(r.where, condition{n.Content[i].Value, p})
		}
	}
}

// refusal reads what is refused, with the reason.
func (d *decoder) refusal(f *File, n *yaml.Node) {
	r := &rule{factor: IntNumber(1)}
	why := ""
	d.r.Entry(n,
		entry.Key{Name: "from", Read: func(x *yaml.Node) { d.from(r, x) }},
		entry.Key{Name: "where", Read: func(x *yaml.Node) { d.where(r, x) }},
		entry.Key{Name: "reason", Read: func(x *yaml.Node) {
			var words []string
			for _, w := range collectors.Reasons() {
				words = append(words, string(w))
			}
			r.refuse = collectors.Reason(d.r.OneOf(x, "reason", words...))
		}},
		entry.Key{Name: "why", Read: func(x *yaml.Node) { why = d.r.Text(x, "why") }},
	)
	if len(r.names)+len(r.patterns) == 0 || r.refuse == "" || why == "" {
		d.r.Fail(n, "refuse: want from, reason and why")
	}
	f.rules = append(f.rules, r)
}

// series reads what some names become.
func (d *decoder) series(f *File, n *yaml.Node) {
	r := &rule{factor: IntNumber(1)}
	var of, to *yaml.Node
	digits := -1
	d.r.Entry(n,
		entry.Key{Name: "from", Read: func(x *yaml.Node) { d.from(r, x) }},
		entry.Key{Name: "where", Read: func(x *yaml.Node) { d.where(r, x) }},
		entry.Key{Name: "of", Read: func(x *yaml.Node) { of = x }},
		entry.Key{Name: "to", Read: func(x *yaml.Node) {
			to, r.column.Metric = x, telemetry.MetricName(d.r.Name(x, "to", 128))
		}},
		entry.Key{Name: "times", Read: func(x *yaml.Node) { r.factor = d.number(x, "times") }},
		entry.Key{Name: "digits", Read: func(x *yaml.Node) { digits = d.r.Whole(x, "digits", 0, 15) }},
		entry.Key{Name: "is", Read: func(x *yaml.Node) { r.test, r.limit = equal, d.number(x, "is") }},
		entry.Key{Name: "above", Read: func(x *yaml.Node) { r.test, r.limit = above, d.number(x, "above") }},
		entry.Key{Name: "join", Read: func(x *yaml.Node) {
			r.join = join(slices.Index([]string{"first", "sum", "max"}, d.r.OneOf(x, "join", "first", "sum", "max")))
		}},
		entry.Key{Name: "histogram", Read: func(x *yaml.Node) {
			if d.r.Flag(x, "histogram") {
				r.as = histogram
			}
		}},
		entry.Key{Name: "per", Read: func(x *yaml.Node) { r.as, r.per = mean, d.r.Text(x, "per") }},
	)
	if len(r.names)+len(r.patterns) == 0 || of == nil || to == nil {
		d.r.Fail(n, "series: want from, of and to")
		return
	}
	d.place(r, of)
	d.column(r, to, digits)
	f.rules = append(f.rules, r)
}

// place sets the entity of the series.
func (d *decoder) place(r *rule, n *yaml.Node) {
	if p, ok := d.entities[n.Value]; ok {
		r.of, r.in = p.of, p.in
		return
	}
	if !strings.Contains(n.Value, ":") {
		d.r.Fail(n, "of: %.40q is no entity of this file: want one of %v, or kind:name", n.Value, slices.Sorted(maps.Keys(d.entities)))
		return
	}
	r.of = d.template(n, "of")
}

// column chooses the form in which the numbers are carried: integers for counters
// and states, decimals where the number of digits is given, else floats.
func (d *decoder) column(r *rule, n *yaml.Node, digits int) {
	known := []telemetry.MetricName{r.column.Metric}
	if r.as == histogram {
		known = []telemetry.MetricName{r.column.Metric + "_p50", r.column.Metric + "_p99"}
	}
	m, declared := d.catalogue.Lookup(known[0])
	if declared && r.of.kind != "" && !slices.Contains(m.Kinds, r.of.kind) {
		d.r.Fail(n, "to: %s is declared for %v, not for a %s", known[0], m.Kinds, r.of.kind)
	}
	if err := (telemetry.Column{Metric: r.column.Metric, Type: telemetry.Float}).Validate(); err != nil {
		d.r.Fail(n, "to: %v", err)
	}
	whole := strings.HasSuffix(string(r.column.Metric), "_total") || declared && m.Type != telemetry.Gauge || r.test != untested
	switch {
	case r.as != plain:
		r.column.Type = telemetry.Float
	case digits > 0:
		r.column.Type, r.column.Exp = telemetry.Decimal, uint8(digits)
	case whole || digits == 0:
		r.column.Type = telemetry.Uint
	default:
		r.column.Type = telemetry.Float
	}
}
