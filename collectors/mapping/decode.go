package mapping

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/settings"
)

// File is a mapping of labelled series.
type File struct {
	Name  string // for people
	Port  int    // where the sender usually listens; 0: nowhere in particular
	rules []*rule
}

// Document is the form of a mapping file of labelled series.
type Document struct {
	Header `yaml:",inline"`
	// Port is where the sender usually listens.
	Port int `yaml:"port" max:"65535"`
	// Blanks are numbers, and ranges of them, that mean that there is no value.
	Blanks [][]Number `yaml:"blank,single"`
	// Entities have names, by which rules refer to them.
	Entities map[string]Place `yaml:"entities"`
	// Refuse lists series that are not mapped, with the reason.
	Refuse []Refusal `yaml:"refuse"`
	// Rules define what series become.
	Rules []SeriesRule `yaml:"rules" was:"series"`

	file *File
}

// Place is an entity, what contains it, and the labels that it has.
type Place struct {
	Of    EntityTemplate `yaml:"of"`
	In    EntityTemplate `yaml:"in"`
	Where Where          `yaml:"where,single"`
}

// Validate reports a place without an entity.
func (p Place) Validate() error {
	if p.Of.Kind == "" {
		return errors.New("no of")
	}
	return nil
}

// Refusal is what is refused.
type Refusal struct {
	From   []Name            `yaml:"from,single"`
	Where  Where             `yaml:"where,single"`
	Reason collectors.Reason `yaml:"reason"`
	Why    string            `yaml:"why"`
}

// Validate reports what is missing.
func (r Refusal) Validate() error {
	switch {
	case len(r.From) == 0 || r.Reason == "" || r.Why == "":
		return errors.New("want from, reason and why")
	case !slices.Contains(collectors.Reasons(), r.Reason):
		return settings.Errorf("reason", "want one of %v, found %.40q", collectors.Reasons(), r.Reason)
	}
	return nil
}

// SeriesRule is what series of some names become.
type SeriesRule struct {
	From      []Name   `yaml:"from,single"`
	Where     Where    `yaml:"where,single"`
	Of        []string `yaml:"of,single"` // the first that applies
	Reading   `yaml:",inline"`
	Histogram bool   `yaml:"histogram"`
	Per       string `yaml:"per"`
}

// Name selects series by their names. What has a character that no name has is a
// pattern of whole names.
type Name struct {
	text    string
	pattern Whole // of a pattern
}

// Set reads a name or a pattern.
func (n *Name) Set(text string) error {
	if n.text = text; strings.ContainsAny(text, `()[]*+?.\|^$`) {
		return n.pattern.Set(text)
	}
	return nil
}

// Validate reports rules that mean nothing, and compiles the others.
func (d *Document) Validate() error {
	f := &File{Name: d.Name, Port: d.Port}
	d.file = f
	blanks, err := Blanks(d.Blanks)
	if f.Name == "" {
		err = errors.Join(err, errors.New("mapping: want the mapping's name"))
	}
	for i := range d.Refuse {
		f.rules = append(f.rules, newRule(d.Refuse[i].From, d.Refuse[i].Where))
		f.rules[i].refuse = d.Refuse[i].Reason
	}
	for i := range d.Rules {
		r, wrong := d.Rules[i].rule(d.Entities, blanks)
		if wrong != nil {
			err = errors.Join(err, Within("rules", i, wrong))
			continue
		}
		f.rules = append(f.rules, r)
	}
	return err
}

// Within places an error of an item of a list at the item, or at its key.
func Within(list string, i int, err error) error {
	key := fmt.Sprintf("%s.%d", list, i)
	var inner *settings.KeyError
	if errors.As(err, &inner) {
		return &settings.KeyError{Key: key + "." + inner.Key, Err: inner.Err}
	}
	return &settings.KeyError{Key: key, Err: err}
}

func newRule(from []Name, where Where) *rule {
	r := &rule{where: where}
	for _, n := range from {
		if n.pattern.Regexp != nil {
			r.patterns = append(r.patterns, n.pattern)
			continue
		}
		r.names = append(r.names, n.text)
	}
	return r
}

// rule compiles what some names become.
func (s *SeriesRule) rule(entities map[string]Place, blanks []Blank) (*rule, error) {
	if len(s.From) == 0 || len(s.Of) == 0 || s.Metric == "" {
		return nil, errors.New("want from, of and metric")
	}
	r := newRule(s.From, s.Where)
	for _, of := range s.Of {
		p, ok := entities[of]
		if !ok && !strings.Contains(of, ":") {
			return nil, settings.Errorf("of", "%.40q is no entity of this file: want one of %v, or kind:name", of, slices.Sorted(maps.Keys(entities)))
		} else if !ok {
			if err := p.Of.Set(of); err != nil {
				return nil, &settings.KeyError{Key: "of", Err: err}
			}
		}
		r.places = append(r.places, p)
	}
	declared := s.Reading
	if r.per = s.Per; s.Per != "" {
		r.as, s.As = mean, "float"
	}
	if s.Histogram {
		r.as, s.As = histogram, "float"
		declared.Metric += "_p50"
	}
	var err error
	if r.Quantity, err = s.Quantity(blanks); err == nil {
		for i := range r.places {
			err = errors.Join(err, declared.Declared(r.places[i].Of.Kind))
		}
	}
	return r, err
}

// DecodeSeries reads a mapping file of labelled series: docs/collectors.md describes it.
func DecodeSeries(b []byte) (*File, error) {
	var d Document
	if _, err := Decode(b, &d); err != nil {
		return nil, err
	}
	return d.file, nil
}
