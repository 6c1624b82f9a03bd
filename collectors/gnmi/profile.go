package gnmi

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/settings"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxExtends is how deep a profile may extend another.
const maxExtends = 4

//go:embed profiles/*.yaml
var profiles embed.FS

// Profile defines what a vendor's paths mean and which of them are subscribed to.
// It does not change once made.
type Profile struct {
	mapping.Formers
	Name string

	encodings []gpb.Encoding // in order of preference
	names     string         // which word names a port; "" its own
	ports     []mapping.Selector
	skip      []mapping.Selector
	groups    []group
	root      *pattern
}

// Document is the form of a profile: a mapping file of gNMI's paths.
type Document struct {
	mapping.Header `yaml:",inline"`
	Extends        string             `yaml:"extends"`
	Encodings      []encoding         `yaml:"encodings"`
	Names          string             `yaml:"names" max:"40"`
	Ports          []mapping.Selector `yaml:"ports"` // what a port is called; none is anything
	Skip           []mapping.Selector `yaml:"skip"`  // ports that are none of the fabric's
	Subscribe      []group            `yaml:"subscribe"`
	Rules          []row              `yaml:"rules" was:"rows"`

	depth   int
	profile *Profile
}

// encoding is one of gNMI's.
type encoding gpb.Encoding

// Set reads the name of an encoding.
func (e *encoding) Set(text string) error {
	v, ok := gpb.Encoding_value[strings.ToUpper(text)]
	if *e = encoding(v); !ok || text != strings.ToLower(text) || text == "bytes" || text == "ascii" {
		return fmt.Errorf("want one of json, json_ietf, proto, found %.40q", text)
	}
	return nil
}

// group is the paths that are subscribed to in one RPC: a refusal by a device
// affects its own group only.
type group struct {
	Name      string        `yaml:"name" max:"40"`
	First     bool          `yaml:"first"` // before any other: what names things
	Mode      string        `yaml:"mode" default:"sample" oneof:"sample on_change"`
	Every     time.Duration `yaml:"interval" was:"every" min:"1s" max:"1h"`
	Heartbeat time.Duration `yaml:"heartbeat" min:"1s" max:"1h"`
	Origin    string        `yaml:"origin" max:"100"`
	Target    string        `yaml:"target" max:"100"`
	Paths     []subscribed  `yaml:"paths"`
}

// Validate reports what is missing.
func (g group) Validate() error {
	if g.Name == "" || len(g.Paths) == 0 {
		return errors.New("want a name and paths")
	}
	return nil
}

func (g *group) changes() bool { return g.Mode == "on_change" }

// subscribed is a path to subscribe to.
type subscribed struct{ *gpb.Path }

// Set reads a path.
func (p *subscribed) Set(text string) error {
	parts, err := mapping.SplitPath(text)
	p.Path = &gpb.Path{}
	for _, x := range parts {
		e := &gpb.PathElem{Name: x.Name}
		for _, k := range x.Keys {
			if e.Key == nil {
				e.Key = map[string]string{}
			}
			e.Key[k.Name] = k.Value
		}
		p.Elem = append(p.Elem, e)
	}
	return err
}

// row is what the leaves below some paths mean.
type row struct {
	From     []mapping.Path         `yaml:"from,single" was:"path"`
	Of       mapping.EntityTemplate `yaml:"of" was:"entity" default:"self"`
	Queues   bool                   `yaml:"queues"` // only where queues are asked for
	Readings []leafRule             `yaml:"readings" was:"leaves"`
}

// leafRule is what some leaves mean: a reading, or one of the others.
type leafRule struct {
	From            []mapping.Path `yaml:"from,single"`
	mapping.Reading `yaml:",inline"`
	Ignore          bool   `yaml:"ignore"`
	IEEE            bool   `yaml:"ieeefloat32"`
	PortName        string `yaml:"name" max:"40"`
	Neighbour       string `yaml:"neighbour" oneof:"system port description bridge router"`
}

// Validate reports rows without a reading, and variables that are not bound.
func (x *row) Validate() error {
	if len(x.From) == 0 || len(x.Readings) == 0 {
		return errors.New("want from, and readings with what each means")
	}
	if t := x.Of.Name; len(t) > 0 && !slices.Equal(t[0].Names, []string{"target"}) { // below the switch
		x.Of.Name = slices.Concat(mapping.Template{{Names: []string{"target"}}, {Text: "/"}}, t)
	}
	var wrong []error
	for i := range x.Readings {
		for _, path := range x.From {
			for _, leaf := range x.Readings[i].From {
				if err := x.bound(&x.Readings[i], slices.Concat(path, leaf).Variables()); err != nil {
					wrong = append(wrong, mapping.Within("readings", i, err))
				}
			}
		}
		if _, err := x.rule(&x.Readings[i]); err != nil {
			wrong = append(wrong, mapping.Within("readings", i, err))
		}
	}
	return errors.Join(wrong...)
}

// bound returns an error if a variable of the entity is not in the path.
func (x *row) bound(l *leafRule, have []string) error {
	for _, v := range x.Of.Name.Variables() {
		if v != "target" && !slices.Contains(have, v) {
			return fmt.Errorf("{%s} of the entity is not in the path", v)
		}
	}
	if l.PortName+l.Neighbour != "" && !slices.Contains(have, "port") {
		return errors.New("{port} is not in the path")
	}
	return nil
}

