package redfish

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/telemetry"
)

// template makes an entity: kind:text with {target}, the name of what the
// service is; {name}, what the path's pattern captured; {i}, the place in a
// list; {.Property}, text of the document. Alone, self is what the service is
// and entity what the rule is about.
type template []slot

type slot struct {
	text  string   // literal, if name is ""
	name  string   // self, entity, target, i, a capture, or .
	place []string // of the property, if name is .
}

func readTemplate(r *entry.Reader, n *yaml.Node, key string) template {
	text := r.Text(n, key)
	if text == "self" || text == "entity" {
		return template{{name: text}}
	}
	var out template
	rest := text
	for rest != "" {
		before, inside, open := strings.Cut(rest, "{")
		if before != "" {
			out = append(out, slot{text: before})
		}
		if !open {
			break
		}
		name, after, ok := strings.Cut(inside, "}")
		switch {
		case !ok || name == "" || name == ".":
			r.Fail(n, "%s: %.80q: a brace without its other", key, text)
			return out
		case name[0] == '.':
			out = append(out, slot{name: ".", place: place(name[1:])})
		default:
			out = append(out, slot{name: name})
		}
		rest = after
	}
	kind, _, ok := strings.Cut(text, ":")
	if !ok || telemetry.Entity.Validate(telemetry.Entity{Kind: telemetry.Kind(kind), Name: "x"}) != nil {
		r.Fail(n, "%s: %.80q: want kind:name, self or entity", key, text)
	}
	return out
}

// scope holds the values of a template's slots.
type scope struct {
	self     telemetry.Entity
	entity   telemetry.Entity
	captures []string // names and texts by turns
	index    string
	doc      any
}

// fill returns the entity that a template names; false where a slot is empty.
func (t template) fill(s *scope) (telemetry.Entity, bool) {
	if len(t) == 1 && t[0].name == "self" {
		return s.self, true
	}
	if len(t) == 1 && t[0].name == "entity" {
		return s.entity, !s.entity.IsZero()
	}
	var b strings.Builder
	for _, x := range t {
		text := x.text
		switch x.name {
		case "":
		case "target":
			text = s.self.Name // it is made of parts already
		case "i":
			text = s.index
		case ".":
			text = part(textAt(s.doc, x.place...))
		default:
			for i := 0; i+1 < len(s.captures); i += 2 {
				if s.captures[i] == x.name {
					text = part(s.captures[i+1])
				}
			}
		}
		if text == "" {
			return telemetry.Entity{}, false
		}
		b.WriteString(text)
	}
	kind, name, _ := strings.Cut(b.String(), ":")
	e := telemetry.Entity{Kind: telemetry.Kind(kind), Name: name}
	return e, e.Validate() == nil
}

// part is a part of a name; nothing stays nothing.
func part(s string) string {
	if s == "" {
		return ""
	}
	return collectors.Part(s)
}
