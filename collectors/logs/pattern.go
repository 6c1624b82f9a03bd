package logs

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

//go:embed patterns.yaml
var standard []byte

// Bounds of patterns.
const (
	maxDocument = 1 << 20
	maxPatterns = 1000
	maxText     = 300 // bytes of an event's text
)

// pattern is what lines become an event, and which.
type pattern struct {
	name   string
	apps   []string // who must have written it; empty anyone
	has    string   // a text that every matching line has
	match  *regexp.Regexp
	entity []template // the first that can be filled
	event  telemetry.EventName
	text   template
	key    template // lines with the same key, of one entity, are repeats
	same   string   // lines of all patterns that name it, with the same key, are of one thing of a host
	within time.Duration
	most   int // events in a minute of a host's
	count  telemetry.MetricName
}

// library is all patterns, a user's own first.
type library struct{ patterns []*pattern }

// loadLibrary joins the patterns that come with the program to those of files.
func loadLibrary(files []string) (*library, error) {
	var l library
	var faults []error
	for _, f := range files {
		b, err := entry.ReadFile(f, maxDocument)
		if err == nil {
			err = l.add(b)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("patterns %s: %w", f, err))
		}
	}
	if err := l.add(standard); err != nil {
		faults = append(faults, fmt.Errorf("patterns: %w", err))
	}
	return &l, errors.Join(faults...)
}

// add reads one document. Faults carry line and column.
func (l *library) add(text []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return err
	}
	r := entry.NewReader("patterns")
	version := 0
	r.Entry(&doc,
		entry.Key{Name: "version", Read: func(n *yaml.Node) { version = r.Whole(n, "version", 1, 1) }},
		entry.Key{Name: "patterns", Read: func(n *yaml.Node) {
			r.List(n, "patterns", func(x *yaml.Node) {
				if p := readPattern(r, x); len(l.patterns) < maxPatterns {
					l.patterns = append(l.patterns, p)
				} else {
					r.Fail(x, "more than %d patterns", maxPatterns)
				}
			})
		}},
	)
	if version == 0 && r.Err() == nil {
		r.Fail(&doc, "version: want 1")
	}
	return r.Err()
}

// readPattern reads one item.
func readPattern(r *entry.Reader, n *yaml.Node) *pattern {
	p := &pattern{within: time.Minute, most: 300}
	at := map[string]*yaml.Node{}
	note := func(name string, read func(*yaml.Node)) entry.Key {
		return entry.Key{Name: name, Read: func(v *yaml.Node) { at[name] = v; read(v) }}
	}
	of := func(name string, to *template) entry.Key {
		return note(name, func(v *yaml.Node) { *to = readTemplate(r, v, name) })
	}
	r.Entry(n,
		note("name", func(v *yaml.Node) { p.name = r.Name(v, "name", 60) }),
		note("app", func(v *yaml.Node) {
			r.List(v, "app", func(x *yaml.Node) {
				s := r.Text(x, "app")
				if _, err := path.Match(s, ""); err != nil {
					r.Fail(x, "app: %q: %v", s, err)
				}
				p.apps = append(p.apps, s)
			})
		}),
		note("has", func(v *yaml.Node) { p.has = r.Text(v, "has") }),
		note("match", func(v *yaml.Node) {
			var err error
			if p.match, err = regexp.Compile(r.Text(v, "match")); err != nil {
				r.Fail(v, "match: %v", err)
			}
		}),
		note("entity", func(v *yaml.Node) {
			r.List(v, "entity", func(x *yaml.Node) { p.entity = append(p.entity, readTemplate(r, x, "entity")) })
		}),
		note("event", func(v *yaml.Node) { p.event = telemetry.EventName(r.Name(v, "event", 60)) }),
		of("text", &p.text), of("key", &p.key),
		note("same", func(v *yaml.Node) { p.same = r.Name(v, "same", 60) }),
		note("within", func(v *yaml.Node) { p.within = r.Duration(v, "within", entry.Span{Least: 0, Most: time.Hour}) }),
		note("most", func(v *yaml.Node) { p.most = r.Whole(v, "most", 1, 10000) }),
		note("count", func(v *yaml.Node) { p.count = telemetry.MetricName(r.Name(v, "count", 100)) }),
	)
	for _, name := range []string{"name", "has", "match"} {
		if at[name] == nil {
			r.Fail(n, "a pattern without %q", name)
		}
	}
	if p.event != "" && (len(p.entity) == 0 || len(p.text) == 0) {
		r.Fail(n, "pattern %s: an event requires entity and text", p.name)
	}
	p.verify(r, at)
	return p
}

