package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// Label is one label of a foreign series.
type Label struct{ Name, Value string }

// labelled looks a label up: the labels configured for the target take precedence
// over those of a page, and what a condition took out of a label over both.
type labelled struct {
	taken, target, page []Label
}

func (l labelled) get(name string) string {
	for _, from := range [][]Label{l.taken, l.target, l.page} {
		if i := slices.IndexFunc(from, func(x Label) bool { return x.Name == name }); i >= 0 && from[i].Value != "" {
			return from[i].Value
		}
	}
	return ""
}

// template makes an entity of labels: "gpu:{node|Hostname}/{gpu}".
type template struct {
	text  string
	kind  telemetry.Kind
	parts []piece
}

// piece is text, or the labels that one of is taken from.
type piece struct {
	text string
	any  []string
}

// parseTemplate reads a template.
func parseTemplate(s string) (template, error) {
	kind, rest, ok := strings.Cut(s, ":")
	t := template{text: s, kind: telemetry.Kind(kind)}
	if !ok || !slices.Contains(telemetry.Kinds(), t.kind) {
		return t, fmt.Errorf("%.60q: want kind:name with a kind of entity", s)
	}
	for rest != "" {
		text, after, found := strings.Cut(rest, "{")
		if text != "" {
			t.parts = append(t.parts, piece{text: text})
		}
		if !found {
			break
		}
		names, after, found := strings.Cut(after, "}")
		if !found || names == "" {
			return t, fmt.Errorf("%.60q: want a label between { and }", s)
		}
		t.parts = append(t.parts, piece{any: strings.Split(names, "|")})
		rest = after
	}
	if len(t.parts) == 0 {
		return t, fmt.Errorf("%.60q: no name", s)
	}
	return t, nil
}

// entity fills the template; false where a label is missing or the name is invalid.
func (t template) entity(l labelled) (telemetry.Entity, bool) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.any == nil {
			b.WriteString(p.text)
			continue
		}
		v := ""
		for _, name := range p.any {
			if v = l.get(name); v != "" {
				break
			}
		}
		if v == "" {
			return telemetry.Entity{}, false
		}
		b.WriteString(collectors.Part(v))
	}
	e := telemetry.Entity{Kind: t.kind, Name: b.String()}
	return e, e.Validate() == nil
}
