package redfish

import (
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// scope holds what entities are made of: {target}, the name of what the service is;
// {i}, the place in a list; {.Property}, text of the document; and what the path
// captured.
type scope struct {
	self     telemetry.Entity
	entity   telemetry.Entity
	captures []mapping.Binding
	index    string
	doc      any
}

// fill returns the entity that a template names; false where a value is missing.
func (s *scope) fill(t *mapping.EntityTemplate) (telemetry.Entity, bool) {
	switch t.Word {
	case "":
		return t.Entity(s.value)
	case "entity":
		return s.entity, !s.entity.IsZero()
	}
	return s.self, true
}

func (s *scope) value(_, name string) (string, bool) {
	text := ""
	switch {
	case name == "target":
		return s.self.Name, true // it is made of parts already
	case name == "i":
		text = s.index
	case strings.HasPrefix(name, "."):
		text = textAt(s.doc, strings.Split(name[1:], ".")...)
	default:
		text, _ = mapping.Bound(s.captures, name)
	}
	return collectors.Part(text), text != ""
}