// rule compiles what a leaf means.
func (x *row) rule(l *leafRule) (*rule, error) {
	r := &rule{of: x.Of, queues: x.Queues, ieee: l.IEEE, kind: x.Of.Kind, field: l.PortName + l.Neighbour}
	if r.kind == "" {
		r.kind = telemetry.Switch
	}
	switch {
	case len(l.From) == 0:
		return nil, errors.New("from: required")
	case l.Ignore:
		r.role = ignored
	case l.PortName != "":
		r.role = portName
	case l.Neighbour != "":
		r.role = neighbour
	case l.Metric == "":
		return nil, errors.New("want metric, name, neighbour or ignore")
	default:
		if !mapping.Declares(l.Metric) && l.As == "" && l.Digits == nil {
			return nil, settings.Errorf("metric", "%s is not declared: as: required (uint, decimal or float)", l.Metric)
		}
		var err error
		if r.Quantity, err = l.Quantity(nil); err == nil {
			err = l.Declared(r.kind)
		}
		if err != nil {
			return nil, err
		}
		r.exact = r.Whole()
		r.event = l.Metric == "port_up" && r.kind == telemetry.Port
	}
	return r, nil
}

// LoadProfile returns the profile of that name, or that of a file.
func LoadProfile(name string) (*Profile, error) { return loadProfile(name, 0) }

func loadProfile(name string, depth int) (*Profile, error) {
	if depth > maxExtends {
		return nil, fmt.Errorf("profile %s: extends itself, or more than %d deep", name, maxExtends)
	}
	d := Document{depth: depth}
	var former mapping.Formers
	b, err := profiles.ReadFile("profiles/" + name + ".yaml")
	switch {
	case err == nil:
		_, err = mapping.Decode(b, &d)
	case strings.ContainsAny(name, "./"):
		err = former.DecodeFile(name, &d)
	default:
		err = fmt.Errorf("want one of %s, or the path of a file", strings.Join(ProfileNames(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("profile %q: %w", name, err)
	}
	d.profile.Formers = append(former, d.profile.Formers...)
	if d.profile.Name == "" {
		d.profile.Name = name
	}
	return d.profile, nil
}

// ProfileNames lists the profiles that come with the program.
func ProfileNames() (out []string) {
	list, err := profiles.ReadDir("profiles")
	if err != nil {
		return nil
	}
	for _, f := range list {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return out
}

// Validate makes the profile.
func (d *Document) Validate() error {
	p := &Profile{root: &pattern{}}
	d.profile = p
	if d.Extends != "" {
		base, err := loadProfile(d.Extends, d.depth+1)
		if err != nil {
			return &settings.KeyError{Key: "extends", Err: err}
		}
		*p = *base
	}
	p.Name, p.ports, p.skip = d.Name, append(slices.Clip(p.ports), d.Ports...), append(slices.Clip(p.skip), d.Skip...)
	if d.Names != "" {
		p.names = d.Names
	}
	if len(d.Encodings) > 0 {
		p.encodings = nil
	}
	for _, e := range d.Encodings {
		p.encodings = append(p.encodings, gpb.Encoding(e))
	}
	for _, g := range d.Subscribe {
		p.subscribe(g)
	}
	for i := range d.Rules {
		p.add(&d.Rules[i])
	}
	if len(p.groups) == 0 {
		return settings.Errorf("subscribe", "nothing is subscribed to")
	}
	if len(p.encodings) == 0 {
		p.encodings = []gpb.Encoding{gpb.Encoding_JSON_IETF, gpb.Encoding_PROTO, gpb.Encoding_JSON}
	}
	return nil
}

// subscribe adds a group. One of a name that the profile extended has replaces it.
func (p *Profile) subscribe(g group) {
	p.groups = slices.Clip(p.groups)
	if i := slices.IndexFunc(p.groups, func(o group) bool { return o.Name == g.Name }); i >= 0 {
		p.groups = slices.Clone(p.groups)
		p.groups[i] = g
		return
	}
	p.groups = append(p.groups, g)
}

// add adds what the leaves of a row mean. A later statement about the same leaf and
// kind takes precedence: a profile that extends another corrects it.
func (p *Profile) add(x *row) {
	for i := range x.Readings {
		for _, path := range x.From {
			for _, leaf := range x.Readings[i].From {
				r, err := x.rule(&x.Readings[i])
				if err != nil {
					continue // reported with the row
				}
				at := p.root.grow(slices.Concat(path, leaf))
				at.rules = slices.DeleteFunc(at.rules, func(o *rule) bool { return o.kind == r.kind && o.field == r.field })
				at.rules = append(at.rules, r)
			}
		}
	}
}

// pattern is a node of the profile's tree: what may follow, and what it means to
// end here.
type pattern struct {
	edges []edge
	rules []*rule
}

type edge struct {
	step mapping.Step
	to   *pattern
}

// grow returns the node that steps lead to, which it makes.
func (p *pattern) grow(steps mapping.Path) *pattern {
	for _, s := range steps {
		i := slices.IndexFunc(p.edges, func(e edge) bool { return e.step.Text == s.Text })
		if i < 0 {
			i = len(p.edges)
			p.edges = append(p.edges, edge{s, &pattern{}})
		}
		p = p.edges[i].to
	}
	return p
}
