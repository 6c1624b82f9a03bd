package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// checkListed warns about entities that topology.json does not list, where it
// lists any. Those that an edge or a name implies need no listing: one warning
// counts them. Another counts those of samples.csv that nothing implies, which
// may be misspelt.
func (t *topology) checkListed(s *samples, r *report) {
	if len(t.known) == 0 || s == nil {
		return
	}
	ends, systems := t.implied()
	var implied, unknown []telemetry.Entity
	line := 0
	seen := map[telemetry.Entity]bool{}
	for _, e := range ends {
		if _, ok := t.known[e]; !ok && !seen[e] {
			seen[e] = true
			implied = append(implied, e)
		}
	}
	for i := range s.series {
		e := s.series[i].id.Entity
		if _, ok := t.known[e]; ok || seen[e] {
			continue
		}
		seen[e] = true
		switch {
		case systems[system(e)]:
			implied = append(implied, e)
		default:
			if unknown == nil || s.series[i].line < line {
				line = s.series[i].line
			}
			unknown = append(unknown, e)
		}
	}
	if implied != nil {
		r.warn(place{file: topologyFile}, "%s not listed, implied by edges or names: %s", entities(len(implied)), examples(implied))
	}
	if unknown != nil {
		r.warn(place{s.file, line}, "entity: %s not in %s: %s", entities(len(unknown)), topologyFile, examples(unknown))
	}
}

// implied returns the ends of all edges but groups, and the systems that these
// and the listed entities belong to.
func (t *topology) implied() (ends []telemetry.Entity, systems map[string]bool) {
	systems = map[string]bool{}
	for e := range t.known {
		systems[system(e)] = true
	}
	for i := range t.edges {
		for _, e := range []telemetry.Entity{t.edges[i].From, t.edges[i].To} {
			if e.Kind != telemetry.Group {
				ends = append(ends, e)
				systems[system(e)] = true
			}
		}
	}
	return ends, systems
}

// system is the first part of a name, which all that lies in one host, switch or
// job shares: "h0" of nic:h0/nic0 and of node:h0.
func system(e telemetry.Entity) string {
	name, _, _ := strings.Cut(e.Name, "/")
	return name
}

func entities(n int) string {
	if n == 1 {
		return "1 entity is"
	}
	return fmt.Sprintf("%d entities are", n)
}

// examples names the first few of some entities.
func examples(of []telemetry.Entity) string {
	const few = 3
	slices.SortFunc(of, telemetry.Entity.Compare)
	var names []string
	for _, e := range of[:min(few, len(of))] {
		names = append(names, e.String())
	}
	if len(of) > few {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}