func readTemplate(r *entry.Reader, n *yaml.Node, key string) template {
	t, err := parseTemplate(r.Text(n, key))
	if err != nil {
		r.Fail(n, "%s: %v", key, err)
	}
	return t
}

// verify checks that the groups of templates exist, entities are of known kinds,
// and metrics have names.
func (p *pattern) verify(r *entry.Reader, at map[string]*yaml.Node) {
	if p.match == nil {
		return
	}
	groups := append(p.match.SubexpNames()[1:], "host", "line")
	check := func(key string, t template) {
		for _, x := range t {
			if x.name != "" && !slices.Contains(groups, x.name) {
				r.Fail(at[key], "%s: {%s} is no group of match", key, x.name)
			}
		}
	}
	check("text", p.text)
	check("key", p.key)
	for _, t := range p.entity {
		check("entity", t)
		s, _ := t.fill(func(piece) (string, bool) { return "x", true }, nil)
		if _, err := telemetry.ParseEntity(s); err != nil {
			r.Fail(at["entity"], "entity: %v", err)
		}
	}
	if p.count != "" {
		if _, known := telemetry.DefaultCatalogue().Lookup(p.count); !known && !strings.HasSuffix(string(p.count), "_total") {
			r.Fail(at["count"], "count: %q: a count's name ends in _total", p.count)
		}
	}
}

// from reports whether a pattern applies to lines of an app.
func (p *pattern) from(app string) bool {
	return len(p.apps) == 0 || slices.ContainsFunc(p.apps, func(g string) bool {
		ok, _ := path.Match(g, app)
		return ok
	})
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
		if !strings.Contains(x.text, p.has) || !p.from(x.app) {
			continue
		}
		if g := p.match.FindStringSubmatch(x.text); g != nil {
			return found{p, x, g}
		}
	}
	return found{}
}

// value is the value of a variable.
func (f *found) value(t *names) func(piece) (string, bool) {
	return func(p piece) (string, bool) {
		v := ""
		switch p.name {
		case "host":
			v = f.line.host
		case "line":
			v = f.line.text
		default:
			v = f.groups[f.match.SubexpIndex(p.name)]
		}
		switch {
		case p.table != "":
			return t.lookup(p.table, f.line.host, v)
		case p.name == "host":
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
	if h.pattern.same != "" {
		return same{h.pattern.same, telemetry.Entity{Kind: telemetry.Node, Name: h.host}, strings.ToLower(h.key)}
	}
	return same{h.pattern.name, h.event.Entity, h.key}
}

func (h *happening) teller() teller { return teller{h.pattern, h.way} }

// tell makes a line's event; false where no entity of the pattern can be named.
func (f *found) tell(t *names) (happening, bool) {
	h := happening{pattern: f.pattern, host: f.line.host}
	value := f.value(t)
	for i, e := range f.entity {
		s, ok := e.fill(value, telemetry.NamePart)
		if !ok {
			continue
		}
		var err error
		if h.event.Entity, err = telemetry.ParseEntity(s); err != nil {
			continue
		}
		h.event.Name = f.pattern.event
		text, _ := f.text.fill(value, nil)
		if at := f.match.SubexpIndex("pci"); i > 0 && at > 0 && !strings.Contains(text, f.groups[at]) {
			text += " (PCI " + f.groups[at] + ")" // all that is known of which one it is
		}
		h.event.Text = clip(strings.TrimRight(strings.TrimSpace(text), ",: "), maxText)
		h.key = h.event.Text
		if len(f.key) > 0 {
			h.key, _ = f.key.fill(value, nil)
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
