package logs

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/settings"
	"github.com/quintet-dc/quintet/telemetry"
)

//go:embed patterns.yaml
var standard []byte

const (
	maxDocument = 1 << 20 // bytes of a file
	maxText     = 300     // bytes of an event's text
)

// Document is the form of a file of patterns.
type Document struct {
	mapping.Header `yaml:",inline"`
	Rules          []*pattern `yaml:"rules" was:"patterns" max:"1000"`
}

// pattern is what lines become an event, and which.
type pattern struct {
	Name   string                   `yaml:"name" max:"60"`
	Apps   []mapping.Glob           `yaml:"app,single"` // who must have written it; empty anyone
	Has    string                   `yaml:"has"`        // a text that every matching line has
	Match  mapping.Expression       `yaml:"match"`
	Of     []mapping.EntityTemplate `yaml:"of,single" was:"entity"` // the first that can be filled
	Event  telemetry.EventName      `yaml:"event" max:"60"`
	Text   mapping.Template         `yaml:"text"`
	Key    mapping.Template         `yaml:"key"`           // lines with the same key, of one entity, are repeats
	Same   string                   `yaml:"same" max:"60"` // lines of all patterns that name it, with the same key, are of one thing of a host
	Within time.Duration            `yaml:"within" default:"1m" min:"0s" max:"1h"`
	Most   int                      `yaml:"most" default:"300" max:"10000"` // events in a minute of a host's
	Count  telemetry.MetricName     `yaml:"count" max:"100"`
}

// library is all patterns, a user's own first.
type library struct {
	mapping.Formers
	patterns []*pattern
}

// loadLibrary joins the patterns that come with the program to those of files.
func loadLibrary(files []string) (*library, error) {
	all, former, err := mapping.Load[Document](files, standard)
	if err != nil {
		return nil, fmt.Errorf("patterns: %w", err)
	}
	l := &library{Formers: former}
	for i := range all {
		l.patterns = append(l.patterns, all[i].Rules...)
	}
	return l, nil
}

// Validate reports what is missing, and variables that are no groups of the expression.
func (p *pattern) Validate() error {
	switch {
	case p.Name == "" || p.Has == "" || p.Match.Regexp == nil:
		return errors.New("want name, has and match")
	case p.Event != "" && (len(p.Of) == 0 || len(p.Text) == 0):
		return errors.New("an event requires of and text")
	}
	groups := append(p.Match.SubexpNames()[1:], "host", "line")
	check := func(key string, t mapping.Template) error {
		for i := range t {
			for _, name := range t[i].Names {
				if !slices.Contains(groups, name) {
					return settings.Errorf(key, "{%s} is no group of match", name)
				}
			}
			if t[i].Table != "" && !slices.Contains(tables, t[i].Table) {
				return settings.Errorf(key, "{%s:…}: want one of the tables %s", t[i].Table, strings.Join(tables, ", "))
			}
		}
		return nil
	}
	err := errors.Join(check("text", p.Text), check("key", p.Key))
	for _, e := range p.Of {
		err = errors.Join(err, check("of", e.Name))
	}
	if p.Count != "" && !mapping.Declares(p.Count) && !strings.HasSuffix(string(p.Count), "_total") {
		err = errors.Join(err, settings.Errorf("count", "%q: a count's name ends in _total", p.Count))
	}
	return err
}

// tables that a template may ask: of GPUs by PCI address, of RDMA devices by PCI
// address or interface, of ports by a switch's own name, of subnets by host.
var tables = []string{gpuTable, nicTable, portTable, subnetTable}

const gpuTable, nicTable, portTable, subnetTable = "gpu", "nic", "port", "subnet"

// from reports whether a pattern applies to lines of an app.
func (p *pattern) from(app string) bool {
	return len(p.Apps) == 0 || slices.ContainsFunc(p.Apps, func(g mapping.Glob) bool { return g.Match(app) })
}

// found is a line that a pattern is for.
type found struct {
	*pattern
	line   *line
	groups []string
}

// find returns the first pattern that a line matches; nil where there is none.
func (l *library) find(x *line) (f found) {
	for _, p := range l.patterns {
		if !strings.Contains(x.text, p.Has) || !p.from(x.app) {
			continue
		}
		if g := p.Match.FindStringSubmatch(x.text); g != nil {
			return found{p, x, g}
		}
	}
	return found{}
}

// value is the value of a variable.
func (f *found) value(t *names) func(table, name string) (string, bool) {
	return func(table, name string) (string, bool) {
		v := ""
		switch name {
		case "host":
			v = f.line.host
		case "line":
			v = f.line.text
		default:
			v = f.groups[f.Match.SubexpIndex(name)]
		}
		switch {
		case table != "":
			return t.lookup(table, f.line.host, v)
		case name == "host":
			return v, v != ""
		}
		return v, true
	}
}

// happening is the content of a line: an event, and what makes another one a repeat
// of it.
type happening struct {
	pattern *pattern
	event   telemetry.Event
	host    string // who wrote the line
	key     string
	way     way
}

// same returns what makes another one a repeat.
func (h *happening) same() same {
	if h.pattern.Same != "" {
		return same{h.pattern.Same, telemetry.Entity{Kind: telemetry.Node, Name: h.host}, strings.ToLower(h.key)}
	}
	return same{h.pattern.Name, h.event.Entity, h.key}
}

func (h *happening) teller() teller { return teller{h.pattern, h.way} }

// event makes a line's event; false where no entity of the pattern can be named.
func (f *found) event(t *names) (happening, bool) {
	h := happening{pattern: f.pattern, host: f.line.host}
	value := f.value(t)
	part := func(table, name string) (string, bool) {
		v, ok := value(table, name)
		return telemetry.NamePart(v), ok
	}
	for i := range f.Of {
		var ok bool
		if h.event.Entity, ok = f.Of[i].Entity(part); !ok {
			continue
		}
		h.event.Name = f.Event
		text, _ := f.Text.Fill(value)
		if at := f.Match.SubexpIndex("pci"); i > 0 && at > 0 && !strings.Contains(text, f.groups[at]) {
			text += " (PCI " + f.groups[at] + ")" // all that is known of which one it is
		}
		h.event.Text = clip(strings.TrimRight(strings.TrimSpace(text), ",: "), maxText)
		h.key = h.event.Text
		if len(f.Key) > 0 {
			h.key, _ = f.Key.Fill(value)
		}
		return h, true
	}
	return h, false
}

// clip cuts a text, not amid a rune.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
